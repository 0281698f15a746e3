/* small_block.cuh -- device functions of one block in the cluster of a small embedding: sums over the cluster, forces
 * and measurements of its rows, steps of its nodes. The kernel in small.cu calls them. */
#ifndef SL_GPU_SMALL_BLOCK_CUH
#define SL_GPU_SMALL_BLOCK_CUH

#include <cooperative_groups.h>

#include "core/engine/update.h"
#include "core/params.h"
#include "gpu/device/launch.cuh"
#include "gpu/small/small.h"
#include "gpu/state/point.cuh"

#define BLOCK 1024
#define ROWS 4          /* rows that a warp takes at a time */
#define ROWS_A_BLOCK 128

namespace cg = cooperative_groups;

static inline __host__ __device__ uint32_t align16(uint32_t bytes) { return (bytes + 15) / 16 * 16; }
static inline __host__ __device__ uint32_t padded_nodes(uint32_t n) { return (n + 31) / 32 * 32; }
static inline __host__ __device__ uint32_t rows_of(uint32_t n, uint32_t ranks) { return (n + ranks - 1) / ranks; }

/* ---- in a cluster ------------------------------------------------------------------------ */

/* One block's view of its embedding. */
struct block {
	uint32_t n, first, rows;   /* own rows */
	uint32_t rank, ranks;
	float *y;                  /* shared, [padded_nodes(n) * stride] */
	float *attraction, *repulsion;  /* shared, [rows * D] */
	const uint32_t *start;     /* shared, [rows + 1], offsets into node and p */
	const uint16_t *node;      /* in shared or in global memory; p likewise */
	const float *p;
	double (*parts)[SL_SMALL_RANKS];  /* shared, [2] */
	int turn;                  /* the half of parts for the next sum */
	float nu;
};

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900

/* Sums over all threads of the cluster, in a fixed order; all of them get the sum. A block that is one sum ahead writes
 * the other half of `parts`; it cannot be two sums ahead. */
static __device__ double cluster_sum(struct block *b, double x)
{
	__shared__ double mine;
	cg::cluster_group cluster = cg::this_cluster();
	double *parts = b->parts[b->turn ^= 1];
	x = block_sum(x);
	if (threadIdx.x == 0)
		mine = x;
	__syncthreads();
	if (threadIdx.x < b->ranks)
		*cluster.map_shared_rank(parts + b->rank, threadIdx.x) = mine;
	cluster.sync();
	double sum = 0;
	for (uint32_t r = 0; r < b->ranks; r++)
		sum += parts[r];
	return sum;
}

/* Sums over the warp of V values for each of four rows: lanes 8 r to 8 r + 7 get those of row r. */
template <int V> static __device__ __forceinline__ void scatter_rows(float v[ROWS][V], uint32_t lane, float *out)
{
	bool upper = lane & 16, second = lane & 8;
#pragma unroll
	for (int k = 0; k < V; k++) {
		float keep0 = upper ? v[2][k] : v[0][k], send0 = upper ? v[0][k] : v[2][k];
		float keep1 = upper ? v[3][k] : v[1][k], send1 = upper ? v[1][k] : v[3][k];
		keep0 += __shfl_xor_sync(~0u, send0, 16);
		keep1 += __shfl_xor_sync(~0u, send1, 16);
		float keep = second ? keep1 : keep0, send = second ? keep0 : keep1;
		keep += __shfl_xor_sync(~0u, send, 8);
		out[k] = sum_lanes(keep, 8);
	}
}

/* Repulsion on four rows from `row` on, not yet divided by Z. out[D]: the sum of q~, including the point itself. */
template <int D, bool HEAVY>
static __device__ __forceinline__ void repel(const struct block *b, uint32_t row, uint32_t lane, float *out)
{
	float own[ROWS][3], sum[ROWS][D + 1];
#pragma unroll
	for (int r = 0; r < ROWS; r++) {
		uint32_t at = row + r < b->rows ? row + r : b->rows - 1;
		load_point<D>(b->y, b->first + at, own[r]);
#pragma unroll
		for (int k = 0; k <= D; k++)
			sum[r][k] = 0;
	}
	/* a heavy-tailed kernel is not 0 even for the padding, so the loop leaves it out */
	const uint32_t count = HEAVY ? b->n : padded_nodes(b->n);
	const float steeper = -(b->nu + 1);
#pragma unroll 2
	for (uint32_t j = lane; j < count; j += 32) {
		float their[3];
		load_point<D>(b->y, j, their);
#pragma unroll
		for (int r = 0; r < ROWS; r++) {
			float diff[D], r2 = 1;
#pragma unroll
			for (int k = 0; k < D; k++) {
				diff[k] = own[r][k] - their[k];
				r2 = fmaf(diff[k], diff[k], r2);
			}
			float steep;
			sum[r][D] += kernel<HEAVY>(r2, steeper, &steep);
#pragma unroll
			for (int k = 0; k < D; k++)
				sum[r][k] = fmaf(steep, diff[k], sum[r][k]);
		}
	}
	scatter_rows<D + 1>(sum, lane, out);
}

