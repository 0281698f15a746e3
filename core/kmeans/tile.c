/* Compiled once for each instruction set; SL_VARIANT is the name of the variant's table. Comparing ROWS points with a
 * panel keeps ROWS * VECTORS sums in registers. A chunk of the panel stays in the L1 cache while all points are
 * compared with it. */
#include "core/kmeans/tile.h"

#include <stddef.h>

#include "core/method/lanes.h"

#define ROWS BY_SET(8, 3, 1)
#define VECTORS (SL__KMEANS_LANES / WIDTH)

typedef double wide __attribute__((vector_size(64)));
/* Vectors as stored in tables. Do not copy them with memcpy(): it goes through the stack each time, which took four
 * times as long with AVX2. */
typedef float stored_vec __attribute__((vector_size(4 * WIDTH), aligned(4), may_alias));
typedef float stored_half __attribute__((vector_size(32), aligned(4), may_alias));
typedef double stored_wide __attribute__((vector_size(64), aligned(8), may_alias));

INLINE vec least_of(vec a, vec b)
{
	return choose(a < b, a, b);
}

/* Rotations of the lanes by half their number, a quarter, and so on. */
static const bits turns[] = {
#if WIDTH == 16
	{8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7},
	{4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3},
	{2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1},
	{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0},
#elif WIDTH == 8
	{4, 5, 6, 7, 0, 1, 2, 3},
	{2, 3, 4, 5, 6, 7, 0, 1},
	{1, 2, 3, 4, 5, 6, 7, 0},
#else
	{2, 3, 0, 1},
	{1, 2, 3, 0},
#endif
};

INLINE vec turned(vec v, bits turn)
{
#ifdef __clang__  /* for fuzzing; it has no shuffle by a variable */
	vec out;
	for (unsigned i = 0; i < sizeof v / sizeof v[0]; i++)
		out[i] = v[turn[i]];
	return out;
#else
	return __builtin_shuffle(v, turn);
#endif
}

INLINE float least_in(vec v)
{
#pragma GCC unroll 4
	for (unsigned turn = 0; turn < sizeof turns / sizeof *turns; turn++)
		v = least_of(v, turned(v, turns[turn]));
	return v[0];
}

/* Adds the products of coordinates from .. to - 1 to score. from == 0: score is not read. half: not NULL with the last
 * coordinates. */
INLINE void some_rows(int rows, uint32_t from, uint32_t to, const float *const *row, const float *panel,
		      const float *half, float *score, float *least)
{
	vec sum[ROWS][VECTORS];
#pragma GCC unroll 8
	for (int r = 0; r < rows; r++)
#pragma GCC unroll 8
		for (int v = 0; v < VECTORS; v++)
			sum[r][v] = (vec){0};
	for (uint32_t k = from; k < to; k++) {
		vec c[VECTORS];
#pragma GCC unroll 8
		for (int v = 0; v < VECTORS; v++)
			c[v] = *(const stored_vec *)(panel + (size_t)k * SL__KMEANS_LANES + v * WIDTH);
#pragma GCC unroll 8
		for (int r = 0; r < rows; r++)
#pragma GCC unroll 8
			for (int v = 0; v < VECTORS; v++)
				sum[r][v] += c[v] * row[r][k];
	}
#pragma GCC unroll 8
	for (int r = 0; r < rows; r++) {
		vec low = {0};
#pragma GCC unroll 8
		for (int v = 0; v < VECTORS; v++) {
			float *at = score + (size_t)r * SL__KMEANS_LANES + v * WIDTH;
			vec now = sum[r][v];
			if (from)
				now += *(const stored_vec *)at;
			if (half) {
				now = *(const stored_vec *)(half + v * WIDTH) - now;
				low = v ? least_of(now, low) : now;
			}
			*(stored_vec *)at = now;
		}
		if (half)
			least[r] = least_in(low);
	}
}

static void scores(uint32_t d, const float *const *row, uint32_t count, const float *panel, const float *half,
		   float *score, float *least)
{
	for (uint32_t from = 0; from < d; from += SL__KMEANS_CHUNK) {
		uint32_t to = d - from < SL__KMEANS_CHUNK ? d : from + SL__KMEANS_CHUNK, i = 0;
		const float *last = to == d ? half : NULL;
		for (; i + ROWS <= count; i += ROWS)
			some_rows(ROWS, from, to, row + i, panel, last, score + (size_t)i * SL__KMEANS_LANES, least + i);
		for (; i < count; i++)
			some_rows(1, from, to, row + i, panel, last, score + (size_t)i * SL__KMEANS_LANES, least + i);
	}
}

INLINE double sum_of(wide v)
{
	return ((v[0] + v[4]) + (v[1] + v[5])) + ((v[2] + v[6]) + (v[3] + v[7]));
}

static double square(uint32_t d, const float *x, const double *c)
{
	wide sum = {0};
	double rest = 0;
	uint32_t k = 0;
	for (; k + 8 <= d; k += 8) {
		wide a = __builtin_convertvector(*(const stored_half *)(x + k), wide);
		a -= *(const stored_wide *)(c + k);
		sum += a * a;
	}
	for (; k < d; k++)
		rest += ((double)x[k] - c[k]) * ((double)x[k] - c[k]);
	return sum_of(sum) + rest;
}

