/* The table of all jobs, by id and by age; states of jobs, and recording them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "daemon/jobs/jobs_internal.h"
#include "daemon/store/db.h"
#include "daemon/store/uses.h"
#include "daemon/files/job_files.h"
#include "daemon/util/log.h"
#include "daemon/util/problem.h"
#include "daemon/util/ulid.h"

#define PREFIX_LEAST 6  /* the fewest characters of an id that may name a job */

/* ---- the table ------------------------------------------------------------------ */

static unsigned bucket_of(const char *text)
{
	return sl_list_hash(text, SIZE_MAX) % SL__BUCKETS;
}

struct sl_job *sl__job_find(struct sl_jobs *j, const char *id)
{
	return SL_LIST_FIND(struct sl_job, job, &j->bucket[bucket_of(id)], in_bucket, !strcmp(job->id, id));
}

struct sl_job *sl__job_of_key(struct sl_jobs *j, const char *user, const char *key)
{
	SL_LIST_EACH_BACK(struct sl_job, job, &j->keys[bucket_of(key)], in_keys)
		if (!strcmp(job->idempotency_key, key) && !strcmp(job->user, user))
			return job;
	return NULL;
}

int sl__job_match(struct sl_jobs *j, const char *text, struct sl_job **out, struct sl_error *err)
{
	size_t length = strlen(text);
	*out = sl__job_find(j, text);
	bool prefix = !*out && length >= PREFIX_LEAST && length < SL_ULID_BYTES - 1;
	SL_LIST_EACH_BACK(struct sl_job, job, &j->all, in_all) {
		if (!prefix || strncasecmp(job->id, text, length))
			continue;
		if (*out)
			return sl_error_set(err, SL_CONFLICT, "The ids of several jobs begin with %s, %s and %s among "
					    "them; give more characters.", text, (*out)->id, job->id);
		*out = job;
	}
	return *out ? 0 : sl_error_set(err, SL_NOTFOUND, "There is no job %.64s.", text);
}

bool sl_jobs_have(struct sl_jobs *j, const char *id)
{
	return sl__job_find(j, id) != NULL;
}

const char *sl_job_graph(const struct sl_job *job)
{
	return job->graph;
}

const char *sl_job_id(const struct sl_job *job)
{
	return job->id;
}

struct sl_job *sl_job_of_request(struct sl_request *r)
{
	struct sl_job *job;
	struct sl_error err;
	if (sl__job_match(sl_request_daemon(r)->jobs, sl_request_path(r, "id"), &job, &err))
		sl_reply_error(r, &err);
	else
		sl_uses_mark(job->jobs->d->uses, job->id);
	return job;
}

struct sl_job *sl__job_create(struct sl_jobs *j, const char *id)
{
	struct sl_job *job = calloc(1, sizeof *job);
	if (!job)
		return NULL;
	job->jobs = j;
	job->references = 1;
	job->life = sl_machine_new();
	memcpy(job->id, id, sizeof job->id);
	sl_watch_init(&job->watch, j->watches, &sl__job_watch_ops, job, job->id, 0);
	sl__job_set_engine(job, SL_ENGINE_AUTO, j->engines->preferred);
	job->work.method = sl_methods[0];
	sl_param_defaults(job->work.method->params, &job->work.params);
	job->status.kl = job->status.gradient_norm = job->preparation_s = NAN;
	return job;
}

struct sl_job *sl__job_ref(struct sl_job *job)
{
	job->references++;
	return job;
}

void sl__job_unref(struct sl_job *job)
{
	if (--job->references)
		return;
	free(job->name);
	free(job->carried);
	sl_layout_unref(job->last);
	free(job->idempotency_key);
	free(job->idempotency_hash);
	json_decref(job->problem);
	json_decref(job->quality);
	json_decref(job->notes);
	json_decref(job->input);
	sl_method_result_finish(&job->result);
	json_decref(job->table_of_result);
	free(job->trace);
	sl_watch_finish(&job->watch);
	free(job);
}

void sl__job_know_data(struct sl_job *job, const struct sl_graph_record *g)
{
	if (!g)
		return;
	job->data_known = true;
	job->data_kind = g->kind;
	job->neighbours = sl__work_neighbours(&job->work, g);
}

void sl__job_insert(struct sl_job *job)
{
	struct sl_jobs *j = job->jobs;
	struct sl_link *newer = NULL;
	job->version = sl_version_next();
	sl__job_know_data(job, sl_graphs_find(j->d->graphs, job->graph));
	sl_list_append(&j->bucket[bucket_of(job->id)], &job->in_bucket);
	if (job->idempotency_key)
		sl_list_append(&j->keys[bucket_of(job->idempotency_key)], &job->in_keys);
	/* a new job is the newest; a job that could not be deleted returns to its old place */
	SL_LIST_EACH_BACK(struct sl_job, other, &j->all, in_all) {
		if (strcmp(other->id, job->id) < 0)
			break;
		newer = &other->in_all;
	}
	sl_list_insert(&j->all, newer, &job->in_all);
	j->count[job->life.state]++;
	if (!sl__job_ended(job)) {
		sl_list_append(&j->unfinished, &job->in_unfinished);
		if (job->after[0])
			sl_list_append(&j->dependants, &job->in_dependants);
		sl_graphs_use(j->d->graphs, job->graph);
	}
	sl__job_changed(job);
}

