/* oversample.h -- the state of seeding by k-means|| (oversample.c, candidates.c). Internal to core/kmeans/.
 *
 * Candidates are rows of points, numbered in the order in which they were drawn. All points are compared with them in
 * groups of at most k candidates, which are stored as centroids meanwhile. During seeding, before[i] of struct
 * sl_kmeans is the candidate nearest to point i (of equally near ones the lowest), and upper[i] the squared
 * distance. */
#ifndef SL_KMEANS_OVERSAMPLE_H
#define SL_KMEANS_OVERSAMPLE_H

#include <stdbool.h>
#include <stdint.h>

struct sl_error;
struct sl_kmeans;

/* A stage proceeds in blocks of rows, in blocks of candidates, or in seeds. */
enum sl__kmeans_stage {
	SL__KMEANS_BETWEEN,  /* computes distances of older candidates to the group; not with a device */
	SL__KMEANS_SCORE,    /* compares the points with the group */
	SL__KMEANS_MERGE,    /* merges the device's results into before[] and upper[] */
	SL__KMEANS_DRAW,     /* draws new candidates */
	SL__KMEANS_CHOOSE,   /* chooses seeds from the candidates */
	SL__KMEANS_STAGES
};

struct sl__kmeans_over {
	enum sl__kmeans_stage stage;
	uint32_t round;      /* rounds that have drawn their candidates */
	uint32_t capacity;   /* most candidates */
	uint32_t count;      /* candidates drawn so far */
	uint32_t scored;     /* candidates compared with all points */
	uint32_t group;      /* candidates being compared; the first one is number `scored` */
	double total;        /* sum of upper[] */
	uint32_t *row;       /* [capacity] the candidate's row in the points */
	double *weight;      /* [capacity] number of points whose nearest candidate this is */
	double *square;      /* [capacity] squared distance to the nearest seed; 1 before there is a seed */
	uint32_t *seed;      /* [capacity] the nearest seed */
	uint32_t *label;     /* [n] with a device: the nearest candidate of the group */
	double *fetched;     /* [SL__KMEANS_FETCH] with a device: squared distances to it */
};
#define SL__KMEANS_FETCH 65536u  /* rows whose distances are fetched at a time, or one block */

/* oversample.c: continues the stage with blocks, or seeds, m->passed .. to - 1. *ended is true after a round or some
 * seeds. SL_NOMEM, or the device's error. */
int sl__kmeans_oversample(struct sl_kmeans *m, uint32_t to, bool *ended, struct sl_error *err);
void sl__kmeans_drop_over(struct sl_kmeans *m);
/* candidates.c: begins the next group. SL_NOMEM. */
int sl__kmeans_start_group(struct sl_kmeans *m);
/* Computes lower bounds of the distances from older candidates, blocks from .. to - 1, to the panels of the group. */
void sl__kmeans_between_candidates(struct sl_kmeans *m, uint32_t from, uint32_t to);
/* Updates before[] and upper[] of the points of blocks from .. to - 1, and the blocks' sums of upper[]. */
void sl__kmeans_score(struct sl_kmeans *m, uint32_t from, uint32_t to);
/* The same with a device, in two passes: the second one begins when the first has processed all blocks. */
int sl__kmeans_device_score(struct sl_kmeans *m, uint32_t to, struct sl_error *err);
int sl__kmeans_device_merge(struct sl_kmeans *m, uint32_t to, struct sl_error *err);

#endif
