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
#pragma unroll 8  /* many loads at a time */
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

/* The power of two by which numbers of a vector of this length are multiplied: its length becomes less than 2^15. */
static __device__ __forceinline__ int power_for(float length)
{
	int exponent = 0;
	frexpf(length, &exponent);
	return 15 - exponent < 100 ? 15 - exponent : 100;
}

/* A bound of a score's error, for a point with |x - m| <= length and rounding error `away`, and centroids with |c - m|
 * <= longest and rounding errors of at most `apart`. It adds bounds (products by Cauchy and Schwarz) of: the errors of
 * rounding to halves; the product of the low parts, which `split` leaves out, each at most 2^-11 of its number; the
 * sum, of which a tensor core cuts off at most 2^-23 for each of 17 numbers that it adds at a time (Fasi, Higham,
 * Mikaitis, Pranesh, Numerical behavior of NVIDIA tensor cores, PeerJ Computer Science 7, 2021); the rounding of `half`
 * and of the score; underflow. It also adds the rounding of squared distances in double precision, so that a certain
 * score wins there, too. */
template <class T>
static __device__ __forceinline__ T
score_slack(uint32_t d, uint32_t width, bool split, T length, T away, T longest, T apart)
{
	T size = (length + away) * (longest + apart), both = length + longest;
	T halves = away * longest + (length + away) * apart + (split ? size * (T)(0x1p-22 * 1.01) : 0);
	T sum = (width / (T)16 * 17 + 1) * (T)0x1p-23 * size, rounding = (T)(3 * 0x1p-24) * (size + longest * longest);
	return (T)1.01 * (halves + sum + rounding) + (width + (T)8) * (T)FLT_MIN + (d + (T)64) * (T)0x1p-52 * both * both;
}

#endif
