/* Cancels or deletes all jobs of a batch. */
#include <stdlib.h>
#include <string.h>

#include "daemon/jobs/results/batch/batch_internal.h"
#include "daemon/util/turns.h"

#define PATIENCE_MS 30000

/* True if a job of the batch has not ended. Called at the end of each job. */
static bool has_unended(struct sl_batch *b)
{
	for (; b->ended < json_array_size(b->each); b->ended++) {
		const struct sl_job *job = sl__job_find(b->jobs, sl__batch_job_id(b, b->ended));
		if (job && !sl__job_ended(job))
			return true;
	}
	return false;
}

struct waiter {
	struct sl_link link;
	struct sl_request *r;
};

static void waiter_gone(void *arg)
{
	struct waiter *w = arg;
	sl_list_unlink(&w->link);
	free(w);
}

void sl__batch_changed(struct sl_jobs *j, const char *id)
{
	struct sl_batch *b = sl__batch_find(j, id);
	if (!b || !b->waiters.count || has_unended(b))
		return;
	SL_LIST_EACH(struct waiter, w, &b->waiters, link) {
		struct sl_request *r = w->r;
		waiter_gone(w);
		sl_reply_json(r, 200, sl_batch_json(b, r));
	}
}

/* The jobs of a batch are cancelled over several turns of the loop. */
struct cancelling {
	struct sl_jobs *jobs;
	char id[SL_ULID_BYTES];
	size_t at;  /* the next job */
};

static bool cancel_one(void *arg)
{
	struct cancelling *c = arg;
	const struct sl_batch *b = sl__batch_find(c->jobs, c->id);
	if (!b || c->at >= json_array_size(b->each))
		return true;
	struct sl_job *job = sl__job_find(c->jobs, sl__batch_job_id(b, c->at++));
	if (job)
		sl__job_step(job, SL_ON_CANCEL);
	return false;
}

static void all_cancelled(void *arg)
{
	struct cancelling *c = arg;
	struct sl_jobs *j = c->jobs;
	sl__batch_changed(j, c->id);
	free(c);
	sl__works_done(j);
}

static void cancel(struct sl_batch *b, struct sl_request *r)
{
	struct waiter *w = calloc(1, sizeof *w);
	struct cancelling *c = malloc(sizeof *c);
	if (!w || !c) {
		free(w);
		free(c);
		sl_reply_problem(r, SL_NOMEM, SL_NO_MEMORY "cancelling a batch.");
		return;
	}
	w->r = r;
	sl_list_append(&b->waiters, &w->link);
	sl_request_park_for(r, PATIENCE_MS, NULL, waiter_gone, w);
	*c = (struct cancelling){.jobs = b->jobs};
	memcpy(c->id, b->id, sizeof c->id);
	b->jobs->works++;
	sl_turns(b->jobs->d->loop, cancel_one, all_cancelled, c);
}

/* Removes all jobs in one transaction; the last one removes the record of the batch, see sl__batch_job_gone(). */
static void delete(struct sl_batch *b, struct sl_request *r)
{
	struct sl_jobs *j = b->jobs;
	struct sl_later *later = sl_later_create(r, NULL, NULL, b->id);
	struct sl_job *last = NULL;
	struct sl_error err;
	int code = 0;
	if (!later)
		return;
	sl_db_begin(j->d->db);
	for (size_t i = 0, n = json_array_size(b->each); i < n && !code; i++) {
		struct sl_job *job = sl__job_find(j, sl__batch_job_id(b, i));
		if (job && last)
			code = sl__job_delete(last, NULL, NULL);
		last = job ? job : last;
	}
	if (!code)
		code = last ? sl__job_delete(last, sl_later_done, later) : SL_NOMEM;
	sl_db_end(j->d->db, true);
	if (code)
		sl_error_set(&err, code, SL_NO_MEMORY "deleting a batch.");
	sl_later_begun(later, code, &err);
}

void sl_batch_end_or_delete(struct sl_batch *b, struct sl_request *r)
{
	if (has_unended(b))
		cancel(b, r);
	else
		delete(b, r);
}
