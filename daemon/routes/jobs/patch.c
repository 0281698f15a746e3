/* PATCH /v1/jobs/{id} */
#include "daemon/jobs/jobs.h"
#include "daemon/routes/routes.h"

void sl_route_job_patch(struct sl_request *r)
{
	struct sl_job *job = sl_job_of_request(r);
	struct sl_error err;
	json_t *body = NULL;
	if (job && sl_request_json(r, &body, &err))
		sl_reply_error(r, &err);
	else if (job)
		sl_job_change(job, r, body);
	json_decref(body);
}
