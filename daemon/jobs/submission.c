/* Submits a job: stores it (a given initial layout in its file, then the record), acknowledges it, and puts it in line.
 * Loop thread. */
#include <ctype.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "core/param_table.h"
#include "daemon/graphs/graphs.h"
#include "daemon/jobs/record/spec.h"
#include "daemon/layouts/layouts.h"
#include "daemon/store/db.h"
#include "daemon/store/uses.h"
#include "daemon/files/job_files.h"
#include "daemon/users/users.h"
#include "daemon/util/pool.h"

#define KEY_MOST 200
#define WAIT_MAX_S 60

/* A job that is being stored. */
struct submission {
	struct sl_job *job;       /* a reference */
	struct sl_request *request;  /* NULL: the client is gone, which changes nothing */
	float *y;                 /* given initial layout [nodes * dims], or NULL */
	double *start;            /* given initial labels or means, or NULL */
	char source[SL_ULID_BYTES];  /* job or uploaded layout that it is copied from, or "" */
	char held[SL_ULID_BYTES]; /* the uploaded layout, until it is copied, or "" */
	struct sl_principal who;  /* its owner */
	double wait_s;            /* < 0: not requested */
	int code;
	struct sl_error err;
};

/* Reads the header Prefer: wait=10, possibly among other preferences (RFC 7240). */
static int read_prefer(const struct sl_request *r, double *wait_s, struct sl_error *err)
{
	const char *text = sl_request_header(r, "Prefer"), *at = text ? strstr(text, "wait=") : NULL;
	*wait_s = -1;
	if (!at || (at > text && !isspace((unsigned char)at[-1]) && at[-1] != ',' && at[-1] != ';'))
		return 0;
	char *end;
	double value = sl_decimal(at + 5, &end);
	if (end == at + 5 || !(value >= 0) || (*end && !strchr(",; \t", *end)))
		return sl_error_field(err, SL_BADPARAM, "@Prefer",
				      "wait must be a number of seconds from 0 on, as in Prefer: wait=10.");
	*wait_s = value < WAIT_MAX_S ? value : WAIT_MAX_S;
	return 0;
}

/* ---- idempotency ------------------------------------------------------------------------ */

void sl__hash_body(const struct sl_request *r, char out[65])
{
	unsigned char hash[32];
	size_t bytes;
	const char *body = sl_request_body(r, &bytes);
	crypto_generichash(hash, sizeof hash, (const unsigned char *)body, bytes, NULL, 0);
	sodium_bin2hex(out, 65, hash, sizeof hash);
}

static bool stored(const struct sl_job *job)
{
	return !sl_stage_is_storing(job->life.stage);
}

/* True if the request repeats an earlier one; then it has been answered. */
static bool answer_repetition(struct sl_request *r, const char *key, const char *hash)
{
	struct sl_job *job = sl__job_of_key(sl_request_daemon(r)->jobs, sl_request_who(r)->user, key);
	if (!job)
		return false;
	if (strcmp(job->record.idempotency_hash, hash)) {
		sl_reply_status(r, 422, "This Idempotency-Key came with another body before, for job %s.", job->record.id);
	} else {
		sl_reply_location(r, "/v1/jobs/%s", job->record.id);
		sl__job_wait(job, r, stored, 200, 30000);
	}
	return true;
}

/* ---- submission ---------------------------------------------------------------------------- */

/* Called if the job could not be stored: removes it, and replies with the error. */
static void refuse(struct submission *s, const struct sl_error *err)
{
	struct sl_job *job = s->job;
	struct sl_jobs *j = job->jobs;
	if (s->request)
		sl_reply_error(s->request, err);
	sl__job_step(job, SL_ON_UNSTORED);
	sl__job_delete(job, NULL, NULL);
	sl__job_unref(job);
	free(s->y);
	free(s->start);
	free(s);
	sl__works_done(j);
}

