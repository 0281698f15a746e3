/* A run is a sequence of time steps, each a sequence of passes over blocks of rows (signal_internal.h). */
#include "core/signal/signal.h"

#include <math.h>
#include <stdlib.h>

#include "core/clock.h"
#include "core/signal/signal_internal.h"

#define FIRST_BLOCKS 16  /* blocks of the first call */
#define THREADS_FROM 24  /* with fewer blocks, of 5 to 20 us each, starting threads takes longer */
#define NEARLY 1e-9      /* a remaining time below this, in steps, is not a step of its own */

/* ---- life ------------------------------------------------------------------------------ */

static void give_up(double **array)
{
	free(*array);
	*array = NULL;
}

void sl__signal_free_scratch(struct sl_signal *s)
{
	for (int f = 0; f < SL_SIGNAL_FIELDS; f++) {
		give_up(&s->at[0][f]);
		give_up(&s->at[1][f]);
		for (int k = 0; k < SL__SIGNAL_STAGES; k++)
			give_up(&s->slope[k][f]);
	}
	give_up(&s->known);
	give_up(&s->r);
	give_up(&s->p);
	give_up(&s->q);
}

void sl_signal_destroy(struct sl_signal *s)
{
	if (!s)
		return;
	if (s->passes.arg)
		s->passes.close(s->passes.arg);
	sl__signal_free_scratch(s);
	for (int f = 0; f < SL_SIGNAL_FIELDS; f++)
		free(s->y[f]);
	for (int k = 0; k < 3; k++)
		free(s->sum[k]);
	free(s->restart);
	free(s->stimulated);
	free(s->snapshot);
	free(s->snapshot_time);
	sl_coupling_destroy(s->c);
	free(s);
}

static const struct sl__integrator *integrator_of(const struct sl_signal_params *p)
{
	if (p->model == SL_SIGNAL_PAGERANK)
		return &sl__signal_rank;
	if (p->model == SL_SIGNAL_SIR_CHANCE)
		return &sl__signal_chance;
	return p->integrator == SL_SIGNAL_CRANK_NICOLSON ? &sl__signal_implicit : &sl__signal_explicit;
}

static int make_arrays(struct sl_signal *s)
{
	for (int f = 0; f < s->fields; f++)
		if (!(s->y[f] = sl__signal_array(s)))
			return SL_NOMEM;
	for (int k = 0; k < 3; k++)
		if (!(s->sum[k] = calloc((size_t)s->c->blocks + 1, sizeof *s->sum[k])))
			return SL_NOMEM;
	s->snapshot = malloc((size_t)s->params.snapshots * s->n * (size_t)s->fields * sizeof *s->snapshot + 1);
	s->snapshot_time = malloc((size_t)s->params.snapshots * sizeof *s->snapshot_time + 1);
	return s->snapshot && s->snapshot_time ? s->integrator->prepare(s) : SL_NOMEM;
}

/* Sets the length of steps from the parameters. A given length must be stable. */
static int set_step(struct sl_signal *s, struct sl_error *err)
{
	const struct sl_signal_params *p = &s->params;
	double max = sl__signal_stable(s);
	s->h = p->step > 0 ? p->step : sl__signal_step(s);
	if (!(p->step > max) || (s->tableau && s->tableau->adaptive))
		return 0;
	return sl_error_field(err, SL_BADPARAM, "/step", "step is %g; on this graph, whose nodes change at a rate of up "
			"to %g, the integrator is stable for steps of at most %.4g. Use a smaller step, auto, laplacian "
			"random_walk or integrator crank_nicolson.", p->step, s->tableau->real / max, max);
}

int sl_signal_create(struct sl_signal **out, struct sl_coupling *coupling, const struct sl_signal_params *params,
		     const float *initial, uint32_t columns, struct sl_error *err)
{
	int code = sl_signal_check(params, coupling->n, initial ? columns : 0, err);
	if (code)
		return code;
	struct sl_signal *s = calloc(1, sizeof *s);
	if (!s)
		return sl_error_memory(err, "signals");
	s->c = coupling;
	s->params = *params;
	s->n = coupling->n;
	s->fields = sl_signal_fields(params);
	s->integrator = integrator_of(params);
	s->tableau = s->integrator == &sl__signal_explicit ? &sl__signal_tableaus[params->integrator] : NULL;
	s->change = NAN;
	code = make_arrays(s);
	if (code)
		sl_error_memory(err, "signals at %u nodes", s->n);
	else
		code = sl__signal_begin(s, initial, err);
	if (!code)
		code = set_step(s, err);
	if (code) {
		s->c = NULL;
		sl_signal_destroy(s);
		return code;
	}
	*out = s;
	return 0;
}

/* ---- steps ----------------------------------------------------------------------------- */

/* The next time at which a step must end. */
static double next_stop(const struct sl_signal *s)
{
	const struct sl_signal_params *p = &s->params;
	double next = p->duration, begins = p->stimulus_start, ends = begins + p->stimulus_duration;
	if (s->stimulated && begins > s->time && begins < next)
		next = begins;
	if (s->stimulated && ends > s->time && ends < next)
		next = ends;
	if (s->recorded < p->snapshots && sl__signal_moment(s, s->recorded + 1) < next)
		next = sl__signal_moment(s, s->recorded + 1);
	return next;
}

static bool same_rates(const struct sl__rates *a, const struct sl__rates *b)
{
	return a->diffusion == b->diffusion && a->a == b->a && a->b == b->b && a->epsilon == b->epsilon &&
	       a->current == b->current && a->infection == b->infection && a->recovery == b->recovery &&
	       a->stimulus == b->stimulus;
}

