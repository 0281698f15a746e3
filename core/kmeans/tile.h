/* tile.h -- the inner loops of k-means. tile.c and block.c are compiled once for each instruction set;
 * sl__kmeans_kernels() selects the best that the processor has. Internal to core/kmeans/.
 *
 * Centroids lie in panels of SL__KMEANS_LANES: panel[k][lane], so that a vector register holds one coordinate of
 * several. Axes lie in groups of SL__KMEANS_AXES in the same way. */
#ifndef SL_KMEANS_TILE_H
#define SL_KMEANS_TILE_H

#include <stdbool.h>
#include <stdint.h>

#define SL__KMEANS_LANES 32
#define SL__KMEANS_AXES 16
#define SL__KMEANS_CHUNK 128   /* coordinates whose products are added up before the sum is added to the others */

struct sl_kmeans;
struct sl__kmeans_work;

struct sl__kmeans_kernels {
	/* score[i][lane] = half[lane] less the inner product of row[i][d] and the panel's centroid, i < count; least[i]:
	 * the least of them. Relative to |row||centroid| a product is off by at most (c + d / SL__KMEANS_CHUNK + 2) 2^-24,
	 * where c is d or SL__KMEANS_CHUNK, whichever is less. */
	void (*scores)(uint32_t d, const float *const *row, uint32_t count, const float *panel, const float *half,
		       float *score, float *least);
	/* |x - c|^2 in double precision, added up in one order */
	double (*square)(uint32_t d, const float *x, const double *c);
	/* out[i][AXES * groups] = inner products of row i less mean (NULL: 0) and the axes [groups][d][AXES], in double
	 * precision; square[i]: the squared length of that difference. Rows [count][d] are x, or c where x is NULL. */
	void (*project)(uint32_t d, uint32_t count, const float *x, const double *c, const double *mean,
			const double *axes, uint32_t groups, double *out, double *square);
	/* norm[i] = |row i|; sum[d] and square[d] of the columns' differences to `first`, added to what they are. */
	void (*measure)(uint32_t d, uint32_t count, const float *x, const float *first, double *norm, double *sum,
			double *square);
	/* sum[count] += sign x[count] */
	void (*add)(uint32_t count, double sign, const float *x, double *sum);
	/* block.c: the points of a block to their nearest centroids. forget: their bounds are void. Returns how many have
	 * changed. */
	uint32_t (*assign)(struct sl_kmeans *m, uint32_t block, bool forget, struct sl__kmeans_work *w);
};

const struct sl__kmeans_kernels *sl__kmeans_kernels(void);

#endif
