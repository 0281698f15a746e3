/* Batches: several jobs by one request, on one graph, with parameters that differ. They are accepted whole or refused
 * whole: records of all jobs, of the batch and of their owners are one transaction. The batch knows its jobs by their
 * ids; the record of each job names the batch, which goes with the last of them. Loop thread. */
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/jobs/jobs_internal.h"
#include "daemon/jobs/queue/expand.h"
#include "daemon/util/json.h"
#include "daemon/util/log.h"
#include "daemon/util/time_text.h"

#define PATIENCE_MS 30000
#define KEY_MOST 200
#define NAME_MOST 200

struct sl_batch {
	struct sl_link link;         /* in sl_jobs.batches, the oldest first */
	struct sl_jobs *jobs;
	char id[SL_ULID_BYTES], graph[SL_ULID_BYTES], user[SL_ULID_BYTES];
	char *name, *key, *hash;     /* or NULL */
	uint64_t created_ms;
	json_t *each;                /* [{"job": id, "parameters": {...}}, ...] */
	bool recorded;
	size_t ended;                /* so many of its first jobs have ended, or are gone, for good */
	struct sl_list waiters;      /* struct waiter: until all of its jobs have ended */
};

struct waiter {
	struct sl_link link;
	struct sl_request *r;
};

static const char *job_id(const struct sl_batch *b, size_t i)
{
	return json_string_value(json_object_get(json_array_get(b->each, i), "job"));
}

static void destroy(struct sl_batch *b)
{
	sl_list_unlink(&b->link);
	free(b->name);
	free(b->key);
	free(b->hash);
	json_decref(b->each);
	free(b);
}

void sl__batches_destroy(struct sl_jobs *j)
{
	SL_LIST_EACH(struct sl_batch, b, &j->batches, link)
		destroy(b);
}

static struct sl_batch *find(const struct sl_jobs *j, const char *id)
{
	SL_LIST_EACH_BACK(struct sl_batch, b, &j->batches, link)
		if (!strcmp(b->id, id))
			return b;
	return NULL;
}

bool sl_batches_have(const struct sl_jobs *j, const char *id)
{
	return find(j, id) != NULL;
}

struct sl_batch *sl_batch_of_request(struct sl_request *r)
{
	struct sl_batch *b = find(sl_request_daemon(r)->jobs, sl_request_path(r, "id"));
	if (!b)
		sl_reply_problem(r, SL_NOTFOUND, "There is no batch %.64s.", sl_request_path(r, "id"));
	return b;
}

/* ---- JSON ----------------------------------------------------------------------------------- */

static json_t *value_or_null(json_t *value)
{
	return value ? json_incref(value) : json_null();
}

/* One that was deleted has its parameters and nothing else. */
static json_t *job_json(const struct sl_batch *b, size_t i)
{
	static const char *const members[] = {"iteration", "iterations", "kl", "seconds", NULL};
	const struct sl_job *job = sl__job_find(b->jobs, job_id(b, i));
	json_t *progress = job ? sl__job_progress_json(job) : NULL;
	json_t *o = json_pack("{s:s, s:O, s:s?, s:s?, s:o, s:o}", "id", job_id(b, i),
			      "parameters", json_object_get(json_array_get(b->each, i), "parameters"),
			      "state", job ? sl__job_state_name[job->state] : NULL,
			      "stop", job && job->state == SL_JOB_DONE ? sl_stop_name(job->status.stop) : NULL,
			      "quality", value_or_null(job ? job->quality : NULL),
			      "problem", value_or_null(job ? job->problem : NULL));
	for (int m = 0; members[m]; m++)
		json_object_set_new(o, members[m], value_or_null(json_object_get(progress, members[m])));
	json_decref(progress);
	return o;
}

static json_t *states_json(const struct sl_batch *b)
{
	int count[SL_JOB_STATES] = {0};
	json_t *o = json_object();
	for (size_t i = 0; i < json_array_size(b->each); i++) {
		const struct sl_job *job = sl__job_find(b->jobs, job_id(b, i));
		if (job)
			count[job->state]++;
	}
	for (int i = 0; i < SL_JOB_STATES; i++)
		json_object_set_new(o, sl__job_state_name[i], json_integer(count[i]));
	return o;
}

