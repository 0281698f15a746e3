/* Deletes jobs that have ended: on request, to make room, and by age (retention.c). Files are removed after the record,
 * so that a job recorded as done always has its result. Loop thread. */
#include <stdlib.h>
#include <string.h>

#include "daemon/files/job_files.h"
#include "daemon/jobs/jobs_internal.h"
#include "daemon/store/db.h"
#include "daemon/store/uses.h"
#include "daemon/util/log.h"
#include "daemon/util/pool.h"

struct deletion {
	struct sl_job *job;  /* a reference */
	sl_db_done_fn done;
	void *arg;
};

/* If the record cannot be removed, the job is put back into the table, unless it was never recorded and so has not
 * ended. */
static void record_removed(void *arg, int status, const struct sl_error *err)
{
	struct deletion *d = arg;
	struct sl_job *job = d->job;
	struct sl_jobs *j = job->jobs;
	if (!status) {
		sl_users_forget(j->d->users, job->record.id);
		sl_uses_forget(j->d->uses, job->record.id);
		sl__batch_job_gone(j, job->record.batch);
		sl__job_remove_files(job, sl_job_file_kinds());
	} else if (job->record.finished_ms && !j->stopping) {
		sl_log_error("jobs", "%s cannot be deleted: %s", job->record.id, err->detail);
		job->readers.watch.gone = false;
		sl__job_step(job, SL_ON_NOT_DELETED);
	}
	if (sl_stage_is_deleted(job->life.stage))
		sl__job_step(job, SL_ON_DELETED);
	if (d->done)
		d->done(d->arg, status, err);
	free(d);
	sl__job_unref(job);
	sl__works_done(j);
}

int sl__job_delete(struct sl_job *job, sl_db_done_fn done, void *arg)
{
	struct sl_jobs *j = job->jobs;
	struct deletion *d = malloc(sizeof *d);
	if (!d)
		return SL_NOMEM;
	*d = (struct deletion){job, done, arg};
	if (sl_db_remove(j->d->db, SL_DB_JOBS, job->record.id, record_removed, d)) {
		free(d);
		return SL_NOMEM;
	}
	sl__job_ref(job);
	j->works++;
	sl__measurements_cancel(j, job);
	sl_watch_gone(&job->readers.watch);
	sl__job_step(job, SL_ON_DELETE);
	sl__job_unref(job);
	return 0;
}

int sl_job_remove(struct sl_jobs *j, const char *id)
{
	struct sl_job *job = sl__job_find(j, id);
	return job && sl__job_ended(job) ? sl__job_delete(job, NULL, NULL) : SL_CONFLICT;
}

/* ---- files that are no longer needed ----------------------------------------------- */

struct removal {
	struct sl_jobs *jobs;
	char id[SL_ULID_BYTES];
	const char *const *kinds;
};

static void remove_files(void *arg)
{
	struct removal *r = arg;
	sl_job_file_remove(r->jobs->folder, r->id, r->kinds);
}

static void files_removed(void *arg)
{
	struct removal *r = arg;
	struct sl_jobs *j = r->jobs;
	free(r);
	sl__works_done(j);
}

void sl__job_remove_files(struct sl_job *job, const char *const *kinds)
{
	struct removal *r = malloc(sizeof *r);
	if (!r)
		return;
	*r = (struct removal){.jobs = job->jobs, .kinds = kinds};
	memcpy(r->id, job->record.id, sizeof r->id);
	job->jobs->works++;
	sl_pool_run(job->jobs->d->loop, remove_files, files_removed, r);
}
