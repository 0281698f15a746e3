/* Sums over the points of a unit, weighted by responsibilities. A unit is cut into parts of a fixed length, and the
 * sums of each go on in its own place of memory from unit to unit; at the end they are added up in the parts' order. */
#include "gpu/device/launch.cuh"
#include "gpu/gmm/gmm.h"

#define THREADS 128
#define EACH 8      /* components of a thread of moments() */
#define TILE 32     /* points at a time */

static __device__ __forceinline__ double share_of(const struct sl_gm &m, uint32_t c, uint32_t point, uint32_t end)
{
	double r = 0;
	if (point < end && c < m.k) {
		double logit = m.logit[(uint64_t)c * m.unit + point];
		r = m.raw ? logit : exp(logit - m.log_sum[point]);
	}
	return r > SL_GM_NOTHING ? r : 0;
}

/* scatter: a warp has a tile of 16 x 16 columns of the matrix of one component, for one part. Neighbouring warps have
 * neighbouring components, so that they read the same points. Eight points that have no part in a component are passed
 * over. Bound by the matrix units: 256 products a point and tile. Grid: (warps / 4, parts). */
static __global__ void __launch_bounds__(THREADS) scatter(const __grid_constant__ struct sl_gm m, uint32_t count)
{
	uint32_t lane = threadIdx.x % 32, g = lane / 4, t = lane % 4, number = blockIdx.x * 4 + threadIdx.x / 32;
	uint32_t c = number % m.k, tile = number / m.k, column = 0;
	if (tile >= m.tiles)
		return;
	while ((column + 1) * (column + 2) / 2 <= tile)
		column++;
	uint32_t row = (tile - column * (column + 1) / 2) * SL_GM_SIDE + g, from = blockIdx.y * m.length;
	uint32_t end = count < from + m.length ? count : from + m.length;
	column = column * SL_GM_SIDE + g;
	const double *mean = m.mean + (uint64_t)c * m.pitch;
	double *acc = m.acc + blockIdx.y * m.sums + ((uint64_t)c * m.tiles + tile) * SL_GM_TILE;
	double mean_row[2] = {mean[row], mean[row + 8]}, mean_column[2] = {mean[column], mean[column + 8]};
	double sum[2][4], first[2] = {0, 0}, mass = 0;
	for (int side = 0; side < 2; side++)
		for (int e = 0; e < 4; e++)
			sum[side][e] = acc[(g + e / 2 * 8) * SL_GM_SIDE + 8 * side + 2 * t + e % 2];
	for (uint32_t at = from; at < end; at += TILE) {
		double share = share_of(m, c, at + lane, end);
		uint32_t some = __ballot_sync(~0u, share > 0);
		mass += share;
		for (uint32_t eight = 0; eight < 4; eight++) {
			if (!(some >> 8 * eight & 255))
				continue;
			double one = __shfl_sync(~0u, share, 8 * eight + t), two = __shfl_sync(~0u, share, 8 * eight + t + 4);
			const double *z = m.z + (uint64_t)(at + 8 * eight + t) * m.pitch, *other = z + 4ull * m.pitch;
			double a[4] = {one * (z[row] - mean_row[0]), one * (z[row + 8] - mean_row[1]),
				       two * (other[row] - mean_row[0]), two * (other[row + 8] - mean_row[1])};
			first[0] += a[0] + a[2];
			first[1] += a[1] + a[3];
#pragma unroll
			for (int side = 0; side < 2; side++) {
				double b[2] = {z[column + 8 * side] - mean_column[side], other[column + 8 * side] - mean_column[side]};
				multiply_doubles(sum[side], a, b);
			}
		}
	}
	mass = sum_lanes(mass);
	for (int half = 0; half < 2; half++) {
		first[half] += __shfl_xor_sync(~0u, first[half], 1);
		first[half] += __shfl_xor_sync(~0u, first[half], 2);
		if (t == 0)
			acc[SL_GM_SIDE * SL_GM_SIDE + 8 * half + g] += first[half];
	}
	if (lane == 0)
		acc[SL_GM_SIDE * (SL_GM_SIDE + 1)] += mass;
	for (int side = 0; side < 2; side++)
		for (int e = 0; e < 4; e++)
			acc[(g + e / 2 * 8) * SL_GM_SIDE + 8 * side + 2 * t + e % 2] = sum[side][e];
}

