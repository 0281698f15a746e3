/* layout.h -- a layout in host memory, with float or quantised coordinates and a reference count.
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
	double measure;  /* the method's, at the newest trace point; NaN: none */
	bool values;     /* true: y is no layout, but holds dims values at each node, at model_time */
	double model_time;
	uint64_t time_us;  /* when it was made: microseconds since 1970 */
	float *y;        /* [n * dims], the user's order; free()d with the layout; NULL: quantised */
	uint16_t *quantised;   /* or this, as in proto/frame.h, of the box: */
	float low[3], extent;
};

/* Takes y (malloc'd), also on failure. NULL: out of memory. */
struct sl_layout *sl_layout_create_take(float *y, uint32_t n, int dims, int iteration, double measure);
/* The same for values at the nodes. */
struct sl_layout *sl_layout_create_values(float *y, uint32_t n, int columns, int iteration, double level,
					  double model_time);
/* The same for quantised coordinates, which serve only frames of type U16. */
struct sl_layout *sl_layout_create_quantised(uint16_t *v, uint32_t n, int dims, int iteration, double measure,
					     const float low[3], float extent);
struct sl_layout *sl_layout_ref(struct sl_layout *l);
void sl_layout_unref(struct sl_layout *l);  /* NULL is fine */

/* The bounding box of all nodes, without NaN and infinite coordinates. low[k] = 0 for k >= dims; extent, the longest
 * side, is 1 if all nodes coincide. */
void sl_layout_box(const struct sl_layout *l, float low[3], float *extent);

#endif
