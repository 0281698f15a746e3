/* Cholesky factors of covariances, row by row. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/gmm/gmm_internal.h"

#define ROWS SL__GMM_ROWS
#define LOG_2_PI 1.8378770664093453

static uint64_t packed_values(uint32_t d)
{
	uint64_t groups = (d + ROWS - 1) / ROWS;
	return groups * (groups - 1) / 2 * ROWS * ROWS + groups * ROWS * ROWS;
}

uint32_t sl__gmm_factor_count(const struct sl__gmm_factors *f)
{
	return f->covariance == SL_GMM_FULL ? f->k : f->covariance == SL_GMM_TIED ? 1 : 0;
}

int sl__gmm_factors_init(struct sl__gmm_factors *f, int covariance, uint32_t k, uint32_t d)
{
	*f = (struct sl__gmm_factors){.covariance = covariance, .k = k, .d = d, .stride = packed_values(d)};
	uint32_t count = sl__gmm_factor_count(f);
	bool tied = covariance == SL_GMM_TIED;
	f->constant = calloc(k, sizeof *f->constant);
	f->half_log_det = calloc(k, sizeof *f->half_log_det);
	f->ridge = calloc(k, sizeof *f->ridge);
	if (count)
		f->factor = calloc(count * f->stride, sizeof *f->factor);
	if (!count || tied)
		f->scale = calloc(tied ? d : (size_t)k * d, sizeof *f->scale);
	if (tied) {
		f->centre = calloc(d, sizeof *f->centre);
		f->turned = calloc((size_t)k * d, sizeof *f->turned);
	}
	bool all = f->constant && f->half_log_det && f->ridge && (!count || f->factor) && ((count && !tied) || f->scale) &&
		   (!tied || (f->centre && f->turned));
	return all ? 0 : SL_NOMEM;
}

void sl__gmm_factors_finish(struct sl__gmm_factors *f)
{
	free(f->factor);
	free(f->scale);
	free(f->centre);
	free(f->turned);
	free(f->constant);
	free(f->half_log_det);
	free(f->ridge);
	*f = (struct sl__gmm_factors){0};
}

/* ---- rows ------------------------------------------------------------------------------- */

/* Stores row j of the lower triangle in packed form (tile.h). */
static void pack_row(double *packed, uint32_t j, const double *row, double inverse)
{
	uint64_t group = j / ROWS, before = group * ROWS;
	double *at = packed + group * (group - 1) / 2 * ROWS * ROWS + group * ROWS * ROWS;
	uint32_t r = j % ROWS;
	for (uint64_t l = 0; l < before; l++)
		at[l * ROWS + r] = row[l];
	at += before * ROWS;
	for (uint32_t c = 0; c < ROWS; c++)
		at[r * ROWS + c] = c < r ? row[before + c] : c == r ? inverse : 0;
}

static double packed_inverse(const double *packed, uint32_t j)
{
	uint64_t group = j / ROWS, r = j % ROWS;
	return packed[group * (group - 1) / 2 * ROWS * ROWS + 2 * group * ROWS * ROWS + r * ROWS + r];
}

double sl__gmm_pivot(const struct sl__gmm_factors *f, uint32_t c, uint32_t i)
{
	return 1 / packed_inverse(f->factor + c * f->stride, i);
}

/* Computes row j of L. False: its pivot is not positive beyond rounding. */
static bool factor_row(const struct sl__gmm_factors *f, const struct sl__gmm_kernels *kernels, double *packed,
		       const double *spread, double ridge, double *lower, uint32_t stride, uint32_t j)
{
	const double *a = spread + (size_t)j * f->d;
	double *row = lower + (size_t)j * stride;
	for (uint32_t i = 0; i < j; i++)
		row[i] = (a[i] - kernels->dot(i, row, lower + (size_t)i * stride)) * packed_inverse(packed, i);
	double variance = a[j] + ridge, pivot = variance - kernels->dot(j, row, row);
	if (!(pivot > 4 * 0x1p-52 * f->d * variance) || !isfinite(pivot))
		return false;
	pack_row(packed, j, row, 1 / sqrt(pivot));
	return true;
}

