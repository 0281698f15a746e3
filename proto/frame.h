/* frame.h -- one picture of a running layout, or the values of a running signal, as it travels: a header of
 * header_bytes (80 today), then the payload. All little-endian. frame.md says the same for readers in
 * other languages.
 *
 * A later server may append fields to the header without changing the version: a reader
 * finds the payload by header_bytes, never by sizeof. What changes the meaning of a field
 * below gets a new version, which a reader refuses.
 *
 * The header starts with the job's id, so that a ZeroMQ subscription to "01J9..."
 * (or to nothing: all jobs) selects by prefix; the same bytes go over HTTP. */
#ifndef SL_FRAME_H
#define SL_FRAME_H

#include <stdint.h>

#define SL_FRAME_VERSION 2
#define SL_FRAME_HEADER_BYTES 80

enum sl_frame_type {
	SL_FRAME_U16 = 0,  /* [n][dims] uint16: y_k = low + extent * v / 65535, extent the longest side of the box */
	SL_FRAME_F32 = 1,  /* [n][dims] float32 */
	/* Values at the nodes in place of coordinates: dims of each, from low on; the header is longer by model_time. */
	SL_FRAME_VALUES_U16 = 2,
	SL_FRAME_VALUES_F32 = 3,
};
#define SL_FRAME_VALUES_HEADER_BYTES 88
#define SL_FRAME_MODEL_TIME 80  /* offset of model_time, float64: the time of the model */

enum sl_frame_flags {
	SL_FRAME_FINAL = 1,    /* the last of this job */
};

/* How the job ended; of a final frame only. */
enum sl_frame_end {
	SL_FRAME_NOT_ENDED = 0,
	SL_FRAME_DONE = 1,       /* the payload is the result */
	SL_FRAME_CANCELLED = 2,  /* n is 0: the reader keeps the picture that it has */
	SL_FRAME_FAILED = 3,     /* the same */
};

struct sl_frame_header {
	char job[26];          /*  0: ULID of the job, ASCII, no terminator */
	uint8_t version;       /* 26: SL_FRAME_VERSION */
	uint8_t dims;          /* 27: 1, 2, 3 */
	uint8_t type;          /* 28: enum sl_frame_type */
	uint8_t flags;         /* 29: enum sl_frame_flags, or-ed */
	uint16_t stride;       /* 30: point k of the payload is node k * stride; 1: all nodes */
	uint32_t n;            /* 32: points in the payload, (nodes + stride - 1) / stride; or 0: no payload */
	uint32_t sequence;     /* 36: counts up from 1 within a job */
	uint32_t iteration;    /* 40: iterations done */
	float kl;              /* 44: newest KL divergence (sammon: stress), NaN when not known yet */
	float low[3];          /* 48: lower corner of the bounding box of all nodes; 0 beyond dims */
	float extent;          /* 60: its longest side, > 0 */
	uint32_t nodes;        /* 64: nodes of the graph */
	uint16_t header_bytes; /* 68: where the payload begins */
	uint8_t end;           /* 70: enum sl_frame_end */
	uint8_t reserved;      /* 71: 0 */
	uint64_t time_us;      /* 72: when the layout left the device, microseconds since 1970 by the server's clock */
};

_Static_assert(sizeof(struct sl_frame_header) == SL_FRAME_HEADER_BYTES, "the header has no padding");

#endif
