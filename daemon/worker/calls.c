/* The worker's side of calls: a search, or a pass over points, runs on the thread pool, beside the device's thread.
 * What a call leaves here stays in its record until the daemon ends it. */
#include "daemon/worker/calls.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/engine/engine.h"
#include "core/neighbours/neighbours.h"
#include "core/points/points.h"
#include "daemon/util/crashes.h"
#include "daemon/util/pool.h"
#include "daemon/worker/codec.h"
#include "daemon/worker/inputs.h"

#define SHARE 10000      /* progress is told in parts of the work as small as this */

enum what { FIND, POINTS, MEAN, COVARIANCE, APPLY, PROJECT, WHATS };
static const char *const what_names[WHATS] = {"find", "points", "mean", "covariance", "apply", "project"};

struct call {
	struct sl_link link;
	struct sl_calls *of;
	uint64_t number;
	enum what what;
	bool running, ended;
	int cancel;                       /* read by the pool */
	int share, told;                  /* progress in parts of SHARE; share: written by the pool */
	/* find */
	char graph[SL_ULID_BYTES];
	uint64_t key;
	struct sl_neighbours_params params;
	struct sl_worker_input *points_input;
	struct sl_worker_input *found;    /* a reference, until the end */
	struct sl_neighbours *result;     /* of the pool; then it is found's */
	double seconds;
	/* points */
	struct sl_points *points;
	struct sl_points_passes passes;
	bool open;
	/* a pass */
	struct call *session;
	double *in, *mean;
	uint32_t width;
	void *out;
	uint64_t out_bytes;
	double total;
	/* the pool */
	struct sl_pool_place work;
	int code;
	struct sl_error err;
};

struct sl_calls {
	uv_loop_t *loop;
	struct sl_wire *wire;
	struct sl_inputs *inputs;
	struct sl_device_config config;
	void (*lost)(void *arg);
	void *arg;
	uv_async_t progressed;
	struct sl_list calls;
};

static struct call *find_call(const struct sl_calls *c, uint64_t number)
{
	return SL_LIST_FIND(struct call, x, &c->calls, link, x->number == number);
}

static void call_free(struct call *x)
{
	sl_list_unlink(&x->link);
	if (x->open)
		x->passes.close(x->passes.arg);
	sl_inputs_release(x->of->inputs, x->points_input);
	sl_inputs_release(x->of->inputs, x->found);
	sl_neighbours_destroy(x->result);
	sl_points_destroy(x->points);
	free(x->in);
	free(x->mean);
	free(x->out);
	free(x);
}

/* ---- answers ---------------------------------------------------------------------------------------- */

static struct sl_wire_message *answer_of(const struct call *x, const struct sl_error *err)
{
	struct sl_wire_message *m = sl_wire_message_create("answer");
	if (m && !json_object_update_new(m->head, json_pack("{s:I, s:o}", "call", (json_int_t)x->number, "error",
							    err ? sl_wire_error(err) : json_null())))
		return m;
	sl_wire_message_destroy(m);
	return NULL;
}

/* A message that borrows found neighbours holds a reference to them. */
struct borrowed {
	struct sl_inputs *inputs;
	struct sl_worker_input *input;
};

static void give_back(void *arg)
{
	struct borrowed *b = arg;
	sl_inputs_release(b->inputs, b->input);
	free(b);
}

static bool put_found(struct sl_wire_message *m, struct call *x)
{
	const struct sl_neighbours *nb = x->found->neighbours;
	struct borrowed *b = malloc(sizeof *b);
	uint64_t values = (uint64_t)nb->n * nb->k;
	if (!b)
		return false;
	*b = (struct borrowed){.inputs = x->of->inputs, .input = sl_inputs_share(x->of->inputs, x->found)};
	m->released = give_back;
	m->released_arg = b;
	sl_wire_put_borrowed(m, "index", nb->index, values * sizeof *nb->index);
	sl_wire_put_borrowed(m, "distance", nb->distance, values * sizeof *nb->distance);
	sl_wire_put_borrowed(m, "axes", nb->axes, (uint64_t)nb->n * SL_AXES * sizeof *nb->axes);
	return !json_object_update_new(m->head, json_pack("{s:s, s:I, s:o, s:o}", "method", nb->method, "k",
							  (json_int_t)nb->k, "recall", sl_wire_real(nb->recall), "seconds",
							  sl_wire_real(x->seconds)));
}

