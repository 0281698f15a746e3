/* The process of a worker: gets what a job is computed from, gives the job to the device's thread, and passes the
 * thread's events on.
 *
 * Commands for a job that is not with the thread yet wait in the job, in order. */
#include "daemon/worker/worker.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "core/engine/load.h"
#include "core/points/points.h"
#include "daemon/device/make_run.h"
#include "daemon/util/crashes.h"
#include "daemon/util/list.h"
#include "daemon/util/log.h"
#include "daemon/util/pool.h"
#include "daemon/worker/calls.h"
#include "daemon/worker/codec.h"
#include "daemon/worker/dial.h"
#include "daemon/worker/fetch.h"
#include "daemon/worker/inputs.h"

#define BEAT_MS 1000
#define FLUSH_MS 10
#define POOL "4"

struct worker {
	uv_loop_t loop;
	struct sl_wire *wire;
	struct sl_device_port *device;  /* NULL: not told yet which */
	struct sl_inputs *inputs;
	struct sl_calls *calls;
	struct sl_fetch *fetch;         /* NULL: it is on the daemon's machine */
	struct sl_list jobs;
	uv_timer_t beat;
	int leaving;                    /* exit status + 1, when all is sent; 0: stay */
};

struct job {
	struct sl_link link;
	struct worker *worker;
	uint64_t key;
	const struct sl_method *method;
	struct sl_command *add;         /* NULL: the thread has it */
	struct sl_list later;           /* struct waiting */
	struct sl_worker_input *data;   /* what its run borrows; or NULL */
	struct sl_worker_input *neighbours;  /* until it has started; or NULL */
	struct sl_points *table;        /* what its run borrows; or NULL */
	struct sl_error checkpoint_err;
	/* used by the pool: */
	struct sl_pool_place work;
	struct sl_made_run made;
	int code;
	struct sl_error err;
};

struct waiting {
	struct sl_link link;
	struct sl_command *command;
};

/* ---- events ------------------------------------------------------------------------------------ */

static struct job *job_find(struct worker *w, uint64_t key)
{
	return SL_LIST_FIND(struct job, job, &w->jobs, link, job->key == key);
}

static void send_event(struct worker *w, struct sl_device_event *e, const struct sl_method *method)
{
	sl_wire_send(w->wire, sl_event_message(e, method));
}

static void job_free(struct job *job)
{
	struct sl_inputs *inputs = job->worker->inputs;
	sl_list_unlink(&job->link);
	sl_inputs_release(inputs, job->data);
	sl_inputs_release(inputs, job->neighbours);
	sl_points_destroy(job->table);
	sl__command_destroy(job->add);
	free(job);
}

static void leave(struct worker *w, int status)
{
	w->leaving = status + 1;
	uv_timer_set_repeat(&w->beat, FLUSH_MS);
	uv_timer_again(&w->beat);
}

static bool is_last(const struct sl_device_event *e)
{
	return e->kind == SL_EVENT_DONE || e->kind == SL_EVENT_FAILED || e->kind == SL_EVENT_CANCELLED ||
	       e->kind == SL_EVENT_LOST || (e->kind == SL_EVENT_LEFT && e->blob);
}

static void on_event(void *arg, struct sl_device_event *e)
{
	struct worker *w = arg;
	struct job *job = e->job ? job_find(w, e->job) : NULL;
	bool last = is_last(e), restart = e->state && e->state->restart;
	if (job && (last || e->kind == SL_EVENT_STARTED)) {
		sl_inputs_release(w->inputs, job->neighbours);
		job->neighbours = NULL;
	}
	if (job && e->kind == SL_EVENT_STARTED && job->checkpoint_err.code)
		e->err = job->checkpoint_err;
	if (e->kind == SL_EVENT_GRAPH_DROPPED)
		sl_inputs_dropped(w->inputs, e->graph, e->adds);
	send_event(w, e, job ? job->method : NULL);
	if (job && last)
		job_free(job);
	if (e->kind == SL_EVENT_STOPPED || restart)
		leave(w, restart ? 3 : 0);
	sl_device_event_destroy(e);
}

/* ---- jobs ---------------------------------------------------------------------------------------- */

