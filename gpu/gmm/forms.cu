/* A pass for full covariances and few columns, by products of matrices. The logarithm of weight times density is a
 * quadratic form of the point: the dot product of its coefficients and the `products` of the point. The sums of an M
 * step are sums of responsibility times products. So both steps multiply matrices: 153 products for each point and
 * component if d = 16, instead of 192 in densities() and 256 and the differences from the means in scatter().
 *
 * The products are those of differences from the centre of all points, not from the means. This loses digits if
 * components are narrow compared with their distance from the centre; passes.c uses it only if few are lost. If
 * there is only one group of components and a block has enough shared memory, steps.cu does the pass.
 *
 * Tensor cores and other operations in double precision take turns, so each of the latter that is left out counts.
 *
 * The products of a point, [SL_GM_PRODUCTS]: z_i z_j for i <= j, z_i, 1, and zeros. A row of z in shared memory ends
 * with 1 and 0, so that each of them is the product of two numbers of the row. */
#include <float.h>

#include "gpu/gmm/forms.cuh"

#define THREADS SL_GM_POINTS
#define ROW 20                           /* numbers of a row of z; neighbouring rows are in different banks */
#define ADDERS 256                       /* threads of a block of add_products() */
#define POWERS 64                        /* steps of a power of two in exp_below() */
#define TILE 64                          /* points that it adds at a time */
#define SHARES (TILE + 4)                /* length of a row of responsibilities */
#define WIDE 5                           /* blocks of 8 products of a warp */
#define EACH (TILE * SL_GM_SIDE / ADDERS)

static __device__ __forceinline__ double product(const double *row, uint32_t factors)
{
	return row[factors & 255] * row[factors >> 8];
}

/* ---- logarithms -------------------------------------------------------------------------------------- */

struct memory {
	double form[EIGHTS][GROUP / 8][32][2];  /* coefficients of GROUP components, as sl__cuda_gmm_form() stores them */
	double z[THREADS][ROW], powers[POWERS];
	uint32_t factors[SL_GM_PRODUCTS];
};

/* A warp loads the rows of its 32 points. Rows beyond count are 0. */
static __device__ __forceinline__ void
load_rows(const struct sl_cuda_gmm &m, uint32_t first, uint32_t at, uint32_t count, double (*z)[ROW])
{
	for (uint32_t i = threadIdx.x % 32; i < 32 * m.d; i += 32) {
		uint32_t row = i / m.d, a = i % m.d;
		z[row][a] = at + row < count ? (double)m.x[(uint64_t)(first + at) * m.d + i] - m.centre[a] : 0;
	}
}

/* Computes the products 8 eight .. 8 eight + 7 of 32 points, in the layout of multiply_doubles(). */
static __device__ __forceinline__ void
multiply_columns(const struct memory *s, const double (*z)[ROW], uint32_t eight, double a[2][4])
{
	uint32_t g = threadIdx.x % 32 / 4, low = s->factors[8 * eight + threadIdx.x % 4];
	uint32_t high = s->factors[8 * eight + threadIdx.x % 4 + 4];
#pragma unroll
	for (int tile = 0; tile < 2; tile++) {
		a[tile][0] = product(z[16 * tile + g], low);
		a[tile][1] = product(z[16 * tile + 8 + g], low);
		a[tile][2] = product(z[16 * tile + g], high);
		a[tile][3] = product(z[16 * tile + 8 + g], high);
	}
}

/* Adds the products of 32 points and coefficients. logit[tile][n]: 16 points and 8 components. */
static __device__ __forceinline__ void
multiply(const struct memory *s, const double (*z)[ROW], uint32_t eights, double logit[2][GROUP / 8][4])
{
	double a[2][4], next[2][4];
	multiply_columns(s, z, 0, next);
	for (uint32_t eight = 0; eight < eights; eight++) {
		for (int e = 0; e < 8; e++)
			a[e / 4][e % 4] = next[e / 4][e % 4];
		multiply_columns(s, z, eight + 1 < EIGHTS ? eight + 1 : eight, next);  /* meanwhile */
#pragma unroll
		for (int n = 0; n < GROUP / 8; n++) {
			double2 two = *(const double2 *)s->form[eight][n][threadIdx.x % 32];
			double b[2] = {two.x, two.y};
			multiply_doubles(logit[0][n], a[0], b);
			multiply_doubles(logit[1][n], a[1], b);
		}
	}
}

