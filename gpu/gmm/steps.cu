/* A pass for full covariances, few columns and one group of components, as forms.cu does it, but by one kernel: the
 * products and the responsibilities of a point stay in shared memory, and the sums in registers.
 *
 * Four warps of a block compute responsibilities (E step), each of its own tiles of 32 points. Four other warps add up
 * the products of these points (M step), each warp some of the products for all components. So each of the four
 * schedulers of a multiprocessor has a warp of either kind, and one multiplies while the other waits for memory or
 * computes exponentials. Warp w of the E step tells by barrier FULL + w that its tile is ready, and waits at barrier
 * EMPTY + w before it replaces the responsibilities of the tile before.
 *
 * In shared memory, a row has a number for each of the 32 points of a tile, or two. Chunks of 16 bytes are exchanged
 * within their row so that each access takes the least number of cycles. */
#include <float.h>

#include "gpu/gmm/forms.cuh"

#define POINTS SL_GM_WARP_POINTS         /* of a tile */
#define WARPS SL_GM_STEPS_WARPS          /* of each kind */
#define THREADS (2 * WARPS * 32)
#define FULL 1
#define EMPTY (FULL + WARPS)
#define MEET (WARPS * 32 + 32)           /* threads that meet at such a barrier */
#define WIDE 5                           /* blocks of 8 products of a warp that adds */
#define ROWS (SL_GM_SIDE + 2)            /* of z: columns, ones, zeros */
#define BITS 11
#define POWERS (1 << BITS)               /* steps of a power of two in exp_below() */

struct pass_memory {
	double form[EIGHTS][GROUP / 8][32][2];      /* coefficients, as sl__cuda_gmm_form() stores them */
	double share[WARPS][GROUP / 2][POINTS][2];  /* responsibilities of two components */
	double z[WARPS][3][ROWS][POINTS];           /* of the tile before, this one, the next one */
	double powers[POWERS], centre[SL_GM_SIDE], level[GROUP];
	uint32_t factors[EIGHTS][4][4];             /* for lane % 4: rows of both factors of products f and f + 4 */
};

/* Row i of z begins at this byte; point p is at (place_of_row(i) ^ 8 p). */
static __device__ __forceinline__ uint32_t place_of_row(uint32_t i)
{
	return i * POINTS * 8 + ((i & 1) << 6 | (i & 2) << 3);
}

static __device__ __forceinline__ double2 two_at(const void *from, uint32_t place)
{
	return *(const double2 *)((const char *)from + place);
}

/* The tiles of a block, or of a warp of the E step. */
struct tiles {
	uint32_t at, end, step;
};

/* Returns those of the units from .. to - 1 whose number is `own`, modulo `step`. */
static __device__ __forceinline__ struct tiles
tiles_of(const struct sl_cuda_gmm &m, uint32_t from, uint32_t to, uint32_t own, uint32_t step)
{
	uint32_t each = m.unit / POINTS, first = from * each, all = (m.n + POINTS - 1) / POINTS;
	return {first + (own + step - first % step) % step, to * each < all ? to * each : all, step};
}

/* ---- responsibilities ---------------------------------------------------------------------------------- */

static __device__ __forceinline__ float load_column(const struct sl_cuda_gmm &m, uint32_t point, uint32_t a)
{
	return point < m.n ? m.x[(uint64_t)point * m.d + a] : 0;
}

static __device__ __forceinline__ void
place_column(const struct sl_cuda_gmm &m, const struct pass_memory *s, uint32_t point, uint32_t a, float x, void *z)
{
	double *to = (double *)((char *)z + (place_of_row(a) ^ threadIdx.x % 32 * 8));
	*to = point < m.n ? (double)x - s->centre[a] : 0;
}

/* Computes the products 8 eight .. 8 eight + 7 of 32 points, in the layout of multiply_doubles(): rows g and g + 8 of
 * a[i] are the points 4 g + 2 i and the next. */
