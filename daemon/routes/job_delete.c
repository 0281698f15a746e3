/* DELETE /v1/jobs/{id}: cancels a job that has not ended, deletes one that has. */
#include <stdlib.h>

#include "daemon/jobs/jobs_internal.h"
#include "daemon/routes/routes.h"

#define PATIENCE_MS 30000

static bool ended(const struct sl_job *job)
{
	return sl__job_ended(job);
}

/* The reply comes when it is gone for good. */
static void delete_ended(struct sl_job *job, struct sl_request *r)
{
	struct sl__deletion *d = sl__deletion_create(r);
	if (d && !sl__job_delete(job, sl__deletion_done, d)) {
		sl__deletion_wait(d);
		return;
	}
	free(d);
	sl_reply_problem(r, SL_NOMEM, "Out of memory for deleting a job.");
}

void sl_route_job_delete(struct sl_request *r)
{
	struct sl_job *job = sl__job_of_request(r);
	if (!job)
		return;
	if (sl__job_ended(job)) {
		delete_ended(job, r);
		return;
	}
	sl__job_ref(job);
	sl__job_cancel(job);
	sl__job_wait(job, r, ended, 200, PATIENCE_MS);
	sl__job_unref(job);
}