static void accepted(void *arg, int status, const struct sl_error *err)
{
	struct submission *s = arg;
	struct sl_job *job = s->job;
	struct sl_jobs *j = job->jobs;
	if (status) {
		refuse(s, err);
		return;
	}
	struct sl_request *r = s->request;
	double wait_s = s->wait_s;
	free(s);
	sl__job_step(job, SL_ON_STORED);
	if (r) {
		sl_reply_location(r, "/v1/jobs/%s", job->record.id);
		if (wait_s == 0 || (wait_s > 0 && sl_request_poll(r, false))) {
			sl_reply_header(r, "Preference-Applied", "wait=%.15g", wait_s);
			sl__job_wait(job, r, sl__job_ended, 200, (uint64_t)(wait_s * 1e3));
		} else {
			sl_reply_json(r, 202, sl_job_json(job));
		}
	}
	sl__job_notify(job);
	sl__job_unref(job);
	sl__works_done(j);
}

static int record(struct submission *s)
{
	struct sl_job *job = s->job;
	struct sl_daemon *d = job->jobs->d;
	json_t *document = sl__job_document(job);
	sl_db_begin(d->db);
	int code = document ? sl_db_put(d->db, SL_DB_JOBS, job->record.id, document, accepted, s) : SL_NOMEM;
	if (!code && s->who.user[0])
		code = sl_users_own(d->users, job->record.id, &s->who, NULL, NULL);
	sl_db_end(d->db, !code);
	json_decref(document);
	return code;
}

static void write_initial(void *arg)
{
	struct submission *s = arg;
	struct sl_job *job = s->job;  /* its id, nodes and dims do not change */
	const char *folder = job->jobs->folder;
	const struct sl_job_record *r = &job->record;
	int dims = sl__work_initial_dims(&r->work);
	const char *from = s->held[0] ? sl_layouts_folder(job->jobs->d->layouts) : folder;
	if (s->source[0])
		s->code = sl_job_file_read_layout(from, s->source, "npy", r->nodes, dims, &s->y, &s->err);
	if (!s->code && r->has_initial)
		s->code = sl_job_file_write_layout(folder, r->id, "initial", s->y, r->nodes, dims, NULL, &s->err);
	if (!s->code && s->start)
		s->code = sl_job_file_write_start(folder, r->id, s->start, sl__work_start_rows(&r->work, r->nodes),
						  sl__work_start_columns(&r->work), &s->err);
}

static void initial_written(void *arg)
{
	struct submission *s = arg;
	free(s->y);
	free(s->start);
	s->y = NULL;
	s->start = NULL;
	if (s->held[0])
		sl_layouts_release(s->job->jobs->d->layouts, s->held);
	if (s->code) {
		refuse(s, &s->err);
		return;
	}
	if (record(s)) {
		sl_error_memory(&s->err, "a job");
		refuse(s, &s->err);
	}
}

struct sl_job *sl__job_of_spec(struct sl_jobs *j, const struct sl_job_spec *spec, const char *key, const char *hash)
{
	char id[SL_ULID_BYTES];
	struct sl_job *job = sl__job_create(j, sl_ulid_make(id));
	if (!job)
		return NULL;
	if (sl__record_request(&job->record, spec, key, hash)) {
		sl__job_unref(job);
		return NULL;
	}
	sl__job_set_engine(job, spec->requested, spec->engine);
	job->place.priority = (int)spec->priority;
	sl__job_know_data(job, spec->graph);
	uint32_t k = spec->graph->kind == SL_KIND_POINTS ? sl__work_neighbours(&spec->work, spec->graph) : 0;
	if (k > spec->graph->wanted)
		sl__record_note(&job->record, "This perplexity needs %u neighbours of each point and %u are known, so a new "
				"search comes first.", k, spec->graph->wanted);
	const char *told = spec->work.method->told && spec->graph->kind == SL_KIND_GRAPH
			   ? spec->work.method->told(&spec->work.params, spec->graph->symmetric) : NULL;
	if (told)
		sl__record_note(&job->record, "%s.", told);
	return job;
}