static void send_answer(struct call *x)
{
	struct sl_wire_message *m = answer_of(x, x->code ? &x->err : NULL);
	bool good = m != NULL;
	if (good && !x->code && x->what == FIND) {
		good = put_found(m, x);
	} else if (good && !x->code && x->out) {
		sl_wire_put(m, "values", x->out, x->out_bytes);
		x->out = NULL;
		good = !json_object_set_new(m->head, "total", sl_wire_real(x->total));
	}
	if (!good) {
		sl_wire_message_destroy(m);
		m = NULL;
	}
	sl_wire_send(x->of->wire, m);
}

/* The call has been computed, or was ended meanwhile: in either case the daemon gets an answer. */
static void finished(struct call *x)
{
	struct sl_calls *c = x->of;
	bool stays = !x->code && !x->ended && (x->what == FIND || x->what == POINTS), lost = x->code == SL_DEVLOST;
	x->running = false;
	if (x->session)
		x->session->running = false;
	if (x->session && x->session->ended)
		call_free(x->session);
	if (x->ended && !x->code)
		x->code = sl_error_set(&x->err, SL_CANCELLED, "The call was ended.");
	send_answer(x);
	if (!stays)
		call_free(x);
	if (lost)
		c->lost(c->arg);
}

static void fail(struct call *x, const struct sl_error *err)
{
	x->code = err->code;
	x->err = *err;
	finished(x);
}

/* ---- searches --------------------------------------------------------------------------------------- */

static void on_progress(void *arg, double share)
{
	struct call *x = arg;
	__atomic_store_n(&x->share, (int)(SHARE * (share < 0 ? 0 : share > 1 ? 1 : share)), __ATOMIC_RELAXED);
	uv_async_send(&x->of->progressed);
}

static void on_progressed(uv_async_t *async)
{
	struct sl_calls *c = async->data;
	SL_LIST_EACH(struct call, x, &c->calls, link) {
		int share = __atomic_load_n(&x->share, __ATOMIC_RELAXED);
		struct sl_wire_message *m = x->running && share != x->told ? sl_wire_message_create("answer") : NULL;
		x->told = share;
		if (!m)
			continue;
		json_object_update_new(m->head, json_pack("{s:I, s:f}", "call", (json_int_t)x->number, "share",
							  (double)share / SHARE));
		sl_wire_send(c->wire, m);
	}
}