void sl__signal_begin_step(struct sl_signal *s)
{
	const struct sl_signal_params *p = &s->params;
	struct sl__rates rates;
	sl__signal_rates(p, &rates);
	if (s->stimulated && s->time >= p->stimulus_start && s->time < p->stimulus_start + p->stimulus_duration)
		rates.stimulus = p->stimulus_amplitude;
	if (!same_rates(&rates, &s->rates) && p->model != SL_SIGNAL_PAGERANK)
		s->first_known = false;
	s->rates = rates;
	double next = next_stop(s);
	s->stops = p->model != SL_SIGNAL_PAGERANK && s->time + s->h * (1 + NEARLY) >= next;
	s->stop_at = next;
	s->now_h = s->stops ? next - s->time : s->h;
	s->block = 0;
	s->stepping = true;
	s->stepped = false;
	if (!s->passes.arg)
		s->integrator->begin(s);
}

int sl__signal_equal_steps(const struct sl_signal *s, int max_steps)
{
	double next = next_stop(s), time = s->time + s->now_h;
	int count = 1;
	max_steps = max_steps < s->params.iterations - s->step ? max_steps : s->params.iterations - s->step;
	for (; count < max_steps && !s->stops && time + s->h * (1 + NEARLY) < next; count++)
		time += s->now_h;
	return count;
}

static void record(struct sl_signal *s)
{
	while (s->recorded < s->params.snapshots && s->time >= sl__signal_moment(s, s->recorded + 1)) {
		s->snapshot_time[s->recorded] = (float)s->time;
		sl_signal_values(s, s->snapshot + (size_t)s->recorded * s->n * (size_t)s->fields);
		s->recorded++;
	}
}

void sl__signal_end_step(struct sl_signal *s)
{
	const struct sl_signal_params *p = &s->params;
	s->stepping = false;
	s->step++;
	if (p->model == SL_SIGNAL_PAGERANK) {
		s->time = s->step;
		s->done = s->converged || s->step >= p->iterations;
		return;
	}
	s->time = s->stops ? s->stop_at : s->time + s->now_h;
	record(s);
	s->done = s->time >= p->duration || s->step >= p->iterations;
}

static void run_blocks(struct sl_signal *s, uint32_t from, uint32_t to)
{
	if (to - from < THREADS_FROM) {
		for (uint32_t b = from; b < to; b++)
			s->integrator->pass(s, b);
		return;
	}
#pragma omp parallel for schedule(dynamic, 4)
	for (uint32_t b = from; b < to; b++)
		s->integrator->pass(s, b);
}

/* The end of a range of blocks that takes about ms milliseconds. */
static uint32_t chunk_end(const struct sl_signal *s, double ms)
{
	uint32_t left = s->c->blocks - s->block;
	double count = s->block_ms > 0 ? ms / s->block_ms : FIRST_BLOCKS;
	return s->block + (count >= left ? left : count > 1 ? (uint32_t)count : 1);
}

static void tell(const struct sl_signal *s, struct sl_signal_status *status)
{
	const struct sl_signal_params *p = &s->params;
	double left = p->model == SL_SIGNAL_PAGERANK ? p->iterations : fmax(p->duration - s->time, 0) / s->h;
	left = fmin(ceil(left * (1 - NEARLY)), (double)p->iterations - s->step);
	if (p->model == SL_SIGNAL_PAGERANK && p->damping > 0)  /* each iteration multiplies the change by the damping */
		left = fmin(left, fmax(ceil(log(p->tolerance / fmax(isnan(s->change) ? 2 : s->change,
				1e-300)) / log(p->damping)), 1));
	*status = (struct sl_signal_status){
		.step = s->step, .steps = s->done ? s->step : s->step + (left > 1 ? (int)left : 1), .time = s->time, .h = s->h,
		.converged = s->converged, .done = s->done,
	};
}

int sl_signal_advance(struct sl_signal *s, double ms, bool *ended, struct sl_signal_status *status,
		struct sl_error *err)
{
	int code = 0;
	*ended = false;
	if (s->passes.arg && !s->done && ms > 0) {
		code = sl__signal_device_advance(s, ms, err);
		*ended = !code;
		tell(s, status);
		return code;
	}
	while (!code && !s->done && !*ended && ms > 0) {
		double began = sl_clock_ms();
		if (!s->stepping)
			sl__signal_begin_step(s);
		uint32_t from = s->block, to = chunk_end(s, ms);
		run_blocks(s, from, to);
		s->block = to;
		if (to == s->c->blocks) {
			s->block = 0;
			code = s->integrator->passed(s, err);
			*ended = s->stepped;
		}
		if (!code && *ended)
			sl__signal_end_step(s);
		double took = sl_clock_ms() - began;
		s->block_ms = took / (to - from);
		ms -= took;
	}
	tell(s, status);
	return code;
}

void sl_signal_pause_at(struct sl_signal *s, int step)
{
	s->pause_at = step;
}

void sl_signal_stop(struct sl_signal *s, struct sl_signal_status *status)
{
	s->stepping = false;
	s->first_known = false;
	s->done = true;
	tell(s, status);
}

void sl_signal_steer(struct sl_signal *s, const struct sl_signal_params *params)
{
	for (int i = 0; i < sl_signal_table.count; i++)
		if (sl_signal_table.param[i].steerable)
			sl_param_copy(&sl_signal_table.param[i], &s->params, params);
	bool adaptive = s->tableau && s->tableau->adaptive;
	double max = 0.95 * sl__signal_stable(s);  /* a change of parameters may make the step unstable */
	if (!adaptive)
		s->h = fmin(s->params.step > 0 ? s->params.step : sl__signal_step(s), max);
}
