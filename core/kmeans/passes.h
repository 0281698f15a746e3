/* passes.h -- the passes of k-means over all points, done by an engine that has a device (kmeans_passes of struct
 * sl_engine). core/kmeans/device.c uses them in place of the passes of this room.
 *
 * The points, and for each of them two labels, stay on the device; so do centroids [k][d], sums [k][d] and counts [k]
 * of the clusters. Points are passed in blocks of table.block rows, the last one perhaps shorter; a call does blocks
 * from .. to - 1 and returns when it is done. All calls are on the device's thread and return 0 or a negative code
 * with err (SL_DEVLOST, SL_DEVMEM, SL_INTERNAL), after which the passes can only be closed.
 *
 * The same bytes. Whoever computes, device or processor (if it can fuse multiplication and addition, as every x86-64
 * since 2013), gives the same bits, so that a run may go on elsewhere:
 *   - |x - c|^2 is added up in double precision in this order: eight sums, of the columns k with the same k % 8, as far
 *     as d / 8 * 8; then ((s0 + s4) + (s1 + s5)) + ((s2 + s6) + (s3 + s7)), plus the sum of the columns that are left,
 *     in order. Each term is fma(x - c, x - c, sum), from sum 0;
 *   - the nearest of equally near centroids is the one with the lowest number;
 *   - a block's sum adds its points in order; a cluster's sum adds and takes away its points in the order of rows. */
#ifndef SL_KMEANS_PASSES_H
#define SL_KMEANS_PASSES_H

#include <stdint.h>

#include "core/error.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SL_KMEANS_NO_LABEL 0xffffffffu

struct sl_kmeans_table {
	const float *x;         /* [n][d] as they are compared, in host memory; borrowed while the passes are opened */
	uint32_t n, d, k;
	uint32_t block, blocks;
	double *centroid, *sum; /* [k][d] host arrays that put(), get() and centroids() will have, or NULL; borrowed until
				 * close(), and perhaps pinned */
};

struct sl_kmeans_passes {
	void *arg;
	void (*close)(void *arg);

	/* k-means++. Seed `number` is c [d] (host); those before it came in order. The points' squared distance to it
	 * becomes that to their nearest seed, if it is less or number is 0. part [table.blocks] (host): the sums of these
	 * by block, entries from .. to - 1. */
	int (*seed)(void *arg, uint32_t number, const double *c, uint32_t from, uint32_t to, double *part,
		    struct sl_error *err);
	/* The points' squared distances to the nearest seed, or, after inertia() of their blocks, to their own centroids:
	 * square[count], of rows from first on. */
	int (*nearest)(void *arg, uint32_t first, uint32_t count, double *square, struct sl_error *err);

	/* The state, up and down; all on the host, NULL: not this one. label and before [n], or SL_KMEANS_NO_LABEL. */
	int (*put)(void *arg, const uint32_t *label, const uint32_t *before, const double *sum, const uint32_t *count,
		   struct sl_error *err);
	int (*get)(void *arg, uint32_t *label, uint32_t *before, double *sum, uint32_t *count, struct sl_error *err);
	/* New centroids [k][d], for the two below. */
	int (*centroids)(void *arg, const double *centroid, struct sl_error *err);

	/* Lloyd. before = label, then label = number of the nearest centroid. *moved += points that changed theirs. */
	int (*assign)(void *arg, uint32_t from, uint32_t to, uint32_t *moved, struct sl_error *err);
	/* Points whose label is not `before` go from one sum and count to the other. */
	int (*move)(void *arg, uint32_t from, uint32_t to, struct sl_error *err);
	/* part as above: the sums of |x - c|^2 to the points' own centroids. */
	int (*inertia)(void *arg, uint32_t from, uint32_t to, double *part, struct sl_error *err);
};

#ifdef __cplusplus
}
#endif
#endif
