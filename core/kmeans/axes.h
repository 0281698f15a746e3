/* axes.h -- a few principal axes, which give cheap lower bounds of distances to centroids.
 *
 * The outline y of a point or centroid x consists of the coordinates of x - mean along orthonormal axes and the length
 * of the remainder. Then |y - y'| <= |x - x'| for any axes, and the two are nearly equal if the axes hold most of the
 * variance. The axes are computed from a sample of rows.
 *
 * y has errors: the axes are not exactly orthonormal, sums are rounded, the length is the root of a difference, and y
 * of points is stored in single precision. The error of y is at most fuzz |y|. */
#ifndef SL_KMEANS_AXES_H
#define SL_KMEANS_AXES_H

#include <stdbool.h>
#include <stdint.h>

#include "core/kmeans/tile.h"

struct sl__kmeans_axes {
	uint32_t d;
	uint32_t columns;      /* of y, a multiple of SL__KMEANS_AXES; the last one is the length of the remainder */
	double *mean;          /* [d] */
	double *axis;          /* [columns / AXES][d][AXES]; the last one is zero, and others may be */
	double error;          /* bound of the error of all coordinates along the axes together, relative to |x - mean| */
	double fuzz;
	bool usable;           /* false: the search found no usable axes */

	/* during the search */
	uint32_t rows;         /* of the sample */
	uint32_t round, done;  /* half rounds of the search; rows of the present product that are computed */
	float *sample, *transposed;  /* [rows][d] the sample minus the mean; [d][rows] */
	double *product;       /* [rows][columns] or [d][columns] */
	double *factor;        /* [columns / AXES][rows][AXES] */
};

/* rows: of the sample. NULL: no memory. */
struct sl__kmeans_axes *sl__kmeans_axes_create(uint32_t d, uint32_t columns, uint32_t rows);
/* NULL is fine. */
void sl__kmeans_axes_destroy(struct sl__kmeans_axes *a);
/* Continues the search for some milliseconds, on a sample of x [n][d]. True: the search has ended. */
bool sl__kmeans_axes_search(struct sl__kmeans_axes *a, const struct sl__kmeans_kernels *kernels, const float *x,
			    uint32_t n);
/* Computes y [count][columns] of the rows x or, if x is NULL, of c. */
void sl__kmeans_axes_apply(const struct sl__kmeans_axes *a, const struct sl__kmeans_kernels *kernels, const float *x,
			   const double *c, uint32_t count, double *y);

#endif
