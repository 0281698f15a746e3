/* models.h -- the equations of the models, without the Laplacian: rows from .. to - 1 of a block. */
#ifndef SL_SIGNAL_MODELS_H
#define SL_SIGNAL_MODELS_H

#include "core/signal/signal_internal.h"

/* Sets the slopes du, dv to the terms of the model without diffusion, from the values u, v; all arrays begin at the
 * block's first row. For heat and the excitable media. */
static inline __attribute__((always_inline)) void sl__react(const struct sl__rates *k, uint32_t count, const double
							    *restrict u, const double *restrict v, double *restrict du, double *restrict dv)
{
	switch (k->model) {
	case SL_SIGNAL_FITZHUGH_NAGUMO:
		for (uint32_t i = 0; i < count; i++) {
			du[i] = u[i] - u[i] * u[i] * u[i] * (1.0 / 3) - v[i] + k->current;
			dv[i] = k->epsilon * (u[i] + k->a - k->b * v[i]);
		}
		break;
	case SL_SIGNAL_NAGUMO:
		for (uint32_t i = 0; i < count; i++) {
			du[i] = u[i] * (1 - u[i]) * (u[i] - k->a) - v[i] + k->current;
			dv[i] = k->epsilon * (u[i] - k->b * v[i]);
		}
		break;
	default:
		for (uint32_t i = 0; i < count; i++)
			du[i] = 0;
	}
}

/* Adds - D L u, given sums = W u, in a block of rows with edges; degree and inverse begin at its first row. */
static inline __attribute__((always_inline)) void sl__diffuse(const struct sl__rates *k, uint32_t count,
							       const double *restrict degree,
							       const double *restrict inverse,
							       const double *restrict sums, const double *restrict u,
							       double *restrict du)
{
	double d = k->diffusion;
	if (k->random_walk)
		for (uint32_t i = 0; i < count; i++)
			du[i] += d * (sums[i] * inverse[i] - u[i]);
	else
		for (uint32_t i = 0; i < count; i++)
			du[i] += d * (sums[i] - degree[i] * u[i]);
}

static inline void sl__stimulate(const struct sl__rates *k, uint32_t count, const uint8_t *stimulated, double *du)
{
	for (uint32_t i = 0; i < count; i++)
		du[i] += stimulated[i] ? k->stimulus : 0;
}

/* The rate at which a susceptible node is infected. sum: (W I)_i. */
static inline double sl__pressure(const struct sl__rates *k, double degree, double sum, bool stimulated)
{
	double p = !k->random_walk ? sum : degree > 0 ? sum / degree : 0;
	return k->infection * p + (stimulated ? k->stimulus : 0);
}

#endif
