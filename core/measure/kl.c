/* The KL divergence of a layout: sum p log p + sum p log(1 + d^2) + log Z sum p. Z is symmetric, so only pairs j > i
 * are summed, by blocks of rows and blocks of columns that fit the cache.
 *
 * For large layouts Z is estimated. z_i = sum_j 1 / (1 + |y_i - y_j|^2) varies smoothly over the layout. So nodes are
 * sampled at equal intervals in the order of a k-d tree, in which successive nodes are near, and the variance is
 * estimated from successive samples (Wolter, Introduction to Variance Estimation, 2007, section 8.2).
 *
 * Partial sums are stored per row and added in the order of rows, so the number of threads does not matter. */
#include <math.h>
#include <stdlib.h>

#include "core/exponentials.h"
#include "core/measure/quality.h"
#include "core/measure/quality_internal.h"
#include "core/measure/tree.h"
#include "core/vector.h"

#define COLUMNS 2048         /* of a block: 48 KiB in 3-D, in double precision */
#define SAMPLES_LEAST 256

/* sum over j of 1 / (1 + |c - y_j|^2) for count points, coordinates by axis */
VECTOR static double sum_kernel(const double *const x[3], uint32_t from, uint32_t to, const double c[3], int dims)
{
	const double *restrict x0 = x[0], *restrict x1 = x[1], *restrict x2 = x[2];
	double sum = 0, c0 = c[0], c1 = c[1], c2 = c[2];
	if (dims == 1) {
#pragma omp simd reduction(+ : sum)
		for (uint32_t j = from; j < to; j++)
			sum += 1 / (1 + (x0[j] - c0) * (x0[j] - c0));
	} else if (dims == 2) {
#pragma omp simd reduction(+ : sum)
		for (uint32_t j = from; j < to; j++)
			sum += 1 / (1 + (x0[j] - c0) * (x0[j] - c0) + (x1[j] - c1) * (x1[j] - c1));
	} else {
#pragma omp simd reduction(+ : sum)
		for (uint32_t j = from; j < to; j++)
			sum += 1 / (1 + (x0[j] - c0) * (x0[j] - c0) + (x1[j] - c1) * (x1[j] - c1) +
				    (x2[j] - c2) * (x2[j] - c2));
	}
	return sum;
}

/* The same for other degrees of freedom, (1 + |c - y_j|^2 / dof)^-dof */
VECTOR_MATH static double sum_heavy(const double *const x[3], uint32_t from, uint32_t to, const double c[3], int dims,
			       double dof)
{
	const double *restrict x0 = x[0], *restrict x1 = dims > 1 ? x[1] : x[0], *restrict x2 = dims > 2 ? x[2] : x[0];
	double sum = 0, c0 = c[0], c1 = c[1], c2 = c[2], second = dims > 1, third = dims > 2;
#pragma omp simd reduction(+ : sum)
	for (uint32_t j = from; j < to; j++) {
		double square = (x0[j] - c0) * (x0[j] - c0) + second * (x1[j] - c1) * (x1[j] - c1) +
				third * (x2[j] - c2) * (x2[j] - c2);
		sum += sl__exp_of(-dof * sl__log_of(1 + square / dof));
	}
	return sum;
}

/* A layout, one array for each axis, and the kernel. */
struct field {
	uint32_t n;
	int dims;
	double dof;
	const double *x[3];
};

static double sum_range(const struct field *f, uint32_t i, uint32_t from, uint32_t to)
{
	double c[3] = {f->x[0][i], f->dims > 1 ? f->x[1][i] : 0, f->dims > 2 ? f->x[2][i] : 0};
	return f->dof == 1 ? sum_kernel(f->x, from, to, c, f->dims) : sum_heavy(f->x, from, to, c, f->dims, f->dof);
}

/* row[i] = sum over j > i of the kernel, computed by blocks. Returns Z. */
static double z_exact(const struct field *f, double *row)
{
	const uint32_t rows = 256, n = f->n;
#pragma omp parallel for schedule(dynamic, 1)
	for (uint32_t b = 0; b < (n + rows - 1) / rows; b++) {
		uint32_t first = b * rows, last = n - first < rows ? n : first + rows;
		for (uint32_t i = first; i < last; i++)
			row[i] = 0;
		for (uint32_t from = first; from < n; from += COLUMNS) {
			uint32_t to = n - from < COLUMNS ? n : from + COLUMNS;
			for (uint32_t i = first; i < last; i++) {
				uint32_t begin = i + 1 > from ? i + 1 : from;
				if (begin < to)
					row[i] += sum_range(f, i, begin, to);
			}
		}
	}
	double half = 0;
	for (uint32_t i = 0; i < n; i++)
		half += row[i];
	return 2 * half;
}

