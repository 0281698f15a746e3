/* What every measure needs of a layout: 1 to 3 dimensions, and coordinates that are finite. */
#include <math.h>

#include "core/measure/quality_internal.h"

int sl__quality_check(uint32_t n, const uint32_t *user, int dims, const float *y, struct sl_error *err)
{
	if (dims < 1 || dims > 3)
		return sl_error_field(err, SL_BADPARAM, "/dims", "dims must be 1, 2 or 3, not %d.", dims);
	for (uint64_t i = 0; i < (uint64_t)n * (uint64_t)dims; i++)
		if (!isfinite(y[i])) {
			uint64_t node = i / (uint64_t)dims;
			return sl_error_set(err, SL_BADPARAM,
					    "Coordinate %d of node %u is not finite, so the quality of the layout "
					    "cannot be measured.",
					    (int)(i % (uint64_t)dims), user ? user[node] : (uint32_t)node);
		}
	return 0;
}