static __device__ __forceinline__ void
multiply_columns(const struct pass_memory *s, const void *z, uint32_t eight, double a[2][4])
{
	uint4 place = *(const uint4 *)s->factors[eight][threadIdx.x % 4];
	uint32_t g = threadIdx.x % 32 / 4;
	double2 i, j;
#pragma unroll
	for (int tile = 0; tile < 2; tile++) {
		uint32_t chunk = g * 32 ^ tile * 16;
		i = two_at(z, place.x ^ chunk);
		j = two_at(z, place.y ^ chunk);
		a[tile][0] = i.x * j.x;
		a[tile][1] = i.y * j.y;
		i = two_at(z, place.z ^ chunk);
		j = two_at(z, place.w ^ chunk);
		a[tile][2] = i.x * j.x;
		a[tile][3] = i.y * j.y;
	}
}

/* Loads eight coefficients of half of the components. */
static __device__ __forceinline__ void
load_form(const struct pass_memory *s, uint32_t eight, int half, double b[GROUP / 16][2])
{
#pragma unroll
	for (int n = 0; n < GROUP / 16; n++) {
		double2 two = *(const double2 *)s->form[eight][half * (GROUP / 16) + n][threadIdx.x % 32];
		b[n][0] = two.x;
		b[n][1] = two.y;
	}
}

static __device__ __forceinline__ void
multiply_half(const double a[2][4], const double b[GROUP / 16][2], int half, double logit[2][GROUP / 8][4])
{
#pragma unroll
	for (int n = 0; n < GROUP / 16; n++)
#pragma unroll
		for (int tile = 0; tile < 2; tile++)
			multiply_doubles(logit[tile][half * (GROUP / 16) + n], a[tile], b[n]);
}

/* Adds the products of 32 points and coefficients to logit[i][n]: 16 points and 8 components. Loads numbers ahead, into
 * registers that no unfinished multiplication reads. Meanwhile places the columns of `point`, which is of the next
 * tile, in `later`. */
static __device__ __forceinline__ void
multiply(const struct sl_cuda_gmm &m, const struct pass_memory *s, const void *z, uint32_t point, void *later,
	 double logit[2][GROUP / 8][4])
{
	double a[2][4], next[2][4], b[2][GROUP / 16][2];
	uint32_t eights = (m.d * (m.d + 3) / 2 + 7) / 8;
	float x = 0;
	multiply_columns(s, z, 0, next);
	load_form(s, 0, 0, b[0]);
#pragma unroll 1
	for (uint32_t eight = 0; eight < eights; eight++) {
		uint32_t after = eight + 1 < EIGHTS ? eight + 1 : eight;
		for (int e = 0; e < 8; e++)
			a[e / 4][e % 4] = next[e / 4][e % 4];
		load_form(s, eight, 1, b[1]);
		multiply_columns(s, z, after, next);
		multiply_half(a, b[0], 0, logit);
		load_form(s, after, 0, b[0]);
		if (eight > 0 && eight <= m.d)
			place_column(m, s, point, eight - 1, x, later);
		if (eight < m.d)
			x = load_column(m, point, eight);
		multiply_half(a, b[1], 1, logit);
	}
	for (uint32_t column = eights; column <= m.d; column++) {
		place_column(m, s, point, column - 1, x, later);
		if (column < m.d)
			x = load_column(m, point, column);
	}
}

/* e^x for x <= 0, with an error of at most 2 + |x| / 2 ulp; less than 2^-1020 if x < -708. Takes fewer operations in
 * double precision than exp(): e^x = 2^n 2^(i / POWERS) e^r with |r| <= log(2) / 2 / POWERS. */
static __device__ __forceinline__ double exp_below(double x, const double table[POWERS])
{
	x = __hiloint2double((int)min((uint32_t)__double2hiint(x), 0xc0862000u), __double2loint(x));
	double shifted = fma(x, POWERS / 0.693147180559945309417, 0x1.8p52), whole = shifted - 0x1.8p52;
	int steps = __double2loint(shifted);
	double r = fma(whole, -0.693147180559945309417 / POWERS, x), power = table[steps & (POWERS - 1)];
	double p = fma(fma(r, 1 / 6.0, 0.5), r * r, r);
	double y = fma(power, p, power);
	return __hiloint2double(__double2hiint(y) + (steps >> BITS << 20), __double2loint(y));
}

