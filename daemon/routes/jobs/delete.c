/* DELETE /v1/jobs/{id}: cancels a job that has not ended, deletes one that has. */
#include "daemon/jobs/jobs.h"
#include "daemon/routes/routes.h"

void sl_route_job_delete(struct sl_request *r)
{
	struct sl_job *job = sl_job_of_request(r);
	if (job)
		sl_job_end_or_delete(job, r);
}
