/* Products of tall matrices, tile by tile: each tile sums over all rows in their order, so the result does not depend
 * on the number of threads. Strips of SL__STRIP columns and SL__ROWS rows are packed before, so many of them at a time
 * that reading rows of the matrix in pieces costs little. */
#include "core/points/columns.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/points/project.h"
#include "core/vector.h"

#define STRIPS 4                        /* packed at a time */
#define WIDE (STRIPS * SL__STRIP)
#define FIRST_STRIPS 16                 /* of the first matrix */
#define FIRST_WIDE (FIRST_STRIPS * SL__STRIP)
#define TILE (SL__STRIP * SL__STRIP)
#define PACKED (SL__ROWS * SL__STRIP)   /* numbers of a strip */
#define BLOCK 64                        /* columns that are made orthogonal to those before at a time */

typedef double vec __attribute__((vector_size(64)));

VECTOR void sl__add_tile(const double *s, const double *t, double *tile)
{
	for (int half = 0; half < SL__STRIP; half += 8) {
		vec sum[8][2];
#pragma GCC unroll 8
		for (int i = 0; i < 8; i++) {
			memcpy(&sum[i][0], tile + (half + i) * SL__STRIP, sizeof(vec));
			memcpy(&sum[i][1], tile + (half + i) * SL__STRIP + 8, sizeof(vec));
		}
		for (int r = 0; r < SL__ROWS; r++) {
			vec a, b;
			memcpy(&a, t + r * SL__STRIP, sizeof a);
			memcpy(&b, t + r * SL__STRIP + 8, sizeof b);
#pragma GCC unroll 8
			for (int i = 0; i < 8; i++) {
				sum[i][0] += s[r * SL__STRIP + half + i] * a;
				sum[i][1] += s[r * SL__STRIP + half + i] * b;
			}
		}
#pragma GCC unroll 8
		for (int i = 0; i < 8; i++) {
			memcpy(tile + (half + i) * SL__STRIP, &sum[i][0], sizeof(vec));
			memcpy(tile + (half + i) * SL__STRIP + 8, &sum[i][1], sizeof(vec));
		}
	}
}

static uint32_t least(uint64_t a, uint32_t b)
{
	return a < b ? (uint32_t)a : b;
}

static uint32_t strips_of(uint32_t columns)
{
	return (columns + SL__STRIP - 1) / SL__STRIP;
}

/* packed[strips][SL__ROWS][SL__STRIP]: a part of a matrix with rows `pitch` apart; zeros beyond it. */
static void pack(const double *part, uint32_t rows, uint32_t columns, uint32_t pitch, double *packed)
{
	if (rows < SL__ROWS || columns % SL__STRIP)
		memset(packed, 0, sizeof *packed * PACKED * strips_of(columns));
	for (uint32_t r = 0; r < rows; r++)
		for (uint32_t from = 0; from < columns; from += SL__STRIP)
			memcpy(packed + (size_t)from * SL__ROWS + r * SL__STRIP, part + (size_t)r * pitch + from,
			       sizeof *packed * least(columns - from, SL__STRIP));
}

/* The same for the transposed part: `rows` of its columns are packed as rows. */
static void pack_transposed(const double *part, uint32_t rows, uint32_t columns, uint32_t pitch, double *packed)
{
	memset(packed, 0, sizeof *packed * PACKED * strips_of(columns));
	for (uint32_t k = 0; k < columns; k++)
		for (uint32_t r = 0; r < rows; r++)
			packed[(size_t)(k / SL__STRIP) * PACKED + r * SL__STRIP + k % SL__STRIP] = part[(size_t)k * pitch + r];
}

/* tile[sa][sb] += a' b */
static void add_tiles(uint32_t sa, uint32_t sb, const double *a, const double *b, double *tile)
{
	for (uint32_t i = 0; i < sa; i++)
		for (uint32_t j = 0; j < sb; j++)
			sl__add_tile(a + (size_t)i * PACKED, b + (size_t)j * PACKED, tile + ((size_t)i * sb + j) * TILE);
}

/* out += tile[..][sb], rows and columns of it */
static void add_out(const double *tile, uint32_t sb, uint32_t rows, uint32_t columns, double *out, uint32_t pitch)
{
	for (uint32_t i = 0; i < rows; i++)
		for (uint32_t j = 0; j < columns; j++)
			out[(size_t)i * pitch + j] += tile[((size_t)(i / SL__STRIP) * sb + j / SL__STRIP) * TILE +
							   i % SL__STRIP * SL__STRIP + j % SL__STRIP];
}

int sl__products(const double *v, uint32_t p, const double *w, uint32_t q, uint32_t pitch, uint32_t d, double *out)
{
	uint32_t across = (q + WIDE - 1) / WIDE, tasks = (p + FIRST_WIDE - 1) / FIRST_WIDE * across;
	int failed = 0;
	memset(out, 0, sizeof *out * p * q);
#pragma omp parallel reduction(| : failed)
	{
		double *a = aligned_alloc(64, sizeof *a * ((FIRST_STRIPS + STRIPS) * PACKED + FIRST_STRIPS * STRIPS * TILE));
		double *b = a + FIRST_STRIPS * PACKED, *tile = b + STRIPS * PACKED;
		failed = !a;
#pragma omp for schedule(dynamic, 1)
		for (uint32_t task = 0; task < tasks; task++) {
			uint32_t i = task / across * FIRST_WIDE, j = task % across * WIDE;
			uint32_t rows = least(p - i, FIRST_WIDE), columns = least(q - j, WIDE);
			if (failed)
				continue;
			memset(tile, 0, sizeof *tile * FIRST_STRIPS * STRIPS * TILE);
			for (uint64_t from = 0; from < d; from += SL__ROWS) {
				pack(v + from * pitch + i, least(d - from, SL__ROWS), rows, pitch, a);
				pack(w + from * pitch + j, least(d - from, SL__ROWS), columns, pitch, b);
				add_tiles(strips_of(rows), strips_of(columns), a, b, tile);
			}
			add_out(tile, strips_of(columns), rows, columns, out + (size_t)i * q + j, q);
		}
		free(a);
	}
	return failed ? SL_NOMEM : 0;
}

