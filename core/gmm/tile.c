/* Compiled once for each instruction set; SL_VARIANT is the name of the variant's table. Tiles of sums stay in
 * registers: ROWS rows of a factor by VECTORS of points; TALL columns by two vectors of columns. */
#include "core/gmm/tile.h"

#include <math.h>
#include <stdbool.h>

#define DOUBLES
#include "core/method/lanes.h"

#define VECTORS BY_SET(4, 2, 2)
#define TALL BY_SET(8, 4, 4)
#define LANES SL__GMM_LANES
#define ROWS SL__GMM_ROWS
#define LEAST (-1e290)  /* least logarithm, so that a point far from all components still has responsibilities */
#define NEGLIGIBLE (-110)  /* e to this is 0 in float32, and changes neither a sum of shares nor one weighted by them */

/* ---- densities -------------------------------------------------------------------------- */

/* constant - square / 2, at least LEAST */
INLINE vec logit_of(double constant, vec square)
{
	vec now = constant - square / 2, least = LEAST - (vec){0};
	return choose(now > least, now, least);
}

INLINE void solve_some(uint32_t d, const double *x, const double *mean, const double *factor, double constant,
		       double *y, double *out)
{
	vec square[VECTORS];
	for (int v = 0; v < VECTORS; v++)
		square[v] = (vec){0};
	for (uint32_t row = 0; row < d; row += ROWS) {
		vec sum[ROWS][VECTORS];
#pragma GCC unroll 4
		for (uint32_t r = 0; r < ROWS; r++) {
			double from = row + r < d ? mean[row + r] : 0;
#pragma GCC unroll 4
			for (int v = 0; v < VECTORS; v++)
				sum[r][v] = load(x + (size_t)(row + r) * LANES + v * WIDTH) - from;
		}
		for (uint32_t l = 0; l < row; l++, factor += ROWS) {
			vec before[VECTORS];
#pragma GCC unroll 4
			for (int v = 0; v < VECTORS; v++)
				before[v] = load(y + (size_t)l * LANES + v * WIDTH);
#pragma GCC unroll 4
			for (int r = 0; r < ROWS; r++)
#pragma GCC unroll 4
				for (int v = 0; v < VECTORS; v++)
					sum[r][v] -= factor[r] * before[v];
		}
#pragma GCC unroll 4
		for (int r = 0; r < ROWS; r++)
#pragma GCC unroll 4
			for (int v = 0; v < VECTORS; v++) {
#pragma GCC unroll 4
				for (int c = 0; c < r; c++)
					sum[r][v] -= factor[r * ROWS + c] * sum[c][v];
				sum[r][v] *= factor[r * ROWS + r];
				store(y + (size_t)(row + (uint32_t)r) * LANES + v * WIDTH, sum[r][v]);
				square[v] += sum[r][v] * sum[r][v];
			}
		factor += ROWS * ROWS;
	}
	for (int v = 0; v < VECTORS; v++)
		store(out + v * WIDTH, logit_of(constant, square[v]));
}

static void solve(uint32_t d, const double *x, const double *mean, const double *factor, double constant, double *y,
		  double *out)
{
	for (int lane = 0; lane < LANES; lane += VECTORS * WIDTH)
		solve_some(d, x + lane, mean, factor, constant, y + lane, out + lane);
}

static void scaled(uint32_t d, const double *x, const double *mean, const double *scale, double constant, double *out)
{
	for (int lane = 0; lane < LANES; lane += 4 * WIDTH) {
		vec sum[4] = {{0}, {0}, {0}, {0}};
		for (uint32_t k = 0; k < d; k++)
#pragma GCC unroll 4
			for (int v = 0; v < 4; v++) {
				vec away = (load(x + (size_t)k * LANES + lane + v * WIDTH) - mean[k]) * scale[k];
				sum[v] += away * away;
			}
		for (int v = 0; v < 4; v++)
			store(out + lane + v * WIDTH, logit_of(constant, sum[v]));
	}
}

/* e^x for x <= 0: 2^n e^r with |r| <= ln 2 / 2, e^r by its series up to r^13 (relative error 4e-18); 0 below -700. */
INLINE vec exponential(vec x)
{
	static const double term[] = {1.0 / 6227020800, 1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880,
				      1.0 / 40320, 1.0 / 5040, 1.0 / 720, 1.0 / 120, 1.0 / 24, 1.0 / 6, 0.5, 1, 1};
	const double magic = 0x1.8p52;
	bits in = x > -700;
	vec scaled_up = x * 1.4426950408889634 + magic, n = scaled_up - magic;
	vec r = (x - n * 6.93147180369123816490e-01) - n * 1.90821492927058770002e-10;
	vec e = term[0] - (vec){0};
#pragma GCC unroll 13
	for (int i = 1; i < 14; i++)
		e = e * r + term[i];
	return (vec)(((unsigned_bits)e + ((unsigned_bits)scaled_up << 52)) & (unsigned_bits)in);
}

