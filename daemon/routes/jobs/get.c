/* GET /v1/jobs/{id} */
#include "daemon/jobs/jobs.h"
#include "daemon/routes/routes.h"

void sl_route_job_get(struct sl_request *r)
{
	struct sl_job *job = sl_job_of_request(r);
	if (job)
		sl_reply_json(r, 200, sl_job_json(job));
}
