/* Runs an embedding through its phases.
 *
 * The engine runs iterations with fixed settings. This file divides the run into stretches, which end where something
 * changes or is measured: at the end of early exaggeration, at a trace point, at the end of the run, at the end of the
 * caller's slice. The division never changes the result: run(2) gives the same bytes as run(1), run(1). */
#include "core/embedding/embedding_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/graph/affinities.h"
#include "core/init/init.h"

/* ---- values in place of "auto" ------------------------------------------- */

/* In large layouts most forces act over long distances. A coarse grid computes these as well, and takes less time. */
#define DRAFT_NODES 100000

void sl_embedding_settings(const struct sl_params *p, uint32_t n, struct sl_settings *s)
{
	*s = (struct sl_settings){
		.dims = p->dims, .optimizer = p->optimizer, .accuracy = p->accuracy,
		.grid_side = p->grid_side, .repulsion = p->repulsion, .theta = p->theta, .dof = p->dof,
	};
	if (s->accuracy == SL_ACCURACY_AUTO)
		s->accuracy = p->dims == 3 || n > DRAFT_NODES ? SL_DRAFT : SL_NORMAL;
	if (p->grid_side)
		s->repulsion = SL_REPULSION_GRID;
}

bool sl__embedding_early(const struct sl_embedding *e)
{
	return e->iteration < sl__embedding_late_from(&e->params);
}

/* While exaggeration decays it changes every so many iterations: few changes make long stretches. */
#define DECAY_STEP 10

/* After early exaggeration the factor falls to late exaggeration by equal ratios. */
static double exaggeration_at(const struct sl_params *p, int iteration)
{
	int since = iteration - p->exaggeration_iterations, decay = p->exaggeration_decay;
	if (since < 0)
		return p->exaggeration;
	if (since >= decay || !(p->exaggeration > 0 && p->late_exaggeration > 0))
		return p->late_exaggeration;
	double part = (double)(since - since % DECAY_STEP + DECAY_STEP) / (decay + DECAY_STEP);
	return p->exaggeration * pow(p->late_exaggeration / p->exaggeration, part);
}

/* The layout settles in the last quarter of a run. */
static int settles_at(const struct sl_params *p) { return p->iterations - p->iterations / 4; }

/* Learning rate n / exaggeration: Belkina et al., Nature Communications 10, 5415 (2019). */
struct sl_step sl_embedding_step_at(const struct sl_params *requested, uint32_t n, int iteration)
{
	struct sl_params settled = *requested;
	const struct sl_params *p = &settled;
	sl_params_settle(&settled);
	bool exaggerated = iteration < p->exaggeration_iterations;
	double alpha = exaggeration_at(p, iteration);
	double divisor = p->learning_rate_rule == SL_RATE_EARLY ? p->exaggeration : alpha;
	double rate = p->learning_rate;
	if (rate == 0)
		rate = p->optimizer == SL_ADAM ? 0.5 : fmax(200, n / fmax(divisor, 1));
	return (struct sl_step){
		.exaggeration = (float)alpha, .learning_rate = (float)rate,
		.momentum = (float)(exaggerated ? p->early_momentum : p->momentum), .settle = iteration >= settles_at(p),
		.gains = p->gains, .gain_least = (float)p->gain_least, .gain_added = (float)p->gain_added,
		.rate_limit = p->rate_limit > 0 ? (float)p->rate_limit : INFINITY, .max_step = (float)p->max_step,
		.restart = iteration > 0 && iteration == p->exaggeration_iterations ? p->restart : SL_RESTART_NOTHING,
	};
}

int sl_embedding_step_until(const struct sl_params *p, int iteration)
{
	int until = p->iterations, scale_at = sl__embedding_scale_at(p), since = iteration - p->exaggeration_iterations;
	if (iteration < scale_at && scale_at < until)
		until = scale_at;
	if (iteration < settles_at(p) && settles_at(p) < until)
		until = settles_at(p);
	if (since < 0 && p->exaggeration_iterations < until)
		until = p->exaggeration_iterations;
	if (since >= 0 && since < p->exaggeration_decay) {
		int left = p->exaggeration_decay - since, step = DECAY_STEP - since % DECAY_STEP;
		int change = iteration + (step < left ? step : left);
		until = change < until ? change : until;
	}
	return until;
}

