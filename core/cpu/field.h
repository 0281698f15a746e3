/* field.h -- the potential of fixed points, phi(y) = sum_j (1 + |y - y_j|^2)^-nu, and its gradient, at any position y.
 * For up to a thousand points each call sums over the points; for others, the potential is computed once on a grid
 * (core/grid/grid.h, accuracy fine). With nu = 1 that is a smooth grid in wide layouts, and calls sum over the points
 * within a cut-off. With another nu calls sum over all points of layouts that are too wide for a grid. A field is
 * immutable; any number of threads may read it. */
#ifndef SL_FIELD_H
#define SL_FIELD_H

#include <stdint.h>

#include "core/error.h"

#ifdef __cplusplus
extern "C" {
#endif

struct sl_field;

/* y [n * dims], finite; the field keeps a copy if it needs one. Uses OpenMP; the result does not depend on the number
 * of threads. */
int sl_field_create(struct sl_field **out, uint32_t n, int dims, double nu, const float *y, struct sl_error *err);
void sl_field_destroy(struct sl_field *f);  /* NULL is fine */

/* Returns phi at `at`; push[dims] = -grad phi / (2 nu) = sum_j (at - y_j) (1 + |at - y_j|^2)^-(nu + 1). A position far
 * outside the bounding box of the points is replaced by the nearest position just outside it. */
double sl_field_at(const struct sl_field *f, const double *at, double *push);

#ifdef __cplusplus
}
#endif
#endif
