/* examine.h -- properties of a table of points that are reported to its owner. Internal to core/. */
#ifndef SL_POINTS_EXAMINE_H
#define SL_POINTS_EXAMINE_H

#include "core/points/points.h"

/* Fills report.duplicates, zero_rows and constant_columns of p; the reader fills not_finite. One pass over the values
 * with all threads; needs 12 bytes a row meanwhile. Returns 0 or SL_NOMEM. */
int sl__points_examine(struct sl_points *p);

#endif
