/* step.cuh -- the update of one coordinate. */
#ifndef SL_GPU_STEP_CUH
#define SL_GPU_STEP_CUH

#include "gpu/kernels.h"

/* Momentum and gains: Jacobs (1988), as in van der Maaten and Hinton (2008). Returns the new place. mass:
 * sum_j p_ij, by which the rate is limited. */
static __device__ __forceinline__ float
momentum_step(float exaggeration, float learning_rate, float momentum, float gradient, float mass, float y,
	      float *velocity, float *gain)
{
	float limit = SL_RATE_LIMIT / fmaxf(exaggeration, 1e-3f);
	float rate = learning_rate * mass < limit ? learning_rate : limit / mass;
	float v = *velocity, g = *gain;
	g = (gradient > 0) != (v > 0) ? g + 0.2f : g * 0.8f;
	g = g < 0.01f ? 0.01f : g;
	v = momentum * v - rate * g * gradient;
	*gain = g;
	*velocity = v;
	return y + v;
}

/* Adam (Kingma and Ba, 2015) on n times the gradient / 4, whose size does not depend on n. */
static __device__ __forceinline__ float
adam_step(float learning_rate, float gradient, const float *correct, float y, float *mean, float *square)
{
	float m = 0.9f * *mean + 0.1f * gradient, s = 0.999f * *square + 0.001f * gradient * gradient;
	*mean = m;
	*square = s;
	return y - learning_rate * (m * correct[0]) / (sqrtf(s * correct[1]) + 1e-8f);
}

/* Of Adam's means after `iteration` steps; which: 0 of the first, 1 of the second moment. */
static __device__ __forceinline__ float adam_correction(uint64_t iteration, int which)
{
	return (float)(1 / (1 - pow(which ? 0.999 : 0.9, (double)iteration)));
}

#endif
