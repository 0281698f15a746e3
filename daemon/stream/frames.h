/* frames.h -- encodes layouts as frames, the format in which clients watch them.
 *
 * A snapshot comes from the device thread as a struct sl_layout. Encoding turns it into a struct sl_buffer that holds
 * one frame as proto/frame.h describes it. The same buffer serves all readers of that form, over HTTP and ZeroMQ. Any
 * thread. */
#ifndef SL_FRAMES_H
#define SL_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"
#include "daemon/device/layout.h"
#include "daemon/util/buffer.h"
#include "proto/frame.h"

/* The form of frames that a reader requests. */
struct sl_frame_form {
	int type;             /* SL_FRAME_U16 or _F32, also of values */
	uint32_t max_points;  /* 0: all */
};

static inline bool sl_frame_form_equal(struct sl_frame_form a, struct sl_frame_form b)
{
	return a.type == b.type && a.max_points == b.max_points;
}

/* Sampling stride: a frame of at most max_points (0: all) holds every stride-th node. */
uint32_t sl_frame_stride(uint32_t n, uint32_t max_points);
size_t sl_frame_bytes(uint32_t n, int dims, struct sl_frame_form form);

/* True if frames of this form can be made of l: quantised coordinates make no float ones. */
static inline bool sl_layout_serves(const struct sl_layout *l, struct sl_frame_form form)
{
	return l->y || form.type == SL_FRAME_U16;
}

/* job: the ULID, 26 characters. end: enum sl_frame_end; a frame with an end is final.
 * low and extent are those of sl_layout_box(). NULL: out of memory. */
struct sl_buffer *sl_frame_encode(const struct sl_layout *l, struct sl_frame_form form, const char *job,
				  uint32_t sequence, int end, const float low[3], float extent);

/* Encodes the end of a job that has no result: the same header, no payload. */
struct sl_buffer *sl_frame_encode_end(const char *job, uint32_t nodes, int dims, uint32_t sequence, int iteration,
				      double measure, int end);

static inline const struct sl_frame_header *sl_frame_header_of(const struct sl_buffer *b)
{
	return (const struct sl_frame_header *)(const void *)b->data;
}

#endif