int sl__add_combinations(const double *v, uint32_t p, uint32_t pitch, uint32_t d, const double *share, uint32_t q,
			 double *out, uint32_t out_pitch)
{
	uint32_t strips = strips_of(q), tasks = (d + WIDE - 1) / WIDE;
	size_t piece = (size_t)strips * PACKED;  /* of SL__ROWS rows of share */
	double *b = aligned_alloc(64, sizeof *b * piece * ((p + SL__ROWS - 1) / SL__ROWS));
	int failed = !b;
	for (uint32_t from = 0, at = 0; b && from < p; from += SL__ROWS, at++)
		pack(share + (size_t)from * q, least(p - from, SL__ROWS), q, q, b + at * piece);
#pragma omp parallel reduction(| : failed) if (!failed)
	{
		double *a = aligned_alloc(64, sizeof *a * (STRIPS * PACKED + (size_t)STRIPS * strips * TILE));
		double *tile = a + STRIPS * PACKED;
		failed |= !a;
#pragma omp for schedule(dynamic, 1)
		for (uint32_t task = 0; task < tasks; task++) {
			uint32_t i = task * WIDE, rows = least(d - i, WIDE);
			if (failed)
				continue;
			memset(tile, 0, sizeof *tile * STRIPS * strips * TILE);
			for (uint32_t from = 0, at = 0; from < p; from += SL__ROWS, at++) {
				pack_transposed(v + (size_t)i * pitch + from, least(p - from, SL__ROWS), rows, pitch, a);
				add_tiles(strips_of(rows), strips, a, b + at * piece, tile);
			}
			add_out(tile, strips, rows, q, out + (size_t)i * out_pitch, out_pitch);
		}
		free(a);
	}
	free(b);
	return failed ? SL_NOMEM : 0;
}

VECTOR static double product(const double *restrict x, const double *restrict y, uint32_t count)
{
	double sum = 0;
#pragma omp simd reduction(+ : sum)
	for (uint32_t k = 0; k < count; k++)
		sum += x[k] * y[k];
	return sum;
}

/* Scales column x [d] to length 1; to 0 if its square is nothing beside `before`. */
static void normalise(double *x, uint32_t d, double before)
{
	double square = product(x, x, d), factor = square > 1e-24 * before && square > 0 ? 1 / sqrt(square) : 0;
	for (uint32_t k = 0; k < d; k++)
		x[k] *= factor;
}

/* Orthonormalises q columns of a matrix among themselves, by Gram and Schmidt. before[q]: squares of their lengths.
 * x[q][d]: scratch. */
static void orthonormalise_block(double *v, uint32_t q, uint32_t pitch, uint32_t d, double *before, double *x)
{
	for (uint32_t k = 0; k < d; k++)
		for (uint32_t j = 0; j < q; j++)
			x[(size_t)j * d + k] = v[(size_t)k * pitch + j];
	for (uint32_t j = 0; j < q; j++) {
		double *own = x + (size_t)j * d;
		for (uint32_t i = 0; i < j; i++)
			sl__add_scaled(own, -product(own, x + (size_t)i * d, d), x + (size_t)i * d, d);
		normalise(own, d, before[j]);
		before[j] = 1;
	}
	for (uint32_t k = 0; k < d; k++)
		for (uint32_t j = 0; j < q; j++)
			v[(size_t)k * pitch + j] = x[(size_t)j * d + k];
}

int sl__orthonormalise(double *v, uint32_t c, uint32_t d, const int *cancel)
{
	double *share = malloc(sizeof *share * c * BLOCK), *x = malloc(sizeof *x * d * BLOCK);
	int rc = share && x ? 0 : SL_NOMEM;
	for (uint32_t from = 0; !rc && from < c; from += BLOCK) {
		uint32_t q = least(c - from, BLOCK);
		double before[BLOCK] = {0};
		for (uint32_t k = 0; k < d; k++)
			for (uint32_t j = 0; j < q; j++)
				before[j] += v[(size_t)k * c + from + j] * v[(size_t)k * c + from + j];
		for (int twice = 0; !rc && twice < 2; twice++) {
			rc = from ? sl__products(v, from, v + from, q, c, d, share) : 0;
			for (size_t i = 0; i < (size_t)from * q; i++)
				share[i] *= -1;
			if (!rc && from)
				rc = sl__add_combinations(v, from, c, d, share, q, v + from, c);
			if (!rc)
				orthonormalise_block(v + from, q, c, d, before, x);
		}
		if (!rc && cancel && __atomic_load_n(cancel, __ATOMIC_RELAXED))
			rc = SL_CANCELLED;
	}
	free(share);
	free(x);
	return rc;
}
