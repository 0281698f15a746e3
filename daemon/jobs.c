#include "daemon/jobs.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/host_memory.h"
#include "daemon/db.h"
#include "daemon/graphs.h"
#include "daemon/job_files.h"
#include "daemon/jobs_internal.h"
#include "daemon/log.h"
#include "daemon/problem.h"

#define SHUTDOWN_MS 20000       /* the longest that checkpoints may take at the end */
#define HEARTBEAT_S 15
/* Frames of a resumed job go on beyond any that a reader may have seen before the crash. */
#define SEQUENCE_GAP 1000000u

uint64_t sl__wall_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* ---- the table ------------------------------------------------------------------ */

static unsigned bucket_of(const char *id)
{
	uint32_t h = 2166136261u;  /* FNV-1a */
	for (; *id; id++)
		h = (h ^ (unsigned char)*id) * 16777619u;
	return h % SL__BUCKETS;
}

struct sl_job *sl__job_find(struct sl_jobs *j, const char *id)
{
	struct sl_job *job = j->bucket[bucket_of(id)];
	while (job && strcmp(job->id, id))
		job = job->same_bucket;
	return job;
}

struct sl_job *sl__job_of_request(struct sl_request *r)
{
	const char *id = sl_request_path(r, "id");
	struct sl_job *job = sl__job_find(sl_request_daemon(r)->jobs, id);
	if (!job)
		sl_reply_problem(r, SL_NOTFOUND, "There is no job %.64s.", id);
	return job;
}

struct sl_job *sl__job_create(struct sl_jobs *j, const char *id)
{
	struct sl_job *job = calloc(1, sizeof *job);
	if (!job)
		return NULL;
	job->jobs = j;
	job->references = 1;
	memcpy(job->id, id, sizeof job->id);
	sl__job_set_engine(job, SL__AUTO, j->preferred);
	sl_params_preset(&job->params, SL_PRESET_DEFAULT);
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
	free(job->idempotency_key);
	free(job->idempotency_hash);
	json_decref(job->problem);
	json_decref(job->quality);
	json_decref(job->notes);
	free(job->trace);
	sl_layout_unref(job->layout);
	for (int i = 0; i < SL__FRAME_CACHE; i++)
		sl_buffer_unref(job->cache[i].frame);
	free(job);
}

void sl__job_insert(struct sl_job *job)
{
	struct sl_jobs *j = job->jobs;
	unsigned b = bucket_of(job->id);
	job->same_bucket = j->bucket[b];
	j->bucket[b] = job;
	job->older = j->newest;
	if (j->newest)
		j->newest->newer = job;
	else
		j->oldest = job;
	j->newest = job;
	j->count[job->state]++;
	if (!sl__job_ended(job))
		sl_graphs_use(j->d->graphs, job->graph);
}

static void table_remove(struct sl_job *job)
{
	struct sl_jobs *j = job->jobs;
	struct sl_job **at = &j->bucket[bucket_of(job->id)];
	while (*at != job)
		at = &(*at)->same_bucket;
	*at = job->same_bucket;
	*(job->older ? &job->older->newer : &j->oldest) = job->newer;
	*(job->newer ? &job->newer->older : &j->newest) = job->older;
	j->count[job->state]--;
	job->deleted = true;
}

void sl__job_delete(struct sl_job *job)
{
	struct sl_jobs *j = job->jobs;
	sl__measurements_cancel(j, job);
	sl_db_remove(j->d->db, SL_DB_JOBS, job->id, NULL, NULL);
	sl__job_remove_files(job, sl_job_file_kinds);
	sl__frames_job_gone(job);
	table_remove(job);
	sl__job_unref(job);
}

/* ---- states ------------------------------------------------------------------------ */

void sl__job_set_state(struct sl_job *job, enum sl_job_state state)
{
	struct sl_jobs *j = job->jobs;
	if (job->state == state)
		return;
	bool ended = sl__job_ended(job);
	j->count[job->state]--;
	job->state = state;
	j->count[state]++;
	if (!ended && sl__job_ended(job)) {
		job->stage = SL_STAGE_ENDED;
		sl_graphs_unuse(j->d->graphs, job->graph);
		sl_metric_add(j->metric_ended[state - SL_JOB_DONE], 1);
	}
	sl__job_notify(job);
}

static void waiter_take(struct sl_job_waiter *w)
{
	struct sl_job_waiter **at = &w->job->waiters;
	while (*at != w)
		at = &(*at)->next;
	*at = w->next;
}

