/* The state before the first step. */
#include <math.h>
#include <stdlib.h>

#include "core/random.h"
#include "core/signal/signal_internal.h"

void sl__signal_rates(const struct sl_signal_params *p, struct sl__rates *out)
{
	bool nagumo = p->model == SL_SIGNAL_NAGUMO;
	*out = (struct sl__rates){
		.model = p->model, .random_walk = p->laplacian == SL_SIGNAL_RANDOM_WALK, .diffusion = p->diffusion,
		.current = p->current, .infection = p->infection, .recovery = p->recovery,
		.a = p->a == SL_SIGNAL_AUTO ? nagumo ? 0.1 : 0.7 : p->a,
		.b = p->b == SL_SIGNAL_AUTO ? nagumo ? 2.5 : 0.8 : p->b,
		.epsilon = p->epsilon == SL_SIGNAL_AUTO ? nagumo ? 0.01 : 0.08 : p->epsilon,
	};
}

/* du/dt at the v for which dv/dt = 0. */
static double balance(const struct sl__rates *k, double u)
{
	if (k->model == SL_SIGNAL_NAGUMO)
		return u * (1 - u) * (u - k->a) - u / k->b + k->current;
	return u - u * u * u / 3 - (u + k->a) / k->b + k->current;
}

#define SCAN 20000

/* The state of rest with the lowest u. */
static void rest(const struct sl__rates *k, double *u, double *v)
{
	bool nagumo = k->model == SL_SIGNAL_NAGUMO;
	if (k->b == 0) {  /* dv/dt = 0 determines u */
		*u = nagumo ? 0 : -k->a;
		*v = nagumo ? k->current : *u - *u * *u * *u / 3 + k->current;
		return;
	}
	/* du/dt > 0 at -reach, du/dt < 0 at reach */
	double reach = 3 + 2 * (fabs(k->a) + cbrt(fabs(k->current)) + sqrt(fabs(k->current)) + sqrt(fabs(k->a) / k->b));
	double low = -reach, high = reach;
	for (int i = 1; i <= SCAN; i++) {
		high = reach * (2.0 * i / SCAN - 1);
		if (balance(k, high) <= 0)
			break;
		low = high;
	}
	for (int i = 0; i < 200; i++) {
		double middle = (low + high) / 2;
		*(balance(k, middle) > 0 ? &low : &high) = middle;
	}
	*u = fabs(high) < 1e-12 ? 0 : high;
	*v = nagumo ? *u / k->b : (*u + k->a) / k->b;
}

static int copy_initial(struct sl_signal *s, const float *initial, struct sl_error *err)
{
	bool sir = s->params.model == SL_SIGNAL_SIR || s->params.model == SL_SIGNAL_SIR_CHANCE;
	for (uint32_t i = 0; i < s->n; i++) {
		uint32_t row = s->c->place[i];
		double sum = 0;
		for (int f = 0; f < s->fields; f++) {
			double value = (double)initial[(size_t)i * (size_t)s->fields + (size_t)f];
			if (!isfinite(value))
				return sl_error_field(err, SL_BADPARAM, "/input", "Row %u of the initial state has a value that is "
						"not a finite number.", i + 1);
			if (sir && !(value >= 0 && value <= 1))
				return sl_error_field(err, SL_BADPARAM, "/input", "Row %u of the initial state has %g; the shares of "
						      "susceptible and infected are from 0 to 1.", i + 1, value);
			if (s->params.model == SL_SIGNAL_PAGERANK && value < 0)
				return sl_error_field(err, SL_BADPARAM, "/input", "Row %u of the weights to return by is %g; they "
						"must not be negative.", i + 1, value);
			s->y[f][row] = value;
			sum += value;
		}
		if (sir && sum > 1 + 1e-6)
			return sl_error_field(err, SL_BADPARAM, "/input", "In row %u of the initial state, susceptible and "
					"infected are %g together; shares are 1 at most.", i + 1, sum);
	}
	return 0;
}

static void set_rest(struct sl_signal *s)
{
	struct sl__rates rates;
	double u = 0, v = 0;
	sl__signal_rates(&s->params, &rates);
	if (s->params.model == SL_SIGNAL_SIR || s->params.model == SL_SIGNAL_SIR_CHANCE)
		u = 1;
	else if (s->fields > 1)
		rest(&rates, &u, &v);
	for (uint32_t i = 0; i < s->n; i++) {
		s->y[0][i] = u;
		if (s->fields > 1)
			s->y[1][i] = v;
	}
}

/* Marks the nodes of the list and those within `hops` edges, in a new array [n]. NULL: no memory. */
static uint8_t *mark(const struct sl_signal *s, const struct sl_param_list *nodes, int hops)
{
	uint32_t row[SL_PARAM_LIST_MAX];
	uint8_t *marked = calloc((size_t)s->n + 1, 1);
	for (int i = 0; i < nodes->count; i++)
		row[i] = s->c->place[(uint32_t)nodes->value[i]];
	if (marked && sl_coupling_mark(s->c, row, nodes->count, hops, marked)) {
		free(marked);
		marked = NULL;
	}
	return marked;
}

