/* oversample.h -- seeds by k-means|| while they are chosen (oversample.c, candidates.c). Internal to core/kmeans/.
 *
 * Candidates are rows of points, numbered in the order in which they were drawn. They are compared with all points in
 * groups of at most k, which take the place of the centroids meanwhile. While this is under way, before[i] of struct
 * sl_kmeans is the candidate nearest to point i (of equally near ones the lowest), upper[i] the squared distance. */
#ifndef SL_KMEANS_OVERSAMPLE_H
#define SL_KMEANS_OVERSAMPLE_H

#include <stdbool.h>
#include <stdint.h>

struct sl_error;
struct sl_kmeans;

/* What is under way, in blocks of rows or of candidates, or in seeds; each takes its own time. */
enum sl__kmeans_stage {
	SL__KMEANS_BETWEEN,  /* distances of older candidates to the group; not with a device */
	SL__KMEANS_SCORE,    /* points compared with the group */
	SL__KMEANS_MERGE,    /* what a device found, taken over */
	SL__KMEANS_DRAW,     /* new candidates */
	SL__KMEANS_CHOOSE,   /* seeds out of candidates */
	SL__KMEANS_STAGES
};

struct sl__kmeans_over {
	enum sl__kmeans_stage stage;
	uint32_t round;      /* rounds that have drawn their candidates */
	uint32_t most;       /* candidates that there is room for */
	uint32_t count;      /* candidates, */
	uint32_t scored;     /* of which so many have been compared with all points */
	uint32_t group;      /* the ones after these, which are being compared */
	double total;        /* sum of upper[] */
	uint32_t *row;       /* [most] points that candidates are */
	double *weight;      /* [most] points whose nearest candidate each is */
	double *square;      /* [most] squared distance to the nearest seed; 1 before there is a seed */
	uint32_t *seed;      /* [most] the nearest seed */
	uint32_t *label;     /* [n] with a device: nearest of the group */
	double *away;        /* [SL__KMEANS_FETCH] with a device: squared distances to it */
};
#define SL__KMEANS_FETCH 65536u  /* rows whose distances are fetched at a time, or one block */

/* oversample.c: goes on with the stage: blocks, or seeds, m->passed .. to - 1. *whole: a round or some seeds are done.
 * SL_NOMEM, or the device's error. */
int sl__kmeans_oversample(struct sl_kmeans *m, uint32_t to, bool *whole, struct sl_error *err);
void sl__kmeans_drop_over(struct sl_kmeans *m);
/* candidates.c: the next group begins. SL_NOMEM. */
int sl__kmeans_start_group(struct sl_kmeans *m);
/* Lower bounds of the distances from older candidates, of blocks from .. to - 1, to the panels of the group. */
void sl__kmeans_between_candidates(struct sl_kmeans *m, uint32_t from, uint32_t to);
/* before[] and upper[] of the points of blocks from .. to - 1, and the blocks' sums of upper[]. */
void sl__kmeans_score(struct sl_kmeans *m, uint32_t from, uint32_t to);
/* Both together are the same with a device; the second one after all blocks have been through the first. */
int sl__kmeans_device_score(struct sl_kmeans *m, uint32_t to, struct sl_error *err);
int sl__kmeans_device_merge(struct sl_kmeans *m, uint32_t to, struct sl_error *err);

#endif