/* table[i] = 2^(i / POWERS), by the first threads of a block. */
static __device__ __forceinline__ void fill_powers(double table[POWERS])
{
	if (threadIdx.x < POWERS)
		table[threadIdx.x] = exp2(threadIdx.x / (double)POWERS);
}

/* e^x for x <= 0, with an error of at most 2 ulp; 0 if x < -708. Takes fewer operations in double precision than exp():
 * e^x = 2^n 2^(i / 64) e^r with |r| <= log(2) / 128. */
static __device__ __forceinline__ double exp_below(double x, const double table[POWERS])
{
	double shifted = fma(x, POWERS / 0.693147180559945309417, 0x1.8p52), whole = shifted - 0x1.8p52;
	int steps = __double2loint(shifted);
	double r = fma(whole, -0x1.62e42fefa0000p-7, x);
	r = fma(whole, -0x1.cf79abc9e3b3ap-46, r);
	double p = fma(r, 1 / 120.0, 1 / 24.0);
	p = fma(fma(p, r, 1 / 6.0), r, 0.5);
	p = fma(p, r * r, r);
	double y = fma(table[steps & (POWERS - 1)], p, table[steps & (POWERS - 1)]);
	y = __hiloint2double(__double2hiint(y) + (steps >> 6 << 20), __double2loint(y));
	return (uint32_t)__double2hiint(x) > 0xc0862000u ? 0 : y;
}

/* Replaces the logits of a point by exp(logit - largest), where `largest` becomes the largest so far, and adds them to
 * the sum. Four neighbouring lanes share the point. */
static __device__ __forceinline__ void
tally(double logit[GROUP / 8][4], int half, double *largest, double *sum, const double powers[POWERS])
{
	double most = *largest, added = 0;
#pragma unroll
	for (int n = 0; n < GROUP / 8; n++)
#pragma unroll
		for (int e = 2 * half; e < 2 * half + 2; e++)
			most = logit[n][e] > most ? logit[n][e] : most;
	most = fmax(most, __shfl_xor_sync(~0u, most, 1));
	most = fmax(most, __shfl_xor_sync(~0u, most, 2));
#pragma unroll
	for (int n = 0; n < GROUP / 8; n++)
#pragma unroll
		for (int e = 2 * half; e < 2 * half + 2; e++) {
			logit[n][e] = exp_below(logit[n][e] - most, powers);
			added += logit[n][e];
		}
	*sum = fma(*sum, exp(*largest - most), sum_lanes(added, 4));
	*largest = most;
}

/* Stores one number for each of the warp's points and components, except for components beyond k. */
static __device__ __forceinline__ void
store(const struct sl_cuda_gmm &m, uint32_t group, uint32_t at, const double logit[2][GROUP / 8][4])
{
	uint32_t g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
#pragma unroll
	for (int n = 0; n < GROUP / 8; n++)
#pragma unroll
		for (int e = 0; e < 2; e++) {
			uint32_t c = group * GROUP + 8 * n + 2 * t + e;
			double *to = m.logit + (uint64_t)c * m.unit + at + g;
			for (int p = 0; p < 4 && c < m.k; p++)
				to[8 * p] = logit[p / 2][n][p % 2 * 2 + e];
		}
}

/* log_sum of the points first .. first + count - 1, and logit: the logarithms or, if there is only one group of
 * components, the responsibilities. A warp processes 32 points and GROUP components at a time. Blocks process several
 * sets of points, for which they load the coefficients once; part[block] is the sum of log_sum over their points.
 * Bound by operations in double precision. */
