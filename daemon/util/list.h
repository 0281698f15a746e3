/* list.h -- the doubly linked list of the daemon.
 *
 * A link is a member of the item, so nothing is allocated. Zeroed memory is an empty list, or a
 * link that is in no list. A link knows its list: sl_list_unlink() needs no search, and does nothing
 * to a link that is in no list. A list must not move while it has items. No locks.
 *
 *   struct job { struct sl_link link; };
 *   struct sl_list jobs;
 *   sl_list_append(&jobs, &job->link);
 *   SL_LIST_EACH(struct job, job, &jobs, link)     // job may be unlinked and freed in the body
 *           ...; */
#ifndef SL_LIST_H
#define SL_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct sl_list {
	struct sl_link *first, *last;
	size_t count;
};

struct sl_link {
	struct sl_link *previous, *next;
	struct sl_list *in;  /* NULL: in no list */
};

/* Puts `link`, which must be in no list, before `at`, which must be in `list`; at NULL: at the end. */
static inline void sl_list_insert(struct sl_list *list, struct sl_link *at, struct sl_link *link)
{
	link->in = list;
	link->next = at;
	link->previous = at ? at->previous : list->last;
	*(link->previous ? &link->previous->next : &list->first) = link;
	*(at ? &at->previous : &list->last) = link;
	list->count++;
}

static inline void sl_list_append(struct sl_list *list, struct sl_link *link)
{
	sl_list_insert(list, NULL, link);
}

static inline void sl_list_prepend(struct sl_list *list, struct sl_link *link)
{
	sl_list_insert(list, list->first, link);
}

static inline void sl_list_unlink(struct sl_link *link)
{
	struct sl_list *list = link->in;
	if (!list)
		return;
	*(link->previous ? &link->previous->next : &list->first) = link->next;
	*(link->next ? &link->next->previous : &list->last) = link->previous;
	list->count--;
	link->previous = link->next = NULL;
	link->in = NULL;
}

/* Appends all items of one list to another, in their order. */
static inline void sl_list_move(struct sl_list *to, struct sl_list *from)
{
	for (struct sl_link *link; (link = from->first);) {
		sl_list_unlink(link);
		sl_list_append(to, link);
	}
}

static inline void *sl__list_item(struct sl_link *link, size_t offset)
{
	return link ? (char *)link - offset : NULL;
}

/* The item of a link, the first and last items of a list, those after and before an item; NULL: none. */
#define SL_LIST_ITEM(type, link, member) ((type *)sl__list_item(link, offsetof(type, member)))
#define SL_LIST_FIRST(type, list, member) SL_LIST_ITEM(type, (list)->first, member)
#define SL_LIST_LAST(type, list, member) SL_LIST_ITEM(type, (list)->last, member)
#define SL_LIST_NEXT(type, item, member) SL_LIST_ITEM(type, (item)->member.next, member)

#define SL_LIST_PREVIOUS(type, item, member) SL_LIST_ITEM(type, (item)->member.previous, member)

/* The body may unlink and free the item itself, but not the one that follows. */
#define SL_LIST_EACH(type, item, list, member) \
	for (type *item = SL_LIST_FIRST(type, list, member), *item##_next; \
	     item && (item##_next = SL_LIST_NEXT(type, item, member), true); item = item##_next)
/* From the last item to the first. */
#define SL_LIST_EACH_BACK(type, item, list, member) \
	for (type *item = SL_LIST_LAST(type, list, member), *item##_next; \
	     item && (item##_next = SL_LIST_PREVIOUS(type, item, member), true); item = item##_next)
/* The first item that meets the condition, or NULL: SL_LIST_FIND(struct job, job, &jobs, link, job->key == key). */
#define SL_LIST_FIND(type, item, list, member, condition) \
	({ \
		type *item = SL_LIST_FIRST(type, list, member); \
		while (item && !(condition)) \
			item = SL_LIST_NEXT(type, item, member); \
		item; \
	})

/* A hash of at most `length` characters of text, for hash tables made of an array of lists. */
static inline unsigned sl_list_hash(const char *text, size_t length)
{
	unsigned hash = 5381;
	for (size_t i = 0; i < length && text[i]; i++)
		hash = hash * 33 + (unsigned char)text[i];
	return hash;
}

#endif