struct sl_step sl__embedding_step(const struct sl_embedding *e)
{
	struct sl_step step = sl_embedding_step_at(&e->params, e->affinities->n, e->iteration);
	float longest = (float)e->search.longest_step;
	if (longest > 0 && !(step.max_step > 0 && step.max_step < longest))
		step.max_step = longest;
	return step;
}

/* ---- life ------------------------------------------------------------------ */

/* Creates the device's embedding from e->layout. */
static int create_on_device(struct sl_embedding *e, struct sl_error *err)
{
	struct sl_settings settings;
	sl_embedding_settings(&e->params, e->affinities->n, &settings);
	return e->engine->embedding_create(e->graph, &settings, e->layout, &e->device, err);
}

/* In a short run the layout needs its iterations more after exaggeration than while it decays: on MNIST 440 iterations
 * end at 2.364 with 60 of decay, at 2.368 with 160, and take less time. */
#define LARGE_DECAY 60

/* On an engine for which large inputs are slow, "auto" is a budget. Who gives kl_tolerance asks for as many iterations
 * as pay. */
static struct sl_params limited(const struct sl_embedding *e, const struct sl_params *params)
{
	struct sl_params p = *params;
	if (!p.iterations && p.kl_tolerance < 0 && e->affinities->n > SL_EMBEDDING_LARGE) {
		p.iterations = e->engine->large_budget;
		if (!sl_params_budgeted(&p))
			p.iterations = 0;
		else if (p.iterations && p.exaggeration_decay < 0)
			p.exaggeration_decay = LARGE_DECAY;
	}
	return p;
}

int sl_embedding_create(struct sl_embedding **out, const struct sl_engine *engine,
			struct sl_device_graph *graph, const struct sl_affinities *a,
			const struct sl_params *params, const float *init, struct sl_error *err)
{
	int code = sl_params_check(params, err);
	if (code)
		return code;
	struct sl_embedding *e = calloc(1, sizeof *e);
	if (!e)
		return sl_error_memory(err, "an embedding");
	e->engine = engine;
	e->graph = graph;
	e->affinities = a;
	e->requested = limited(e, params);
	e->params = e->requested;
	sl_params_settle(&e->params);
	sl__embedding_growth_begin(e);
	e->best_kl = INFINITY;
	if (a->n == 0) {  /* no node has an edge: expand() places all nodes */
		e->stop = SL_STOP_ITERATIONS;
		*out = e;
		return 0;
	}
	e->layout = malloc(sizeof(float) * a->n * (size_t)params->dims);
	if (!e->layout) {
		code = sl_error_memory(err, "a layout of %u nodes", a->n);
		goto out;
	}
	enum sl_init start = sl_init_settled(params, a->axes != NULL);
	sl_init_random(params, a, e->layout);
	if (start == SL_INIT_SPECTRAL) {  /* readers see a random layout until it is computed */
		code = sl_init_spectral(&e->spectral, engine, graph, a, params, err);
		goto out;
	}
	if (start == SL_INIT_PCA)
		code = sl_init_pca(params, a, e->layout, err);
	else if (start == SL_INIT_GIVEN)
		code = sl_init_given(params, a, init, e->layout, err);
	if (!code)
		code = create_on_device(e, err);
out:
	if (code) {
		sl_embedding_destroy(e);
		return code;
	}
	*out = e;
	return 0;
}

void sl_embedding_destroy(struct sl_embedding *e)
{
	if (!e)
		return;
	sl_spectral_destroy(e->spectral);
	if (e->device)
		e->engine->embedding_destroy(e->device);
	free(e->trace);
	free(e->layout);
	free(e);
}

const struct sl_params *sl_embedding_params(const struct sl_embedding *e) { return &e->params; }

