/* POST /v1/jobs. Checked in full, then made safe (a given initial layout into its file, then the record),
 * then acknowledged and put in line. */
#include <ctype.h>
#include <math.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/graphs/graphs.h"
#include "daemon/jobs/jobs_internal.h"
#include "daemon/routes/routes.h"
#include "daemon/store/db.h"
#include "daemon/store/job_files.h"
#include "daemon/util/json.h"

#define KEY_MOST 200
#define WAIT_MAX_S 60

/* What a request asks for. */
struct wish {
	const struct sl_graph_record *graph;
	struct sl_params params;
	const char *name;         /* borrowed from the body, or NULL */
	const char *asked;        /* engine; one of sl_engine_words */
	struct sl_server_engine *engine;
	int64_t priority;
	bool dry_run;
	const json_t *rows;       /* given initial layout, borrowed, or NULL */
	const struct sl_job *source;  /* the job whose layout is the initial one, or NULL */
	double wait_s;            /* < 0: not asked for */
};

/* A job on its way to the disk. */
struct submission {
	uv_work_t work;
	struct sl_job *job;       /* a reference */
	struct sl_request *request;  /* NULL: the client is gone, which changes nothing */
	float *y;                 /* given initial layout [nodes * dims], or NULL */
	char source[SL_ULID_BYTES];  /* job that it is copied from, or "" */
	double wait_s;
	int code;
	struct sl_error err;
};

/* ---- reading --------------------------------------------------------------------- */

static const char *const members[] = {"graph", "name", "priority", "engine", "initial", "dry_run", NULL};

static int read_graph(struct sl_jobs *j, const json_t *body, struct wish *w, struct sl_error *err)
{
	const json_t *id = json_object_get(body, "graph");
	if (!id)
		return sl_error_field(err, SL_BADPARAM, "/graph", "graph is missing; it must be the id of a graph.");
	if (!json_is_string(id) || !sl_ulid_valid(json_string_value(id)))
		return sl_error_field(err, SL_BADPARAM, "/graph",
				      "graph must be the id of a graph, 26 characters, as GET /v1/graphs lists them.");
	w->graph = sl_graphs_find(j->d->graphs, json_string_value(id));
	if (!w->graph)
		return sl_error_field(err, SL_NOTFOUND, "/graph", "There is no graph %s.", json_string_value(id));
	if (w->graph->state != SL_GRAPH_READY)
		return sl_error_field(err, SL_CONFLICT, "/graph",
				      "Graph %s is damaged on disk; delete it and upload it again.", w->graph->id);
	return 0;
}

static int read_params(const json_t *body, struct sl_params *p, struct sl_error *err)
{
	const json_t *preset = json_object_get(body, "preset");
	const char *key;
	json_t *value;
	sl_params_preset(p, SL_PRESET_DEFAULT);
	int code = preset ? sl__params_from_json(p, sl_params_find("preset"), preset, err) : 0;
	json_object_foreach((json_t *)body, key, value) {
		const struct sl_param_info *info = sl_params_find(key);
		bool other = false;
		for (int i = 0; members[i]; i++)
			other = other || !strcmp(key, members[i]);
		if (!code && info && strcmp(key, "preset"))
			code = sl__params_from_json(p, info, value, err);
		else if (!code && !info && !other)
			code = sl__unknown_member(key, members, err);
	}
	return code;
}

/* It must be usable now; otherwise the client is told why it is not, and which are. */
static int read_engine(struct sl_jobs *j, const json_t *body, struct wish *w, struct sl_error *err)
{
	const char *name = NULL;
	int code = sl_json_string(body, "engine", &name, err);
	if (!code)
		code = sl_engines_choose(j->engines, name ? name : SL_ENGINE_AUTO, &w->engine, err);
	if (!code)
		w->asked = sl_engine_word(name ? name : SL_ENGINE_AUTO);
	return code;
}

