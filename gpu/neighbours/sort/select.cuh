/* select.cuh -- sums, minima and sorting within groups of G threads (a warp or a block), and a map from floats to
 * integers that keeps their order. */
#ifndef SL_GPU_SELECT_CUH
#define SL_GPU_SELECT_CUH

#include "gpu/device/launch.cuh"

static __device__ __forceinline__ uint32_t ordered(float x)
{
	uint32_t bits = __float_as_uint(x);
	return bits ^ (bits >> 31 ? ~0u : 1u << 31);
}

static __device__ __forceinline__ float unordered(uint32_t u)
{
	return __uint_as_float(u ^ (u >> 31 ? 1u << 31 : ~0u));
}

template <int G> static __device__ __forceinline__ void group_sync()
{
	if (G == 32)
		__syncwarp();
	else
		__syncthreads();
}

/* Collects one number of each warp in scratch[G / 32 + 1]. */
static __device__ __forceinline__ void gather_warps(uint32_t x, uint32_t *scratch)
{
	__syncthreads();
	if (threadIdx.x % 32 == 0)
		scratch[threadIdx.x / 32] = x;
	__syncthreads();
}

/* All threads get the result. scratch: [G / 32 + 1], unused if the group is a warp. */
template <int G> static __device__ __forceinline__ uint32_t group_sum(uint32_t x, uint32_t *scratch)
{
	x = __reduce_add_sync(~0u, x);
	if (G == 32)
		return x;
	gather_warps(x, scratch);
	x = 0;
	for (int w = 0; w < G / 32; w++)
		x += scratch[w];
	return x;
}

template <int G> static __device__ __forceinline__ uint32_t group_min(uint32_t x, uint32_t *scratch)
{
	x = __reduce_min_sync(~0u, x);
	if (G == 32)
		return x;
	gather_warps(x, scratch);
	for (int w = 0; w < G / 32; w++)
		x = min(x, scratch[w]);
	return x;
}

/* The number of threads before this one with the flag set; *total: of all threads. */
template <int G> static __device__ __forceinline__ uint32_t group_rank(bool has, uint32_t *scratch, uint32_t *total)
{
	uint32_t votes = __ballot_sync(~0u, has), rank = __popc(votes & ((1u << threadIdx.x % 32) - 1));
	*total = __popc(votes);
	if (G == 32)
		return rank;
	gather_warps(*total, scratch);
	*total = 0;
	for (uint32_t w = 0; w < G / 32; w++) {
		rank += w < threadIdx.x / 32 ? scratch[w] : 0;
		*total += scratch[w];
	}
	return rank;
}

/* Sorts in ascending order; size must be a power of two. */
template <int G> static __device__ __forceinline__ void group_sort(uint64_t *key, uint32_t size)
{
	for (uint32_t run = 2; run <= size; run *= 2)
		for (uint32_t step = run / 2; step; step /= 2) {
			group_sync<G>();
			for (uint32_t i = threadIdx.x % G; i < size / 2; i += G) {
				uint32_t low = i / step * step * 2 + i % step, high = low + step;
				uint64_t a = key[low], b = key[high];
				if ((a > b) == !(low & run)) {
					key[low] = b;
					key[high] = a;
				}
			}
		}
	group_sync<G>();
}

/* The first i with cell[i] >= x. */
static __device__ __forceinline__ uint32_t first_at_least(const uint32_t *cell, uint32_t count, uint32_t x)
{
	uint32_t low = 0, high = count;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (cell[middle] < x)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

#endif
