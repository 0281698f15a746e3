/* kmeans_internal.h -- the state of one run of k-means, shared by the files of core/kmeans/. */
#ifndef SL_KMEANS_INTERNAL_H
#define SL_KMEANS_INTERNAL_H

#include <float.h>
#include <math.h>

#include "core/kmeans/axes.h"
#include "core/kmeans/kmeans.h"
#include "core/kmeans/oversample.h"
#include "core/kmeans/passes.h"
#include "core/kmeans/tile.h"

#define SL__KMEANS_ROUNDING 0x1p-44  /* cosine: squared distances of rows that differ only by the rounding of floats */
#define SL__KMEANS_BLOCK 256   /* most points of a block. One thread processes a block; sums are added in block order */
#define SL__KMEANS_WORK (1 << 24)  /* most products for a block, points * k * d: about 10 ms */
#define SL__KMEANS_NONE SL_KMEANS_NO_LABEL
#define SL__KMEANS_COLUMNS 48  /* most columns of y; a multiple of SL__KMEANS_AXES */

/* Each phase but FILL and BATCH is a pass over all blocks of points. */
enum sl__kmeans_phase {
	SL__KMEANS_SEED,    /* computes the distances to a seed */
	SL__KMEANS_ASSIGN,  /* assigns each point to its nearest centroid */
	SL__KMEANS_MOVE,    /* updates the sums of clusters by the points that changed their cluster */
	SL__KMEANS_FILL,    /* empty clusters take a point, one after the other; then the centroids move */
	SL__KMEANS_SUM,     /* computes the inertia of a restart that has ended */
	SL__KMEANS_BATCH,   /* between SEED and ASSIGN: moves the centroids by random rows */
	SL__KMEANS_PHASES
};

struct sl_kmeans {
	struct sl_kmeans_params params;
	const struct sl__kmeans_kernels *kernels;
	uint32_t n, d, k;
	uint32_t panels;         /* groups of SL__KMEANS_LANES centroids */
	uint32_t block, blocks;  /* points of a block, fewer if there are many centroids; number of blocks */
	const float *x;          /* [n][d] the points times scale, normalised for cosine; borrowed, or copy */
	float *copy;
	double scale;            /* a power of 2 */
	double *norm;            /* [n] |x| */

	/* Panels and bounds compare outlines y of points and centroids (axes.h), or without axes x itself. Not used with a
	 * device. */
	bool search;             /* the search for axes has not ended */
	struct sl__kmeans_axes *found;       /* this run's own axes, also while they are searched; NULL: none */
	const struct sl__kmeans_axes *axes;  /* the axes in use, own or the parent's; NULL: y is x */
	const struct sl_kmeans *parent;  /* if this run computes a batch: the run that lends its axes; else NULL */
	uint32_t f;              /* columns of y */
	const float *y;          /* [n][f] x, or outline */
	const double *c;         /* [k][f] y of the centroids: centroid, or outline_centroid */
	const double *length;    /* [n] |y|: norm, or outline_length */
	float *outline;
	double *outline_length, *outline_centroid;
	uint8_t *outlined;       /* [blocks] true: outline has the points of the block */
	double *margin;          /* [n] see block.c; infinite: unknown */
	double *strayed;         /* [k] sum of the centroid's movements orthogonal to the axes */
	uint64_t open, measured; /* points that the bounds left open, and distances measured for them */

	double square;           /* sum of the squares of norm */
	double variance;         /* mean variance of the columns of x */
	float *start;            /* [k][d] given, or NULL */