/* Differences to the mean [rows][CHUNK] of coordinates from .. to - 1, padded with zeros to a multiple of 8. */
INLINE void centre(uint32_t rows, uint32_t d, uint32_t from, uint32_t to, const float *x, const double *c,
		   const double *mean, double *out, double *square)
{
	for (uint32_t r = 0; r < rows; r++) {
		double *t = out + r * SL__KMEANS_CHUNK;
		uint32_t count = to - from;
		wide sum = {0};
		if (x)
			for (uint32_t k = 0; k < count; k++)
				t[k] = (double)x[(size_t)r * d + from + k];
		else
			memcpy(t, c + (size_t)r * d + from, count * sizeof *t);
		for (uint32_t k = 0; mean && k < count; k++)
			t[k] -= mean[from + k];
		for (uint32_t k = count; k % 8; k++)
			t[k] = 0;
		for (uint32_t k = 0; k < count; k += 8) {
			wide now = *(const stored_wide *)(t + k);
			sum += now * now;
		}
		square[r] += sum_of(sum);
	}
}

INLINE void some_axes(int rows, uint32_t count, const double *t, const double *axes, uint32_t pitch, double *out)
{
	wide sum[ROWS][2];
#pragma GCC unroll 8
	for (int r = 0; r < rows; r++)
		for (int v = 0; v < 2; v++)
			sum[r][v] = *(const stored_wide *)(out + (size_t)r * pitch + 8 * v);
	for (uint32_t k = 0; k < count; k++) {
		wide a = *(const stored_wide *)(axes + (size_t)k * SL__KMEANS_AXES);
		wide b = *(const stored_wide *)(axes + (size_t)k * SL__KMEANS_AXES + 8);
#pragma GCC unroll 8
		for (int r = 0; r < rows; r++) {
			sum[r][0] += a * t[r * SL__KMEANS_CHUNK + k];
			sum[r][1] += b * t[r * SL__KMEANS_CHUNK + k];
		}
	}
#pragma GCC unroll 8
	for (int r = 0; r < rows; r++)
		for (int v = 0; v < 2; v++)
			*(stored_wide *)(out + (size_t)r * pitch + 8 * v) = sum[r][v];
}

static void project(uint32_t d, uint32_t count, const float *x, const double *c, const double *mean, const double *axes,
		    uint32_t groups, double *out, double *square)
{
	double t[ROWS * SL__KMEANS_CHUNK] __attribute__((aligned(64)));
	uint32_t pitch = groups * SL__KMEANS_AXES;
	memset(out, 0, (size_t)count * pitch * sizeof *out);
	memset(square, 0, count * sizeof *square);
	for (uint32_t i = 0; i < count; i += ROWS) {
		uint32_t rows = count - i < ROWS ? count - i : ROWS;
		for (uint32_t from = 0; from < d; from += SL__KMEANS_CHUNK) {
			uint32_t to = d - from < SL__KMEANS_CHUNK ? d : from + SL__KMEANS_CHUNK;
			centre(rows, d, from, to, x ? x + (size_t)i * d : NULL, x ? NULL : c + (size_t)i * d, mean, t, square + i);
			for (uint32_t g = 0; g < groups; g++) {
				const double *part = axes + ((size_t)g * d + from) * SL__KMEANS_AXES;
				double *at = out + (size_t)i * pitch + g * SL__KMEANS_AXES;
				if (rows == ROWS)
					some_axes(ROWS, to - from, t, part, pitch, at);
				for (uint32_t r = 0; rows < ROWS && r < rows; r++)
					some_axes(1, to - from, t + r * SL__KMEANS_CHUNK, part, pitch, at + (size_t)r * pitch);
			}
		}
	}
}

static void measure(uint32_t d, uint32_t count, const float *x, const float *first, double *norm, double *sum,
		    double *square)
{
	for (uint32_t i = 0; i < count; i++) {
		const float *row = x + (size_t)i * d;
		wide length = {0};
		double rest = 0;
		uint32_t k = 0;
		for (; k + 8 <= d; k += 8) {
			wide a = __builtin_convertvector(*(const stored_half *)(row + k), wide);
			wide b = a - __builtin_convertvector(*(const stored_half *)(first + k), wide);
			length += a * a;
			*(stored_wide *)(sum + k) += b;
			*(stored_wide *)(square + k) += b * b;
		}
		for (; k < d; k++) {
			double a = (double)row[k], b = a - (double)first[k];
			rest += a * a;
			sum[k] += b;
			square[k] += b * b;
		}
		norm[i] = __builtin_sqrt(sum_of(length) + rest);
	}
}

static void add(uint32_t count, double sign, const float *x, double *sum)
{
	for (uint32_t k = 0; k < count; k++)
		sum[k] += sign * (double)x[k];
}

uint32_t SL_VARIANT_BLOCK(struct sl_kmeans *m, uint32_t block, bool forget, struct sl__kmeans_work *w);
extern const struct sl__kmeans_kernels SL_VARIANT;
const struct sl__kmeans_kernels SL_VARIANT = {scores, square, project, measure, add, SL_VARIANT_BLOCK};
