/* topics.h -- finds the subscribers of a job: a tree of prefixes of ids.
 *
 * A subscription is a prefix: "" matches all jobs, 26 characters match one. The tree is a
 * radix tree, so finding an id takes at most as many steps as it has characters, whatever the
 * number of subscriptions. A subscriber is an owner, which the caller embeds in its own
 * struct. Each subscription gets an increasing number, its stamp, so that a frame can be sent
 * to later subscribers only.
 *
 * Pure logic: no sockets, no threads, no locks; one thread at a time. */
#ifndef SL_TOPICS_H
#define SL_TOPICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/util/list.h"

#define SL_TOPIC_BYTES 26  /* of the longest prefix: an id */

/* Zeroed at first. The caller owns it, and must not move it while it has subscriptions. */
struct sl_topic_owner {
	struct sl_list subscriptions;    /* its count is the number of different prefixes */
	/* only for topics.c: */
	struct sl_topic_owner *next_match;
	uint64_t round, since;
};

struct sl_topics {
	struct sl_topic_node *root;
	uint64_t stamp;                  /* of the newest subscription */
	uint64_t round;
};

static inline void sl_topics_init(struct sl_topics *t)
{
	*t = (struct sl_topics){0};
}

/* Frees the tree; owners are not changed. */
void sl_topics_finish(struct sl_topics *t);

/* Adds a prefix of length <= SL_TOPIC_BYTES characters, with which an id may begin (sl_ulid_begins()). A prefix that
 * the owner has already gets a new stamp. 0, or SL_NOMEM, and nothing has changed. */
int sl_topics_add(struct sl_topics *t, struct sl_topic_owner *owner, const char *prefix, size_t length);

/* False: the owner has no such prefix. */
bool sl_topics_remove(struct sl_topics *t, struct sl_topic_owner *owner, const char *prefix, size_t length);

/* Removes all subscriptions of the owner. */
void sl_topics_drop(struct sl_topics *t, struct sl_topic_owner *owner);

/* The stamp of the newest subscription that matches id (SL_TOPIC_BYTES characters); 0: none. */
uint64_t sl_topics_newest(const struct sl_topics *t, const char *id);

/* Calls give() once for each owner that has a subscription matching id with a stamp above
 * `after` (0: any). give() may drop that owner, and must not change anything else. */
void sl_topics_match(struct sl_topics *t, const char *id, uint64_t after,
		     void (*give)(void *arg, struct sl_topic_owner *owner), void *arg);

#endif
