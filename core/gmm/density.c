/* Densities of a block of points under the components of a mixture, and responsibilities of the components. */
#include <string.h>

#include "core/gmm/gmm_internal.h"

#define LANES SL__GMM_LANES

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
		kernels->solve(d, x, f->centre, f->factor, 0, y, logit + (size_t)from * LANES);
		x = y;
	}
	for (uint32_t c = from; c < to; c++) {
		double *out = logit + (size_t)c * LANES;
		const double *mean = g->mean + (size_t)c * d;
		if (f->covariance == SL_GMM_FULL)
			kernels->solve(d, x, mean, f->factor + c * f->stride, f->constant[c], y, out);
		else if (f->covariance == SL_GMM_TIED)
			kernels->scaled(d, x, f->turned + (size_t)c * d, f->scale, f->constant[c], out);
		else
			kernels->scaled(d, x, mean, f->scale + (size_t)c * d, f->constant[c], out);
	}
}

void sl__gmm_share(const struct sl__gmm_kernels *kernels, uint32_t k, uint32_t count, double *logit, double *density,
		   int32_t *label, float *responsibility)
{
	int32_t best[LANES];
	kernels->share(k, logit, density, best);
	if (label)
		memcpy(label, best, count * sizeof *label);
	for (uint32_t lane = 0; responsibility && lane < count; lane++)
		for (uint32_t c = 0; c < k; c++)
			responsibility[(size_t)lane * k + c] = (float)logit[(size_t)c * LANES + lane];
}
