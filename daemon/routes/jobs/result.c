/* GET /v1/jobs/{id}/results/{name}: an array of a job's results. */
#include "daemon/jobs/jobs.h"
#include "daemon/routes/routes.h"

void sl_route_job_result(struct sl_request *r)
{
	struct sl_job *job = sl_job_of_request(r);
	enum sl_layout_form form;
	struct sl_error err;
	if (job && sl_layout_form_of_request(r, &form, &err))
		sl_reply_error(r, &err);
	else if (job)
		sl_job_reply_array(job, r, sl_request_path(r, "name"), form);
}