static void post(struct worker *w, struct sl_command *c)
{
	if (w->device->functions->post(w->device, c))
		_exit(1);  /* no memory: the daemon starts another worker */
	free(c);
}

/* Gives the job, and the commands that have come for it, to the thread. */
static void hand_over(struct job *job)
{
	struct sl_command *add = job->add;
	job->add = NULL;
	post(job->worker, add);
	SL_LIST_EACH(struct waiting, w, &job->later, link) {
		sl_list_unlink(&w->link);
		post(job->worker, w->command);
		free(w);
	}
}

static void fail(struct job *job, const struct sl_error *err)
{
	struct worker *w = job->worker;
	const struct sl_device_job *add = job->add->add;
	struct sl_device_event e = {.kind = SL_EVENT_FAILED, .job = job->key, .err = *err};
	struct sl_device_event dropped = {.kind = SL_EVENT_GRAPH_DROPPED, .graph = add->graph, .adds = 1};
	send_event(w, &e, job->method);
	if (add->source.origin == SL_OF_AFFINITIES)
		send_event(w, &dropped, NULL);
	SL_LIST_EACH(struct waiting, waiting, &job->later, link) {  /* the thread answers those that want an answer */
		sl_list_unlink(&waiting->link);
		post(w, waiting->command);
		free(waiting);
	}
	job_free(job);
}

static void affinities_ready(void *arg, struct sl_worker_input *input, const struct sl_error *err)
{
	struct job *job = arg;
	if (!input) {
		fail(job, err);
		return;
	}
	job->add->add->affinities = input->affinities;  /* released when the thread has given them back */
	hand_over(job);
}

static void neighbours_ready(void *arg, struct sl_worker_input *input, const struct sl_error *err)
{
	struct job *job = arg;
	if (!input) {
		fail(job, err);
		return;
	}
	job->neighbours = input;
	job->add->add->neighbours = input->neighbours;
	hand_over(job);
}

static void edges_ready(void *arg, struct sl_worker_input *input, const struct sl_error *err)
{
	struct job *job = arg;
	if (!input) {
		fail(job, err);
		return;
	}
	job->neighbours = input;
	job->add->add->edges = input->graph;
	hand_over(job);
}

static void make_run(void *arg)
{
	struct job *job = arg;
	struct sl_device_job *add = job->add->add;
	const struct sl_device_source *s = &add->source;
	struct sl_run_input in = {
		.method = add->method, .params = &add->params, .origin = s->origin,
		.points = job->data ? job->data->points : NULL, .graph = job->data ? job->data->graph : NULL,
		.init = add->init, .rows = s->rows, .columns = s->columns, .start = s->start,
		.start_kind = s->start_kind, .checkpoint = add->checkpoint, .checkpoint_bytes = add->checkpoint_bytes,
	};
	sl_crashes_computes(add->id);
	job->code = sl_run_make(&in, &job->made, &job->err);
	sl_crashes_computes(NULL);
	add->init = in.init;
}

static void run_made(void *arg)
{
	struct job *job = arg;
	struct sl_device_job *add = job->add->add;
	job->table = job->made.table;
	if (job->code) {
		fail(job, &job->err);
		return;
	}
	add->run = job->made.run;
	add->restored = job->made.restored;
	job->checkpoint_err = job->made.checkpoint_err;
	free(add->checkpoint);
	add->checkpoint = NULL;
	if (add->source.origin == SL_OF_EDGES) {  /* its run no longer borrows anything */
		sl_inputs_release(job->worker->inputs, job->data);
		job->data = NULL;
	}
	hand_over(job);
}

static void data_ready(void *arg, struct sl_worker_input *input, const struct sl_error *err)
{
	struct job *job = arg;
	if (!input) {
		fail(job, err);
		return;
	}
	job->data = input;
	sl_pool_run_in(&job->work, &job->worker->loop, make_run, run_made, job);
}

/* Gets the affinities of a job, or the neighbours or edges from which the device makes them. unstored: they came with
 * it. */
