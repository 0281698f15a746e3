/* update.h -- how one coordinate moves, for host and device alike.
 *
 * `gradient` is a quarter of the gradient of the KL divergence by the coordinate. All arithmetic is float. */
#ifndef SL_UPDATE_H
#define SL_UPDATE_H

#include <math.h>
#include <stdint.h>

#ifdef __CUDACC__
#define SL_BOTH static __host__ __device__ __forceinline__
#else
#define SL_BOTH static inline
#endif

/* A node's learning rate: what was asked for, but learning rate times exaggeration times mass is kept below 2, as a
 * spring of that stiffness would swing ever further beyond. mass: sum_j p_ij. */
#define SL_RATE_LIMIT 2.0f

SL_BOTH float sl_update_rate(float learning_rate, float exaggeration, float mass)
{
	float limit = SL_RATE_LIMIT / fmaxf(exaggeration, 1e-3f);
	return learning_rate * mass < limit ? learning_rate : limit / mass;
}

/* Momentum and gains: Jacobs (1988), as in van der Maaten and Hinton (2008). Returns the new place. */
SL_BOTH float sl_update_momentum(float rate, float momentum, float gradient, float y, float *velocity, float *gain)
{
	float v = *velocity, g = *gain;
	float up = g + 0.2f, down = g * 0.8f;
	g = (gradient > 0) != (v > 0) ? up : down;
	g = g < 0.01f ? 0.01f : g;
	v = momentum * v - rate * g * gradient;
	*gain = g;
	*velocity = v;
	return y + v;
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

#endif
