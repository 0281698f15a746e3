/* Fills rows of P: the union of a node's column and row, renumbered, sorted by the new numbers.
 *
 * A row's entries are collected in any order, as keys of 64 bits with the new number above the bits of p, and then
 * sorted, so that the result has a fixed order. Rows of up to SL_FILL_WARP entries take a warp, those of up to
 * SL_FILL_BLOCK a block. The longer ones (hubs) go to global memory, where one sort orders them all.
 *
 * An edge (i, j) needs p_i|j and p_j|i. Both are computed from the weights wherever they are needed: the weight of
 * another column's entry is found by bisection. That reads the graph about twice as often as storing m probabilities
 * would, and saves 8 bytes an entry.
 *
 * Test: tests/gpu/test_affinities.c. */
#include <float.h>
#include <stddef.h>

#define SL_EXPONENTIAL static __device__ __forceinline__
#include "core/exponentials.h"
#include "gpu/affinities/affinities.h"
#include "gpu/device/launch.cuh"
#include "gpu/neighbours/sort/select.cuh"

#define BLOCK 256

/* ---- numbers ------------------------------------------------------------------------------ */

static __global__ void number(const uint32_t *list, uint32_t count, uint32_t *out)
{
	uint32_t i = blockIdx.x * BLOCK + threadIdx.x;
	if (i < count)
		out[list[i]] = i;
}

cudaError_t sl__fill_number(const uint32_t *list, uint32_t count, uint32_t *number_of, cudaStream_t stream)
{
	return each(count, number, stream, list, count, number_of);
}

static __global__ void gather(const uint32_t *length, const uint32_t *list, uint32_t count, uint32_t *out)
{
	uint32_t i = blockIdx.x * BLOCK + threadIdx.x;
	if (i < count)
		out[i] = length[list[i]];
}

cudaError_t sl__fill_gather(const uint32_t *length, const uint32_t *list, uint32_t count, uint32_t *out,
			    cudaStream_t stream)
{
	return each(count, gather, stream, length, list, count, out);
}

