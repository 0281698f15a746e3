/* Computes the logarithm of weight times density for each point of a unit and each component, and the logarithm of the
 * mixture's density at each point. The latter is a log-sum-exp in one pass over the components, which keeps the largest
 * logarithm so far and the sum relative to it.
 *
 * densities  full covariances, on the tensor cores. A warp processes 32 points, whose columns stay in registers if
 *            there are at most 32.
 * scaled     tied, diag, spherical: |s (z - m)|^2, two fused multiply-adds a column. A thread processes two points. */
#include <float.h>

#include "gpu/device/launch.cuh"
#include "gpu/gmm/gmm.h"

#define THREADS SL_GM_POINTS
#define GROUP 8         /* components that a thread of scaled() processes at a time */
#define LEAST (-1e290)  /* smallest logarithm; finite, so that a point far from all components has responsibilities */

/* ---- points ------------------------------------------------------------------------------ */

/* spread computes z, one thread for each number; spread_turned computes zt. Rows beyond count, up to a multiple of 128,
 * and columns beyond d are set to 0. */
static __global__ void spread(const __grid_constant__ struct sl_cuda_gmm m, uint32_t first, uint32_t count)
{
	uint64_t at = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
	uint32_t i = (uint32_t)(at / m.pitch), a = (uint32_t)(at % m.pitch);
	if (i < (count + THREADS - 1) / THREADS * THREADS)
		m.z[at] = i < count && a < m.d ? (double)m.x[(uint64_t)(first + i) * m.d + a] - m.centre[a] : 0;
}

static __global__ void spread_turned(const __grid_constant__ struct sl_cuda_gmm m, uint32_t first, uint32_t count)
{
	uint32_t i = blockIdx.x * THREADS + threadIdx.x;
	for (uint32_t a = blockIdx.y; a < m.d; a += gridDim.y)
		m.zt[(uint64_t)a * m.unit + i] = i < count ? (double)m.x[(uint64_t)(first + i) * m.d + a] - m.centre[a] : 0;
}

cudaError_t sl__cuda_gmm_spread(const struct sl_cuda_gmm *m, uint32_t first, uint32_t count, cudaStream_t stream)
{
	uint32_t blocks = blocks_for(count, THREADS);
	cudaError_t status = each((uint64_t)blocks * THREADS * m->pitch, spread, stream, *m, first, count);
	if (status != cudaSuccess || m->full)
		return status;
	spread_turned<<<dim3(blocks, m->d < 4096 ? m->d : 4096), THREADS, 0, stream>>>(*m, first, count);
	return cudaGetLastError();
}

/* ---- log-sum-exp --------------------------------------------------------------------------- */

/* A sum of e^logit, stored as sum * e^largest, where `largest` is the largest logit. */
struct tally {
	double largest, sum;
};

static __device__ __forceinline__ void tally_add(struct tally *t, double logit)
{
	double e = exp(-fabs(logit - t->largest));
	if (logit > t->largest) {
		t->sum = fma(t->sum, e, 1.0);
		t->largest = logit;
	} else {
		t->sum += e;
	}
}

/* Joins the tallies of two lanes whose numbers differ by `step`; both lanes get the same bits. */
static __device__ __forceinline__ void tally_join(struct tally *t, int step)
{
	double largest = __shfl_xor_sync(~0u, t->largest, step), sum = __shfl_xor_sync(~0u, t->sum, step);
	double both = fmax(largest, t->largest);
	t->sum = t->sum * exp(t->largest - both) + sum * exp(largest - both);
	t->largest = both;
}

static __device__ __forceinline__ double logit_of(double constant, double square)
{
	return fmax(constant - square / 2, LEAST);
}

/* ---- full ---------------------------------------------------------------------------------- */

/* Loads the four numbers that multiply_doubles() needs from this lane: two columns of a block of 8, of the points `at`
 * and at + 8. */
static __device__ __forceinline__ void load_block(const struct sl_cuda_gmm &m, uint32_t at, uint32_t block, double x[4])
{
	const double *z = m.z + (uint64_t)at * m.pitch + 8 * block + threadIdx.x % 4;
	x[0] = z[0];
	x[1] = z[8ull * m.pitch];
	x[2] = z[4];
	x[3] = z[8ull * m.pitch + 4];
}

/* Computes parts of |A z - A m|^2 for 32 points. Four neighbouring lanes share the points lane / 4 + 0, 8, 16, 24; each
 * lane gets the sum over its own two of every eight columns of y. E: the number of blocks of 8 columns held in x; 0:
 * blocks are loaded when needed. */