/* Replaces the logits by exp(logit - largest). Four neighbouring lanes share four points; lane 4 g + t gets the largest
 * logit of point 4 g + t and the sum. */
static __device__ __forceinline__ void
exponentiate(double logit[2][GROUP / 8][4], const double *powers, double *largest, double *sum)
{
	uint32_t t = threadIdx.x % 4;
#pragma unroll
	for (int p = 0; p < 4; p++) {
		double most = -DBL_MAX, added = 0;
#pragma unroll
		for (int n = 0; n < GROUP / 8; n++)
#pragma unroll
			for (int e = p % 2 * 2; e < p % 2 * 2 + 2; e++)
				most = logit[p / 2][n][e] > most ? logit[p / 2][n][e] : most;
		for (int step = 1; step < 4; step *= 2) {
			double other = __shfl_xor_sync(~0u, most, step);
			most = other > most ? other : most;
		}
#pragma unroll
		for (int n = 0; n < GROUP / 8; n++)
#pragma unroll
			for (int e = p % 2 * 2; e < p % 2 * 2 + 2; e++) {
				logit[p / 2][n][e] = exp_below(logit[p / 2][n][e] - most, powers);
				added += logit[p / 2][n][e];
			}
		added = sum_lanes(added, 4);
		*largest = t == p ? most : *largest;
		*sum = t == p ? added : *sum;
	}
}

/* Writes exp times `by`, which lane 4 g + t has for point 4 g + t. */
static __device__ __forceinline__ void
write_shares(const double logit[2][GROUP / 8][4], double by, double (*share)[POINTS][2])
{
	uint32_t g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
	int nothing = (1023 - 60) << 20;  /* of SL_GM_NOTHING; integers leave the other units free */
#pragma unroll
	for (int p = 0; p < 4; p++) {
		double each = __shfl_sync(~0u, by, p, 4);
#pragma unroll
		for (int n = 0; n < GROUP / 8; n++) {
			double r[2];
#pragma unroll
			for (int e = 0; e < 2; e++) {
				double x = logit[p / 2][n][p % 2 * 2 + e] * each;
				r[e] = __double2hiint(x) >= nothing ? x : 0;
			}
			*(double2 *)share[4 * n + t][4 * g + (p ^ t)] = {r[0], r[1]};
		}
	}
}

/* One of the warps of the E step. */
static __device__ __forceinline__ void
expect(const struct sl_cuda_gmm &m, struct pass_memory *s, uint32_t warp, uint32_t from, uint32_t to, double *part)
{
	uint32_t lane = threadIdx.x % 32, turn = 0;
	struct tiles tile = tiles_of(m, from, to, blockIdx.x * WARPS + warp, gridDim.x * WARPS);
	uint32_t start = tile.at * POINTS + lane;
	bool begun = false;
	for (uint32_t a = 0; a < m.d; a++)
		place_column(m, s, start, a, load_column(m, start, a), s->z[warp][0]);
	for (uint32_t unit = from; unit < to; unit++) {
		uint32_t each = m.unit / POINTS, end = (unit + 1) * each, place = tile.at - unit * each;
		double density = 0;
		part += unit > from ? min(tile.step, each) : 0;
		for (; tile.at < end && tile.at < tile.end; tile.at += tile.step) {
			uint32_t point = tile.at * POINTS + lane, later = turn == 2 ? 0 : turn + 1;
			double logit[2][GROUP / 8][4], largest = 0, sum = 1;
			__syncwarp();
#pragma unroll
			for (int n = 0; n < GROUP / 8; n++) {
				double2 level = *(const double2 *)(s->level + 8 * n + 2 * (lane % 4));
				for (int p = 0; p < 4; p++) {
					logit[p / 2][n][p % 2 * 2] = level.x;
					logit[p / 2][n][p % 2 * 2 + 1] = level.y;
				}
			}
			multiply(m, s, s->z[warp][turn], point + tile.step * POINTS, s->z[warp][later], logit);
			exponentiate(logit, s->powers, &largest, &sum);
			if (point < m.n)
				density += largest + log(sum);
			if (begun)
				barrier(EMPTY + warp, MEET);
			begun = true;
			write_shares(logit, point < m.n ? 1 / sum : 0, s->share[warp]);
			barrier_arrive(FULL + warp, MEET);
			turn = later;
		}
		density = sum_lanes(density);
		if (lane == 0 && place < each)
			part[place] = density;
	}
	if (begun)
		barrier(EMPTY + warp, MEET);
}

