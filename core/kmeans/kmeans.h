/* kmeans.h -- k-means on points or on a layout: k centroids such that the sum of squared distances from each point to
 * its nearest centroid is small.
 *
 *   sl_kmeans_defaults(&params);
 *   params.clusters = 10;
 *   sl_kmeans_create(&m, points, &params, NULL, &err);
 *   do sl_kmeans_step(m, &status, &err); while (!status.done);
 *   sl_kmeans_result(m, label, centroid, &inertia);
 *   sl_kmeans_destroy(m);
 *
 * Each restart begins with seeds by k-means++ (Arthur and Vassilvitskii, SODA 2007), or by k-means|| (Bahmani et al.,
 * VLDB 2012; oversample.c), which chooses them in fewer passes over the points, and goes on with Lloyd's iterations
 * (IEEE Trans. Inf. Theory 28, 1982) until no point changes its cluster, the centroids move less than the tolerance, or
 * the iterations are used up. The restart with the least inertia is kept; of equal ones, the first. Labels always
 * belong to the centroids that come with them.
 *
 * Each point has the cluster of the nearest centroid by distances in double precision; of equally near ones, that with
 * the lowest number. So neither the bounds that save work (Hamerly's, one for each group of 32 centroids as in Ding et
 * al., Yinyang K-means, ICML 2015) nor the number of threads changes a byte.
 *
 * A cluster that becomes empty takes the point that is farthest from its centroid, out of the clusters of two points
 * or more; several empty ones do so in the order of their numbers. Where no point is away from its centroid, because
 * fewer than k points differ, the cluster stays empty; so does one that becomes empty in the very last assignment.
 *
 * With `batch` an iteration moves the centroids by a random sample of so many rows: each row moves its nearest centroid
 * by their difference over the number of rows that this one has had (Sculley, WWW 2010, algorithm 1). The seeds come
 * from a sample of three times as many rows. When the mean squared distance of the samples, smoothed over about half
 * the points, has not fallen for ten iterations, or they are used up, one iteration of all points follows; so labels,
 * centroids and inertia mean the same as without.
 *
 * Metric cosine: points are scaled to length 1, centroids are means scaled to length 1, and the inertia is the sum of
 * 1 - cos. A row of zeros is refused.
 *
 * Belongs to one thread at a time; uses OpenMP. A float32 table is borrowed where its values allow (Euclidean, largest
 * value from 2^-20 to 2^40), else copied as float32 [n][d]. Beside that n * (16 + k / 8) bytes and a few [k][d]
 * tables. */
#ifndef SL_KMEANS_H
#define SL_KMEANS_H

#include <stdbool.h>
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
	double tolerance;      /* a restart ends when the squared distances that centroids moved add up to less than this
				* times the mean variance of the columns; 0: when no point changes its cluster */
	uint64_t seed;
};
extern const struct sl_param_table sl_kmeans_table;
void sl_kmeans_defaults(struct sl_kmeans_params *params);
/* Of n points of d columns. SL_BADPARAM. */
int sl_kmeans_check(const struct sl_kmeans_params *params, uint32_t n, uint32_t d, struct sl_error *err);
/* Rows of the sample that seeds come from, the most that is copied at a time; 0: no batches. */
uint32_t sl_kmeans_sample(const struct sl_kmeans_params *params, uint32_t n);
/* Candidates for seeds, at most, each of which takes 24 bytes while seeds are chosen; 0: seeds by k-means++. */
uint32_t sl_kmeans_candidates(const struct sl_kmeans_params *params, uint32_t n);

struct sl_kmeans_status {
	int restart;           /* from 0 */
	int seeds;             /* centroids chosen; below k: the restart is still seeding */
	int rounds;            /* in which candidates for seeds were drawn and compared; by k-means++: 0 */
	int iteration;         /* updates of the centroids in this restart */
	uint32_t moved;        /* points that changed their cluster in the newest iteration */
	double inertia;        /* of the best restart so far; NaN before the first has ended */
	double current;        /* of this restart: after an iteration, of its clusters about their means; NaN before that */
	bool converged;        /* the best restart ended before its iterations were used up */
	bool done;
};

/* Borrows points until it is destroyed. start: [clusters][d] centroids to begin with, copied, or NULL: seeds. With
 * a start there is one restart, whatever the parameters say.
 * SL_BADPARAM (/clusters and so on), SL_BADDATA (a row of zeros, with cosine), SL_NOMEM. */
int sl_kmeans_create(struct sl_kmeans **out, const struct sl_points *points, const struct sl_kmeans_params *params,
		     const float *start, struct sl_error *err);
void sl_kmeans_destroy(struct sl_kmeans *m);  /* NULL is fine */
/* From now on the device, whose engine has kmeans_passes, does the passes over the points, to the same bytes. Before
 * the first step, or after sl_kmeans_load(). The device is borrowed; from then on m belongs to the device's thread, and
 * what can fail also fails with SL_DEVLOST. After an error m is as it was. */
int sl_kmeans_attach(struct sl_kmeans *m, const struct sl_engine *engine, struct sl_device *device,
		     struct sl_error *err);
/* Bytes that this takes on the device, at most. */
uint64_t sl_kmeans_device_bytes(uint32_t clusters, uint32_t n, uint32_t d);

/* Chooses a seed, or candidates for seeds, or does one iteration: a pass over the points. SL_NOMEM. Nothing happens
 * after the end. */
int sl_kmeans_step(struct sl_kmeans *m, struct sl_kmeans_status *status, struct sl_error *err);
/* The same in parts: goes on for about ms milliseconds, at most to the end of the step (*whole). The parts change no
 * byte. */
int sl_kmeans_advance(struct sl_kmeans *m, double ms, bool *whole, struct sl_kmeans_status *status,
		      struct sl_error *err);
/* There is no further restart. If none has ended yet this one ends with its next assignment: go on until done. */
void sl_kmeans_stop(struct sl_kmeans *m, struct sl_kmeans_status *status);

/* Sum over the points of the squared distance (cosine: 1 - cos) to the centroid of their cluster in the restart that is
 * running: a pass over the points, between two steps. NaN before its first iteration. */
double sl_kmeans_measure(struct sl_kmeans *m);

/* After the end the best restart; before, the running one once it has had an iteration. label [n], by row of points;
 * centroid [k][d]; each may be NULL. SL_CONFLICT before there is one. */
int sl_kmeans_result(struct sl_kmeans *m, uint32_t *label, float *centroid, double *inertia,
		     struct sl_error *err);

/* Also within a step. The buffer is the caller's to free(). One that is loaded, from the same points, parameters and
 * start, goes on to the same bytes as one that was never interrupted, on the same machine. SL_BADDATA: not a state of
 * such a run; m is as it was. */
int sl_kmeans_save(struct sl_kmeans *m, void **out, uint64_t *bytes, struct sl_error *err);
int sl_kmeans_load(struct sl_kmeans *m, const void *state, uint64_t bytes, struct sl_error *err);

#endif
