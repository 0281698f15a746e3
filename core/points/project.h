/* project.h -- common parts of finding principal axes and projecting on them. Internal to core/points/. */
#ifndef SL_POINTS_PROJECT_H
#define SL_POINTS_PROJECT_H

#include <stdbool.h>

#include "core/points/points.h"

/* y[c] += x * v[c] */
void sl__add_scaled(double *restrict y, double x, const double *restrict v, uint32_t c);
/* 0, or SL_BADPARAM with err if a table of d columns cannot have `to` axes. */
int sl__check_axes(uint32_t d, uint32_t to, struct sl_error *err);
/* x[d] = row i - mean[d]; row: scratch for d floats. */
void sl__points_centred(const struct sl_points *p, const double *mean, uint32_t i, float *row, double *x);
/* Makes points projected by pca from p, with its names and labels. passes: an engine's passes over p, or NULL. Returns
 * 0, SL_NOMEM, or the code of `passes` with err. */
int sl__points_project(struct sl_points **out, const struct sl_pca *pca, const struct sl_points *p,
		       const struct sl_points_passes *passes, struct sl_error *err);
/* sl_points_pca() by iterating the first axes, whatever the number of columns: less work, and less exact. */
int sl__points_pca_iterated(struct sl_points **out, const struct sl_points *p, uint32_t to, const int *cancel,
			    struct sl_error *err);
/* The coordinates of p along the axes, out [p->n][pca->to]. 0 or SL_NOMEM. */
int sl__project_values(const struct sl_pca *pca, const struct sl_points *p, float *out);
/* Is a value of p not finite? Then *row is the first row (of the user) that has one. */
bool sl__points_overflow(const struct sl_points *p, uint32_t *row);
/* The `count` largest eigenvalues of symmetric m[n][n], descending, and eigenvectors, vector[count][n]; overwrites m
 * (eigen.c). Uses OpenMP; the result does not depend on the number of threads. 0, SL_NOMEM or SL_INTERNAL. */
int sl__largest_eigen(double *m, int n, int count, double *value, double *vector);

#endif
