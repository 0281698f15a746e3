/* POST /v1/jobs/{id}/predict, GET /v1/jobs/{id}/sample: new points under the model of a job, and samples of it. */
#include "daemon/jobs/jobs.h"
#include "daemon/routes/routes.h"

void sl_route_job_predict(struct sl_request *r)
{
	struct sl_job *job = sl_job_of_request(r);
	enum sl_layout_form form;
	struct sl_error err;
	if (job && sl_layout_form_of_request(r, &form, &err))
		sl_reply_error(r, &err);
	else if (job)
		sl_job_predict(job, r, sl_request_query(r, "give"), form);
}

void sl_route_job_sample(struct sl_request *r)
{
	struct sl_job *job = sl_job_of_request(r);
	enum sl_layout_form form;
	int64_t count = 100, seed = 0;
	struct sl_error err;
	if (!job)
		return;
	int code = sl_layout_form_of_request(r, &form, &err);
	if (!code)
		code = sl_request_query_int(r, "count", 1, 100000000, &count, &err);
	if (!code)
		code = sl_request_query_int(r, "seed", 0, 9007199254740991, &seed, &err);
	if (code)
		sl_reply_error(r, &err);
	else
		sl_job_sample(job, r, sl_request_query(r, "give"), (uint32_t)count, (uint64_t)seed, form);
}
