/* The steps of a breadth-first search that numbers nodes as core/graph/order.c does. That search takes the nodes one by
 * one from a queue and appends the neighbours of each. So a level is in the order of the nodes that reached it first,
 * which are those with the lowest place in the queue; and among those that the same node reached, by degree and number.
 * Nodes are found in ascending order and sorted by a stable sort, so keys need no number.
 *
 * One thread per node, unless a kernel says otherwise. Test: tests/gpu/test_affinities.c. */
#include "gpu/affinities/affinities.h"
#include "gpu/device/launch.cuh"

#define BLOCK 256

static __global__ void reset(struct sl_search s)
{
	uint32_t i = blockIdx.x * BLOCK + threadIdx.x;
	if (i >= s.sides.n)
		return;
	s.mark[i] = 0;
	s.parent[i] = SL_NOBODY;
	s.flag[i] = 0;
	s.waiting[i] = s.length[i] > 0;
}

cudaError_t sl__search_reset(const struct sl_search *s, cudaStream_t stream)
{
	return each(s->sides.n, reset, stream, *s);
}

static __device__ __forceinline__ void reach(const struct sl_search &s, uint32_t search, uint32_t node, uint32_t by)
{
	if (s.mark[node] == search || (s.sides.left_out && s.sides.left_out[node]))
		return;
	s.flag[node] = 1;
	if (s.parent[node] > by)
		atomicMin(s.parent + node, by);
}

/* One warp per node. The edges of a node that is left out are not followed: its row of P is empty, so no search reaches
 * it. */
static __global__ void expand(struct sl_search s, uint32_t search, const uint32_t *queue, uint32_t first,
		uint32_t count)
{
	uint32_t i = blockIdx.x * (BLOCK / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
	if (i >= count)
		return;
	uint32_t node = queue[first + i];
	const struct sl_sides &g = s.sides;
	for (uint64_t e = g.start[node] + lane; e < g.start[node + 1]; e += 32)
		reach(s, search, g.node[e], first + i);
	if (g.source == g.node)
		return;
	for (uint64_t e = g.row_start[node] + lane; e < g.row_start[node + 1]; e += 32)
		reach(s, search, g.source[e], first + i);
}

cudaError_t sl__search_expand(const struct sl_search *s, uint32_t search, const uint32_t *queue, uint32_t first,
			      uint32_t count, cudaStream_t stream)
{
	return each_warp(count, expand, stream, *s, search, queue, first, count);
}

static __global__ void keys(struct sl_search s, bool by_degree, const uint32_t *chosen, uint32_t count, uint64_t *key)
{
	uint32_t i = blockIdx.x * BLOCK + threadIdx.x;
	if (i < count)
		key[i] = (uint64_t)s.parent[chosen[i]] << 32 | (by_degree ? s.length[chosen[i]] : 0);
}

cudaError_t sl__search_keys(const struct sl_search *s, bool by_degree, const uint32_t *chosen, uint32_t count,
			    uint64_t *key, cudaStream_t stream)
{
	return each(count, keys, stream, *s, by_degree, chosen, count, key);
}

static __global__ void settle(struct sl_search s, uint32_t search, const uint32_t *level, uint32_t count)
{
	uint32_t i = blockIdx.x * BLOCK + threadIdx.x;
	if (i >= count)
		return;
	uint32_t node = level[i];
	s.mark[node] = search;
	s.parent[node] = SL_NOBODY;
	s.flag[node] = 0;
}

cudaError_t sl__search_settle(const struct sl_search *s, uint32_t search, const uint32_t *level, uint32_t count,
			      cudaStream_t stream)
{
	return each(count, settle, stream, *s, search, level, count);
}

static __global__ void served(struct sl_search s, const uint32_t *list, uint32_t count)
{
	uint32_t i = blockIdx.x * BLOCK + threadIdx.x;
	if (i < count)
		s.waiting[list[i]] = 0;
}

cudaError_t sl__search_served(const struct sl_search *s, const uint32_t *list, uint32_t count, cudaStream_t stream)
{
	return each(count, served, stream, *s, list, count);
}

static __global__ void least(struct sl_search s, const uint32_t *level, uint32_t count, unsigned long long *best)
{
	uint32_t i = blockIdx.x * BLOCK + threadIdx.x;
	unsigned long long mine = i < count ? (unsigned long long)s.length[level[i]] << 32 | i : ~0ull;
	for (int step = 16; step; step >>= 1) {
		unsigned long long other = __shfl_xor_sync(~0u, mine, step);
		mine = other < mine ? other : mine;
	}
	if (threadIdx.x % 32 == 0 && mine != ~0ull)
		atomicMin(best, mine);
}

cudaError_t sl__search_least(const struct sl_search *s, const uint32_t *level, uint32_t count,
			     unsigned long long *best, cudaStream_t stream)
{
	cudaError_t status = cudaMemsetAsync(best, 0xff, sizeof *best, stream);
	return status == cudaSuccess ? each(count, least, stream, *s, level, count, best) : status;
}

static __global__ void reverse(uint32_t *list, uint32_t count)
{
	uint32_t i = blockIdx.x * BLOCK + threadIdx.x;
	if (i >= count / 2)
		return;
	uint32_t other = list[count - 1 - i];
	list[count - 1 - i] = list[i];
	list[i] = other;
}

cudaError_t sl__search_reverse(uint32_t *list, uint32_t count, cudaStream_t stream)
{
	return count < 2 ? cudaSuccess : each(count / 2, reverse, stream, list, count);
}