static void submit(struct sl_request *r, const struct sl_job_spec *spec, double wait_s, const char *key,
		   const char *hash)
{
	struct sl_jobs *j = sl_request_daemon(r)->jobs;
	struct sl_error err;
	struct submission *s = calloc(1, sizeof *s);
	int code = s ? 0 : sl_error_memory(&err, "a job");
	if (!code && spec->rows)
		code = sl__job_spec_rows(spec, &s->y, &err);
	if (!code && spec->start)
		code = sl__job_spec_start_values(spec, &s->start, &err);
	if (!code && !(s->job = sl__job_of_spec(j, spec, key, hash)))
		code = sl_error_memory(&err, "a job");
	if (code) {
		sl_reply_error(r, &err);
		if (s) {
			free(s->y);
			free(s->start);
		}
		free(s);
		return;
	}
	s->request = r;
	s->wait_s = wait_s;
	if (spec->source && !s->job->record.from[0])
		memcpy(s->source, spec->source->record.id, sizeof s->source);
	if (spec->layout) {
		memcpy(s->source, spec->layout->id, sizeof s->source);
		memcpy(s->held, spec->layout->id, sizeof s->held);
		sl_layouts_hold(j->d->layouts, s->held);
	}
	s->who = *sl_request_who(r);
	sl__record_owner(&s->job->record, s->who.user, s->who.project, "");
	sl__job_insert(s->job);
	sl__job_ref(s->job);
	if (spec->source)
		sl_uses_mark(j->d->uses, spec->source->record.id);
	j->works++;
	sl_park(&s->request, 0);
	if (s->job->record.has_initial || s->start) {
		sl_pool_run(j->d->loop, write_initial, initial_written, s);
	} else if (record(s)) {
		sl_error_memory(&err, "a job");
		refuse(s, &err);
	}
}

static int check_key(const char *key, struct sl_error *err)
{
	if (key && (!key[0] || strlen(key) > KEY_MOST))
		return sl_error_field(err, SL_BADPARAM, "@Idempotency-Key",
				      "Idempotency-Key must have from 1 to %d characters.",
				      KEY_MOST);
	return 0;
}

/* Makes all checks of a submission, including the rows of a layout. */
static void estimate(struct sl_request *r, const struct sl_job_spec *spec)
{
	struct sl_error err;
	float *y = NULL;
	if (spec->rows && sl__job_spec_rows(spec, &y, &err))
		sl_reply_error(r, &err);
	else
		sl_reply_json(r, 200, sl__job_spec_estimate(spec));
	free(y);
}

void sl_job_estimate(struct sl_jobs *j, struct sl_request *r, const json_t *body)
{
	struct sl_job_spec spec;
	struct sl_error err;
	if (sl__job_spec_read(j, sl_request_who(r), body, &spec, &err) || sl_request_body_for(r, body, &err))
		sl_reply_error(r, &err);
	else
		estimate(r, &spec);
}

void sl_job_submit(struct sl_jobs *j, struct sl_request *r, const json_t *body)
{
	const char *key = sl_request_header(r, "Idempotency-Key");
	struct sl_job_spec spec;
	struct sl_error err;
	double wait_s;
	char hash[65];
	sl__hash_body(r, hash);
	int code = check_key(key, &err);
	if (!code && key && answer_repetition(r, key, hash))
		return;
	if (!code)
		code = sl__job_spec_read(j, sl_request_who(r), body, &spec, &err);
	if (!code)
		code = sl_request_body_for(r, body, &err);
	if (!code)
		code = read_prefer(r, &wait_s, &err);
	if (code)
		sl_reply_error(r, &err);
	else if (spec.dry_run)
		estimate(r, &spec);
	else if (!sl__limits_refuse(j, r, &spec, 1))
		submit(r, &spec, wait_s, key, hash);
}