static __global__ void __launch_bounds__(THREADS, 2)
forms(const __grid_constant__ struct sl_cuda_gmm m, uint32_t first, uint32_t count, double *part)
{
	extern __shared__ __align__(128) char shared[];
	struct memory *s = reinterpret_cast<struct memory *>(shared);
	uint32_t groups = (m.k + GROUP - 1) / GROUP, eights = (m.d * (m.d + 3) / 2 + 7) / 8, loaded = ~0u;
	uint32_t own = threadIdx.x / 32 * 32, g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
	double density = 0;
	for (uint32_t f = threadIdx.x; f < SL_GM_PRODUCTS; f += THREADS)
		s->factors[f] = factors_of(m.d, f);
	fill_powers(s->powers);
	s->z[threadIdx.x][ONE] = 1;
	s->z[threadIdx.x][ZERO] = 0;
	for (uint32_t at = blockIdx.x * THREADS + own; at < count + own; at += gridDim.x * THREADS) {
		double largest[4] = {-DBL_MAX, -DBL_MAX, -DBL_MAX, -DBL_MAX}, sum[4] = {0, 0, 0, 0};
		double logit[2][GROUP / 8][4];
		__syncwarp();
		load_rows(m, first, at, count, s->z + own);
		__syncwarp();
		for (uint32_t group = 0; group < groups; group++) {
			if (group != loaded) {
				__syncthreads();
				for (uint32_t i = threadIdx.x; i < sizeof s->form / 16; i += THREADS)
					((double2 *)s->form)[i] = ((const double2 *)m.form)[group * (sizeof s->form / 16) + i];
				__syncthreads();
				loaded = group;
			}
#pragma unroll
			for (int n = 0; n < GROUP / 8; n++) {
				double2 level = *(const double2 *)(m.level + group * GROUP + 8 * n + 2 * t);
				for (int p = 0; p < 4; p++) {
					logit[p / 2][n][p % 2 * 2] = level.x;
					logit[p / 2][n][p % 2 * 2 + 1] = level.y;
				}
			}
			multiply(s, s->z + own, eights, logit);
			if (groups > 1)
				store(m, group, at, logit);
#pragma unroll
			for (int p = 0; p < 4; p++)
				tally(logit[p / 2], p % 2, &largest[p], &sum[p], s->powers);
		}
#pragma unroll
		for (int p = 0; p < 4; p++) {
			double log_sum = largest[p] + log(sum[p]);
			if (t == 0) {
				m.log_sum[at + g + 8 * p] = log_sum;
				density += at + g + 8 * p < count ? log_sum : 0;
			}
			if (groups > 1)
				continue;
			double by = 1 / sum[p];
			int nothing = (1023 - 60) << 20;  /* of SL_GM_NOTHING; integers leave the other units free */
#pragma unroll
			for (int n = 0; n < GROUP / 8; n++)
#pragma unroll
				for (int e = p % 2 * 2; e < p % 2 * 2 + 2; e++) {
					double r = logit[p / 2][n][e] * by;
					logit[p / 2][n][e] = __double2hiint(r) >= nothing ? r : 0;
				}
		}
		if (groups == 1)
			store(m, 0, at, logit);
	}
	density = block_sum(density);
	if (threadIdx.x == 0)
		part[blockIdx.x] = density;
}

cudaError_t sl__cuda_gmm_forms(const struct sl_cuda_gmm *m, uint32_t first, uint32_t count, double *part,
			       cudaStream_t stream)
{
	uint32_t blocks = blocks_for(count, THREADS);
	blocks = blocks < SL_GM_FORMS ? blocks : SL_GM_FORMS;
	forms<<<blocks, THREADS, sizeof(struct memory), stream>>>(*m, first, count, part);
	return cudaGetLastError();
}

/* ---- sums -------------------------------------------------------------------------------------------- */

struct held {
	double share[2][GROUP][SHARES];
	double z[2][TILE][ROW];
};

/* Starts to load the responsibilities, or logarithms, of the points at .. at + TILE - 1. */
static __device__ __forceinline__ void hold(const struct sl_cuda_gmm &m, uint32_t at, double (*share)[SHARES])
{
#pragma unroll
	for (uint32_t i = threadIdx.x; i < GROUP * TILE / 2; i += ADDERS) {
		uint32_t c = i / (TILE / 2), point = i % (TILE / 2) * 2, from = blockIdx.y * GROUP + c;
		copy_async(&share[c][point], m.logit + (uint64_t)(from < m.k ? from : m.k - 1) * m.unit + at + point);
	}
}

