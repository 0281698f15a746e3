/* Personalised PageRank (Page, Brin, Motwani, Winograd 1999): x = alpha (W D^-1 x + s r) + (1 - alpha) r, where s is
 * the sum of x over nodes without edges, by iteration from x = r. Each iteration multiplies the change by at most
 * alpha. A pass computes the next iterate x and also D^-1 x, which the next pass multiplies by W. */
#include <math.h>

#include "core/signal/signal_internal.h"
#include "core/vector.h"

static int prepare(struct sl_signal *s)
{
	for (int k = 0; k < 2; k++)
		for (int f = 0; f < 2; f++)
			if (!(s->at[k][f] = sl__signal_array(s)))
				return SL_NOMEM;
	return 0;
}

/* Sets at[1][0] = y / degrees, unless the previous iteration did. A loaded run computes the same bytes. */
static void begin(struct sl_signal *s)
{
	const struct sl_coupling *c = s->c;
	if (s->first_known)
		return;
	s->dangling = 0;
	for (uint32_t i = 0; i < s->n; i++)
		s->at[1][0][i] = c->degree[i] > 0 ? s->y[0][i] / c->degree[i] : 0;
	for (uint32_t b = 0; b < sl__signal_blocks(s); b++) {
		double dangling = 0;
		for (uint32_t i = c->block[b]; i < c->block[b + 1]; i++)
			dangling += c->degree[i] > 0 ? 0 : s->y[0][i];
		s->dangling += dangling;
	}
	s->first_known = true;
}

static VECTOR void pass(struct sl_signal *s, uint32_t block)
{
	const struct sl_coupling *c = s->c;
	uint32_t from = c->block[block], count = c->block[block + 1] - from;
	double sums[SL_COUPLING_ROWS], alpha = s->params.damping, back = alpha * s->dangling + 1 - alpha, change = 0,
			dangling = 0;
	sl_coupling_multiply(c, block, s->at[1][0], sums);
	for (uint32_t i = 0; i < count; i++) {
		uint32_t row = from + i;
		double x = alpha * sums[i] + back * s->restart[row], d = c->degree[row];
		change += fabs(x - s->y[0][row]);
		dangling += d > 0 ? 0 : x;
		s->at[0][0][row] = x;
		s->at[1][1][row] = d > 0 ? x / d : 0;
	}
	s->sum[0][block] = change;
	s->sum[1][block] = dangling;
}

static int passed(struct sl_signal *s, struct sl_error *err)
{
	double *y = s->y[0], *divided = s->at[1][0];
	s->y[0] = s->at[0][0];
	s->at[0][0] = y;
	s->at[1][0] = s->at[1][1];
	s->at[1][1] = divided;
	s->change = sl__signal_total(s, 0);
	s->dangling = sl__signal_total(s, 1);
	s->converged = s->change < s->params.tolerance;
	s->stepped = true;
	return 0;
}

const struct sl__integrator sl__signal_rank = {prepare, begin, pass, passed};