static json_t *summary(const struct sl_batch *b)
{
	char text[SL_TIME_BYTES];
	return json_pack("{s:s, s:s?, s:s, s:s, s:o}", "id", b->id, "name", b->name, "graph", b->graph, "created",
			 sl_time_text(b->created_ms, text), "states", states_json(b));
}

json_t *sl_batch_json(const struct sl_batch *b)
{
	json_t *o = summary(b), *jobs = json_array();
	for (size_t i = 0; i < json_array_size(b->each); i++)
		json_array_append_new(jobs, job_json(b, i));
	json_object_set_new(o, "jobs", jobs);
	return o;
}

json_t *sl_batches_json(const struct sl_jobs *j, const char *cursor, int limit, char next[SL_ULID_BYTES])
{
	const struct sl_batch *last = NULL;
	json_t *items = json_array();
	next[0] = '\0';
	SL_LIST_EACH_BACK(const struct sl_batch, b, &j->batches, link) {
		if (!b->recorded || (cursor && strcmp(b->id, cursor) >= 0))
			continue;
		if (limit-- == 0) {
			memcpy(next, last->id, SL_ULID_BYTES);
			break;
		}
		json_array_append_new(items, summary(b));
		last = b;
	}
	return items;
}

int sl_batch_share(struct sl_jobs *j, const char *id, const json_t *body, sl_db_done_fn done, void *arg,
		   struct sl_error *err)
{
	const struct sl_batch *b = find(j, id);
	struct sl_error ignored;
	if (!b)
		return sl_error_set(err, SL_NOTFOUND, "There is no batch %.64s.", id);
	sl_db_begin(j->d->db);
	int code = sl_users_share(j->d->users, id, body, done, arg, err);
	for (size_t i = 0; i < json_array_size(b->each) && !code; i++)
		if (sl__job_find(j, job_id(b, i)) &&
		    sl_users_share(j->d->users, job_id(b, i), body, NULL, NULL, &ignored))
			sl_log_warning("jobs", "%s is not shared with its batch %s: %s", job_id(b, i), id, ignored.detail);
	sl_db_end(j->d->db, !code);
	return code;
}

static json_t *document(const struct sl_batch *b)
{
	return json_pack("{s:s?, s:s, s:s, s:I, s:O, s:s?, s:s?}", "name", b->name, "graph", b->graph, "user", b->user,
			 "created", (json_int_t)b->created_ms, "each", b->each, "key", b->key, "hash", b->hash);
}

static bool each_is_good(const json_t *each)
{
	const json_t *one;
	size_t i;
	json_array_foreach(each, i, one) {
		const char *id = json_string_value(json_object_get(one, "job"));
		if (!id || !sl_ulid_valid(id) || !json_is_object(json_object_get(one, "parameters")))
			return false;
	}
	return json_is_array(each);
}

static char *copy_of(const json_t *o, const char *key)
{
	const char *text = json_string_value(json_object_get(o, key));
	return text ? strdup(text) : NULL;
}

int sl__batch_load(void *arg, const char *id, json_t *o)
{
	struct sl_jobs *j = arg;
	const char *graph = json_string_value(json_object_get(o, "graph"));
	const char *user = json_string_value(json_object_get(o, "user"));
	if (!sl_ulid_valid(id) || !graph || !sl_ulid_valid(graph) || !user || !each_is_good(json_object_get(o, "each")))
		return SL_DB_PASSED_OVER;
	struct sl_batch *b = calloc(1, sizeof *b);
	if (!b)
		return SL_NOMEM;
	b->jobs = j;
	snprintf(b->id, sizeof b->id, "%s", id);
	snprintf(b->graph, sizeof b->graph, "%s", graph);
	snprintf(b->user, sizeof b->user, "%s", user);
	b->name = copy_of(o, "name");
	b->key = copy_of(o, "key");
	b->hash = copy_of(o, "hash");
	b->created_ms = (uint64_t)json_integer_value(json_object_get(o, "created"));
	b->each = json_incref(json_object_get(o, "each"));
	b->recorded = true;
	sl_list_append(&j->batches, &b->link);
	return 0;
}

/* ---- the end -------------------------------------------------------------------------------- */