	/* the restart that is running */
	struct sl_kmeans_status status;
	bool last;               /* the restart ends with the next assignment */
	bool stop;               /* the run ends with this restart */
	enum sl__kmeans_phase phase;
	uint32_t passed;         /* blocks of the phase that are done */
	uint32_t moved;          /* ASSIGN: points in these blocks that changed their cluster */
	uint32_t seeded;         /* SEED: number of seeds included in the distances */
	uint32_t fill;           /* FILL: the next cluster to check */
	/* blocks processed between two looks at the clock, by phase, then by stage of seeding by k-means|| */
	uint32_t chunk[SL__KMEANS_PHASES + SL__KMEANS_STAGES];
	double *centroid;        /* [k][d] */
	double *sum;             /* [k][d] sum of the points of each cluster */
	uint32_t *count;         /* [k] points of each cluster */
	uint32_t *label;         /* [n] or SL__KMEANS_NONE */

	struct sl__kmeans_over *over;  /* SEED: the state of seeding by k-means||; NULL: not begun */

	/* the passes of a device; arg NULL: no device */
	struct sl_kmeans_passes passes;
	bool stale;              /* the device has newer label, before, sum and count */
	bool filled;             /* the host has newer ones, because empty clusters took points */

	/* Bounds save work and change no result. Not used with a device. */
	uint32_t forget;         /* number of blocks, from `passed` on and cyclically, whose bounds must be reset */
	bool packed;             /* panel, half and longest belong to the present centroids */
	bool ordered;            /* lane_of and centroid_in are valid */
	uint32_t *lane_of;       /* [k] lane of each centroid, counted through all panels */
	uint32_t *centroid_in;   /* [panels * LANES] centroid in each lane, or SL__KMEANS_NONE */
	float *panel;            /* [panels][f][LANES] */
	float *half;             /* [panels * LANES] |c|^2 / 2; infinite in empty lanes */
	double longest;          /* the largest |c| */
	double *drift;           /* [k] distance that each centroid moved in the last update */
	float *group_drift;      /* [panels] the largest drift of each panel */
	double *upper;           /* [n] upper bound of the distance to the point's own centroid; while seeding: the squared
				  * distance to the nearest seed */
	float *lower;            /* [n][panels] lower bound of the distance to the other centroids of the panel */
	uint32_t *before;        /* [n] labels before an assignment; while seeding, the nearest seed */
	double *block_sum;       /* [blocks] */
	double *column_sum;      /* [d] */

	/* only if params.batch is not 0 */
	struct sl_kmeans *part;  /* the run on the sample for seeds, or on the rows of a batch; NULL: not yet created */
	float *rows;             /* [part's points][d] */
	double *taken;           /* [k] number of rows that have moved each centroid */
	double mean, least;      /* smoothed squared distance of a row; its least value; NaN before the first batch */
	uint32_t since;          /* number of batches since the least value */
	bool assigned;           /* each point has a cluster in this restart */

	/* the best restart that has ended */
	double *best_centroid;
	uint32_t *best_label;
};

/* The points of a block whose bounds leave open which centroid is the nearest. */
struct sl__kmeans_work {
	uint32_t count;
	uint32_t point[SL__KMEANS_BLOCK], best[SL__KMEANS_BLOCK];
	uint32_t best_lane[SL__KMEANS_BLOCK];  /* lane of best, counted through all panels; NONE: there is none yet */
	bool exact[SL__KMEANS_BLOCK];        /* square and distance were computed for best */
	double square[SL__KMEANS_BLOCK];     /* exact squared distance to best */
	double distance[SL__KMEANS_BLOCK];   /* upper bound of the distance to best */
	double slack[SL__KMEANS_BLOCK], fuzz[SL__KMEANS_BLOCK];
	double base[SL__KMEANS_BLOCK];       /* |y|^2 - 2 slack */
	float limit[SL__KMEANS_BLOCK];       /* a centroid with a higher score is not nearer than best */
	uint64_t points, measured;           /* over all blocks: open points, and distances measured for them */
	/* the open points that are compared with one panel */
	uint32_t pick[SL__KMEANS_BLOCK];
	const float *row[SL__KMEANS_BLOCK];
	double base_of[SL__KMEANS_BLOCK];
	float fuzz_of[SL__KMEANS_BLOCK], least[SL__KMEANS_BLOCK], bound[SL__KMEANS_BLOCK];
	float score[SL__KMEANS_BLOCK * SL__KMEANS_LANES];
};

