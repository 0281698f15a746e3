/* GET /v1/jobs/{id}/clusters; PATCH /v1/jobs/{id}/clusters/{cluster} */
#include "core/names/clusters.h"
#include "daemon/jobs/jobs.h"
#include "daemon/routes/routes.h"

void sl_route_job_clusters(struct sl_request *r)
{
	struct sl_job *job = sl_job_of_request(r);
	struct sl_error err;
	int64_t level = -1;
	if (job && sl_request_query(r, "level") &&
	    sl_request_query_int(r, "level", 0, SL_MAP_LEVELS - 1, &level, &err))
		sl_reply_error(r, &err);
	else if (job)
		sl_job_reply_clusters(job, r, sl_request_query(r, "columns"), sl_request_query(r, "clusters_of"), (int)level);
}

void sl_route_job_cluster_patch(struct sl_request *r)
{
	struct sl_job *job = sl_job_of_request(r);
	struct sl_error err;
	json_t *body = NULL;
	if (job && sl_request_json(r, &body, &err))
		sl_reply_error(r, &err);
	else if (job)
		sl_job_name_cluster(job, r, sl_request_path(r, "cluster"), body);
	json_decref(body);
}
