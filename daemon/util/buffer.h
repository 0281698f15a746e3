/* buffer.h -- bytes with a reference count, so that one frame or reply serves many readers.
 *
 * Any thread may take and drop references. The bytes are immutable once the buffer is shared. */
#ifndef SL_BUFFER_H
#define SL_BUFFER_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"

struct sl_buffer {
	atomic_int references;
	size_t bytes;
	size_t booked;         /* bytes reserved of the common limit; 0: none */
	unsigned char data[];
};

/* With one reference; NULL when out of memory. */
struct sl_buffer *sl_buffer_create(size_t bytes);
/* Like sl_buffer_create(), for long replies: reserves the bytes of a common limit first. The limit keeps clients that
 * request much data, or read slowly, from exhausting the host's memory. SL_TOOBIG: more than the limit;
 * SL_NOMEM: other buffers hold too much of it now. */
int sl_buffer_book(struct sl_buffer **out, size_t bytes, struct sl_error *err);
/* Copies `bytes`, which is malloc'd, into a buffer with a reservation, and frees it. */
int sl_buffer_of(struct sl_buffer **out, void *bytes, size_t size, struct sl_error *err);
/* Shortens a buffer that has a single reference to `bytes`, and returns the memory and the reservation beyond them.
 * *b may move. */
void sl_buffer_shrink(struct sl_buffer **b, size_t bytes);
/* The most bytes that one buffer may have, if there are no others. */
uint64_t sl_buffer_most(void);
/* The common limit. 0, the default: a quarter of the host's memory. */
void sl_buffer_limit(uint64_t bytes);
struct sl_buffer *sl_buffer_ref(struct sl_buffer *b);
void sl_buffer_unref(struct sl_buffer *b);  /* NULL is fine */

#endif
