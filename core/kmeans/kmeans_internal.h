/* kmeans_internal.h -- one run of k-means, between the files of core/kmeans/. */
#ifndef SL_KMEANS_INTERNAL_H
#define SL_KMEANS_INTERNAL_H

#include <float.h>
#include <math.h>

#include "core/kmeans/axes.h"
#include "core/kmeans/kmeans.h"
#include "core/kmeans/oversample.h"
#include "core/kmeans/passes.h"
#include "core/kmeans/tile.h"

#define SL__KMEANS_BLOCK 256   /* points that one thread takes at a time, at most; sums are of blocks, in their order */
#define SL__KMEANS_WORK (1 << 24)  /* coordinates of centroids that a block is compared with, which takes about 10 ms */
#define SL__KMEANS_NONE SL_KMEANS_NO_LABEL
#define SL__KMEANS_COLUMNS 48  /* of y, at most; a multiple of SL__KMEANS_AXES */

/* What is under way: a pass over all blocks of points, but for FILL. */
enum sl__kmeans_phase {
	SL__KMEANS_SEED,    /* distances to a seed */
	SL__KMEANS_ASSIGN,  /* each point to its nearest centroid */
	SL__KMEANS_MOVE,    /* points that changed their cluster, from one sum to another */
	SL__KMEANS_FILL,    /* empty clusters take a point, one after the other; then the centroids move */
	SL__KMEANS_SUM,     /* the inertia of a restart that has ended */
	SL__KMEANS_BATCH,   /* between SEED and ASSIGN: centroids move by random rows, which are no blocks */
	SL__KMEANS_PHASES
};

struct sl_kmeans {
	struct sl_kmeans_params params;
	const struct sl__kmeans_kernels *kernels;
	uint32_t n, d, k;
	uint32_t panels;         /* groups of SL__KMEANS_LANES centroids */
	uint32_t block, blocks;  /* points of a block: fewer where there are many centroids, so that it takes no longer */
	const float *x;          /* [n][d] as compared; borrowed, or copy */
	float *copy;
	double scale;            /* x is this times the points; a power of 2 */
	double *norm;            /* [n] |x| */

	/* what panels and bounds compare: y of points and centroids (axes.h), or x itself; without a device */
	bool search;             /* axes are still to be found */
	struct sl__kmeans_axes *found;       /* NULL: none */
	const struct sl__kmeans_axes *axes;  /* NULL: y is x */
	const struct sl_kmeans *whole;  /* the run that this is a batch of, which lends its axes; NULL: none */
	uint32_t f;              /* columns of y */
	const float *y;          /* [n][f] x, or outline */
	const double *c;         /* [k][f] y of the centroids: centroid, or outline_centroid */
	const double *length;    /* [n] |y|: norm, or outline_length */
	float *outline;
	double *outline_length, *outline_centroid;
	uint8_t *looked;         /* [blocks] the points of the block have their y */
	double *margin;          /* [n] see block.c; infinite: unknown */
	double *strayed;         /* [k] how far each centroid has moved beside the axes, all in all */
	uint64_t asked, looks;   /* points that bounds did not settle, and centroids measured for them */

	double square;           /* sum of their squares */
	double variance;         /* mean of the columns', of x */
	float *start;            /* [k][d] given, or NULL */

	/* the restart that is running */
	struct sl_kmeans_status status;
	bool last;               /* one more assignment, and the restart ends */
	bool stop;               /* ... and with it the run */
	enum sl__kmeans_phase phase;
	uint32_t passed;         /* blocks of the phase that are done */
	uint32_t moved;          /* points that changed their cluster in these; ASSIGN */
	uint32_t seeded;         /* seeds that the distances are known to; SEED */
	uint32_t fill;           /* the next cluster to look at; FILL */
	/* blocks that are a small part of a slice, by phase, then by stage of seeds by k-means|| */
	uint32_t chunk[SL__KMEANS_PHASES + SL__KMEANS_STAGES];
	double *centroid;        /* [k][d] */
	double *sum;             /* [k][d] of the points of each cluster */
	uint32_t *count;         /* [k] */
	uint32_t *label;         /* [n] or SL__KMEANS_NONE */

	struct sl__kmeans_over *over;  /* seeds by k-means||, SEED; NULL: not begun */

	/* a device does the passes; arg NULL: none */
	struct sl_kmeans_passes passes;
	bool stale;              /* label, before, sum and count are newer there */
	bool filled;             /* ... or here, since empty clusters took points */

