/* Crank and Nicolson's step for the diffusion (Proc. Camb. Phil. Soc. 43, 1947), explicit in the rest (an IMEX method
 * of order 2): with the reaction f, theta = h D / 2, K = degrees - W and M the capacities c_i (combinatorial: 1;
 * random_walk: the degrees, which makes the matrix symmetric),
 *
 *   (M + theta K) u* = (M - theta K) u + h M f(u)                        prediction
 *   (M + theta K) u' = (M - theta K) u + h M (f(u) + f(u*)) / 2          correction; heat needs none
 *
 * The recovery variable does not diffuse; Heun's method computes it. Diffusion is stable for any step.
 *
 * Both systems are solved by conjugate gradients (Hestenes and Stiefel 1952) with the diagonal as preconditioner, until
 * the residual is 1e-11 of the right side. An iteration has three passes: q = A p and p q; x, r and r r; p. */
#include <math.h>

#include "core/signal/models.h"
#include "core/vector.h"

enum { START, PRODUCT, ADVANCE, TURN };  /* passes */

static int prepare(struct sl_signal *s)
{
	for (int f = 0; f < s->fields; f++)
		if (!(s->slope[0][f] = sl__signal_array(s)) || !(s->at[0][f] = sl__signal_array(s)))
			return SL_NOMEM;
	s->known = sl__signal_array(s);
	s->r = sl__signal_array(s);
	s->p = sl__signal_array(s);
	s->q = sl__signal_array(s);
	return s->known && s->r && s->p && s->q ? 0 : SL_NOMEM;
}

static void begin(struct sl_signal *s)
{
	s->solve = 0;
	s->cg = START;
	s->cg_steps = 0;
	s->theta = s->now_h * s->rates.diffusion / 2;
}

static inline double diagonal(const struct sl_signal *s, uint32_t i)
{
	return sl__capacity(s->c, s->rates.random_walk, i) + s->theta * s->c->degree[i];
}

static void finish_sums(struct sl_signal *s, uint32_t block, double a, double b)
{
	s->sum[0][block] = a;
	s->sum[1][block] = b;
}

/* Computes f(u, v) for the block's rows. */
static void reaction(const struct sl_signal *s, uint32_t from, uint32_t count, double *const *at, double *du,
		double *dv)
{
	const struct sl__rates *k = &s->rates;
	sl__react(k, count, at[0] + from, s->fields > 1 ? at[1] + from : NULL, du, dv);
	if (s->stimulated && k->stimulus != 0)
		sl__stimulate(k, count, s->stimulated + from, du);
}

/* Computes the right side b and the residual r at the initial values, u or u*. Sums: r z, b b / diagonal. */
static VECTOR void start(struct sl_signal *s, uint32_t block)
{
	const struct sl_coupling *c = s->c;
	uint32_t from = c->block[block], count = c->block[block + 1] - from;
	double product[SL_COUPLING_ROWS], du[SL_COUPLING_ROWS], dv[SL_COUPLING_ROWS], rz = 0, bz = 0, h = s->now_h;
	double **at = s->solve ? s->at[0] : s->y, *x = at[0] + from;
	sl_coupling_multiply(c, block, at[0], product);
	reaction(s, from, count, at, du, dv);
	for (uint32_t i = 0; i < count; i++) {
		uint32_t row = from + i;
		double capacity = sl__capacity(c, s->rates.random_walk, row);
		double k = s->theta * (c->degree[row] * x[i] - product[i]);
		double f = s->solve ? (s->slope[0][0][row] + du[i]) / 2 : du[i];
		if (!s->solve) {
			s->known[row] = capacity * x[i] - k;
			s->slope[0][0][row] = du[i];
			s->at[0][0][row] = x[i];
		}
		double b = s->known[row] + h * capacity * f, d = diagonal(s, row);
		s->r[row] = b - (capacity * x[i] + k);
		s->p[row] = s->r[row] / d;
		rz += s->r[row] * s->p[row];
		bz += b * b / d;
	}
	for (uint32_t i = 0; i < count && s->fields > 1; i++) {
		uint32_t row = from + i;
		if (!s->solve)
			s->slope[0][1][row] = dv[i];
		double slope = s->solve ? (s->slope[0][1][row] + dv[i]) / 2 : dv[i];
		s->at[0][1][row] = s->y[1][row] + h * slope;
	}
	finish_sums(s, block, rz, bz);
}

static VECTOR void product(struct sl_signal *s, uint32_t block)
{
	const struct sl_coupling *c = s->c;
	uint32_t from = c->block[block], count = c->block[block + 1] - from;
	double sums[SL_COUPLING_ROWS], pq = 0;
	sl_coupling_multiply(c, block, s->p, sums);
	for (uint32_t i = 0; i < count; i++) {
		uint32_t row = from + i;
		s->q[row] = diagonal(s, row) * s->p[row] - s->theta * sums[i];
		pq += s->p[row] * s->q[row];
	}
	finish_sums(s, block, pq, 0);
}

static VECTOR void advance(struct sl_signal *s, uint32_t block)
{
	double rz = 0;
	for (uint32_t row = s->c->block[block]; row < s->c->block[block + 1]; row++) {
		s->at[0][0][row] += s->alpha * s->p[row];
		s->r[row] -= s->alpha * s->q[row];
		rz += s->r[row] * s->r[row] / diagonal(s, row);
	}
	finish_sums(s, block, rz, 0);
}

static VECTOR void turn(struct sl_signal *s, uint32_t block)
{
	for (uint32_t row = s->c->block[block]; row < s->c->block[block + 1]; row++)
		s->p[row] = s->r[row] / diagonal(s, row) + s->beta * s->p[row];
}

static void pass(struct sl_signal *s, uint32_t block)
{
	switch (s->cg) {
	case START: start(s, block); break;
	case PRODUCT: product(s, block); break;
	case ADVANCE: advance(s, block); break;
	default: turn(s, block);
	}
}

/* Ends the solution of a system; begins the next one or ends the step. */
static void solved(struct sl_signal *s)
{
	s->cg = START;
	if (!s->solve && s->rates.model != SL_SIGNAL_HEAT) {
		s->solve = 1;
		return;
	}
	for (int f = 0; f < s->fields; f++) {
		double *old = s->y[f];
		s->y[f] = s->at[0][f];
		s->at[0][f] = old;
	}
	s->stepped = true;
}

int sl__signal_unsolved(const struct sl_signal *s, struct sl_error *err)
{
	return sl_error_field(err, SL_BADDATA, "/step", "At time %g a step of %g has no solution: the values grow beyond "
			"all bounds. Use a smaller step.", s->time, s->now_h);
}

static int passed(struct sl_signal *s, struct sl_error *err)
{
	double rz = sl__signal_total(s, 0);
	switch (s->cg) {
	case START:
		s->rz = rz;
		s->bz = sl__signal_total(s, 1);
		s->cg_steps = 0;
		break;
	case PRODUCT:
		s->alpha = s->rz / rz;
		s->cg = ADVANCE;
		return 0;
	case ADVANCE:
		s->beta = rz / s->rz;
		s->rz = rz;
		s->cg_steps++;
		break;
	default:
		s->cg = PRODUCT;
		return 0;
	}
	if (!isfinite(s->rz) || !isfinite(s->bz) || s->cg_steps > SL__CG_MOST)
		return sl__signal_unsolved(s, err);
	if (s->rz <= SL__CG_CLOSE * SL__CG_CLOSE * s->bz)
		solved(s);
	else
		s->cg = s->cg == START ? PRODUCT : TURN;
	return 0;
}

const struct sl__integrator sl__signal_implicit = {prepare, begin, pass, passed};
