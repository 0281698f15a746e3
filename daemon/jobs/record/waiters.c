/* Requests that wait until a job has paused, has ended, or is recorded on the disk. Loop thread. */
#include <stdlib.h>

#include "daemon/jobs/jobs_internal.h"

struct waiter {
	struct sl_link link;
	struct sl_job *job;  /* a reference */
	struct sl_request *request;
	bool (*met)(const struct sl_job *job);
	int status;          /* of the reply */
	bool change;         /* true: it waits until a change is recorded */
};

static void waiter_end(struct waiter *w, bool reply)
{
	struct sl_job *job = w->job;
	sl_list_unlink(&w->link);
	if (reply && w->change && job->saving.problem.code && !sl__job_ended(job))
		sl_reply_problem(w->request, job->saving.problem.code,
				 "The change could not be recorded yet; the server tries again. A restart before that "
				 "loses the change: %s", job->saving.problem.detail);
	else if (reply)
		sl_reply_json(w->request, w->status, sl_job_json(job));
	free(w);
	sl__job_unref(job);
}

static void waiter_gone(void *arg)
{
	waiter_end(arg, false);
}

/* If the disk hangs, the reply must not say that the change was recorded. */
static void waiter_timeout(void *arg)
{
	struct waiter *w = arg;
	struct sl_job *job = w->job;
	bool writing = job->saving.writes || sl_stage_is_storing(job->life.stage) || sl_stage_is_ending(job->life.stage);
	if (!w->change || !writing || job->saving.problem.code) {
		waiter_end(w, true);
		return;
	}
	sl_reply_status(w->request, 503, "The change is still being recorded: the disk is slow, or hangs. A restart "
			"before it is recorded loses the change.");
	waiter_end(w, false);
}

static void wait_for(struct sl_job *job, struct sl_request *r, bool (*met)(const struct sl_job *job), int status,
		     bool change, uint64_t timeout_ms)
{
	bool at_once = met(job) || timeout_ms == 0;
	struct waiter *w = at_once ? NULL : calloc(1, sizeof *w);
	if (!w && !at_once && change) {
		sl_reply_problem(r, SL_NOMEM, "Out of memory; whether the change is recorded is not known.");
		return;
	}
	if (!w) {
		sl_reply_json(r, status, sl_job_json(job));
		return;
	}
	*w = (struct waiter){.job = sl__job_ref(job), .request = r, .met = met, .status = status, .change = change};
	sl_list_append(&job->readers.waiters, &w->link);
	sl_request_park_for(r, timeout_ms, waiter_timeout, waiter_gone, w);
}

void sl__job_wait(struct sl_job *job, struct sl_request *r, bool (*met)(const struct sl_job *job), int status,
		  uint64_t timeout_ms)
{
	wait_for(job, r, met, status, false, timeout_ms);
}

void sl__job_wait_saved(struct sl_job *job, struct sl_request *r, bool (*met)(const struct sl_job *job),
			uint64_t timeout_ms)
{
	wait_for(job, r, met, 200, true, timeout_ms);
}

void sl__job_answer_waiters(struct sl_job *job)
{
	sl__job_ref(job);  /* the last waiter may hold the last reference */
	SL_LIST_EACH(struct waiter, w, &job->readers.waiters, link)
		if (w->met(job) || (w->change && job->saving.again.in))
			waiter_end(w, true);
	sl__job_unref(job);
}
