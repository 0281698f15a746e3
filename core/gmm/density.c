/* Densities of a block of points under the components of a mixture, and responsibilities of the components. */
#include <math.h>
#include <string.h>

#include "core/gmm/gmm_internal.h"

#define LANES SL__GMM_LANES
#define LEAST (-1e290)  /* least logarithm, so that a point far from all components still has responsibilities */

static uint32_t rows_of(uint32_t d)
{
	return (d + SL__GMM_ROWS - 1) / SL__GMM_ROWS * SL__GMM_ROWS;
}

size_t sl__gmm_work_values(uint32_t d)
{
	return 2 * (size_t)rows_of(d) * LANES;
}

static void turn_round(uint32_t d, const float *row, uint32_t count, double *x)
{
	for (uint32_t a = 0; a < rows_of(d); a++)
		for (uint32_t lane = 0; lane < LANES; lane++)
			x[(size_t)a * LANES + lane] = a < d && lane < count ? (double)row[(size_t)lane * d + a] : 0;
}

void sl__gmm_logits(const struct sl__gmm_factors *f, const struct sl__gmm_kernels *kernels,
		    const struct sl_gmm_mixture *g, const float *row, uint32_t count, uint32_t from, uint32_t to,
		    double *work, double *logit)
{
	uint32_t d = f->d;
	double *x = work, *y = work + (size_t)rows_of(d) * LANES;
	turn_round(d, row, count, x);
	if (f->covariance == SL_GMM_TIED) {
		kernels->solve(d, x, f->centre, f->factor, y, logit + (size_t)from * LANES);
		x = y;
	}
	for (uint32_t c = from; c < to; c++) {
		double *out = logit + (size_t)c * LANES;
		const double *mean = g->mean + (size_t)c * d;
		if (f->covariance == SL_GMM_FULL)
			kernels->solve(d, x, mean, f->factor + c * f->stride, y, out);
		else if (f->covariance == SL_GMM_TIED)
			kernels->scaled(d, x, f->turned + (size_t)c * d, f->scale, out);
		else
			kernels->scaled(d, x, mean, f->scale + (size_t)c * d, out);
		for (uint32_t lane = 0; lane < LANES; lane++) {
			double now = f->constant[c] - out[lane] / 2;
			out[lane] = now > LEAST ? now : LEAST;
		}
	}
}

static int32_t best_of(uint32_t k, const double *logit, uint32_t lane)
{
	int32_t best = 0;
	double most = logit[lane];
	for (uint32_t c = 1; c < k; c++)
		if (logit[(size_t)c * LANES + lane] > most) {
			most = logit[(size_t)c * LANES + lane];
			best = (int32_t)c;
		}
	return best;
}

void sl__gmm_share(const struct sl__gmm_kernels *kernels, uint32_t k, uint32_t count, double *logit, double *density,
		   int32_t *label, float *responsibility)
{
	for (uint32_t lane = 0; label && lane < count; lane++)
		label[lane] = best_of(k, logit, lane);
	kernels->share(k, logit, density);
	for (uint32_t lane = 0; responsibility && lane < count; lane++)
		for (uint32_t c = 0; c < k; c++)
			responsibility[(size_t)lane * k + c] = (float)logit[(size_t)c * LANES + lane];
}
