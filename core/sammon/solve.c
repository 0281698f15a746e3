/* Solves V move = - force, where V is the matrix of smacof's majorising function: sums of w on the diagonal, - w
 * elsewhere. The method is conjugate gradients (Hestenes and Stiefel, 1952), preconditioned by the diagonal, for each
 * part and coordinate separately. It starts at 0, so each step lowers the majorising function, and it may end early. */
#include <string.h>

#include "core/sammon/sammon_internal.h"
#include "core/sammon/terms.h"

#define ROUNDS_MOST 24
#define CONVERGED 1e-3   /* relative decrease of the residual's preconditioned square */

static size_t at_part(const struct sl_sammon *m, const struct sl__part *p, int q)
{
	return (size_t)q * m->room + p->first;
}

/* The preconditioned square of the residual. */
static double square_of(const struct sl_sammon *m, const struct sl__part *p, int q)
{
	const double *residual = m->terms->residual + at_part(m, p, q), *weight = m->weight + p->first;
	double sum = 0;
	for (uint32_t i = 0; i < p->n; i++)
		sum += residual[i] * residual[i] / weight[i];
	return sum;
}

static void begin_product(struct sl_sammon *m)
{
	struct sl__terms *t = m->terms;
	for (int q = 0; q < m->params.dims; q++) {
		t->in[q] = t->direction + (size_t)q * m->room;
		t->out[q] = t->product + (size_t)q * m->room;
	}
	sl__sweep_begin(m, SL__SWEEP_WEIGHTS, m->params.dims);
}

void sl__terms_solve_begin(struct sl_sammon *m)
{
	struct sl__terms *t = m->terms;
	t->phase = SL__TERMS_SOLVE;
	t->rounds = 0;
	t->moved = false;
	memset(t->move, 0, sl__sammon_values(m) * sizeof *t->move);
	for (int q = 0; q < m->params.dims; q++)
		for (uint32_t k = 0; k < t->parts; k++) {
			const struct sl__part *p = &t->part[k];
			size_t at = at_part(m, p, q);
			for (uint32_t i = 0; i < p->n; i++) {
				t->residual[at + i] = -m->best.force[at + i];
				t->direction[at + i] = t->residual[at + i] / m->weight[p->first + i];
			}
			t->square[(size_t)q * t->parts + k] = square_of(m, p, q);
			t->target[(size_t)q * t->parts + k] = CONVERGED * t->square[(size_t)q * t->parts + k];
		}
	begin_product(m);
}

/* Does a step for one part and coordinate. True: it has converged. */
static bool step(struct sl_sammon *m, uint32_t k, int q)
{
	struct sl__terms *t = m->terms;
	const struct sl__part *p = &t->part[k];
	double *square = &t->square[(size_t)q * t->parts + k], curvature = 0;
	double *residual = t->residual + at_part(m, p, q), *direction = t->direction + at_part(m, p, q);
	double *product = t->product + at_part(m, p, q), *move = t->move + at_part(m, p, q), *weight = m->weight + p->first;
	if (*square <= t->target[(size_t)q * t->parts + k])
		return true;
	for (uint32_t i = 0; i < p->n; i++) {
		product[i] = weight[i] * direction[i] - product[i];
		curvature += direction[i] * product[i];
	}
	if (!(curvature > 0))
		return true;
	double length = *square / curvature, before = *square;
	for (uint32_t i = 0; i < p->n; i++) {
		move[i] += length * direction[i];
		residual[i] -= length * product[i];
	}
	*square = square_of(m, p, q);
	for (uint32_t i = 0; i < p->n; i++)
		direction[i] = residual[i] / weight[i] + *square / before * direction[i];
	return *square <= t->target[(size_t)q * t->parts + k];
}

bool sl__terms_solve(struct sl_sammon *m, uint32_t count)
{
	struct sl__terms *t = m->terms;
	bool over = true;
	if (!sl__sweep(m, SL__SWEEP_WEIGHTS, count))
		return false;
	for (int q = 0; q < m->params.dims; q++)
		for (uint32_t k = 0; k < t->parts; k++)
			over &= step(m, k, q);
	t->moved = over || ++t->rounds >= ROUNDS_MOST;
	if (!t->moved)
		begin_product(m);
	return t->moved;
}
