/* The stochastic epidemic (a chain binomial model): in a step of h a susceptible node is infected with probability
 * 1 - exp(-beta p h), and an infected one recovers with probability 1 - exp(-gamma h), independently. The random number
 * depends only on the seed, the node's number in the user's order and the step, not on node order or threads. */
#include <math.h>

#include "core/random.h"
#include "core/signal/models.h"

static int prepare(struct sl_signal *s)
{
	for (int f = 0; f < 2; f++)
		if (!(s->at[0][f] = sl__signal_array(s)))
			return SL_NOMEM;
	return 0;
}

static void begin(struct sl_signal *s)
{
}

static void pass(struct sl_signal *s, uint32_t block)
{
	const struct sl_coupling *c = s->c;
	const struct sl__rates *k = &s->rates;
	uint32_t from = c->block[block], count = c->block[block + 1] - from;
	bool stimulated = s->stimulated && k->stimulus != 0;
	double sums[SL_COUPLING_ROWS], recovers = -expm1(-k->recovery * s->now_h);
	sl_coupling_multiply(c, block, s->y[1], sums);
	for (uint32_t i = 0; i < count; i++) {
		uint32_t row = from + i;
		double susceptible = s->y[0][row], infected = s->y[1][row];
		double chance = susceptible > 0 ? -expm1(-s->now_h * sl__pressure(k, c->degree[row], sums[i], stimulated &&
										   s->stimulated[row])) : 0;
		bool event = (susceptible > 0 || infected > 0) &&
			     sl_random_uniform(s->params.seed, ((uint64_t)(uint32_t)s->step + 1) << 32 | c->user[row]) <
			     (susceptible > 0 ? chance : recovers);
		s->at[0][0][row] = event ? 0 : susceptible;
		s->at[0][1][row] = event ? susceptible : infected;
	}
}

static int passed(struct sl_signal *s, struct sl_error *err)
{
	for (int f = 0; f < 2; f++) {
		double *old = s->y[f];
		s->y[f] = s->at[0][f];
		s->at[0][f] = old;
	}
	s->stepped = true;
	return 0;
}

const struct sl__integrator sl__signal_chance = {prepare, begin, pass, passed};