static bool has_jobs(const struct sl_batch *b)
{
	for (size_t i = 0; i < json_array_size(b->each); i++)
		if (sl__job_find(b->jobs, job_id(b, i)))
			return true;
	return false;
}

/* Asked at the end of each of its jobs. */
static bool has_unended(struct sl_batch *b)
{
	for (; b->ended < json_array_size(b->each); b->ended++) {
		const struct sl_job *job = sl__job_find(b->jobs, job_id(b, b->ended));
		if (job && !sl__job_ended(job))
			return true;
	}
	return false;
}

static void remove_record(struct sl_batch *b)
{
	sl_db_remove(b->jobs->d->db, SL_DB_BATCHES, b->id, NULL, NULL);
	sl_users_forget(b->jobs->d->users, b->id);
	destroy(b);
}

void sl__batch_job_gone(struct sl_jobs *j, const char *id)
{
	struct sl_batch *b = find(j, id);
	if (b && b->recorded && !has_jobs(b) && !b->waiters.count)
		remove_record(b);
}

void sl__batches_sweep(struct sl_jobs *j)
{
	SL_LIST_EACH(struct sl_batch, b, &j->batches, link)
		if (!has_jobs(b))
			remove_record(b);
}

static void waiter_gone(void *arg)
{
	struct waiter *w = arg;
	sl_list_unlink(&w->link);
	free(w);
}

void sl__batch_changed(struct sl_jobs *j, const char *id)
{
	struct sl_batch *b = find(j, id);
	if (!b || !b->waiters.count || has_unended(b))
		return;
	SL_LIST_EACH(struct waiter, w, &b->waiters, link) {
		struct sl_request *r = w->r;
		waiter_gone(w);
		sl_reply_json(r, 200, sl_batch_json(b));
	}
}

static void cancel(struct sl_batch *b, struct sl_request *r)
{
	struct waiter *w = calloc(1, sizeof *w);
	if (!w) {
		sl_reply_problem(r, SL_NOMEM, "Out of memory for cancelling a batch.");
		return;
	}
	w->r = r;
	sl_list_append(&b->waiters, &w->link);
	sl_request_park_for(r, PATIENCE_MS, NULL, waiter_gone, w);
	for (size_t i = 0; i < json_array_size(b->each); i++) {
		struct sl_job *job = sl__job_find(b->jobs, job_id(b, i));
		if (job)
			sl__job_cancel(job);
	}
	sl__batch_changed(b->jobs, b->id);
}

struct deletion {
	struct sl_request *r;  /* NULL: the client is gone */
};

static void deleted(void *arg, int status, const struct sl_error *err)
{
	struct deletion *d = arg;
	if (d->r && status)
		sl_reply_error(d->r, err);
	else if (d->r)
		sl_reply_empty(d->r, 204);
	free(d);
}

/* All jobs in one transaction. The record of the batch goes when the last of them is gone, sl__batch_job_gone(). */
static void delete(struct sl_batch *b, struct sl_request *r)
{
	struct sl_jobs *j = b->jobs;
	struct deletion *d = malloc(sizeof *d);
	struct sl_job *last = NULL;
	int code = d ? 0 : SL_NOMEM;
	sl_db_begin(j->d->db);
	for (size_t i = 0, n = json_array_size(b->each); i < n && !code; i++) {
		struct sl_job *job = sl__job_find(j, job_id(b, i));
		if (job && last)
			code = sl__job_delete(last, NULL, NULL);
		last = job ? job : last;
	}
	if (!code)
		code = last ? sl__job_delete(last, deleted, d) : SL_NOMEM;
	sl_db_end(j->d->db, true);
	if (code) {
		free(d);
		sl_reply_problem(r, SL_NOMEM, "Out of memory for deleting a batch.");
		return;
	}
	d->r = r;
	sl_park(&d->r, 0);
}

void sl_batch_end_or_delete(struct sl_batch *b, struct sl_request *r)
{
	if (has_unended(b))
		cancel(b, r);
	else
		delete(b, r);
}

/* ---- submission ----------------------------------------------------------------------------- */

struct submission {
	struct sl_batch *batch;
	struct sl_request *r;  /* NULL: the client is gone */
};

