/* quality.h -- measures of the quality of a layout, without the engine's approximations.
 *
 *   KL divergence       the objective that the embedding minimises (kl.c)
 *   recall              the share of a node's neighbours that are also its neighbours in the layout (recall.c)
 *   trustworthiness     1 less a penalty for neighbours in the layout that are far apart in the input (trust.c)
 *   silhouette          how well the layout separates the labels (silhouette.c)
 *
 * Layouts are y [n * dims]. Functions that take affinities expect the engine's node order (sl_affinities_gather()
 * converts to it); those that take neighbours or points expect the order of usable rows. All use OpenMP; results do not
 * depend on the number of threads. */
#ifndef SL_QUALITY_H
#define SL_QUALITY_H

#include "core/graph/affinities.h"
#include "core/neighbours/neighbours.h"
#include "core/points/points.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- all of it ----------------------------------------------------------------------- */

/* A layout and the data to compare it with; all pointers but y may be NULL. Borrowed. */
struct sl_quality_input {
	int dims;
	const float *y;                        /* [n_user * dims], the user's order */
	uint32_t n_user;
	double dof;                            /* degrees of freedom of the layout's kernel; 0: 1 */
	const struct sl_affinities *a;         /* for the KL divergence; for recall if neighbours is NULL */
	const struct sl_neighbours *neighbours;/* for recall */
	const struct sl_points *points;        /* for trustworthiness */
	int metric;                            /* enum sl_distance of the points */
	double p;                              /* exponent of SL_LP */
	const uint32_t *label;                 /* [n_user] */
	uint32_t labels;
	int k;                                 /* number of neighbours for recall and trustworthiness; 0: 10 */
	const int *cancel;                     /* read between measures, each of which takes seconds; NULL: never */
	/* called before a measure is taken, on the calling thread: `measure`, such as "recall", comes next; `done` of `of`
	 * measures are finished. May be NULL */
	void (*progress)(void *arg, const char *measure, int done, int of);
	void *arg;
};

/* A measure that was not taken is NaN, and its number of queries is 0. */
struct sl_quality {
	uint32_t nodes;       /* in the layout */
	int k;
	double kl;            /* KL(P || Q) */
	double kl_error;      /* 0: kl is exact; else half the width of its 95 % confidence interval */
	double z;             /* sum over i != j of 1 / (1 + |y_i - y_j|^2) */
	double recall;
	uint32_t recall_queries;
	int recall_k;         /* neighbours that recall used: k, or as many as were found; 0: not measured */
	double trustworthiness;
	uint32_t trust_queries;
	int trust_k;          /* the same for trustworthiness: sl_quality_trust_k() */
	double silhouette;
	uint32_t silhouette_queries;
};

/* Takes all measures that the input allows, within seconds for inputs of any size: it takes evenly spread samples of
 * large inputs. KL is exact up to 100,000 nodes. SL_CANCELLED; SL_BADPARAM: dims, k, a position that is not finite, or
 * parts of the input that do not belong together. */
int sl_quality_measure(const struct sl_quality_input *in, struct sl_quality *out, struct sl_error *err);

/* ---- one by one ----------------------------------------------------------------------- */

/* KL with the exact Z, the sum over all n^2 / 2 pairs in double precision: about 1 s at n = 70,000 on two cores.
 * Returns 0, SL_BADPARAM (dims, or a position that is not finite) or SL_NOMEM. */
int sl_quality_kl(const struct sl_affinities *a, int dims, const float *y, double *kl, double *z, struct sl_error *err);
/* The same for any degrees of freedom, with Z estimated from `samples` rows (0: all; at least 256). *kl_error is twice
 * the standard deviation of this estimate. */
int sl_quality_divergence(const struct sl_affinities *a, int dims, double dof, const float *y, uint32_t samples,
			  double *kl, double *z, double *kl_error, struct sl_error *err);

/* Recall: the share of the k' = min(k, neighbours) nodes of largest p_ij (ties: the lower number) that are among the k'
 * nearest to the query node in the layout (ties: the lower number). The queries are all nodes, or a fixed, evenly
 * spread sample of `queries` nodes (0: all). k from 1 to SL_QUALITY_MOST; recall in [0, 1]; an empty layout has recall
 * 1. */
#define SL_QUALITY_MOST 256
int sl_quality_recall(const struct sl_affinities *a, int dims, const float *y, int k, uint32_t queries,
		      double *recall, uint32_t *used, struct sl_error *err);
/* The same, for the first k neighbours of points. */
int sl_quality_recall_neighbours(const struct sl_neighbours *nb, int dims, const float *y, int k, uint32_t queries,
				 double *recall, uint32_t *used, struct sl_error *err);

/* Trustworthiness (Venna and Kaski, ICANN 2001): 1 - 2 / (n k (2 n - 3 k - 1)) sum_i sum_j (r_ij - k) over the j among
 * the k nearest to i in the layout that are not among its k nearest in the input; r_ij is j's rank there, 1 for the
 * nearest (ties: the lower number). Ranks need the distances to all points: queries * n * d operations. queries 0: as
 * many as 2e10 such operations allow. The measure has no meaning for a k of n / 2 or more, which is replaced by
 * sl_quality_trust_k(), the largest below n / 2. */
int sl_quality_trust_k(uint32_t n, int k);
int sl_quality_trust(const struct sl_points *points, int metric, double p, int dims, const float *y, int k,
		     uint32_t queries, double *trust, uint32_t *used, struct sl_error *err);

/* Mean silhouette width (Rousseeuw, J. Comput. Appl. Math. 20, 1987) of the labels in the layout, Euclidean: (b - a) /
 * max(a, b), a the mean distance to the node's own label, b the smallest to another's; 0 for a label of one node. NaN
 * when there are fewer than 2 labels. label [n]; nodes with a label of `labels` or more have none and do not count.
 * queries 0: as many as 1e9 distances allow. */
int sl_quality_silhouette(uint32_t n, int dims, const float *y, const uint32_t *label, uint32_t labels,
			  uint32_t queries, double *silhouette, uint32_t *used, struct sl_error *err);

#ifdef __cplusplus
}
#endif
#endif
