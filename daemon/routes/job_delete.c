/* DELETE /v1/jobs/{id}: cancels a job that has not ended, deletes one that has. */
#include "daemon/jobs_internal.h"
#include "daemon/routes/routes.h"

#define PATIENCE_MS 30000

static bool ended(const struct sl_job *job)
{
	return sl__job_ended(job);
}

void sl_route_job_delete(struct sl_request *r)
{
	struct sl_job *job = sl__job_of_request(r);
	if (!job)
		return;
	if (sl__job_ended(job)) {
		sl__job_delete(job);
		sl_reply_empty(r, 204);
		return;
	}
	sl__job_ref(job);
	sl__job_cancel(job);
	sl__job_wait(job, r, ended, 200, PATIENCE_MS);
	sl__job_unref(job);
}
