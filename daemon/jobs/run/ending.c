/* The end of a job: writes its result, records its end, and then notifies clients. Loop thread. */
#include <stdlib.h>

#include "daemon/jobs/jobs_internal.h"
#include "daemon/store/db.h"
#include "daemon/files/job_files.h"
#include "daemon/util/crashes.h"
#include "daemon/util/log.h"
#include "daemon/util/pool.h"

struct saving {
	struct sl_job *job;         /* a reference */
	char *record;               /* for the seal of the result */
	int code;
	struct sl_error err;
};

static void drop_result(struct sl_job *job)
{
	sl_layout_unref(job->run.last);
	job->run.last = NULL;
	sl_method_result_finish(&job->run.result);
}

/* Publishes the end, which is in the record now, and sends the last layout to readers. */
void sl__job_publish_end(struct sl_job *job)
{
	struct sl_jobs *j = job->jobs;
	drop_result(job);
	sl_crashes_forget(job->record.id);
	sl_watch_pump(&job->readers.watch);
	sl__record_trace_take(&job->record, NULL, 0);  /* it is read from the file from now on */
	if (job->record.has_checkpoint || job->record.has_initial || job->record.work.start ||
	    sl_checkpoint_is_writing(job->run.checkpointing))
		sl__job_remove_files(job, sl_job_file_transient);
	sl__job_learn(job);
	sl_log_info("jobs", "%s is %s after %d iterations, %.3f s", job->record.id, sl_job_state_name[job->life.end],
		    job->record.status.iteration, job->record.status.seconds);
	sl__jobs_retain(j, job);
}

static void not_saved(struct sl_job *job, const struct sl_error *err)
{
	sl__job_step(job, SL_ON_NOT_SAVED);
	sl__job_unsaved(job, err);
}

/* The end is published only after it is on disk. */
static void recorded(void *arg, int status, const struct sl_error *err)
{
	struct sl_job *job = arg;
	struct sl_jobs *j = job->jobs;
	if (status)
		not_saved(job, err);
	else
		sl__job_step(job, SL_ON_RECORDED);
	sl__job_unref(job);
	sl__works_done(j);
}

static void save_result(void *arg)
{
	struct saving *s = arg;
	struct sl_job *job = s->job;  /* trace, layout, arrays and id do not change while the job is SAVING */
	const struct sl_job_record *r = &job->record;
	const char *folder = job->jobs->folder;
	const struct sl_layout *last = job->run.last;
	if (last)
		s->code = sl_job_file_write_result(folder, r->id, last->y, last->n, last->dims, r->trace, r->trace_count,
						   s->record, &s->err);
	else
		s->code = sl_job_file_write_arrays(folder, r->id, &job->run.result, r->trace, r->trace_count, s->record,
						   &s->err);
}

/* On a full disk a finished job waits for space. A cancelled job ends without the layout if it could not be written. */
static void result_saved(void *arg)
{
	struct saving *s = arg;
	struct sl_job *job = s->job;
	struct sl_jobs *j = job->jobs;
	if ((s->code == SL_DISKFULL || s->code == SL_READONLY) && job->life.end == SL_JOB_DONE) {
		not_saved(job, &s->err);
	} else if (s->code && job->life.end == SL_JOB_DONE) {
		sl__job_fail(job, &s->err);
	} else {
		if (s->code)
			sl__record_results(&job->record, false, false);
		drop_result(job);
		sl__job_step(job, SL_ON_RESULT_SAVED);
	}
	free(s->record);
	free(s);
	sl__job_unref(job);
	sl__works_done(j);
}

/* Writes the result, if there is one that is not written yet. */
void sl__job_save_result(struct sl_job *job)
{
	struct saving *s;
	struct sl_error err;
	if (!job->run.last && !job->run.result.count) {
		sl__job_step(job, SL_ON_RESULT_SAVED);
		return;
	}
	if (!(s = calloc(1, sizeof *s))) {
		sl_error_memory(&err, "saving the end of a job");
		not_saved(job, &err);
		return;
	}
	s->job = sl__job_ref(job);
	sl__record_results(&job->record, job->run.last, job->run.result.count > 0);  /* for the record in the seal */
	s->record = sl__job_record(job, NULL);
	job->jobs->works++;
	sl_pool_run(job->jobs->d->loop, save_result, result_saved, s);
}

void sl__job_save_end(struct sl_job *job)
{
	struct sl_error err;
	if (!sl__job_save(job, recorded))
		return;
	sl_error_memory(&err, "saving the end of a job");
	not_saved(job, &err);
}

/* Its last layout, if it has one, is in job->run.last, and its arrays are in job->run.result. */
void sl__job_begin_end(struct sl_job *job)
{
	bool done = job->life.end == SL_JOB_DONE;
	sl__move_over(job);
	sl__job_drop_carried(job);
	sl__record_finished(&job->record);
	if (done)
		sl_metric_observe(job->jobs->metric_iterating, job->record.status.seconds);
	if (job->life.end == SL_JOB_FAILED) {
		sl_layout_unref(job->run.last);
		job->run.last = NULL;
	}
	/* before the record is made, which contains the number of the last frame */
	sl_watch_end(&job->readers.watch, done ? job->run.last : NULL);
}

void sl__job_fail_by(struct sl_job *job, enum sl_job_event event, const struct sl_error *err)
{
	sl__record_problem(&job->record, err);
	sl_log_warning("jobs", "%s failed: %s", job->record.id, err->detail);
	sl__job_step(job, event);
}

void sl__job_fail(struct sl_job *job, const struct sl_error *err)
{
	sl__job_fail_by(job, SL_ON_FAIL, err);
}
