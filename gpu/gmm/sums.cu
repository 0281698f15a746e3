/* Sums over the points of a unit, weighted by responsibilities. A unit is divided into parts of a fixed length. Each
 * part has its own sums in acc, which continue from unit to unit; total() adds the parts in order after the last
 * unit. */
#include "gpu/device/launch.cuh"
#include "gpu/gmm/gmm.h"

#define THREADS 128
#define EACH 8      /* components that a thread of moments() processes */
#define TILE 32     /* points at a time */

/* Returns the responsibility of a component for a point, from its logit. */
static __device__ __forceinline__ double share_of(const struct sl_cuda_gmm &m, double logit, double log_sum)
{
	double r = m.raw ? logit : exp(logit - log_sum);
	return r > SL_GM_NOTHING ? r : 0;
}

static __device__ __forceinline__ double share_at(const struct sl_cuda_gmm &m, uint32_t c, uint32_t point, uint32_t end)
{
	bool none = point >= end || c >= m.k;
	return none ? 0 : share_of(m, m.logit[(uint64_t)c * m.unit + point], m.raw ? 0 : m.log_sum[point]);
}

/* The numbers from which share_of() computes the responsibilities of a warp's components for one point. load_shares()
 * sets them so that responsibilities of missing points and components are 0. */
struct shares {
	double logit[SL_GM_WARP], log_sum;
};

static __device__ __forceinline__ struct shares load_shares(const struct sl_cuda_gmm &m, uint32_t low, uint32_t point,
							    uint32_t end)
{
	struct shares s;
	s.log_sum = point < end && !m.raw ? m.log_sum[point] : 0;
#pragma unroll
	for (int w = 0; w < SL_GM_WARP; w++)
		s.logit[w] = point < end && low + w < m.k ? m.logit[(uint64_t)(low + w) * m.unit + point] :
			     m.raw ? 0 : -INFINITY;
	return s;
}

/* Returns the index in a tile of the lane's sum e of the left (side 0) or right half. */
static __device__ __forceinline__ uint32_t place_in_tile(int side, int e)
{
	uint32_t lane = threadIdx.x % 32;
	return (lane / 4 + e / 2 * 8) * SL_GM_SIDE + 8 * side + lane % 4 * 2 + e % 2;
}

/* TILE points of a part in shared memory: z[0] has the columns of the points that are rows of the tile, z[1] those that
 * are columns of it. A row is 24 numbers long so that neighbouring points are in different banks. */
struct held {
	double z[2][TILE][24];
};

/* Starts to load the points at .. at + TILE - 1. In a tile on the diagonal (row == column) only z[0] is loaded. */
static __device__ __forceinline__ void hold(const struct sl_cuda_gmm &m, uint32_t at, uint32_t row, uint32_t column,
					    held *to)
{
	uint32_t numbers = TILE * SL_GM_SIDE * (row == column ? 1 : 2);
	for (uint32_t i = 2 * threadIdx.x; i < numbers; i += 2 * THREADS) {
		uint32_t which = i / (TILE * SL_GM_SIDE), point = i / SL_GM_SIDE % TILE, k = i % SL_GM_SIDE;
		copy_async(&to->z[which][point][k], m.z + (uint64_t)(at + point) * m.pitch + (which ? column : row) + k);
	}
}

/* A warp sums one tile of 16 x 16 of the scatter matrices of SL_GM_WARP components over one part; the four warps of a
 * block process the same tile and points. Eight points for which a component has no responsibility are skipped. Bound
 * by the tensor cores: 256 products for each point, component and tile. Grid: (tiles, components / 4 SL_GM_WARP,
 * parts). */
