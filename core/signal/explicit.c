/* Explicit Runge-Kutta methods: Euler; the classical one of order 4 (Kutta 1901); and two embedded pairs with an
 * adaptive step, Bogacki and Shampine's of orders 3 and 2 (Appl. Math. Lett. 2, 1989) and Dormand and Prince's of
 * orders 5 and 4 (J. Comput. Appl. Math. 6, 1980). Notation and step control as in Hairer, Norsett, Wanner, Solving
 * Ordinary Differential Equations I, chapters II.1, II.4: the next step is 0.9 h err^(-1/q), at least a fifth and at
 * most five times as long. The error is the largest of all values, not the mean, so that a pulse which starts at one
 * node of a million counts.
 *
 * Pass s computes slope s from the values of stage s. Then all slopes of its rows are known, so it also writes the
 * values of these rows at stage s + 1 to the other array. The last slope is stored only if the error needs it, so an
 * Euler step reads and writes the values once. In both embedded pairs the last slope is that of the new values, and
 * serves as the first of the next step. */
#include <math.h>

#include "core/signal/models.h"
#include "core/vector.h"

#define SAFETY 0.9
#define SHRINK 0.2
#define GROW 5.0
#define LEAST 1e-13  /* shortest step, relative to the time or duration */

const struct sl__tableau sl__signal_tableaus[] = {
	[SL_SIGNAL_EULER] = {.stages = 1, .real = 2, .a = {{0}, {1}}},
	[SL_SIGNAL_RUNGE_KUTTA] = {.stages = 4, .real = 2.785,
		.a = {{0}, {0.5}, {0, 0.5}, {0, 0, 1}, {1.0 / 6, 1.0 / 3, 1.0 / 3, 1.0 / 6}}},
	[SL_SIGNAL_BOGACKI_SHAMPINE] = {.stages = 4, .adaptive = true, .order = 3, .real = 2.512,
		.a = {{0}, {0.5}, {0, 0.75}, {2.0 / 9, 1.0 / 3, 4.0 / 9}},
		.error = {2.0 / 9 - 7.0 / 24, 1.0 / 3 - 1.0 / 4, 4.0 / 9 - 1.0 / 3, -1.0 / 8}},
	[SL_SIGNAL_DORMAND_PRINCE] = {.stages = 7, .adaptive = true, .order = 5, .real = 3.306,
		.a = {{0}, {1.0 / 5}, {3.0 / 40, 9.0 / 40}, {44.0 / 45, -56.0 / 15, 32.0 / 9},
		      {19372.0 / 6561, -25360.0 / 2187, 64448.0 / 6561, -212.0 / 729},
		      {9017.0 / 3168, -355.0 / 33, 46732.0 / 5247, 49.0 / 176, -5103.0 / 18656},
		      {35.0 / 384, 0, 500.0 / 1113, 125.0 / 192, -2187.0 / 6784, 11.0 / 84}},
		.error = {71.0 / 57600, 0, -71.0 / 16695, 71.0 / 1920, -17253.0 / 339200, 22.0 / 525, -1.0 / 40}},
	[SL_SIGNAL_CRANK_NICOLSON] = {0},
};

static int prepare(struct sl_signal *s)
{
	const struct sl__tableau *t = s->tableau;
	for (int f = 0; f < s->fields; f++) {
		for (int k = 0; k < t->stages; k++)
			if ((k + 1 < t->stages || t->adaptive) && !(s->slope[k][f] = sl__signal_array(s)))
				return SL_NOMEM;
		for (int k = 0; k < 2; k++)
			if (!(s->at[k][f] = sl__signal_array(s)))
				return SL_NOMEM;
	}
	return 0;
}

static void begin(struct sl_signal *s)
{
	s->stage = 0;
}

/* ---- a pass ---------------------------------------------------------------------------- */

/* Computes the slopes at values u, v. */
static inline __attribute__((always_inline)) void slopes(const struct sl_signal *s, uint32_t block,
							  const double *all_u, const double *all_v, double *du, double *dv)
{
	uint32_t from = s->c->block[block], count = s->c->block[block + 1] - from;
	const struct sl__rates *k = &s->rates;
	const double *u = all_u + from, *v = all_v ? all_v + from : NULL, *degree = s->c->degree + from;
	const uint8_t *stimulated = s->stimulated && k->stimulus != 0 ? s->stimulated + from : NULL;
	double sums[SL_COUPLING_ROWS];
	if (k->model == SL_SIGNAL_SIR) {
		sl_coupling_multiply(s->c, block, all_v, sums);
		for (uint32_t i = 0; i < count; i++) {
			double infected = u[i] * sl__pressure(k, degree[i], sums[i], stimulated && stimulated[i]);
			du[i] = -infected;
			dv[i] = infected - k->recovery * v[i];
		}
		return;
	}
	sl__react(k, count, u, v, du, dv);
	if (from < s->c->linked) {
		sl_coupling_multiply(s->c, block, all_u, sums);
		sl__diffuse(k, count, degree, s->c->inverse + from, sums, u, du);
	}
	if (stimulated)
		sl__stimulate(k, count, stimulated, du);
}

