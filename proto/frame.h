/* frame.h -- one picture of a running layout, as it travels: 64 bytes of header, then
 * the payload. All little-endian. frame.md says the same for readers in other languages.
 *
 * The header starts with the job's id, so that a ZeroMQ subscription to "01J9..."
 * (or to nothing: all jobs) selects by prefix; the same bytes go over HTTP. */
#ifndef SL_FRAME_H
#define SL_FRAME_H

#include <stdint.h>

#define SL_FRAME_VERSION 1
#define SL_FRAME_HEADER_BYTES 64

enum sl_frame_type {
	SL_FRAME_U16 = 0,  /* [n][dims] uint16: y_k = low + extent * v / 65535, extent the longest side of the box */
	SL_FRAME_F32 = 1,  /* [n][dims] float32 */
};

enum sl_frame_flags {
	SL_FRAME_FINAL = 1,    /* the last of this job */
};

struct sl_frame_header {
	char job[26];          /*  0: ULID of the job, ASCII, no terminator */
	uint8_t version;       /* 26: SL_FRAME_VERSION */
	uint8_t dims;          /* 27: 1, 2, 3 */
	uint8_t type;          /* 28: enum sl_frame_type */
	uint8_t flags;         /* 29: enum sl_frame_flags, or-ed */
	uint16_t stride;       /* 30: point k of the payload is node k * stride; 1: all nodes */
	uint32_t n;            /* 32: points in the payload */
	uint32_t sequence;     /* 36: counts up from 1 within a job */
	uint32_t iteration;    /* 40: iterations done */
	float kl;              /* 44: newest KL divergence, NaN when not known yet */
	float low[3];          /* 48: lower corner of the bounding box of all nodes; 0 beyond dims */
	float extent;          /* 60: its longest side, > 0 */
};

_Static_assert(sizeof(struct sl_frame_header) == SL_FRAME_HEADER_BYTES, "the header has no padding");

#endif
