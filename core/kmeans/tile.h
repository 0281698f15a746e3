/* tile.h -- the inner loops of k-means. tile.c is compiled once for each instruction set; sl__kmeans_kernels() selects
 * the best that the processor has. Internal to core/kmeans/.
 *
 * Centroids lie in panels of SL__KMEANS_LANES: panel[k][lane], so that a vector register holds one coordinate of
 * several. */
#ifndef SL_KMEANS_TILE_H
#define SL_KMEANS_TILE_H

#include <stdint.h>

#define SL__KMEANS_LANES 32
#define SL__KMEANS_CHUNK 128   /* coordinates whose products are added up before the sum is added to the others */

struct sl__kmeans_kernels {
	/* out[i][lane] = inner product of row[i][d] and the panel's centroids, i < count. Relative to |row||centroid| it is
	 * off by at most (SL__KMEANS_CHUNK + d / SL__KMEANS_CHUNK + 2) 2^-24. */
	void (*products)(uint32_t d, const float *const *row, uint32_t count, const float *panel, float *out);
	/* |x - c|^2 in double precision, added up in one order */
	double (*square)(uint32_t d, const float *x, const double *c);
};

const struct sl__kmeans_kernels *sl__kmeans_kernels(void);

#endif
