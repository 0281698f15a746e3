/* kmeans.h -- k-means on points or on a layout: finds k centroids for which the sum of squared distances of the points
 * from their nearest centroids (the inertia) is small.
 *
 *   sl_param_defaults(&sl_kmeans_table, &params);
 *   params.clusters = 10;
 *   sl_kmeans_create(&m, points, &params, NULL, &err);
 *   do sl_kmeans_step(m, &status, &err); while (!status.done);
 *   sl_kmeans_result(m, label, centroid, &inertia);
 *   sl_kmeans_destroy(m);
 *
 * Each restart begins with seeds by k-means++ (Arthur and Vassilvitskii, SODA 2007), or by k-means|| (Bahmani et al.,
 * VLDB 2012; oversample.c), which needs fewer passes over the points. Lloyd's iterations (IEEE Trans. Inf. Theory 28,
 * 1982) follow, until no point changes its cluster, the centroids move less than the tolerance, or the iterations are
 * used up. The restart with the least inertia is kept; of equal ones, the first. Labels always belong to the centroids
 * that are returned with them.
 *
 * Each point belongs to the cluster of its nearest centroid, by distances in double precision; of equally near
 * centroids, to that with the lowest number. So neither the number of threads nor the bounds that save work (Hamerly's,
 * SDM 2010, one for each group of 32 centroids as in Ding et al., Yinyang K-means, ICML 2015) change a byte.
 *
 * A cluster that becomes empty takes the point that is farthest from its centroid, from a cluster of two points or
 * more. Several empty clusters do so in the order of their numbers. A cluster stays empty if every point lies on its
 * centroid up to rounding, because fewer than k points (cosine: directions) differ, or if it becomes empty in the last
 * assignment.
 *
 * With `batch`, an iteration uses a random sample of so many rows: each row moves its nearest centroid by the
 * difference of the two, divided by the number of rows that have moved this centroid (Sculley, WWW 2010, algorithm 1).
 * The seeds come from a sample of three times as many rows. The mean squared distance of the samples is smoothed over
 * about half the points. When it has not fallen for ten iterations, or the iterations are used up, one iteration of all
 * points follows. So labels, centroids and inertia have the same meaning as without `batch`.
 *
 * Metric cosine: points are scaled to length 1, centroids are means scaled to length 1, and the inertia is the sum of 1
 * - cos. A row of zeros is refused.
 *
 * A run belongs to one thread at a time; uses OpenMP. It borrows a float32 table if its values allow that (Euclidean,
 * largest value from 2^-20 to 2^40), and otherwise copies it as float32 [n][d]. It takes n * (28 + k / 8) bytes, those
 * of sl_kmeans_columns(), and a few [k][d] tables beside that. */
#ifndef SL_KMEANS_H
#define SL_KMEANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"
#include "core/param_table.h"

struct sl_device;
struct sl_engine;
struct sl_points;
struct sl_kmeans;

enum sl_kmeans_metric { SL_KMEANS_EUCLIDEAN, SL_KMEANS_COSINE };
enum sl_kmeans_seeding { SL_KMEANS_PLUSPLUS, SL_KMEANS_PARALLEL };

struct sl_kmeans_params {
	int clusters;          /* k, from 1 to the number of points */
	int metric;            /* enum sl_kmeans_metric */
	int restarts;
	int seeding;           /* enum sl_kmeans_seeding */
	int batch;             /* rows of an iteration, at least k; 0: all */
	int iterations;        /* most iterations of a restart */
	double tolerance;      /* a restart ends when the sum of squared moves of the centroids is less than this times the
				* mean variance of the columns; 0: when no point changes its cluster */
	uint64_t seed;
};
extern const struct sl_param_table sl_kmeans_table;  /* of struct sl_kmeans_params, the records `params` here */
/* Checks the parameters against n points of d columns. 0 or SL_BADPARAM. */
int sl_kmeans_check(const void *params, uint32_t n, uint32_t d, struct sl_error *err);
/* The number of rows in the sample for seeds, which is the largest copy of rows; 0: no batches. */
uint32_t sl_kmeans_sample(const struct sl_kmeans_params *params, uint32_t n);
/* The columns of the shorter rows that are compared first, if the points have so many columns that this pays; 0: none.
 * And the memory that they take, at most, while they are found and later. */