static void waiter_end(struct sl_job_waiter *w, bool reply)
{
	struct sl_job *job = w->job;
	waiter_take(w);
	if (reply)
		sl_reply_json(w->request, w->status, sl__job_json(job));
	free(w);
	sl__job_unref(job);
}

static void waiter_gone(void *arg)
{
	waiter_end(arg, false);
}

static void waiter_timeout(void *arg)
{
	waiter_end(arg, true);
}

void sl__job_wait(struct sl_job *job, struct sl_request *r, bool (*met)(const struct sl_job *job), int status,
		  uint64_t timeout_ms)
{
	struct sl_job_waiter *w = met(job) || timeout_ms == 0 ? NULL : calloc(1, sizeof *w);
	if (!w) {
		sl_reply_json(r, status, sl__job_json(job));
		return;
	}
	*w = (struct sl_job_waiter){.next = job->waiters, .job = sl__job_ref(job), .request = r, .met = met,
				    .status = status};
	job->waiters = w;
	sl_request_park_for(r, timeout_ms, waiter_timeout, waiter_gone, w);
}

static void answer_waiters(struct sl_job *job)
{
	for (struct sl_job_waiter *w = job->waiters, *next; w; w = next) {
		next = w->next;
		if (w->met(job))
			waiter_end(w, true);
	}
}

void sl__job_notify(struct sl_job *job)
{
	answer_waiters(job);
	sl__followers_notify(job, true);
}

static void saved(void *arg, int status, const struct sl_error *err)
{
	struct sl_job *job = arg;
	struct sl_jobs *j = job->jobs;
	if (status)
		sl_log_error("jobs", "a change of %s could not be recorded: %s", job->id, err ? err->detail : "");
	if (--job->saves == 0)
		answer_waiters(job);
	sl__job_unref(job);
	sl__works_done(j);
}

