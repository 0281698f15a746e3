/* POST /v1/jobs/{id}/transform */
#include "core/embedding/transform.h"
#include "daemon/jobs/jobs.h"
#include "daemon/routes/routes.h"

static int read_params(struct sl_request *r, struct sl_transform_params *params, struct sl_error *err)
{
	sl_transform_defaults(params);
	for (int i = 0; sl_transform_names[i]; i++) {
		const char *value = sl_request_query(r, sl_transform_names[i]);
		if (value && sl_transform_set(params, sl_transform_names[i], value, err)) {
			err->pointer[0] = '?';
			return err->code;
		}
	}
	return 0;
}

void sl_route_job_transform(struct sl_request *r)
{
	struct sl_job *job = sl_job_of_request(r);
	struct sl_transform_params params;
	enum sl_layout_form form;
	struct sl_error err;
	if (!job)
		return;
	int code = read_params(r, &params, &err);
	if (!code)
		code = sl_layout_form_of_request(r, &form, &err);
	if (code)
		sl_reply_error(r, &err);
	else
		sl_job_transform(job, r, &params, form);
}
