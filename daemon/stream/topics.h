/* topics.h -- which subscribers want the frames of a job: a tree of prefixes of ids.
 *
 * A subscription is a prefix, so that "" wants all jobs and 26 characters want one. The
 * tree is a radix tree: looking an id up takes as many steps as it has characters, however
 * many subscriptions there are. Each subscriber is an owner, a struct embedded in whatever
 * the caller keeps of it. Each subscription carries a stamp that counts up, so that a frame
 * can be given to those alone who came after it had been published.
 *
 * Pure logic: no sockets, no threads, no locks; one thread at a time. */
#ifndef SL_TOPICS_H
#define SL_TOPICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/util/list.h"

#define SL_TOPIC_BYTES 26  /* of the longest prefix: an id */

/* Zeroed at first. The caller's; it stays where it is while it has subscriptions. */
struct sl_topic_owner {
	struct sl_list subscriptions;    /* its count is the number of different prefixes */
	/* topics.c alone: */
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

/* Frees what is left; owners are not touched. */
void sl_topics_finish(struct sl_topics *t);

/* prefix has length <= SL_TOPIC_BYTES characters, any bytes. A prefix that the owner has
 * already gets a new stamp. 0 or SL_NOMEM; then nothing has changed. */
int sl_topics_add(struct sl_topics *t, struct sl_topic_owner *owner, const char *prefix, size_t length);

/* False: the owner has no such prefix. */
bool sl_topics_remove(struct sl_topics *t, struct sl_topic_owner *owner, const char *prefix, size_t length);

/* All of the owner's. */
void sl_topics_drop(struct sl_topics *t, struct sl_topic_owner *owner);

/* Stamp of the newest subscription that wants id (SL_TOPIC_BYTES characters); 0: nobody does. */
uint64_t sl_topics_newest(const struct sl_topics *t, const char *id);

/* Calls give once for each owner that has a subscription to id with a stamp beyond `after`
 * (0: any). give may drop that owner, and must change nothing else. */
void sl_topics_match(struct sl_topics *t, const char *id, uint64_t after,
		     void (*give)(void *arg, struct sl_topic_owner *owner), void *arg);

#endif
