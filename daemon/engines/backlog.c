/* A list in the order of priority, then of arrival. A job that does not fit may be passed by smaller ones, a limited
 * number of times, so that it gets its turn. */
#include "daemon/engines/backlog.h"

static void insert(struct sl_backlog *b, struct sl_waiting *w)
{
	struct sl_link *behind = NULL;  /* most come in at the end */
	SL_LIST_EACH_BACK(struct sl_waiting, at, &b->waiting, link) {
		if (at->priority > w->priority || (at->priority == w->priority && at->order < w->order))
			break;
		behind = &at->link;
	}
	sl_list_insert(&b->waiting, behind, &w->link);
	b->changes++;
}

void sl_backlog_add(struct sl_backlog *b, struct sl_waiting *w, int priority, uint64_t bytes)
{
	*w = (struct sl_waiting){.priority = priority, .order = b->order++, .bytes = bytes};
	insert(b, w);
}

void sl_backlog_remove(struct sl_backlog *b, struct sl_waiting *w)
{
	if (w->link.in != &b->waiting)
		return;
	sl_list_unlink(&w->link);
	b->changes++;
}

void sl_backlog_set_priority(struct sl_backlog *b, struct sl_waiting *w, int priority)
{
	sl_backlog_remove(b, w);
	w->priority = priority;
	insert(b, w);
}

void sl_backlog_first(struct sl_backlog *b, struct sl_waiting *w)
{
	sl_backlog_remove(b, w);
	sl_list_prepend(&b->waiting, &w->link);
}

struct sl_waiting *sl_backlog_next(const struct sl_backlog *b)
{
	struct sl_waiting *w = sl_backlog_head(b);
	while (w && w->held)
		w = SL_LIST_NEXT(struct sl_waiting, w, link);
	return w;
}

struct sl_waiting *sl_backlog_take(struct sl_backlog *b, uint64_t free_bytes, bool idle)
{
	struct sl_waiting *w = sl_backlog_next(b);
	for (; w && (w->held || (!idle && w->bytes > free_bytes)); w = SL_LIST_NEXT(struct sl_waiting, w, link))
		if (!w->held && w->bypassed >= SL_BYPASS_MAX)
			return NULL;
	if (!w)
		return NULL;
	for (struct sl_waiting *v = sl_backlog_head(b); v != w; v = SL_LIST_NEXT(struct sl_waiting, v, link))
		v->bypassed += !v->held;
	sl_backlog_remove(b, w);
	return w;
}
