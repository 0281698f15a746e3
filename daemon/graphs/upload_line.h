/* upload_line.h -- the waiting line of uploads.
 *
 * Reading takes a thread of the pool for minutes when a file is large, and memory in proportion to it. So no more than
 * SL_UPLOADS_MAX are read and stored at the same time, which leaves threads for other work. At most SL_UPLOADS_LARGE of
 * them are large, so that small ones do not wait for large ones. Large ones together stay within a budget of memory,
 * unless one is alone. Each size is served in the order of arrival, and while a large one waits,
 * small ones leave it a place.
 *
 * Pure logic: no clock, no threads, no allocation. */
#ifndef SL_UPLOAD_LINE_H
#define SL_UPLOAD_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/util/list.h"

#define SL_UPLOADS_MAX 3
#define SL_UPLOADS_LARGE 2
#define SL_UPLOAD_LARGE_BYTES (256ull << 20)  /* of memory, from which on one is large */

/* One upload's place; embed it. The fields are the line's. */
struct sl_upload_place {
	struct sl_link link;
	uint64_t bytes;
	enum { SL_UPLOAD_OUTSIDE, SL_UPLOAD_WAITING, SL_UPLOAD_READING } where;
};

struct sl_upload_line {
	struct sl_list small, large;  /* struct sl_upload_place: those that wait */
	int reading, reading_large;
	uint64_t bytes;               /* of the large ones that are read */
};

static inline int sl_upload_line_waiting(const struct sl_upload_line *l)
{
	return (int)(l->small.count + l->large.count);
}

/* What reading a file of so many bytes takes; head: its first bytes. */
uint64_t sl_upload_memory(uint64_t file_bytes, const void *head, size_t head_bytes);

void sl_upload_line_add(struct sl_upload_line *l, struct sl_upload_place *p, uint64_t bytes);
/* The next one that may be read, which has left the line and counts as being read; NULL: none. */
struct sl_upload_place *sl_upload_line_next(struct sl_upload_line *l, uint64_t budget);
/* It has been read, or does not wait any more. */
void sl_upload_line_leave(struct sl_upload_line *l, struct sl_upload_place *p);

#endif