uint32_t sl_kmeans_columns(const struct sl_kmeans_params *params, uint32_t n, uint32_t d);
uint64_t sl_kmeans_columns_bytes(const struct sl_kmeans_params *params, uint32_t n, uint32_t d);
/* The most candidates for seeds of k-means||, of 24 bytes each while seeds are chosen; 0: seeds by k-means++. */
uint32_t sl_kmeans_candidates(const struct sl_kmeans_params *params, uint32_t n);

struct sl_kmeans_status {
	int restart;           /* from 0 */
	int seeds;             /* centroids chosen; below k: the restart is still seeding */
	int rounds;            /* k-means||: rounds of drawing and comparing candidates; k-means++: 0 */
	int iteration;         /* updates of the centroids in this restart */
	uint32_t moved;        /* points that changed their cluster in the newest iteration */
	double inertia;        /* of the best restart so far; NaN before the first has ended */
	double current;        /* inertia of this restart's clusters about their means; NaN before the first iteration */
	bool converged;        /* the best restart ended before its iterations were used up */
	bool done;
};

/* Borrows points until sl_kmeans_destroy(). start: initial centroids [clusters][d], relative to the points' center
 * (cosine: in the user's units), copied, or NULL: seeds. With a start there is only one restart. SL_BADPARAM (/clusters
 * and other parameters), SL_BADDATA (a row of zeros, with cosine), SL_NOMEM. */
int sl_kmeans_create(struct sl_kmeans **out, const struct sl_points *points, const struct sl_kmeans_params *params,
		     const float *start, struct sl_error *err);
void sl_kmeans_destroy(struct sl_kmeans *m);  /* NULL is fine */
/* Lets a device do the passes over the points from now on, with the same bytes as result; engine has "kmeans.passes".
 * Call it before the first step or after sl_kmeans_load(). The device is borrowed until sl_kmeans_destroy(); m then
 * belongs to the device's thread, and functions with err may also return SL_DEVLOST. After an error of this function m
 * is unchanged. */
int sl_kmeans_attach(struct sl_kmeans *m, const struct sl_engine *engine, struct sl_device *device,
		     struct sl_error *err);
/* The most bytes of device memory that an attached run takes. */
uint64_t sl_kmeans_device_bytes(uint32_t clusters, uint32_t n, uint32_t d);

/* Does one pass over the points: chooses a seed, or candidates for seeds, or does an iteration. SL_NOMEM. Does nothing
 * after the end. */
int sl_kmeans_step(struct sl_kmeans *m, struct sl_kmeans_status *status, struct sl_error *err);
/* The same in parts: computes for about ms milliseconds, but at most to the end of the step (*ended is then true). The
 * division into parts changes no byte. */
int sl_kmeans_advance(struct sl_kmeans *m, double ms, bool *ended, struct sl_kmeans_status *status,
		      struct sl_error *err);
/* Makes this restart the last one. If none has ended yet, this one ends with its next assignment. The caller continues
 * until done. */
void sl_kmeans_stop(struct sl_kmeans *m, struct sl_kmeans_status *status);

/* The inertia of the running restart, by a pass over the points; call it between two steps. NaN before the first
 * iteration. */
double sl_kmeans_measure(struct sl_kmeans *m);

/* The result of the best restart after the end; before the end, that of the running restart after its first iteration.
 * label [n], by row of points; centroid [k][d], relative to the points' center (not with cosine); each may be NULL.
 * SL_CONFLICT: there is no result yet. */
int sl_kmeans_result(struct sl_kmeans *m, uint32_t *label, float *centroid, double *inertia, struct sl_error *err);

/* Save and load a state, also within a step. On the same machine, a run that loads the state, with the same points,
 * parameters and start, ends with the same bytes as one that was never interrupted. The caller frees *out with free().
 * SL_BADDATA: the state belongs to another run; m is unchanged. */
int sl_kmeans_save(struct sl_kmeans *m, void **out, uint64_t *bytes, struct sl_error *err);
int sl_kmeans_load(struct sl_kmeans *m, const void *state, uint64_t bytes, struct sl_error *err);

#endif
