/* center.h -- where the values of a column lie, and how far they spread. Internal to core/. */
#ifndef SL_POINTS_CENTER_H
#define SL_POINTS_CENTER_H

#include <stdint.h>

#define SL__SPREAD_SAMPLE 1024   /* evenly spaced rows suffice */

/* The distance of the quartiles of x[n], whose values are finite; if it is 0, the mean distance from the median. Sets
 * *median. Disorders x. n = 0: 0. */
double sl__spread(double *x, uint64_t n, double *median);

struct sl_points;
/* The number of coordinate k in the user's file, from 1, as far as p->taken knows; *title: its title, or "". */
uint32_t sl__coordinate_column(const struct sl_points *p, uint32_t k, const char **title);

#endif