static int read_initial(struct sl_jobs *j, const json_t *body, struct wish *w, struct sl_error *err)
{
	const json_t *initial = json_object_get(body, "initial");
	bool said = json_object_get(body, "init");
	if (!initial) {
		if (w->params.init == SL_INIT_GIVEN)
			return sl_error_field(err, SL_BADPARAM, "/initial",
					      "init is given, so initial must have the layout, or the id of a job.");
		return 0;
	}
	if (said && w->params.init != SL_INIT_GIVEN)
		return sl_error_field(err, SL_BADPARAM, "/init", "There is an initial layout, so init must be given.");
	w->params.init = SL_INIT_GIVEN;
	if (json_is_array(initial)) {
		w->rows = initial;
		return 0;
	}
	if (!json_is_string(initial) || !sl_ulid_valid(json_string_value(initial)))
		return sl_error_field(err, SL_BADPARAM, "/initial",
				      "initial must be an array of arrays of numbers, or the id of a job that is done.");
	w->source = sl__job_find(j, json_string_value(initial));
	if (!w->source)
		return sl_error_field(err, SL_NOTFOUND, "/initial", "There is no job %s.", json_string_value(initial));
	if (w->source->state != SL_JOB_DONE)
		return sl_error_field(err, SL_CONFLICT, "/initial", "Job %s is %s; it must be done.", w->source->id,
				      sl__job_state_name[w->source->state]);
	if (strcmp(w->source->graph, w->graph->id) || w->source->params.dims != w->params.dims)
		return sl_error_field(err, SL_BADPARAM, "/initial",
				      "Job %s has another graph or another number of dims; both must be the same.",
				      w->source->id);
	return 0;
}

/* The rows of a given layout, checked; y is the caller's to free(). */
static int read_rows(const struct wish *w, float **out, struct sl_error *err)
{
	size_t n = w->graph->nodes, d = (size_t)w->params.dims;
	if (json_array_size(w->rows) != n)
		return sl_error_field(err, SL_BADPARAM, "/initial", "initial has %zu rows; the graph has %zu nodes.",
				      json_array_size(w->rows), n);
	float *y = malloc(sizeof *y * n * d);
	if (!y)
		return sl_error_set(err, SL_NOMEM, "Out of memory for an initial layout of %zu nodes.", n);
	for (size_t i = 0; i < n; i++) {
		const json_t *row = json_array_get(w->rows, i);
		char pointer[64];
		snprintf(pointer, sizeof pointer, "/initial/%zu", i);
		if (!json_is_array(row) || json_array_size(row) != d) {
			free(y);
			return sl_error_field(err, SL_BADPARAM, pointer, "Each row of initial must be an array of %zu "
					      "number%s, one for each dimension.", d, d == 1 ? "" : "s");
		}
		for (size_t k = 0; k < d; k++) {
			const json_t *value = json_array_get(row, k);
			double x = json_is_number(value) ? json_number_value(value) : NAN;
			if (!(fabs(x) <= 1e6)) {
				snprintf(pointer, sizeof pointer, "/initial/%zu/%zu", i, k);
				free(y);
				return sl_error_field(err, SL_BADPARAM, pointer,
						      "Coordinates must be numbers from -1e6 to 1e6.");
			}
			y[i * d + k] = (float)x;
		}
	}
	*out = y;
	return 0;
}

/* Prefer: wait=10, perhaps among others (RFC 7240). */
static int read_prefer(const struct sl_request *r, double *wait_s, struct sl_error *err)
{
	const char *text = sl_request_header(r, "Prefer"), *at = text ? strstr(text, "wait=") : NULL;
	*wait_s = -1;
	if (!at || (at > text && !isspace((unsigned char)at[-1]) && at[-1] != ',' && at[-1] != ';'))
		return 0;
	char *end;
	double value = strtod(at + 5, &end);
	if (end == at + 5 || !(value >= 0) || (*end && !strchr(",; \t", *end)))
		return sl_error_field(err, SL_BADPARAM, "@Prefer",
				      "wait must be a number of seconds from 0 on, as in Prefer: wait=10.");
	*wait_s = value < WAIT_MAX_S ? value : WAIT_MAX_S;
	return 0;
}

/* What the points allow, however many neighbours are searched, and then the server. */
static int check_perplexity(struct sl_jobs *j, const struct wish *w, struct sl_error *err)
{
	const struct sl_graph_record *g = w->graph;
	struct sl_affinities_params wanted;
	int64_t most = j->d->config.max_neighbours;
	if (g->kind == SL_KIND_GRAPH)
		return 0;
	sl_affinities_params_from(&wanted, &w->params);
	for (int i = 0; i < wanted.perplexities; i++) {
		double perplexity = wanted.perplexity[i];
		if (g->kind == SL_KIND_NEIGHBOURS && 3 * perplexity > g->k)
			return sl_error_field(err, SL_BADPARAM, "/perplexity", "perplexity is %g; the %u neighbours a point that "
					      "were uploaded allow at most %.4g, a third of them.", perplexity, g->k,
					      g->k / 3.0);
		if (3 * perplexity > g->points - 1)
			return sl_error_field(err, SL_BADPARAM, "/perplexity", "perplexity is %g; with %u points it can be at "
					      "most %.4g, a third of the other points.", perplexity, g->points,
					      (g->points - 1) / 3.0);
		if (g->kind == SL_KIND_POINTS && 3 * perplexity > (double)most)
			return sl_error_field(err, SL_TOOBIG, "/perplexity", "perplexity is %g, but the server searches at most "
					      "%lld neighbours a point (max_neighbours), three times the perplexity.", perplexity,
					      (long long)most);
	}
	if (g->kind == SL_KIND_POINTS && !sl_graphs_search_fits(g, sl__job_neighbours(&w->params, g)))
		return sl_error_field(err, SL_TOOBIG, "/perplexity", "%u neighbours of each of %u points are more than half of "
				      "the server's memory holds; the perplexity must be smaller.",
				      sl__job_neighbours(&w->params, g), g->points);
	return 0;
}

