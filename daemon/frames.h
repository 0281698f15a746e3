/* frames.h -- layouts as they leave the daemon: shared buffers, boxes, quantised frames.
 *
 * A snapshot comes from the device thread as a struct sl_layout. Encoding turns it into
 * a struct sl_buffer that holds one frame as proto/frame.h has it. The same buffer then
 * serves every reader that asked for that form, over HTTP and ZeroMQ alike; both kinds
 * of object are counted references that any thread may take and drop, and are
 * immutable once made. Everything here may run on any thread. */
#ifndef SL_FRAMES_H
#define SL_FRAMES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"
#include "proto/frame.h"

/* ---- counted buffers ---------------------------------------------------- */

struct sl_buffer {
	atomic_int references;
	size_t bytes;
	unsigned char data[];
};

/* With one reference; NULL when out of memory. */
struct sl_buffer *sl_buffer_create(size_t bytes);
struct sl_buffer *sl_buffer_ref(struct sl_buffer *b);
void sl_buffer_unref(struct sl_buffer *b);  /* NULL is fine */

/* ---- layouts ------------------------------------------------------------ */

struct sl_layout {
	atomic_int references;
	uint32_t n;
	int dims;
	int iteration;   /* iterations done */
	double kl;       /* newest known, NaN: none */
	float *y;        /* [n * dims], the user's order; free()d with the layout; NULL: quantised */
	uint16_t *quantised;   /* or this, as in proto/frame.h, of the box: */
	float low[3], extent;
};

/* Takes y (malloc'd), also on failure. NULL when out of memory. */
struct sl_layout *sl_layout_create_take(float *y, uint32_t n, int dims, int iteration, double kl);
/* The same of coordinates that are quantised already: frames of type U16 only. */
struct sl_layout *sl_layout_create_quantised(uint16_t *v, uint32_t n, int dims, int iteration, double kl,
					     const float low[3], float extent);
struct sl_layout *sl_layout_ref(struct sl_layout *l);
void sl_layout_unref(struct sl_layout *l);  /* NULL is fine */

/* Bounding box of all nodes; NaN and infinite coordinates are passed over. low[k] = 0
 * beyond dims; extent, the longest side, is 1 when all nodes coincide. About 0.3 ns a
 * coordinate. */
void sl_layout_box(const struct sl_layout *l, float low[3], float *extent);

/* ---- frames ------------------------------------------------------------- */

/* What a reader asks for. */
struct sl_frame_form {
	int type;             /* enum sl_frame_type */
	uint32_t max_points;  /* 0: all */
};

static inline bool sl_frame_form_equal(struct sl_frame_form a, struct sl_frame_form b)
{
	return a.type == b.type && a.max_points == b.max_points;
}

/* Every how manieth node is in a frame of at most max_points (0: all). */
uint32_t sl_frame_stride(uint32_t n, uint32_t max_points);
size_t sl_frame_bytes(uint32_t n, int dims, struct sl_frame_form form);

/* May frames of this form be made of it? */
static inline bool sl_layout_serves(const struct sl_layout *l, struct sl_frame_form form)
{
	return l->y || form.type == SL_FRAME_U16;
}

/* job: the ULID, 26 characters. low and extent are those of sl_layout_box(). NULL when
 * out of memory. About 1 ns a coordinate. */
struct sl_buffer *sl_frame_encode(const struct sl_layout *l, struct sl_frame_form form, const char *job,
				  uint32_t sequence, int flags, const float low[3], float extent);

static inline const struct sl_frame_header *sl_frame_header_of(const struct sl_buffer *b)
{
	return (const struct sl_frame_header *)(const void *)b->data;
}

#endif