/* Whether any number is greater. */
INLINE bool any_above(vec a, vec b, double least)
{
#ifdef __AVX512F__
	const __m512d low = _mm512_set1_pd(least);
	return _mm512_cmp_pd_mask((__m512d)a, low, _CMP_GT_OQ) | _mm512_cmp_pd_mask((__m512d)b, low, _CMP_GT_OQ);
#elif defined __AVX2__
	return _mm256_movemask_pd((__m256d)((a > least) | (b > least)));
#else
	bits above = (a > least) | (b > least);
	return above[0] | above[1];
#endif
}

static void share(uint32_t k, double *logit, double *log_sum, int32_t *label)
{
	for (int lane = 0; lane < LANES; lane += 2 * WIDTH) {
		vec most[2] = {load(logit + lane), load(logit + lane + WIDTH)}, sum[2] = {{0}, {0}}, part[2];
		bits best[2] = {{0}, {0}};
		for (uint32_t j = 1; j < k; j++)
			for (int v = 0; v < 2; v++) {
				vec now = load(logit + (size_t)j * LANES + lane + v * WIDTH);
				bits more = now > most[v];
				most[v] = choose(more, now, most[v]);
				best[v] = (more & (int64_t)j) | (best[v] & ~more);
			}
		for (int i = 0; i < 2 * WIDTH; i++)
			label[lane + i] = (int32_t)best[i / WIDTH][i % WIDTH];
		for (uint32_t j = 0; j < k; j++) {
			double *at = logit + (size_t)j * LANES + lane;
			vec below[2] = {load(at) - most[0], load(at + WIDTH) - most[1]};
			if (!any_above(below[0], below[1], NEGLIGIBLE)) {
				store(at, (vec){0});
				store(at + WIDTH, (vec){0});
				continue;
			}
			for (int v = 0; v < 2; v++) {
				vec e = exponential(below[v]);
				store(at + v * WIDTH, e);
				sum[v] += e;
			}
		}
		for (int v = 0; v < 2; v++) {
			part[v] = 1 / sum[v];
			for (int i = 0; i < WIDTH; i++)
				log_sum[lane + v * WIDTH + i] = most[v][i] + log(sum[v][i]);
		}
		for (uint32_t j = 0; j < k; j++)
			for (int v = 0; v < 2; v++) {
				double *at = logit + (size_t)j * LANES + lane + v * WIDTH;
				store(at, load(at) * part[v]);
			}
	}
}

/* ---- sums ------------------------------------------------------------------------------- */

static void centre(uint32_t d, uint32_t padded, uint32_t count, const float *const *row, const double *r,
		   const double *mean, double *z, double *rz)
{
	for (uint32_t i = 0; i < count; i++) {
		const float *x = row[i];
		double *to = z + (size_t)i * padded, *weighted = rz + (size_t)i * padded;
		for (uint32_t k = 0; k < d; k++) {
			double away = (double)x[k] - mean[k];
			to[k] = away;
			weighted[k] = r[i] * away;
		}
	}
}

static void moments(uint32_t padded, uint32_t count, const double *z, const double *rz, double *first, double *second)
{
	for (uint32_t b = 0; b < padded; b += SL__GMM_PAD) {
		vec one[SL__GMM_PAD / WIDTH], two[SL__GMM_PAD / WIDTH];
		for (int v = 0; v < SL__GMM_PAD / WIDTH; v++)
			one[v] = two[v] = (vec){0};
		for (uint32_t i = 0; i < count; i++)
#pragma GCC unroll 4
			for (int v = 0; v < SL__GMM_PAD / WIDTH; v++) {
				vec weighted = load(rz + (size_t)i * padded + b + v * WIDTH);
				one[v] += weighted;
				two[v] += weighted * load(z + (size_t)i * padded + b + v * WIDTH);
			}
		for (int v = 0; v < SL__GMM_PAD / WIDTH; v++) {
			store(first + b + v * WIDTH, load(first + b + v * WIDTH) + one[v]);
			if (second)
				store(second + b + v * WIDTH, load(second + b + v * WIDTH) + two[v]);
		}
	}
}

INLINE void add_tile(int vectors, uint32_t padded, uint32_t count, const uint8_t *list, const double *x,
		     const double *r, const double *mean, double *first, double *second)
{
	vec one[2], two[2], from[2];
	for (int v = 0; v < vectors; v++) {
		one[v] = load(first + v * WIDTH);
		two[v] = second ? load(second + v * WIDTH) : (vec){0};
		from[v] = load(mean + v * WIDTH);
	}
	for (uint32_t i = 0; i < count; i++) {
		const double *at = x + (size_t)list[i] * padded;
		double weight = r[list[i]];
#pragma GCC unroll 2
		for (int v = 0; v < vectors; v++) {
			vec away = load(at + v * WIDTH) - from[v], weighted = weight * away;
			one[v] += weighted;
			if (second)
				two[v] += weighted * away;
		}
	}
	for (int v = 0; v < vectors; v++) {
		store(first + v * WIDTH, one[v]);
		if (second)
			store(second + v * WIDTH, two[v]);
	}
}