/* All pairs of many nodes would keep the device from everybody else. */
static int check_exact(struct sl_jobs *j, const struct wish *w, struct sl_error *err)
{
	int64_t most = j->d->config.max_exact_nodes;
	if (w->params.repulsion != SL_REPULSION_EXACT || w->graph->nodes <= most)
		return 0;
	return sl_error_field(err, SL_TOOBIG, "/repulsion", "repulsion is exact, for which the server takes at most %lld "
			      "nodes (max_exact_nodes), not %u; auto or grid would be right.", (long long)most,
			      w->graph->nodes);
}

static int read_wish(struct sl_request *r, const json_t *body, struct wish *w, struct sl_error *err)
{
	struct sl_jobs *j = sl_request_daemon(r)->jobs;
	int code = read_params(body, &w->params, err);
	if (!code)
		code = read_graph(j, body, w, err);
	if (!code)
		code = sl_json_name(body, &w->name, err);
	if (!code)
		code = sl_json_int(body, "priority", -10, 10, &w->priority, err);
	if (!code)
		code = sl_json_bool(body, "dry_run", &w->dry_run, err);
	if (!code)
		code = read_engine(j, body, w, err);
	if (!code)
		code = read_initial(j, body, w, err);
	if (!code)
		code = sl_params_check(&w->params, err);
	if (!code)
		code = sl_params_check_input(&w->params, w->graph->kind != SL_KIND_GRAPH, err);
	if (!code && w->params.init == SL_INIT_PCA && w->graph->kind != SL_KIND_POINTS)
		code = sl_error_field(err, SL_BADPARAM, "/init", "init pca is for points, which have coordinates; here it "
				      "may be random, spectral or given.");
	if (!code)
		code = check_perplexity(j, w, err);
	if (!code)
		code = check_exact(j, w, err);
	if (!code)
		code = read_prefer(r, &w->wait_s, err);
	return code;
}

/* ---- estimate -------------------------------------------------------------------------- */

/* From what iterations take on one core: entries, nodes, and the nodes of the padded grid, whose side
 * follows from how wide layouts of n nodes become. */
static double guess_cpu_seconds(struct sl_jobs *j, const struct wish *w)
{
	const struct sl_params *p = &w->params;
	double n = w->graph->nodes, h = p->dims == 1 ? 0.25 : p->dims == 2 ? 0.35 : 0.9;
	double wide = p->dims == 1 ? n / 60 : p->dims == 2 ? 1.4 * sqrt(n) : 2.9 * cbrt(n);
	double side = p->grid_side ? p->grid_side : fmax(wide / h, 24);
	double grid = 4e-9 * pow(2 * side, p->dims), pairs = 4e-10 * n * n;
	double repulsion = p->repulsion == SL_REPULSION_EXACT || (p->repulsion == SL_REPULSION_AUTO && pairs < grid)
				   ? pairs : grid + n * 1e-8 * pow(3, p->dims);
	double threads = j->d->config.threads > 0 ? (double)j->d->config.threads : (double)sysconf(_SC_NPROCESSORS_ONLN);
	return p->iterations * (1e-5 + (repulsion + 2e-9 * 2 * (double)sl__job_entries(p, w->graph) + 3e-8 * n) / threads);
}

/* From what iterations take on an H200 (docs/performance.md): a time that each has, the entries, and nodes of the
 * grid, which has fewer of them than the CPU's. */
static double guess_gpu_seconds(const struct wish *w)
{
	const struct sl_params *p = &w->params;
	double n = w->graph->nodes, entries = (double)sl__job_entries(p, w->graph);
	double grid = p->dims == 3 ? 3e-9 * n : 3e-10 * n;
	double repulsion = p->repulsion == SL_REPULSION_EXACT ? 4e-13 * n * n : grid;
	return p->iterations * (2.5e-5 + repulsion + 5e-12 * entries);
}

