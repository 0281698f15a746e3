/* gmm_internal.h -- the fields of a run of expectation maximisation, and functions that the files of core/gmm/
 * share. */
#ifndef SL_GMM_INTERNAL_H
#define SL_GMM_INTERNAL_H

#include "core/gmm/gmm.h"
#include "core/gmm/passes.h"
#include "core/gmm/tile.h"

struct sl_kmeans;

/* ---- factor.c: Cholesky factors, as densities need them ------------------------------- */

struct sl__gmm_factors {
	int covariance;
	uint32_t k, d;
	uint64_t stride;         /* of a packed factor (tile.h) */
	double *factor;          /* full [k][stride], tied [stride] */
	double *scale;           /* diag, spherical [k][d]: 1 / standard deviation; tied [d]: ones */
	double *centre;          /* tied [d] */
	double *turned;          /* tied [k][d]: L^-1 (mean - centre) */
	double *constant;        /* [k] log weight - d/2 log 2 pi - log det S / 2 */
	double *half_log_det;    /* [k], tied [1] */
	double *ridge;           /* [k], tied [1]: what was added to the diagonal beyond reg_covar */
};

/* For up to k components. 0 or SL_NOMEM; finish() frees either way. */
int sl__gmm_factors_init(struct sl__gmm_factors *f, int covariance, uint32_t k, uint32_t d);
void sl__gmm_factors_finish(struct sl__gmm_factors *f);
/* The number of factors that are computed row by row: those of full and tied covariances. */
uint32_t sl__gmm_factor_count(const struct sl__gmm_factors *f);
/* Computes rows from .. to - 1 of factor c of the covariance [d][d] with ridge[c] added to its diagonal. lower
 * [d][stride]: the rows of the factor, only below the diagonal. If the covariance is singular, ridge[c] is increased,
 * beginning with `least`, independently of how the rows are divided; with least 0, SL_BADDATA. */
int sl__gmm_factor_rows(struct sl__gmm_factors *f, const struct sl__gmm_kernels *kernels, uint32_t c,
			const double *spread, double *lower, uint32_t stride, uint32_t from, uint32_t to, double least);
/* L_ii of factor c. */
double sl__gmm_pivot(const struct sl__gmm_factors *f, uint32_t c, uint32_t i);
/* Finishes the factors after their last row; diag and spherical: computes all. SL_BADDATA: a variance is not
 * positive. */
int sl__gmm_factors_end(struct sl__gmm_factors *f, const struct sl_gmm_mixture *g);

/* ---- density.c: one block of points ----------------------------------------------------- */

/* The number of doubles in the scratch memory of one thread. */
size_t sl__gmm_work_values(uint32_t d);
/* logit[c][lane] for components from .. to - 1 of the points in row[count][d], count <= LANES: log of weight times
 * density. */
void sl__gmm_logits(const struct sl__gmm_factors *f, const struct sl__gmm_kernels *kernels,
		    const struct sl_gmm_mixture *g, const float *row, uint32_t count, uint32_t from, uint32_t to,
		    double *work, double *logit);
/* Converts the logits of all components to responsibilities. density [LANES]: the logarithms of the mixture's density.
 * label [count] and responsibility [count][k] may be NULL. */
void sl__gmm_share(const struct sl__gmm_kernels *kernels, uint32_t k, uint32_t count, double *logit, double *density,
		   int32_t *label, float *responsibility);

/* ---- mixture.c -------------------------------------------------------------------------- */

/* Room for up to k components. 0 or SL_NOMEM; finish() frees either way. */
int sl__gmm_mixture_init(struct sl_gmm_mixture *g, int covariance, uint32_t k, uint32_t d);
void sl__gmm_mixture_finish(struct sl_gmm_mixture *g);
void sl__gmm_mixture_copy(struct sl_gmm_mixture *to, const struct sl_gmm_mixture *from);

/* ---- a run ------------------------------------------------------------------------------ */

enum sl__gmm_phase {
	SL__GMM_KMEANS,    /* initial clusters */
	SL__GMM_MEANS,     /* means of the clusters, or of given responsibilities: a pass over the points */
	SL__GMM_SPREADS,   /* weights and covariances of the clusters: a pass */
	SL__GMM_UPDATE,    /* covariances from the sums of a pass, and their factors, row by row */
	SL__GMM_PASS,      /* responsibilities, and sums weighted by them: a pass */
	SL__GMM_FACTOR,    /* factors of the best restart, or of the best number of components, row by row */
	SL__GMM_SCORE,     /* log-likelihood of the best restart: a pass. If no number of components follows, also
			    * responsibilities and labels */
	SL__GMM_FINAL,     /* responsibilities and labels of the result, unless SCORE computed them: a pass */
	SL__GMM_DONE,
	SL__GMM_PHASES
};

/* Kinds of work that are divided into chunks; a chunk takes a small part of a slice. */
enum sl__gmm_part { SL__GMM_EXPECT, SL__GMM_ADD, SL__GMM_ROWS_OF_FACTORS, SL__GMM_PARTS };

