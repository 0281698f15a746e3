/* exact.cuh -- squared distances in double precision, added up in the order of core/kmeans/passes.h; and the bound of a
 * score's error. */
#ifndef SL_GPU_KMEANS_EXACT_CUH
#define SL_GPU_KMEANS_EXACT_CUH

#include <float.h>

#include "gpu/device/launch.cuh"
#include "gpu/kmeans/kmeans.h"

/* |x - c|^2 by eight neighbouring lanes, each of which has one of the eight sums; all of them get it. x [d], c [d]. All
 * lanes of the warp must call it, with the same d. */
static __device__ __forceinline__ double eight_square(uint32_t d, const float *x, const double *c)
{
	uint32_t whole = d / 8 * 8;
	double sum = 0, rest = 0;
	for (uint32_t k = threadIdx.x % 8; k < whole; k += 8) {
		double away = (double)x[k] - c[k];
		sum = fma(away, away, sum);
	}
	for (uint32_t k = whole; k < d; k++) {
		double away = (double)x[k] - c[k];
		rest = fma(away, away, rest);
	}
	sum += __shfl_xor_sync(~0u, sum, 4);
	sum += __shfl_xor_sync(~0u, sum, 1);
	sum += __shfl_xor_sync(~0u, sum, 2);
	return sum + rest;
}

/* How far off a score may be, for a point with |x - m| <= length and centroids with |c - m| <= longest. In units of
 * 2^-24: of x - m and of c - m 1 each, of d products and their sum d + 1, of half and of the difference 2 of a score's
 * size; numbers below the least float; and, so that a certain score also wins in double precision, the rounding of
 * squared distances there. */
static __device__ __forceinline__ double score_slack(uint32_t d, double length, double longest)
{
	double size = length * longest + longest * longest / 2, both = length + longest;
	return (d + 8.0) * 0x1p-24 * 1.01 * size + (d + 8.0) * (double)FLT_MIN + (d + 64.0) * 0x1p-52 * both * both;
}

#endif