void sl__job_leave_table(struct sl_job *job)
{
	struct sl_jobs *j = job->jobs;
	sl_list_unlink(&job->in_bucket);
	sl_list_unlink(&job->in_keys);
	sl_list_unlink(&job->in_unfinished);
	sl_list_unlink(&job->in_dependants);
	sl_list_unlink(&job->in_all);
	j->count[job->life.state]--;
	sl__job_changed(job);
}

void sl_jobs_each_unused(struct sl_jobs *j, void (*each)(void *arg, const char *id, uint64_t finished_ms), void *arg)
{
	SL_LIST_EACH(const struct sl_job, job, &j->dependants, in_dependants) {
		struct sl_job *other = job->after_met ? NULL : sl__job_find(j, job->after);
		if (other)
			other->awaited = true;
	}
	SL_LIST_EACH(struct sl_job, job, &j->all, in_all) {
		if (sl__job_ended(job) && job->references == 1 && !job->awaited)
			each(arg, job->id, job->finished_ms);
		job->awaited = false;
	}
}

bool sl_jobs_on_graph(const struct sl_jobs *j, const char *graph)
{
	return SL_LIST_FIND(struct sl_job, job, &j->all, in_all, !strcmp(job->graph, graph)) != NULL;
}

int sl_job_remove(struct sl_jobs *j, const char *id)
{
	struct sl_job *job = sl__job_find(j, id);
	return job && sl__job_ended(job) ? sl__job_delete(job, NULL, NULL) : SL_CONFLICT;
}

struct deletion {
	struct sl_job *job;  /* a reference */
	sl_db_done_fn done;
	void *arg;
};

/* Files are removed after the record, so that a job recorded as done always has its result. If the record cannot be
 * removed, the job is put back into the table, unless it was never recorded and so has not ended. */
static void record_removed(void *arg, int status, const struct sl_error *err)
{
	struct deletion *d = arg;
	struct sl_job *job = d->job;
	struct sl_jobs *j = job->jobs;
	if (!status) {
		sl_users_forget(j->d->users, job->id);
		sl_uses_forget(j->d->uses, job->id);
		sl__batch_job_gone(j, job->batch);
		sl__job_remove_files(job, sl_job_file_kinds());
	} else if (job->finished_ms && !j->stopping) {
		sl_log_error("jobs", "%s cannot be deleted: %s", job->id, err->detail);
		job->watch.gone = false;
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
	if (sl_db_remove(j->d->db, SL_DB_JOBS, job->id, record_removed, d)) {
		free(d);
		return SL_NOMEM;
	}
	sl__job_ref(job);
	j->works++;
	sl__measurements_cancel(j, job);
	sl_watch_gone(&job->watch);
	sl__job_step(job, SL_ON_DELETE);
	sl__job_unref(job);
	return 0;
}

/* ---- states ------------------------------------------------------------------------ */

void sl__job_show(struct sl_job *job, enum sl_job_state before)
{
	struct sl_jobs *j = job->jobs;
	j->count[before]--;
	j->count[job->life.state]++;
	if (sl__job_ended(job)) {
		sl_list_unlink(&job->in_unfinished);
		sl_list_unlink(&job->in_dependants);
		sl_graphs_unuse(j->d->graphs, job->graph);
		sl_metric_add(j->metric_ended[job->life.state - SL_JOB_DONE], 1);
	}
	sl__job_notify(job);
}

void sl__job_notify(struct sl_job *job)
{
	sl__job_answer_waiters(job);
	if (job->batch[0])
		sl__batch_changed(job->jobs, job->batch);
	sl__job_changed(job);
}

static void saved(void *arg, int status, const struct sl_error *err)
{
	struct sl_job *job = arg;
	struct sl_jobs *j = job->jobs;
	job->saves--;
	if (status) {
		sl__job_unsaved(job, err);
	} else if (!job->again.in && !sl_stage_is_ending(job->life.stage)) {
		job->unsaved.code = 0;
	}
	sl__job_changed(job);
	if (!job->saves)
		sl__job_answer_waiters(job);
	sl__job_unref(job);
	sl__works_done(j);
}

int sl__job_save(struct sl_job *job, sl_db_done_fn done)
{
	json_t *document = sl__job_document(job);
	if (!document)
		return SL_NOMEM;
	int code = sl_db_put(job->jobs->d->db, SL_DB_JOBS, job->id, document, done ? done : saved, job);
	json_decref(document);
	if (!code) {
		sl__job_ref(job);
		job->jobs->works++;
		job->saves += !done;
	}
	return code;
}

void sl__job_record_change(struct sl_job *job)
{
	struct sl_error err;
	if (!sl__job_save(job, NULL))
		return;
	sl_error_set(&err, SL_NOMEM, "Out of memory for the record.");
	sl__job_unsaved(job, &err);
}

void sl__works_done(struct sl_jobs *j)
{
	j->works--;
	sl__jobs_shutdown_step(j);
}
