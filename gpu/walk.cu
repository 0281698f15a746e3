/* Products of the walk's matrix with a block of 8 vectors, and components.
 *
 * A warp a row: 4 groups of 8 threads take every fourth entry each, a thread a column, so that the 32 bytes of a
 * neighbour come in one sector. Which group takes which entry and the order of the final sum are fixed. Bound by
 * gathering x_j, 32 bytes an entry, from the second-level cache. */
#include "gpu/device.cuh"
#include "gpu/walk.h"

#define BLOCK 256
#define COLUMNS 8

template <bool FIRST, bool PLAIN>
static __global__ void __launch_bounds__(BLOCK)
walk_step(uint32_t n, const uint64_t *__restrict__ start, const uint32_t *__restrict__ node,
	  const float *__restrict__ p, const float *__restrict__ mass, const float *__restrict__ slope,
	  const float *__restrict__ shift, const float *__restrict__ x, float *__restrict__ to)
{
	uint32_t i = blockIdx.x * (BLOCK / 32) + threadIdx.x / 32, group = threadIdx.x % 32 / COLUMNS;
	uint32_t column = threadIdx.x % COLUMNS;
	if (i >= n)
		return;
	const uint32_t U = 4, G = 32 / COLUMNS;
	uint64_t e = start[i] + group, end = start[i + 1];
	float sum = 0;
	for (; e + (U - 1) * G < end; e += U * G) {
		uint32_t j[U];
		float w[U], their[U];
#pragma unroll
		for (uint32_t u = 0; u < U; u++) {
			j[u] = __ldcs(node + e + u * G);
			w[u] = __ldcs(p + e + u * G);
		}
#pragma unroll
		for (uint32_t u = 0; u < U; u++)
			their[u] = x[(size_t)j[u] * COLUMNS + column];
#pragma unroll
		for (uint32_t u = 0; u < U; u++)
			sum = fmaf(w[u], their[u], sum);
	}
	for (; e < end; e += G)
		sum = fmaf(__ldcs(p + e), x[(size_t)__ldcs(node + e) * COLUMNS + column], sum);
	sum += __shfl_xor_sync(~0u, sum, 8);
	sum += __shfl_xor_sync(~0u, sum, 16);
	if (group)
		return;
	size_t at = (size_t)i * COLUMNS + column;
	float a = sum / mass[i];
	if (!PLAIN)
		a = slope[i] * a - shift[i] * x[at];
	to[at] = FIRST ? a : 2 * a - to[at];
}

cudaError_t sl__walk_step(const struct sl_matrix *a, const float *slope, const float *shift, const float *x, bool first,
			  float *to, cudaStream_t stream)
{
	if (!a->n)
		return cudaSuccess;
	uint32_t blocks = blocks_for((uint64_t)a->n * 32, BLOCK);
#define STEP(first, plain) \
	walk_step<first, plain><<<blocks, BLOCK, 0, stream>>>(a->n, a->start, a->node, a->p, a->mass, slope, shift, x, to)
	if (first && !slope)
		STEP(true, true);
	else if (first)
		STEP(true, false);
	else if (!slope)
		STEP(false, true);
	else
		STEP(false, false);
#undef STEP
	return cudaGetLastError();
}

/* ---- components ----------------------------------------------------------------------- */

/* Union-find with the smaller number as the root, as in Jaiganesh and Burtscher, HPDC 2018: paths are halved on the
 * way, which races with nothing that matters, since a parent only ever becomes smaller. */
static __device__ __forceinline__ uint32_t find_root(uint32_t *parent, uint32_t i)
{
	volatile uint32_t *now = parent;
	uint32_t up = now[i];
	while (up != i) {
		uint32_t further = now[up];
		if (further != up)
			now[i] = further;
		i = up;
		up = further;
	}
	return i;
}

static __global__ void __launch_bounds__(BLOCK) start_alone(uint32_t n, uint32_t *parent)
{
	uint32_t i = blockIdx.x * BLOCK + threadIdx.x;
	if (i < n)
		parent[i] = i;
}

/* A warp a row. */
static __global__ void __launch_bounds__(BLOCK)
unite(uint32_t n, const uint64_t *__restrict__ start, const uint32_t *__restrict__ node, uint32_t *parent)
{
	uint32_t i = blockIdx.x * (BLOCK / 32) + threadIdx.x / 32;
	if (i >= n)
		return;
	for (uint64_t e = start[i] + threadIdx.x % 32; e < start[i + 1]; e += 32) {
		if (node[e] >= i)
			continue;
		uint32_t a = find_root(parent, i), b = find_root(parent, node[e]);
		while (a != b) {
			uint32_t high = a > b ? a : b, low = a > b ? b : a;
			uint32_t had = atomicCAS(parent + high, high, low);
			if (had == high)
				break;
			a = find_root(parent, had);
			b = find_root(parent, low);
		}
	}
}

static __global__ void __launch_bounds__(BLOCK) flatten(uint32_t n, uint32_t *parent)
{
	uint32_t i = blockIdx.x * BLOCK + threadIdx.x;
	if (i < n)
		parent[i] = find_root(parent, i);
}

cudaError_t sl__walk_label(const struct sl_matrix *a, uint32_t *label, cudaStream_t stream)
{
	if (!a->n)
		return cudaSuccess;
	start_alone<<<blocks_for(a->n, BLOCK), BLOCK, 0, stream>>>(a->n, label);
	unite<<<blocks_for((uint64_t)a->n * 32, BLOCK), BLOCK, 0, stream>>>(a->n, a->start, a->node, label);
	flatten<<<blocks_for(a->n, BLOCK), BLOCK, 0, stream>>>(a->n, label);
	return cudaGetLastError();
}