/* ---- sums ---------------------------------------------------------------------------------------------- */

/* Computes eight products of eight points, in the layout of multiply_doubles(): rows t and t + 4 are the points 2 t and
 * the next. */
static __device__ __forceinline__ void
multiply_points(const void *z, uint32_t places, uint32_t eight, double b[2])
{
	uint32_t chunk = threadIdx.x % 4 * 16 ^ eight * 64;
	double2 i = two_at(z, (places & 0xffff) ^ chunk), j = two_at(z, places >> 16 ^ chunk);
	b[0] = i.x * j.x;
	b[1] = i.y * j.y;
}

/* Loads the responsibilities of these points: rows g and g + 8 are the components 16 tile + 2 g and the next. */
static __device__ __forceinline__ void
load_shares(const double (*share)[POINTS][2], int tile, uint32_t eight, double a[4])
{
	uint32_t g = threadIdx.x % 32 / 4, t = threadIdx.x % 4, chunk = 2 * t ^ g % 4;
	double2 low = *(const double2 *)share[8 * tile + g][8 * eight + chunk];
	double2 high = *(const double2 *)share[8 * tile + g][8 * eight + (chunk ^ 1)];
	a[0] = low.x;
	a[1] = low.y;
	a[2] = high.x;
	a[3] = high.y;
}

/* Adds the products of a tile, weighted, to sum[i][n]: 16 components and 8 products. Loads numbers a step ahead, into
 * registers that no unfinished multiplication reads. */
static __device__ __forceinline__ void
add(const double (*share)[POINTS][2], const void *z, const uint32_t places[WIDE], double sum[4][WIDE][4])
{
	double a[3][4], b[2][WIDE][2];
#pragma unroll
	for (int n = 0; n < WIDE; n++)
		multiply_points(z, places[n], 0, b[0][n]);
	load_shares(share, 0, 0, a[0]);
#pragma unroll
	for (uint32_t step = 0; step < POINTS / 8 * 4; step++) {
		uint32_t eight = step / 4, tile = step % 4;
		if (step + 1 < POINTS / 8 * 4)
			load_shares(share, (step + 1) % 4, (step + 1) / 4, a[(step + 1) % 3]);
		if (eight + 1 < POINTS / 8) {
			multiply_points(z, places[tile], eight + 1, b[(eight + 1) % 2][tile]);
			if (tile == 3)
				multiply_points(z, places[4], eight + 1, b[(eight + 1) % 2][4]);
		}
#pragma unroll
		for (int n = 0; n < WIDE; n++)
			multiply_doubles(sum[tile][n], a[step % 3], b[eight % 2][n]);
	}
}

/* Returns the lane's pair i of sums among those of a block [components][SL_GM_PRODUCTS]. */
static __device__ __forceinline__ double2 *pair_of(double *acc, uint32_t warp, int i)
{
	uint32_t g = threadIdx.x % 32 / 4, t = threadIdx.x % 4, c = i / 2 / WIDE * 16 + 2 * g + i % 2;
	return (double2 *)(acc + c * SL_GM_PRODUCTS + (warp * WIDE + i / 2 % WIDE) * 8 + 2 * t);
}

