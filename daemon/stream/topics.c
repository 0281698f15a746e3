/* A tree of subscriptions (a radix tree). A node stands for the text on the path from the root; `text` is its last
 * part. Children of a node differ in their first characters. Each node except the root has a subscription or at least
 * two children, so there are at most two nodes for each subscription. */
#include "daemon/stream/topics.h"

#include <stdlib.h>
#include <string.h>

#include "core/error.h"

struct sl_topic_node {
	struct sl_topic_node *parent, *child, *next;  /* first child, next sibling */
	struct sl_list subscriptions;                 /* to exactly this prefix */
	uint8_t length;
	char text[SL_TOPIC_BYTES];
};

struct subscription {
	struct sl_link of_node, of_owner;
	struct sl_topic_node *node;
	struct sl_topic_owner *owner;
	uint64_t stamp;
};

static struct sl_topic_node **child_at(struct sl_topic_node *node, char first)
{
	struct sl_topic_node **at = &node->child;
	while (*at && (*at)->text[0] != first)
		at = &(*at)->next;
	return at;
}

static struct sl_topic_node *node_create(struct sl_topic_node *parent, const char *text, size_t length)
{
	struct sl_topic_node *node = calloc(1, sizeof *node);
	if (!node)
		return NULL;
	node->parent = parent;
	node->length = (uint8_t)length;
	memcpy(node->text, text, length);
	return node;
}

/* A new node at `at` takes the first `length` characters of *at, which becomes its child. The
 * lower node keeps its address, since subscriptions point to it. */
static struct sl_topic_node *split(struct sl_topic_node **at, size_t length)
{
	struct sl_topic_node *lower = *at, *upper = node_create(lower->parent, lower->text, length);
	if (!upper)
		return NULL;
	upper->next = lower->next;
	upper->child = lower;
	*at = upper;
	lower->parent = upper;
	lower->next = NULL;
	lower->length = (uint8_t)(lower->length - length);
	memmove(lower->text, lower->text + length, lower->length);
	return upper;
}

static struct sl_topic_node *find(const struct sl_topics *t, const char *prefix, size_t length)
{
	struct sl_topic_node *node = t->root;
	while (node && length) {
		node = *child_at(node, *prefix);
		if (!node || node->length > length || memcmp(node->text, prefix, node->length))
			return NULL;
		prefix += node->length;
		length -= node->length;
	}
	return node;
}

/* Removes a node that is no longer needed, and the nodes above it that are then no longer needed. */
static void prune(struct sl_topics *t, struct sl_topic_node *node)
{
	while (node && !node->subscriptions.count) {
		struct sl_topic_node *parent = node->parent, *child = node->child;
		struct sl_topic_node **at = parent ? &parent->child : &t->root;
		while (*at != node)
			at = &(*at)->next;
		if (!child) {
			*at = node->next;
		} else if (parent && !child->next) {  /* an only child takes its place */
			memmove(child->text + node->length, child->text, child->length);
			memcpy(child->text, node->text, node->length);
			child->length = (uint8_t)(child->length + node->length);
			child->parent = parent;
			child->next = node->next;
			*at = child;
		} else {
			return;
		}
		free(node);
		node = parent;
	}
}

static struct sl_topic_node *find_or_create(struct sl_topics *t, const char *prefix, size_t length)
{
	if (!t->root && !(t->root = node_create(NULL, "", 0)))
		return NULL;
	struct sl_topic_node *node = t->root;
	while (length) {
		struct sl_topic_node **at = child_at(node, *prefix);
		if (!*at) {
			if (!(*at = node_create(node, prefix, length)))
				prune(t, node);
			return *at;
		}
		size_t same = 1, most = (*at)->length < length ? (*at)->length : length;
		while (same < most && (*at)->text[same] == prefix[same])
			same++;
		if (same < (*at)->length && !split(at, same))
			return NULL;
		node = *at;
		prefix += same;
		length -= same;
	}
	return node;
}