/* Estimates Z from `samples` of the n rows; *deviation: its standard deviation. row[samples]: scratch. */
static double z_sampled(const struct field *f, const uint32_t *order, uint32_t samples, double *row, double *deviation)
{
#pragma omp parallel for schedule(dynamic, 4)
	for (uint32_t s = 0; s < samples; s++) {
		uint32_t i = order[(uint64_t)(2 * (uint64_t)s + 1) * f->n / (2 * (uint64_t)samples)];
		double sum = 0;
		for (uint32_t from = 0; from < f->n; from += COLUMNS)
			sum += sum_range(f, i, from, f->n - from < COLUMNS ? f->n : from + COLUMNS);
		row[s] = sum - 1;
	}
	double sum = 0, square = 0, share = (double)samples / f->n;
	for (uint32_t s = 0; s < samples; s++) {
		sum += row[s];
		square += s ? (row[s] - row[s - 1]) * (row[s] - row[s - 1]) : 0;
	}
	*deviation = sqrt((1 - share) * square / (2 * (samples - 1.0)) / samples) * f->n;
	return sum / samples * f->n;
}

/* sum p log(1 / q~), by rows */
static double attraction(const struct sl_affinities *a, const struct field *f, double *row)
{
#pragma omp parallel for schedule(dynamic, 256)
	for (uint32_t i = 0; i < a->n; i++) {
		double s = 0;
		for (uint64_t e = a->start[i]; e < a->start[i + 1]; e++) {
			double square = 0;
			for (int d = 0; d < f->dims; d++) {
				double v = f->x[d][i] - f->x[d][a->node[e]];
				square += v * v;
			}
			s += (double)a->p[e] * f->dof * log1p(square / f->dof);
		}
		row[i] = s;
	}
	double sum = 0;
	for (uint32_t i = 0; i < a->n; i++)
		sum += row[i];
	return sum;
}

int sl_quality_divergence(const struct sl_affinities *a, int dims, double dof, const float *y, uint32_t samples,
			  double *kl, double *z, double *kl_error, struct sl_error *err)
{
	int rc = sl__quality_check(a->n, a->user, dims, y, err);
	if (rc)
		return rc;
	size_t n = a->n;
	struct sl_tree *tree = NULL;
	double *buffer = malloc(((size_t)dims * n + 1) * sizeof *buffer), *row = malloc((n + 1) * sizeof *row);
	struct field f = {.n = a->n, .dims = dims, .dof = dof};
	if (!buffer || !row) {
		rc = sl_error_memory(err, "measuring a layout of %u nodes", a->n);
		goto out;
	}
	for (int d = 0; d < dims; d++) {
		f.x[d] = buffer + (size_t)d * n;
		for (size_t i = 0; i < n; i++)
			buffer[(size_t)d * n + i] = (double)y[i * (size_t)dims + (size_t)d];
	}
	*kl_error = 0;
	if (!samples || samples >= n) {
		*z = z_exact(&f, row);
	} else {
		double deviation;
		rc = sl_tree_create(&tree, a->n, dims, y, err);
		if (rc)
			goto out;
		samples = samples > SAMPLES_LEAST ? samples : SAMPLES_LEAST;
		*z = z_sampled(&f, sl_tree_order(tree), samples < a->n ? samples : a->n, row, &deviation);
		*kl_error = 2 * deviation / *z;
	}
	double sum = 0;
	for (uint64_t e = 0; e < a->m; e++)
		sum += (double)a->p[e];
	*kl = a->m ? a->entropy + attraction(a, &f, row) + sum * log(*z) : 0;
out:
	sl_tree_destroy(tree);
	free(buffer);
	free(row);
	return rc;
}

int sl_quality_kl(const struct sl_affinities *a, int dims, const float *y, double *kl, double *z, struct sl_error *err)
{
	double none;
	return sl_quality_divergence(a, dims, 1, y, 0, kl, z, &none, err);
}
