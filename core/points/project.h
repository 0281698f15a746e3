/* project.h -- common parts of finding principal axes and projecting on them. Internal to core/points/. */
#ifndef SL_POINTS_PROJECT_H
#define SL_POINTS_PROJECT_H

#include "core/points/points.h"

/* y[c] += x * v[c] */
void sl__add_scaled(double *restrict y, double x, const double *restrict v, uint32_t c);
/* Row i less mean [d], into x[d]; row: room for d floats. */
void sl__points_centred(const struct sl_points *p, const double *mean, uint32_t i, float *row, double *x);
/* New points with the names and labels of p, whose columns pca has. passes: of p, or NULL. 0, SL_NOMEM, or what passes
 * returned, with err. */
int sl__points_project(struct sl_points **out, const struct sl_pca *pca, const struct sl_points *p,
		       const struct sl_points_passes *passes, struct sl_error *err);
/* The `count` largest eigenvalues of symmetric m[n][n], descending, and eigenvectors, vector[count][n]; destroys
 * m. Uses OpenMP; the result does not depend on the number of threads. 0, SL_NOMEM or SL_INTERNAL (eigen.c). */
int sl__largest_eigen(double *m, int n, int count, double *value, double *vector);

#endif
