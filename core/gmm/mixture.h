/* mixture.h -- a mixture of Gaussians that is known: densities and clusters of new points, samples.
 *
 * Immutable while it is used, so any number of threads may read one. The functions use OpenMP; their results do not
 * depend on the number of threads. */
#ifndef SL_GMM_MIXTURE_H
#define SL_GMM_MIXTURE_H

#include <stdint.h>

#include "core/error.h"

struct sl_points;

enum sl_gmm_covariance { SL_GMM_FULL, SL_GMM_TIED, SL_GMM_DIAG, SL_GMM_SPHERICAL };
extern const char *const sl_gmm_covariance_words[];  /* "full", "tied", "diag", "spherical", NULL */

struct sl_gmm_mixture {
	int covariance;        /* enum sl_gmm_covariance */
	uint32_t k, d;         /* components, columns */
	double *weight;        /* [k], sum 1 */
	double *mean;          /* [k][d] */
	double *spread;        /* full [k][d][d], tied [d][d], diag [k][d], spherical [k] */
};

/* Numbers in spread. */
uint64_t sl_gmm_spread_values(int covariance, uint32_t k, uint32_t d);
/* Free parameters, for AIC and BIC. */
double sl_gmm_freedom(int covariance, uint32_t k, uint32_t d);

/* Of n points with the mixture's columns; any of the results may be NULL. label [n]: the most likely component, the
 * first of equal ones; responsibility [n][k]; density [n]: the logarithm of the mixture's density.
 * SL_BADDATA: other columns; SL_CONFLICT: a covariance is not positive definite; SL_NOMEM. */
int sl_gmm_predict(const struct sl_gmm_mixture *g, const struct sl_points *points, int32_t *label,
		   float *responsibility, double *density, struct sl_error *err);

/* Points from .. from + count - 1 of an endless sample, [count][d], and their components [count], which may be NULL;
 * the same for the same seed. */
int sl_gmm_sample(const struct sl_gmm_mixture *g, uint32_t from, uint32_t count, uint64_t seed, float *x,
		  int32_t *label, struct sl_error *err);

#endif
