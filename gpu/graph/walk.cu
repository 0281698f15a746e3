/* Products of the random walk's matrix with a block of 8 vectors, and connected components.
 *
 * One warp per row. Each of 4 groups of 8 threads takes every fourth entry, one thread per column, so that the 32 bytes
 * of a neighbour are one memory sector. Entries are assigned to groups, and sums added, in a fixed order. Bound by
 * gathering x_j, 32 bytes per entry, from the L2 cache.
 *
 * Times in this file: one NVIDIA H200, until 2026-11-25; command: DIR/test_walk bench. */
#include "gpu/device/launch.cuh"
#include "gpu/graph/walk.h"
#include "gpu/state/rows.cuh"

#define BLOCK 256
#define COLUMNS 8

/* walk_step takes one step for a block of 8 vectors x [n][8]: w = D^-1 P x, a = slope w - shift x (PLAIN: w), and to =
 * a (FIRST) or 2 a - to. One warp per row. 1.3 ms for 1.3 million nodes and 162 million entries (H200). Test:
 * tests/gpu/test_rows.c; bench: tests/gpu/test_walk.c. */
template <bool WIDE, bool FIRST, bool PLAIN>
static __global__ void __launch_bounds__(BLOCK)
walk_step(struct sl_matrix m, const float *__restrict__ slope, const float *__restrict__ shift,
	  const float *__restrict__ x, float *__restrict__ to)
{
	const int E = piece<WIDE>::ENTRIES;
	const uint32_t G = 32 / COLUMNS;
	uint32_t i = blockIdx.x * (BLOCK / 32) + threadIdx.x / 32, group = threadIdx.x % 32 / COLUMNS;
	uint32_t column = threadIdx.x % COLUMNS;
	if (i >= m.n)
		return;
	float sum = 0;
	for (uint32_t at = m.start[i] + group; at < m.start[i + 1]; at += G) {
		struct piece<WIDE> here;
		float their[E];
		open_piece<WIDE>(__ldcs(m.piece + at), m.bits, &here);
#pragma unroll
		for (int e = 0; e < E; e++)
			their[e] = x[(size_t)here.node[e] * COLUMNS + column];
#pragma unroll
		for (int e = 0; e < E; e++)
			sum = fmaf(here.weight[e], their[e], sum);
	}
	sum += __shfl_xor_sync(~0u, sum, 8);
	sum += __shfl_xor_sync(~0u, sum, 16);
	if (group)
		return;
	uint32_t node = m.first + i;
	size_t at = (size_t)node * COLUMNS + column;
	float a = sum * row_scale<WIDE>(m, i) / m.mass[i];
	if (!PLAIN)
		a = slope[node] * a - shift[node] * x[at];
	to[at] = FIRST ? a : 2 * a - to[at];
}

template <bool WIDE>
static void launch_step(const struct sl_matrix *a, const float *slope, const float *shift, const float *x, bool first,
			float *to, cudaStream_t stream)
{
	uint32_t blocks = blocks_for((uint64_t)a->n * 32, BLOCK);
#define STEP(first, plain) walk_step<WIDE, first, plain><<<blocks, BLOCK, 0, stream>>>(*a, slope, shift, x, to)
	if (first && !slope)
		STEP(true, true);
	else if (first)
		STEP(true, false);
	else if (!slope)
		STEP(false, true);
	else
		STEP(false, false);
#undef STEP
}

cudaError_t sl__walk_step(const struct sl_matrix *a, const float *slope, const float *shift, const float *x, bool first,
			  float *to, cudaStream_t stream)
{
	if (!a->n)
		return cudaSuccess;
	if (a->bits)
		launch_step<false>(a, slope, shift, x, first, to, stream);
	else
		launch_step<true>(a, slope, shift, x, first, to, stream);
	return cudaGetLastError();
}

/* ---- components ----------------------------------------------------------------------- */

/* Union-find with the smaller number as the root, as in Jaiganesh and Burtscher, HPDC 2018. It halves paths on its way.
 * Races between threads are harmless, since a parent only becomes smaller. */
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

/* Makes each node the root of its own set. One thread per node. */
static __global__ void __launch_bounds__(BLOCK) start_alone(uint32_t n, uint32_t *parent)
{
	uint32_t i = blockIdx.x * BLOCK + threadIdx.x;
	if (i < n)
		parent[i] = i;
}

static __device__ __forceinline__ void join(uint32_t *parent, uint32_t i, uint32_t j)
{
	uint32_t a = find_root(parent, i), b = find_root(parent, j);
	while (a != b) {
		uint32_t high = a > b ? a : b, low = a > b ? b : a;
		uint32_t had = atomicCAS(parent + high, high, low);
		if (had == high)
			break;
		a = find_root(parent, had);
		b = find_root(parent, low);
	}
}

/* One warp per row. Each edge is in two rows; the kernel uses the entry with the smaller column, and so skips
 * padding. */
template <bool WIDE>
static __global__ void __launch_bounds__(BLOCK) unite(struct sl_matrix m, uint32_t *parent)
{
	uint32_t i = blockIdx.x * (BLOCK / 32) + threadIdx.x / 32;
	if (i >= m.n)
		return;
	for (uint32_t at = m.start[i] + threadIdx.x % 32; at < m.start[i + 1]; at += 32) {
		struct piece<WIDE> here;
		open_piece<WIDE>(m.piece[at], m.bits, &here);
		for (int e = 0; e < piece<WIDE>::ENTRIES; e++)
			if (here.node[e] < m.first + i)
				join(parent, m.first + i, here.node[e]);
	}
}

/* Each thread changes only its own entry: halving another node's path could undo the root that it was just given. */
static __global__ void __launch_bounds__(BLOCK) flatten(uint32_t n, uint32_t *parent)
{
	volatile uint32_t *now = parent;
	uint32_t i = blockIdx.x * BLOCK + threadIdx.x;
	if (i >= n)
		return;
	uint32_t root = now[i];
	for (uint32_t up = now[root]; up != root; up = now[root])
		root = up;
	now[i] = root;
}

cudaError_t sl__walk_label(const struct sl_matrix *a, uint32_t n, uint32_t *label, cudaStream_t stream)
{
	if (!a->n)
		return cudaSuccess;
	start_alone<<<blocks_for(n, BLOCK), BLOCK, 0, stream>>>(n, label);
	uint32_t blocks = blocks_for((uint64_t)a->n * 32, BLOCK);
	if (a->bits)
		unite<false><<<blocks, BLOCK, 0, stream>>>(*a, label);
	else
		unite<true><<<blocks, BLOCK, 0, stream>>>(*a, label);
	return each(n, flatten, stream, n, label);
}