static double guess_seconds(struct sl_jobs *j, const struct wish *w)
{
	double cpu = guess_cpu_seconds(j, w), gpu = guess_gpu_seconds(w);
	if (!strcmp(w->engine->name, "cpu"))
		return cpu;
	if (!strcmp(w->engine->name, "cuda"))
		return gpu;
	return gpu + cpu / 2;  /* attraction on the CPU, beside the rest */
}

static void reply_estimate(struct sl_request *r, const struct wish *w)
{
	struct sl_jobs *j = sl_request_daemon(r)->jobs;
	uint64_t host, device;
	sl__job_bytes(w->engine->functions, &w->params, w->graph->nodes, sl__job_entries(&w->params, w->graph), &host,
		      &device);
	json_t *parameters = sl__params_json(&w->params);
	sl_reply_json(r, 200, json_pack("{s:b, s:s, s:I, s:I, s:f, s:o}", "dry_run", 1, "engine", w->engine->name,
					"host_bytes", (json_int_t)host,
					"device_bytes", (json_int_t)device, "seconds", guess_seconds(j, w),
					"parameters", parameters));
}

/* ---- idempotency ------------------------------------------------------------------------ */

static int hash_body(const struct sl_request *r, char out[65])
{
	unsigned char hash[32];
	size_t bytes;
	const char *body = sl_request_body(r, &bytes);
	crypto_generichash(hash, sizeof hash, (const unsigned char *)body, bytes, NULL, 0);
	sodium_bin2hex(out, 65, hash, sizeof hash);
	return 0;
}

static bool stored(const struct sl_job *job)
{
	return job->stage != SL_STAGE_HELD || job->state == SL_JOB_PAUSED;
}

/* Is it a repetition? Then it is answered. */
static bool answer_repetition(struct sl_request *r, const char *key, const char *hash)
{
	for (struct sl_job *job = sl_request_daemon(r)->jobs->newest; job; job = job->older) {
		if (!job->idempotency_key || strcmp(job->idempotency_key, key))
			continue;
		if (strcmp(job->idempotency_hash, hash)) {
			sl_reply_status(r, 422, "This Idempotency-Key came with another body before, for job %s.", job->id);
		} else {
			sl_reply_header(r, "Location", "/v1/jobs/%s", job->id);
			sl__job_wait(job, r, stored, 200, 30000);
		}
		return true;
	}
	return false;
}

/* ---- submission ---------------------------------------------------------------------------- */

static void gone(void *arg)
{
	((struct submission *)arg)->request = NULL;
}

static bool ended(const struct sl_job *job)
{
	return sl__job_ended(job);
}

/* It could not be made safe: it was never there. */
static void refuse(struct submission *s, const struct sl_error *err)
{
	struct sl_job *job = s->job;
	struct sl_jobs *j = job->jobs;
	if (s->request)
		sl_reply_error(s->request, err);
	sl__job_set_state(job, SL_JOB_FAILED);
	if (!job->deleted)
		sl__job_delete(job, NULL, NULL);
	sl__job_unref(job);
	free(s->y);
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
	bool goes_on = !sl__job_ended(job);  /* nobody has cancelled it meanwhile */
	if (goes_on)
		job->stage = SL_STAGE_WAITING;
	if (r) {
		sl_reply_header(r, "Location", "/v1/jobs/%s", job->id);
		if (wait_s >= 0) {
			sl_reply_header(r, "Preference-Applied", "wait=%.15g", wait_s);
			sl__job_wait(job, r, ended, 200, (uint64_t)(wait_s * 1e3));
		} else {
			sl_reply_json(r, 202, sl__job_json(job));
		}
	}
	if (goes_on && !j->stopping)  /* stopping: the next start takes it up */
		sl__job_enqueue(job);
	sl__job_notify(job);
	sl__job_unref(job);
	sl__works_done(j);
}

static int record(struct submission *s)
{
	struct sl_job *job = s->job;
	json_t *document = sl__job_document(job, SL_JOB_QUEUED);
	int code = document ? sl_db_put(job->jobs->d->db, SL_DB_JOBS, job->id, document, accepted, s) : SL_NOMEM;
	json_decref(document);
	return code;
}

static void write_initial(uv_work_t *work)
{
	struct submission *s = work->data;
	struct sl_job *job = s->job;  /* its id, nodes and dims do not change */
	const char *folder = job->jobs->folder;
	if (s->source[0])
		s->code = sl_job_file_read_layout(folder, s->source, "npy", job->nodes, job->params.dims, &s->y, &s->err);
	if (!s->code)
		s->code = sl_job_file_write_layout(folder, job->id, "initial", s->y, job->nodes, job->params.dims, &s->err);
}

