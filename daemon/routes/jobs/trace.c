/* GET /v1/jobs/{id}/trace */
#include "daemon/jobs/jobs.h"
#include "daemon/routes/routes.h"

void sl_route_job_trace(struct sl_request *r)
{
	struct sl_job *job = sl_job_of_request(r);
	if (job)
		sl_job_reply_trace(job, r);
}
