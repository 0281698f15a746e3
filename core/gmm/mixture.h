/* mixture.h -- uses of a fitted mixture of Gaussians: densities and clusters of new points, and samples.
 *
 * The functions only read the mixture, so any number of threads may use one. They use OpenMP; their results do not
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

/* The length of `spread`. */
uint64_t sl_gmm_spread_values(int covariance, uint32_t k, uint32_t d);
/* The number of free parameters, for AIC and BIC. */
double sl_gmm_freedom(int covariance, uint32_t k, uint32_t d);

/* For n points with the mixture's columns computes label [n], the most likely component (the first of equal ones);
 * responsibility [n][k]; density [n], the logarithm of the mixture's density. Each result may be NULL.
 * SL_BADDATA: other columns; SL_CONFLICT: a covariance is not positive definite; SL_NOMEM. */
int sl_gmm_predict(const struct sl_gmm_mixture *g, const struct sl_points *points, int32_t *label,
		   float *responsibility, double *density, struct sl_error *err);

/* Draws points x [count][d] and their components label [count], which may be NULL. The seed defines an endless sequence
 * of points; these are points from .. from + count - 1 of it. */
int sl_gmm_sample(const struct sl_gmm_mixture *g, uint32_t from, uint32_t count, uint64_t seed, float *x,
		  int32_t *label, struct sl_error *err);

#endif