	/* bounds: they save work and change no result; without a device */
	uint32_t forget;         /* blocks from the present one on, around the end, whose bounds are still to be set back */
	bool packed;             /* the panels are of the present centroids */
	bool ordered;            /* ... and place and at */
	uint32_t *place;         /* [k] lane of each centroid, counted through all panels */
	uint32_t *at;            /* [panels * LANES] centroid in each lane, or SL__KMEANS_NONE */
	float *panel;            /* [panels][f][LANES] */
	float *half;             /* [panels * LANES] half the square of |c|; infinite where there is none */
	double longest;          /* |c| of the longest one */
	double *drift;           /* [k] how far each moved in the last update */
	float *group_drift;      /* [panels] the largest of each panel */
	double *upper;           /* [n] the own centroid is no farther; while seeding: the nearest seed, squared */
	float *lower;            /* [n][panels] no other centroid of the panel is nearer */
	uint32_t *before;        /* [n] labels before an assignment; while seeding, the nearest seed */
	double *block_sum;       /* [blocks] */
	double *column_sum;      /* [d] */

	/* batches; params.batch 0: none of this */
	struct sl_kmeans *part;  /* a run of the sample for seeds, or of the rows of a batch; NULL: it is to be made */
	float *rows;             /* [part's points][d] */
	double *taken;           /* [k] rows that each centroid has had */
	double mean, least;      /* squared distance of a row, of late; its least value; NaN before the first batch */
	uint32_t since;          /* batches since that */
	bool assigned;           /* each point has a cluster in this restart */

	/* the best restart that has ended */
	double *best_centroid;
	uint32_t *best_label;
};

/* The points of a block that their bounds do not settle. */
struct sl__kmeans_work {
	uint32_t count;
	uint32_t point[SL__KMEANS_BLOCK], best[SL__KMEANS_BLOCK];
	uint32_t own[SL__KMEANS_BLOCK];      /* lane of best, counted through all panels; NONE: there is none yet */
	bool measured[SL__KMEANS_BLOCK];     /* square and distance are of best */
	double square[SL__KMEANS_BLOCK];     /* exact */
	double distance[SL__KMEANS_BLOCK];   /* best is at most so far */
	double slack[SL__KMEANS_BLOCK], fuzz[SL__KMEANS_BLOCK];
	double base[SL__KMEANS_BLOCK];       /* square of the length, less the slack of twice a score */
	float limit[SL__KMEANS_BLOCK];       /* of scores of centroids that may be nearer than best */
	uint64_t points, looks;              /* added up: those of all blocks, and distances measured for them */
	/* those that look at one panel */
	uint32_t pick[SL__KMEANS_BLOCK];
	const float *row[SL__KMEANS_BLOCK];
	double base_of[SL__KMEANS_BLOCK];
	float fuzz_of[SL__KMEANS_BLOCK], least[SL__KMEANS_BLOCK], bound[SL__KMEANS_BLOCK];
	float score[SL__KMEANS_BLOCK * SL__KMEANS_LANES];
};

/* assign.c: the points of blocks from .. to - 1 to their nearest centroids; before[] keeps their old labels. *moved:
 * how many changed, added to what it is. 0 or SL_NOMEM: then m can only be destroyed. */
int sl__kmeans_assign(struct sl_kmeans *m, uint32_t from, uint32_t to, uint32_t *moved);
/* A score |c|^2 / 2 - y c in float is wrong by no more than this, |y| being `length`: rounding of products, of
 * centroids, of |c|^2 / 2 and of the difference; products below the least float. Of the panels of sl__kmeans_pack(). */
static inline double sl__kmeans_slack(const struct sl_kmeans *m, double length)
{
	uint32_t chunk = m->f < SL__KMEANS_CHUNK ? m->f : SL__KMEANS_CHUNK;
	return (chunk + m->f / SL__KMEANS_CHUNK + 8) * 0x1p-24 *
	       (length * m->longest + m->longest * m->longest / 2) * 1.01 + (m->f + 8.0) * FLT_MIN;
}
/* |y - y'| of such a point and any centroid is at most this much more than |x - x'|, and the errors of both y are
 * less. */
static inline double sl__kmeans_fuzz(const struct sl_kmeans *m, double length)
{
	return m->axes ? m->axes->fuzz * 1.01 * (length + m->longest) + FLT_MIN : 0;
}
/* No centroid whose score is at least this is nearer; |y - c|^2 = |y|^2 + 2 score. */
#define SL__KMEANS_DOWN 0.9999997f   /* more than a float's rounding */
static inline float sl__kmeans_bound(double length, float score, double slack, double fuzz)
{
	double square = length * length * (1 - 1e-12) + 2 * ((double)score - slack);
	double bound = square > 0 ? sqrt(square) * (1 - 1e-12) - fuzz : 0;
	return bound > 0 ? (bound < (double)FLT_MAX ? (float)bound * SL__KMEANS_DOWN : FLT_MAX) : 0;
}
/* y of the present centroids, before they are ordered or packed. */
void sl__kmeans_outline(struct sl_kmeans *m);
/* y of the points of a block, unless they are known. */
void sl__kmeans_look(struct sl_kmeans *m, uint32_t block);
/* Adds what was needed for some points. True: the axes were no good, and y is x again; the panels are still those of
 * y. */
