/* buffer.h -- bytes with a reference count, so that one frame or reply serves many readers.
 *
 * Any thread may take and drop references. The bytes are immutable once the buffer is shared. */
#ifndef SL_BUFFER_H
#define SL_BUFFER_H

#include <stdatomic.h>
#include <stddef.h>

struct sl_buffer {
	atomic_int references;
	size_t bytes;
	unsigned char data[];
};

/* With one reference; NULL when out of memory. */
struct sl_buffer *sl_buffer_create(size_t bytes);
struct sl_buffer *sl_buffer_ref(struct sl_buffer *b);
void sl_buffer_unref(struct sl_buffer *b);  /* NULL is fine */

#endif
