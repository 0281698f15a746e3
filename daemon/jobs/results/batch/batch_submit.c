/* Submits batches. The jobs of a batch are checked, made and serialised over several turns of the loop; they are not
 * visible meanwhile. If all are valid, they enter the table and the data base at once. If the client disconnects before
 * that, the batch is dropped. */
#include <stdlib.h>
#include <string.h>

#include "daemon/jobs/results/batch/batch_internal.h"
#include "daemon/jobs/results/batch/expand.h"
#include "daemon/util/time_text.h"
#include "daemon/util/turns.h"

#define KEY_MOST 200
#define NAME_MOST 200

struct submission {
	struct sl_jobs *jobs;
	struct sl_request *r;      /* NULL: the client is gone */
	struct sl_batch *batch;
	struct sl__expansion e;
	struct sl_principal who;
	size_t at;                 /* number of jobs made */
	struct sl_job **job;       /* [e.count] */
	char **document;           /* [e.count] their records */
	size_t largest;            /* index of the job that needs most memory and disk space */
	uint64_t largest_bytes;
	int largest_dims;
	int code;
	struct sl_error err;
};

static void destroy(struct submission *s)
{
	for (size_t i = 0; i < s->at; i++) {
		if (s->job[i])
			sl__job_unref(s->job[i]);
		free(s->document[i]);
	}
	free(s->job);
	free(s->document);
	sl__batch_destroy(s->batch);
	sl__expansion_finish(&s->e);
	free(s);
}

/* ---- making jobs ---------------------------------------------------------------------------- */

