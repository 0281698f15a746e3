/* Squared distances of points to seeds and to their centroids, and sums over clusters, in double precision and in the
 * order that core/kmeans/passes.h defines. No sum uses atomics. */
#include "gpu/kmeans/exact.cuh"
#include "gpu/neighbours/sort/sort.h"

#define THREADS 256
#define AHEAD 8  /* rows that add_up() loads ahead of its additions */

/* ---- squares ----------------------------------------------------------------------------- */

/* between[j] = the squared distance between seeds `number` and j, for j < number. One warp for each j. */
static __global__ void between(const __grid_constant__ struct sl_cuda_kmeans m, uint32_t number)
{
	uint32_t j = blockIdx.x * (THREADS / 32) + threadIdx.x / 32;
	if (j >= number)
		return;
	const double *a = m.centroid + (size_t)number * m.d, *b = m.centroid + (size_t)j * m.d;
	double sum = 0;
	for (uint32_t k = threadIdx.x % 32; k < m.d; k += 32)
		sum = fma(a[k] - b[k], a[k] - b[k], sum);
	sum = sum_lanes(sum);
	if (threadIdx.x % 32 == 0)
		m.between[j] = sum;
}

cudaError_t sl__cuda_kmeans_between(const struct sl_cuda_kmeans *m, uint32_t number, cudaStream_t stream)
{
	return number ? each_warp(number, between, stream, *m, number) : cudaSuccess;
}

/* If the new seed is nearer to row i than the nearest one so far: square[i] = its squared distance, before[i] = its
 * number. Eight lanes process a row, a warp four rows. By the triangle inequality the new seed is no nearer if the
 * nearest one is at most half as far from the row as from the new seed; if this holds for all four rows, they are not
 * read. `more` is slightly above 1 and allows for rounding. Bound by reading x. */
static __global__ void seed(const __grid_constant__ struct sl_cuda_kmeans m, uint32_t number, double more,
			    uint32_t first,
			    uint32_t end)
{
	uint32_t i = first + blockIdx.x * (THREADS / 8) + threadIdx.x / 8, row = i < end ? i : end - 1;
	double old = number ? m.square[row] : INFINITY;
	if (!__any_sync(~0u, !number || 4 * old * more > m.between[m.before[row]]))
		return;
	double square = eight_square(m.d, m.x + (size_t)row * m.pitch, m.centroid + (size_t)number * m.d);
	if (i < end && threadIdx.x % 8 == 0 && (!number || square < old)) {
		m.square[i] = square;
		m.before[i] = number;
	}
}

cudaError_t sl__cuda_kmeans_seed(const struct sl_cuda_kmeans *m, uint32_t number, uint32_t first, uint32_t count,
				 cudaStream_t stream)
{
	double more = 1 + (m->d + 64.0) * 0x1p-50;
	seed<<<blocks_for((uint64_t)count * 8, THREADS), THREADS, 0, stream>>>(*m, number, more, first, first + count);
	return cudaGetLastError();
}

/* square[i] = |x_i - c|^2, where c is the centroid of the row's label. Eight lanes process a row. */
static __global__ void squares(const __grid_constant__ struct sl_cuda_kmeans m, uint32_t first, uint32_t end)
{
	uint32_t i = first + blockIdx.x * (THREADS / 8) + threadIdx.x / 8, row = i < end ? i : end - 1;
	double square = eight_square(m.d, m.x + (size_t)row * m.pitch, m.centroid + (size_t)m.label[row] * m.d);
	if (i < end && threadIdx.x % 8 == 0)
		m.square[i] = square;
}

cudaError_t sl__cuda_kmeans_squares(const struct sl_cuda_kmeans *m, uint32_t first, uint32_t count, cudaStream_t stream)
{
	squares<<<blocks_for((uint64_t)count * 8, THREADS), THREADS, 0, stream>>>(*m, first, first + count);
	return cudaGetLastError();
}

/* part[b] = the sum of `square` over the rows b * block .. (b + 1) * block - 1, added in this order. A warp processes a
 * block of rows: it reads 32 numbers at a time, and all lanes do the same additions. */