int sl_embedding_steer(struct sl_embedding *e, const struct sl_params *steered, struct sl_error *err)
{
	const struct sl_params asked = limited(e, steered), *params = &asked, *before = &e->requested;
	struct sl_params wanted = asked;
	sl_params_settle(&wanted);
	bool same_budget = params->iterations == before->iterations && sl_params_budgeted(params);
	if ((!params->iterations && !before->iterations) || same_budget)
		wanted.iterations = e->params.iterations;
	else if (!params->iterations && e->iteration >= wanted.iterations)
		wanted.iterations = sl__embedding_tenth_beyond(e->iteration);
	if (params->exaggeration_iterations < 0 && before->exaggeration_iterations < 0)
		wanted.exaggeration_iterations = e->params.exaggeration_iterations;
	if (params->exaggeration_decay < 0 && before->exaggeration_decay < 0)
		wanted.exaggeration_decay = e->params.exaggeration_decay;
	int code = sl_params_steer(&e->params, &wanted, err);
	if (code)
		return code;
	bool anew = params->iterations != before->iterations || params->rescale != before->rescale ||
		    params->exaggeration_iterations != before->exaggeration_iterations ||
		    params->exaggeration_decay != before->exaggeration_decay ||
		    params->kl_tolerance != before->kl_tolerance;
	e->requested = *params;
	if (anew)
		sl__embedding_growth_begin(e);
	if (e->stop == SL_STOP_ITERATIONS && e->iteration < e->params.iterations && e->device)
		e->stop = SL_STOP_NOT_YET;
	return 0;
}

/* ---- running ---------------------------------------------------------------- */

bool sl__embedding_trace_due(const struct sl_embedding *e)
{
	int interval = e->params.trace_interval;
	if (e->trace_count && e->trace[e->trace_count - 1].iteration == e->iteration)
		return false;
	/* only a search comes before the last iteration of a budget */
	bool before_last = e->requested.iterations && e->iteration == e->requested.iterations - 1;
	return (e->iteration >= e->params.iterations && !before_last) || e->stop ||
	       sl__embedding_held(e) || (interval > 0 && e->iteration > 0 && e->iteration % interval == 0);
}

static int trace_add(struct sl_embedding *e, const struct sl_measure *m, struct sl_error *err)
{
	if (e->trace_count == e->trace_room) {
		int room = e->trace_room ? 2 * e->trace_room : 32;
		struct sl_trace_point *grown = realloc(e->trace, (size_t)room * sizeof *grown);
		if (!grown)
			return sl_error_memory(err, "the trace");
		e->trace = grown;
		e->trace_room = room;
	}
	struct sl_step step = sl__embedding_step(e);
	struct sl_trace_point *t = &e->trace[e->trace_count++];
	*t = (struct sl_trace_point){
		.iteration = e->iteration, .seconds = e->seconds, .measure = m->kl,
		.gradient_norm = m->gradient_norm, .z = m->z, .h = m->h,
		.exaggeration = (double)step.exaggeration, .learning_rate = (double)step.learning_rate,
		.momentum = (double)step.momentum,
	};
	memcpy(t->low, m->low, sizeof t->low);
	memcpy(t->high, m->high, sizeof t->high);
	return 0;
}

/* A layout at rest may still have the wrong scale. So the run ends when it is at rest again after the search for the
 * scale. */
static void stop_or_rescale(struct sl_embedding *e, enum sl_stop stop)
{
	/* The run without this rule searches by its plan; the rule cuts the same run off, and never makes it longer. */
	bool planned = e->grows && e->requested.preset == SL_PRESET_DEFAULT && e->params.rescale > 0;
	if (planned && !e->search.done)
		return;
	if (e->params.rescale > 0 && !e->search.done)
		e->search.forced = true;
	else
		e->stop = stop;
}