static double largest(const double *spread, uint32_t d, uint32_t rows)
{
	double most = 0;
	for (uint32_t i = 0; i < rows; i++)
		most = fmax(most, spread[(size_t)i * d + i]);
	return most;
}

int sl__gmm_factor_rows(struct sl__gmm_factors *f, const struct sl__gmm_kernels *kernels, uint32_t c,
			const double *spread, double *lower, uint32_t stride, uint32_t from, uint32_t to, double least)
{
	double *packed = f->factor + c * f->stride, *ridge = &f->ridge[c];
	for (uint32_t j = from; j < to; j++) {
		if (factor_row(f, kernels, packed, spread, *ridge, lower, stride, j))
			continue;
		*ridge = *ridge > 0 ? 10 * *ridge : fmax(least, 1e-14 * largest(spread, f->d, j + 1));
		if (!(least > 0) || !isfinite(*ridge))
			return SL_BADDATA;
		j = UINT32_MAX;  /* start again with the first row */
	}
	return 0;
}

/* ---- the end ---------------------------------------------------------------------------- */

/* y = L^-1 x, with the packed factor. */
static void solve_one(const struct sl__gmm_factors *f, const double *x, double *y)
{
	for (uint32_t j = 0; j < f->d; j++) {
		uint64_t group = j / ROWS, before = group * ROWS, r = j % ROWS;
		const double *at = f->factor + group * (group - 1) / 2 * ROWS * ROWS + group * ROWS * ROWS;
		double sum = x[j];
		for (uint64_t l = 0; l < before; l++)
			sum -= at[l * ROWS + r] * y[l];
		for (uint64_t c = 0; c < r; c++)
			sum -= at[(before + r) * ROWS + c] * y[before + c];
		y[j] = sum * at[(before + r) * ROWS + r];
	}
}

static void end_tied(struct sl__gmm_factors *f, const struct sl_gmm_mixture *g)
{
	uint32_t d = f->d;
	memset(f->centre, 0, d * sizeof *f->centre);
	for (uint32_t c = 0; c < g->k; c++)
		for (uint32_t a = 0; a < d; a++)
			f->centre[a] += g->weight[c] * g->mean[(size_t)c * d + a];
	for (uint32_t a = 0; a < d; a++)
		f->scale[a] = 1;
#pragma omp parallel for schedule(static)
	for (uint32_t c = 0; c < g->k; c++) {
		double *to = f->turned + (size_t)c * d;
		for (uint32_t a = 0; a < d; a++)
			to[a] = g->mean[(size_t)c * d + a] - f->centre[a];
		solve_one(f, to, to);
	}
}

static bool end_variances(struct sl__gmm_factors *f, const struct sl_gmm_mixture *g, uint32_t c)
{
	double half = 0;
	for (uint32_t a = 0; a < f->d; a++) {
		double variance = g->covariance == SL_GMM_DIAG ? g->spread[(size_t)c * f->d + a] : g->spread[c];
		if (!(variance > 0) || !isfinite(variance))
			return false;
		f->scale[(size_t)c * f->d + a] = 1 / sqrt(variance);
		half += log(variance) / 2;
	}
	f->half_log_det[c] = half;
	return true;
}

int sl__gmm_factors_end(struct sl__gmm_factors *f, const struct sl_gmm_mixture *g)
{
	bool tied = f->covariance == SL_GMM_TIED, full = f->covariance == SL_GMM_FULL;
	int bad = 0;
	if (tied)
		end_tied(f, g);
#pragma omp parallel for schedule(static) reduction(+ : bad)
	for (uint32_t c = 0; c < (tied ? 1 : g->k); c++) {
		f->half_log_det[c] = 0;
		for (uint32_t a = 0; (tied || full) && a < f->d; a++)
			f->half_log_det[c] -= log(packed_inverse(f->factor + c * f->stride, a));
		bad += !tied && !full && !end_variances(f, g, c);
	}
	for (uint32_t c = 0; c < g->k; c++)
		f->constant[c] = log(g->weight[c]) - 0.5 * f->d * LOG_2_PI - f->half_log_det[tied ? 0 : c];
	return bad ? SL_BADDATA : 0;
}
