/* GET /v1/jobs/{id}/layout */
#include "daemon/jobs/jobs.h"
#include "daemon/routes/routes.h"

void sl_route_job_layout(struct sl_request *r)
{
	struct sl_job *job = sl_job_of_request(r);
	enum sl_layout_form form;
	struct sl_error err;
	if (job && sl_layout_form_of_request(r, &form, &err))
		sl_reply_error(r, &err);
	else if (job)
		sl_job_reply_layout(job, r, form);
}
