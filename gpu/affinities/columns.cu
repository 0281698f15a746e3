/* The two sides of a graph, and the exponents of its columns.
 *
 * A column's exponent gamma solves sum_i p_i^gamma = lambda by Newton's method within a bracket, with the steps of
 * core/graph/rescale.c; sums over a column have a fixed order. A warp takes a column; its logarithms stay in shared
 * memory if they are few. Test: tests/gpu/test_affinities.c. */
#define SL_EXPONENTIAL static __device__ __forceinline__
#include "core/exponentials.h"
#include "gpu/affinities/affinities.h"
#include "gpu/device/launch.cuh"

#define BLOCK 256
#define WARPS (BLOCK / 32)
#define HELD 128           /* logarithms of a column in shared memory */
#define TOLERANCE 1e-7     /* on the sum, relative to lambda */
#define MAX_STEPS 100

/* ---- sides -------------------------------------------------------------------------------- */

/* One warp per column. */
static __global__ void columns_of(uint32_t n, const uint64_t *start, uint32_t *source)
{
	uint32_t j = blockIdx.x * WARPS + threadIdx.x / 32;
	if (j >= n)
		return;
	for (uint64_t e = start[j] + threadIdx.x % 32; e < start[j + 1]; e += 32)
		source[e] = j;
}

cudaError_t sl__sides_columns(uint32_t n, const uint64_t *start, uint32_t *source, cudaStream_t stream)
{
	return each_warp(n, columns_of, stream, n, start, source);
}

static __global__ void starts_of(uint32_t n, const uint32_t *row, uint64_t m, uint64_t *row_start)
{
	uint32_t i = blockIdx.x * BLOCK + threadIdx.x;
	uint64_t low = 0, high = m;
	if (i > n)
		return;
	while (low < high) {
		uint64_t middle = low + (high - low) / 2;
		if (row[middle] < i)
			low = middle + 1;
		else
			high = middle;
	}
	row_start[i] = low;
}

cudaError_t sl__sides_starts(uint32_t n, const uint32_t *row, uint64_t m, uint64_t *row_start, cudaStream_t stream)
{
	return each(n + 1ull, starts_of, stream, n, row, m, row_start);
}

static __device__ __forceinline__ bool is_kept(const struct sl_sides &s, uint32_t i)
{
	return !s.left_out || !s.left_out[i];
}

/* True if list[count], which ascends, has x. */
static __device__ __forceinline__ bool has(const uint32_t *list, uint64_t count, uint32_t x)
{
	uint64_t low = 0, high = count;
	while (low < high) {
		uint64_t middle = low + (high - low) / 2;
		if (list[middle] < x)
			low = middle + 1;
		else
			high = middle;
	}
	return low < count && list[low] == x;
}

/* Adds a count of the block's warps to a number that all blocks share: one atomic addition a block, since there may be
 * a hundred million warps. All threads of the block call it; `count` counts in lane 0. */
static __device__ __forceinline__ void add_of_block(uint32_t count, uint32_t *to)
{
	__shared__ uint32_t sum;
	__syncthreads();
	if (threadIdx.x == 0)
		sum = 0;
	__syncthreads();
	if (threadIdx.x % 32 == 0 && count)
		atomicAdd(&sum, count);
	__syncthreads();
	if (threadIdx.x == 0 && sum)
		atomicAdd(to, sum);
}

static __device__ __forceinline__ uint32_t length_of(const struct sl_sides &s, uint32_t i)
{
	uint32_t lane = threadIdx.x % 32, count = 0;
	uint64_t begin = s.start[i], k = s.start[i + 1] - begin;
	bool kept = is_kept(s, i), both = s.source != s.node;
	for (uint64_t e = lane; e < k && kept; e += 32)
		count += is_kept(s, s.node[begin + e]);
	for (uint64_t e = s.row_start[i] + lane; e < s.row_start[i + 1] && kept && both; e += 32)
		count += is_kept(s, s.source[e]) && !has(s.node + begin, k, s.source[e]);
	return __reduce_add_sync(~0u, count);
}

/* One warp per node. */
static __global__ void lengths(struct sl_sides s, uint32_t *length, struct sl_affinity_report *report)
{
	uint32_t i = blockIdx.x * WARPS + threadIdx.x / 32, count = 0;
	if (i < s.n)
		count = length_of(s, i);
	if (i < s.n && threadIdx.x % 32 == 0)
		length[i] = count;
	add_of_block(count > 0, &report->kept);
}

cudaError_t sl__sides_lengths(const struct sl_sides *s, uint32_t *length, struct sl_affinity_report *report,
			      cudaStream_t stream)
{
	cudaError_t status = cudaMemsetAsync(&report->kept, 0, sizeof report->kept, stream);
	return status == cudaSuccess ? each_warp(s->n, lengths, stream, *s, length, report) : status;
}

static __global__ void flags(const uint32_t *length, uint32_t n, uint32_t value, bool equal, uint8_t *flag)
{
	uint32_t i = blockIdx.x * BLOCK + threadIdx.x;
	if (i < n)
		flag[i] = (length[i] == value) == equal;
}

