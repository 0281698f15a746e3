/* layout.h -- a layout that has left the device: coordinates or quantised ones, with a reference count.
 *
 * Any thread may take and drop references. A layout is immutable once made. */
#ifndef SL_DEVICE_LAYOUT_H
#define SL_DEVICE_LAYOUT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct sl_layout {
	atomic_int references;
	uint32_t n;
	int dims;
	int iteration;   /* iterations done */
	double kl;       /* newest known, NaN: none */
	bool values;     /* y has values at the nodes, dims of each, at model_time: no layout */
	double model_time;
	uint64_t time_us;  /* when it was made: microseconds since 1970 */
	float *y;        /* [n * dims], the user's order; free()d with the layout; NULL: quantised */
	uint16_t *quantised;   /* or this, as in proto/frame.h, of the box: */
	float low[3], extent;
};

/* Takes y (malloc'd), also on failure. NULL when out of memory. */
struct sl_layout *sl_layout_create_take(float *y, uint32_t n, int dims, int iteration, double kl);
/* The same of values at the nodes. */
struct sl_layout *sl_layout_create_values(float *y, uint32_t n, int columns, int iteration, double level,
					  double model_time);
/* The same of coordinates that are quantised already: frames of type U16 only. */
struct sl_layout *sl_layout_create_quantised(uint16_t *v, uint32_t n, int dims, int iteration, double kl,
					     const float low[3], float extent);
struct sl_layout *sl_layout_ref(struct sl_layout *l);
void sl_layout_unref(struct sl_layout *l);  /* NULL is fine */

/* Bounding box of all nodes; NaN and infinite coordinates are passed over. low[k] = 0
 * beyond dims; extent, the longest side, is 1 when all nodes coincide. About 0.3 ns a
 * coordinate. */
void sl_layout_box(const struct sl_layout *l, float low[3], float *extent);

#endif
