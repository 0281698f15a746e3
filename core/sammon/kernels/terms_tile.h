/* terms_tile.h -- the inner loops of sweeps over the terms of a graph (terms.h). terms_tile.c is compiled once for each
 * instruction set; sl__terms_kernels() selects the best that the processor has. Internal to core/sammon/. */
#ifndef SL_SAMMON_TERMS_TILE_H
#define SL_SAMMON_TERMS_TILE_H

#include <stdbool.h>
#include <stdint.h>

#define SL__TERMS_BLOCK 256   /* nodes of a block at most */

/* The terms of some nodes of a part with its pivots. */
struct sl__terms_rows {
	uint32_t n, pivots;
	uint32_t stride;            /* from a pivot's row to the next one's: nodes of the part */
	const float *distance, *weight;  /* of the first pivot with the first of the nodes */
};

struct sl__terms_kernels {
	/* Adds to force[dims][n] the sum over the pivots of w (1 - D / d) (y_i - y_p), and to curve (may be NULL) that of
	 * w (1 - D / d + D (y_i - y_p)^2 / d^3); returns the sum of w (D - d)^2. */
	double (*forces)(const struct sl__terms_rows *r, int dims, const double *const y[], const double *const pivot[],
			 double *const force[], double *const *curve);
	/* Adds to out[columns][n] the sum over the pivots of c in_p, with c = w or, if `squares`, c = D^2; share
	 * [pivots][columns] (may be NULL) becomes, for each pivot, the sum of c in_i over the nodes. */
	void (*multiply)(const struct sl__terms_rows *r, int columns, bool squares, const double *const in[],
			 const double *const pivot[], double *const out[], double *share);
};

const struct sl__terms_kernels *sl__terms_kernels(void);

#endif
