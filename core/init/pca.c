/* The coordinates along the principal axes (core/points/), scaled later by init.c. */
#include <string.h>

#include "core/init/init.h"

int sl_init_pca(const struct sl_points *p, int dims, float *out, struct sl_error *err)
{
	struct sl_points *axes = NULL;
	uint32_t to = p->d < (uint32_t)dims ? p->d : (uint32_t)dims;
	double kept;
	int code = sl_points_pca(&axes, p, to, &kept, NULL, err);
	if (code)
		return code;
	float *row = axes->value;
	memset(out, 0, sizeof *out * p->n_user * (size_t)dims);
	for (uint32_t i = 0; i < axes->n; i++, row += to)
		memcpy(out + (size_t)(axes->user ? axes->user[i] : i) * (size_t)dims, row, sizeof *row * to);
	sl_points_destroy(axes);
	return 0;
}