/* assign.c: assigns the points of blocks from .. to - 1 to their nearest centroids; before[] keeps their old labels.
 * Adds the number of points that changed to *moved. 0 or SL_NOMEM: then m can only be destroyed. */
int sl__kmeans_assign(struct sl_kmeans *m, uint32_t from, uint32_t to, uint32_t *moved);
/* Bounds the error of a score |c|^2 / 2 - y c in float, for panels of sl__kmeans_pack() and |y| = length: rounding of
 * products, of centroids, of |c|^2 / 2 and of the difference; underflow of products. */
static inline double sl__kmeans_slack(const struct sl_kmeans *m, double length)
{
	uint32_t chunk = m->f < SL__KMEANS_CHUNK ? m->f : SL__KMEANS_CHUNK;
	return (chunk + m->f / SL__KMEANS_CHUNK + 8) * 0x1p-24 *
	       (length * m->longest + m->longest * m->longest / 2) * 1.01 + (m->f + 8.0) * FLT_MIN;
}
/* Bounds |y - y'| - |x - x'| for a point with |y| = length and any centroid, and also the errors of both y. */
static inline double sl__kmeans_fuzz(const struct sl_kmeans *m, double length)
{
	return m->axes ? m->axes->fuzz * 1.01 * (length + m->longest) + FLT_MIN : 0;
}
/* A lower bound of the distance to any centroid with at least this score; |y - c|^2 = |y|^2 + 2 score. */
#define SL__KMEANS_DOWN 0.9999997f   /* rounds a float down, and more */
static inline float sl__kmeans_bound(double length, float score, double slack, double fuzz)
{
	double square = length * length * (1 - 1e-12) + 2 * ((double)score - slack);
	double bound = square > 0 ? sqrt(square) * (1 - 1e-12) - fuzz : 0;
	return bound > 0 ? (bound < (double)FLT_MAX ? (float)bound * SL__KMEANS_DOWN : FLT_MAX) : 0;
}
/* Computes y of the present centroids; call it before sl__kmeans_order() and sl__kmeans_pack(). */
void sl__kmeans_outline_centroids(struct sl_kmeans *m);
/* Computes y of the points of a block, once. */
void sl__kmeans_outline_points(struct sl_kmeans *m, uint32_t block);
/* Counts open points and the distances measured for them. True: the axes save too little work and were dropped, so y is
 * x again; the caller must pack the panels again. */
bool sl__kmeans_judge_axes(struct sl_kmeans *m, uint64_t points, uint64_t measured);
/* Makes y equal to x again. */
void sl__kmeans_drop_axes(struct sl_kmeans *m);
/* Resets the bounds to values that hold for any centroids. */
void sl__kmeans_forget(struct sl_kmeans *m);
/* Fills the panels with the present centroids, in the order of sl__kmeans_order(). */
void sl__kmeans_pack(struct sl_kmeans *m);
/* order.c: fills lane_of[] and centroid_in[] for the first `count` centroids, such that near ones share a panel. 0 or
 * SL_NOMEM. */
int sl__kmeans_order(struct sl_kmeans *m, uint32_t count);
/* seed.c: chooses the next seed, once upper[] has the distances to all seeds so far. Returns errors of the device. */
int sl__kmeans_choose_seed(struct sl_kmeans *m, struct sl_error *err);
/* Updates upper[] and before[] of the points of blocks from .. to - 1 by seed `number`; call the second function first,
 * which computes the distances of this seed to the others. */
void sl__kmeans_add_seed(struct sl_kmeans *m, uint32_t number, uint32_t from, uint32_t to);
void sl__kmeans_between_seeds(struct sl_kmeans *m, uint32_t number);
/* False if a new seed cannot be nearer to a point than its nearest seed. norm: length of the point; length: of the new
 * seed; square: squared distance from the point to its nearest seed; between: from that seed to the new one, squared.
 * The new seed is farther if between >= 4 square, or if the lengths differ by more than the distance. */
