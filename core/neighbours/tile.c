/* The inner loop of all searches. Compiled once for each instruction set; SL_VARIANT is the name of the variant's
 * table. Comparing ROWS queries with a panel keeps ROWS * VECTORS sums in registers; each step loads one coordinate of
 * the panel's points and of each query. */
#include "core/neighbours/tile.h"

#include "core/method/lanes.h"

#define ROWS BY_SET(12, 3, 1)
#define VECTORS (SL__LANES / WIDTH)

INLINE vec absolute(vec x) { return (vec)((bits)x & 0x7fffffff); }

/* |x|^power for |x| < 2^20; relative error below 1e-5 for powers up to 16. log2 by its series in
 * (m - 1) / (m + 1), 2^f by its Taylor series. */
INLINE vec power_of(vec x, float power)
{
	x = absolute(x);
	bits none = x < 1e-30f, exponent = ((bits)x - 0x3f3504f3) >> 23;
	vec m = (vec)((unsigned_bits)x - ((unsigned_bits)exponent << 23));
	vec s = (m - 1) / (m + 1), q = s * s;
	vec l = s * (2.885390082f + q * (0.961796694f + q * (0.577078016f + q * (0.412198583f + q * 0.320598898f))));
	vec whole = __builtin_convertvector(exponent, vec) * power, e = whole + l * power;
	bits low = e < -125.0f;
	e = choose(low, e * 0 - 125.0f, e);
	bits n = __builtin_convertvector(e + 1024.5f, bits) - 1024;
	vec f = ((whole - __builtin_convertvector(n, vec)) + l * power) * 0.693147181f;
	f = (vec)((bits)f & ~low);
	vec t = 1 + f * (1 + f * (0.5f + f * (0.166666667f + f * (0.0416666667f + f * (0.00833333333f + f *
			0.00138888889f)))));
	return (vec)(((unsigned_bits)t + ((unsigned_bits)n << 23)) & (unsigned_bits)~none);
}

INLINE vec add(int metric, float power, vec sum, vec y, float q)
{
	vec t;
	switch (metric) {
	case SL_INNER_PRODUCT:
		return sum - y * q;
	case SL_L1:
		return sum + absolute(y - q);
	case SL_LINF:
		t = absolute(y - q);
		/* in this order NaN stays NaN */
		return choose(sum >= t, sum, t);
	case SL_HAMMING:
		t = (vec)((y != q) & (bits)(y * 0 + 1));
		return sum + t + y * 0;
	case SL_LP:
		t = y - q;
		return sum + power_of(t, power) + t * 0;  /* empty lanes are NaN and must stay NaN */
	default:
		t = y - q;
		return sum + t * t;
	}
}

/* A bit mask of the lanes of x below bound. */
INLINE uint32_t below(vec x, float bound)
{
#if WIDTH == 16
	return _mm512_cmp_ps_mask((__m512)x, _mm512_set1_ps(bound), _CMP_LT_OQ);
#elif WIDTH == 8
	return (uint32_t)_mm256_movemask_ps(_mm256_cmp_ps((__m256)x, _mm256_set1_ps(bound), _CMP_LT_OQ));
#else
	return (uint32_t)((x[0] < bound) | (x[1] < bound) << 1 | (x[2] < bound) << 2 | (x[3] < bound) << 3);
#endif
}

INLINE void collect(const vec *key, const uint32_t *number, struct sl__nearest *list)
{
	uint32_t hits = 0;
	for (int v = 0; v < VECTORS; v++)
		hits |= below(key[v], list->bound) << (v * WIDTH);
	if (__builtin_expect(!hits, 1))
		return;
	float keys[SL__LANES];
	memcpy(keys, key, sizeof keys);
	uint32_t count = list->count;
	for (; hits; hits &= hits - 1) {
		int lane = __builtin_ctz(hits);
		list->entry[count++] = sl__entry(keys[lane], number[lane]);
	}
	list->count = count;
	if (count + SL__LANES > list->capacity)
		sl__nearest_shrink(list);
}

