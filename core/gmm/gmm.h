/* gmm.h -- Gaussian mixtures of points or of a layout, by expectation maximisation.
 *
 *   sl_gmm_defaults(&params);
 *   params.components = (struct sl_param_list){3, {2, 3, 4}};
 *   sl_gmm_create(&m, points, &params, NULL, &err);
 *   do sl_gmm_advance(m, INFINITY, &whole, &status, &err); while (!status.done);
 *   sl_gmm_fits(m, &count);               each number of components: log-likelihood, AIC, BIC
 *   sl_gmm_best(m), sl_gmm_take(m, &label, &responsibility);
 *   sl_gmm_destroy(m);
 *
 * A density of k Gaussians of weights w_j, means m_j and covariances S_j. Each iteration computes the responsibilities
 * r_ij = w_j N(x_i | m_j, S_j) / sum of the same over all j (E), then weights, means and covariances of points weighted
 * by them (M): Dempster, Laird, Rubin, J. R. Stat. Soc. B 39, 1977; McLachlan, Peel, Finite Mixture Models, 2000. The
 * steps, their order, the start and the rule for the end are those of scikit-learn's GaussianMixture: a restart begins
 * with the clusters of k-means (core/kmeans/) as responsibilities, or with given ones, ends when the mean
 * log-likelihood of a point changes by less than the tolerance, and the restart with the highest one is kept. Of
 * several numbers of components the one with the least BIC (Schwarz 1978) is the result; of equal ones, the first.
 *
 * reg_covar is added to each variance. Where a covariance is singular all the same, its diagonal gets more, in steps of
 * a factor of ten, until it has a Cholesky factor; a fit counts such components (`ridged`). A component that has lost
 * all points keeps its mean and covariance, with a weight of next to nothing.
 *
 * All arithmetic is in double precision. Results do not depend on the number of threads, nor on how a run is cut; with
 * a device (sl_gmm_attach) they differ from the processor's by rounding.
 * Belongs to one thread at a time; uses OpenMP. */
#ifndef SL_GMM_H
#define SL_GMM_H

#include <stdbool.h>
#include <stdint.h>

#include "core/error.h"
#include "core/gmm/mixture.h"
#include "core/param_table.h"

struct sl_device;
struct sl_engine;
struct sl_points;
struct sl_gmm;

#define SL_GMM_COMPONENTS_MOST 4096
#define SL_GMM_COLUMNS_MOST 2048   /* full, tied */

struct sl_gmm_params {
	struct sl_param_list components;  /* each from 1 to the number of points */
	int covariance;        /* enum sl_gmm_covariance */
	int restarts;
	int iterations;        /* most iterations of a restart */
	double tolerance;      /* a restart ends when the mean log-likelihood of a point changes by less */
	double reg_covar;
	uint64_t seed;
};
extern const struct sl_param_table sl_gmm_table;
void sl_gmm_defaults(struct sl_gmm_params *params);
/* What the table does not know: whole numbers of components, which n points of d columns allow. SL_BADPARAM. */
int sl_gmm_check(const struct sl_gmm_params *params, uint32_t n, uint32_t d, struct sl_error *err);
/* Bytes beside the points, at most. */
uint64_t sl_gmm_bytes(const struct sl_gmm_params *params, uint32_t n, uint32_t d);

/* One number of components. */
struct sl_gmm_fit {
	int components;
	int iterations;            /* of the best restart */
	int converged;             /* it ended before they were used up */
	int ridged;                /* components that needed more than reg_covar at its end */
	double log_likelihood;     /* sum over the points */
	double aic, bic;
};

struct sl_gmm_status {
	int fits;                  /* numbers of components that are through */
	int restart, iteration;    /* of the restart that is running */
	double log_likelihood;     /* sum over the points, in the newest iteration of any restart; NaN before the first */
	bool done;
};

/* Borrows points until it is destroyed. start: [n][k] responsibilities to begin with, copied, each row scaled to sum
 * 1, or NULL: k-means. With a start there is one number of components and one restart, whatever the parameters say.
 * SL_BADPARAM (/components and so on, /start), SL_NOMEM. */
int sl_gmm_create(struct sl_gmm **out, const struct sl_points *points, const struct sl_gmm_params *params,
		  const float *start, struct sl_error *err);
void sl_gmm_destroy(struct sl_gmm *m);  /* NULL is fine */

/* From now on the device of an engine that has gmm_passes does the passes over the points, and k-means if it has room.
 * Sums differ from the processor's by rounding; they are the same bytes on devices of the same kind, however a run is
 * cut. A pass that is under way begins anew. The device is borrowed until m is destroyed, and all calls are on its
 * thread from now on. SL_DEVMEM, SL_DEVLOST, SL_NOMEM: m is as it was, unless k-means failed. */
int sl_gmm_attach(struct sl_gmm *m, const struct sl_engine *engine, struct sl_device *device, struct sl_error *err);
/* Bytes that this takes on the device, at most. */
uint64_t sl_gmm_device_bytes(const struct sl_gmm_params *params, uint32_t n, uint32_t d);

/* Goes on for about ms milliseconds, at most to the end of an iteration, which counts in status (*whole), or to the
 * end. SL_NOMEM. Nothing happens after the end. */
int sl_gmm_advance(struct sl_gmm *m, double ms, bool *whole, struct sl_gmm_status *status, struct sl_error *err);
/* The iteration that is under way is the last one, of the last restart: go on until done. */
void sl_gmm_stop(struct sl_gmm *m, struct sl_gmm_status *status);

/* Those that are through; borrowed until the next advance. */
const struct sl_gmm_fit *sl_gmm_fits(const struct sl_gmm *m, int *count);
/* After the end; borrowed. NULL before. */
const struct sl_gmm_mixture *sl_gmm_best(const struct sl_gmm *m);
/* After the end: the component of each point with the largest responsibility [n], and all responsibilities [n][k], by
 * row of points; borrowed. SL_CONFLICT before. */
int sl_gmm_result(const struct sl_gmm *m, const int32_t **label, const float **responsibility, struct sl_error *err);

/* Also within an iteration. The buffer is the caller's to free(). One that is loaded, from the same points, parameters
 * and start, goes on to the same bytes as one that was never interrupted, on the same machine. SL_BADDATA: not a state
 * of such a run; then m can only be destroyed. */
int sl_gmm_save(const struct sl_gmm *m, void **out, uint64_t *bytes, struct sl_error *err);
int sl_gmm_load(struct sl_gmm *m, const void *state, uint64_t bytes, struct sl_error *err);

#endif
