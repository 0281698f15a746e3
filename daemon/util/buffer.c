/* Counts are atomic. Buffers of more than SMALL are booked in one total with a limit before they are allocated, and
 * leave it with their last reference. */
#include "daemon/util/buffer.h"

#include <stdlib.h>
#include <string.h>

#include "core/host_memory.h"

#define SMALL (256u << 10)  /* shorter buffers are not counted, since the number of connections is limited */

static _Atomic uint64_t limit, taken;

struct sl_buffer *sl_buffer_create(size_t bytes)
{
	struct sl_buffer *b = malloc(sizeof *b + bytes);
	if (!b)
		return NULL;
	atomic_init(&b->references, 1);
	b->bytes = bytes;
	b->booked = 0;
	return b;
}

void sl_buffer_limit(uint64_t bytes)
{
	atomic_store(&limit, bytes);
}

uint64_t sl_buffer_most(void)
{
	uint64_t most = atomic_load(&limit);
	return most ? most : sl_host_memory() / 4;
}

int sl_buffer_book(struct sl_buffer **out, size_t bytes, struct sl_error *err)
{
	uint64_t booked = bytes > SMALL ? bytes : 0, most = booked ? sl_buffer_most() : 0;
	*out = NULL;
	if (booked > most)
		return sl_error_set(err, SL_TOOBIG, "The reply may take %llu bytes, more than the %llu that all replies "
				    "together may take of the server's memory. NumPy arrays (npy) are shorter than texts.",
				    (unsigned long long)booked, (unsigned long long)most);
	if (booked && atomic_fetch_add(&taken, booked) + booked > most) {
		atomic_fetch_sub(&taken, booked);
		return sl_error_set(err, SL_NOMEM, "Other replies have taken the memory that there is for replies; try again "
				    "when they have been sent.");
	}
	*out = sl_buffer_create(bytes);
	if (*out) {
		(*out)->booked = booked;
		return 0;
	}
	atomic_fetch_sub(&taken, booked);
	return sl_error_memory(err, "a reply of %zu bytes", bytes);
}

int sl_buffer_of(struct sl_buffer **out, void *bytes, size_t size, struct sl_error *err)
{
	int code = sl_buffer_book(out, size, err);
	if (!code)
		memcpy((*out)->data, bytes, size);
	free(bytes);
	return code;
}

void sl_buffer_shrink(struct sl_buffer **b, size_t bytes)
{
	struct sl_buffer *less = realloc(*b, sizeof **b + bytes);
	if (!less)
		return;
	*b = less;
	less->bytes = bytes;
	if (less->booked > bytes) {
		atomic_fetch_sub(&taken, less->booked - bytes);
		less->booked = bytes;
	}
}

struct sl_buffer *sl_buffer_ref(struct sl_buffer *b)
{
	atomic_fetch_add_explicit(&b->references, 1, memory_order_relaxed);
	return b;
}

void sl_buffer_unref(struct sl_buffer *b)
{
	if (!b || atomic_fetch_sub_explicit(&b->references, 1, memory_order_acq_rel) != 1)
		return;
	atomic_fetch_sub(&taken, b->booked);
	free(b);
}
