#include "daemon/util/buffer.h"

#include <stdlib.h>

struct sl_buffer *sl_buffer_create(size_t bytes)
{
	struct sl_buffer *b = malloc(sizeof *b + bytes);
	if (!b)
		return NULL;
	atomic_init(&b->references, 1);
	b->bytes = bytes;
	return b;
}

struct sl_buffer *sl_buffer_ref(struct sl_buffer *b)
{
	atomic_fetch_add_explicit(&b->references, 1, memory_order_relaxed);
	return b;
}

void sl_buffer_unref(struct sl_buffer *b)
{
	if (b && atomic_fetch_sub_explicit(&b->references, 1, memory_order_acq_rel) == 1)
		free(b);
}
