/* Principal axes. The covariance matrix is summed in double precision, in tiles of 16 x 16 columns. One thread sums a
 * tile over all rows, in order, so the result does not depend on the number of threads. eigen.c finds its eigenvectors.
 * With thousands of columns that would take minutes. Then the subspace of the first axes is iterated instead, from a
 * random start, by passes over the points (Halko, Martinsson and Tropp, SIAM Review 53, 2011, algorithm 4.4). Another
 * device may compute the passes (struct sl_points_passes). */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/points/columns.h"
#include "core/points/project.h"
#include "core/random.h"

#define STRIP SL__STRIP
#define ROWS SL__ROWS
#define DENSE_COLUMNS 2048    /* with more columns, axes are iterated */
#define OVERSAMPLING 16       /* additional columns of the iteration */
#define PASSES 8
/* Limits of time and memory for small tables of many columns. */
#define AXES_MOST 2048u
#define COMPONENTS_MOST (1u << 26)  /* axes times columns */

struct pca {
	const struct sl_points *points;
	uint32_t n, d, to;
	const int *cancel;
	const struct sl_points_passes *passes;  /* NULL: computed here */
	bool iterated;                          /* also with few columns */
	struct sl_error *err;                   /* errors of the passes */
	double *mean;     /* [d] of the result */
	double *axis;     /* [d][to] of the result */
	double total;     /* variance, times n */
	double held;      /* variance along the axes, times n */
};

static bool cancelled(const struct pca *a)
{
	return a->cancel && __atomic_load_n(a->cancel, __ATOMIC_RELAXED);
}

/* ---- mean ------------------------------------------------------------------------ */

/* Adds sums of 1024 rows each, in order. */
static int compute_mean(struct pca *a)
{
	uint32_t d = a->d, blocks = (a->n + 1023) / 1024;
	double *sum = calloc((size_t)blocks * d, sizeof *sum);
	int failed = !sum;
#pragma omp parallel reduction(| : failed)
	{
		float *row = malloc(d * sizeof *row);
		failed |= !row;
#pragma omp for schedule(static)
		for (uint32_t b = 0; b < blocks; b++)
			for (uint32_t i = b * 1024; !failed && !cancelled(a) && i < a->n && i < (b + 1) * 1024; i++) {
				sl_points_rows(a->points, i, 1, row);
				for (uint32_t k = 0; k < d; k++)
					sum[(size_t)b * d + k] += (double)row[k];
			}
		free(row);
	}
	for (uint32_t b = 0; !failed && b < blocks; b++)
		for (uint32_t k = 0; k < d; k++)
			a->mean[k] += sum[(size_t)b * d + k];
	for (uint32_t k = 0; !failed && k < d; k++)
		a->mean[k] /= a->n;
	free(sum);
	return failed ? SL_NOMEM : 0;
}

/* ---- covariance ------------------------------------------------------------------- */

static void pack_row(const struct pca *a, uint32_t r, uint32_t strips, const double *x, double *packed)
{
	for (uint32_t s = 0; s < strips; s++)
		for (uint32_t k = 0; k < STRIP; k++)
			packed[((size_t)s * ROWS + r) * STRIP + k] = x && s * STRIP + k < a->d ? x[s * STRIP + k] : 0;
}

/* Computes the upper triangle of the covariance [d][d], times n. */
static int compute_covariance(const struct pca *a, double *covariance)
{
	uint32_t d = a->d, strips = (d + STRIP - 1) / STRIP, pairs = strips * (strips + 1) / 2;
	double *packed = aligned_alloc(64, (size_t)strips * ROWS * STRIP * sizeof *packed);
	double *tile = aligned_alloc(64, (size_t)pairs * STRIP * STRIP * sizeof *tile);
	uint32_t *pair = malloc((size_t)pairs * sizeof *pair);  /* strips s <= t of tile i: s << 16 | t */
	int failed = !packed || !tile || !pair;
	if (failed)
		goto out;
	memset(tile, 0, (size_t)pairs * STRIP * STRIP * sizeof *tile);
	for (uint32_t s = 0, i = 0; s < strips; s++)
		for (uint32_t t = s; t < strips; t++)
			pair[i++] = s << 16 | t;
#pragma omp parallel reduction(| : failed)
	{
		float *row = malloc(d * sizeof *row);
		double *x = malloc(d * sizeof *x);
		int mine = !row || !x;
		failed |= mine;
		for (uint64_t from = 0; from < a->n; from += ROWS) {
#pragma omp for schedule(static)
			for (uint32_t r = 0; r < ROWS; r++) {
				bool present = !mine && from + r < a->n && !cancelled(a);
				if (present)
					sl__points_centred(a->points, a->mean, (uint32_t)(from + r), row, x);
				pack_row(a, r, strips, present ? x : NULL, packed);
			}
#pragma omp for schedule(dynamic, 4)
			for (uint32_t i = 0; i < pairs; i++)
				if (!cancelled(a))
					sl__add_tile(packed + (size_t)(pair[i] >> 16) * ROWS * STRIP, packed + (size_t)(pair[i] & 0xffff) *
						     ROWS * STRIP, tile + (size_t)i * STRIP * STRIP);
		}
		free(row);
		free(x);
	}
	for (uint32_t i = 0; i < pairs; i++)
		for (uint32_t j = 0; j < STRIP * STRIP; j++) {
			uint32_t row = (pair[i] >> 16) * STRIP + j / STRIP, column = (pair[i] & 0xffff) * STRIP + j % STRIP;
			if (row < d && column < d)
				covariance[(size_t)row * d + column] = covariance[(size_t)column * d + row] =
					tile[(size_t)i * STRIP * STRIP + j];
		}
out:
	free(packed);
	free(tile);
	free(pair);
	return failed ? SL_NOMEM : 0;
}