/* The first place in start[0 .. n], which ascends, with a value >= x; n if there is none before. */
static __device__ __forceinline__ uint32_t first_row(const uint64_t *start, uint32_t n, uint64_t x)
{
	uint32_t low = 0, high = n;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (start[middle] < x)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static __global__ void bounds(const uint64_t *start, uint32_t n, uint64_t step, uint32_t count, uint32_t *bound,
			      uint64_t *at)
{
	uint32_t k = blockIdx.x * BLOCK + threadIdx.x;
	if (k > count)
		return;
	uint32_t row = k < count ? first_row(start, n, k * step) : n;
	bound[k] = row;
	at[k] = start[row];
}

cudaError_t sl__fill_bounds(const uint64_t *start, uint32_t n, uint64_t step, uint32_t count, uint32_t *bound,
			    uint64_t *at, cudaStream_t stream)
{
	return each(count + 1ull, bounds, stream, start, n, step, count, bound, at);
}

/* ---- entries -------------------------------------------------------------------------------- */

/* The place of x in list[count], which ascends; count: it is not there. */
static __device__ __forceinline__ uint64_t place_of(const uint32_t *list, uint64_t count, uint32_t x)
{
	uint64_t low = 0, high = count;
	while (low < high) {
		uint64_t middle = low + (high - low) / 2;
		if (list[middle] < x)
			low = middle + 1;
		else
			high = middle;
	}
	return low < count && list[low] == x ? low : count;
}

/* p of entry e in column j. */
static __device__ __forceinline__ double probability(const struct sl_filling &f, uint32_t j, uint64_t e)
{
	struct sl_column_form c = f.column[j];
	return sl__exp_of(f.sides.weight ? c.gamma * sl__log_of((double)f.sides.weight[e]) - c.shift : -c.shift);
}

/* p_row|j, the entry of `row` in column j; 0: there is none. */
static __device__ __forceinline__ double from_column(const struct sl_filling &f, uint32_t j, uint32_t row)
{
	uint64_t begin = f.sides.start[j], k = f.sides.start[j + 1] - begin, at = place_of(f.sides.node + begin, k, row);
	return at < k ? probability(f, j, begin + at) : 0;
}

static __device__ __forceinline__ uint64_t key_of(const struct sl_filling &f, uint32_t j, double value)
{
	value *= f.scale;
	return (uint64_t)f.new_of[j] << 32 | __float_as_uint(value > (double)FLT_MIN ? (float)value : FLT_MIN);
}

static __device__ __forceinline__ bool is_kept(const struct sl_sides &s, uint32_t i)
{
	return !s.left_out || !s.left_out[i];
}

/* The entry of place `at` in the list that has the column of `node` and then its row; false: there is none, or the edge
 * was already in the column. Rows of P that are filled belong to kept nodes. */
static __device__ __forceinline__ bool entry_at(const struct sl_filling &f, uint32_t node, uint64_t at, uint64_t *key)
{
	const struct sl_sides &s = f.sides;
	uint64_t begin = s.start[node], k = s.start[node + 1] - begin, row = s.row_start[node];
	if (at < k) {
		uint32_t j = s.node[begin + at];
		if (!is_kept(s, j))
			return false;
		double back = s.source == s.node ? probability(f, j, begin + at) : from_column(f, j, node);
		*key = key_of(f, j, probability(f, node, begin + at) + back);
		return true;
	}
	if (s.source == s.node || at - k >= s.row_start[node + 1] - row)
		return false;
	uint32_t j = s.source[row + at - k];
	if (!is_kept(s, j) || place_of(s.node + begin, k, j) < k)
		return false;
	*key = key_of(f, j, from_column(f, j, node));
	return true;
}

/* The length of that list. */
static __device__ __forceinline__ uint64_t listed(const struct sl_sides &s, uint32_t node)
{
	uint64_t k = s.start[node + 1] - s.start[node];
	return s.source == s.node ? k : k + s.row_start[node + 1] - s.row_start[node];
}

static __device__ __forceinline__ double entropy_term(uint64_t key)
{
	double p = (double)__uint_as_float((uint32_t)key);
	return p * sl__log_of(p);
}

/* A group of G threads collects a row in key[size], sorts it and writes it; size: a power of two, at least `length`.
 * Returns the thread's part of sum p log p. */
template <int G>
static __device__ __forceinline__ double fill_row(const struct sl_filling &f, uint32_t row, uint32_t length,
		uint32_t size,
						  uint64_t *key, uint32_t *scratch)
{
	uint32_t node = f.old_of[f.rows.first + row], lane = threadIdx.x % G, done = 0, total;
	uint64_t count = listed(f.sides, node), to = f.start[f.rows.first + row] - f.rows.base;
	double sum = 0;
	for (uint64_t first = 0; first < count; first += G) {
		uint64_t mine = 0;
		bool has = first + lane < count && entry_at(f, node, first + lane, &mine);
		uint32_t at = done + group_rank<G>(has, scratch, &total);
		if (has && at < size)
			key[at] = mine;
		done += total;
	}
	for (uint32_t i = length + lane; i < size; i += G)
		key[i] = UINT64_MAX;
	group_sort<G>(key, size);
	for (uint32_t i = lane; i < length; i += G) {
		f.rows.node[to + i] = (uint32_t)(key[i] >> 32);
		f.rows.p[to + i] = __uint_as_float((uint32_t)key[i]);
		sum += entropy_term(key[i]);
	}
	return sum;
}

static __device__ __forceinline__ uint32_t size_for(uint32_t length)
{
	uint32_t size = 2;
	while (size < length)
		size *= 2;
	return size;
}

static __device__ __forceinline__ uint64_t length_of(const struct sl_filling &f, uint32_t row)
{
	return f.start[f.rows.first + row + 1] - f.start[f.rows.first + row];
}

/* One warp per row; lists the rows that are too long for it. */
static __global__ void __launch_bounds__(BLOCK) fill_narrow(struct sl_filling f)
{
	__shared__ uint64_t key[BLOCK / 32][SL_FILL_WARP];
	uint32_t row = blockIdx.x * (BLOCK / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
	if (row >= f.rows.n)
		return;
	uint64_t length = length_of(f, row);
	if (length > SL_FILL_WARP) {
		if (lane)
			return;
		bool block = length <= SL_FILL_BLOCK;
		(block ? f.wide : f.longest)[atomicAdd(block ? &f.report->wide : &f.report->longest, 1)] = row;
		if (!block)
			atomicAdd(&f.report->longest_entries, (unsigned long long)length);
		return;
	}
	double sum = fill_row<32>(f, row, (uint32_t)length, size_for((uint32_t)length), key[threadIdx.x / 32], NULL);
	sum = sum_lanes(sum);
	if (lane == 0)
		f.entropy[row] = sum;
}

/* The blocks take the rows of the list `wide`, whose length only the device knows yet. */
static __global__ void __launch_bounds__(BLOCK) fill_wide(struct sl_filling f)
{
	__shared__ uint64_t key[SL_FILL_BLOCK];
	__shared__ uint32_t scratch[BLOCK / 32 + 1];
	uint32_t count = f.report->wide;
	for (uint32_t i = blockIdx.x; i < count; i += gridDim.x) {
		uint32_t row = f.wide[i], length = (uint32_t)length_of(f, row);
		double sum = block_sum(fill_row<BLOCK>(f, row, length, size_for(length), key, scratch));
		if (threadIdx.x == 0)
			f.entropy[row] = sum;
		__syncthreads();
	}
}

#define WIDE_BLOCKS 1024u

cudaError_t sl__fill_rows(const struct sl_filling *f, cudaStream_t stream)
{
	cudaError_t status = cudaMemsetAsync(&f->report->wide, 0, sizeof *f->report - offsetof(struct sl_affinity_report,
			wide),
					     stream);
	if (status == cudaSuccess)
		status = each_warp(f->rows.n, fill_narrow, stream, *f);
	if (status != cudaSuccess)
		return status;
	fill_wide<<<f->rows.n < WIDE_BLOCKS ? f->rows.n : WIDE_BLOCKS, BLOCK, 0, stream>>>(*f);
	return cudaGetLastError();
}

/* ---- the longest rows ---------------------------------------------------------------------------- */

/* The blocks go through all listed rows, each through its part of every row. */
static __global__ void __launch_bounds__(BLOCK)
collect(struct sl_filling f, uint32_t count, uint64_t *key, uint32_t *value, unsigned long long *next)
{
	for (uint32_t i = 0; i < count; i++) {
		uint32_t row = f.longest[i], node = f.old_of[f.rows.first + row];
		uint64_t all = listed(f.sides, node);
		for (uint64_t at = (uint64_t)blockIdx.x * BLOCK + threadIdx.x; at < all; at += (uint64_t)gridDim.x * BLOCK) {
			uint64_t mine;
			if (!entry_at(f, node, at, &mine))
				continue;
			unsigned long long to = atomicAdd(next, 1ull);
			key[to] = (uint64_t)row << 32 | mine >> 32;
			value[to] = (uint32_t)mine;
		}
	}
}

cudaError_t sl__fill_longest(const struct sl_filling *f, uint32_t count, uint64_t *key, uint32_t *value,
			     unsigned long long *next, cudaStream_t stream)
{
	cudaError_t status = cudaMemsetAsync(next, 0, sizeof *next, stream);
	if (status != cudaSuccess)
		return status;
	collect<<<256, BLOCK, 0, stream>>>(*f, count, key, value, next);
	return cudaGetLastError();
}

/* One block per row of the list. The sorted entries of a row begin where those with its number begin. */
static __global__ void __launch_bounds__(BLOCK)
spread(struct sl_filling f, uint64_t entries, const uint64_t *key, const uint32_t *value)
{
	uint32_t row = f.longest[blockIdx.x];
	uint64_t length = length_of(f, row), to = f.start[f.rows.first + row] - f.rows.base, low = 0, high = entries;
	while (low < high) {
		uint64_t middle = low + (high - low) / 2;
		if (key[middle] < (uint64_t)row << 32)
			low = middle + 1;
		else
			high = middle;
	}
	double sum = 0;
	for (uint64_t i = threadIdx.x; i < length; i += BLOCK) {
		f.rows.node[to + i] = (uint32_t)key[low + i];
		f.rows.p[to + i] = __uint_as_float(value[low + i]);
		sum += entropy_term(value[low + i]);
	}
	sum = block_sum(sum);
	if (threadIdx.x == 0)
		f.entropy[row] = sum;
}

cudaError_t sl__fill_sorted(const struct sl_filling *f, uint32_t count, uint64_t entries, const uint64_t *key,
			    const uint32_t *value, cudaStream_t stream)
{
	spread<<<count, BLOCK, 0, stream>>>(*f, entries, key, value);
	return cudaGetLastError();
}

/* ---- sums ------------------------------------------------------------------------------------------- */

static __global__ void __launch_bounds__(BLOCK) sum_some(const double *x, uint64_t count, double *part)
{
	double sum = 0;
	for (uint64_t i = (uint64_t)blockIdx.x * BLOCK + threadIdx.x; i < count; i += (uint64_t)gridDim.x * BLOCK)
		sum += x[i];
	sum = block_sum(sum);
	if (threadIdx.x == 0)
		part[blockIdx.x] = sum;
}

static __global__ void __launch_bounds__(BLOCK) sum_rest(const double *part, double *sum)
{
	double x = sum_parts(part, SL_FILL_PARTS);
	if (threadIdx.x == 0)
		*sum = x;
}

cudaError_t sl__fill_sum(const double *x, uint64_t count, double *part, double *sum, cudaStream_t stream)
{
	sum_some<<<SL_FILL_PARTS, BLOCK, 0, stream>>>(x, count, part);
	sum_rest<<<1, BLOCK, 0, stream>>>(part, sum);
	return cudaGetLastError();
}
