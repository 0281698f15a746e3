/* POST /v1/jobs/{id}/transform */
#include "core/embedding/transform.h"
#include "daemon/jobs/jobs.h"
#include "daemon/routes/routes.h"

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
