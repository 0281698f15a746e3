/* Two waiting lists, small and large, and counts of those that are being read. sl_upload_line_next() decides; nothing
 * waits for what cannot come, since a large upload alone may always start. */
#include "daemon/graphs/upload_line.h"

#include <stdio.h>
#include <string.h>

/* Bytes of memory per byte of a file. An edge in a text has at least ten bytes, and takes up to 40 while the graph is
 * built. A number in a table takes 4, and as much again while the table grows or is projected. Compressed files unpack
 * to two to four times their size. */
#define PLAIN 4
#define COMPRESSED 12

static bool starts_with(const void *head, size_t head_bytes, const char *magic, size_t length)
{
	return head_bytes >= length && !memcmp(head, magic, length);
}

uint64_t sl_upload_memory(uint64_t file_bytes, const void *head, size_t head_bytes)
{
	bool compressed = starts_with(head, head_bytes, "\x1f\x8b", 2) ||          /* gzip */
			  starts_with(head, head_bytes, "\x28\xb5\x2f\xfd", 4) ||  /* zstd */
			  starts_with(head, head_bytes, "PK", 2);                  /* npz */
	uint64_t factor = compressed ? COMPRESSED : PLAIN;
	return file_bytes > UINT64_MAX / factor ? UINT64_MAX : file_bytes * factor;
}

static bool is_large(const struct sl_upload_place *p)
{
	return p->bytes >= SL_UPLOAD_LARGE_BYTES;
}

void sl_upload_line_add(struct sl_upload_line *l, struct sl_upload_place *p, uint64_t bytes, const char *user)
{
	*p = (struct sl_upload_place){.bytes = bytes, .where = SL_UPLOAD_WAITING};
	snprintf(p->user, sizeof p->user, "%s", user);
	sl_list_append(is_large(p) ? &l->large : &l->small, &p->link);
}

static int reading_of(const struct sl_upload_line *l, const char *user)
{
	int count = 0;
	SL_LIST_EACH(const struct sl_upload_place, p, &l->reading, link)
		count += !strcmp(p->user, user);
	return count;
}

/* The first upload of the user with the fewest that are being read. The last place is for another user than those who
 * have the other places. */
static struct sl_upload_place *first_of(const struct sl_upload_line *l, const struct sl_list *waiting)
{
	struct sl_upload_place *first = NULL;
	int fewest = SL_UPLOADS_MAX + 1;
	SL_LIST_EACH(struct sl_upload_place, p, waiting, link) {
		int count = reading_of(l, p->user);
		if (count < fewest && (!p->user[0] || count < SL_UPLOADS_MAX - 1)) {
			first = p;
			fewest = count;
		}
	}
	return first;
}

static bool large_may(const struct sl_upload_line *l, uint64_t budget)
{
	const struct sl_upload_place *p = first_of(l, &l->large);
	if (!p || l->reading_large >= SL_UPLOADS_LARGE)
		return false;
	return !l->reading_large || (l->bytes <= budget && p->bytes <= budget - l->bytes);
}

struct sl_upload_place *sl_upload_line_next(struct sl_upload_line *l, uint64_t budget)
{
	if (l->reading.count >= SL_UPLOADS_MAX)
		return NULL;
	struct sl_upload_place *p = first_of(l, large_may(l, budget) ? &l->large : &l->small);
	if (!p)
		return NULL;
	sl_list_unlink(&p->link);
	p->where = SL_UPLOAD_READING;
	sl_list_append(&l->reading, &p->link);
	if (is_large(p)) {
		l->reading_large++;
		l->bytes += p->bytes;
	}
	return p;
}

void sl_upload_line_leave(struct sl_upload_line *l, struct sl_upload_place *p)
{
	sl_list_unlink(&p->link);
	if (p->where == SL_UPLOAD_READING && is_large(p)) {
		l->reading_large--;
		l->bytes -= p->bytes;
	}
	p->where = SL_UPLOAD_OUTSIDE;
}