static int find_axes_dense(struct pca *a)
{
	uint32_t d = a->d;
	double *covariance = calloc((size_t)d * d, sizeof *covariance);
	double *value = malloc(a->to * sizeof *value), *vector = malloc((size_t)a->to * d * sizeof *vector);
	int rc = covariance && value && vector ? 0 : SL_NOMEM;
	if (!rc)
		rc = a->passes ? a->passes->covariance(a->passes->arg, covariance, a->err) : compute_covariance(a, covariance);
	if (!rc && cancelled(a))
		rc = SL_CANCELLED;
	for (uint32_t k = 0; !rc && k < d; k++)
		a->total += covariance[(size_t)k * d + k];
	if (!rc)
		rc = sl__largest_eigen(covariance, (int)d, (int)a->to, value, vector);
	for (uint32_t i = 0; !rc && i < a->to; i++) {
		a->held += value[i] > 0 ? value[i] : 0;
		for (uint32_t k = 0; k < d; k++)
			a->axis[(size_t)k * a->to + i] = vector[(size_t)i * d + k];
	}
	free(covariance);
	free(value);
	free(vector);
	return rc;
}

/* ---- many columns ----------------------------------------------------------------- */

/* out[d][c] = X' X v, for v[d][c] and the centred points X; total: the sum of squares of X. */
static int apply_covariance(const struct pca *a, const double *v, uint32_t c, double *out, double *total)
{
	uint32_t d = a->d;
	double *x = malloc((size_t)ROWS * d * sizeof *x), *w = malloc((size_t)ROWS * c * sizeof *w), squares[ROWS];
	int failed = !x || !w;
	memset(out, 0, (size_t)d * c * sizeof *out);
	*total = 0;
	for (uint64_t from = 0; !failed && !cancelled(a) && from < a->n; from += ROWS) {
		int rows = a->n - from < ROWS ? (int)(a->n - from) : ROWS;
#pragma omp parallel reduction(| : failed)
		{
			float *row = malloc(d * sizeof *row);
			failed |= !row;
#pragma omp for schedule(static)
			for (int r = 0; r < rows; r++) {
				double *xr = x + (size_t)r * d, *wr = w + (size_t)r * c, square = 0;
				memset(wr, 0, c * sizeof *wr);
				if (row)
					sl__points_centred(a->points, a->mean, (uint32_t)from + (uint32_t)r, row, xr);
				for (uint32_t k = 0; row && k < d; k++) {
					square += xr[k] * xr[k];
					sl__add_scaled(wr, xr[k], v + (size_t)k * c, c);
				}
				squares[r] = square;
			}
#pragma omp for schedule(static)
			for (uint32_t k = 0; k < d; k++)
				for (int r = 0; r < rows; r++)
					sl__add_scaled(out + (size_t)k * c, x[(size_t)r * d + k], w + (size_t)r * c, c);
			free(row);
		}
		for (int r = 0; r < rows; r++)
			*total += squares[r];
	}
	free(x);
	free(w);
	return failed ? SL_NOMEM : 0;
}

static int find_axes_by_iteration(struct pca *a)
{
	uint32_t d = a->d, c = a->to + OVERSAMPLING < d ? a->to + OVERSAMPLING : d;
	double *v = malloc((size_t)d * c * sizeof *v), *u = malloc((size_t)d * c * sizeof *u);
	double *small = calloc((size_t)c * c, sizeof *small), *value = malloc(c * sizeof *value);
	double *vector = malloc((size_t)c * c * sizeof *vector);
	int rc = v && u && small && value && vector ? 0 : SL_NOMEM;
	for (size_t i = 0; !rc && i < (size_t)d * c; i++)
		v[i] = sl_random_normal(1, i);
	for (int pass = 0; !rc && pass < PASSES; pass++) {
		rc = sl__orthonormalise(v, c, d, a->cancel);
		if (rc)
			break;
		rc = a->passes ? a->passes->apply(a->passes->arg, v, c, u, &a->total, a->err) :
				 apply_covariance(a, v, c, u, &a->total);
		if (pass < PASSES - 1) {
			double *swap = v;
			v = u;
			u = swap;
		}
	}
	if (!rc && cancelled(a))
		rc = SL_CANCELLED;
	if (!rc)
		rc = sl__products(v, c, u, c, c, d, small);
	for (uint32_t i = 0; !rc && i < c; i++)
		for (uint32_t j = 0; j < i; j++)
			small[(size_t)i * c + j] = small[(size_t)j * c + i] =
				0.5 * (small[(size_t)i * c + j] + small[(size_t)j * c + i]);
	if (!rc)
		rc = sl__largest_eigen(small, (int)c, (int)a->to, value, vector);
	for (uint32_t i = 0; !rc && i < a->to; i++)
		for (uint32_t j = 0; j < c; j++)
			small[(size_t)j * a->to + i] = vector[(size_t)i * c + j];
	if (!rc) {
		memset(a->axis, 0, (size_t)d * a->to * sizeof *a->axis);
		rc = sl__add_combinations(v, c, c, d, small, a->to, a->axis, a->to);
	}
	for (uint32_t i = 0; !rc && i < a->to; i++)
		a->held += value[i] > 0 ? value[i] : 0;
	free(v);
	free(u);
	free(small);
	free(value);
	free(vector);
	return rc;
}