static void get_affinities(struct job *job, struct sl_neighbours *unstored)
{
	struct sl_inputs *inputs = job->worker->inputs;
	const struct sl_device_job *add = job->add->add;
	const struct sl_device_source *s = &add->source;
	const char *path = s->graph ? s->data : s->neighbours;
	struct sl_worker_input *given = unstored ? sl_inputs_give(inputs, unstored, add->neighbours_key) : NULL;
	struct sl_input_name name = {.kind = SL_INPUT_AFFINITIES, .path = path ? path : "", .key = add->graph,
				     .of_graph = s->graph, .source_key = add->neighbours_key,
				     .params = add->affinities_params, .job = add->id};
	struct sl_error err;
	if (unstored && !given) {
		sl_error_memory(&err, "neighbours");
		fail(job, &err);
	} else if (s->on_device && s->graph) {
		name.kind = SL_INPUT_GRAPH;
		name.key = 0;
		sl_inputs_get(inputs, &name, edges_ready, job);
	} else if (s->on_device && given) {
		neighbours_ready(job, given, NULL);
	} else if (s->on_device) {
		name.kind = SL_INPUT_NEIGHBOURS;
		name.key = add->neighbours_key;
		sl_inputs_get(inputs, &name, neighbours_ready, job);
	} else {
		sl_inputs_get_of(inputs, &name, given, affinities_ready, job);
		sl_inputs_release(inputs, given);
	}
}

static void on_add(struct worker *w, struct sl_command *c, struct sl_neighbours *unstored)
{
	struct job *job = calloc(1, sizeof *job);
	const struct sl_device_source *s = &c->add->source;
	if (!job)
		_exit(1);
	job->worker = w;
	job->key = c->key;
	job->method = c->add->method;
	job->add = c;
	sl_list_prepend(&w->jobs, &job->link);
	if (s->origin == SL_OF_AFFINITIES) {
		get_affinities(job, unstored);
	} else if (s->origin == SL_OF_LAYOUT) {
		sl_pool_run_in(&job->work, &w->loop, make_run, run_made, job);
	} else {
		const struct sl_input_name name = {.kind = s->graph ? SL_INPUT_GRAPH : SL_INPUT_POINTS,
						   .path = s->data ? s->data : "", .job = c->add->id};
		sl_inputs_get(w->inputs, &name, data_ready, job);
	}
}

/* ---- messages --------------------------------------------------------------------------------------- */

static const char *text_at(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));
	return text ? text : "";
}

static void stop_with(struct worker *w, const struct sl_error *err)
{
	struct sl_device_event e = {.kind = SL_EVENT_STOPPED, .err = *err};
	send_event(w, &e, NULL);
	leave(w, 2);
}

/* A call has found the device lost, and with it the context of the GPU in this process: the daemon starts another. */
static void device_lost(void *arg)
{
	leave(arg, 3);
}

/* The first message: opens the device. */
static void on_hello(struct worker *w, const json_t *h)
{
	struct sl_device_config config = {
		.slice_ms = json_number_value(json_object_get(h, "slice_ms")),
		.slow_ms = json_number_value(json_object_get(h, "slow_ms")),
		.patient = json_is_true(json_object_get(h, "patient")),
		.options = {
			.index = (int)json_integer_value(json_object_get(h, "index")),
			.gpus = (int)json_integer_value(json_object_get(h, "gpus")),
			.divide_nodes = (uint32_t)json_integer_value(json_object_get(h, "divide_nodes")),
			.threads = (int)json_integer_value(json_object_get(h, "threads")),
			.plan_bytes = (uint64_t)json_integer_value(json_object_get(h, "plan_bytes")),
			.memory_bytes = (uint64_t)json_integer_value(json_object_get(h, "memory_bytes")),
		},
	};
	char name[16];
	struct sl_error err;
	snprintf(name, sizeof name, "worker-%s", text_at(h, "id"));
	prctl(PR_SET_NAME, name);
	sl_log_set_level((enum sl_log_level)json_integer_value(json_object_get(h, "log_level")));
	sl_crashes_open(getenv(SL_WORKER_DIR) ? getenv(SL_WORKER_DIR) : text_at(h, "state_dir"));
	int code = json_integer_value(json_object_get(h, "protocol")) == SL_WORKER_PROTOCOL &&
		   !strcmp(text_at(h, "version"), SL_VERSION) ? 0 :
		   sl_error_set(&err, SL_BADPARAM, "The worker is version " SL_VERSION ", the daemon %.40s. Use the same "
				"version for both.", text_at(h, "version"));
	if (getenv(SL_WORKER_CACHE) && getenv(SL_WORKER_CACHE_BYTES))
		w->fetch = sl_fetch_create(w->wire, getenv(SL_WORKER_CACHE), strtoull(getenv(SL_WORKER_CACHE_BYTES), NULL, 10));
	uint64_t input_bytes = (uint64_t)json_integer_value(json_object_get(h, "input_bytes"));
	if (!code)
		code = sl_inputs_create(&w->inputs, &w->loop, input_bytes, w->fetch, &err);
	if (!code)
		code = (config.patient ? sl_engine_load : sl_engine_open)(text_at(h, "engine"), &config.engine, &err);
	if (!code && !(w->calls = sl_calls_create(&w->loop, w->wire, w->inputs, &config, device_lost, w)))
		code = sl_error_memory(&err, "a worker");
	if (!code)
		code = sl_device_thread_start(&w->device, &w->loop, &config, on_event, w, &err);
	if (code)
		stop_with(w, &err);
}

