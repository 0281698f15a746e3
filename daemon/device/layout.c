/* References are counted atomically; the last one frees the coordinates. */
#include "daemon/device/layout.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/util/time_text.h"

struct sl_layout *sl_layout_create_take(float *y, uint32_t n, int dims, int iteration, double measure)
{
	struct sl_layout *l = malloc(sizeof *l);
	if (!l) {
		free(y);
		return NULL;
	}
	atomic_init(&l->references, 1);
	l->n = n;
	l->dims = dims;
	l->iteration = iteration;
	l->measure = measure;
	l->time_us = sl_time_now_us();
	l->y = y;
	l->quantised = NULL;
	l->values = false;
	l->model_time = 0;
	return l;
}

struct sl_layout *sl_layout_create_values(float *y, uint32_t n, int columns, int iteration, double level,
					  double model_time)
{
	struct sl_layout *l = sl_layout_create_take(y, n, columns, iteration, level);
	if (l) {
		l->values = true;
		l->model_time = model_time;
	}
	return l;
}

struct sl_layout *sl_layout_create_quantised(uint16_t *v, uint32_t n, int dims, int iteration, double measure,
					     const float low[3], float extent)
{
	struct sl_layout *l = sl_layout_create_take(NULL, n, dims, iteration, measure);
	if (!l) {
		free(v);
		return NULL;
	}
	l->quantised = v;
	memcpy(l->low, low, sizeof l->low);
	l->extent = extent;
	return l;
}

struct sl_layout *sl_layout_ref(struct sl_layout *l)
{
	atomic_fetch_add_explicit(&l->references, 1, memory_order_relaxed);
	return l;
}

void sl_layout_unref(struct sl_layout *l)
{
	if (l && atomic_fetch_sub_explicit(&l->references, 1, memory_order_acq_rel) == 1) {
		free(l->y);
		free(l->quantised);
		free(l);
	}
}

/* Uses ternaries instead of fminf(): compilers vectorise them, and they ignore NaN. */
static inline __attribute__((always_inline)) void box_dims(const float *y, size_t n, int dims, float low[3],
							    float high[3])
{
	for (int k = 0; k < dims; k++) {
		float lo = FLT_MAX, hi = -FLT_MAX;
		for (size_t i = 0; i < n; i++) {
			float v = y[i * (size_t)dims + (size_t)k];
			float small = fabsf(v) <= FLT_MAX ? v : lo, large = fabsf(v) <= FLT_MAX ? v : hi;
			lo = small < lo ? small : lo;
			hi = large > hi ? large : hi;
		}
		low[k] = lo;
		high[k] = hi;
	}
}

void sl_layout_box(const struct sl_layout *l, float low[3], float *extent)
{
	float high[3] = {0, 0, 0};
	low[0] = low[1] = low[2] = 0;
	if (!l->y) {
		memcpy(low, l->low, sizeof l->low);
		*extent = l->extent;
		return;
	}
	if (l->dims == 1)
		box_dims(l->y, l->n, 1, low, high);
	else if (l->dims == 2)
		box_dims(l->y, l->n, 2, low, high);
	else
		box_dims(l->y, l->n, 3, low, high);
	float longest = 0;
	for (int k = 0; k < l->dims; k++) {
		if (low[k] > high[k])  /* there is no finite coordinate */
			low[k] = high[k] = 0;
		float side = high[k] - low[k];
		longest = side > longest ? side : longest;
	}
	*extent = longest > 0 ? fminf(longest, FLT_MAX) : 1;
}