/* Attraction on row `row`, by the eight lanes that share it. */
template <int D>
static __device__ __forceinline__ void attract(const struct block *b, uint32_t row, uint32_t lane, float *out)
{
	float own[3], their[3];
	uint32_t at = row < b->rows ? row : b->rows - 1, to = row < b->rows ? b->start[at + 1] : 0;
	load_point<D>(b->y, b->first + at, own);
#pragma unroll
	for (int k = 0; k < D; k++)
		out[k] = 0;
#pragma unroll 4
	for (uint32_t e = b->start[at] + lane % 8; e < to; e += 8) {
		float diff[D], r2 = 1;
		load_point<D>(b->y, b->node[e], their);
#pragma unroll
		for (int k = 0; k < D; k++) {
			diff[k] = own[k] - their[k];
			r2 = fmaf(diff[k], diff[k], r2);
		}
		float w = b->p[e] * reciprocal(r2);
#pragma unroll
		for (int k = 0; k < D; k++)
			out[k] = fmaf(w, diff[k], out[k]);
	}
#pragma unroll
	for (int k = 0; k < D; k++)
		out[k] = sum_lanes(out[k], 8);
}

/* Writes both forces on the block's rows to shared memory; returns Z. */
template <int D, bool HEAVY> static __device__ double forces(struct block *b)
{
	uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32;
	double z = 0;
	for (uint32_t row = warp * ROWS; row < b->rows; row += BLOCK / 32 * ROWS) {
		float repulsion[D + 1], attraction[D];
		uint32_t mine = row + lane / 8;
		repel<D, HEAVY>(b, row, lane, repulsion);
		attract<D>(b, mine, lane, attraction);
		if (mine >= b->rows || lane % 8)
			continue;
#pragma unroll
		for (int k = 0; k < D; k++) {
			b->repulsion[mine * D + k] = repulsion[k];
			b->attraction[mine * D + k] = attraction[k];
		}
		z += (double)repulsion[D];
	}
	return fmax(cluster_sum(b, z) - (double)b->n, 1e-30);  /* without the pairs of a point with itself */
}

/* sum p log(1 + |y_i - y_j|^2) over this thread's entries. */
template <int D> static __device__ double divergence(const struct block *b)
{
	double all = 0;
	for (uint32_t row = threadIdx.x / 8; row < b->rows; row += BLOCK / 8) {
		float own[3], their[3], sum = 0;
		load_point<D>(b->y, b->first + row, own);
		for (uint32_t e = b->start[row] + threadIdx.x % 8; e < b->start[row + 1]; e += 8) {
			float r2 = 0;
			load_point<D>(b->y, b->node[e], their);
#pragma unroll
			for (int k = 0; k < D; k++)
				r2 = fmaf(own[k] - their[k], own[k] - their[k], r2);
			sum = fmaf(b->p[e], log1pf(r2), sum);
		}
		all += (double)sum;
	}
	return all;
}

/* The bounds of the layout, computed by one block; its thread 0 has the result. */
template <int D> static __device__ void bounds(const struct block *b, float *low, float *high)
{
	__shared__ float lows[BLOCK / 32][3], highs[BLOCK / 32][3];
	float lo[D], hi[D];
#pragma unroll
	for (int k = 0; k < D; k++) {
		lo[k] = INFINITY;
		hi[k] = -INFINITY;
	}
	for (uint32_t i = threadIdx.x; i < b->n; i += BLOCK) {
		float place[3];
		load_point<D>(b->y, i, place);
#pragma unroll
		for (int k = 0; k < D; k++) {
			lo[k] = fminf(lo[k], place[k]);
			hi[k] = fmaxf(hi[k], place[k]);
		}
	}
#pragma unroll
	for (int k = 0; k < D; k++) {
		for (int step = 16; step; step >>= 1) {
			lo[k] = fminf(lo[k], __shfl_xor_sync(~0u, lo[k], step));
			hi[k] = fmaxf(hi[k], __shfl_xor_sync(~0u, hi[k], step));
		}
		if (threadIdx.x % 32 == 0) {
			lows[threadIdx.x / 32][k] = lo[k];
			highs[threadIdx.x / 32][k] = hi[k];
		}
	}
	__syncthreads();
	for (int k = 0; k < 3 && threadIdx.x == 0; k++) {
		low[k] = high[k] = 0;
		for (int w = 0; w < BLOCK / 32 && k < D; w++) {
			low[k] = w ? fminf(low[k], lows[w][k]) : lows[w][k];
			high[k] = w ? fmaxf(high[k], highs[w][k]) : highs[w][k];
		}
	}
	__syncthreads();
}