/* moments: first and second sums of each column. A block has `wide` columns, a thread one of them and eight components;
 * responsibilities of 32 points at a time are in shared memory. Grid: (components, columns, parts). */
static __global__ void __launch_bounds__(THREADS)
moments(const __grid_constant__ struct sl_gm m, uint32_t count, uint32_t wide)
{
	__shared__ double share[EACH * THREADS / 8][TILE + 1];
	uint32_t components = THREADS / wide * EACH, low = blockIdx.x * components, group = threadIdx.x / wide * EACH;
	uint32_t a = blockIdx.y * wide + threadIdx.x % wide, column = a < m.pitch ? a : m.pitch - 1;
	uint32_t from = blockIdx.z * m.length, end = count < from + m.length ? count : from + m.length;
	uint64_t numbers = 2ull * m.pitch + 8;
	double *acc = m.acc + blockIdx.z * m.sums;
	double mean[EACH], first[EACH], second[EACH], mass = 0;
#pragma unroll
	for (int e = 0; e < EACH; e++) {
		uint32_t c = low + group + e;
		mean[e] = c < m.k ? m.mean[(uint64_t)c * m.pitch + column] : 0;
		first[e] = c < m.k ? acc[c * numbers + 2 * column] : 0;
		second[e] = c < m.k ? acc[c * numbers + 2 * column + 1] : 0;
	}
	for (uint32_t at = from; at < end; at += TILE) {
		for (uint32_t i = threadIdx.x; i < components * TILE; i += THREADS)
			share[i / TILE][i % TILE] = share_of(m, low + i / TILE, at + i % TILE, end);
		__syncthreads();
		for (uint32_t i = 0; i < TILE; i++) {
			double z = m.z[(uint64_t)(at + i) * m.pitch + column];
			if (threadIdx.x < components)
				mass += share[threadIdx.x][i];
#pragma unroll
			for (int e = 0; e < EACH; e++) {
				double away = z - mean[e], weighted = share[group + e][i] * away;
				first[e] += weighted;
				second[e] = fma(weighted, away, second[e]);
			}
		}
		__syncthreads();
	}
#pragma unroll
	for (int e = 0; e < EACH; e++) {
		uint32_t c = low + group + e;
		if (c < m.k && a < m.pitch) {
			acc[c * numbers + 2 * a] = first[e];
			acc[c * numbers + 2 * a + 1] = second[e];
		}
	}
	if (blockIdx.y == 0 && threadIdx.x < components && low + threadIdx.x < m.k)
		acc[(low + threadIdx.x) * numbers + 2 * m.pitch] += mass;
}

/* total: a thread for each number. */
static __global__ void total(const __grid_constant__ struct sl_gm m)
{
	uint64_t at = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
	double sum = 0;
	for (uint32_t part = 0; at < m.sums && part < m.parts; part++)
		sum += m.acc[part * m.sums + at];
	if (at < m.sums)
		m.total[at] = sum;
}

cudaError_t sl__gm_scatter(const struct sl_gm *m, uint32_t count, cudaStream_t stream)
{
	uint64_t warps = (uint64_t)m->k * m->tiles;
	scatter<<<dim3((uint32_t)((warps + 3) / 4), m->parts), THREADS, 0, stream>>>(*m, count);
	return cudaGetLastError();
}

cudaError_t sl__gm_moments(const struct sl_gm *m, uint32_t count, cudaStream_t stream)
{
	uint32_t wide = m->d <= 8 ? 8 : m->d <= 16 ? 16 : 32, components = THREADS / wide * EACH;
	moments<<<dim3((m->k + components - 1) / components, (m->d + wide - 1) / wide, m->parts), THREADS, 0, stream>>>(
		*m, count, wide);
	return cudaGetLastError();
}

cudaError_t sl__gm_total(const struct sl_gm *m, cudaStream_t stream)
{
	return each(m->sums, total, stream, *m);
}