static __global__ void parts(const __grid_constant__ struct sl_cuda_kmeans m, uint32_t from, uint32_t to)
{
	uint32_t b = from + blockIdx.x * (THREADS / 32) + threadIdx.x / 32;
	if (b >= to)
		return;
	uint32_t first = b * m.block, rows = m.n - first < m.block ? m.n - first : m.block;
	double sum = 0;
	for (uint32_t at = 0; at < rows; at += 32) {
		uint32_t mine = at + threadIdx.x % 32;
		double square = mine < rows ? m.square[first + mine] : 0;
		for (uint32_t lane = 0; lane < 32; lane++) {
			double next = __shfl_sync(~0u, square, (int)lane);
			sum = at + lane < rows ? sum + next : sum;
		}
	}
	if (threadIdx.x % 32 == 0)
		m.part[b] = sum;
}

cudaError_t sl__cuda_kmeans_parts(const struct sl_cuda_kmeans *m, uint32_t from, uint32_t to, cudaStream_t stream)
{
	parts<<<blocks_for((uint64_t)(to - from) * 32, THREADS), THREADS, 0, stream>>>(*m, from, to);
	return cudaGetLastError();
}

/* ---- clusters ---------------------------------------------------------------------------- */

/* Writes two pairs of key and value for each row: the cluster that it joins, and the cluster that it leaves. The key is
 * k if the row stays in its cluster. A value is the row's number minus `first`, with SL_KM_MINUS added if it leaves.
 * One thread for each row. */
static __global__ void leave_and_join(const __grid_constant__ struct sl_cuda_kmeans m, uint32_t first, uint32_t count)
{
	uint32_t i = blockIdx.x * THREADS + threadIdx.x;
	if (i >= count)
		return;
	uint32_t label = m.label[first + i], before = m.before[first + i];
	m.key[2 * i] = label != before ? label : m.k;
	m.key[2 * i + 1] = label != before && before < m.k ? before : m.k;
	m.value[2 * i] = i;
	m.value[2 * i + 1] = i | SL_KM_MINUS;
}

/* Adds the rows that join cluster c to sum[c][.] and count[c], and subtracts those that leave it, in order of rows. A
 * warp processes 32 columns of a cluster and loads AHEAD rows at a time. Grid: (clusters, columns / 32). Bound by the
 * latency of additions if few clusters get many rows, as in the first iteration. */
static __global__ void __launch_bounds__(32) add_up(const __grid_constant__ struct sl_cuda_kmeans m, uint32_t first)
{
	uint32_t c = blockIdx.x, k = blockIdx.y * 32 + threadIdx.x, from = m.start[c], to = m.start[c + 1];
	if (from == to)
		return;
	uint32_t column = k < m.d ? k : 0, count = m.count[c];
	double sum = m.sum[(size_t)c * m.d + column];
	for (uint32_t at = from; at < to; at += AHEAD) {
		uint32_t value[AHEAD];
		float x[AHEAD];
#pragma unroll
		for (int e = 0; e < AHEAD; e++) {
			value[e] = m.value_sorted[at + e < to ? at + e : to - 1];
			x[e] = m.x[(size_t)(first + (value[e] & ~SL_KM_MINUS)) * m.pitch + column];
		}
#pragma unroll
		for (int e = 0; e < AHEAD; e++) {
			bool minus = value[e] & SL_KM_MINUS;
			if (at + e >= to)
				break;
			sum += minus ? -(double)x[e] : (double)x[e];
			count += minus ? ~0u : 1u;
		}
	}
	if (k < m.d)
		m.sum[(size_t)c * m.d + k] = sum;
	if (k == 0)
		m.count[c] = count;
}

cudaError_t sl__cuda_kmeans_move(const struct sl_cuda_kmeans *m, uint32_t first, uint32_t count, cudaStream_t stream)
{
	int bits = 1;
	while (bits < 32 && m->k >> bits)
		bits++;
	leave_and_join<<<blocks_for(count, THREADS), THREADS, 0, stream>>>(*m, first, count);
	cudaError_t status = cudaGetLastError();
	if (status == cudaSuccess)
		status = sl__sort_pairs(m->sorting, m->sorting_bytes, m->key, m->key_sorted, m->value, m->value_sorted,
					2ull * count, bits, stream);
	if (status == cudaSuccess)
		status = sl__run_starts(m->k, m->key_sorted, 2 * count, m->start, stream);
	if (status != cudaSuccess)
		return status;
	add_up<<<dim3(m->k, (m->d + 31) / 32), 32, 0, stream>>>(*m, first);
	return cudaGetLastError();
}
