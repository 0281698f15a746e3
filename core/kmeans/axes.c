/* Axes by subspace iteration on a sample: V = orthonormal(A' A V), a few times, from random V (Halko, Martinsson and
 * Tropp, SIAM Review 53, 2011, algorithm 4.4). They need not be exact.
 *
 * Error of y, relative to |x - mean|, with u = 2^-53 and axes V for which |V V' - 1| <= e: the nearest orthonormal axes
 * differ by at most e. Rounding changes a coordinate, a sum of d products, by at most (d + 2) u. So the error of all m
 * coordinates together is error = e + (sqrt(m) (d + 2) + 2) u. The error of the remainder's squared length is
 * (d + m + 8) u + 2 error (1 + error), that of the length its root. Single precision adds 2^-24. */
#include "core/kmeans/axes.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/random.h"

#define AXES SL__KMEANS_AXES
#define PIECE 16              /* rows that one thread multiplies at a time */
#define ROUNDS 2
#define PRODUCTS (1u << 23)   /* of one call: some milliseconds */
#define SKEW 1e-10            /* largest e of usable axes */

struct sl__kmeans_axes *sl__kmeans_axes_create(uint32_t d, uint32_t columns, uint32_t rows)
{
	struct sl__kmeans_axes *a = calloc(1, sizeof *a);
	size_t table = (size_t)columns * d, values = (size_t)rows * d;
	if (!a)
		return NULL;
	*a = (struct sl__kmeans_axes){.d = d, .columns = columns, .rows = rows};
	a->mean = calloc(d, sizeof *a->mean);
	a->axis = aligned_alloc(64, table * sizeof *a->axis);
	a->sample = malloc(values * sizeof *a->sample);
	a->transposed = malloc(values * sizeof *a->transposed);
	a->product = malloc((size_t)(d > rows ? d : rows) * columns * sizeof *a->product);
	a->factor = aligned_alloc(64, (size_t)rows * columns * sizeof *a->factor);
	if (a->mean && a->axis && a->sample && a->transposed && a->product && a->factor)
		return a;
	sl__kmeans_axes_destroy(a);
	return NULL;
}

static void drop_search(struct sl__kmeans_axes *a)
{
	free(a->sample);
	free(a->transposed);
	free(a->product);
	free(a->factor);
	a->sample = a->transposed = NULL;
	a->product = a->factor = NULL;
}

void sl__kmeans_axes_destroy(struct sl__kmeans_axes *a)
{
	if (!a)
		return;
	drop_search(a);
	free(a->mean);
	free(a->axis);
	free(a);
}

static void take_sample(struct sl__kmeans_axes *a, const float *x, uint32_t n)
{
	uint32_t d = a->d;
	for (uint32_t i = 0; i < a->rows; i++) {
		double at = (i + sl_random_uniform(1, i)) / a->rows * n;
		const float *row = x + (size_t)(at < n ? (uint32_t)at : n - 1) * d;
		for (uint32_t k = 0; k < d; k++)
			a->mean[k] += (double)row[k];
		memcpy(a->sample + (size_t)i * d, row, d * sizeof *row);
	}
	for (uint32_t k = 0; k < d; k++)
		a->mean[k] /= a->rows;
#pragma omp parallel for schedule(static)
	for (uint32_t from = 0; from < d; from += PIECE)
		for (uint32_t i = 0; i < a->rows; i++)
			for (uint32_t k = from; k < d && k < from + PIECE; k++)
				a->transposed[(size_t)k * a->rows + i] = a->sample[(size_t)i * d + k] -= (float)a->mean[k];
	for (size_t at = 0; at < (size_t)d * a->columns; at++)
		a->product[at] = sl_random_normal(2, at);
}

/* Rearranges the rows of a product into groups of AXES columns. */
static void group(const double *from, uint32_t rows, uint32_t columns, double *to)
{
	for (uint32_t g = 0; g < columns / AXES; g++)
		for (uint32_t i = 0; i < rows; i++)
			memcpy(to + ((size_t)g * rows + i) * AXES, from + (size_t)i * columns + g * AXES, AXES * sizeof *to);
}

static double inner(uint32_t count, const double *a, const double *b)
{
	double sum = 0;
#pragma omp simd reduction(+ : sum)
	for (uint32_t k = 0; k < count; k++)
		sum += a[k] * b[k];
	return sum;
}

/* Orthonormalises v [m][d] by Gram and Schmidt, twice. A vector that depends on those before becomes zero. */
static void orthonormalise(double *v, uint32_t m, uint32_t d)
{
	for (uint32_t a = 0; a < m; a++) {
		double *now = v + (size_t)a * d, whole = sqrt(inner(d, now, now)), length = whole;
		for (int turn = 0; turn < 2; turn++)
			for (uint32_t b = 0; b < a; b++) {
				const double *other = v + (size_t)b * d;
				double by = inner(d, now, other);
				for (uint32_t k = 0; k < d; k++)
					now[k] -= by * other[k];
			}
		length = sqrt(inner(d, now, now));
		for (uint32_t k = 0; k < d; k++)
			now[k] = length > whole * 1e-7 && length > DBL_MIN / DBL_EPSILON ? now[k] / length : 0;
	}
}