static double now_s(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Pool. What the engine cannot do, the daemon does. */
static void find_work(void *arg)
{
	struct call *x = arg;
	const struct sl_device_config *c = &x->of->config;
	const struct sl_points *view, *points = x->points_input->points;
	double start = now_s();
	sl_crashes_computes(x->graph);
	int refused = sl_distance_points(&view, points, x->params.metric, &x->err);
	x->code = refused;
	if (!refused && !c->engine->neighbours_find)
		x->code = sl_error_set(&x->err, SL_BADPARAM, "Engine %s does not search neighbours.", c->engine->name);
	if (!x->code)
		x->code = sl_neighbours_check(view, &x->params, &x->err);
	if (!x->code)
		x->code = c->engine->neighbours_find(c->options.index, c->options.memory_bytes, view, &x->params, &x->result,
						     &x->err);
	if (!x->code)
		x->code = sl_neighbours_axes(x->result, points, &x->cancel, &x->err);
	if (!refused)
		sl_points_uncentred_end(view, points);
	x->seconds = now_s() - start;
	sl_crashes_computes(NULL);
}

static void find_done(void *arg)
{
	struct call *x = arg;
	sl_inputs_release(x->of->inputs, x->points_input);
	x->points_input = NULL;
	if (!x->code && !(x->found = sl_inputs_give(x->of->inputs, x->result, x->key)))
		x->code = sl_error_memory(&x->err, "the neighbours");
	if (!x->code || x->found)
		x->result = NULL;
	finished(x);
}

static void points_ready(void *arg, struct sl_worker_input *input, const struct sl_error *err)
{
	struct call *x = arg;
	if (!input) {
		fail(x, err);
		return;
	}
	x->points_input = input;
	sl_pool_run_in(&x->work, x->of->loop, find_work, find_done, x);
}

static void begin_find(struct call *x, const json_t *head)
{
	const char *graph = json_string_value(json_object_get(head, "graph"));
	const char *file = json_string_value(json_object_get(head, "file"));
	snprintf(x->graph, sizeof x->graph, "%s", graph ? graph : "");
	x->key = (uint64_t)json_integer_value(json_object_get(head, "key"));
	x->params = (struct sl_neighbours_params){
		.k = (uint32_t)json_integer_value(json_object_get(head, "k")),
		.metric = (int)json_integer_value(json_object_get(head, "metric")),
		.p = sl_wire_real_value(json_object_get(head, "p")),
		.recall = sl_wire_real_value(json_object_get(head, "recall")), .gpus = x->of->config.options.gpus,
		.cancel = &x->cancel, .progress = on_progress, .arg = x,
	};
	const struct sl_input_name name = {.kind = SL_INPUT_POINTS, .path = file ? file : "", .job = x->graph};
	sl_inputs_get(x->of->inputs, &name, points_ready, x);
}

/* ---- principal axes --------------------------------------------------------------------------------- */

static void points_work(void *arg)
{
	struct call *x = arg;
	const struct sl_device_config *c = &x->of->config;
	if (!c->engine->points_passes) {
		x->code = sl_error_set(&x->err, SL_NODEVICE, "Engine %s has no passes over points.", c->engine->name);
		return;
	}
	x->code = c->engine->points_passes(c->options.index, c->options.memory_bytes, x->points, &x->cancel, &x->passes,
					   &x->err);
	x->open = !x->code;
}

static void pass_work(void *arg)
{
	struct call *x = arg;
	const struct sl_points_passes *p = &x->session->passes;
	const struct sl_points *points = x->session->points;
	struct sl_pca pca = {.from = points->d, .to = x->width, .kept = points->d, .mean = x->mean, .axis = x->in};
	switch (x->what) {
	case MEAN: x->code = p->mean(p->arg, x->out, &x->err); break;
	case COVARIANCE: x->code = p->covariance(p->arg, x->out, &x->err); break;
	case APPLY: x->code = p->apply(p->arg, x->in, x->width, x->out, &x->total, &x->err); break;
	default: x->code = p->project(p->arg, &pca, x->out, &x->err); break;
	}
}

static void work_done(void *arg)
{
	finished(arg);
}

static void begin_points(struct call *x, struct sl_wire_message *m)
{
	struct sl_error err;
	struct sl_points *p = x->points = calloc(1, sizeof *p);
	if (!p) {
		sl_error_memory(&err, "points");
		fail(x, &err);
		return;
	}
	p->n = p->n_user = (uint32_t)json_integer_value(json_object_get(m->head, "n"));
	p->d = (uint32_t)json_integer_value(json_object_get(m->head, "d"));
	p->type = json_is_true(json_object_get(m->head, "bytes")) ? SL_POINTS_U8 : SL_POINTS_F32;
	p->value = sl_wire_take(m, "values", (uint64_t)p->n * p->d * (p->type == SL_POINTS_U8 ? 1 : sizeof(float)));
	if (!p->value) {
		sl_error_set(&err, SL_BADDATA, "The points have another size.");
		fail(x, &err);
		return;
	}
	sl_pool_run_in(&x->work, x->of->loop, points_work, work_done, x);
}

/* The most of everything is what the daemon's own memory has held, since it is checked there: see sl__check_axes(). */
static bool take_pass(struct call *x, struct sl_wire_message *m)
{
	uint64_t n = x->session->points->n, d = x->session->points->d;
	json_int_t width = json_integer_value(json_object_get(m->head, "width"));
	bool wide = x->what == APPLY || x->what == PROJECT;
	if (wide && (width <= 0 || (uint64_t)width > d))
		return false;
	x->width = (uint32_t)width;
	x->in = wide ? sl_wire_take(m, "values", d * x->width * sizeof(double)) : NULL;
	x->mean = x->what == PROJECT ? sl_wire_take(m, "mean", d * sizeof(double)) : NULL;
	x->out_bytes = x->what == MEAN ? d * sizeof(double) : x->what == COVARIANCE ? d * d * sizeof(double) :
		       x->what == APPLY ? d * x->width * sizeof(double) : n * x->width * sizeof(float);
	x->out = malloc(x->out_bytes + 1);
	return x->out && (!wide || x->in) && (x->what != PROJECT || x->mean);
}

static void begin_pass(struct call *x, struct sl_wire_message *m)
{
	struct sl_error err;
	struct call *session = find_call(x->of, (uint64_t)json_integer_value(json_object_get(m->head, "of")));
	if (!session || session == x || !session->open || session->running) {
		sl_error_set(&err, SL_CONFLICT, "These points are not open.");
		fail(x, &err);
		return;
	}
	x->session = session;
	session->running = true;
	if (!take_pass(x, m)) {
		sl_error_set(&err, SL_BADDATA, "The pass has another size, or there is no memory for it.");
		fail(x, &err);
		return;
	}
	sl_pool_run_in(&x->work, x->of->loop, pass_work, work_done, x);
}

/* ---- messages --------------------------------------------------------------------------------------- */

static void on_call(struct sl_calls *c, struct sl_wire_message *m)
{
	const char *what = json_string_value(json_object_get(m->head, "what"));
	struct call *x = calloc(1, sizeof *x);
	struct sl_error err;
	if (!x)
		_exit(1);  /* no memory: the daemon starts another worker */
	x->of = c;
	x->number = (uint64_t)json_integer_value(json_object_get(m->head, "call"));
	x->running = true;
	sl_list_append(&c->calls, &x->link);
	while (x->what < WHATS && (!what || strcmp(what, what_names[x->what])))
		x->what++;
	if (x->what == FIND) {
		begin_find(x, m->head);
	} else if (x->what == POINTS) {
		begin_points(x, m);
	} else if (x->what < WHATS) {
		begin_pass(x, m);
	} else {
		sl_error_set(&err, SL_BADPARAM, "There is no call \"%.40s\".", what ? what : "");
		fail(x, &err);
	}
}

/* What runs is freed when its answer has been sent. */
static void on_end(struct sl_calls *c, const json_t *head)
{
	struct call *x = find_call(c, (uint64_t)json_integer_value(json_object_get(head, "call")));
	if (!x)
		return;
	x->ended = true;
	__atomic_store_n(&x->cancel, 1, __ATOMIC_RELAXED);
	if (!x->running)
		call_free(x);
}

bool sl_calls_take(struct sl_calls *c, struct sl_wire_message *m)
{
	if (!strcmp(sl_wire_kind(m), "call"))
		on_call(c, m);
	else if (!strcmp(sl_wire_kind(m), "end"))
		on_end(c, m->head);
	else
		return false;
	return true;
}

struct sl_calls *sl_calls_create(uv_loop_t *loop, struct sl_wire *wire, struct sl_inputs *inputs,
				 const struct sl_device_config *config, void (*lost)(void *arg), void *arg)
{
	struct sl_calls *c = calloc(1, sizeof *c);
	if (!c || uv_async_init(loop, &c->progressed, on_progressed)) {
		free(c);
		return NULL;
	}
	c->loop = loop;
	c->wire = wire;
	c->inputs = inputs;
	c->config = *config;
	c->lost = lost;
	c->arg = arg;
	c->progressed.data = c;
	return c;
}
