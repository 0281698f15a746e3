/* rows.cuh -- runs a kernel's function F for each row of the weights, and sums numbers over all rows.
 *
 * A kernel is a struct F with
 *   bool idle()                                     true: the kernel does nothing; the same for all threads
 *   const double *gathered()                        x [n + 1]
 *   void row(uint32_t i, double sum, double *part)  processes row i, sum = sum_j w_ij x_j; adds to part[F::SUMS]
 *   void end(const double *total)                   called by one thread after all rows; total: the sums of part
 *
 * Blocks have 256 threads. The first blocks process the hubs, one block each, since they take longest; then one warp
 * for each other row of the list; then 8 slices a block, one thread for each row. A thread loads four entries at once.
 * Bound by gathering x_j from the L2 cache, 32 bytes per entry, and by reading the matrix, 4 bytes per entry (8 with
 * weights) and about 50 bytes per row. */
#ifndef SL_GPU_SIGNAL_ROWS_CUH
#define SL_GPU_SIGNAL_ROWS_CUH

#include "gpu/device/launch.cuh"
#include "gpu/signal/signal.h"

#define BLOCK 256
#define WARPS (BLOCK / 32)

/* ---- models (core/signal/models.h) --------------------------------------------------------------- */

template <int MODEL>
static __device__ __forceinline__ void react(const struct sl__rates &k, double u, double v, double *du, double *dv)
{
	if (MODEL == SL_SIGNAL_FITZHUGH_NAGUMO) {
		*du = u - u * u * u * (1.0 / 3) - v + k.current;
		*dv = k.epsilon * (u + k.a - k.b * v);
	} else if (MODEL == SL_SIGNAL_NAGUMO) {
		*du = u * (1 - u) * (u - k.a) - v + k.current;
		*dv = k.epsilon * (u - k.b * v);
	} else {
		*du = 0;
	}
}

static __device__ __forceinline__ double pressure(const struct sl__rates &k, double degree, double sum, bool stimulated)
{
	double p = !k.random_walk ? sum : degree > 0 ? sum / degree : 0;
	return k.infection * p + (stimulated ? k.stimulus : 0);
}

/* Returns c_i, the factors for which the sum of c_i u_i is conserved. */
static __device__ __forceinline__ double capacity(bool random_walk, double degree)
{
	return random_walk && degree > 0 ? degree : 1;
}

/* ---- sums over all rows -------------------------------------------------------------------------- */

/* Sums numbers over all threads. All threads of all blocks call it once. part [SUMS][blocks]: the blocks' sums; the
 * last block to arrive adds them in order. */
template <class F>
static __device__ __forceinline__ void finish(F &f, const double *mine, double *part, uint32_t *arrived)
{
	if constexpr (F::SUMS > 0) {
		double total[2] = {0, 0};
		for (int k = 0; k < F::SUMS; k++) {
			double sum = block_sum(mine[k]);
			if (threadIdx.x == 0)
				part[(size_t)k * gridDim.x + blockIdx.x] = sum;
		}
		if (!last_block(arrived))
			return;
		for (int k = 0; k < F::SUMS; k++)
			total[k] = sum_parts(part + (size_t)k * gridDim.x, gridDim.x);
		if (threadIdx.x == 0)
			f.end(total);
	}
}

/* ---- rows ---------------------------------------------------------------------------------------- */