static __global__ void __launch_bounds__(THREADS, 4) scatter(const __grid_constant__ struct sl_cuda_gmm m,
							     uint32_t count)
{
	__shared__ __align__(16) held points[2];
	uint32_t lane = threadIdx.x % 32, g = lane / 4, t = lane % 4, tile = blockIdx.x;
	uint32_t low = (blockIdx.y * THREADS / 32 + threadIdx.x / 32) * SL_GM_WARP;
	uint32_t column = 0, from = blockIdx.z * m.length, end = count < from + m.length ? count : from + m.length;
	while ((column + 1) * (column + 2) / 2 <= tile)
		column++;
	uint32_t row = (tile - column * (column + 1) / 2) * SL_GM_SIDE;
	column *= SL_GM_SIDE;
	double *acc = m.acc + blockIdx.z * m.sums + ((uint64_t)low * m.tiles + tile) * SL_GM_TILE;
	uint64_t next = (uint64_t)m.tiles * SL_GM_TILE;  /* distance in acc from one component to the next */
	double sum[SL_GM_WARP][2][4], first[SL_GM_WARP][2], mass[SL_GM_WARP], mean[SL_GM_WARP][4];
#pragma unroll
	for (int w = 0; w < SL_GM_WARP; w++) {
		const double *of = m.mean + (uint64_t)(low + w < m.k ? low + w : m.k - 1) * m.pitch + g;
		mass[w] = first[w][0] = first[w][1] = 0;
		for (int e = 0; e < 4; e++)
			mean[w][e] = of[(e < 2 ? row : column) + e % 2 * 8];
		for (int side = 0; side < 2; side++)
			for (int e = 0; e < 4; e++)
				sum[w][side][e] = low + w < m.k ? acc[w * next + place_in_tile(side, e)] : 0;
	}
	struct shares now = load_shares(m, low, from + lane, end), later;
	if (from < end)
		hold(m, from, row, column, &points[0]);
	copies_commit();
	for (uint32_t at = from, turn = 0; at < end; at += TILE, turn ^= 1, now = later) {
		uint32_t some[SL_GM_WARP];
		if (at + TILE < end)
			hold(m, at + TILE, row, column, &points[turn ^ 1]);
		copies_commit();
		later = load_shares(m, low, at + TILE + lane, end);
#pragma unroll
		for (int w = 0; w < SL_GM_WARP; w++) {
			now.logit[w] = share_of(m, now.logit[w], now.log_sum);
			mass[w] += now.logit[w];
			some[w] = __ballot_sync(~0u, now.logit[w] > 0);
		}
		copies_wait<1>();
		__syncthreads();
#pragma unroll
		for (uint32_t eight = 0; eight < 4; eight++) {
			const double *z = points[turn].z[0][8 * eight + t] + g;
			const double *y = points[turn].z[row != column][8 * eight + t] + g;
			double x[4] = {z[0], z[8], z[4 * 24], z[4 * 24 + 8]};
			double c[4] = {y[0], y[8], y[4 * 24], y[4 * 24 + 8]};
#pragma unroll
			for (int w = 0; w < SL_GM_WARP; w++) {
				if (!(some[w] >> 8 * eight & 255))
					continue;
				double one = __shfl_sync(~0u, now.logit[w], 8 * eight + t);
				double two = __shfl_sync(~0u, now.logit[w], 8 * eight + t + 4);
				double a[4] = {one * (x[0] - mean[w][0]), one * (x[1] - mean[w][1]),
					       two * (x[2] - mean[w][0]), two * (x[3] - mean[w][1])};
				double left[2] = {c[0] - mean[w][2], c[2] - mean[w][2]};
				double right[2] = {c[1] - mean[w][3], c[3] - mean[w][3]};
				first[w][0] += a[0] + a[2];
				first[w][1] += a[1] + a[3];
				multiply_doubles(sum[w][0], a, left);
				multiply_doubles(sum[w][1], a, right);
			}
		}
		__syncthreads();
	}
	copies_wait<0>();
#pragma unroll
	for (int w = 0; w < SL_GM_WARP; w++, acc += next) {
		double all = sum_lanes(mass[w]);
		for (int half = 0; half < 2; half++) {
			first[w][half] += __shfl_xor_sync(~0u, first[w][half], 1);
			first[w][half] += __shfl_xor_sync(~0u, first[w][half], 2);
		}
		if (low + w >= m.k)
			return;
		if (t == 0) {
			acc[SL_GM_SIDE * SL_GM_SIDE + g] += first[w][0];
			acc[SL_GM_SIDE * SL_GM_SIDE + 8 + g] += first[w][1];
		}
		if (lane == 0)
			acc[SL_GM_SIDE * (SL_GM_SIDE + 1)] += all;
		for (int side = 0; side < 2; side++)
			for (int e = 0; e < 4; e++)
				acc[place_in_tile(side, e)] = sum[w][side][e];
	}
}

/* First and second sums of each column. A block processes `wide` columns, a thread one of them for EACH components. The
 * responsibilities of TILE points at a time are in shared memory. Grid: (components, columns, parts). */
static __global__ void __launch_bounds__(THREADS)
moments(const __grid_constant__ struct sl_cuda_gmm m, uint32_t count, uint32_t wide)
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
			share[i / TILE][i % TILE] = share_at(m, low + i / TILE, at + i % TILE, end);
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

/* One thread for each number. */
static __global__ void total(const __grid_constant__ struct sl_cuda_gmm m)
{
	uint64_t at = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
	double sum = 0;
	for (uint32_t part = 0; at < m.sums && part < m.parts; part++)
		sum += m.acc[part * m.sums + at];
	if (at < m.sums)
		m.total[at] = sum;
}

cudaError_t sl__cuda_gmm_scatter(const struct sl_cuda_gmm *m, uint32_t count, cudaStream_t stream)
{
	uint32_t together = SL_GM_WARP * THREADS / 32;
	scatter<<<dim3(m->tiles, (m->k + together - 1) / together, m->parts), THREADS, 0, stream>>>(*m, count);
	return cudaGetLastError();
}

cudaError_t sl__cuda_gmm_moments(const struct sl_cuda_gmm *m, uint32_t count, cudaStream_t stream)
{
	uint32_t wide = m->d <= 8 ? 8 : m->d <= 16 ? 16 : 32, components = THREADS / wide * EACH;
	moments<<<dim3((m->k + components - 1) / components, (m->d + wide - 1) / wide, m->parts), THREADS, 0, stream>>>(
		*m, count, wide);
	return cudaGetLastError();
}

cudaError_t sl__cuda_gmm_total(const struct sl_cuda_gmm *m, cudaStream_t stream)
{
	return each(m->sums, total, stream, *m);
}
