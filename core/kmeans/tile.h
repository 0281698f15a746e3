/* tile.h -- the inner loops of k-means. tile.c and block.c are compiled once for each instruction set;
 * sl__kmeans_kernels() selects the fastest variant for the processor. Internal to core/kmeans/.
 *
 * Centroids are stored in panels of SL__KMEANS_LANES, as panel[k][lane], so that a vector register holds the same
 * coordinate of several centroids. Axes are stored in groups of SL__KMEANS_AXES in the same way. */
#ifndef SL_KMEANS_TILE_H
#define SL_KMEANS_TILE_H

#include <stdbool.h>
#include <stdint.h>

#define SL__KMEANS_LANES 32
#define SL__KMEANS_AXES 16
#define SL__KMEANS_CHUNK 128   /* coordinates of a partial sum of products */

struct sl_kmeans;
struct sl__kmeans_work;

struct sl__kmeans_kernels {
	/* score[i][lane] = half[lane] - the inner product of row[i][d] and the panel's centroid, i < count; least[i]: the
	 * least score of row i. The error of a product, relative to |row||centroid|, is at most
	 * (min(d, SL__KMEANS_CHUNK) + d / SL__KMEANS_CHUNK + 2) 2^-24. */
	void (*scores)(uint32_t d, const float *const *row, uint32_t count, const float *panel, const float *half,
		       float *score, float *least);
	/* |x - c|^2 in double precision, summed in the order of passes.h */
	double (*square)(uint32_t d, const float *x, const double *c);
	/* out[i][AXES * groups] = inner products of row i - mean (mean NULL: 0) and the axes [groups][d][AXES], in double
	 * precision; square[i] = |row i - mean|^2. The rows [count][d] are x or, if x is NULL, c. */
	void (*project)(uint32_t d, uint32_t count, const float *x, const double *c, const double *mean,
			const double *axes, uint32_t groups, double *out, double *square);
	/* norm[i] = |row i|; adds the differences of all rows to `first`, and their squares, to sum[d] and square[d]. */
	void (*measure)(uint32_t d, uint32_t count, const float *x, const float *first, double *norm, double *sum,
			double *square);
	/* sum[count] += sign x[count] */
	void (*add)(uint32_t count, double sign, const float *x, double *sum);
	/* block.c: assigns the points of a block to their nearest centroids. forget: resets their bounds first. Returns the
	 * number of points that changed their cluster. */
	uint32_t (*assign)(struct sl_kmeans *m, uint32_t block, bool forget, struct sl__kmeans_work *w);
};

const struct sl__kmeans_kernels *sl__kmeans_kernels(void);

#endif
