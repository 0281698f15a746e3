/* best.cuh -- the best scores of points, and candidates for the nearest centroid; for kernels that compute scores. */
#ifndef SL_GPU_KMEANS_BEST_CUH
#define SL_GPU_KMEANS_BEST_CUH

#include "gpu/kmeans/exact.cuh"

/* What a kernel does with scores: keep the best of each point, or collect the candidates of the open rows. */
enum task { KEEP, COLLECT };

static __device__ __forceinline__ void meet(struct sl_cuda_kmeans_best *t, float score, uint32_t j)
{
	t->second = fminf(t->second, fmaxf(t->first, score));
	t->a = score < t->first ? j : t->a;
	t->first = fminf(t->first, score);
}

static __device__ __forceinline__ void merge(struct sl_cuda_kmeans_best *t, const struct sl_cuda_kmeans_best &other)
{
	meet(t, other.first, other.a);
	t->second = fminf(t->second, other.second);
}

/* Merges the best scores of four threads that have the same points. */
static __device__ __forceinline__ void merge_four(struct sl_cuda_kmeans_best *t)
{
#pragma unroll
	for (int step = 1; step < 4; step *= 2)
		merge(t, {__shfl_xor_sync(~0u, t->first, step), __shfl_xor_sync(~0u, t->second, step),
			  __shfl_xor_sync(~0u, t->a, step)});
}

/* product * factor + half of the centroid = score */
static __device__ __forceinline__ float score_factor(const struct sl_cuda_kmeans &m, uint32_t row)
{
	return ldexpf(-1, -power_for(m.norm[row]) - power_for(__uint_as_float(m.greatest[0])));
}

static __device__ __forceinline__ double slack_of(const struct sl_cuda_kmeans &m, uint32_t row)
{
	return score_slack<double>(m.d, m.width, m.split, (double)m.norm[row], (double)m.away[row],
				   (double)__uint_as_float(m.greatest[0]), (double)__uint_as_float(m.greatest[1]));
}

/* At least twice the slack: in single precision, which errs by less than 2^-18 here. */
static __device__ __forceinline__ float twice_slack(const struct sl_cuda_kmeans &m, uint32_t row)
{
	float slack = score_slack<float>(m.d, m.width, m.split, m.norm[row], m.away[row], __uint_as_float(m.greatest[0]),
					 __uint_as_float(m.greatest[1]));
	return 2 * slack * (1 + 0x1p-18f) + 16 * FLT_MIN;
}

static __device__ __forceinline__ void collect(const struct sl_cuda_kmeans &m, uint32_t place, uint32_t j)
{
	if (*(volatile uint32_t *)(m.opens + 1) > m.candidates)  /* full; without this the counter could overflow */
		return;
	uint32_t at = atomicAdd(m.opens + 1, 1u);
	if (at < m.candidates)
		m.candidate[at] = {place, j, 0};
}

#endif
