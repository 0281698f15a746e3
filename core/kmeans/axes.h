/* axes.h -- a few principal axes, by which most centroids are seen to be too far away.
 *
 * y of a point or a centroid x: its coordinates along orthonormal axes, after subtraction of a mean, and the length of
 * what these leave over. Then |y - y'| <= |x - x'|, whatever the axes are; where the axes hold most of the variance
 * there is little difference. The rows of a sample give the axes.
 *
 * y comes out a little wrong. The axes are not orthonormal to the last bit, sums are rounded, the length is a root of a
 * difference, and y of points is stored in single precision. `fuzz` bounds that: y is off by at most fuzz |y|. */
#ifndef SL_KMEANS_AXES_H
#define SL_KMEANS_AXES_H

#include <stdbool.h>
#include <stdint.h>

#include "core/kmeans/tile.h"

struct sl__kmeans_axes {
	uint32_t d;
	uint32_t columns;      /* of y; the last one is the length of the rest. A multiple of SL__KMEANS_AXES */
	double *mean;          /* [d] */
	double *axis;          /* [columns / AXES][d][AXES]; the last one is zero, and others may be */
	double error;          /* coordinates along the axes are off by at most this times the length, together */
	double fuzz;
	bool usable;           /* false: the rows have no such axes */

	/* while they are searched */
	uint32_t rows;         /* of the sample */
	uint32_t round, done;  /* of the search, half rounds; rows of the product that are done */
	float *sample, *turned;  /* [rows][d] less mean, and its transpose */
	double *product;       /* [rows][columns] or [d][columns] */
	double *factor;        /* [columns / AXES][rows][AXES] */
};

/* columns, and rows of the sample. NULL: no memory. */
struct sl__kmeans_axes *sl__kmeans_axes_create(uint32_t d, uint32_t columns, uint32_t rows);
/* NULL is fine. */
void sl__kmeans_axes_destroy(struct sl__kmeans_axes *a);
/* Goes on with the search for some milliseconds, by a sample of x [n][d]. True: it is over. */
bool sl__kmeans_axes_search(struct sl__kmeans_axes *a, const struct sl__kmeans_kernels *kernels, const float *x,
			    uint32_t n);
/* y[count][columns] of rows x, or c where x is NULL. */
void sl__kmeans_axes_apply(const struct sl__kmeans_axes *a, const struct sl__kmeans_kernels *kernels, const float *x,
			   const double *c, uint32_t count, double *y);

#endif