static void set_start(struct sl_signal *s, const uint8_t *marked)
{
	bool sir = s->params.model == SL_SIGNAL_SIR || s->params.model == SL_SIGNAL_SIR_CHANCE;
	double value = s->params.start_value;
	for (uint32_t i = 0; i < s->n; i++)
		if (marked[i]) {
			s->y[0][i] = sir ? 1 - value : value;
			if (sir)
				s->y[1][i] = value;
		}
}

/* Draws the state of each node, with the given values as probabilities. */
static void draw(struct sl_signal *s)
{
	for (uint32_t i = 0; i < s->n; i++) {
		double x = sl_random_uniform(s->params.seed, s->c->user[i]), infected = s->y[1][i], left = s->y[0][i];
		s->y[0][i] = x >= infected && x < infected + left;
		s->y[1][i] = x < infected;
		if (infected + left >= 1 && !(s->y[0][i] + s->y[1][i] > 0))  /* rounding */
			*(left > 0 ? &s->y[0][i] : &s->y[1][i]) = 1;
	}
}

/* Sets r: the given values, else equal shares for start_nodes, else for all nodes. */
static int set_restart(struct sl_signal *s, bool given, struct sl_error *err)
{
	double sum = 0;
	if (!(s->restart = sl__signal_array(s)))
		return SL_NOMEM;
	if (!given && !s->params.start_nodes.count)
		for (uint32_t i = 0; i < s->n; i++)
			s->y[0][i] = 1;
	for (uint32_t i = 0; i < s->n; i++)
		sum += s->y[0][s->c->place[i]];
	if (!(sum > 0))
		return sl_error_field(err, SL_BADPARAM, "/input", "The weights to return by are all 0; one at least must be "
				"greater.");
	for (uint32_t i = 0; i < s->n; i++)
		s->restart[i] = s->y[0][i] /= sum;
	return 0;
}

int sl__signal_begin(struct sl_signal *s, const float *initial, struct sl_error *err)
{
	const struct sl_signal_params *p = &s->params;
	int code = 0;
	if (initial)
		code = copy_initial(s, initial, err);
	else
		set_rest(s);
	if (!code && p->start_nodes.count) {
		uint8_t *marked = mark(s, &p->start_nodes, p->start_hops);
		if (marked)
			set_start(s, marked);
		else
			code = sl_error_memory(err, "signals at %u nodes", s->n);
		free(marked);
	}
	if (!code && p->model == SL_SIGNAL_SIR_CHANCE)
		draw(s);
	if (!code && p->model == SL_SIGNAL_PAGERANK)
		code = set_restart(s, initial, err);
	else if (!code && p->stimulus_nodes.count && !(s->stimulated = mark(s, &p->stimulus_nodes, p->stimulus_hops)))
		code = sl_error_memory(err, "signals at %u nodes", s->n);
	return code;
}

/* ---- the step --------------------------------------------------------------------------- */

/* The largest rate of linear change: of diffusion, or of infection and recovery. */
static double stiffness(const struct sl_signal *s)
{
	const struct sl_signal_params *p = &s->params;
	bool walk = p->laplacian == SL_SIGNAL_RANDOM_WALK;
	double degree = 0;
	if (p->model != SL_SIGNAL_SIR && p->model != SL_SIGNAL_SIR_CHANCE)
		return p->diffusion * (walk ? 2 : s->c->bound);
	for (uint32_t i = 0; i < s->n; i++)
		degree = fmax(degree, walk ? s->c->degree[i] > 0 : s->c->degree[i]);
	return p->infection * degree + p->recovery;
}

double sl__signal_stable(const struct sl_signal *s)
{
	double rate = stiffness(s);
	if (s->integrator != &sl__signal_explicit || rate == 0)
		return INFINITY;
	return s->tableau->real / rate;
}

double sl__signal_step(const struct sl_signal *s)
{
	const struct sl_signal_params *p = &s->params;
	bool euler = p->integrator == SL_SIGNAL_EULER;
	bool media = p->model == SL_SIGNAL_FITZHUGH_NAGUMO || p->model == SL_SIGNAL_NAGUMO;
	double step = fmin(0.8 * sl__signal_stable(s), p->duration / 100);
	if (media)
		step = fmin(step, euler ? 0.02 : p->integrator == SL_SIGNAL_CRANK_NICOLSON ? 0.05 : 0.1);
	if (p->model == SL_SIGNAL_SIR_CHANCE || (p->model == SL_SIGNAL_SIR && euler))
		step = fmin(step, 0.05 / fmax(p->infection + p->recovery, 1e-12));
	return s->tableau && s->tableau->adaptive ? step / 10 : step;
}
