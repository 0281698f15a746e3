/* The kernels of passes over points for principal axes: products of the columns with each other or with a matrix, and
 * the coordinates of rows along axes, in double precision. A block computes 64 x 64 results, a thread 4 x 4, from 16
 * factors of each at a time. Each split of the rows has its own partial sums, which are added in order. The covariance
 * of 70,000 x 784 bytes takes 5.6 ms, the projection on 50 axes 2.9 ms (H200). Test and bench: tests/gpu/test_pca.c.
 *
 * Times in this file: one NVIDIA H200, until 2026-11-23; commands: docs/notes/gpu-points.md. */
#include "gpu/device/launch.cuh"
#include "gpu/points/points.h"

#define TILE 64
#define DEPTH 16
#define THREADS 256
#define BLOCKS 768  /* enough for all multiprocessors */

static __device__ __forceinline__ double centred(const struct sl_pca_table &t, uint32_t row, uint32_t column)
{
	size_t at = (size_t)row * t.d + column;
	return (double)(t.bytes ? (float)((const uint8_t *)t.value)[at] : ((const float *)t.value)[at]) - t.mean[column];
}

struct tile_factors {
	double a[DEPTH][TILE], b[DEPTH][TILE];
};

static __device__ __forceinline__ void multiply(const struct tile_factors &f, double sum[4][4])
{
	uint32_t x = threadIdx.x % 16 * 4, y = threadIdx.x / 16 * 4;
#pragma unroll
	for (int r = 0; r < DEPTH; r++) {
		double a[4], b[4];
#pragma unroll
		for (int i = 0; i < 4; i++) {
			a[i] = f.a[r][y + i];
			b[i] = f.b[r][x + i];
		}
#pragma unroll
		for (int i = 0; i < 4; i++)
#pragma unroll
			for (int j = 0; j < 4; j++)
				sum[i][j] = fma(a[i], b[j], sum[i][j]);
	}
}

/* Strips s <= t of the pair-th tile of a triangle with `strips` in its first row. */
static __device__ __forceinline__ uint2 pair_of(uint32_t pair, uint32_t strips)
{
	uint32_t s = 0;
	while (pair >= strips - s)
		pair -= strips - s++;
	return make_uint2(s, s + pair);
}

/* part[split][pair][TILE][TILE] += sum over the split's rows. right [n][c]; NULL: the columns themselves. */
static __global__ void __launch_bounds__(THREADS)
products(const __grid_constant__ struct sl_pca_table t, const double *right, uint32_t c, double *part)
{
	__shared__ struct tile_factors f;
	uint32_t strips = (t.d + TILE - 1) / TILE, wide = (c + TILE - 1) / TILE;
	uint2 at = right ? make_uint2(blockIdx.x / wide, blockIdx.x % wide) : pair_of(blockIdx.x, strips);
	uint32_t from = (uint32_t)((uint64_t)t.n * blockIdx.y / gridDim.y);
	uint32_t to = (uint32_t)((uint64_t)t.n * (blockIdx.y + 1) / gridDim.y);
	uint32_t column = threadIdx.x % TILE, left = at.x * TILE + column, other = at.y * TILE + column;
	double sum[4][4] = {};
	for (uint32_t first = from; first < to; first += DEPTH) {
		__syncthreads();
		for (uint32_t r = threadIdx.x / TILE; r < DEPTH; r += THREADS / TILE) {
			uint32_t row = first + r;
			f.a[r][column] = row < to && left < t.d ? centred(t, row, left) : 0;
			if (right)
				f.b[r][column] = row < to && other < c ? right[(size_t)row * c + other] : 0;
			else
				f.b[r][column] = row < to && other < t.d ? centred(t, row, other) : 0;
		}
		__syncthreads();
		multiply(f, sum);
	}
	double *out = part + ((size_t)blockIdx.y * gridDim.x + blockIdx.x) * TILE * TILE;
	uint32_t x = threadIdx.x % 16 * 4, y = threadIdx.x / 16 * 4;
#pragma unroll
	for (int i = 0; i < 4; i++)
#pragma unroll
		for (int j = 0; j < 4; j++)
			out[(y + i) * TILE + x + j] += sum[i][j];
}

static uint32_t pairs_of(uint32_t d, uint32_t c)
{
	uint32_t strips = (d + TILE - 1) / TILE;
	return c ? strips * ((c + TILE - 1) / TILE) : strips * (strips + 1) / 2;
}

uint32_t sl__pca_splits(uint32_t d, uint32_t c, uint64_t bytes)
{
	uint64_t pairs = pairs_of(d, c), splits = BLOCKS / pairs, most = bytes / (pairs * TILE * TILE * sizeof(double));
	splits = splits < most ? splits : most;
	return splits < 1 ? 1 : (uint32_t)splits;
}

uint64_t sl__pca_part_bytes(uint32_t d, uint32_t c, uint32_t splits)
{
	return (uint64_t)pairs_of(d, c) * splits * TILE * TILE * sizeof(double);
}