static void on_command(struct worker *w, struct sl_command *c, struct sl_neighbours *unstored)
{
	struct job *job = job_find(w, c->key);
	bool of_job = c->kind != SL__DROP_GRAPH && c->kind != SL__DROP_NEIGHBOURS && c->kind != SL__PIN;
	if (c->kind == SL__ADD) {
		on_add(w, c, unstored);
	} else if (job && of_job && job->add) {
		struct waiting *waiting = calloc(1, sizeof *waiting);
		if (!waiting)
			_exit(1);
		waiting->command = c;
		sl_list_append(&job->later, &waiting->link);
	} else {
		post(w, c);
	}
}

static void on_message(void *arg, struct sl_wire_message *m)
{
	struct worker *w = arg;
	struct sl_command *c;
	struct sl_neighbours *unstored;
	struct sl_error err;
	if (!w->device && !strcmp(sl_wire_kind(m), "hello")) {
		on_hello(w, m->head);
	} else if (w->fetch && !strcmp(sl_wire_kind(m), "file")) {
		sl_fetch_arrived(w->fetch, m);
	} else if (w->device && sl_calls_take(w->calls, m)) {
		;
	} else if (w->device && !sl_command_of_message(m, &c, &unstored, &err)) {
		on_command(w, c, unstored);
	} else if (w->device) {
		sl_log_error("worker", "a message of the daemon cannot be used: %s", err.detail);
		_exit(1);
	}
	sl_wire_message_destroy(m);
}

/* The daemon has gone, and nothing here must be saved. */
static void on_ended(void *arg, const char *why)
{
	_exit(0);
}

static void on_beat(uv_timer_t *timer)
{
	struct worker *w = timer->data;
	if (w->leaving) {
		if (!sl_wire_waiting(w->wire))
			_exit(w->leaving - 1);
		return;
	}
	struct sl_wire_message *m = sl_wire_message_create("beat");
	if (m)
		json_object_set_new(m->head, "silent_s", json_real(w->device ? sl_device_silent_s(w->device) : 0));
	sl_wire_send(w->wire, m);
}

int sl_worker_main(void)
{
	static const struct sl_wire_ops ops = {.message = on_message, .ended = on_ended};
	struct worker w = {0};
	signal(SIGPIPE, SIG_IGN);
	signal(SIGINT, SIG_IGN);  /* the daemon ends its workers when it has saved their jobs */
	signal(SIGTERM, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	sl_log_init(SL_LOG_INFO);
	setenv("UV_THREADPOOL_SIZE", POOL, 0);
	if (uv_loop_init(&w.loop) || sl_wire_open(&w.wire, &w.loop, SL_WORKER_FD, &ops, &w))
		return 1;
	uv_timer_init(&w.loop, &w.beat);
	w.beat.data = &w;
	uv_timer_start(&w.beat, on_beat, BEAT_MS, BEAT_MS);
	uv_run(&w.loop, UV_RUN_DEFAULT);
	return 0;
}
