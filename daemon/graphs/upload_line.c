/* Two waiting lists, small and large, and the users' flows. sl_upload_line_next() decides; nothing waits
 * for what cannot come, since a large upload alone may always start. */
#include "daemon/graphs/upload_line.h"

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

/* The flow of a user who has no upload that may be read is not ready. */
static void may(struct sl_upload_user *u)
{
	sl_fair_set_ready(&u->flow, u->waiting && (!u->known || u->reading < SL_UPLOADS_MAX - 1), false);
}

static struct sl_upload_user *user_of(struct sl_upload_line *l, const char *user)
{
	struct sl_upload_user *u = user[0] ? (void *)sl_fair_named(&l->users, user, sizeof *u) : NULL;
	if (u) {
		u->known = true;
		return u;
	}
	if (!l->others.flow.parent)
		sl_fair_join(&l->users, &l->others.flow, 1);
	return &l->others;
}

void sl_upload_line_add(struct sl_upload_line *l, struct sl_upload_place *p, uint64_t bytes, const char *user)
{
	*p = (struct sl_upload_place){.bytes = bytes, .where = SL_UPLOAD_WAITING, .user = user_of(l, user)};
	sl_list_append(is_large(p) ? &l->large : &l->small, &p->link);
	p->user->waiting++;
	may(p->user);
}

static struct sl_upload_place *first_of(const struct sl_list *waiting)
{
	struct sl_upload_place *first = NULL;
	SL_LIST_EACH(struct sl_upload_place, p, waiting, link)
		if (p->user->flow.ready && (!first || sl_fair_before(&p->user->flow, &first->user->flow)))
			first = p;
	return first;
}

static bool large_may(const struct sl_upload_line *l, uint64_t budget)
{
	const struct sl_upload_place *p = first_of(&l->large);
	if (!p || l->reading_large >= SL_UPLOADS_LARGE)
		return false;
	return !l->reading_large || (l->bytes <= budget && p->bytes <= budget - l->bytes);
}

struct sl_upload_place *sl_upload_line_next(struct sl_upload_line *l, uint64_t budget)
{
	if (l->reading.count >= SL_UPLOADS_MAX)
		return NULL;
	struct sl_upload_place *p = first_of(large_may(l, budget) ? &l->large : &l->small);
	if (!p)
		return NULL;
	sl_list_unlink(&p->link);
	p->where = SL_UPLOAD_READING;
	sl_list_append(&l->reading, &p->link);
	sl_fair_charge(&p->user->flow, 1);
	p->user->waiting--;
	p->user->reading++;
	may(p->user);
	if (is_large(p)) {
		l->reading_large++;
		l->bytes += p->bytes;
	}
	return p;
}

void sl_upload_line_leave(struct sl_upload_line *l, struct sl_upload_place *p)
{
	if (p->where == SL_UPLOAD_OUTSIDE)
		return;
	sl_list_unlink(&p->link);
	if (p->where == SL_UPLOAD_WAITING) {
		p->user->waiting--;
	} else {
		p->user->reading--;
		l->reading_large -= is_large(p);
		l->bytes -= is_large(p) ? p->bytes : 0;
	}
	p->where = SL_UPLOAD_OUTSIDE;
	may(p->user);
	sl_fair_release(&p->user->flow);
	sl_fair_forget(&l->users);
}

void sl_upload_line_finish(struct sl_upload_line *l)
{
	sl_fair_finish(&l->users);
}