static inline bool sl__kmeans_may_be_nearer(double norm, double square, double length, double between)
{
	double gap = fabs(norm - length) - 1e-12 * (norm + length), reach = square * (1 + 1e-12);
	return 4 * reach > between && !(gap > 0 && gap * gap > reach);
}
/* update.c: columns per thread if all threads share d columns, at least `least`. */
uint32_t sl__kmeans_stripe(uint32_t d, uint32_t least);
/* Updates sums and counts by the points of blocks from .. to - 1 that changed their cluster. */
void sl__kmeans_move_points(struct sl_kmeans *m, uint32_t from, uint32_t to);
/* Lets an empty cluster take a point. *filled is false if no point can be taken. 0 or SL_NOMEM. */
int sl__kmeans_fill(struct sl_kmeans *m, uint32_t cluster, bool *filled);
/* Moves the centroids to the means of their clusters. Returns the sum of their squared movements. */
double sl__kmeans_move_centroids(struct sl_kmeans *m);
/* The inertia of the clusters about their means, from the sums of the clusters. */
double sl__kmeans_scatter(struct sl_kmeans *m);
/* state.c: the first puts squared distances to the own centroids into block_sum; the second adds these to the
 * inertia. */
void sl__kmeans_sum(const struct sl_kmeans *m, uint32_t from, uint32_t to);
double sl__kmeans_inertia(const struct sl_kmeans *m);
/* Discards bounds and order, after seeding or loading. */
void sl__kmeans_ready(struct sl_kmeans *m);
/* device.c: fetches newer state from the device, if there is a device; sends all of the state to it. */
int sl__kmeans_fetch(struct sl_kmeans *m, struct sl_error *err);
int sl__kmeans_fetch_sums(struct sl_kmeans *m, struct sl_error *err);  /* sums and counts only */
int sl__kmeans_send(struct sl_kmeans *m, struct sl_error *err);
/* The same passes as above, on a device, for blocks m->passed .. to - 1. */
int sl__kmeans_device_seed(struct sl_kmeans *m, uint32_t to, struct sl_error *err);
int sl__kmeans_device_nearest(struct sl_kmeans *m, uint32_t block, struct sl_error *err);
int sl__kmeans_device_assign(struct sl_kmeans *m, uint32_t to, struct sl_error *err);
int sl__kmeans_device_move(struct sl_kmeans *m, uint32_t to, struct sl_error *err);
int sl__kmeans_device_inertia(struct sl_kmeans *m, uint32_t to, struct sl_error *err);
/* batch.c: choose all seeds from a sample; compute one batch. Both return after some milliseconds at most; *ended tells
 * whether they have finished. */
int sl__kmeans_seed_sample(struct sl_kmeans *m, bool *ended, struct sl_error *err);
int sl__kmeans_batch(struct sl_kmeans *m, bool *ended, struct sl_error *err);
/* Begins with batches, once the seeds or the given centroids are known. */
void sl__kmeans_start_batches(struct sl_kmeans *m);
void sl__kmeans_drop_part(struct sl_kmeans *m);
/* kmeans.c: begins a phase. */
void sl__kmeans_enter(struct sl_kmeans *m, enum sl__kmeans_phase phase);
/* kmeans.c: sl_kmeans_create() with a parent, the run of which this is a batch; NULL: none. */
int sl__kmeans_create(struct sl_kmeans **out, const struct sl_points *points, const struct sl_kmeans_params *params,
		      const float *start, const struct sl_kmeans *parent, struct sl_error *err);
/* prepare.c: searches axes for some milliseconds, and uses them once they are found. SL_NOMEM. */
int sl__kmeans_search_axes(struct sl_kmeans *m);
/* Takes points and start, and allocates memory; m->params must be set. SL_BADPARAM, SL_BADDATA, SL_NOMEM. */
int sl__kmeans_prepare(struct sl_kmeans *m, const struct sl_points *points, const float *start, struct sl_error *err);

#endif
