/* Converts x - m and c - m to half precision for score.cu. They are multiplied by a power of two that keeps them within
 * the range of half precision: one power for each point, and one for all centroids. The rounding errors are measured
 * here; the bound of a score's error includes them.
 *
 * If the row stays short enough (sl__cuda_kmeans_split()), a number is the sum of two halves, `high` and `low`. The row
 * of a point is then high, low, high and that of a centroid high, high, low, so that the product lacks only low times
 * low. */
#include <cuda_fp16.h>

#include "gpu/kmeans/exact.cuh"

#define THREADS 256
#define LANES 8  /* lanes that share a point or centroid */

/* Copies rows [.][d] to the rows of x from `first` on, with zeros up to the pitch. One thread for each of the `numbers`
 * numbers written. */
static __global__ void widen(const __grid_constant__ struct sl_cuda_kmeans m, const float *rows, uint32_t first,
			     uint64_t numbers)
{
	uint64_t at = (uint64_t)blockIdx.x * THREADS + threadIdx.x;
	uint32_t row = (uint32_t)(at / m.pitch), k = (uint32_t)(at % m.pitch);
	if (at < numbers)
		m.x[(size_t)first * m.pitch + at] = k < m.d ? rows[(size_t)row * m.d + k] : 0;
}

cudaError_t sl__cuda_kmeans_widen(const struct sl_cuda_kmeans *m, const float *rows, uint32_t first, uint32_t count,
			 cudaStream_t stream)
{
	uint64_t numbers = (uint64_t)count * m->pitch;
	widen<<<blocks_for(numbers, THREADS), THREADS, 0, stream>>>(*m, rows, first, numbers);
	return cudaGetLastError();
}

/* Writes number * 2^power to column k of a row of halves, and returns the rounding error of `number`. swap: the second
 * and third part are high, low (a centroid) instead of low, high (a point). */
static __device__ __forceinline__ double
write_halves(const struct sl_cuda_kmeans &m, __half *row, uint32_t k, double number, int power, bool swap)
{
	double scaled = ldexp(number, power);
	__half high = __float2half_rn((float)scaled);
	double rest = scaled - (double)__half2float(high);
	row[k] = high;
	if (m.split) {
		__half low = __float2half_rn((float)rest);
		rest -= (double)__half2float(low);
		row[m.d + k] = swap ? high : low;
		row[2 * m.d + k] = swap ? low : high;
	}
	return ldexp(rest, -power);
}

static __device__ __forceinline__ void write_zeros(const struct sl_cuda_kmeans &m, __half *row)
{
	for (uint32_t k = (m.split ? 3 : 1) * m.d + threadIdx.x % LANES; k < m.width; k += LANES)
		row[k] = __float2half_rn(0);
}

static __device__ __forceinline__ float rounded_up(double x) { return (float)(x * (1 + 1e-6) + (double)FLT_MIN); }

/* Computes halves[i], norm[i] = |x_i - m|, and away[i], the length of the vector of rounding errors; norm and away are
 * rounded up. Bound by reading x twice, the second time from a cache. */
static __global__ void halve(const __grid_constant__ struct sl_cuda_kmeans m)
{
	uint32_t i = blockIdx.x * (THREADS / LANES) + threadIdx.x / LANES, row = i < m.n ? i : m.n - 1;
	const float *x = m.x + (size_t)row * m.pitch;
	__half *to = (__half *)m.halves + (size_t)row * m.width;
	double sum = 0, off = 0;
	for (uint32_t k = threadIdx.x % LANES; k < m.d; k += LANES) {
		double away = (double)x[k] - (double)m.centre[k];
		sum = fma(away, away, sum);
	}
	float norm = rounded_up(sqrt(sum_lanes(sum, LANES)));
	if (i < m.n)
		for (uint32_t k = threadIdx.x % LANES; k < m.d; k += LANES) {
			double rest = write_halves(m, to, k, (double)x[k] - (double)m.centre[k], power_for(norm), false);
			off = fma(rest, rest, off);
		}
	off = sum_lanes(off, LANES);
	if (i >= m.n)
		return;
	write_zeros(m, to);
	if (threadIdx.x % LANES == 0) {
		m.norm[i] = norm;
		m.away[i] = rounded_up(sqrt(off));
	}
}

cudaError_t sl__cuda_kmeans_halve(const struct sl_cuda_kmeans *m, cudaStream_t stream)
{
	halve<<<blocks_for((uint64_t)m->n * LANES, THREADS), THREADS, 0, stream>>>(*m);
	return cudaGetLastError();
}

/* half[j] = |c_j - m|^2 / 2, infinite if there is no centroid j; greatest[0] = the bits of the greatest |c_j - m|,
 * rounded up. */
static __global__ void lengths(const __grid_constant__ struct sl_cuda_kmeans m)
{
	uint32_t j = blockIdx.x * (THREADS / LANES) + threadIdx.x / LANES;
	const double *c = m.centroid + (size_t)(j < m.k ? j : 0) * m.d;
	double sum = 0;
	for (uint32_t k = threadIdx.x % LANES; k < m.d; k += LANES) {
		double away = c[k] - (double)m.centre[k];
		sum = fma(away, away, sum);
	}
	sum = sum_lanes(sum, LANES);
	if (threadIdx.x % LANES || j >= m.lanes)
		return;
	m.half[j] = j < m.k ? (float)(sum / 2) : INFINITY;
	if (j < m.k)
		atomicMax(m.greatest, __float_as_uint(rounded_up(sqrt(sum))));
}

/* panel[j] = the halves of c_j - m, zeros if there is no centroid j; greatest[1] = the bits of the greatest length of a
 * centroid's rounding errors, rounded up. */
static __global__ void pack(const __grid_constant__ struct sl_cuda_kmeans m)
{
	uint32_t j = blockIdx.x * (THREADS / LANES) + threadIdx.x / LANES;
	int power = power_for(__uint_as_float(m.greatest[0]));
	const double *c = m.centroid + (size_t)(j < m.k ? j : 0) * m.d;
	__half *to = (__half *)m.panel + (size_t)j * m.width;
	double off = 0;
	for (uint32_t k = threadIdx.x % LANES; k < m.d && j < m.lanes; k += LANES) {
		double rest = write_halves(m, to, k, j < m.k ? c[k] - (double)m.centre[k] : 0, power, true);
		off = fma(rest, rest, off);
	}
	off = sum_lanes(off, LANES);
	if (j >= m.lanes)
		return;
	write_zeros(m, to);
	if (threadIdx.x % LANES == 0)
		atomicMax(m.greatest + 1, __float_as_uint(rounded_up(sqrt(off))));
}

cudaError_t sl__cuda_kmeans_pack(const struct sl_cuda_kmeans *m, cudaStream_t stream)
{
	uint32_t blocks = blocks_for((uint64_t)m->lanes * LANES, THREADS);
	cudaError_t status = cudaMemsetAsync(m->greatest, 0, 2 * sizeof *m->greatest, stream);
	if (status != cudaSuccess)
		return status;
	lengths<<<blocks, THREADS, 0, stream>>>(*m);
	pack<<<blocks, THREADS, 0, stream>>>(*m);
	return cudaGetLastError();
}