/* |V V' - 1| of the axes v [m][d], without those that are zero. */
static double skew(const double *v, uint32_t m, uint32_t d)
{
	double sum = 0;
	for (uint32_t a = 0; a < m; a++)
		for (uint32_t b = 0; b <= a; b++) {
			double now = inner(d, v + (size_t)a * d, v + (size_t)b * d);
			if (a == b && now != 0)
				now -= 1;
			sum += now * now * (a == b ? 1 : 2);
		}
	return sqrt(sum) + m * (d + 2.0) * DBL_EPSILON;
}

static void measure(struct sl__kmeans_axes *a, const double *v)
{
	double u = DBL_EPSILON / 2, d = a->d, m = a->columns - 1, e = skew(v, a->columns - 1, a->d);
	a->error = 1.01 * (e + (sqrt(m) * (d + 2) + 2) * u);
	a->fuzz = 1.01 * (sqrt((d + m + 8) * u + 2 * a->error * (1 + a->error)) + a->error + 0x1p-24);
	a->usable = e < SKEW && inner(a->d, v, v) > 0;
}

/* Makes axes of product [d][columns]. False: no memory. */
static bool take_axes(struct sl__kmeans_axes *a)
{
	uint32_t d = a->d, m = a->columns - 1;
	double *v = malloc((size_t)m * d * sizeof *v);
	if (!v)
		return false;
	for (uint32_t k = 0; k < d; k++)
		for (uint32_t j = 0; j < m; j++)
			v[(size_t)j * d + k] = a->product[(size_t)k * a->columns + j];
	orthonormalise(v, m, d);
	measure(a, v);
	for (uint32_t k = 0; k < d; k++)
		for (uint32_t j = 0; j < a->columns; j++)
			a->axis[((size_t)(j / AXES) * d + k) * AXES + j % AXES] = j < m ? v[(size_t)j * d + k] : 0;
	free(v);
	return true;
}

/* Computes rows of sample * axes or, in odd half rounds, of the transposed sample times that product. */
static void multiply(struct sl__kmeans_axes *a, const struct sl__kmeans_kernels *kernels, uint32_t from, uint32_t to)
{
	bool odd = a->round % 2;
	uint32_t width = odd ? a->rows : a->d;
#pragma omp parallel for schedule(dynamic)
	for (uint32_t i = from; i < to; i += PIECE) {
		double square[PIECE];
		const float *x = (odd ? a->transposed : a->sample) + (size_t)i * width;
		kernels->project(width, to - i < PIECE ? to - i : PIECE, x, NULL, NULL, odd ? a->factor : a->axis,
				 a->columns / AXES, a->product + (size_t)i * a->columns, square);
	}
}

bool sl__kmeans_axes_search(struct sl__kmeans_axes *a, const struct sl__kmeans_kernels *kernels, const float *x,
			    uint32_t n)
{
	bool odd = a->round % 2, first = a->round == 0 && a->done == 0;
	uint32_t rows = odd ? a->d : a->rows, width = odd ? a->rows : a->d;
	uint32_t step = PRODUCTS / (width * a->columns) / PIECE * PIECE + PIECE;
	if (first) {
		take_sample(a, x, n);
		a->usable = take_axes(a);
	}
	uint32_t to = rows - a->done < step ? rows : a->done + step;
	multiply(a, kernels, a->done, to);
	a->done = to;
	if (to == rows && odd)
		a->usable = take_axes(a) && a->usable;
	else if (to == rows)
		group(a->product, rows, a->columns, a->factor);
	if (to == rows) {
		a->round++;
		a->done = 0;
	}
	if (a->usable && a->round < 2 * ROUNDS)
		return false;
	drop_search(a);
	return true;
}

void sl__kmeans_axes_apply(const struct sl__kmeans_axes *a, const struct sl__kmeans_kernels *kernels, const float *x,
			   const double *c, uint32_t count, double *y)
{
	double square[PIECE];
	for (uint32_t from = 0; from < count; from += PIECE) {
		uint32_t rows = count - from < PIECE ? count - from : PIECE;
		size_t at = (size_t)from * a->d;
		double *out = y + (size_t)from * a->columns;
		kernels->project(a->d, rows, x ? x + at : NULL, x ? NULL : c + at, a->mean, a->axis, a->columns / AXES, out,
				 square);
		for (uint32_t i = 0; i < rows; i++) {
			double *row = out + (size_t)i * a->columns, rest = square[i];
			for (uint32_t j = 0; j + 1 < a->columns; j++)
				rest -= row[j] * row[j];
			row[a->columns - 1] = rest > 0 ? sqrt(rest) : 0;
		}
	}
}
