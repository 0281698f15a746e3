/* Stochastic epidemics, as in core/signal/chance.c. Random numbers are the same functions of seed, node and step, so a
 * run has the same events as on the processor (unless a probability and its random number differ only in the last
 * bits). Tests: tests/gpu/test_signal.c. */
#include <math.h>

#include "core/random.h"
#include "gpu/signal/rows.cuh"

struct events {
	enum { SUMS = 0 };
	const double *y[2];
	double *out[2];
	const double *degree;
	const uint32_t *user;
	const uint8_t *stimulated;
	uint64_t seed;
	int k;
	const struct sl_signal_orders *o;

	__device__ __forceinline__ bool idle() const { return false; }
	__device__ __forceinline__ const double *gathered() const { return y[1]; }
	__device__ __forceinline__ void end(const double *) {}
	__device__ __forceinline__ void row(uint32_t i, double sum, double *)
	{
		const struct sl__rates &rates = o->rates;
		double susceptible = y[0][i], infected = y[1][i], h = o->h, chance = 0;
		bool pushed = stimulated && rates.stimulus != 0 && stimulated[i];
		if (susceptible > 0)
			chance = -expm1(-h * pressure(rates, degree[i], sum, pushed));
		else if (infected > 0)
			chance = -expm1(-rates.recovery * h);
		uint64_t counter = (uint64_t)(uint32_t)(o->step + (uint64_t)k + 1) << 32 | user[i];
		bool event = (susceptible > 0 || infected > 0) && sl_random_uniform(seed, counter) < chance;
		out[0][i] = event ? 0 : susceptible;
		out[1][i] = event ? susceptible : infected;
	}
};

cudaError_t sl__signal_chance(const struct sl_signal_matrix *a, const struct sl_signal_vectors *v, uint64_t seed, int k,
			      const struct sl_signal_orders *o, struct sl_signal_report *r, cudaStream_t stream)
{
	struct events f = {{v->y[0], v->y[1]}, {v->at[0][0], v->at[0][1]}, a->degree, a->user, a->stimulated, seed, k, o};
	return queue_rows(a, f, v->part, r, stream);
}