int sl__job_save(struct sl_job *job, enum sl_job_state state, void (*done)(void *arg, int status,
									   const struct sl_error *err))
{
	json_t *document = sl__job_document(job, state);
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

void sl__works_done(struct sl_jobs *j)
{
	j->works--;
	sl__jobs_shutdown_step(j);
}

/* ---- what clients ask of a job ------------------------------------------------------- */

void sl__job_note(struct sl_job *job, const char *format, ...)
{
	char text[400];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	if (!job->notes)
		job->notes = json_array();
	json_array_append_new(job->notes, json_string(text));
}

/* Are the neighbours that it needs there? If not it waits for them, without a place, or fails. */
static bool neighbours_ready(struct sl_job *job)
{
	struct sl_jobs *j = job->jobs;
	const struct sl_graph_record *g = sl_graphs_find(j->d->graphs, job->graph);
	struct sl_error err;
	if (!g || g->kind == SL_KIND_GRAPH)
		return true;
	switch (sl_graphs_want(j->d->graphs, job->graph, sl__job_neighbours(&job->params, g), &err)) {
	case SL_SEARCH_RUNNING:
		job->stage = SL_STAGE_SEARCHING;
		return false;
	case SL_SEARCH_FAILED:
		sl__job_fail(job, &err);
		return false;
	default:
		return true;
	}
}

void sl__job_enqueue(struct sl_job *job)
{
	struct sl_jobs *j = job->jobs;
	const struct sl_graph_record *g = sl_graphs_find(j->d->graphs, job->graph);
	uint64_t host, device;
	if (!neighbours_ready(job))
		return;
	sl__job_bytes(job->engine->functions, &job->params, job->nodes, g ? sl__job_entries(&job->params, g) : 0, &host,
		      &device);
	job->bytes = strcmp(job->engine->name, "cpu") ? host : host + device;  /* a GPU counts its own memory */
	job->stage = SL_STAGE_WAITING;
	sl_backlog_add(&job->engine->backlog, &job->waiting, job->priority, job->bytes);
	sl__jobs_pump(j);
}

/* A search has ended: those that waited for it go on, or wait for the next, larger one. */
static void on_search(void *arg, const char *graph)
{
	struct sl_jobs *j = arg;
	const struct sl_graph_record *g = sl_graphs_find(j->d->graphs, graph);
	const struct sl_error *problem = sl_graphs_search_problem(j->d->graphs, graph);
	if (j->stopping || !g)
		return;
	for (struct sl_job *job = j->oldest, *next; job; job = next) {
		next = job->newer;
		if (job->stage != SL_STAGE_SEARCHING || strcmp(job->graph, graph))
			continue;
		uint32_t k = sl__job_neighbours(&job->params, g);
		if (g->k >= k || g->k >= g->points - 1)
			sl__job_enqueue(job);
		else if (problem)
			sl__job_fail(job, problem);
	}
}

void sl__job_pause(struct sl_job *job)
{
	if (job->pause || sl__job_ended(job) || job->stage == SL_STAGE_SAVING)
		return;
	job->pause = true;
	if (job->stage == SL_STAGE_WAITING || job->stage == SL_STAGE_SEARCHING) {
		if (job->stage == SL_STAGE_WAITING)
			sl_backlog_remove(&job->engine->backlog, &job->waiting);
		job->stage = SL_STAGE_HELD;
		sl__job_set_state(job, SL_JOB_PAUSED);
	} else if (job->stage == SL_STAGE_PREPARING) {
		sl__job_set_state(job, SL_JOB_PAUSED);
	} else if (sl_device_pause(job->device->thread, job->key)) {
		job->pause = false;
	}
}

void sl__job_resume(struct sl_job *job)
{
	if (!job->pause || sl__job_ended(job) || job->stage == SL_STAGE_SAVING)
		return;
	job->pause = false;
	if (job->stage == SL_STAGE_HELD) {
		sl__job_set_state(job, SL_JOB_QUEUED);
		sl__job_enqueue(job);
	} else if (job->stage == SL_STAGE_PREPARING) {
		sl__job_set_state(job, SL_JOB_QUEUED);
	} else if (sl_device_resume(job->device->thread, job->key)) {
		job->pause = true;
	} else {
		if (job->state == SL_JOB_PAUSED)
			sl__job_activate(job, 1);
		sl__job_set_state(job, SL_JOB_RUNNING);
		sl__frames_pump(job);
	}
}

void sl__job_cancel(struct sl_job *job)
{
	if (job->cancel || sl__job_ended(job))
		return;
	job->cancel = true;
	if (job->stage == SL_STAGE_WAITING)
		sl_backlog_remove(&job->engine->backlog, &job->waiting);
	if (job->stage == SL_STAGE_WAITING || job->stage == SL_STAGE_HELD || job->stage == SL_STAGE_SEARCHING)
		sl__job_end(job, SL_JOB_CANCELLED, NULL);
	else if (job->stage == SL_STAGE_DEVICE && sl_device_cancel(job->device->thread, job->key))
		job->cancel = false;  /* out of memory: the client may try again */
}

void sl__job_set_priority(struct sl_job *job, int priority)
{
	job->priority = priority;
	if (job->stage == SL_STAGE_WAITING)
		sl_backlog_set_priority(&job->engine->backlog, &job->waiting, priority);
	else if (job->stage == SL_STAGE_DEVICE)
		sl_device_set_priority(job->device->thread, job->key, priority);
}

void sl__job_steer(struct sl_job *job, const struct sl_params *params)
{
	job->params = *params;
	if (job->stage == SL_STAGE_DEVICE)
		sl_device_steer(job->device->thread, job->key, params);
}

/* An embedding's settings are resolved by core/embedding.c; for a budget it is enough that
 * these are as large. The affinities count when they are not there yet (8 bytes an entry,
 * and as much again while they are made). */
void sl__job_bytes(const struct sl_engine *engine, const struct sl_params *params, uint32_t nodes, uint64_t entries,
		   uint64_t *host, uint64_t *device)
{
	struct sl_settings settings = {
		.dims = params->dims, .optimizer = params->optimizer, .grid_side = params->grid_side,
		.accuracy = params->accuracy != SL_ACCURACY_AUTO ? params->accuracy
			  : params->dims == 3 ? SL_DRAFT : SL_NORMAL,
		.repulsion = params->repulsion == SL_REPULSION_EXACT ? SL_REPULSION_EXACT : SL_REPULSION_GRID,
	};
	uint64_t layout = (uint64_t)nodes * (uint64_t)params->dims * sizeof(float);
	*device = engine->embedding_bytes(nodes, &settings);
	*host = 3 * layout + 24 * entries + 20 * (uint64_t)nodes;
}

/* Each point looks at three times its perplexity; about a third of its neighbours do not look back. */
uint64_t sl__job_entries(const struct sl_params *params, const struct sl_graph_record *g)
{
	if (g->kind == SL_KIND_GRAPH)
		return g->entries;
	return (uint64_t)g->points * sl__job_neighbours(params, g) * 4 / 3;
}

uint32_t sl__job_neighbours(const struct sl_params *params, const struct sl_graph_record *g)
{
	struct sl_affinities_params wanted;
	sl_affinities_params_from(&wanted, params);
	if (!wanted.perplexities && g->kind == SL_KIND_NEIGHBOURS)
		return g->k < 90 ? g->k : 90;
	return sl_affinities_neighbours_needed(&wanted, g->points);
}

/* ---- once a second ------------------------------------------------------------------ */

static void checkpoint_some(struct sl_jobs *j)
{
	double interval_ms = j->d->config.checkpoint_interval_s * 1e3;
	uint64_t now = uv_now(j->d->loop);
	if (!(interval_ms > 0))
		return;
	for (struct sl_job *job = j->on_device; job; job = job->next_on_device)
		if (job->state == SL_JOB_RUNNING && (double)(now - job->checkpointed_ms) >= interval_ms)
			sl__job_checkpoint(job);
}

/* Oldest first; a few at a time. */
static void retain(struct sl_jobs *j)
{
	const struct sl_config *c = &j->d->config;
	int64_t finished = j->count[SL_JOB_DONE] + j->count[SL_JOB_FAILED] + j->count[SL_JOB_CANCELLED];
	int64_t excess = c->max_finished_jobs > 0 ? finished - c->max_finished_jobs : 0;
	uint64_t now = sl__wall_ms();
	if (excess <= 0 && !(c->result_retention_s > 0))
		return;
	for (struct sl_job *job = j->oldest, *next; job; job = next) {
		next = job->newer;
		if (!sl__job_ended(job))
			continue;
		bool old = c->result_retention_s > 0 &&
			   (double)now - (double)job->finished_ms > c->result_retention_s * 1e3;
		if (excess <= 0 && !old)
			break;
		excess--;
		sl__job_delete(job);
	}
}

static void on_tick(uv_timer_t *timer)
{
	struct sl_jobs *j = timer->data;
	if (j->stopping) {
		sl__jobs_shutdown_step(j);
		return;
	}
	checkpoint_some(j);
	sl__jobs_pump(j);  /* a device may be tried again, memory may have become free */
	if (++j->ticks % HEARTBEAT_S)
		return;
	retain(j);
	for (struct sl_job *job = j->newest; job; job = job->older)
		if (job->followers)
			sl__followers_heartbeat(job);
}

static void collect(void *arg)
{
	struct sl_jobs *j = arg;
	for (int i = 0; i < SL_JOB_STATES; i++)
		sl_metric_set(j->metric_state[i], j->count[i]);
	sl__engines_collect(j);
}

static void register_metrics(struct sl_jobs *j)
{
	struct sl_metrics *m = j->d->metrics;
	for (int i = 0; i < SL_JOB_STATES; i++) {
		char labels[40];
		snprintf(labels, sizeof labels, "state=\"%s\"", sl__job_state_name[i]);
		j->metric_state[i] = sl_metrics_register(m, SL_GAUGE, "spaceland_jobs", labels, "Jobs by state.");
		if (i >= SL_JOB_DONE)
			j->metric_ended[i - SL_JOB_DONE] = sl_metrics_register(m, SL_COUNTER,
				"spaceland_jobs_ended_total", labels, "Jobs that ended since the start.");
	}
	j->metric_iterations = sl_metrics_register(m, SL_COUNTER, "spaceland_iterations_total", NULL,
						   "Iterations of all jobs.");
	j->metric_slices = sl_metrics_register(m, SL_COUNTER, "spaceland_slices_total", NULL,
					       "Slices that jobs have had of the device.");
	j->metric_slice_seconds = sl_metrics_register(m, SL_COUNTER, "spaceland_slice_seconds_total", NULL,
						      "Time that those slices took.");
	j->metric_frames = sl_metrics_register(m, SL_COUNTER, "spaceland_frames_total", NULL,
					       "Frames encoded, in any form.");
	sl_metrics_on_collect(m, collect, j);
}

/* ---- life ---------------------------------------------------------------------------- */

/* A job that had not ended is queued again; its progress is that of its checkpoint. */
static void take_up(struct sl_job *job)
{
	if (job->sequence || job->started_ms)
		job->sequence += SEQUENCE_GAP;
	if (!job->has_checkpoint) {
		job->status = (struct sl_status){.kl = NAN, .gradient_norm = NAN};
	} else {
		job->status.iteration = job->checkpoint_iteration;
		job->status.seconds = job->checkpoint_seconds;
	}
	job->recorded_iteration = (uint64_t)job->status.iteration;
	job->status.iterations = job->params.iterations;
	job->pause = job->state == SL_JOB_PAUSED;
	if (!job->pause)
		job->state = SL_JOB_QUEUED;
	job->stage = SL_STAGE_HELD;
}

static int load_row(void *arg, const char *id, json_t *document)
{
	struct sl_job *job;
	int code = sl__job_from_document(arg, id, document, &job);
	if (code == SL_NOMEM)
		return code;
	if (code) {
		sl_log_warning("jobs", "the record of job %s cannot be read; it is left alone", id);
		return 0;
	}
	if (sl__job_ended(job)) {
		job->stage = SL_STAGE_ENDED;
	} else {
		sl__job_take_up_engine(job);
		take_up(job);
	}
	sl__job_insert(job);
	return 0;
}

static void graph_deleted(void *arg, const char *id)
{
	struct sl_jobs *j = arg;
	sl_affinity_cache_forget(j->affinities, id);
}

static void on_subscription(void *arg, const char *prefix, bool subscribed)
{
	sl__frames_subscription(arg, prefix, subscribed);
}

static int open_parts(struct sl_jobs *j, struct sl_error *err)
{
	const struct sl_config *c = &j->d->config;
	j->memory_bytes = sl_host_memory() / 4 * 3;
	if (asprintf(&j->folder, "%s/jobs", j->d->state_dir) < 0) {
		j->folder = NULL;
		return sl_error_set(err, SL_NOMEM, "Out of memory at the start.");
	}
	if (mkdir(j->folder, 0750) && errno != EEXIST)
		return sl_error_set(err, SL_IO, "Cannot make the folder %s: %s.", j->folder, strerror(errno));
	int code = sl_affinity_cache_create(&j->affinities, j->d, (uint64_t)c->graph_memory_bytes, err);
	if (!code && c->zmq[0])
		code = sl_publisher_create(&j->publisher, j->d->loop, c->zmq, (int)c->zmq_high_water_mark,
					   on_subscription, j, err);
	if (!code)
		code = sl__engines_open(j, err);
	if (!code && c->device_memory_bytes > 0 && !strcmp(j->preferred->name, "cpu"))
		j->memory_bytes = (uint64_t)c->device_memory_bytes;
	if (!code)
		code = sl_db_load(j->d->db, SL_DB_JOBS, load_row, j, err);
	return code;
}

static void start_timers(struct sl_jobs *j)
{
	double period_ms = j->d->config.checkpoint_interval_s * 1e3;
	uint64_t tick_ms = period_ms > 0 && period_ms < 1000 ? (uint64_t)fmax(period_ms, 50) : 1000;
	uv_timer_init(j->d->loop, &j->tick);
	uv_timer_init(j->d->loop, &j->frame_timer);  /* job_frames.c */
	j->tick.data = j->frame_timer.data = j;
	uv_timer_start(&j->tick, on_tick, tick_ms, tick_ms);
}

int sl_jobs_create(struct sl_jobs **out, struct sl_daemon *d, struct sl_error *err)
{
	struct sl_jobs *j = calloc(1, sizeof *j);
	if (!j)
		return sl_error_set(err, SL_NOMEM, "Out of memory at the start.");
	j->d = d;
	int code = open_parts(j, err);
	if (code) {
		for (int i = 0; i < j->devices; i++)
			if (j->device[i].thread && !sl_device_stop(j->device[i].thread))
				sl_device_thread_destroy(j->device[i].thread, NULL, NULL);
		sl_publisher_destroy(j->publisher, NULL, NULL);
		sl_jobs_destroy(j);
		return code;
	}
	register_metrics(j);
	sl_graphs_on_delete(d->graphs, graph_deleted, j);
	sl_graphs_on_search(d->graphs, on_search, j);
	sl_graphs_search_on(d->graphs, j->preferred->functions, sl__engine_first(j->preferred)->index,
			    (uint64_t)d->config.device_memory_bytes);
	start_timers(j);
	*out = j;
	for (struct sl_job *job = j->oldest, *next; job; job = next) {
		next = job->newer;
		if (!sl__job_ended(job) && !job->pause)
			sl__job_enqueue(job);
	}
	return 0;
}

void sl_jobs_destroy(struct sl_jobs *j)
{
	if (!j)
		return;
	while (j->newest) {
		struct sl_job *job = j->newest;
		j->newest = job->older;
		if (!sl__job_ended(job))
			sl_graphs_unuse(j->d->graphs, job->graph);
		sl__job_unref(job);
	}
	while (j->subscriptions) {
		struct sl_subscription *s = j->subscriptions;
		j->subscriptions = s->next;
		free(s);
	}
	sl_affinity_cache_destroy(j->affinities);
	free(j->folder);
	free(j->engine_reason);
	free(j);
}

/* ---- the end ------------------------------------------------------------------------- */

static void part_closed(struct sl_jobs *j)
{
	if (--j->closing == 0)
		j->done(j->done_arg);
}

static void part_closed_arg(void *arg)
{
	part_closed(arg);
}

static void timer_closed(uv_handle_t *handle)
{
	part_closed(handle->data);
}

static void close_all(struct sl_jobs *j)
{
	j->closing = 2 + (j->publisher != NULL);
	for (int i = 0; i < j->devices; i++)
		j->closing += j->device[i].thread != NULL;
	uv_close((uv_handle_t *)&j->tick, timer_closed);
	uv_close((uv_handle_t *)&j->frame_timer, timer_closed);
	for (int i = 0; i < j->devices; i++) {
		sl_affinity_cache_set_device(j->affinities, i, NULL);
		if (j->device[i].thread)
			sl_device_thread_destroy(j->device[i].thread, part_closed_arg, j);
	}
	sl_publisher_destroy(j->publisher, part_closed_arg, j);
	j->publisher = NULL;
}

static bool devices_stopped(const struct sl_jobs *j)
{
	for (int i = 0; i < j->devices; i++)
		if (j->device[i].thread && j->device[i].stage != SL_DEVICE_STOPPED)
			return false;
	return true;
}

void sl__jobs_shutdown_step(struct sl_jobs *j)
{
	if (!j->stopping || j->closing)
		return;
	if (devices_stopped(j)) {
		if (!j->works && !sl_affinity_cache_busy(j->affinities))
			close_all(j);
		return;
	}
	bool late = uv_now(j->d->loop) >= j->stop_deadline_ms;
	for (struct sl_job *job = j->on_device; job; job = job->next_on_device) {
		if (!job->checkpoint_again || job->checkpointing)
			continue;
		job->checkpoint_again = false;
		sl__job_checkpoint(job);
	}
	for (struct sl_job *job = j->on_device; job && !late; job = job->next_on_device)
		if (job->checkpointing)
			return;
	for (int i = 0; i < j->devices; i++) {
		struct sl_jobs_device *d = &j->device[i];
		if (d->thread && !d->stop_sent)
			d->stop_sent = !sl_device_stop(d->thread);  /* STOPPED comes as its last event */
	}
}

void sl_jobs_shutdown(struct sl_jobs *j, void (*done)(void *arg), void *arg)
{
	j->stopping = true;
	j->done = done;
	j->done_arg = arg;
	j->stop_deadline_ms = uv_now(j->d->loop) + SHUTDOWN_MS;
	sl__placements_cancel(j);
	sl__measurements_cancel(j, NULL);
	for (struct sl_job *job = j->on_device; job; job = job->next_on_device)
		job->checkpoint_again = true;  /* one that is on its way is older than this moment */
	sl__jobs_shutdown_step(j);
}

const char *sl_jobs_stream_endpoint(const struct sl_jobs *j)
{
	return j->publisher ? sl_publisher_endpoint(j->publisher) : NULL;
}

json_t *sl_jobs_counts(const struct sl_jobs *j)
{
	json_t *object = json_object();
	for (int i = 0; i < SL_JOB_STATES; i++)
		json_object_set_new(object, sl__job_state_name[i], json_integer(j->count[i]));
	return object;
}

const char *sl_jobs_engine(const struct sl_jobs *j)
{
	return j->preferred->name;
}

json_t *sl_jobs_engines(const struct sl_jobs *j)
{
	json_t *array = json_array();
	for (int i = 0; i < SL__ENGINES; i++)
		if (j->engine[i].offered && !sl__engine_problem(&j->engine[i]))
			json_array_append_new(array, json_string(j->engine[i].name));
	return array;
}
