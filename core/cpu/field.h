/* field.h -- the potential of points that stay where they are, to be read at any place: phi(y) = sum_j (1 + |y -
 * y_j|^2)^-nu and its gradient. Up to a thousand points it is summed; beyond, it is computed once on a grid
 * (core/grid/grid.h, accuracy fine). Immutable once made; any number of threads may read it. */
#ifndef SL_FIELD_H
#define SL_FIELD_H

#include <stdint.h>

#include "core/error.h"

#ifdef __cplusplus
extern "C" {
#endif

struct sl_field;

/* y [n * dims], finite; copied if need be. Uses OpenMP; the result does not depend on their number. */
int sl_field_create(struct sl_field **out, uint32_t n, int dims, double nu, const float *y, struct sl_error *err);
void sl_field_destroy(struct sl_field *f);  /* NULL is fine */

/* phi at `at`; push[dims] = -grad phi / (2 nu) = sum_j (at - y_j) (1 + |at - y_j|^2)^-(nu + 1). Places further than a
 * little outside all points are taken for the nearest that is not. */
double sl_field_at(const struct sl_field *f, const double *at, double *push);

#ifdef __cplusplus
}
#endif
#endif
