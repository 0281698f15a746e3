/* DELETE /v1/jobs/{id}: cancels a job that has not ended, deletes one that has. */
#include <stdlib.h>

#include "daemon/jobs_internal.h"
#include "daemon/routes/routes.h"

#define PATIENCE_MS 30000

static bool ended(const struct sl_job *job)
{
	return sl__job_ended(job);
}

struct wait {
	struct sl_request *r;  /* NULL: the client is gone */
};

static void gone(void *arg)
{
	((struct wait *)arg)->r = NULL;
}

static void deleted(void *arg, int status, const struct sl_error *err)
{
	struct wait *w = arg;
	if (w->r && status)
		sl_reply_error(w->r, err);
	else if (w->r)
		sl_reply_empty(w->r, 204);
	free(w);
}

/* The reply comes when it is gone for good. */
static void delete_ended(struct sl_job *job, struct sl_request *r)
{
	struct wait *w = malloc(sizeof *w);
	if (!w || sl__job_delete(job, deleted, w)) {
		free(w);
		sl_reply_problem(r, SL_NOMEM, "Out of memory for deleting a job.");
		return;
	}
	w->r = r;
	sl_request_park(r, gone, w);
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