template <int E>
static __device__ __forceinline__ void squares(const struct sl_cuda_gmm &m, uint32_t c, uint32_t at, double x[][E ?
	E : 1][4],
					       double square[4])
{
	uint32_t lane = threadIdx.x % 32, eights = E ? E : m.eights;
	const double *a = m.inverse + (uint64_t)c * m.cells * 64 + 2 * lane;
	const double *shift = m.shift + (uint64_t)c * 8 * eights + lane % 4 * 2;
	for (int p = 0; p < 4; p++)
		square[p] = 0;
#pragma unroll
	for (uint32_t j = 0; j < eights; j++) {
		double2 away = *(const double2 *)(shift + 8 * j);
		double y[2][4] = {{-away.x, -away.y, -away.x, -away.y}, {-away.x, -away.y, -away.x, -away.y}};
#pragma unroll
		for (uint32_t k = 0; k <= j; k++, a += 64) {
			double2 pair = *(const double2 *)a;
			double b[2] = {pair.x, pair.y};
#pragma unroll
			for (int tile = 0; tile < 2; tile++) {
				double now[4];
				if (!E)
					load_block(m, at + 16 * tile, k, now);
				multiply_doubles(y[tile], E ? x[tile][E ? k : 0] : now, b);
			}
		}
#pragma unroll
		for (int tile = 0; tile < 2; tile++) {
			square[2 * tile] = fma(y[tile][0], y[tile][0], fma(y[tile][1], y[tile][1], square[2 * tile]));
			square[2 * tile + 1] = fma(y[tile][2], y[tile][2], fma(y[tile][3], y[tile][3], square[2 * tile + 1]));
		}
	}
}

/* Sums the squares of four components over four lanes; each lane gets the sums of component lane % 4. */
static __device__ __forceinline__ void sums_of_four(const double square[4][4], double own[4])
{
	bool odd = threadIdx.x & 1, high = threadIdx.x & 2;
#pragma unroll
	for (int p = 0; p < 4; p++) {
		double low = (odd ? square[1][p] : square[0][p]) + __shfl_xor_sync(~0u, odd ? square[0][p] : square[1][p], 1);
		double up = (odd ? square[3][p] : square[2][p]) + __shfl_xor_sync(~0u, odd ? square[2][p] : square[3][p], 1);
		own[p] = (high ? up : low) + __shfl_xor_sync(~0u, high ? low : up, 2);
	}
}

/* Processes four components at a time. part[block] is the sum of log_sum over the points of the block. Bound by the
 * tensor cores: d (d + 8) / 2 products for each point and component, if d is a multiple of 8. */
template <int E>
static __global__ void __launch_bounds__(THREADS, E && E < 4 ? 4 : 1)
densities(const __grid_constant__ struct sl_cuda_gmm m, uint32_t count, double *part)
{
	uint32_t lane = threadIdx.x % 32, first = blockIdx.x * THREADS + threadIdx.x / 32 * 32, at = first + lane / 4;
	double x[2][E ? E : 1][4], density = 0;
	struct tally tally[4];
	for (int p = 0; p < 4; p++)
		tally[p] = {-DBL_MAX, 0};
	for (int b = 0; b < E; b++)
		for (int tile = 0; tile < 2; tile++)
			load_block(m, at + 16 * tile, b, x[tile][b]);
	for (uint32_t four = 0; four < m.k; four += 4) {
		uint32_t c = four + lane % 4;
		double square[4][4], own[4];
#pragma unroll
		for (int e = 0; e < 4; e++)
			squares<E>(m, four + e, at, x, square[e]);
		sums_of_four(square, own);
		for (int p = 0; p < 4 && c < m.k; p++) {
			double logit = logit_of(m.constant[c], own[p]);
			m.logit[(uint64_t)c * m.unit + at + 8 * p] = logit;
			tally_add(&tally[p], logit);
		}
	}
	for (int p = 0; p < 4; p++) {
		tally_join(&tally[p], 1);
		tally_join(&tally[p], 2);
		double log_sum = tally[p].largest + log(tally[p].sum);
		if (lane % 4 == 0) {
			m.log_sum[at + 8 * p] = log_sum;
			density += at + 8 * p < count ? log_sum : 0;
		}
	}
	density = block_sum(density);
	if (threadIdx.x == 0)
		part[blockIdx.x] = density;
}

/* ---- tied, diag, spherical ------------------------------------------------------------------- */

