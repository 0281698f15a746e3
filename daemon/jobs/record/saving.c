/* Writes jobs' records. A write that fails is repeated each second, with what the record says then; requests that wait
 * for it get the error meanwhile. The data base keeps the order of writes. Loop thread. */

#include "daemon/jobs/jobs_internal.h"
#include "daemon/store/db.h"
#include "daemon/util/log.h"

static void saved(void *arg, int status, const struct sl_error *err)
{
	struct sl_job *job = arg;
	struct sl_jobs *j = job->jobs;
	job->saving.writes--;
	if (status) {
		sl__job_unsaved(job, err);
	} else if (!job->saving.again.in && !sl_stage_is_ending(job->life.stage)) {
		job->saving.problem.code = 0;
	}
	sl__job_changed(job);
	if (!job->saving.writes)
		sl__job_answer_waiters(job);
	sl__job_unref(job);
	sl__works_done(j);
}

int sl__job_save(struct sl_job *job, sl_db_done_fn done)
{
	json_t *document = sl__job_document(job);
	if (!document)
		return SL_NOMEM;
	int code = sl_db_put(job->jobs->d->db, SL_DB_JOBS, job->record.id, document, done ? done : saved, job);
	json_decref(document);
	if (!code) {
		sl__job_ref(job);
		job->jobs->works++;
		job->saving.writes += !done;
	}
	return code;
}

void sl__job_record_change(struct sl_job *job)
{
	struct sl_error err;
	if (!sl__job_save(job, NULL))
		return;
	sl_error_memory(&err, "the record");
	sl__job_unsaved(job, &err);
}

/* ---- failed writes ------------------------------------------------------------------------- */

void sl__job_unsaved(struct sl_job *job, const struct sl_error *err)
{
	if (!job->saving.problem.code)
		sl_log_error("jobs", "%s could not be recorded; the server tries again: %s", job->record.id,
			     err ? err->detail : "");
	if (err)
		job->saving.problem = *err;
	else
		sl_error_set(&job->saving.problem, SL_IO, "The data base is closed.");
	sl__job_try_again(job);
	sl__job_answer_waiters(job);
}

void sl__job_try_again(struct sl_job *job)
{
	if (job->saving.again.in)
		return;
	sl__job_ref(job);
	sl_list_append(&job->jobs->unsaved, &job->saving.again);
}

static void forget_unsaved(struct sl_job *job)
{
	sl_list_unlink(&job->saving.again);
	sl__job_unref(job);
}

void sl__jobs_save_again(struct sl_jobs *j)
{
	for (size_t left = j->unsaved.count; left; left--) {  /* a write that fails again is appended */
		struct sl_job *job = sl__job_ref(SL_LIST_FIRST(struct sl_job, &j->unsaved, saving.again));
		forget_unsaved(job);
		if (job->life.stage == SL_STAGE_UNSAVED) {
			sl__job_step(job, SL_ON_RETRY);
		} else if (!sl_stage_is_ending(job->life.stage) && !sl_stage_is_deleted(job->life.stage)) {
			if (job->saving.problem.code && sl__job_save(job, NULL))
				sl__job_unsaved(job, &job->saving.problem);
			if (!j->stopping)
				sl__job_step(job, SL_ON_LOOK);
		}
		sl__job_unref(job);
	}
}

void sl__jobs_forget_unsaved(struct sl_jobs *j)
{
	SL_LIST_EACH(struct sl_job, job, &j->unsaved, saving.again)
		forget_unsaved(job);
}
