/* passes.h -- the interface of an engine that does the passes of k-means over all points on its device, its
 * operation "kmeans.passes". core/kmeans/device.c uses it in place of the passes on the processor.
 *
 * The points, with two labels each, stay on the device. So do the centroids [k][d], and the sums [k][d] and counts [k]
 * of the clusters. Points are divided into blocks of table.block rows; the last block may be shorter. A call processes
 * blocks from .. to - 1 and returns when they are finished. All calls belong to the device's thread and return 0 or a
 * negative code with err (SL_DEVLOST, SL_DEVMEM, SL_INTERNAL); after an error the passes can only be closed.
 *
 * Device and processor give the same bits (the processor needs fused multiplication and addition, as every x86-64 since
 * 2013 has), so a run may move between them. Both follow these rules:
 *   - |x - c|^2 is summed in double precision in this order: eight sums s0 .. s7, of the columns k with the same k % 8,
 *     up to column d / 8 * 8; then ((s0 + s4) + (s1 + s5)) + ((s2 + s6) + (s3 + s7)), plus the sum of the remaining
 *     columns, in order. Each term is fma(x - c, x - c, sum), beginning with 0;
 *   - of equally near centroids, the one with the lowest number is the nearest;
 *   - the sum of a block adds its points in the order of rows; the sum of a cluster adds and subtracts them so. */
#ifndef SL_KMEANS_PASSES_H
#define SL_KMEANS_PASSES_H

#include <stdint.h>

#include "core/engine/engine.h"
#include "core/error.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SL_KMEANS_NO_LABEL 0xffffffffu

struct sl_kmeans_table {
	const float *x;         /* [n][d] as they are compared, in host memory; borrowed while the passes are opened */
	uint32_t n, d, k;
	uint32_t block, blocks;
	double *centroid, *sum; /* [k][d] the host arrays that put(), get() and centroids() will use, or NULL; borrowed
				 * until close(). The engine may pin them */
};

struct sl_kmeans_passes {
	void *arg;
	void (*close)(void *arg);

	/* k-means++. Adds seed `number`, c [d] (host), after all seeds of lower numbers: updates each point's squared
	 * distance to its nearest seed. part [table.blocks] (host): entries from .. to - 1 become the sums of these
	 * distances over each block. */
	int (*seed)(void *arg, uint32_t number, const double *c, uint32_t from, uint32_t to, double *part,
		    struct sl_error *err);
	/* square[count]: the squared distances of `count` points from row `first` on, to their nearest seeds or, after
	 * inertia() of their blocks, to their centroids. */
	int (*nearest)(void *arg, uint32_t first, uint32_t count, double *square, struct sl_error *err);

	/* Copy the state to the device and back. All arrays are in host memory; NULL: this one is not copied. label and
	 * before [n] hold SL_KMEANS_NO_LABEL for points without a cluster. */
	int (*put)(void *arg, const uint32_t *label, const uint32_t *before, const double *sum, const uint32_t *count,
		   struct sl_error *err);
	int (*get)(void *arg, uint32_t *label, uint32_t *before, double *sum, uint32_t *count, struct sl_error *err);
	/* Copies the centroids [k][d] for assign() and inertia() to the device. */
	int (*centroids)(void *arg, const double *centroid, struct sl_error *err);

	/* Lloyd. before = label, then label = number of the nearest centroid. *moved += points whose label changed. */
	int (*assign)(void *arg, uint32_t from, uint32_t to, uint32_t *moved, struct sl_error *err);
	/* Moves each point with label != before from the sum and count of cluster `before` to those of cluster `label`. */
	int (*move)(void *arg, uint32_t from, uint32_t to, struct sl_error *err);
	/* part as in seed(): the sums of the squared distances of points to their centroids. */
	int (*inertia)(void *arg, uint32_t from, uint32_t to, double *part, struct sl_error *err);
};

/* Opens the passes on a device, to which the points are copied, and where they stay until out->close().
 * Device's thread. SL_DEVMEM, SL_DEVLOST, SL_NOMEM. */
typedef int sl_kmeans_open(struct sl_device *device, const struct sl_kmeans_table *table, struct sl_kmeans_passes *out,
			   struct sl_error *err);
#define SL_KMEANS_PASSES "kmeans.passes"  /* the name of this operation of an engine */

/* NULL: the engine has no such operation. */
static inline sl_kmeans_open *sl_kmeans_opener(const struct sl_engine *engine)
{
	return (sl_kmeans_open *)sl_engine_operation(engine, SL_KMEANS_PASSES);
}

#ifdef __cplusplus
}
#endif
#endif
