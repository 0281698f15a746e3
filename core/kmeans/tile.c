/* Written once, compiled for several instruction sets (SL_VARIANT names this one's table). ROWS points against one
 * panel keep ROWS * VECTORS sums in registers. A chunk of the panel stays in the nearest cache while all points pass
 * by. */
#include "core/kmeans/tile.h"

#include <string.h>

#ifdef __AVX512F__
#define WIDTH 16
#define ROWS 8
#elif defined __AVX2__
#define WIDTH 8
#define ROWS 3
#else
#define WIDTH 4
#define ROWS 1
#endif
#define VECTORS (SL__KMEANS_LANES / WIDTH)
#define INLINE static inline __attribute__((always_inline))

typedef float vec __attribute__((vector_size(4 * WIDTH)));
typedef double wide __attribute__((vector_size(64)));
/* In tables. Read through these: memcpy() to an array of vectors would pass through the stack in each turn, which took
 * four times as long with AVX2. */
typedef float stored_vec __attribute__((vector_size(4 * WIDTH), aligned(4), may_alias));
typedef float stored_half __attribute__((vector_size(32), aligned(4), may_alias));
typedef double stored_wide __attribute__((vector_size(64), aligned(8), may_alias));

INLINE void some_rows(int rows, uint32_t from, uint32_t to, const float *const *row, const float *panel, float *out)
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
	for (int r = 0; r < rows; r++)
#pragma GCC unroll 8
		for (int v = 0; v < VECTORS; v++) {
			vec before;
			float *at = out + (size_t)r * SL__KMEANS_LANES + v * WIDTH;
			memcpy(&before, at, sizeof before);
			before += sum[r][v];
			memcpy(at, &before, sizeof before);
		}
}

static void products(uint32_t d, const float *const *row, uint32_t count, const float *panel, float *out)
{
	memset(out, 0, (size_t)count * SL__KMEANS_LANES * sizeof *out);
	for (uint32_t from = 0; from < d; from += SL__KMEANS_CHUNK) {
		uint32_t to = d - from < SL__KMEANS_CHUNK ? d : from + SL__KMEANS_CHUNK, i = 0;
		for (; i + ROWS <= count; i += ROWS)
			some_rows(ROWS, from, to, row + i, panel, out + (size_t)i * SL__KMEANS_LANES);
		for (; i < count; i++)
			some_rows(1, from, to, row + i, panel, out + (size_t)i * SL__KMEANS_LANES);
	}
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
	return ((sum[0] + sum[4]) + (sum[1] + sum[5])) + ((sum[2] + sum[6]) + (sum[3] + sum[7])) + rest;
}

extern const struct sl__kmeans_kernels SL_VARIANT;
const struct sl__kmeans_kernels SL_VARIANT = {products, square};