static void apply_stop_rules(struct sl_embedding *e, const struct sl_measure *m)
{
	const struct sl_params *p = &e->params;
	double tolerance = p->kl_tolerance < 0 ? 1e-3 : p->kl_tolerance;
	if (sl__embedding_early(e))
		return;
	if (p->min_gradient_norm > 0 && m->gradient_norm < p->min_gradient_norm)
		stop_or_rescale(e, SL_STOP_GRADIENT);
	if (m->kl < e->best_kl * (1 - tolerance) || !isfinite(e->best_kl)) {
		e->best_kl = m->kl;
		e->best_iteration = e->iteration;
	} else if (p->kl_patience > 0 && e->iteration - e->best_iteration >= p->kl_patience) {
		stop_or_rescale(e, SL_STOP_KL);
	}
}

int sl__embedding_trace_take(struct sl_embedding *e, const struct sl_measure *m, struct sl_error *err)
{
	int interval = e->params.trace_interval, code = trace_add(e, m, err);
	/* a point that is measured only because the job pauses changes nothing of the run */
	bool regular = !sl__embedding_held(e) || (interval > 0 && e->iteration % interval == 0);
	if (!code && !e->stop && regular)
		apply_stop_rules(e, m);
	return code;
}

int sl__embedding_trace_now(struct sl_embedding *e, struct sl_error *err)
{
	struct sl_measure m;
	double began = sl_clock_s();
	int code = e->engine->measure(e->device, &m, err);
	e->seconds += sl_clock_s() - began;
	return code ? code : sl__embedding_trace_take(e, &m, err);
}

int sl__embedding_stretch(const struct sl_embedding *e, double left_ms)
{
	const struct sl_params *p = &e->params;
	int64_t k = sl_embedding_step_until(p, e->iteration) - e->iteration;
	if (e->check_at > e->iteration && e->check_at - e->iteration < k)
		k = e->check_at - e->iteration;
	if (p->trace_interval > 0 && p->trace_interval - e->iteration % p->trace_interval < k)
		k = p->trace_interval - e->iteration % p->trace_interval;
	if (p->pause_at > e->iteration && p->pause_at - e->iteration < k)
		k = p->pause_at - e->iteration;
	double fit = e->seconds_per_iteration > 0 ? left_ms * 1e-3 / e->seconds_per_iteration : 1;
	if (fit < 1)
		fit = 1;
	return (double)k < fit ? (int)k : (int)fit;
}

void sl__embedding_account(struct sl_embedding *e, int k, double took)
{
	e->iteration += k;
	e->seconds += took;
	double each = took / k;
	e->seconds_per_iteration = e->seconds_per_iteration > 0 ? 0.5 * (e->seconds_per_iteration + each) : each;
	if (e->params.max_seconds > 0 && e->seconds >= e->params.max_seconds)
		e->stop = SL_STOP_TIME;
}

static int run_stretch(struct sl_embedding *e, int k, struct sl_error *err)
{
	struct sl_step step = sl__embedding_step(e);
	double began = sl_clock_s();
	int code = e->engine->run(e->device, &step, k, err);
	if (!code)
		sl__embedding_account(e, k, sl_clock_s() - began);
	return code;
}

/* Computes a part of the spectral initial layout; at its end, creates the embedding on the device. */
static int start_spectral(struct sl_embedding *e, double left_ms, struct sl_error *err)
{
	bool done;
	double began = sl_clock_s();
	int code = sl_spectral_advance(e->spectral, left_ms, &done, err);
	if (!code && done) {
		code = sl_init_spectral_layout(e->spectral, &e->params, e->affinities, e->layout, err);
		sl_spectral_destroy(e->spectral);
		e->spectral = NULL;
		if (!code)
			code = create_on_device(e, err);
	}
	e->seconds += sl_clock_s() - began;
	return code;
}

void sl__embedding_report(struct sl_embedding *e, struct sl_status *s)
{
	const struct sl_trace_point *last = e->trace_count ? &e->trace[e->trace_count - 1] : NULL;
	int iterations = e->requested.iterations ? e->requested.iterations : e->params.iterations;
	*s = (struct sl_status){
		.iteration = e->iteration, .iterations = iterations, .seconds = e->seconds,
		.measure = last ? last->measure : NAN, .gradient_norm = last ? last->gradient_norm : NAN,
		.held = sl__embedding_held(e), .done = e->stop != SL_STOP_NOT_YET, .stop = e->stop,
	};
	if (s->held)
		e->held_at = e->iteration;
}

