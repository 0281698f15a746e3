/* upload_line.h -- the waiting line of uploads.
 *
 * Reading a large file occupies a thread of the pool for minutes, and memory in proportion to its size. So at most
 * SL_UPLOADS_MAX uploads are read and stored at the same time, which leaves threads for other work. At most
 * SL_UPLOADS_LARGE of them are large, so that small uploads do not wait for large ones. The large uploads together
 * stay within a budget of memory, unless there is only one. While a large one waits, small ones leave a place free for
 * it. Users get the same number of uploads read (util/fair.h), each in the order of arrival: a user who sends a
 * hundred does not keep others waiting for all of them. One user has at most SL_UPLOADS_MAX - 1 places, so that
 * another's next upload need not wait for any of them.
 *
 * Pure logic: no clock, no threads, no allocation except one small record for each user. */
#ifndef SL_UPLOAD_LINE_H
#define SL_UPLOAD_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/util/fair.h"
#include "daemon/util/list.h"

#define SL_UPLOADS_MAX 3
#define SL_UPLOADS_LARGE 2
#define SL_UPLOAD_LARGE_BYTES (256ull << 20)  /* of memory, from which on one is large */

/* One upload in the line; embed it. The fields belong to the line. */
struct sl_upload_place {
	struct sl_link link;
	struct sl_upload_user *user;
	uint64_t bytes;
	enum { SL_UPLOAD_OUTSIDE, SL_UPLOAD_WAITING, SL_UPLOAD_READING } where;
};

/* A user who has uploads in the line. */
struct sl_upload_user {
	struct sl_fair flow;          /* in sl_upload_line.users */
	bool known;                   /* false: uploads of no particular user */
	int waiting, reading;
};

struct sl_upload_line {
	struct sl_fair users;         /* struct sl_upload_user */
	struct sl_upload_user others; /* uploads of no particular user, and, without memory, of more users */
	struct sl_list small, large;  /* struct sl_upload_place: uploads that wait */
	struct sl_list reading;       /* those that are read */
	int reading_large;            /* number of large ones among them */
	uint64_t bytes;               /* memory of the large uploads that are read */
};

static inline int sl_upload_line_waiting(const struct sl_upload_line *l)
{
	return (int)(l->small.count + l->large.count);
}

/* An estimate of the memory for reading a file of so many bytes; head: its first bytes. */
uint64_t sl_upload_memory(uint64_t file_bytes, const void *head, size_t head_bytes);

void sl_upload_line_add(struct sl_upload_line *l, struct sl_upload_place *p, uint64_t bytes, const char *user);
/* Removes the next upload that may be read from the line, and counts it as being read; NULL: none. */
struct sl_upload_place *sl_upload_line_next(struct sl_upload_line *l, uint64_t budget);
/* The upload has been read, or no longer waits. */
void sl_upload_line_leave(struct sl_upload_line *l, struct sl_upload_place *p);
void sl_upload_line_finish(struct sl_upload_line *l);  /* when no upload is left */

#endif
