/* The table of all jobs, by id and by age, and the numbers of jobs by state. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "daemon/jobs/jobs_internal.h"
#include "daemon/store/db.h"
#include "daemon/store/uses.h"
#include "daemon/util/ulid.h"

#define PREFIX_LEAST 6  /* the fewest characters of an id that may name a job */

/* ---- the table ------------------------------------------------------------------ */

static unsigned bucket_of(const char *text)
{
	return sl_list_hash(text, SIZE_MAX) % SL__BUCKETS;
}

struct sl_job *sl__job_find(struct sl_jobs *j, const char *id)
{
	return SL_LIST_FIND(struct sl_job, job, &j->bucket[bucket_of(id)], listed.bucket, !strcmp(job->record.id, id));
}

struct sl_job *sl__job_of_key(struct sl_jobs *j, const char *user, const char *key)
{
	SL_LIST_EACH_BACK(struct sl_job, job, &j->keys[bucket_of(key)], listed.keys)
		if (!strcmp(job->record.idempotency_key, key) && !strcmp(job->record.user, user))
			return job;
	return NULL;
}

int sl__job_match(struct sl_jobs *j, const char *text, struct sl_job **out, struct sl_error *err)
{
	size_t length = strlen(text);
	*out = sl__job_find(j, text);
	bool prefix = !*out && length >= PREFIX_LEAST && length < SL_ULID_BYTES - 1;
	SL_LIST_EACH_BACK(struct sl_job, job, &j->all, listed.all) {
		if (!prefix || strncasecmp(job->record.id, text, length))
			continue;
		if (*out)
			return sl_error_set(err, SL_CONFLICT, "The ids of several jobs begin with %s, %s and %s among "
					    "them; give more characters.", text, (*out)->record.id, job->record.id);
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
	return job->record.graph;
}

const char *sl_job_id(const struct sl_job *job)
{
	return job->record.id;
}

/* The header Sunset (RFC 8594) warns programs that do not look at the record. */
static void tell_end(const struct sl_job *job, struct sl_request *r)
{
	uint64_t expires_ms = sl__job_expires_ms(job);
	time_t seconds = (time_t)(expires_ms / 1000);
	struct tm tm;
	char text[64];
	sl_uses_mark(job->jobs->d->uses, job->record.id);
	if (!expires_ms || !gmtime_r(&seconds, &tm) || sl_reply_has_header(r, "Sunset"))
		return;
	strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S GMT", &tm);
	sl_reply_header(r, "Sunset", "%s", text);
}

struct sl_job *sl_job_of_request(struct sl_request *r)
{
	struct sl_job *job;
	struct sl_error err;
	if (sl__job_match(sl_request_daemon(r)->jobs, sl_request_path(r, "id"), &job, &err))
		sl_reply_error(r, &err);
	else
		tell_end(job, r);
	return job;
}

void sl__job_set_engine(struct sl_job *job, const char *requested, struct sl_server_engine *engine)
{
	sl__record_requested(&job->record, requested);
	job->place.engine = engine;
	if (engine->device)
		sl__record_device(&job->record, engine->device[0].id);
}

struct sl_job *sl__job_create(struct sl_jobs *j, const char *id)
{
	struct sl_job *job = calloc(1, sizeof *job);
	if (!job)
		return NULL;
	job->jobs = j;
	job->references = 1;
	job->life = sl_machine_new();
	job->place.user = job->record.user;
	job->place.project = job->record.project;
	sl__record_init(&job->record, id);
	sl_watch_init(&job->readers.watch, j->watches, &sl__job_watch_ops, job, job->record.id, 0);
	sl__job_set_engine(job, SL_ENGINE_AUTO, j->engines->preferred);
	return job;
}

void sl__job_destroy(struct sl_job *job)
{
	sl__record_finish(&job->record);
	free(job->run.carried);
	sl_layout_unref(job->run.last);
	sl_method_result_finish(&job->run.result);
	sl_watch_finish(&job->readers.watch);
	free(job);
}

void sl__job_know_data(struct sl_job *job, const struct sl_graph_record *g)
{
	if (g)
		sl__record_data(&job->record, g->kind, sl__work_neighbours(&job->record.work, g));
}

void sl__job_insert(struct sl_job *job)
{
	struct sl_jobs *j = job->jobs;
	struct sl_link *newer = NULL;
	sl__record_version(&job->record, sl_version_next());
	job->place.small = job->record.nodes <= SL_SMALL_NODES;
	sl__job_know_data(job, sl_graphs_find(j->d->graphs, job->record.graph));
	sl_list_append(&j->bucket[bucket_of(job->record.id)], &job->listed.bucket);
	if (job->record.idempotency_key)
		sl_list_append(&j->keys[bucket_of(job->record.idempotency_key)], &job->listed.keys);
	/* a new job is the newest; a job that could not be deleted returns to its old place */
	SL_LIST_EACH_BACK(struct sl_job, other, &j->all, listed.all) {
		if (strcmp(other->record.id, job->record.id) < 0)
			break;
		newer = &other->listed.all;
	}
	sl_list_insert(&j->all, newer, &job->listed.all);
	j->count[job->listed.counted = job->life.state]++;
	if (!sl__job_ended(job)) {
		sl_list_append(&j->unfinished, &job->listed.unfinished);
		if (job->record.after[0])
			sl_list_append(&j->dependants, &job->listed.dependants);
		sl_graphs_use(j->d->graphs, job->record.graph);
	}
	sl__job_changed(job);
}

void sl__job_leave_table(struct sl_job *job)
{
	struct sl_jobs *j = job->jobs;
	sl_list_unlink(&job->listed.bucket);
	sl_list_unlink(&job->listed.keys);
	sl_list_unlink(&job->listed.unfinished);
	sl_list_unlink(&job->listed.dependants);
	sl_list_unlink(&job->listed.all);
	j->count[job->listed.counted]--;
	sl__job_changed(job);
}

void sl__job_join_table(struct sl_job *job)
{
	sl__job_insert(sl__job_ref(job));
}

void sl_jobs_each_unused(struct sl_jobs *j, void (*each)(void *arg, const char *id, uint64_t finished_ms), void *arg)
{
	SL_LIST_EACH(const struct sl_job, job, &j->dependants, listed.dependants) {
		struct sl_job *other = job->record.after_met ? NULL : sl__job_find(j, job->record.after);
		if (other)
			other->listed.awaited = true;
	}
	SL_LIST_EACH(struct sl_job, job, &j->all, listed.all) {
		if (sl__job_ended(job) && job->references == 1 && !job->listed.awaited)
			each(arg, job->record.id, job->record.finished_ms);
		job->listed.awaited = false;
	}
}

bool sl_jobs_on_graph(const struct sl_jobs *j, const char *graph)
{
	return SL_LIST_FIND(struct sl_job, job, &j->all, listed.all, !strcmp(job->record.graph, graph)) != NULL;
}