template <int D, bool HEAVY> static __device__ void take_measure(struct block *b, struct sl_small_measure *out)
{
	double z = forces<D, HEAVY>(b), square = 0;
	double sum = cluster_sum(b, divergence<D>(b));
	for (uint32_t at = threadIdx.x; at < b->rows * D; at += BLOCK) {
		double gradient = (double)b->attraction[at] - (double)b->repulsion[at] / z;
		square += gradient * gradient;
	}
	square = cluster_sum(b, square);
	if (b->rank)
		return;
	bounds<D>(b, out->low, out->high);
	if (threadIdx.x == 0) {
		out->z = z;
		out->divergence = sum;
		out->square = square;
	}
}

/* Writes a position into the layouts of all blocks. */
template <int D> static __device__ __forceinline__ void publish(const struct block *b, uint32_t i, const float *place)
{
	cg::cluster_group cluster = cg::this_cluster();
	const int S = padded<D>::stride;
	for (uint32_t r = 0; r < b->ranks; r++) {
		float *to = cluster.map_shared_rank(b->y, r) + i * S;
		if (D == 1)
			*to = place[0];
		else if (D == 2)
			*reinterpret_cast<float2 *>(to) = make_float2(place[0], place[D - 1]);
		else
			*reinterpret_cast<float4 *>(to) = make_float4(place[0], place[1 % D], place[D - 1], 0);
	}
}

/* Lays out the shared memory and loads the whole layout and the block's share of P. */
template <int D> static __device__ void block_init(struct block *b, const struct sl_small_job *job, char *memory)
{
	const int S = padded<D>::stride;
	b->n = job->n;
	b->nu = job->nu;
	uint32_t share = rows_of(b->n, b->ranks), count = padded_nodes(b->n);
	b->first = b->rank * share < b->n ? b->rank * share : b->n;
	b->rows = b->n - b->first < share ? b->n - b->first : share;
	b->turn = 0;
	b->y = (float *)memory;
	memory += align16(count * S * 4);
	b->repulsion = (float *)memory;
	memory += align16(share * D * 4);
	b->attraction = (float *)memory;
	memory += align16(share * D * 4);
	uint32_t *start = (uint32_t *)memory;
	memory += align16((share + 1) * 4);
	const struct sl_small_graph *g = &job->graph;
	uint32_t from = b->rows ? g->start[b->first] : 0, entries = b->rows ? g->start[b->first + b->rows] - from : 0;
	for (uint32_t i = threadIdx.x; i <= b->rows; i += BLOCK)
		start[i] = b->rows ? g->start[b->first + i] - from : 0;
	for (uint32_t at = threadIdx.x; at < count * S; at += BLOCK)
		b->y[at] = at < b->n * S ? job->y[at] : 1e18f;  /* padding: far away from all points */
	b->start = start;
	b->node = g->node + from;
	b->p = g->p + from;
	if (job->cached) {
		float *p = (float *)memory;
		uint16_t *node = (uint16_t *)(memory + align16(entries * 4));
		for (uint32_t e = threadIdx.x; e < entries; e += BLOCK) {
			p[e] = g->p[from + e];
			node[e] = g->node[from + e];
		}
		b->p = p;
		b->node = node;
	}
}

/* One step of a node by the momentum rule. */
template <int D>
static __device__ __forceinline__ void
move(const struct sl_step &step, float rate, const float *gradient, float *place, float *velocity, float *gain)
{
	float product = 0, square = 0;
#pragma unroll
	for (int k = 0; k < D; k++)
		product += gradient[k] * velocity[k];
#pragma unroll
	for (int k = 0; k < D; k++) {
		bool downhill = step.gains == SL_GAINS_NODE ? sl_update_node_downhill(product)
							    : sl_update_downhill(gradient[k], velocity[k]);
		gain[k] = sl_update_gain(gain[k], downhill, step.gain_least, step.gain_added);
		velocity[k] = sl_update_velocity(rate, step.momentum, gain[k], gradient[k], velocity[k]);
		square += velocity[k] * velocity[k];
	}
	float clip = sl_update_clip(square, step.max_step);
#pragma unroll
	for (int k = 0; k < D; k++) {
		velocity[k] *= clip;
		place[k] += velocity[k];
	}
}

#endif

#endif