/* The same as densities(), with half as many threads. x [columns][unit]: z, or y for tied covariances. */
static __global__ void __launch_bounds__(THREADS / 2)
scaled(const __grid_constant__ struct sl_cuda_gmm m, uint32_t count, const double *x, double *part)
{
	uint32_t at = blockIdx.x * THREADS + threadIdx.x;
	struct tally tally[2] = {{-DBL_MAX, 0}, {-DBL_MAX, 0}};
	double density = 0;
	for (uint32_t from = 0; from < m.k; from += GROUP) {
		double square[GROUP][2];
		const double *line[GROUP];
#pragma unroll
		for (int e = 0; e < GROUP; e++) {
			line[e] = m.line + (uint64_t)(from + e < m.k ? from + e : m.k - 1) * m.d * 2;
			square[e][0] = square[e][1] = 0;
		}
		for (uint32_t a = 0; a < m.d; a++) {
			double one = x[(uint64_t)a * m.unit + at], two = x[(uint64_t)a * m.unit + at + THREADS / 2];
#pragma unroll
			for (int e = 0; e < GROUP; e++) {
				double2 by = *(const double2 *)(line[e] + 2 * a);
				double away = fma(one, by.x, -by.y), other = fma(two, by.x, -by.y);
				square[e][0] = fma(away, away, square[e][0]);
				square[e][1] = fma(other, other, square[e][1]);
			}
		}
#pragma unroll
		for (int e = 0; e < GROUP; e++)
			for (int p = 0; p < 2 && from + e < m.k; p++) {
				double logit = logit_of(m.constant[from + e], square[e][p]);
				m.logit[(uint64_t)(from + e) * m.unit + at + p * (THREADS / 2)] = logit;
				tally_add(&tally[p], logit);
			}
	}
	for (int p = 0; p < 2; p++) {
		uint32_t i = at + p * (THREADS / 2);
		double log_sum = tally[p].largest + log(tally[p].sum);
		m.log_sum[i] = log_sum;
		density += i < count ? log_sum : 0;
	}
	density = block_sum(density);
	if (threadIdx.x == 0)
		part[blockIdx.x] = density;
}

cudaError_t sl__cuda_gmm_densities(const struct sl_cuda_gmm *m, uint32_t count, double *part, cudaStream_t stream)
{
	uint32_t blocks = blocks_for(count, THREADS);
	cudaError_t status = m->tied ? sl__cuda_gmm_turn(m, count, stream) : cudaSuccess;
	if (status != cudaSuccess)
		return status;
	if (!m->full)
		scaled<<<blocks, THREADS / 2, 0, stream>>>(*m, count, m->tied ? m->y : m->zt, part);
	else if (m->eights == 1)
		densities<1><<<blocks, THREADS, 0, stream>>>(*m, count, part);
	else if (m->eights == 2)
		densities<2><<<blocks, THREADS, 0, stream>>>(*m, count, part);
	else if (m->eights == 3)
		densities<3><<<blocks, THREADS, 0, stream>>>(*m, count, part);
	else if (m->eights == 4)
		densities<4><<<blocks, THREADS, 0, stream>>>(*m, count, part);
	else
		densities<0><<<blocks, THREADS, 0, stream>>>(*m, count, part);
	return cudaGetLastError();
}

/* ---- known responsibilities, and responsibilities for the host ------------------------------- */

/* One thread for each point, as in shares(). */
static __global__ void known(const __grid_constant__ struct sl_cuda_gmm m, uint32_t count, bool labels)
{
	uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
	for (uint32_t c = 0; i < count && c < m.k; c++)
		m.logit[(uint64_t)c * m.unit + i] = labels ? (m.known[i] == c ? 1 : 0) : (double)m.share[(uint64_t)i * m.k + c];
}

static __global__ void shares(const __grid_constant__ struct sl_cuda_gmm m, uint32_t count)
{
	uint32_t i = blockIdx.x * blockDim.x + threadIdx.x, best = 0;
	double largest = -DBL_MAX;
	for (uint32_t c = 0; i < count && c < m.k; c++) {
		double logit = m.logit[(uint64_t)c * m.unit + i];
		m.share[(uint64_t)i * m.k + c] = (float)exp(logit - m.log_sum[i]);
		if (logit > largest) {
			largest = logit;
			best = c;
		}
	}
	if (i < count)
		m.label[i] = (int32_t)best;
}

cudaError_t sl__cuda_gmm_known(const struct sl_cuda_gmm *m, uint32_t count, bool labels, cudaStream_t stream)
{
	return each(count, known, stream, *m, count, labels);
}

cudaError_t sl__cuda_gmm_shares(const struct sl_cuda_gmm *m, uint32_t count, cudaStream_t stream)
{
	return each(count, shares, stream, *m, count);
}