/* Names a job: the name of the batch, followed by the parameters that differ. */
static char *name_of(const char *batch, const json_t *parameters)
{
	char text[NAME_MOST + 1];
	const char *key;
	json_t *value;
	size_t used = batch ? strnlen(batch, NAME_MOST / 2) : 0;
	while (used && batch[used] && (batch[used] & 0xc0) == 0x80)
		used--;  /* does not cut a UTF-8 character */
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

static struct sl_job *make_job(const struct submission *s, struct sl_job_spec *spec, json_t *parameters)
{
	struct sl_batch *b = s->batch;
	char *name = name_of(b->name, parameters);
	if (spec->source)  /* the layout is copied when the job can start */
		spec->after = spec->source;
	spec->name = name;
	struct sl_job *job = sl__job_of_spec(b->jobs, spec, NULL, NULL);
	free(name);
	if (!job)
		return NULL;
	sl__record_owner(&job->record, b->user, s->who.project, b->id);
	json_t *one = json_pack("{s:s, s:O}", "job", job->record.id, "parameters", parameters);
	if (!json_array_append_new(b->each, one))
		return job;
	sl__job_unref(job);
	return NULL;
}

static void note_largest(struct submission *s, const struct sl_job_spec *spec)
{
	uint64_t bytes = sl__work_device_bytes(&spec->work, spec->engine, spec->graph->nodes) +
			 sl__limits_search_bytes(spec);
	int dims = sl__work_dims(&spec->work);
	if (!s->at || bytes > s->largest_bytes || dims > s->largest_dims) {
		s->largest = s->at;
		s->largest_dims = dims;
	}
	s->largest_bytes = bytes > s->largest_bytes ? bytes : s->largest_bytes;
}

static bool make_one(void *arg)
{
	struct submission *s = arg;
	struct sl_job_spec spec;
	if (!s->r || s->at == s->e.count)
		return true;
	s->code = sl__expand_one(s->jobs, &s->who, &s->e, s->at, &spec, &s->err);
	if (s->code)
		return true;
	note_largest(s, &spec);
	memcpy(s->batch->graph, spec.graph->id, sizeof s->batch->graph);
	struct sl_job *job = make_job(s, &spec, json_array_get(s->e.parameters, s->at));
	json_t *o = job ? sl__job_document(job) : NULL;
	s->job[s->at] = job;
	s->document[s->at] = o ? sl_db_text(o) : NULL;
	json_decref(o);
	if (!s->document[s->at++])
		s->code = sl_error_memory(&s->err, "a batch");
	return s->code != 0;
}

/* ---- recording them ------------------------------------------------------------------------- */

/* The batch could not be stored: removes all of its jobs. */
static void take_back(struct sl_batch *b)
{
	for (size_t i = 0; i < json_array_size(b->each); i++) {
		struct sl_job *job = sl__job_find(b->jobs, sl__batch_job_id(b, i));
		if (!job)
			continue;
		sl__job_step(job, SL_ON_UNSTORED);
		sl__job_delete(job, NULL, NULL);
	}
	sl_users_forget(b->jobs->d->users, b->id);
	sl__batch_destroy(b);
}

static void reply_accepted(struct sl_request *r, const struct sl_batch *b, int status)
{
	sl_reply_location(r, "/v1/batches/%s", b->id);
	sl_reply_json(r, status, sl_batch_json(b, r));
}

static void recorded(void *arg, int status, const struct sl_error *err)
{
	struct submission *s = arg;
	struct sl_jobs *j = s->jobs;
	struct sl_batch *b = s->batch;
	s->batch = NULL;
	if (status) {
		if (s->r)
			sl_reply_error(s->r, err);
		take_back(b);
	} else {
		b->recorded = true;
		for (size_t i = 0; i < json_array_size(b->each); i++) {
			struct sl_job *job = sl__job_find(j, sl__batch_job_id(b, i));
			if (job)
				sl__job_step(job, SL_ON_STORED);
		}
		if (s->r)
			reply_accepted(s->r, b, 202);
	}
	destroy(s);
	sl__works_done(j);
}

static int put_job(struct submission *s, size_t i)
{
	struct sl_daemon *d = s->jobs->d;
	char *document = s->document[i];
	s->document[i] = NULL;
	int code = sl_db_put_text(d->db, SL_DB_JOBS, sl__batch_job_id(s->batch, i), document, NULL, NULL);
	if (!code && s->who.user[0])
		code = sl_users_own(d->users, sl__batch_job_id(s->batch, i), &s->who, NULL, NULL);
	return code;
}

static int record(struct submission *s)
{
	struct sl_batch *b = s->batch;
	struct sl_daemon *d = s->jobs->d;
	json_t *o = sl__batch_document(b);
	sl_db_begin(d->db);
	int code = o ? sl_db_put(d->db, SL_DB_BATCHES, b->id, o, recorded, s) : SL_NOMEM;
	if (!code && s->who.user[0])
		code = sl_users_own(d->users, b->id, &s->who, NULL, NULL);
	for (size_t i = 0; !code && i < s->e.count; i++)
		code = put_job(s, i);
	sl_db_end(d->db, !code);
	json_decref(o);
	return code;
}

/* Inserts the jobs into the table, and queues their records for the data base. */
static int enter(struct submission *s)
{
	sl__batch_insert(s->batch);
	for (size_t i = 0; i < s->e.count; i++) {
		sl__job_insert(s->job[i]);
		s->job[i] = NULL;  /* the table owns it now */
	}
	if (!record(s))
		return 0;
	take_back(s->batch);
	s->batch = NULL;
	return sl_error_memory(&s->err, "a batch");
}

/* ---- requests ------------------------------------------------------------------------------- */

/* True if the request repeats an earlier one; then it has been answered. */
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

/* All jobs were made, or one failed. Checks again the conditions that may have changed since the first job was made. */
static void all_made(void *arg)
{
	struct submission *s = arg;
	struct sl_jobs *j = s->jobs;
	const struct sl_batch *b = s->batch;
	struct sl_job_spec largest;
	bool answered = !s->r || (!s->code && b->key && answer_repetition(j, s->r, b->key, b->hash));
	if (!answered && !s->code)
		s->code = sl__expand_one(j, &s->who, &s->e, s->largest, &largest, &s->err);
	if (!answered && !s->code)
		answered = sl__limits_refuse(j, s->r, &largest, (int)s->e.count);
	if (!answered && !s->code && !(s->code = enter(s)))
		return;  /* recorded() continues */
	if (!answered)
		sl_reply_error(s->r, &s->err);
	destroy(s);
	sl__works_done(j);
}

static struct submission *create(struct sl_jobs *j, struct sl_request *r, struct sl__expansion *e, const char *key,
				 const char *hash)
{
	struct submission *s = calloc(1, sizeof *s);
	struct sl_batch *b = calloc(1, sizeof *b);
	if (!s || !b) {
		free(s);
		free(b);
		return NULL;
	}
	*s = (struct submission){.jobs = j, .r = r, .batch = b, .e = *e, .who = *sl_request_who(r)};
	*e = (struct sl__expansion){0};
	s->job = calloc(s->e.count, sizeof *s->job);
	s->document = calloc(s->e.count, sizeof *s->document);
	b->jobs = j;
	sl_ulid_make(b->id);
	memcpy(b->user, s->who.user, sizeof b->user);
	b->created_ms = sl_time_now_ms();
	b->each = json_array();
	b->name = s->e.name ? strdup(s->e.name) : NULL;
	b->key = key ? strdup(key) : NULL;
	b->hash = key ? strdup(hash) : NULL;
	if (s->job && s->document && b->each && !s->e.name == !b->name && !key == !b->key && !key == !b->hash)
		return s;
	destroy(s);
	return NULL;
}

void sl_batch_submit(struct sl_jobs *j, struct sl_request *r, const json_t *body)
{
	const char *key = sl_request_header(r, "Idempotency-Key");
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
	struct submission *s = NULL;
	int code = sl__expand(body, &e, &err);
	if (!code)
		code = sl_request_body_for(r, body, &err);
	bool refused = !code && sl__limits_refuse_number(j, r, (int)e.count);
	if (!code && !refused && !(s = create(j, r, &e, key, hash)))
		code = sl_error_memory(&err, "a batch");
	sl__expansion_finish(&e);
	if (code)
		sl_reply_error(r, &err);
	if (code || refused)
		return;
	j->works++;
	sl_park(&s->r, 0);
	sl_turns(j->d->loop, make_one, all_made, s);
}
