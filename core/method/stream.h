/* stream.h -- saves and loads the arrays of a run. One function of the method passes over all of them, in the order of
 * the state. */
#ifndef SL_METHOD_STREAM_H
#define SL_METHOD_STREAM_H

#include <stdint.h>
#include <string.h>

/* Saves to `to`, loads from `from`, one array after the other; both NULL: only counts bytes. */
struct sl_stream {
	char *to;
	const char *from;
	uint64_t bytes;
};

static inline void sl_stream_pass(struct sl_stream *s, void *data, uint64_t bytes)
{
	if (s->to && bytes)
		memcpy(s->to + s->bytes, data, bytes);
	else if (s->from && bytes)
		memcpy(data, s->from + s->bytes, bytes);
	s->bytes += bytes;
}

#endif