/* None of it was ever there. */
static void take_back(struct sl_batch *b)
{
	for (size_t i = 0; i < json_array_size(b->each); i++) {
		struct sl_job *job = sl__job_find(b->jobs, job_id(b, i));
		if (!job)
			continue;
		sl__job_set_state(job, SL_JOB_FAILED);
		sl__job_delete(job, NULL, NULL);
	}
	sl_users_forget(b->jobs->d->users, b->id);
	destroy(b);
}

static void reply_accepted(struct sl_request *r, const struct sl_batch *b, int status)
{
	sl_reply_header(r, "Location", "/v1/batches/%s", b->id);
	sl_reply_json(r, status, sl_batch_json(b));
}

static void recorded(void *arg, int status, const struct sl_error *err)
{
	struct submission *s = arg;
	struct sl_batch *b = s->batch;
	struct sl_jobs *j = b->jobs;
	if (status) {
		if (s->r)
			sl_reply_error(s->r, err);
		take_back(b);
	} else {
		b->recorded = true;
		for (size_t i = 0; i < json_array_size(b->each); i++) {
			struct sl_job *job = sl__job_find(j, job_id(b, i));
			if (job && !sl__job_ended(job) && job->stage == SL_STAGE_HELD && !j->stopping && !job->pause)
				sl__job_enqueue(job);
		}
		if (s->r)
			reply_accepted(s->r, b, 202);
	}
	free(s);
	sl__works_done(j);
}

/* The parameters that differ name the job, behind the name of the batch. */
static char *name_of(const char *batch, const json_t *parameters)
{
	char text[NAME_MOST + 1];
	const char *key;
	json_t *value;
	size_t used = batch ? strnlen(batch, NAME_MOST / 2) : 0;
	while (used && batch[used] && (batch[used] & 0xc0) == 0x80)
		used--;  /* no half of a character */
	snprintf(text, sizeof text, "%.*s", (int)used, batch ? batch : "");
	json_object_foreach((json_t *)parameters, key, value) {
		char *shown = json_is_string(value) ? strdup(json_string_value(value)) :
			      json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(6));
		if (shown && used < sizeof text)
			used += (size_t)snprintf(text + used, sizeof text - used, "%s%.40s=%.60s", used ? " " : "", key, shown);
		free(shown);
	}
	return text[0] ? strdup(text) : NULL;
}

static int add_job(struct sl_batch *b, struct sl_job_spec *spec, json_t *parameters, const char *project)
{
	char *name = name_of(b->name, parameters);
	if (spec->source)  /* copied when the job has its turn */
		spec->after = spec->source;
	spec->name = name;
	struct sl_job *job = sl__job_of_spec(b->jobs, spec, NULL, NULL);
	free(name);
	if (!job)
		return SL_NOMEM;
	memcpy(job->user, b->user, sizeof job->user);
	memcpy(job->project, project, sizeof job->project);
	memcpy(job->batch, b->id, sizeof job->batch);
	sl__job_insert(job);
	json_t *one = json_pack("{s:s, s:O}", "job", job->id, "parameters", parameters);
	return json_array_append_new(b->each, one) ? SL_NOMEM : 0;
}

static int put_job(struct sl_batch *b, const struct sl_job *job, const struct sl_principal *who)
{
	struct sl_daemon *d = b->jobs->d;
	json_t *o = sl__job_document(job, SL_JOB_QUEUED);
	int code = o ? sl_db_put(d->db, SL_DB_JOBS, job->id, o, NULL, NULL) : SL_NOMEM;
	json_decref(o);
	if (!code && who->user[0])
		code = sl_users_own(d->users, job->id, who, NULL, NULL);
	return code;
}

static int record(struct sl_batch *b, struct submission *s, const struct sl_principal *who)
{
	struct sl_daemon *d = b->jobs->d;
	json_t *o = document(b);
	sl_db_begin(d->db);
	int code = o ? sl_db_put(d->db, SL_DB_BATCHES, b->id, o, recorded, s) : SL_NOMEM;
	if (!code && who->user[0])
		code = sl_users_own(d->users, b->id, who, NULL, NULL);
	for (size_t i = 0; !code && i < json_array_size(b->each); i++)
		code = put_job(b, sl__job_find(b->jobs, job_id(b, i)), who);
	sl_db_end(d->db, !code);
	json_decref(o);
	return code;
}

