/* quality.h -- how good a layout is, measured without the engine's approximations.
 *
 *   KL divergence       what the embedding minimises (kl.c)
 *   recall              the share of a node's neighbours that are its neighbours in the layout, too (recall.c)
 *   trustworthiness     1 less a penalty for neighbours in the layout that are far apart in the input (trust.c)
 *   silhouette          how well the labels are separated (silhouette.c)
 *
 * Layouts are y [n * dims] in the order of what they are measured against: the engine's node order for affinities
 * (sl_affinities_gather() makes one from a user's), the order of usable rows for neighbours and points. Uses OpenMP;
 * results do not depend on the number of threads. */
#ifndef SL_QUALITY_H
#define SL_QUALITY_H

#include "core/graph/affinities.h"
#include "core/neighbours/neighbours.h"
#include "core/points/points.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- all of it ----------------------------------------------------------------------- */

/* What there is to measure against; each may be NULL. Borrowed. */
struct sl_quality_input {
	int dims;
	const float *y;                        /* [n_user * dims], the user's order */
	uint32_t n_user;
	double dof;                            /* degrees of freedom of the layout's kernel; 0: 1 */
	const struct sl_affinities *a;         /* for the KL divergence; for recall when there are no neighbours */
	const struct sl_neighbours *neighbours;/* for recall */
	const struct sl_points *points;        /* for trustworthiness */
	int metric;                            /* enum sl_distance of the points */
	double p;                              /* exponent of SL_LP */
	const uint32_t *label;                 /* [n_user] */
	uint32_t labels;
	int k;                                 /* neighbours that recall and trustworthiness look at; 0: 10 */
	const int *cancel;                     /* looked at between measures, each of which takes seconds; NULL: never */
	/* what is measured next: "recall", the second (1) of four; may be NULL; called on the measuring thread */
	void (*progress)(void *arg, const char *measure, int done, int of);
	void *arg;
};

/* What was not measured is NaN, its number of queries 0. */
struct sl_quality {
	uint32_t nodes;       /* that the layout has */
	int k;
	double kl;            /* KL(P || Q) */
	double kl_error;      /* 0: exact; else what its estimate is off by at most, 19 times in 20 */
	double z;             /* sum over i != j of 1 / (1 + |y_i - y_j|^2) */
	double recall;
	uint32_t recall_queries;
	double trustworthiness;
	uint32_t trust_queries;
	double silhouette;
	uint32_t silhouette_queries;
};

/* Measures what the input allows, in some seconds whatever its size: KL with the exact Z up to 100,000 nodes; samples
 * are evenly spread. SL_CANCELLED; SL_BADPARAM: dims, k, a position that is not finite, parts of the input that do not
 * belong together. */
int sl_quality_measure(const struct sl_quality_input *in, struct sl_quality *out, struct sl_error *err);

/* ---- one by one ----------------------------------------------------------------------- */

/* Exact Z by all pairs in double precision: n^2 / 2 pairs, about 1 s at n = 70,000 on two
 * cores. Returns 0, SL_BADPARAM (dims, or a position that is not finite) or SL_NOMEM. */
int sl_quality_kl(const struct sl_affinities *a, int dims, const float *y, double *kl, double *z,
		  struct sl_error *err);
/* The same for any degrees of freedom, and with Z from so many rows (0: all; at least 256): *kl_error is twice the
 * standard deviation that follows. */
int sl_quality_divergence(const struct sl_affinities *a, int dims, double dof, const float *y, uint32_t samples,
			  double *kl, double *z, double *kl_error, struct sl_error *err);

/* For each query node the k' = min(k, neighbours) of largest p_ij (ties: the lower number)
 * are looked up among its k' nearest in the layout (ties: the lower number). All nodes are
 * queries, or a fixed, evenly spread sample of `queries` (0: all). k from 1 to
 * SL_QUALITY_MOST; recall in [0, 1]; an empty layout has recall 1. */
#define SL_QUALITY_MOST 256
int sl_quality_recall(const struct sl_affinities *a, int dims, const float *y, int k, uint32_t queries,
		      double *recall, uint32_t *used, struct sl_error *err);
/* The same for the first k neighbours of points. */
int sl_quality_recall_neighbours(const struct sl_neighbours *nb, int dims, const float *y, int k, uint32_t queries,
				 double *recall, uint32_t *used, struct sl_error *err);

/* Trustworthiness (Venna and Kaski, ICANN 2001): 1 - 2 / (n k (2 n - 3 k - 1)) sum_i sum_j (r_ij - k) over the j among
 * the k nearest to i in the layout that are not among its k nearest in the input; r_ij is j's rank there, 1 for the
 * nearest (ties: the lower number). Ranks come from distances to all points: queries * n * d operations. queries: 0: as
 * many as 2e10 such operations allow. k < n / 2 (a larger one is taken for the largest that is right). */
int sl_quality_trust(const struct sl_points *points, int metric, double p, int dims, const float *y, int k,
		     uint32_t queries, double *trust, uint32_t *used, struct sl_error *err);

/* Mean silhouette width (Rousseeuw, J. Comput. Appl. Math. 20, 1987) of the labels in the layout, Euclidean: (b - a) /
 * max(a, b), a the mean distance to the node's own label, b the smallest to another's; 0 for a label of one node. NaN
 * when there are fewer than 2 labels. label [n], less than labels; queries 0: as many as 1e9 distances allow. */
int sl_quality_silhouette(uint32_t n, int dims, const float *y, const uint32_t *label, uint32_t labels,
			  uint32_t queries, double *silhouette, uint32_t *used, struct sl_error *err);

#ifdef __cplusplus
}
#endif
#endif
