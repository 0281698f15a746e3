/* update.h -- how a node moves, for host and device alike.
 *
 * `gradient` is a quarter of the gradient of the KL divergence by a coordinate. All arithmetic is float. */
#ifndef SL_UPDATE_H
#define SL_UPDATE_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/engine/engine.h"

#ifdef __CUDACC__
#define SL_BOTH static __host__ __device__ __forceinline__
#else
#define SL_BOTH static inline
#endif

/* A node's learning rate: what was asked for, but learning rate times exaggeration times mass is kept below `limit`
 * (INFINITY: is not), as a spring of that stiffness would swing ever further beyond 2. mass: sum_j p_ij. */
#define SL_RATE_LIMIT 2.0f

SL_BOTH float sl_update_rate(float learning_rate, float exaggeration, float mass, float limit)
{
	float most = limit / fmaxf(exaggeration, 1e-3f);
	return learning_rate * mass < most ? learning_rate : most / mass;
}

/* Gains (Jacobs 1988; numbers of van der Maaten and Hinton 2008) grow by steps where the last move went downhill and
 * fall by factors where it went uphill, plus `added`, but not below `least`. */
#define SL_GAIN_LEAST 0.01f

SL_BOTH float sl_update_gain(float gain, bool downhill, float least, float added)
{
	float up = gain + 0.2f, down = gain * 0.8f + added;
	return fmaxf(downhill ? up : down, least);
}

/* A gain for each coordinate, by signs, as published; or one for each node, by the product of gradient and velocity
 * over its coordinates, which knows no axes. */
SL_BOTH bool sl_update_downhill(float gradient, float velocity)
{
	return (gradient > 0) != (velocity > 0) || velocity == 0;
}

SL_BOTH bool sl_update_node_downhill(float product)
{
	return product <= 0;  /* from rest, too */
}

SL_BOTH float sl_update_velocity(float rate, float momentum, float gain, float gradient, float velocity)
{
	return momentum * velocity - rate * gain * gradient;
}

/* What a node's velocity is multiplied with so that no step is longer than `longest` (INFINITY: any); square: of the
 * velocity's length. */
SL_BOTH float sl_update_clip(float square, float longest)
{
	return square > longest * longest ? longest / sqrtf(square) : 1;
}

/* Adam (Kingma and Ba, 2015); gradient: n times that above, whose size does not depend on n. correct_mean and
 * correct_square: sl_update_adam_correction(iteration, 0 and 1). Returns the new place. */
SL_BOTH float sl_update_adam(float rate, float correct_mean, float correct_square, float gradient, float y, float *mean,
			     float *square)
{
	float m = 0.9f * *mean + 0.1f * gradient, s = 0.999f * *square + 0.001f * gradient * gradient;
	*mean = m;
	*square = s;
	return y - rate * (m * correct_mean) / (sqrtf(s * correct_square) + 1e-8f);
}

/* Of Adam's means after `iteration` steps, the present one included; which: 0 the first, 1 the second moment. */
SL_BOTH float sl_update_adam_correction(uint64_t iteration, int which)
{
	return (float)(1 / (1 - pow(which ? 0.999 : 0.9, (double)iteration)));
}

/* With what zeros stand for. */
static inline struct sl_step sl_step_filled(const struct sl_step *s)
{
	struct sl_step filled = *s;
	if (filled.gain_least == 0)
		filled.gain_least = SL_GAIN_LEAST;
	if (filled.rate_limit == 0)
		filled.rate_limit = SL_RATE_LIMIT;
	if (filled.max_step == 0)
		filled.max_step = INFINITY;
	return filled;
}

#endif