int sl_embedding_advance(struct sl_embedding *e, double slice_ms, struct sl_status *status, struct sl_error *err)
{
	int code = 0;
	double began = sl_clock_s();
	while (!e->stop && !code && !sl__embedding_held(e)) {
		double left_ms = slice_ms - 1e3 * (sl_clock_s() - began);
		if (e->spectral)
			code = start_spectral(e, left_ms, err);
		else if (e->iteration >= e->params.iterations)
			sl__embedding_plan_end(e);
		else if (sl__embedding_check_due(e))
			code = sl__embedding_check(e, err);
		else if (sl__embedding_scale_due(e))
			code = sl__embedding_scale_step(e, err);
		else
			code = run_stretch(e, sl__embedding_stretch(e, left_ms), err);
		if (!code && e->device && sl__embedding_trace_due(e))
			code = sl__embedding_trace_now(e, err);
		if (1e3 * (sl_clock_s() - began) >= slice_ms)
			break;
	}
	if (!code && !e->stop && e->iteration >= e->params.iterations)
		sl__embedding_plan_end(e);
	if (status)
		sl__embedding_report(e, status);
	return code;
}

int sl_embedding_stop(struct sl_embedding *e, struct sl_status *status, struct sl_error *err)
{
	e->params.pause_at = 0;   /* it is to end */
	if (!e->stop)
		e->stop = SL_STOP_ASKED;
	int code = e->device && sl__embedding_trace_due(e) ? sl__embedding_trace_now(e, err) : 0;
	sl__embedding_report(e, status);
	return code;
}

int sl_embedding_layout(struct sl_embedding *e, float *y, struct sl_error *err)
{
	int code = e->device ? e->engine->snapshot(e->device, e->layout, err) : 0;
	if (!code)
		sl_affinities_expand(e->affinities, e->params.dims, e->layout, y);
	return code;
}

const struct sl_trace_point *sl_embedding_trace(const struct sl_embedding *e, int *count)
{
	*count = e->trace_count;
	return e->trace;
}

/* ---- checkpoints -------------------------------------------------------------- */

#define STATE_MAGIC 0x37545653u  /* "SVT7" */

struct state_header {
	uint32_t magic, n;
	uint64_t m, device_bytes;
	struct sl_params params, requested;
	int32_t iteration, trace_count, best_iteration, stop;
	int32_t grows, early_grows, check_at, most;
	double seconds, best_kl, plan_kl, check_kl;
	struct sl__scale_search search;
	char engine[16];
};

int sl_embedding_save(struct sl_embedding *e, void **out, uint64_t *bytes, struct sl_error *err)
{
	struct state_header h;
	memset(&h, 0, sizeof h);
	h.magic = STATE_MAGIC;
	h.n = e->affinities->n;
	h.m = e->affinities->m;
	h.device_bytes = e->device ? e->engine->state_bytes(e->device) : 0;
	h.params = e->params;
	h.requested = e->requested;
	h.iteration = e->iteration;
	h.trace_count = e->trace_count;
	h.best_iteration = e->best_iteration;
	h.stop = e->stop;
	h.grows = e->grows;
	h.early_grows = e->early_grows;
	h.check_at = e->check_at;
	h.most = e->most_iterations;
	h.check_kl = e->check_kl;
	h.seconds = e->seconds;
	h.best_kl = e->best_kl;
	h.plan_kl = e->plan_kl;
	h.search = e->search;
	strncpy(h.engine, e->engine->name, sizeof h.engine - 1);

	size_t trace_bytes = (size_t)e->trace_count * sizeof *e->trace;
	*bytes = sizeof h + trace_bytes + h.device_bytes;
	char *blob = malloc(*bytes);
	if (!blob)
		return sl_error_memory(err, "a checkpoint of %llu bytes", (unsigned long long)*bytes);
	memcpy(blob, &h, sizeof h);
	if (trace_bytes)
		memcpy(blob + sizeof h, e->trace, trace_bytes);
	int code = e->device ? e->engine->state_save(e->device, blob + sizeof h + trace_bytes, err) : 0;
	if (code) {
		free(blob);
		return code;
	}
	*out = blob;
	return 0;
}

