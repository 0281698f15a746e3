/* Computes the mixture from the sums of a pass.
 *
 * The sums are about the old means m: x - m = (x - m') + (m' - m) with the new mean m'. So the covariance is the mean
 * of the squares minus the square of the shift, and nothing large cancels. */
#include <math.h>
#include <string.h>

#include "core/gmm/gmm_internal.h"

#define SPARE (10 * 0x1p-52)  /* added to the mass of each component, as in scikit-learn */
#define LOST 1e-12            /* mass of a component that has lost its points */

void sl__gmm_means(struct sl_gmm *m)
{
	struct sl_gmm_mixture *g = &m->now;
	double all = 0;
	for (uint32_t c = 0; c < g->k; c++) {
		g->weight[c] = m->mass[c] + SPARE;
		all += g->weight[c];
	}
	for (uint32_t c = 0; c < g->k; c++) {
		for (uint32_t a = 0; a < m->d; a++) {
			double shift = m->mass[c] > LOST ? m->first[(size_t)c * m->padded + a] / g->weight[c] : 0;
			m->shift[(size_t)c * m->d + a] = shift;
			g->mean[(size_t)c * m->d + a] += shift;
		}
	}
	for (uint32_t c = 0; c < g->k; c++)
		g->weight[c] /= all;
	memset(m->factors.ridge, 0, g->k * sizeof *m->factors.ridge);
}

uint32_t sl__gmm_rows(const struct sl_gmm *m)
{
	return sl__gmm_factor_count(&m->factors) ? m->d : 1;
}

/* ---- full ------------------------------------------------------------------------------- */

static void full_row(struct sl_gmm *m, uint32_t c, uint32_t j)
{
	uint32_t d = m->d, padded = m->padded;
	double *spread = m->now.spread + (size_t)c * d * d, by = 1 / (m->mass[c] + SPARE);
	const double *sum = m->scatter + (size_t)c * padded * padded, *shift = m->shift + (size_t)c * d;
	if (!(m->mass[c] > LOST))
		return;
	for (uint32_t i = 0; i <= j; i++) {
		double value = sum[(size_t)i * padded + j] * by - shift[i] * shift[j] + (i == j ? m->params.reg_covar : 0);
		spread[(size_t)j * d + i] = spread[(size_t)i * d + j] = value;
	}
}

static void full_rows(struct sl_gmm *m, bool sums, uint32_t from, uint32_t to)
{
	size_t square = (size_t)m->d * m->d, padded = (size_t)m->padded * m->padded;
#pragma omp parallel for schedule(dynamic)
	for (uint32_t c = 0; c < m->now.k; c++) {
		for (uint32_t j = from; sums && j < to; j++)
			full_row(m, c, j);
		sl__gmm_factor_rows(&m->factors, m->kernels, c, m->now.spread + c * square, m->scatter + c * padded, m->padded,
				    from, to, m->first_ridge);
	}
}

/* ---- tied ------------------------------------------------------------------------------- */

/* Row j of the covariance: the scatter of all points minus that of the means. */
static void tied_row(struct sl_gmm *m, uint32_t j)
{
	const struct sl_gmm_mixture *g = &m->now;
	uint32_t d = m->d;
	double *row = m->now.spread + (size_t)j * d;
	for (uint32_t i = 0; i <= j; i++)
		row[i] = m->total[(size_t)i * m->padded + j] / m->n + (i == j ? m->params.reg_covar : 0);
	for (uint32_t c = 0; c < g->k; c++) {
		const double *mean = g->mean + (size_t)c * d;
		double by = g->weight[c] * (mean[j] - m->column_mean[j]);
		for (uint32_t i = 0; i <= j; i++)
			row[i] -= by * (mean[i] - m->column_mean[i]);
	}
	for (uint32_t i = 0; i < j; i++)
		m->now.spread[(size_t)i * d + j] = row[i];
}

static void tied_rows(struct sl_gmm *m, bool sums, uint32_t from, uint32_t to)
{
	for (uint32_t j = from; sums && j < to; j++)
		tied_row(m, j);
	sl__gmm_factor_rows(&m->factors, m->kernels, 0, m->now.spread, m->scatter, m->padded, from, to, m->first_ridge);
}

/* ---- diag, spherical -------------------------------------------------------------------- */

static double positive(struct sl_gmm *m, uint32_t c, double variance)
{
	if (variance + m->params.reg_covar > 0)
		return fmax(variance, 0) + m->params.reg_covar;
	m->factors.ridge[c] = m->first_ridge;
	return m->first_ridge;
}

static void variances(struct sl_gmm *m, uint32_t c)
{
	uint32_t d = m->d;
	double by = 1 / (m->mass[c] + SPARE), mean = 0;
	const double *second = m->second + (size_t)c * m->padded, *shift = m->shift + (size_t)c * d;
	if (!(m->mass[c] > LOST))
		return;
	for (uint32_t a = 0; a < d; a++) {
		double variance = second[a] * by - shift[a] * shift[a];
		mean += fmax(variance, 0) / d;
		if (m->params.covariance == SL_GMM_DIAG)
			m->now.spread[(size_t)c * d + a] = positive(m, c, variance);
	}
	if (m->params.covariance == SL_GMM_SPHERICAL)
		m->now.spread[c] = positive(m, c, mean);
}

/* ---- all -------------------------------------------------------------------------------- */

/* Adds the ridges of the factors to the covariances. */
static void add_ridges(struct sl_gmm *m)
{
	for (uint32_t c = 0; c < sl__gmm_factor_count(&m->factors) && c < m->now.k; c++)
		for (uint32_t a = 0; m->factors.ridge[c] > 0 && a < m->d; a++)
			m->now.spread[((size_t)c * m->d + a) * m->d + a] += m->factors.ridge[c];
}

void sl__gmm_spread_rows(struct sl_gmm *m, bool sums, uint32_t from, uint32_t to)
{
	if (m->params.covariance == SL_GMM_FULL)
		full_rows(m, sums, from, to);
	else if (m->params.covariance == SL_GMM_TIED)
		tied_rows(m, sums, from, to);
	else
		for (uint32_t c = 0; sums && c < m->now.k; c++)
			variances(m, c);
	if (to < sl__gmm_rows(m))
		return;
	if (sums)
		add_ridges(m);
	sl__gmm_factors_end(&m->factors, &m->now);
}