static void submit(struct sl_jobs *j, struct sl_request *r, const struct sl__expansion *e, const char *key,
		   const char *hash)
{
	struct sl_batch *b = calloc(1, sizeof *b);
	struct submission *s = malloc(sizeof *s);
	if (!b || !s || !(b->each = json_array())) {
		free(b);
		free(s);
		sl_reply_problem(r, SL_NOMEM, "Out of memory for a batch.");
		return;
	}
	const struct sl_principal *who = sl_request_who(r);
	b->jobs = j;
	sl_ulid_make(b->id);
	memcpy(b->graph, e->spec[0].graph->id, sizeof b->graph);
	memcpy(b->user, who->user, sizeof b->user);
	b->created_ms = sl__wall_ms();
	b->name = e->name ? strdup(e->name) : NULL;
	b->key = key ? strdup(key) : NULL;
	b->hash = key ? strdup(hash) : NULL;
	sl_list_append(&j->batches, &b->link);
	*s = (struct submission){b, r};
	int code = 0;
	for (size_t i = 0; i < e->count && !code; i++)
		code = add_job(b, &e->spec[i], json_array_get(e->parameters, i), who->project);
	if (!code)
		code = record(b, s, who);
	if (code) {
		free(s);
		take_back(b);
		sl_reply_problem(r, SL_NOMEM, "Out of memory for a batch.");
		return;
	}
	j->works++;
	sl_park(&s->r, 0);
}

/* Is it a repetition? Then it is answered. */
static bool answer_repetition(struct sl_jobs *j, struct sl_request *r, const char *key, const char *hash)
{
	SL_LIST_EACH(struct sl_batch, b, &j->batches, link) {
		if (!b->key || strcmp(b->key, key) || strcmp(b->user, sl_request_who(r)->user))
			continue;
		if (strcmp(b->hash, hash))
			sl_reply_status(r, 422, "This Idempotency-Key came with another body before, for batch %s.", b->id);
		else if (!b->recorded)
			sl_reply_status(r, 409, "Batch %s is being recorded; ask again.", b->id);
		else
			reply_accepted(r, b, 200);
		return true;
	}
	return false;
}

static const struct sl_job_spec *largest(const struct sl__expansion *e)
{
	const struct sl_job_spec *most = e->spec;
	uint64_t bytes = 0;
	for (size_t i = 0; i < e->count; i++) {
		const struct sl_job_spec *s = &e->spec[i];
		uint64_t needed = sl_server_engine_bytes(s->engine, &s->params, s->graph->nodes);
		if (needed > bytes || s->params.dims > most->params.dims)
			most = s;
		bytes = needed > bytes ? needed : bytes;
	}
	return most;
}

void sl_batch_submit(struct sl_jobs *j, struct sl_request *r, const json_t *body)
{
	const char *key = sl_request_header(r, "Idempotency-Key");
	int64_t unfinished = j->count[SL_JOB_QUEUED] + j->count[SL_JOB_RUNNING] + j->count[SL_JOB_PAUSED];
	struct sl__expansion e;
	struct sl_error err;
	char hash[65];
	sl__hash_body(r, hash);
	if (key && (!key[0] || strlen(key) > KEY_MOST)) {
		sl_reply_problem(r, SL_BADPARAM, "Idempotency-Key must have from 1 to %d characters.", KEY_MOST);
		return;
	}
	if (key && answer_repetition(j, r, key, hash))
		return;
	if (sl__expand(j, body, &e, &err) || sl_request_body_for(r, body, &err))
		sl_reply_error(r, &err);
	else if (unfinished + (int64_t)e.count > j->d->config.max_jobs)
		sl_reply_status(r, 429, "%lld jobs have not finished yet, and with these %zu there would be more than "
				"max_jobs allows, %lld.", (long long)unfinished, e.count, (long long)j->d->config.max_jobs);
	else if (!sl__limits_refuse(j, r, largest(&e), (int)e.count))
		submit(j, r, &e, key, hash);
	sl__expansion_finish(&e);
}