struct sl_gmm {
	struct sl_gmm_params params;
	const struct sl__gmm_kernels *kernels;
	const struct sl_points *points;   /* borrowed */
	uint32_t n, d, padded;
	uint32_t largest_k;           /* the largest number of components of any fit */
	double *column_mean, *column_variance;  /* [d] of all points */
	double first_ridge;      /* the first ridge that is tried */
	double *total;           /* tied [padded][padded]: scatter of all points about their mean */
	float *start;            /* [n][k] given, or NULL */

	/* progress */
	struct sl_gmm_status status;
	enum sl__gmm_phase phase, next_phase;  /* next_phase: after FACTOR */
	bool stop;
	uint32_t batch;          /* next batch of the pass */
	uint32_t expected;       /* components of the batch whose densities are computed */
	uint32_t added;          /* tasks of the batch whose sums are added */
	uint32_t row;            /* next row of UPDATE and FACTOR */
	double sum;              /* log-likelihood of the batches so far */
	double previous_log_likelihood, mean_log_likelihood;  /* of a point, in the last two iterations */
	uint32_t chunk[SL__GMM_PARTS];

	uint32_t batch_points;   /* a multiple of LANES */
	double *share;           /* [blocks of a batch][k][LANES] */
	double *block_sum;       /* [blocks of a batch] */
	float *rows;             /* [batch_points][d], of points that are not float32 */

	/* the device that does the passes; passes.arg NULL: none. A batch is then a unit of the device. */
	struct sl_gmm_passes passes;
	const struct sl_engine *engine;   /* borrowed, as is device */
	struct sl_device *device;
	uint32_t unit;           /* points */
	bool begun;              /* begin() was called for this pass */
	double *part;            /* [units] log-likelihood of each */

	struct sl_gmm_mixture now;
	struct sl__gmm_factors factors;
	struct sl_kmeans *kmeans;
	uint32_t *label;         /* [n] by k-means */
	double *mass;            /* [k] sum of responsibilities */
	double *first;           /* [k][padded] of r (x - mean) */
	double *second;          /* diag, spherical [k][padded] of r (x - mean)^2 */
	double *scatter;         /* full [k][padded][padded] of r (x - mean) (x - mean)', above the diagonal; below it and
				  * for tied: rows of factors */
	double *shift;           /* [k][d] new mean - old mean */

	/* the best restart of this number of components */
	struct sl_gmm_mixture best;
	struct sl_gmm_fit fit;   /* of it; log_likelihood: in its last iteration; NaN: none has ended */
	/* the best number of components */
	struct sl_gmm_mixture winner;
	struct sl_gmm_fit fits[SL_PARAM_LIST_MAX];

	int32_t *result_label;   /* [n] */
	float *result_share;     /* [n][k] */
};

static inline uint32_t sl__gmm_batches(const struct sl_gmm *m)
{
	return (m->n - 1) / m->batch_points + 1;
}

/* The pass computes responsibilities and labels, as the result. */
static inline bool sl__gmm_gives_result(const struct sl_gmm *m)
{
	return m->phase == SL__GMM_FINAL || (m->phase == SL__GMM_SCORE && m->status.fits + 1 == m->params.components.count);
}

/* gmm.c: starts k-means for the present restart. */
int sl__gmm_clusters(struct sl_gmm *m, struct sl_error *err);

/* device.c. device_clusters: lets the device do k-means if its memory suffices. device_work: does the next units of a
 * pass; *pass_ended: they were the last, and the sums are in host memory. SL_NOMEM, or an error of the device. */
int sl__gmm_device_clusters(struct sl_gmm *m, struct sl_error *err);
int sl__gmm_device_work(struct sl_gmm *m, bool *pass_ended, struct sl_error *err);

/* prepare.c: allocates the run; params were checked. SL_BADPARAM, SL_NOMEM. */
int sl__gmm_prepare(struct sl_gmm *m, const float *start, struct sl_error *err);
/* The number of points of a batch for k components; a batch takes a few milliseconds. */
uint32_t sl__gmm_batch_points(uint32_t n, uint32_t d, uint32_t k);
/* Sets k components to the mean and variance of all points. */
void sl__gmm_blank(struct sl_gmm *m, uint32_t k);

/* pass.c: a pass over the points. begin: call it before the first batch. work: does a part of a batch; *pass_ended: it
 * was the last one. 0 or SL_NOMEM. */
void sl__gmm_pass_begin(struct sl_gmm *m);
int sl__gmm_pass_work(struct sl_gmm *m, enum sl__gmm_part *part, bool *pass_ended);

/* maximise.c: computes the mixture from the sums of a pass. means: weights, means and shift. spread_rows: covariances
 * and factors, rows from .. to - 1 of sl__gmm_rows(); without `sums`, only the factors of the present covariances. The
 * last row finishes the factors. */
void sl__gmm_means(struct sl_gmm *m);
uint32_t sl__gmm_rows(const struct sl_gmm *m);
void sl__gmm_spread_rows(struct sl_gmm *m, bool sums, uint32_t from, uint32_t to);

#endif