/* One of the warps of the M step. */
static __device__ __forceinline__ void
maximize(const struct sl_cuda_gmm &m, struct pass_memory *s, uint32_t warp, uint32_t from, uint32_t to)
{
	struct tiles tile = tiles_of(m, from, to, blockIdx.x * WARPS, gridDim.x * WARPS);
	uint32_t places[WIDE], turn = 0;
	double sum[4][WIDE][4], *acc = m.acc + blockIdx.x * m.sums;
#pragma unroll
	for (int n = 0; n < WIDE; n++) {
		uint32_t factors = factors_of(m.d, (warp * WIDE + n) * 8 + threadIdx.x % 32 / 4);
		places[n] = place_of_row(factors & 255) | place_of_row(factors >> 8) << 16;
	}
#pragma unroll
	for (int i = 0; i < 4 * WIDE * 2; i++) {
		double2 old = *pair_of(acc, warp, i);
		sum[i / 2 / WIDE][i / 2 % WIDE][i % 2 * 2] = old.x;
		sum[i / 2 / WIDE][i / 2 % WIDE][i % 2 * 2 + 1] = old.y;
	}
	for (; tile.at < tile.end; tile.at += tile.step, turn = turn == 2 ? 0 : turn + 1)
#pragma unroll 1
		for (uint32_t w = 0; w < WARPS && tile.at + w < tile.end; w++) {
			barrier(FULL + w, MEET);
			add(s->share[w], s->z[w][turn], places, sum);
			barrier_arrive(EMPTY + w, MEET);
		}
#pragma unroll
	for (int i = 0; i < 4 * WIDE * 2; i++) {
		const double *mine = &sum[i / 2 / WIDE][i / 2 % WIDE][i % 2 * 2];
		*pair_of(acc, warp, i) = {mine[0], mine[1]};
	}
}

/* Processes the units from .. to - 1. A tile of points belongs to the same block and warp in each call, and the sums
 * continue in acc, so that their bits do not depend on the calls. part: for each unit, sums of log_sum over the points
 * of a warp, in the order of its first tile. Bound by operations in double precision. */
static __global__ void __launch_bounds__(THREADS, 1)
steps(const __grid_constant__ struct sl_cuda_gmm m, uint32_t from, uint32_t to, double *part)
{
	extern __shared__ __align__(128) char shared[];
	struct pass_memory *s = reinterpret_cast<struct pass_memory *>(shared);
	for (uint32_t i = threadIdx.x; i < sizeof s->form / 16; i += THREADS)
		copy_async((double2 *)s->form + i, (const double2 *)m.form + i);
	copies_commit();
	for (uint32_t i = threadIdx.x; i < EIGHTS * 4 * 4; i += THREADS) {
		uint32_t factors = factors_of(m.d, i / 16 * 8 + i / 4 % 4 + i % 4 / 2 * 4);
		s->factors[i / 16][i / 4 % 4][i % 4] = place_of_row(i % 2 ? factors >> 8 : factors & 255);
	}
	for (uint32_t i = threadIdx.x; i < WARPS * 3 * POINTS; i += THREADS) {
		s->z[i / POINTS / 3][i / POINTS % 3][ONE][i % POINTS] = 1;
		s->z[i / POINTS / 3][i / POINTS % 3][ZERO][i % POINTS] = 0;
	}
	for (uint32_t i = threadIdx.x; i < POWERS; i += THREADS)
		s->powers[i] = exp2(i / (double)POWERS);
	if (threadIdx.x < GROUP)
		s->level[threadIdx.x] = m.level[threadIdx.x];
	if (threadIdx.x < m.d)
		s->centre[threadIdx.x] = m.centre[threadIdx.x];
	copies_wait<0>();
	__syncthreads();
	if (threadIdx.x < THREADS / 2)
		maximize(m, s, threadIdx.x / 32, from, to);
	else
		expect(m, s, threadIdx.x / 32 - WARPS, from, to, part);
}

cudaError_t sl__cuda_gmm_steps(const struct sl_cuda_gmm *m, uint32_t from, uint32_t to, double *part,
			       cudaStream_t stream)
{
	steps<<<m->parts, THREADS, sizeof(struct pass_memory), stream>>>(*m, from, to, part);
	return cudaGetLastError();
}

uint32_t sl__cuda_gmm_steps_blocks(void)
{
	int device = 0, many = 0;
	bool room = sizeof(struct pass_memory) <= block_shared_most();
	cudaError_t status = room ? cudaGetDevice(&device) : cudaErrorInvalidValue;
	if (status == cudaSuccess)
		status = cudaDeviceGetAttribute(&many, cudaDevAttrMultiProcessorCount, device);
	if (status == cudaSuccess)
		status = allow_shared(sizeof(struct pass_memory), -1, steps);
	cudaGetLastError();
	return status == cudaSuccess ? (uint32_t)many : 0;
}