cudaError_t sl__sides_flags(const uint32_t *length, uint32_t n, uint32_t value, bool equal, uint8_t *flag,
			    cudaStream_t stream)
{
	return each(n, flags, stream, length, n, value, equal, flag);
}

/* ---- exponents ------------------------------------------------------------------------------ */

/* The logarithms of a column's weights, minus `less`. Left-out nodes have -INFINITY. */
struct logs {
	const struct sl_sides *s;
	uint64_t begin, k;
	const double *held;  /* NULL: there are too many */
	double less;
};

static __device__ __forceinline__ double raw(const struct logs &l, uint64_t e)
{
	return is_kept(*l.s, l.s->node[l.begin + e]) ? sl__log_of((double)l.s->weight[l.begin + e]) : -INFINITY;
}

static __device__ __forceinline__ double log_at(const struct logs &l, uint64_t e)
{
	return (l.held ? l.held[e] : raw(l, e)) - l.less;
}

/* Sums of exp(gamma l) and l exp(gamma l); all lanes get them. */
static __device__ __forceinline__ void sum_exp(const struct logs &l, double gamma, double *sum, double *slope)
{
	double s = 0, d = 0;
	for (uint64_t e = threadIdx.x % 32; e < l.k; e += 32) {
		double x = log_at(l, e);
		if (x == -INFINITY)
			continue;
		double y = sl__exp_of(gamma * x);
		s += y;
		d += x * y;
	}
	*sum = sum_lanes(s);
	*slope = sum_lanes(d);
}

/* sl__rescale_exponent() of core/graph/rescale.c; slope: the sum of l. */
static __device__ double exponent(const struct logs &l, double count, double slope, double lambda)
{
	if (count <= lambda)
		return 0;
	double low = 0, high = 1, gamma = 0, sum = count;
	for (int step = 0; step < MAX_STEPS; step++) {
		if (sum > lambda)
			low = gamma;
		else
			high = gamma;
		double next = gamma - log(sum / lambda) * sum / slope;
		gamma = next > low && next < high ? next : 0.5 * (low + high);
		sum_exp(l, gamma, &sum, &slope);
		if (fabs(sum - lambda) <= TOLERANCE * lambda)
			break;
	}
	return gamma;
}

/* Computes *out; returns the number of the column's entries. held: [HELD] of the warp. */
static __device__ __forceinline__ uint32_t rescale_column(const struct sl_sides &s, uint32_t j, double lambda,
		double *held,
							 struct sl_column_form *out)
{
	uint32_t used = 0;
	double largest = -INFINITY;
	struct logs l = {&s, s.start[j], s.start[j + 1] - s.start[j], NULL, 0};
	bool kept = is_kept(s, j);
	for (uint64_t e = threadIdx.x % 32; e < l.k && kept; e += 32) {
		used += is_kept(s, s.node[l.begin + e]);
		if (!s.weight)
			continue;
		double x = raw(l, e);
		largest = x > largest ? x : largest;
		if (l.k <= HELD)
			held[e] = x;
	}
	used = __reduce_add_sync(~0u, used);
	for (int step = 16; step; step >>= 1) {
		double other = __shfl_xor_sync(~0u, largest, step);
		largest = other > largest ? other : largest;
	}
	__syncwarp();
	double count = used, sum, slope;
	out->gamma = 0;
	out->shift = used ? log(count) : 0;
	if (!used || !s.weight || (lambda > 1 && count <= lambda))
		return used;  /* equal weights for any gamma */
	l.held = l.k <= HELD ? held : NULL;
	l.less = largest;
	sum_exp(l, 1, &sum, &slope);
	double norm = log(sum);
	out->gamma = 1;
	out->shift = norm + largest;
	if (lambda > 1) {
		l.less = largest + norm;
		sum_exp(l, 0, &sum, &slope);
		out->gamma = exponent(l, count, slope, lambda);
		sum_exp(l, out->gamma, &sum, &slope);
		out->shift = log(sum) + out->gamma * (largest + norm);
	}
	return used;
}

/* One warp per column. */
static __global__ void __launch_bounds__(BLOCK)
rescale(struct sl_sides s, double lambda, struct sl_column_form *column, struct sl_affinity_report *report)
{
	__shared__ double held[WARPS][HELD];
	uint32_t j = blockIdx.x * WARPS + threadIdx.x / 32, used = 0;
	struct sl_column_form form;
	if (j < s.n)
		used = rescale_column(s, j, lambda, held[threadIdx.x / 32], &form);
	if (j < s.n && threadIdx.x % 32 == 0)
		column[j] = form;
	add_of_block(used > 0, &report->filled);
	add_of_block(used > 0 && lambda > 1 && used <= lambda, &report->unreachable);
}

cudaError_t sl__columns_rescale(const struct sl_sides *s, double lambda, struct sl_column_form *column,
				struct sl_affinity_report *report, cudaStream_t stream)
{
	return each_warp(s->n, rescale, stream, *s, lambda, column, report);
}
