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
	int dims = sl__work_initial_dims(&job->record.work);
	float *y = NULL;
	c->code = sl_job_file_read_layout(folder, c->from, "npy", job->record.nodes, dims, &y, &c->err);
	if (!c->code)
		c->code = sl_job_file_write_layout(folder, job->record.id, "initial", y, job->record.nodes, dims, NULL,
						   &c->err);
	free(y);
}

/* Ends the wait: the other job may be deleted from now on. */
void sl__after_met(struct sl_job *job)
{
	sl__record_after_met(&job->record);
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
		sl__record_copied(&job->record, !over);
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
	memcpy(c->from, job->record.from, sizeof c->from);
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
		sl_error_set(&err, SL_CONFLICT, "It was to start after job %s, which %s.", job->record.after,
			     other->life.state == SL_JOB_FAILED ? "has failed" : "was cancelled");
	else
		sl_error_set(&err, SL_NOTFOUND, "It was to start after job %s, which is not there any more.",
			     job->record.after);
	sl__job_fail(job, &err);
}

static bool waits(const struct sl_job *job)
{
	return job->record.after[0] && !job->record.after_met && !job->record.has_checkpoint;
}

bool sl__after_ready(struct sl_job *job)
{
	if (!waits(job))
		return true;
	const struct sl_job *other = sl__job_find(job->jobs, job->record.after);
	if (other && !sl__job_ended(other)) {
		sl__job_step(job, SL_ON_MUST_WAIT);
		return false;
	}
	if (!other || other->life.state != SL_JOB_DONE) {
		fail(job, other);
		return false;
	}
	if (job->record.from[0]) {
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
	const struct sl_job *other = waits(job) ? sl__job_find(job->jobs, job->record.after) : NULL;
	if (!waits(job) || (other && !sl__job_ended(other)))
		return;
	if (!other || other->life.state != SL_JOB_DONE)
		fail(job, other);
	else if (job->record.from[0])
		sl__job_step(job, SL_ON_MUST_COPY);
	else
		sl__after_met(job);
}

void sl__after_ended(struct sl_job *other)
{
	struct sl_jobs *j = other->jobs;
	SL_LIST_EACH(struct sl_job, job, &j->dependants, listed.dependants)
		if (!strcmp(job->record.after, other->record.id) && !j->stopping)
			sl__job_step(job, SL_ON_LOOK);
}
