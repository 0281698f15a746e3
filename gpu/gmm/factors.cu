/* Prepares a mixture for densities.cu: inverses A of Cholesky factors, and means multiplied by them. Takes little time
 * compared with a pass over the points. */
#include "gpu/device/launch.cuh"
#include "gpu/gmm/gmm.h"

#define THREADS 128
#define GROUP 4u  /* rows of a factor that the host packs together; SL__GMM_ROWS */

/* Returns L_jl for l < j, and 1 / L_jj for l = j, of a packed factor (core/gmm/tile.h). */
static __device__ __forceinline__ double lower_at(const double *packed, uint32_t j, uint32_t l)
{
	uint32_t group = j / GROUP, r = j % GROUP, before = group * GROUP;
	const double *at = packed + (uint64_t)group * (group + 1) / 2 * GROUP * GROUP;
	return l < before ? at[(uint64_t)l * GROUP + r] : at[(uint64_t)before * GROUP + r * GROUP + l - before];
}

/* Returns the index of A_ji, i <= j, in `inverse`. In a block of 8 x 8, columns i and i + 4 are neighbours in memory,
 * as b of multiply_doubles() (ptx.cuh) requires. */
static __device__ __forceinline__ uint64_t place_of(uint32_t j, uint32_t i)
{
	uint32_t row = j / 8, block = row * (row + 1) / 2 + i / 8;
	return (uint64_t)block * 64 + (j % 8 * 4 + i % 4) * 2 + i / 4 % 2;
}

/* A = L^-1. One thread for each column of each factor computes it from the diagonal down. */
static __global__ void __launch_bounds__(THREADS) invert(const __grid_constant__ struct sl_cuda_gmm m)
{
	uint32_t i = blockIdx.x * THREADS + threadIdx.x, c = blockIdx.y;
	const double *lower = m.lower + c * m.stride;
	double *to = m.inverse + (uint64_t)c * m.cells * 64;
	if (i >= m.d)
		return;
	for (uint32_t j = i; j < m.d; j++) {
		double sum = j == i ? 1 : 0;
		for (uint32_t l = i; l < j; l++)
			sum = fma(-lower_at(lower, j, l), to[place_of(l, i)], sum);
		to[place_of(j, i)] = sum * lower_at(lower, j, j);
	}
}

static __device__ double turned(const struct sl_cuda_gmm &m, uint32_t factor, const double *mean, uint32_t j)
{
	const double *a = m.inverse + (uint64_t)factor * m.cells * 64;
	double sum = 0;
	for (uint32_t i = 0; i <= j; i++)
		sum = fma(a[place_of(j, i)], mean[i], sum);
	return sum;
}

/* One thread for each component and row; rows beyond d are set to 0. */
static __global__ void shift(const __grid_constant__ struct sl_cuda_gmm m)
{
	uint32_t at = blockIdx.x * blockDim.x + threadIdx.x, rows = 8 * m.eights, c = at / rows, j = at % rows;
	if (c < m.kp)
		m.shift[at] = c < m.k && j < m.d ? turned(m, c, m.mean + (uint64_t)c * m.pitch, j) : 0;
}

/* The quadratic form of a component (forms.cu): with A = inverse and P = A'A, the coefficients -P_ii / 2 of z_i z_i,
 * -P_ij of z_i z_j, (P mean)_i of z_i, and the constant. Components beyond k get zeros and -infinity. In `form`,
 * coefficients f and f + 4 of each eight are neighbours in memory, as b of multiply_doubles() requires. One block for
 * each component, one thread for each coefficient. */