/* ---- all of it --------------------------------------------------------------------- */

static void fix_signs(struct pca *a)
{
	for (uint32_t i = 0; i < a->to; i++) {
		double largest = 0;
		for (uint32_t k = 0; k < a->d; k++) {
			double x = a->axis[(size_t)k * a->to + i];
			largest = fabs(x) > fabs(largest) ? x : largest;
		}
		for (uint32_t k = 0; largest < 0 && k < a->d; k++)
			a->axis[(size_t)k * a->to + i] *= -1;
	}
}

int sl__check_axes(uint32_t d, uint32_t to, struct sl_error *err)
{
	uint32_t most = d < AXES_MOST ? d : AXES_MOST;
	if (!to || to > d)
		return sl_error_field(err, SL_BADPARAM, "/pca", "pca is %u; it must be from 1 to %u, the number of "
				      "columns.", to, d);
	if (most > COMPONENTS_MOST / d)
		most = COMPONENTS_MOST / d;
	if (to > most)
		return sl_error_field(err, SL_BADPARAM, "/pca", "pca is %u; for %u columns it must be at most %u.", to, d,
				      most);
	return 0;
}

static int project(struct sl_points **out, const struct sl_points *p, uint32_t to, double *kept, const int *cancel,
		   const struct sl_points_passes *passes, bool iterated, struct sl_error *err)
{
	*out = NULL;
	if (sl__check_axes(p->d, to, err))
		return SL_BADPARAM;
	struct sl_error theirs = {.code = 0};
	struct pca a = {.points = p, .n = p->n, .d = p->d, .to = to, .cancel = cancel, .passes = passes,
			.iterated = iterated, .err = &theirs};
	struct sl_points *q = NULL;
	struct sl_pca *pca = sl_pca_create(p->d, p->d, to);
	int rc = pca ? 0 : SL_NOMEM;
	if (!rc) {
		a.mean = pca->mean;
		a.axis = pca->axis;
		rc = passes ? passes->mean(passes->arg, a.mean, &theirs) : compute_mean(&a);
	}
	/* with as many axes as columns the iteration would save nothing */
	if (!rc)
		rc = (p->d <= DENSE_COLUMNS && !iterated) || to + OVERSAMPLING >= p->d ? find_axes_dense(&a) :
											   find_axes_by_iteration(&a);
	if (!rc) {
		fix_signs(&a);
		rc = sl__points_project(&q, pca, p, passes, &theirs);
	}
	uint32_t row;
	if (!rc && sl__points_overflow(q, &row)) {
		sl_points_destroy(q);
		rc = sl_error_set(&theirs, SL_BADDATA, "Row %u is so far from the mean of the points that its coordinates "
				  "along the principal axes overflow; divide the values by a common factor.", row + 1);
	}
	if (!rc) {
		if (kept)
			*kept = a.total > 0 ? fmin(a.held / a.total, 1) : 1;
		q->pca = pca;
		*out = q;
		return 0;
	}
	sl_pca_destroy(pca);
	if (rc == theirs.code) {
		if (err)
			*err = theirs;
		return rc;
	}
	if (rc == SL_CANCELLED)
		return sl_error_set(err, rc, "Computing the principal axes was cancelled.");
	if (rc == SL_INTERNAL)
		return sl_error_set(err, rc, "The principal axes of the points could not be computed.");
	return sl_error_set(err, rc, SL_NO_MEMORY "%u principal axes of %u points with %u columns.", to, p->n,
			    p->d);
}

int sl_points_pca(struct sl_points **out, const struct sl_points *p, uint32_t to, double *kept, const int *cancel,
		  struct sl_error *err)
{
	return project(out, p, to, kept, cancel, NULL, false, err);
}

int sl_points_pca_by(struct sl_points **out, const struct sl_points *p, uint32_t to, double *kept, const int *cancel,
		     const struct sl_points_passes *passes, struct sl_error *err)
{
	return project(out, p, to, kept, cancel, passes, false, err);
}

int sl__points_pca_iterated(struct sl_points **out, const struct sl_points *p, uint32_t to, const int *cancel,
			    struct sl_error *err)
{
	return project(out, p, to, NULL, cancel, NULL, true, err);
}
