/* Jobs that wait for another job (`after`). A job starts when the other is done, on request from its layout. It fails
 * with a reason if the other fails, is cancelled or deleted. On a full disk it waits until the layout can be copied.
 * The other job must exist at submission and cannot be changed, so there are no cycles. The record contains the other
 * job's id, and whether the wait has ended. Loop thread. */
#include <stdlib.h>
#include <string.h>

#include "daemon/files/job_files.h"
#include "daemon/jobs/jobs_internal.h"
#include "daemon/util/pool.h"

/* Copies the layout of the other job to the initial layout. */
struct copy {
	struct sl_job *job;  /* a reference; its id, nodes and dims do not change */
	char from[SL_ULID_BYTES];
	int code;
	struct sl_error err;
};

static void copy_work(void *arg)
{
	struct copy *c = arg;
	const struct sl_job *job = c->job;
	const char *folder = job->jobs->folder;
	int dims = sl__work_initial_dims(&job->work);
	float *y = NULL;
	c->code = sl_job_file_read_layout(folder, c->from, "npy", job->nodes, dims, &y, &c->err);
	if (!c->code)
		c->code = sl_job_file_write_layout(folder, job->id, "initial", y, job->nodes, dims, NULL, &c->err);
	free(y);
}

/* Ends the wait: the other job may be deleted from now on. */
static void met(struct sl_job *job)
{
	job->after_met = true;
	sl__job_save(job, job->state, NULL);
}

static void copied(void *arg)
{
	struct copy *c = arg;
	struct sl_job *job = c->job;
	struct sl_jobs *j = job->jobs;
	bool over = job->deleted || sl__job_ended(job) || job->stage == SL_STAGE_SAVING;
	job->copying = false;
	if (over && !c->code) {  /* it was cancelled meanwhile */
		sl__job_remove_files(job, sl_job_file_transient);
	} else if (!over && (c->code == SL_DISKFULL || c->code == SL_READONLY)) {
		sl__job_try_again(job);
	} else if (!over && c->code) {
		sl__job_fail(job, &c->err);
	} else if (!over) {
		job->has_initial = true;
		job->from[0] = '\0';
		met(job);
		if (!j->stopping && !job->pause)
			sl__job_enqueue(job);
	}
	free(c);
	sl__job_unref(job);
	sl__works_done(j);
}

static void copy(struct sl_job *job)
{
	struct copy *c = calloc(1, sizeof *c);
	struct sl_error err;
	if (job->copying) {
		free(c);
		return;
	}
	if (!c) {
		sl_error_set(&err, SL_NOMEM, "Out of memory for an initial layout.");
		sl__job_fail(job, &err);
		return;
	}
	c->job = sl__job_ref(job);
	memcpy(c->from, job->from, sizeof c->from);
	job->copying = true;
	job->jobs->works++;
	sl_pool_run(job->jobs->d->loop, copy_work, copied, c);
}

static void fail(struct sl_job *job, const struct sl_job *other)
{
	struct sl_error err;
	if (other)
		sl_error_set(&err, SL_CONFLICT, "It was to start after job %s, which %s.", job->after,
			     other->state == SL_JOB_FAILED ? "has failed" : "was cancelled");
	else
		sl_error_set(&err, SL_NOTFOUND, "It was to start after job %s, which is not there any more.", job->after);
	sl__job_fail(job, &err);
}

bool sl__after_ready(struct sl_job *job)
{
	const struct sl_job *other = job->after[0] && !job->after_met ? sl__job_find(job->jobs, job->after) : NULL;
	if (!job->after[0] || job->after_met || job->has_checkpoint)
		return true;
	if (other && !sl__job_ended(other)) {
		job->stage = SL_STAGE_AFTER;
		return false;
	}
	if (!other || other->state != SL_JOB_DONE) {
		fail(job, other);
		return false;
	}
	if (job->from[0]) {
		job->stage = SL_STAGE_AFTER;
		copy(job);
		return false;
	}
	met(job);
	return true;
}

/* For a job that was paused before it had a place: reports at once an error that would prevent it from continuing when
 * it is resumed. */
static void look_paused(struct sl_job *job)
{
	const struct sl_job *other = sl__job_find(job->jobs, job->after);
	if (job->stage != SL_STAGE_HELD || job->state != SL_JOB_PAUSED || job->after_met || job->has_checkpoint ||
	    (other && !sl__job_ended(other)))
		return;
	if (!other || other->state != SL_JOB_DONE)
		fail(job, other);
	else if (job->from[0])
		copy(job);
	else
		met(job);
}

void sl__after_again(struct sl_job *job)
{
	if (!job->jobs->stopping && job->stage == SL_STAGE_AFTER)
		sl__job_enqueue(job);
	else if (!job->jobs->stopping && job->after[0])
		look_paused(job);
}

void sl__after_taken_up(struct sl_job *job)
{
	if (job->after[0])
		look_paused(job);
}

void sl__after_ended(struct sl_job *other)
{
	struct sl_jobs *j = other->jobs;
	SL_LIST_EACH(struct sl_job, job, &j->dependants, in_dependants)
		if (!strcmp(job->after, other->id))
			sl__after_again(job);
}