static __global__ void __launch_bounds__(SL_GM_PRODUCTS) form(const __grid_constant__ struct sl_cuda_gmm m)
{
	uint32_t c = blockIdx.x, f = threadIdx.x, squares = m.d * (m.d + 1) / 2, i = f, j = 0;
	const double *a = m.inverse + (uint64_t)c * m.cells * 64, *shift = m.shift + (uint64_t)c * 8 * m.eights;
	double sum = 0;
	if (c < m.k && f < squares) {
		for (i = 0, j = f; j >= m.d - i; i++)
			j -= m.d - i;
		j += i;
		for (uint32_t l = j; l < m.d; l++)
			sum = fma(a[place_of(l, i)], a[place_of(l, j)], sum);
		sum = i == j ? -sum / 2 : -sum;
	} else if (c < m.k && f < squares + m.d) {
		i = f - squares;
		for (uint32_t l = i; l < m.d; l++)
			sum = fma(a[place_of(l, i)], shift[l], sum);
	}
	uint32_t cell = (c / SL_GM_GROUP * (SL_GM_PRODUCTS / 8) + f / 8) * (SL_GM_GROUP / 8) + c % SL_GM_GROUP / 8;
	m.form[(uint64_t)cell * 64 + (c % 8 * 4 + f % 4) * 2 + f / 4 % 2] = sum;
	if (f == 0) {
		for (uint32_t l = 0; l < m.d && c < m.k; l++)
			sum = fma(shift[l], shift[l], l ? sum : 0);
		m.level[c] = c < m.k ? m.constant[c] - sum / 2 : -INFINITY;
	}
}

/* One thread for each component and column. */
static __global__ void line(const __grid_constant__ struct sl_cuda_gmm m)
{
	uint32_t at = blockIdx.x * blockDim.x + threadIdx.x, c = at / m.d, a = at % m.d;
	if (c >= m.k)
		return;
	const double *mean = m.mean + (uint64_t)c * m.pitch;
	double scale = m.tied ? 1 : m.total[at];
	m.line[2ull * at] = scale;
	m.line[2ull * at + 1] = m.tied ? turned(m, 0, mean, a) : scale * mean[a];
}

/* y = A z, for tied covariances. A thread computes eight rows of one point. */
static __global__ void __launch_bounds__(THREADS) turn(const __grid_constant__ struct sl_cuda_gmm m)
{
	uint32_t point = blockIdx.x * THREADS + threadIdx.x, row = blockIdx.y;
	double sum[8] = {0, 0, 0, 0, 0, 0, 0, 0};
	for (uint32_t i = 0; i < 8 * (row + 1) && i < m.d; i++) {
		const double *a = m.inverse + place_of(8 * row, i);
		double z = m.zt[(uint64_t)i * m.unit + point];
#pragma unroll
		for (int r = 0; r < 8; r++)
			sum[r] = fma(a[8 * r], z, sum[r]);
	}
#pragma unroll
	for (int r = 0; r < 8; r++)
		m.y[(uint64_t)(8 * row + r) * m.unit + point] = sum[r];
}

cudaError_t sl__cuda_gmm_turn(const struct sl_cuda_gmm *m, uint32_t count, cudaStream_t stream)
{
	turn<<<dim3(blocks_for(count, THREADS), m->eights), THREADS, 0, stream>>>(*m);
	return cudaGetLastError();
}

cudaError_t sl__cuda_gmm_invert(const struct sl_cuda_gmm *m, cudaStream_t stream)
{
	invert<<<dim3(blocks_for(m->d, THREADS), m->tied ? 1 : m->k), THREADS, 0, stream>>>(*m);
	return cudaGetLastError();
}

cudaError_t sl__cuda_gmm_shift(const struct sl_cuda_gmm *m, cudaStream_t stream)
{
	return each((uint64_t)m->kp * 8 * m->eights, shift, stream, *m);
}

cudaError_t sl__cuda_gmm_form(const struct sl_cuda_gmm *m, cudaStream_t stream)
{
	form<<<(m->k + SL_GM_GROUP - 1) / SL_GM_GROUP * SL_GM_GROUP, SL_GM_PRODUCTS, 0, stream>>>(*m);
	return cudaGetLastError();
}

cudaError_t sl__cuda_gmm_line(const struct sl_cuda_gmm *m, cudaStream_t stream)
{
	return each((uint64_t)m->k * m->d, line, stream, *m);
}
