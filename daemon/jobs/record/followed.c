/* Tells clients about changes: requests that wait, batches, and the event streams of records and progress. Loop
 * thread. */
#include "daemon/jobs/jobs_internal.h"
#include "daemon/users/accounting.h"

#define PROGRESS_MS 200

json_t *sl_jobs_record(void *arg, const char *id)
{
	struct sl_job *job = sl__job_find(arg, id);
	return job ? sl_job_json(job) : NULL;
}

static void each(void *arg, void (*add)(void *to, const char *id), void *to)
{
	struct sl_jobs *j = arg;
	SL_LIST_EACH(struct sl_job, job, &j->all, listed.all)
		add(to, job->record.id);
}

static bool ended(void *arg, const char *id)
{
	struct sl_job *job = sl__job_find(arg, id);
	return !job || sl__job_ended(job);
}

static void stamp(void *arg, const char *id, int64_t version)
{
	struct sl_job *job = sl__job_find(arg, id);
	if (job)
		sl__record_version(&job->record, version);
}

static json_t *progress(void *arg, const char *id)
{
	struct sl_job *job = sl__job_find(arg, id);
	json_t *object = job ? sl__job_progress_json(job) : NULL;
	if (object)
		json_object_set_new(object, "id", json_string(id));
	return object;
}

static const struct sl_event_source jobs_source = {
	.record = sl_jobs_record, .each = each, .stamp = stamp, .ended = ended,
};
static const struct sl_event_source progress_source = {.record = progress, .stamp = stamp};

void sl__jobs_be_followed(struct sl_jobs *j)
{
	sl_events_source(j->d->events, SL_EVENTS_JOB, &jobs_source, j);
	sl_events_source(j->d->events, SL_EVENTS_PROGRESS, &progress_source, j);
}

void sl__job_progressed(struct sl_job *job)
{
	uint64_t now = uv_now(job->jobs->d->loop);
	if (now - job->readers.progressed_ms < PROGRESS_MS)
		return;
	job->readers.progressed_ms = now;
	sl_events_changed(job->jobs->d->events, SL_EVENTS_PROGRESS, job->record.id);
}

void sl__job_show(struct sl_job *job)
{
	struct sl_jobs *j = job->jobs;
	j->count[job->listed.counted]--;
	j->count[job->listed.counted = job->life.state]++;
	if (sl__job_ended(job)) {
		sl_list_unlink(&job->listed.unfinished);
		sl_list_unlink(&job->listed.dependants);
		sl_graphs_unuse(j->d->graphs, job->record.graph);
		sl_metric_add(j->metric_ended[job->life.state - SL_JOB_DONE], 1);
		sl_accounting_job(j->d->users, job->record.user, job->record.project);
	}
	sl__job_notify(job);
}

void sl__job_notify(struct sl_job *job)
{
	sl__job_answer_waiters(job);
	if (job->record.batch[0])
		sl__batch_changed(job->jobs, job->record.batch);
	sl__job_changed(job);
}
