/* GET and DELETE /v1/jobs/{id}/quality */
#include "core/measure/quality.h"
#include "daemon/jobs/jobs.h"
#include "daemon/routes/routes.h"

#define K 10

void sl_route_job_quality(struct sl_request *r)
{
	struct sl_job *job = sl_job_of_request(r);
	struct sl_error err;
	int64_t k = K;
	if (job && sl_request_query_int(r, "k", 1, SL_QUALITY_MOST, &k, &err))
		sl_reply_error(r, &err);
	else if (job)
		sl_job_reply_quality(job, r, (int)k);
}

void sl_route_job_quality_delete(struct sl_request *r)
{
	struct sl_job *job = sl_job_of_request(r);
	if (job)
		sl_job_forget_quality(job, r);
}