/* out = y + h sum of a[k] slope[k]; the last slope is `last`. */
static inline __attribute__((always_inline)) void combine(const struct sl_signal *s, int f, uint32_t from, uint32_t
							  count, const double *a, int slopes, const double *restrict last, double *restrict out)
{
	const double *restrict y = s->y[f] + from;
	double h = s->now_h;
	if (slopes == 1) {
		for (uint32_t i = 0; i < count; i++)
			out[i] = y[i] + h * (a[0] * last[i]);
		return;
	}
	for (uint32_t i = 0; i < count; i++)
		out[i] = a[slopes - 1] * last[i];
	for (int k = 0; k < slopes - 1; k++) {
		const double *restrict slope = s->slope[k][f] + from;
		double by = a[k];
		if (by != 0)
			for (uint32_t i = 0; i < count; i++)
				out[i] += by * slope[i];
	}
	for (uint32_t i = 0; i < count; i++)
		out[i] = y[i] + h * out[i];
}

/* The largest error of the block's new values, relative to 1 + |value|. */
static double error_of(const struct sl_signal *s, uint32_t from, uint32_t count, double *const *last)
{
	const struct sl__tableau *t = s->tableau;
	double largest = 0;
	for (int f = 0; f < s->fields; f++) {
		const double *y = s->y[f] + from, *fresh = s->at[s->stage & 1][f] + from;
		for (uint32_t i = 0; i < count; i++) {
			double e = t->error[t->stages - 1] * last[f][i];
			for (int k = 0; k < t->stages - 1; k++)
				e += t->error[k] * s->slope[k][f][from + i];
			e = fabs(s->now_h * e) / (1 + fmax(fabs(y[i]), fabs(fresh[i])));
			largest = e <= largest ? largest : isnan(e) ? INFINITY : e;
		}
	}
	return largest;
}

static VECTOR void pass(struct sl_signal *s, uint32_t block)
{
	const struct sl__tableau *t = s->tableau;
	uint32_t from = s->c->block[block], count = s->c->block[block + 1] - from;
	int stage = s->stage;
	bool last = stage + 1 == t->stages, known = stage == 0 && s->first_known;
	double **in = stage ? s->at[stage & 1] : s->y, **out = s->at[(stage + 1) & 1];
	double scratch[SL_SIGNAL_FIELDS][SL_COUPLING_ROWS], *d[SL_SIGNAL_FIELDS] = {NULL};
	for (int f = 0; f < s->fields; f++)
		d[f] = s->slope[stage][f] ? s->slope[stage][f] + from : scratch[f];
	if (!known)
		slopes(s, block, in[0], s->fields > 1 ? in[1] : NULL, d[0], d[1]);
	if (last && t->adaptive) {
		s->sum[0][block] = error_of(s, from, count, d);
		return;
	}
	for (int f = 0; f < s->fields; f++)
		combine(s, f, from, count, t->a[stage + 1], stage + 1, d[f], out[f] + from);
}

static void take(struct sl_signal *s, int at)
{
	for (int f = 0; f < s->fields; f++) {
		double *old = s->y[f];
		s->y[f] = s->at[at][f];
		s->at[at][f] = old;
	}
	s->stepped = true;
}

int sl__signal_judge(struct sl_signal *s, double error, struct sl_error *err)
{
	double ratio = error / s->params.tolerance;
	double by = ratio > 0 ? SAFETY * pow(ratio, -1 / s->tableau->order) : GROW;
	by = by < SHRINK ? SHRINK : by > GROW ? GROW : by;
	s->first_known = true;
	if (ratio <= 1) {
		double next = s->now_h * by;
		/* a step that was cut short does not limit the next one */
		s->h = s->stops && s->now_h < s->h ? fmax(s->h, next) : next;
		s->stepped = true;
		return 0;
	}
	s->h = s->now_h *= fmin(by, 1);
	s->stops = false;
	if (s->now_h > LEAST * fmax(s->time, s->params.duration))
		return 0;
	return sl_error_field(err, SL_BADDATA, "/tolerance", "At time %g the step has become %g: the values grow beyond "
			"all bounds, or the tolerance %g is too small.", s->time, s->now_h, s->params.tolerance);
}

/* Accepts the step or tries a shorter one, by the errors of all blocks. */
static int judge(struct sl_signal *s, struct sl_error *err)
{
	double largest = 0;
	int last = s->tableau->stages - 1;
	for (uint32_t b = 0; b < sl__signal_blocks(s); b++)
		largest = fmax(largest, s->sum[0][b]);
	int code = sl__signal_judge(s, largest, err);
	for (int f = 0; f < s->fields && s->stepped; f++) {
		double *first = s->slope[0][f];
		s->slope[0][f] = s->slope[last][f];
		s->slope[last][f] = first;
	}
	if (s->stepped)
		take(s, s->stage & 1);
	else
		s->stage = 0;
	return code;
}

static int passed(struct sl_signal *s, struct sl_error *err)
{
	const struct sl__tableau *t = s->tableau;
	s->stage++;
	if (s->stage < t->stages)
		return 0;
	if (t->adaptive) {
		s->stage--;
		return judge(s, err);
	}
	take(s, s->stage & 1);
	return 0;
}

const struct sl__integrator sl__signal_explicit = {prepare, begin, pass, passed};