INLINE void scan_rows(int metric, float power, uint32_t d, const float *query, const float *panel,
		      const uint32_t *number, struct sl__nearest *list)
{
	vec sum[ROWS][VECTORS];
#pragma GCC unroll 12
	for (int r = 0; r < ROWS; r++)
#pragma GCC unroll 8
		for (int v = 0; v < VECTORS; v++)
			sum[r][v] = (vec){0};
	for (uint32_t k = 0; k < d; k++) {
		vec y[VECTORS];
#pragma GCC unroll 8
		for (int v = 0; v < VECTORS; v++)
			y[v] = load(panel + (size_t)k * SL__LANES + v * WIDTH);
#pragma GCC unroll 12
		for (int r = 0; r < ROWS; r++)
#pragma GCC unroll 8
			for (int v = 0; v < VECTORS; v++)
				sum[r][v] = add(metric, power, sum[r][v], y[v], query[(size_t)k * SL__GROUP + r]);
	}
#pragma GCC unroll 12
	for (int r = 0; r < ROWS; r++)
		collect(sum[r], number, list + r);
}

/* Coordinates are 0 or 1. Computes the number that is 1 in only one of the rows, and in at least one. */
INLINE void scan_sets(uint32_t d, const float *query, const float *panel, const uint32_t *number,
		      struct sl__nearest *list)
{
	vec one[VECTORS], either[VECTORS];
#pragma GCC unroll 8
	for (int v = 0; v < VECTORS; v++)
		one[v] = either[v] = (vec){0};
	for (uint32_t k = 0; k < d; k++) {
		float q = query[(size_t)k * SL__GROUP];
#pragma GCC unroll 8
		for (int v = 0; v < VECTORS; v++) {
			vec y = load(panel + (size_t)k * SL__LANES + v * WIDTH), apart = absolute(y - q);
			one[v] += apart;
			either[v] += (y + q + apart) * 0.5f;
		}
	}
#pragma GCC unroll 8
	for (int v = 0; v < VECTORS; v++)  /* two empty sets are equal */
		one[v] /= either[v] + (vec)((either[v] == 0) & (bits)(either[v] * 0 + 1));
	collect(one, number, list);
}

static void scan_jaccard(uint32_t d, const float *query, const float *panel, uint32_t panels, const uint32_t *number,
			 struct sl__nearest *list)
{
	for (uint32_t i = 0; i < panels; i++)
		for (int r = 0; r < SL__GROUP; r++)
			scan_sets(d, query + r, panel + (size_t)i * d * SL__LANES, number + (size_t)i * SL__LANES, list + r);
}

INLINE void scan_metric(int metric, float power, uint32_t d, const float *query, const float *panel, uint32_t panels,
			const uint32_t *number, struct sl__nearest *list)
{
	for (uint32_t i = 0; i < panels; i++)
		for (int r = 0; r < SL__GROUP; r += ROWS)
			scan_rows(metric, power, d, query + r, panel + (size_t)i * d * SL__LANES,
				  number + (size_t)i * SL__LANES, list + r);
}

static void scan(int metric, float power, uint32_t d, const float *query, const float *panel, uint32_t panels,
		 const uint32_t *number, struct sl__nearest *list)
{
	switch (metric) {
	case SL_INNER_PRODUCT: scan_metric(SL_INNER_PRODUCT, 0, d, query, panel, panels, number, list); break;
	case SL_L1: scan_metric(SL_L1, 0, d, query, panel, panels, number, list); break;
	case SL_LINF: scan_metric(SL_LINF, 0, d, query, panel, panels, number, list); break;
	case SL_HAMMING: scan_metric(SL_HAMMING, 0, d, query, panel, panels, number, list); break;
	case SL_JACCARD: scan_jaccard(d, query, panel, panels, number, list); break;
	case SL_LP: scan_metric(SL_LP, power, d, query, panel, panels, number, list); break;
	default: scan_metric(SL_EUCLIDEAN, 0, d, query, panel, panels, number, list); break;
	}
}

extern const struct sl__tile_kernels SL_VARIANT;
const struct sl__tile_kernels SL_VARIANT = {SL_VARIANT_NAME, scan};