static struct subscription *subscription_of(struct sl_topic_node *node, const struct sl_topic_owner *owner)
{
	return SL_LIST_FIND(struct subscription, s, &node->subscriptions, of_node, s->owner == owner);
}

int sl_topics_add(struct sl_topics *t, struct sl_topic_owner *owner, const char *prefix, size_t length)
{
	struct sl_topic_node *node = find_or_create(t, prefix, length);
	if (!node)
		return SL_NOMEM;
	struct subscription *s = subscription_of(node, owner);
	if (!s) {
		if (!(s = calloc(1, sizeof *s))) {
			prune(t, node);
			return SL_NOMEM;
		}
		s->node = node;
		s->owner = owner;
		sl_list_append(&node->subscriptions, &s->of_node);
		sl_list_append(&owner->subscriptions, &s->of_owner);
	}
	s->stamp = ++t->stamp;
	return 0;
}

static void subscription_destroy(struct sl_topics *t, struct subscription *s)
{
	sl_list_unlink(&s->of_node);
	sl_list_unlink(&s->of_owner);
	prune(t, s->node);
	free(s);
}

bool sl_topics_remove(struct sl_topics *t, struct sl_topic_owner *owner, const char *prefix, size_t length)
{
	struct sl_topic_node *node = find(t, prefix, length);
	struct subscription *s = node ? subscription_of(node, owner) : NULL;
	if (s)
		subscription_destroy(t, s);
	return s;
}

void sl_topics_drop(struct sl_topics *t, struct sl_topic_owner *owner)
{
	struct subscription *s;
	while ((s = SL_LIST_FIRST(struct subscription, &owner->subscriptions, of_owner)))
		subscription_destroy(t, s);
}

/* The next node on the path to id, of which *left characters remain; NULL: none. */
static struct sl_topic_node *descend(struct sl_topic_node *node, const char **id, size_t *left)
{
	if (!*left)
		return NULL;
	node = *child_at(node, **id);
	if (!node || node->length > *left || memcmp(node->text, *id, node->length))
		return NULL;
	*id += node->length;
	*left -= node->length;
	return node;
}

uint64_t sl_topics_newest(const struct sl_topics *t, const char *id)
{
	size_t left = SL_TOPIC_BYTES;
	uint64_t newest = 0;
	for (struct sl_topic_node *node = t->root; node; node = descend(node, &id, &left))
		SL_LIST_EACH(struct subscription, s, &node->subscriptions, of_node)
			newest = s->stamp > newest ? s->stamp : newest;
	return newest;
}

void sl_topics_match(struct sl_topics *t, const char *id, uint64_t after,
		     void (*give)(void *arg, struct sl_topic_owner *owner), void *arg)
{
	struct sl_topic_owner *found = NULL;
	size_t left = SL_TOPIC_BYTES;
	t->round++;
	for (struct sl_topic_node *node = t->root; node; node = descend(node, &id, &left))
		SL_LIST_EACH(struct subscription, s, &node->subscriptions, of_node) {
			struct sl_topic_owner *o = s->owner;
			if (o->round != t->round) {
				o->round = t->round;
				o->since = s->stamp;
				o->next_match = found;
				found = o;
			} else if (s->stamp > o->since) {
				o->since = s->stamp;
			}
		}
	while (found) {
		struct sl_topic_owner *o = found;
		found = o->next_match;
		if (o->since > after)
			give(arg, o);
	}
}

void sl_topics_finish(struct sl_topics *t)
{
	struct sl_topic_node *node = t->root;
	while (node) {  /* children first; no recursion, no stack */
		if (node->child) {
			struct sl_topic_node *child = node->child;
			node->child = child->next;
			child->next = NULL;
			child->parent = node;
			node = child;
			continue;
		}
		struct sl_topic_node *parent = node->parent;
		struct subscription *s;
		while ((s = SL_LIST_FIRST(struct subscription, &node->subscriptions, of_node))) {
			sl_list_unlink(&s->of_node);
			sl_list_unlink(&s->of_owner);
			free(s);
		}
		free(node);
		node = parent;
	}
	t->root = NULL;
}
