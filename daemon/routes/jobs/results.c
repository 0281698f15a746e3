/* What a job gives: GET /v1/jobs/{id}/layout, /results/{name}, /values (the newest of a signal, also while it runs),
 * /trace; POST .../predict and /transform, GET .../sample: new points under the model of a job or in its layout, and
 * samples of it; GET, DELETE .../quality. */
#include <string.h>

#include "core/embedding/transform.h"
#include "core/measure/quality.h"
#include "daemon/jobs/jobs.h"
#include "daemon/routes/routes.h"

#define QUALITY_K 10

/* The job, and the form in which its array is wanted. NULL: the request has been answered. */
static struct sl_job *job_and_form(struct sl_request *r, enum sl_layout_form *form)
{
	struct sl_job *job = sl_job_of_request(r);
	struct sl_error err;
	if (!job || !sl_layout_form_of_request(r, form, &err))
		return job;
	sl_reply_error(r, &err);
	return NULL;
}

void sl_route_job_layout(struct sl_request *r)
{
	enum sl_layout_form form;
	struct sl_job *job = job_and_form(r, &form);
	if (job)
		sl_job_reply_layout(job, r, form);
}

void sl_route_job_result(struct sl_request *r)
{
	enum sl_layout_form form;
	struct sl_job *job = job_and_form(r, &form);
	if (job)
		sl_job_reply_array(job, r, sl_request_path(r, "name"), form);
}

void sl_route_job_values(struct sl_request *r)
{
	struct sl_job *job = sl_job_of_request(r);
	const char *format = sl_request_query(r, "format");
	struct sl_error err;
	if (!job)
		return;
	if (!format || !strcmp(format, "npy") || !strcmp(format, "csv")) {
		sl_job_reply_values(job, r, format && !strcmp(format, "csv") ? SL_LAYOUT_CSV : SL_LAYOUT_NPY);
		return;
	}
	sl_error_field(&err, SL_BADPARAM, "?format", "format must be npy or csv.");
	sl_reply_error(r, &err);
}

void sl_route_job_trace(struct sl_request *r)
{
	struct sl_job *job = sl_job_of_request(r);
	if (job)
		sl_job_reply_trace(job, r);
}

void sl_route_job_quality(struct sl_request *r)
{
	struct sl_job *job = sl_job_of_request(r);
	struct sl_error err;
	int64_t k = QUALITY_K;
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

void sl_route_job_predict(struct sl_request *r)
{
	enum sl_layout_form form;
	struct sl_job *job = job_and_form(r, &form);
	if (job)
		sl_job_predict(job, r, sl_request_query(r, "give"), form);
}

void sl_route_job_sample(struct sl_request *r)
{
	enum sl_layout_form form;
	struct sl_job *job = job_and_form(r, &form);
	int64_t count = 100, seed = 0;
	struct sl_error err;
	if (!job)
		return;
	int code = sl_request_query_int(r, "count", 1, 100000000, &count, &err);
	if (!code)
		code = sl_request_query_int(r, "seed", 0, 9007199254740991, &seed, &err);
	if (code)
		sl_reply_error(r, &err);
	else
		sl_job_sample(job, r, sl_request_query(r, "give"), (uint32_t)count, (uint64_t)seed, form);
}

void sl_route_job_transform(struct sl_request *r)
{
	struct sl_job *job = sl_job_of_request(r);
	struct sl_transform_params params;
	enum sl_layout_form form;
	struct sl_error err;
	if (!job)
		return;
	sl_transform_defaults(&params);
	int code = sl_request_query_params(r, &sl_transform_table, &params, &err);
	if (!code)
		code = sl_layout_form_of_request(r, &form, &err);
	if (code)
		sl_reply_error(r, &err);
	else
		sl_job_transform(job, r, &params, form);
}