/* Loads this thread's numbers of TILE points; 0 beyond `end`. */
static __device__ __forceinline__ void
load_some(const struct sl_cuda_gmm &m, uint32_t first, uint32_t at, uint32_t end, const uint32_t place[EACH],
	  float x[EACH])
{
#pragma unroll
	for (int e = 0; e < EACH; e++) {
		uint32_t row = at + place[e] / 256, a = place[e] % 256;
		x[e] = row < end && a < m.d ? m.x[(uint64_t)(first + row) * m.d + a] : 0;
	}
}

/* Adds the products of TILE / 2 points, weighted, to sum[tile][n]: 16 components and 8 products. */
static __device__ __forceinline__ void
add(const double (*share)[SHARES], const double (*z)[ROW], const uint32_t factors[WIDE], double sum[4][WIDE][4])
{
	uint32_t g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
#pragma unroll 1
	for (uint32_t eight = 0; eight < TILE / 16; eight++) {
		uint32_t point = 8 * eight + t;
		double b[WIDE][2];
#pragma unroll
		for (int n = 0; n < WIDE; n++) {
			b[n][0] = product(z[point], factors[n]);
			b[n][1] = product(z[point + 4], factors[n]);
		}
#pragma unroll
		for (int tile = 0; tile < 4; tile++) {
			const double *low = &share[16 * tile + g][point], *high = &share[16 * tile + 8 + g][point];
			double a[4] = {low[0], high[0], low[4], high[4]};
#pragma unroll
			for (int n = 0; n < WIDE; n++)
				multiply_doubles(sum[tile][n], a, b[n]);
		}
	}
}

/* Adds the sums of responsibility times products over the points of a part to acc [parts][components][SL_GM_PRODUCTS].
 * Four warps divide the products, and two such groups of warps the points. Grid: (parts, groups of components). */
static __global__ void __launch_bounds__(ADDERS, 1)
add_products(const __grid_constant__ struct sl_cuda_gmm m, uint32_t first, uint32_t count, uint32_t length)
{
	extern __shared__ __align__(128) char shared[];
	struct held *s = reinterpret_cast<struct held *>(shared);
	uint32_t warp = threadIdx.x / 32, half = warp / 4 * (TILE / 2), g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
	uint32_t from = blockIdx.x * length, end = count < from + length ? count : from + length;
	uint32_t factors[WIDE], place[EACH];
	double sum[4][WIDE][4] = {};
	float x[EACH];
#pragma unroll
	for (int n = 0; n < WIDE; n++)
		factors[n] = factors_of(m.d, (warp % 4 * WIDE + n) * 8 + g);
#pragma unroll
	for (int e = 0; e < EACH; e++) {
		uint32_t i = threadIdx.x + e * ADDERS, row = i / m.d, a = i % m.d;
		place[e] = row < TILE ? row * 256 + a : 255;
	}
	if (threadIdx.x < 2 * TILE)
		s->z[threadIdx.x / TILE][threadIdx.x % TILE][ZERO] = 0;
	if (from < end) {
		hold(m, from, s->share[0]);
		load_some(m, first, from, end, place, x);
	}
	copies_commit();
	for (uint32_t at = from, turn = 0; at < end; at += TILE, turn ^= 1) {
#pragma unroll
		for (int e = 0; e < EACH; e++) {
			uint32_t row = place[e] / 256, a = place[e] % 256;
			if (a < m.d)
				s->z[turn][row][a] = at + row < end ? (double)x[e] - m.centre[a] : 0;
		}
		if (threadIdx.x < TILE)
			s->z[turn][threadIdx.x][ONE] = at + threadIdx.x < end ? 1 : 0;
		copies_wait<0>();
		__syncthreads();
		if (at + TILE < end) {
			hold(m, at + TILE, s->share[turn ^ 1]);
			load_some(m, first, at + TILE, end, place, x);
		}
		copies_commit();
		if (m.k > GROUP) {  /* logarithms */
			for (uint32_t i = threadIdx.x; i < GROUP * TILE; i += ADDERS) {
				double *share = &s->share[turn][i / TILE][i % TILE];
				double r = exp(*share - m.log_sum[at + i % TILE]);
				*share = r > SL_GM_NOTHING ? r : 0;
			}
			__syncthreads();
		}
		add((const double (*)[SHARES])&s->share[turn][0][half], s->z[turn] + half, factors, sum);
	}
	copies_wait<0>();
	__syncthreads();
	double *acc = m.acc + blockIdx.x * m.sums + (uint64_t)blockIdx.y * GROUP * SL_GM_PRODUCTS, *other = s->share[0][0];
	for (int turn = 1; turn >= 0; turn--) {
		double *to = turn ? other : acc;
#pragma unroll
		for (int i = 0; i < 4 * WIDE * 2 && warp / 4 == turn; i++) {
			uint32_t c = i / 2 / WIDE * 16 + i % 2 * 8 + g, f = (warp % 4 * WIDE + i / 2 % WIDE) * 8 + 2 * t;
			const double *mine = &sum[i / 2 / WIDE][i / 2 % WIDE][i % 2 * 2];
			double2 *at = (double2 *)(to + c * SL_GM_PRODUCTS + f), two = {mine[0], mine[1]};
			if (!turn) {
				double2 old = *at, beside = *(const double2 *)(other + c * SL_GM_PRODUCTS + f);
				two = {old.x + (two.x + beside.x), old.y + (two.y + beside.y)};
			}
			*at = two;
		}
		__syncthreads();
	}
}