static void initial_written(uv_work_t *work, int status)
{
	struct submission *s = work->data;
	free(s->y);
	s->y = NULL;
	if (s->code) {
		refuse(s, &s->err);
		return;
	}
	if (record(s)) {
		sl_error_set(&s->err, SL_NOMEM, "Out of memory for a job.");
		refuse(s, &s->err);
	}
}

static struct sl_job *job_of(struct sl_jobs *j, const struct wish *w, const char *key, const char *hash)
{
	char id[SL_ULID_BYTES];
	struct sl_job *job = sl__job_create(j, sl_ulid_make(id));
	if (!job)
		return NULL;
	memcpy(job->graph, w->graph->id, sizeof job->graph);
	sl__job_set_engine(job, w->asked, w->engine);
	job->params = w->params;
	job->priority = (int)w->priority;
	job->nodes = w->graph->nodes;
	job->created_ms = sl__wall_ms();
	job->has_initial = w->rows || w->source;
	job->stage = SL_STAGE_HELD;
	job->status.iterations = w->params.iterations;
	job->name = w->name ? strdup(w->name) : NULL;
	job->idempotency_key = key ? strdup(key) : NULL;
	job->idempotency_hash = key ? strdup(hash) : NULL;
	uint32_t k = w->graph->kind == SL_KIND_POINTS ? sl__job_neighbours(&w->params, w->graph) : 0;
	if (k > w->graph->wanted)
		sl__job_note(job, "This perplexity needs %u neighbours a point; more than the %u that were searched so far are "
			     "searched first.", k, w->graph->wanted);
	if ((w->name && !job->name) || (key && (!job->idempotency_key || !job->idempotency_hash))) {
		sl__job_unref(job);
		return NULL;
	}
	return job;
}

static void submit(struct sl_request *r, const struct wish *w, const char *key, const char *hash)
{
	struct sl_jobs *j = sl_request_daemon(r)->jobs;
	struct sl_error err;
	struct submission *s = calloc(1, sizeof *s);
	int code = s ? 0 : sl_error_set(&err, SL_NOMEM, "Out of memory for a job.");
	if (!code && w->rows)
		code = read_rows(w, &s->y, &err);
	if (!code && !(s->job = job_of(j, w, key, hash)))
		code = sl_error_set(&err, SL_NOMEM, "Out of memory for a job.");
	if (code) {
		sl_reply_error(r, &err);
		if (s)
			free(s->y);
		free(s);
		return;
	}
	s->request = r;
	s->wait_s = w->wait_s;
	s->work.data = s;
	if (w->source)
		memcpy(s->source, w->source->id, sizeof s->source);
	sl__job_insert(s->job);
	sl__job_ref(s->job);
	j->works++;
	sl_request_park(r, gone, s);
	if (s->job->has_initial)
		code = uv_queue_work(j->d->loop, &s->work, write_initial, initial_written);
	else
		code = record(s);
	if (code) {
		sl_error_set(&err, SL_NOMEM, "Out of memory for a job.");
		refuse(s, &err);
	}
}

void sl_route_jobs_post(struct sl_request *r)
{
	struct sl_daemon *d = sl_request_daemon(r);
	struct sl_jobs *j = d->jobs;
	const char *key = sl_request_header(r, "Idempotency-Key");
	struct wish w = {.wait_s = -1};
	struct sl_error err;
	char hash[65];
	json_t *body = NULL;
	int64_t unfinished = j->count[SL_JOB_QUEUED] + j->count[SL_JOB_RUNNING] + j->count[SL_JOB_PAUSED];
	if (d->stopping) {
		sl_reply_status(r, 503, "The server is shutting down.");
		return;
	}
	if (key && (!key[0] || strlen(key) > KEY_MOST)) {
		sl_error_field(&err, SL_BADPARAM, "@Idempotency-Key", "Idempotency-Key must have from 1 to %d characters.",
			       KEY_MOST);
		sl_reply_error(r, &err);
		return;
	}
	if (sl_request_json(r, &body, &err)) {
		sl_reply_error(r, &err);
		return;
	}
	hash_body(r, hash);
	if (key && answer_repetition(r, key, hash))
		goto out;
	if (read_wish(r, body, &w, &err))
		sl_reply_error(r, &err);
	else if (w.dry_run)
		reply_estimate(r, &w);
	else if (unfinished >= d->config.max_jobs)
		sl_reply_status(r, 429, "%lld jobs have not finished yet, and no more are allowed (max_jobs).",
				(long long)unfinished);
	else
		submit(r, &w, key, hash);
out:
	json_decref(body);
}
