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
void sl__after_met(struct sl_job *job)
{
	job->after_met = true;
	sl__job_record_change(job);
}

static void copied(void *arg)
{
	struct copy *c = arg;
	struct sl_job *job = c->job;
	struct sl_jobs *j = job->jobs;
	/* it may have been cancelled meanwhile */
	bool over = sl__job_ended(job) || sl_stage_is_ending(job->life.stage);
	if (c->code == SL_DISKFULL || c->code == SL_READONLY) {
		sl__job_step(job, SL_ON_COPY_NO_ROOM);
	} else if (c->code && over) {
		sl__job_step(job, SL_ON_COPY_FAILED);
	} else if (c->code) {
		sl__job_fail_by(job, SL_ON_COPY_FAILED, &c->err);
	} else {
		job->has_initial = job->has_initial || !over;
		if (!over)
			job->from[0] = '\0';
		sl__job_step(job, SL_ON_COPIED);
	}
	free(c);
	sl__job_unref(job);
	sl__works_done(j);
}

void sl__after_copy(struct sl_job *job)
{
	struct copy *c = calloc(1, sizeof *c);
	struct sl_error err;
	if (!c) {
		sl_error_memory(&err, "an initial layout");
		sl__job_fail_by(job, SL_ON_COPY_FAILED, &err);
		return;
	}
	c->job = sl__job_ref(job);
	memcpy(c->from, job->from, sizeof c->from);
	job->jobs->works++;
	sl_pool_run(job->jobs->d->loop, copy_work, copied, c);
}

void sl__after_drop_copy(struct sl_job *job)
{
	sl__job_remove_files(job, sl_job_file_transient);
}

static void fail(struct sl_job *job, const struct sl_job *other)
{
	struct sl_error err;
	if (other)
		sl_error_set(&err, SL_CONFLICT, "It was to start after job %s, which %s.", job->after,
			     other->life.state == SL_JOB_FAILED ? "has failed" : "was cancelled");
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
		sl__job_step(job, SL_ON_MUST_WAIT);
		return false;
	}
	if (!other || other->life.state != SL_JOB_DONE) {
		fail(job, other);
		return false;
	}
	if (job->from[0]) {
		sl__job_step(job, SL_ON_MUST_COPY);
		return false;
	}
	sl__after_met(job);
	return true;
}

/* For a job that was paused before it had a place: reports at once an error that would prevent it from continuing when
 * it is resumed. */
void sl__after_look_held(struct sl_job *job)
{
	const struct sl_job *other = job->after[0] ? sl__job_find(job->jobs, job->after) : NULL;
	if (!job->after[0] || job->after_met || job->has_checkpoint || (other && !sl__job_ended(other)))
		return;
	if (!other || other->life.state != SL_JOB_DONE)
		fail(job, other);
	else if (job->from[0])
		sl__job_step(job, SL_ON_MUST_COPY);
	else
		sl__after_met(job);
}

void sl__after_ended(struct sl_job *other)
{
	struct sl_jobs *j = other->jobs;
	SL_LIST_EACH(struct sl_job, job, &j->dependants, in_dependants)
		if (!strcmp(job->after, other->id) && !j->stopping)
			sl__job_step(job, SL_ON_LOOK);
}