/* Returns the sum over the entries from, from + step, ... of a row of the list. */
static __device__ __forceinline__ double listed(const struct sl_signal_matrix &a, const double *__restrict__ x,
						uint64_t from, uint64_t to, uint32_t step)
{
	double sum[4] = {0, 0, 0, 0};
	uint64_t e = from;
	for (; e + 3ull * step < to; e += 4ull * step) {
		uint32_t node[4];
#pragma unroll
		for (uint32_t k = 0; k < 4; k++)
			node[k] = a.listed_node[e + (uint64_t)k * step];
#pragma unroll
		for (uint32_t k = 0; k < 4; k++)
			sum[k] += a.listed_weight ? (double)a.listed_weight[e + (uint64_t)k * step] * x[node[k]] : x[node[k]];
	}
	for (; e < to; e += step)
		sum[0] += a.listed_weight ? (double)a.listed_weight[e] * x[a.listed_node[e]] : x[a.listed_node[e]];
	return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

/* Returns the sum over the entries of a row in a slice, in order. from: the row's first entry. Entries with which the
 * slice is padded add 0. */
static __device__ __forceinline__ double sliced(const struct sl_signal_matrix &a, const double *__restrict__ x,
						uint64_t from, uint64_t to)
{
	double sum = 0;
	for (uint64_t e = from; e < to; e += 4 * SL_SIGNAL_SLICE) {
		double their[4], weight[4];
#pragma unroll
		for (int k = 0; k < 4; k++) {
			uint64_t at = e + (uint64_t)k * SL_SIGNAL_SLICE;
			their[k] = x[at < to ? a.node[at] : a.n];
			weight[k] = a.weight && at < to ? (double)a.weight[at] : 1;
		}
#pragma unroll
		for (int k = 0; k < 4; k++)
			sum += weight[k] * their[k];
	}
	return sum;
}

/* Returns the number of blocks for the hubs and the other rows of the list. */
static __host__ __device__ __forceinline__ uint32_t listed_blocks(const struct sl_signal_matrix &a)
{
	return a.hubs + (a.wide + WARPS - 1) / WARPS;
}

template <class F>
static __global__ void __launch_bounds__(BLOCK)
through_rows(const __grid_constant__ struct sl_signal_matrix a, F f, double *part, uint32_t *arrived)
{
	double mine[2] = {0, 0};
	uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32;
	await_previous();
	if (f.idle())
		return;
	const double *x = f.gathered();
	if (blockIdx.x < a.hubs) {
		double sum = listed(a, x, a.start[blockIdx.x] + threadIdx.x, a.start[blockIdx.x + 1], BLOCK);
		sum = block_sum(sum);
		if (threadIdx.x == 0)
			f.row(a.row[blockIdx.x], sum, mine);
	} else if (blockIdx.x < listed_blocks(a)) {
		uint32_t k = a.hubs + (blockIdx.x - a.hubs) * WARPS + warp;
		if (k < a.hubs + a.wide) {
			double sum = sum_lanes(listed(a, x, a.start[k] + lane, a.start[k + 1], 32));
			if (lane == 0)
				f.row(a.row[k], sum, mine);
		}
	} else {
		uint32_t slice = (blockIdx.x - listed_blocks(a)) * WARPS + warp, i = slice * SL_SIGNAL_SLICE + lane;
		if (i < a.n && !(a.elsewhere[slice] >> lane & 1))
			f.row(i, sliced(a, x, a.slice[slice] + lane, a.slice[slice + 1]), mine);
	}
	finish(f, mine, part, arrived);
}

/* The same without sums over entries, one thread for each row. F has row(i, part) and no gathered(). */
template <class F>
static __global__ void __launch_bounds__(BLOCK) through_values(uint32_t n, F f, double *part, uint32_t *arrived)
{
	double mine[2] = {0, 0};
	uint32_t i = blockIdx.x * BLOCK + threadIdx.x;
	await_previous();
	if (f.idle())
		return;
	if (i < n)
		f.row(i, mine);
	finish(f, mine, part, arrived);
}

template <class F>
static inline cudaError_t queue_rows(const struct sl_signal_matrix *a, const F &f, double *part,
				     struct sl_signal_report *r, cudaStream_t stream)
{
	launch(through_rows<F>, sl__signal_blocks(a), BLOCK, 0, stream, *a, f, part, &r->arrived);
	return cudaGetLastError();
}

template <class F>
static inline cudaError_t queue_values(const struct sl_signal_matrix *a, const F &f, double *part,
				       struct sl_signal_report *r, cudaStream_t stream)
{
	launch(through_values<F>, blocks_for(a->n, BLOCK), BLOCK, 0, stream, a->n, f, part, &r->arrived);
	return cudaGetLastError();
}

#endif