bool sl__kmeans_judge_axes(struct sl_kmeans *m, uint64_t points, uint64_t looks);
/* y is x again. */
void sl__kmeans_drop_axes(struct sl_kmeans *m);
/* Bounds that hold for any centroids. */
void sl__kmeans_forget(struct sl_kmeans *m);
/* Panels of the present centroids, as ordered. */
void sl__kmeans_pack(struct sl_kmeans *m);
/* order.c: place[] and at[] of the first `count` centroids, such that near ones share a panel. 0 or SL_NOMEM. */
int sl__kmeans_order(struct sl_kmeans *m, uint32_t count);
/* seed.c: the next seed, of points whose distances to all seeds so far are known. An error is the device's. */
int sl__kmeans_choose_seed(struct sl_kmeans *m, struct sl_error *err);
/* The distances of the points of blocks from .. to - 1 to seed `number`, whose distances to the other seeds come from
 * the second function. */
void sl__kmeans_add_seed(struct sl_kmeans *m, uint32_t number, uint32_t from, uint32_t to);
void sl__kmeans_between_seeds(struct sl_kmeans *m, uint32_t number);
/* Can a seed be nearer than the nearest one so far? norm, length: of the point and of the seed; square: of the point to
 * the nearest seed; between: from that one to the seed, squared. Not if that is four times as much as square, nor if
 * the lengths differ by more than the distance. */
static inline bool sl__kmeans_may_be_nearer(double norm, double square, double length, double between)
{
	double gap = fabs(norm - length) - 1e-12 * (norm + length), reach = square * (1 + 1e-12);
	return 4 * reach > between && !(gap > 0 && gap * gap > reach);
}
/* update.c: columns that one thread adds up, so that all have some. */
uint32_t sl__kmeans_stripe(uint32_t d, uint32_t least);
/* The points of blocks from .. to - 1 that changed their cluster. */
void sl__kmeans_move_points(struct sl_kmeans *m, uint32_t from, uint32_t to);
/* An empty cluster takes a point. *filled: there was one for it. 0 or SL_NOMEM. */
int sl__kmeans_fill(struct sl_kmeans *m, uint32_t cluster, bool *filled);
/* Returns the sum of the squared distances that they moved. */
double sl__kmeans_move_centroids(struct sl_kmeans *m);
/* Of clusters about their means, by the sums of the clusters. */
double sl__kmeans_scatter(struct sl_kmeans *m);
/* state.c: into block_sum, of the running restart; then the inertia that these make. */
void sl__kmeans_sum(const struct sl_kmeans *m, uint32_t from, uint32_t to);
double sl__kmeans_inertia(const struct sl_kmeans *m);
/* After seeding or loading: bounds and order are not those of the present centroids. */
void sl__kmeans_ready(struct sl_kmeans *m);
/* device.c: with a device, what it has newer, and all of the state to it. The first does nothing without a device. */
int sl__kmeans_fetch(struct sl_kmeans *m, struct sl_error *err);
int sl__kmeans_fetch_sums(struct sl_kmeans *m, struct sl_error *err);  /* and counts alone */
int sl__kmeans_send(struct sl_kmeans *m, struct sl_error *err);
/* With a device: what the functions above do, on blocks m->passed .. to - 1. */
int sl__kmeans_device_seed(struct sl_kmeans *m, uint32_t to, struct sl_error *err);
int sl__kmeans_device_nearest(struct sl_kmeans *m, uint32_t block, struct sl_error *err);
int sl__kmeans_device_assign(struct sl_kmeans *m, uint32_t to, struct sl_error *err);
int sl__kmeans_device_move(struct sl_kmeans *m, uint32_t to, struct sl_error *err);
int sl__kmeans_device_inertia(struct sl_kmeans *m, uint32_t to, struct sl_error *err);
/* batch.c: all seeds, of a sample; one batch. Both return after some milliseconds at most, *whole: at its end. */
int sl__kmeans_seed_sample(struct sl_kmeans *m, bool *whole, struct sl_error *err);
int sl__kmeans_batch(struct sl_kmeans *m, bool *whole, struct sl_error *err);
/* From seeds on, or a start. */
void sl__kmeans_start_batches(struct sl_kmeans *m);
void sl__kmeans_drop_part(struct sl_kmeans *m);
/* kmeans.c: the phase begins. */
void sl__kmeans_enter(struct sl_kmeans *m, enum sl__kmeans_phase phase);
/* kmeans.c: sl_kmeans_create(); whole: the run that this is a batch of, or NULL. */
int sl__kmeans_create(struct sl_kmeans **out, const struct sl_points *points, const struct sl_kmeans_params *params,
		      const float *start, const struct sl_kmeans *whole, struct sl_error *err);
/* prepare.c: goes on for some milliseconds with the search for axes, and takes them. SL_NOMEM. */
int sl__kmeans_search_axes(struct sl_kmeans *m);
/* Points, start, memory; m->params is there. SL_BADPARAM, SL_BADDATA, SL_NOMEM. */
int sl__kmeans_prepare(struct sl_kmeans *m, const struct sl_points *points, const float *start, struct sl_error *err);

#endif
