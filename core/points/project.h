/* project.h -- what finding principal axes and projecting on them share. Internal to core/points/. */
#ifndef SL_POINTS_PROJECT_H
#define SL_POINTS_PROJECT_H

#include "core/points/points.h"

/* y[c] += x * v[c] */
void sl__add_scaled(double *restrict y, double x, const double *restrict v, uint32_t c);
/* Row i less mean [d], into x[d]; row: room for d floats. */
void sl__points_centred(const struct sl_points *p, const double *mean, uint32_t i, float *row, double *x);
/* New points with the names and labels of p, whose columns pca has. 0 or SL_NOMEM. */
int sl__points_project(struct sl_points **out, const struct sl_pca *pca, const struct sl_points *p);

#endif