/* Steerable parameters may differ from those of the job, within their ranges. */
static bool params_fit(const struct sl_params *saved, const struct sl_params *own)
{
	return sl_param_same_run(&sl_tsne_table, saved, own) && !sl_param_check(&sl_tsne_table, saved, NULL);
}

/* A checkpoint may come from a worker that need not be ours: its numbers are used as indices and counts. */
static bool header_fits(const struct sl_embedding *e, const struct state_header *h)
{
	const struct sl__scale_search *s = &h->search;
	const int32_t flags[] = {h->grows, h->early_grows, s->forced, s->done, s->again};
	const int32_t counts[] = {h->iteration, h->trace_count, h->best_iteration, h->check_at, h->most};
	bool fits = h->magic == STATE_MAGIC && h->n == e->affinities->n && h->m == e->affinities->m &&
		    !strncmp(h->engine, e->engine->name, sizeof h->engine) &&
		    params_fit(&h->requested, &e->requested) && params_fit(&h->params, &e->params) &&
		    h->stop >= SL_STOP_NOT_YET && h->stop <= SL_STOP_CONVERGED && s->count >= 0 &&
		    s->count <= SL__SCALES_MAX && h->seconds >= 0;
	for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
		fits = fits && (flags[i] == 0 || flags[i] == 1);
	for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
		fits = fits && counts[i] >= 0;
	return fits;
}

int sl_embedding_load(struct sl_embedding *e, const void *state, uint64_t bytes, struct sl_error *err)
{
	struct state_header h;
	const char *at = state;
	if (bytes < sizeof h)
		return sl_error_set(err, SL_BADDATA, "The checkpoint ends too early.");
	memcpy(&h, at, sizeof h);
	if (!header_fits(e, &h))
		return sl_error_set(err, SL_BADDATA, "The checkpoint belongs to another graph, job or engine.");
	size_t trace_bytes = (size_t)h.trace_count * sizeof *e->trace;
	if (bytes - sizeof h < trace_bytes || bytes - sizeof h - trace_bytes != h.device_bytes)
		return sl_error_set(err, SL_BADDATA, "The checkpoint ends too early.");
	if (e->spectral && !h.device_bytes)
		return 0;  /* saved before the initial layout was complete; it is computed again */
	struct sl_trace_point *trace = malloc(trace_bytes ? trace_bytes : 1);
	if (!trace)
		return sl_error_memory(err, "the trace");
	memcpy(trace, at + sizeof h, trace_bytes);
	int code = 0;
	if (e->spectral) {
		sl_spectral_destroy(e->spectral);
		e->spectral = NULL;
		code = create_on_device(e, err);
	}
	if (!code)
		code = e->device ?
			       e->engine->state_load(e->device, at + sizeof h + trace_bytes, h.device_bytes, err) : 0;
	if (code) {
		free(trace);
		return code;
	}
	free(e->trace);
	e->trace = trace;
	e->trace_count = e->trace_room = h.trace_count;
	e->params = h.params;
	e->requested = h.requested;
	e->grows = h.grows;
	e->early_grows = h.early_grows;
	e->check_at = h.check_at;
	e->most_iterations = h.most;
	e->check_kl = h.check_kl;
	e->iteration = e->held_at = h.iteration;
	e->best_iteration = h.best_iteration;
	e->stop = (enum sl_stop)h.stop;
	e->seconds = h.seconds;
	e->best_kl = h.best_kl;
	e->plan_kl = h.plan_kl;
	e->search = h.search;
	return 0;
}
