/* tile.h -- the inner loops of Sammon's mapping. tile.c is compiled once for each instruction set;
 * sl__sammon_kernels() selects the best that the processor has. Internal to core/sammon/.
 *
 * A tile holds the pairs of two blocks of `side` points each; side is a multiple of SL__SAMMON_LANES. */
#ifndef SL_SAMMON_TILE_H
#define SL_SAMMON_TILE_H

#include <stdbool.h>
#include <stdint.h>

#define SL__SAMMON_LANES 32
#define SL__SAMMON_MOST 256   /* points of a block */
#define SL__SAMMON_CHUNK 128  /* coordinates whose products are added up before the sum is added to the others */

/* A block of points: pointers to its first elements. */
struct sl__sammon_block {
	const float *panel;    /* [side / LANES][d][LANES] coordinates in the input, centred; 0 beyond the last point */
	const float *norm;     /* [side] squared lengths of the points */
	const float *mass;     /* [side] number of equal input points that each point represents; 0 beyond the last one */
	const float *y[3];     /* [dims][side] coordinates in the layout */
};

/* The sums of a block's points, to which a tile adds its terms; [side] each. */
struct sl__sammon_sums {
	double *force[3];      /* sum over j of w (1 - D / d) (y_i - y_j): half the gradient */
	double *curve[3];      /* sum of w (1 - D / d + D (y_i - y_j)^2 / d^3): half its derivative; may be NULL */
};

struct sl__sammon_kernels {
	/* distance [side][side] = |a_i - b_j|, in the input. differences: computed from differences; otherwise from inner
	 * products, except where these cancel. */
	void (*distances)(uint32_t side, uint32_t d, bool differences, const struct sl__sammon_block *a,
			  const struct sl__sammon_block *b, float *distance);
	/* Adds each point's sum of w = m_i m_j / D or m_i m_j to weight_a and weight_b [side], which may be NULL; returns
	 * the sum of w D^2. */
	double (*weights)(uint32_t side, bool metric, const struct sl__sammon_block *a, const struct sl__sammon_block *b,
			  const float *distance, double *weight_a, double *weight_b);
	/* Adds to the sums of both blocks (b NULL: only to those of a); returns the sum of w (D - d)^2. */
	double (*pairs)(uint32_t side, int dims, bool metric, const struct sl__sammon_block *a,
			const struct sl__sammon_block *b, const float *distance, const struct sl__sammon_sums *sum_a,
			const struct sl__sammon_sums *sum_b);
};

const struct sl__sammon_kernels *sl__sammon_kernels(void);

#endif
