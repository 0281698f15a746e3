/* kmeans_internal.h -- one run of k-means, between the files of core/kmeans/. */
#ifndef SL_KMEANS_INTERNAL_H
#define SL_KMEANS_INTERNAL_H

#include "core/kmeans/kmeans.h"
#include "core/kmeans/tile.h"

#define SL__KMEANS_BLOCK 256   /* points that one thread takes at a time; sums are of blocks, in their order */
#define SL__KMEANS_NONE 0xffffffffu

struct sl_kmeans {
	struct sl_kmeans_params params;
	const struct sl__kmeans_kernels *kernels;
	uint32_t n, d, k;
	uint32_t panels;         /* groups of SL__KMEANS_LANES centroids */
	uint32_t blocks;
	const float *x;          /* [n][d] as compared; borrowed, or copy */
	float *copy;
	double scale;            /* x is this times the points; a power of 2 */
	double *norm;            /* [n] |x| */
	double variance;         /* mean of the columns', of x */
	float *start;            /* [k][d] given, or NULL */

	/* the restart that is running */
	struct sl_kmeans_status status;
	bool last;               /* one more assignment, and the restart ends */
	double *centroid;        /* [k][d] */
	double *sum;             /* [k][d] of the points of each cluster */
	uint32_t *count;         /* [k] */
	uint32_t *label;         /* [n] or SL__KMEANS_NONE */

	/* bounds: they save work and change no result */
	uint32_t *place;         /* [k] lane of each centroid, counted through all panels */
	uint32_t *at;            /* [panels * LANES] centroid in each lane, or SL__KMEANS_NONE */
	float *panel;            /* [panels][d][LANES] */
	float *half;             /* [panels * LANES] |c|^2 / 2; infinite where there is none */
	double longest;          /* |c| */
	double *drift;           /* [k] how far each moved in the last update */
	float *group_drift;      /* [panels] the largest of each panel */
	double *upper;           /* [n] the own centroid is no farther; while seeding: the nearest seed, squared */
	float *lower;            /* [n][panels] no other centroid of the panel is nearer */
	uint32_t *before;        /* [n] labels before an assignment; while seeding, the nearest seed */
	double *block_sum;       /* [blocks] */

	/* the best restart that has ended */
	double *best_centroid;
	uint32_t *best_label;
};

/* assign.c: each point to its nearest centroid; before[] keeps the old labels. *moved: how many changed. 0 or SL_NOMEM:
 * then m can only be destroyed. */
int sl__kmeans_assign(struct sl_kmeans *m, uint32_t *moved);
/* Bounds that hold for any centroids. */
void sl__kmeans_forget(struct sl_kmeans *m);
/* Panels of the present centroids. */
void sl__kmeans_pack(struct sl_kmeans *m);
/* order.c: place[] and at[], such that near centroids share a panel. 0 or SL_NOMEM. */
int sl__kmeans_order(struct sl_kmeans *m);
/* kmeans.c: the distances of all points to seed `number`. */
void sl__kmeans_add_seed(struct sl_kmeans *m, uint32_t number);
/* After seeding or loading: order and bounds for the present centroids. 0 or SL_NOMEM. */
int sl__kmeans_ready(struct sl_kmeans *m);
/* prepare.c: points, start, memory; m->params is there. SL_BADPARAM, SL_BADDATA, SL_NOMEM. */
int sl__kmeans_prepare(struct sl_kmeans *m, const struct sl_points *points, const float *start, struct sl_error *err);

#endif