/* The lanes below `count` whose responsibilities are above NOTHING; returns how many. */
INLINE uint32_t pick(uint32_t count, const double *r, uint8_t *list)
{
	uint32_t picked = 0;
#ifdef __AVX2__
	uint64_t lanes = 0;
	for (int lane = 0; lane < LANES; lane += WIDTH)
#ifdef __AVX512F__
		lanes |= (uint64_t)_mm512_cmp_pd_mask((__m512d)load(r + lane), _mm512_set1_pd(SL__GMM_NOTHING),
						      _CMP_GT_OQ) << lane;
#else
		lanes |= (uint64_t)_mm256_movemask_pd((__m256d)(load(r + lane) > SL__GMM_NOTHING)) << lane;
#endif
	for (lanes &= ~0ull >> (LANES - count); lanes; lanes &= lanes - 1)
		list[picked++] = (uint8_t)__builtin_ctzll(lanes);
#else
	for (uint32_t lane = 0; lane < count; lane++) {
		list[picked] = (uint8_t)lane;
		picked += r[lane] > SL__GMM_NOTHING;
	}
#endif
	return picked;
}

static double add(uint32_t padded, uint32_t count, const double *x, const double *r, const double *mean,
		  double *first, double *second)
{
	uint8_t list[LANES];
	uint32_t picked = pick(count, r, list), b = 0;
	double mass = 0;
	for (uint32_t i = 0; i < picked; i++)
		mass += r[list[i]];
	for (; picked && b + 2 * WIDTH <= padded; b += 2 * WIDTH)
		if (second)
			add_tile(2, padded, picked, list, x + b, r, mean + b, first + b, second + b);
		else
			add_tile(2, padded, picked, list, x + b, r, mean + b, first + b, NULL);
	if (picked && b < padded)
		add_tile(1, padded, picked, list, x + b, r, mean + b, first + b, second ? second + b : NULL);
	return mass;
}

static void widen(uint32_t d, uint32_t padded, uint32_t count, const float *row, double *x)
{
	for (uint32_t i = 0; i < count; i++)
		for (uint32_t a = 0; a < d; a++)
			x[(size_t)i * padded + a] = (double)row[(size_t)i * d + a];
}

INLINE void scatter_tile(int wide, uint32_t padded, uint32_t count, const double *z, const double *rz, double *sum)
{
	vec tile[TALL][2];
#pragma GCC unroll 8
	for (int a = 0; a < TALL; a++)
		tile[a][0] = tile[a][1] = (vec){0};
	for (uint32_t i = 0; i < count; i++, z += padded, rz += padded) {
		vec columns[2];
		for (int v = 0; v < wide; v++)
			columns[v] = load(z + v * WIDTH);
#pragma GCC unroll 8
		for (int a = 0; a < TALL; a++)
			for (int v = 0; v < wide; v++)
				tile[a][v] += rz[a] * columns[v];
	}
#pragma GCC unroll 8
	for (int a = 0; a < TALL; a++)
		for (int v = 0; v < wide; v++) {
			double *at = sum + (size_t)a * padded + v * WIDTH;
			store(at, load(at) + tile[a][v]);
		}
}

static void scatter(uint32_t padded, uint32_t from, uint32_t to, uint32_t count, const double *z, const double *rz,
		    double *sum)
{
	for (uint32_t a = from; a < to; a += TALL) {
		uint32_t b = a / WIDTH * WIDTH;
		for (; b + 2 * WIDTH <= padded; b += 2 * WIDTH)
			scatter_tile(2, padded, count, z + b, rz + a, sum + (size_t)a * padded + b);
		if (b < padded)
			scatter_tile(1, padded, count, z + b, rz + a, sum + (size_t)a * padded + b);
	}
}

static double dot(uint32_t count, const double *a, const double *b)
{
	vec sum[2] = {{0}, {0}};
	double all = 0;
	uint32_t k = 0;
	for (; k + 2 * WIDTH <= count; k += 2 * WIDTH)
		for (int v = 0; v < 2; v++)
			sum[v] += load(a + k + v * WIDTH) * load(b + k + v * WIDTH);
	for (; k < count; k++)
		all += a[k] * b[k];
	sum[0] += sum[1];
	for (int i = 0; i < WIDTH; i++)
		all += sum[0][i];
	return all;
}

extern const struct sl__gmm_kernels SL_VARIANT;
const struct sl__gmm_kernels SL_VARIANT = {solve, scaled, share, centre, moments, widen, add, scatter, dot};
