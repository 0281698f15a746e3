/* gmm.h -- Gaussian mixtures of points or of a layout, by expectation maximisation.
 *
 *   sl_param_defaults(&sl_gmm_table, &params);
 *   params.components = (struct sl_param_list){3, {2, 3, 4}};
 *   sl_gmm_create(&m, points, &params, NULL, &err);
 *   do sl_gmm_advance(m, INFINITY, &ended, &status, &err); while (!status.done);
 *   sl_gmm_fits(m, &count);               each number of components: log-likelihood, AIC, BIC
 *   sl_gmm_best(m), sl_gmm_take(m, &label, &responsibility);
 *   sl_gmm_destroy(m);
 *
 * The model is a density of k Gaussians with weights w_j, means m_j and covariances S_j. Each iteration computes the
 * responsibilities r_ij = w_j N(x_i | m_j, S_j) / sum_l w_l N(x_i | m_l, S_l) (E step), then weights, means and
 * covariances of the points weighted by them (M step): Dempster, Laird, Rubin, J. R. Stat. Soc. B 39, 1977; McLachlan,
 * Peel, Finite Mixture Models, 2000. Start, steps and stop rule are those of scikit-learn's GaussianMixture. A restart
 * begins with the clusters of k-means (core/kmeans/) as responsibilities, or with given responsibilities. It ends when
 * the mean log-likelihood of a point changes by less than the tolerance. The restart with the highest log-likelihood is
 * kept. Of several numbers of components the one with the least BIC (Schwarz, Ann. Statist. 6, 1978) is the result; of
 * equal ones, the first.
 *
 * reg_covar is added to each variance. If a covariance is still singular, its diagonal is increased, in steps of a
 * factor of ten, until it has a Cholesky factor; a fit counts such components (`ridged`). A component that has lost all
 * points keeps its mean and covariance, and its weight is nearly 0.
 *
 * All arithmetic is in double precision. Results depend neither on the number of threads nor on the division of a run
 * into slices. Results of a device (sl_gmm_attach) differ from the processor's by rounding. A run belongs to one thread
 * at a time; uses OpenMP. */
#ifndef SL_GMM_H
#define SL_GMM_H

#include <stdbool.h>
#include <stddef.h>
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
extern const struct sl_param_table sl_gmm_table;  /* of struct sl_gmm_params, the records `params` here */
/* Checks that n points of d columns allow these numbers of components, and that they are whole. 0 or SL_BADPARAM. */
int sl_gmm_check(const void *params, uint32_t n, uint32_t d, struct sl_error *err);
/* The most bytes of host memory that a run takes beside the points. */
uint64_t sl_gmm_bytes(const void *params, uint32_t n, uint32_t d);

/* The best restart with one number of components. */
struct sl_gmm_fit {
	int components;
	int iterations;
	int converged;             /* 1: it ended before the iterations were used up */
	int ridged;                /* components that needed more than reg_covar at the end */
	double log_likelihood;     /* sum over the points */
	double aic, bic;
};

struct sl_gmm_status {
	int fits;                  /* numbers of components that are finished */
	int restart, iteration;    /* number of the running restart, and its iterations */
	double log_likelihood;     /* sum over the points, in the newest iteration of any restart; NaN before the first */
	bool done;
};

/* Borrows points until sl_gmm_destroy(). start: initial responsibilities [n][k], copied, each row scaled to sum 1;
 * NULL: those of k-means. With a start there is only one number of components and one restart. SL_BADPARAM
 * (/components, /start and other parameters), SL_NOMEM. */
int sl_gmm_create(struct sl_gmm **out, const struct sl_points *points, const struct sl_gmm_params *params,
		  const float *start, struct sl_error *err);
void sl_gmm_destroy(struct sl_gmm *m);  /* NULL is fine */

/* Lets a device do the passes over the points from now on, and k-means if its memory suffices; engine has the operation
 * "gmm.passes". A pass that was begun starts again. Sums differ from the processor's by rounding; devices of the same
 * kind give the same bytes, whatever the slices. The device is borrowed until sl_gmm_destroy(), and all further calls
 * belong to its thread. SL_DEVMEM, SL_DEVLOST, SL_NOMEM: m is unchanged, unless k-means failed. */
int sl_gmm_attach(struct sl_gmm *m, const struct sl_engine *engine, struct sl_device *device, struct sl_error *err);
/* The most bytes of device memory that an attached run takes. */
uint64_t sl_gmm_device_bytes(const void *params, uint32_t n, uint32_t d);

/* Computes for about ms milliseconds, but at most to the end of an iteration (*ended is then true) or of the run.
 * SL_NOMEM. Does nothing after the end. */
int sl_gmm_advance(struct sl_gmm *m, double ms, bool *ended, struct sl_gmm_status *status, struct sl_error *err);
/* Makes the present iteration the last one, and the present restart the last one. The caller advances until done. */
void sl_gmm_stop(struct sl_gmm *m, struct sl_gmm_status *status);

/* The finished fits; borrowed until the next advance. */
const struct sl_gmm_fit *sl_gmm_fits(const struct sl_gmm *m, int *count);
/* The result, borrowed; NULL before the end. */
const struct sl_gmm_mixture *sl_gmm_best(const struct sl_gmm *m);
/* After the end: label [n], the component with the largest responsibility for each point; and all responsibilities
 * [n][k]. Both by row of points, borrowed. SL_CONFLICT before the end. */
int sl_gmm_result(const struct sl_gmm *m, const int32_t **label, const float **responsibility, struct sl_error *err);

/* Save and load a state, also within an iteration. On the same machine, a run that loads the state, with the same
 * points, parameters and start, ends with the same bytes as one that was never interrupted. The caller frees *out with
 * free(). SL_BADDATA: the state belongs to another run; then m can only be destroyed. */
int sl_gmm_save(const struct sl_gmm *m, void **out, uint64_t *bytes, struct sl_error *err);
int sl_gmm_load(struct sl_gmm *m, const void *state, uint64_t bytes, struct sl_error *err);

#endif
