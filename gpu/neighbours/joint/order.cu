/* The steps of Cuthill and McKee's order. A level of the breadth-first search reaches the neighbours of the last level;
 * each node notes the lowest rank that reached it; then the level is sorted by that rank and by degree. One thread per
 * node, unless a kernel says otherwise. The order of 1.3 million nodes takes 31 ms (H200). Test:
 * tests/gpu/test_neighbours.c.
 *
 * Times in this file: one NVIDIA H200, until 2026-11-23; commands: docs/notes/gpu-points.md. */
#include "core/neighbours/neighbours.h"
#include "gpu/neighbours/joint/joint.h"
#include "gpu/device/launch.cuh"

#define BLOCK 256

static __global__ void edges(uint32_t n, uint32_t k, uint32_t width, const uint32_t *index, uint32_t *target,
			     uint32_t *source)
{
	uint64_t e = (uint64_t)blockIdx.x * BLOCK + threadIdx.x;
	if (e >= (uint64_t)n * width)
		return;
	uint32_t row = (uint32_t)(e / width), j = index[(size_t)row * k + e % width];
	target[e] = j == SL_NO_NEIGHBOUR ? n : j;
	source[e] = row;
}

cudaError_t sl__levels_edges(uint32_t n, uint32_t k, uint32_t width, const uint32_t *index, uint32_t *target,
			     uint32_t *source, cudaStream_t stream)
{
	return each((uint64_t)n * width, edges, stream, n, k, width, index, target, source);
}

static __global__ void reset(struct sl_levels l)
{
	uint32_t i = blockIdx.x * BLOCK + threadIdx.x;
	if (i < l.n) {
		l.rank[i] = l.parent[i] = SL_NOBODY;
		l.flag[i] = 0;
	}
}

cudaError_t sl__levels_reset(const struct sl_levels *l, cudaStream_t stream)
{
	return each(l->n, reset, stream, *l);
}

static __device__ __forceinline__ void reach(const struct sl_levels &l, uint32_t node, uint32_t by)
{
	if (l.rank[node] != SL_NOBODY)
		return;
	l.flag[node] = 1;
	if (l.parent[node] > by)
		atomicMin(l.parent + node, by);
}

/* One warp per node. */
static __global__ void expand(struct sl_levels l, const uint32_t *order, uint32_t first, uint32_t count)
{
	uint32_t i = blockIdx.x * (BLOCK / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
	if (i >= count)
		return;
	uint32_t node = order[first + i];
	for (uint32_t e = lane; e < l.width; e += 32) {
		uint32_t j = l.index[(size_t)node * l.k + e];
		if (j != SL_NO_NEIGHBOUR)
			reach(l, j, first + i);
	}
	for (uint32_t e = l.from_start[node] + lane; e < l.from_start[node + 1]; e += 32)
		reach(l, l.from[e], first + i);
}

cudaError_t sl__levels_expand(const struct sl_levels *l, const uint32_t *order, uint32_t first, uint32_t count,
			      cudaStream_t stream)
{
	return each_warp(count, expand, stream, *l, order, first, count);
}

static __global__ void keys(struct sl_levels l, const uint32_t *chosen, uint32_t count, uint64_t *key)
{
	uint32_t i = blockIdx.x * BLOCK + threadIdx.x;
	if (i < count)
		key[i] = (uint64_t)l.parent[chosen[i]] << 32 | (l.from_start[chosen[i] + 1] - l.from_start[chosen[i]]);
}

cudaError_t sl__levels_keys(const struct sl_levels *l, const uint32_t *chosen, uint32_t count, uint64_t *key,
			    cudaStream_t stream)
{
	return each(count, keys, stream, *l, chosen, count, key);
}

static __global__ void settle(struct sl_levels l, const uint32_t *order, uint32_t first, uint32_t count)
{
	uint32_t i = blockIdx.x * BLOCK + threadIdx.x;
	if (i < count) {
		l.rank[order[first + i]] = first + i;
		l.flag[order[first + i]] = 0;
	}
}

cudaError_t sl__levels_settle(const struct sl_levels *l, const uint32_t *order, uint32_t first, uint32_t count,
			      cudaStream_t stream)
{
	return each(count, settle, stream, *l, order, first, count);
}

static __global__ void left(struct sl_levels l)
{
	uint32_t i = blockIdx.x * BLOCK + threadIdx.x;
	if (i < l.n)
		l.flag[i] = l.rank[i] == SL_NOBODY;
}

cudaError_t sl__levels_left(const struct sl_levels *l, cudaStream_t stream)
{
	return each(l->n, left, stream, *l);
}

static __global__ void label_start(uint32_t *label, uint32_t n)
{
	uint32_t i = blockIdx.x * BLOCK + threadIdx.x;
	if (i < n)
		label[i] = i;
}

cudaError_t sl__levels_label_start(uint32_t *label, uint32_t n, cudaStream_t stream)
{
	return each(n, label_start, stream, label, n);
}

/* Labels only decrease and end at the lowest number of a component, for any order of the threads. */
static __global__ void hook(struct sl_levels l, uint32_t *label, uint32_t *changed)
{
	uint32_t i = blockIdx.x * (BLOCK / 32) + threadIdx.x / 32;
	if (i >= l.n)
		return;
	for (uint32_t e = threadIdx.x % 32; e < l.width; e += 32) {
		uint32_t j = l.index[(size_t)i * l.k + e];
		if (j == SL_NO_NEIGHBOUR)
			continue;
		uint32_t a = *(volatile uint32_t *)(label + i), b = *(volatile uint32_t *)(label + j);
		if (a == b)
			continue;
		uint32_t low = a < b ? a : b, high = a < b ? b : a;
		atomicMin(label + high, low);
		atomicMin(label + (a < b ? j : i), low);
		*changed = 1;
	}
}

static __global__ void shorten(uint32_t *label, uint32_t n)
{
	uint32_t i = blockIdx.x * BLOCK + threadIdx.x;
	if (i >= n)
		return;
	uint32_t to = label[i];
	while (to != *(volatile uint32_t *)(label + to))
		to = *(volatile uint32_t *)(label + to);
	label[i] = to;
}

cudaError_t sl__levels_label(const struct sl_levels *l, uint32_t *label, uint32_t *changed, cudaStream_t stream)
{
	cudaError_t status = cudaMemsetAsync(changed, 0, 4, stream);
	if (status != cudaSuccess)
		return status;
	hook<<<blocks_for((uint64_t)l->n * 32, BLOCK), BLOCK, 0, stream>>>(*l, label, changed);
	return each(l->n, shorten, stream, label, l->n);
}

static __global__ void gather(const uint32_t *label, const uint32_t *chosen, uint32_t count, uint32_t *key)
{
	uint32_t i = blockIdx.x * BLOCK + threadIdx.x;
	if (i < count)
		key[i] = label[chosen[i]];
}

cudaError_t sl__levels_gather(const uint32_t *label, const uint32_t *chosen, uint32_t count, uint32_t *key,
			      cudaStream_t stream)
{
	return each(count, gather, stream, label, chosen, count, key);
}

static __global__ void invert(const uint32_t *old_of, uint32_t n, uint32_t *new_of)
{
	uint32_t i = blockIdx.x * BLOCK + threadIdx.x;
	if (i < n)
		new_of[old_of[i]] = i;
}

cudaError_t sl__levels_invert(const uint32_t *old_of, uint32_t n, uint32_t *new_of, cudaStream_t stream)
{
	return each(n, invert, stream, old_of, n, new_of);
}