cudaError_t sl__cuda_gmm_add_products(const struct sl_cuda_gmm *m, uint32_t first, uint32_t count, cudaStream_t stream)
{
	uint32_t length = (count + m->parts * TILE - 1) / (m->parts * TILE) * TILE;
	add_products<<<dim3(m->parts, (m->k + GROUP - 1) / GROUP), ADDERS, sizeof(struct held), stream>>>(*m, first, count,
													  length);
	return cudaGetLastError();
}

/* total = the tile of each component as scatter() would sum it: about the mean, from the sums of products. One block
 * for each component, one thread for each product. */
static __global__ void __launch_bounds__(SL_GM_PRODUCTS) total_products(const __grid_constant__ struct sl_cuda_gmm m)
{
	__shared__ double sum[SL_GM_PRODUCTS], first[SL_GM_SIDE];
	const double *mean = m.mean + (uint64_t)blockIdx.x * m.pitch;
	double *tile = m.total + (uint64_t)blockIdx.x * SL_GM_TILE, all = 0;
	uint32_t f = threadIdx.x, squares = m.d * (m.d + 1) / 2;
#pragma unroll 12
	for (uint32_t part = 0; part < m.parts; part++)
		all += m.acc[part * m.sums + (uint64_t)blockIdx.x * SL_GM_PRODUCTS + f];
	sum[f] = all;
	__syncthreads();
	double mass = sum[squares + m.d];
	if (f < m.d)
		tile[SL_GM_SIDE * SL_GM_SIDE + f] = first[f] = fma(-mass, mean[f], sum[squares + f]);
	if (f == 0)
		tile[SL_GM_SIDE * (SL_GM_SIDE + 1)] = mass;
	__syncthreads();
	if (f < squares) {
		uint32_t two = factors_of(m.d, f), i = two & 255, j = two >> 8;
		double about = fma(-mean[j], first[i], fma(-mean[i], sum[squares + j], all));
		tile[i * SL_GM_SIDE + j] = tile[j * SL_GM_SIDE + i] = about;
	}
}

cudaError_t sl__cuda_gmm_total_products(const struct sl_cuda_gmm *m, cudaStream_t stream)
{
	total_products<<<m->k, SL_GM_PRODUCTS, 0, stream>>>(*m);
	return cudaGetLastError();
}

cudaError_t sl__cuda_gmm_init(void)
{
	return first_error(allow_shared(sizeof(struct memory), -1, forms),
			   allow_shared(sizeof(struct held), -1, add_products));
}