cudaError_t sl__pca_products(const struct sl_pca_table *t, const double *right, uint32_t c, uint32_t splits,
			     double *part, cudaStream_t stream)
{
	dim3 grid(pairs_of(t->d, right ? c : 0), splits);
	products<<<grid, THREADS, 0, stream>>>(*t, right, c, part);
	return cudaGetLastError();
}

/* out[d][c], or symmetric out[d][d] when c is 0. */
static __global__ void __launch_bounds__(THREADS)
add_parts(uint32_t d, uint32_t c, uint32_t splits, const double *part, double *out)
{
	uint32_t strips = (d + TILE - 1) / TILE, wide = (c + TILE - 1) / TILE;
	uint2 at = c ? make_uint2(blockIdx.x / wide, blockIdx.x % wide) : pair_of(blockIdx.x, strips);
	for (uint32_t e = threadIdx.x; e < TILE * TILE; e += THREADS) {
		uint32_t row = at.x * TILE + e / TILE, column = at.y * TILE + e % TILE;
		double sum = 0;
		for (uint32_t s = 0; s < splits; s++)
			sum += part[((size_t)s * gridDim.x + blockIdx.x) * TILE * TILE + e];
		if (row >= d || column >= (c ? c : d))
			continue;
		out[(size_t)row * (c ? c : d) + column] = sum;
		if (!c)
			out[(size_t)column * d + row] = sum;
	}
}

cudaError_t sl__pca_add_parts(uint32_t d, uint32_t c, uint32_t splits, const double *part, double *out,
			      cudaStream_t stream)
{
	add_parts<<<pairs_of(d, c), THREADS, 0, stream>>>(d, c, splits, part, out);
	return cudaGetLastError();
}

/* out[n][c] = X v; the products of a number are added in the order of the columns. */
template <typename OUT>
static __global__ void __launch_bounds__(THREADS)
project(const __grid_constant__ struct sl_pca_table t, const double *v, uint32_t c, OUT *out)
{
	__shared__ struct tile_factors f;
	uint32_t row = blockIdx.x * TILE, column = blockIdx.y * TILE;
	double sum[4][4] = {};
	for (uint32_t k = 0; k < t.d; k += DEPTH) {
		__syncthreads();
		for (uint32_t e = threadIdx.x; e < TILE * DEPTH; e += THREADS) {
			uint32_t r = row + e / DEPTH, a = k + e % DEPTH, b = k + e / TILE, j = column + e % TILE;
			f.a[e % DEPTH][e / DEPTH] = r < t.n && a < t.d ? centred(t, r, a) : 0;
			f.b[e / TILE][e % TILE] = b < t.d && j < c ? v[(size_t)b * c + j] : 0;
		}
		__syncthreads();
		multiply(f, sum);
	}
	uint32_t x = column + threadIdx.x % 16 * 4, y = row + threadIdx.x / 16 * 4;
#pragma unroll
	for (int i = 0; i < 4; i++)
#pragma unroll
		for (int j = 0; j < 4; j++)
			if (y + i < t.n && x + j < c)
				out[(size_t)(y + i) * c + x + j] = (OUT)sum[i][j];
}

cudaError_t sl__pca_project(const struct sl_pca_table *t, const double *v, uint32_t c, double *out, cudaStream_t stream)
{
	project<double><<<dim3(blocks_for(t->n, TILE), blocks_for(c, TILE)), THREADS, 0, stream>>>(*t, v, c, out);
	return cudaGetLastError();
}

cudaError_t sl__pca_coordinates(const struct sl_pca_table *t, const double *axis, uint32_t c, float *out,
				cudaStream_t stream)
{
	project<float><<<dim3(blocks_for(t->n, TILE), blocks_for(c, TILE)), THREADS, 0, stream>>>(*t, axis, c, out);
	return cudaGetLastError();
}

/* part[blocks] += the squares of each block's rows. */
static __global__ void __launch_bounds__(THREADS)
squares(const __grid_constant__ struct sl_pca_table t, double *part)
{
	uint32_t from = (uint32_t)((uint64_t)t.n * blockIdx.x / gridDim.x);
	uint32_t to = (uint32_t)((uint64_t)t.n * (blockIdx.x + 1) / gridDim.x);
	double sum = 0;
	for (uint32_t row = from; row < to; row++)
		for (uint32_t k = threadIdx.x; k < t.d; k += THREADS) {
			double x = centred(t, row, k);
			sum = fma(x, x, sum);
		}
	sum = block_sum(sum);
	if (threadIdx.x == 0)
		part[blockIdx.x] += sum;
}

cudaError_t sl__pca_squares(const struct sl_pca_table *t, double *part, cudaStream_t stream)
{
	squares<<<SL_PCA_SQUARES, THREADS, 0, stream>>>(*t, part);
	return cudaGetLastError();
}
