/* Reverse Cuthill-McKee (Cuthill and McKee 1969, George 1971): numbers the nodes breadth-first from a peripheral node
 * of each component, neighbours by ascending degree, then reverses the sequence. The peripheral node is found as by
 * George and Liu (1979): take the node of least degree from the last level of a breadth-first search, and repeat while
 * the depth grows. There are at most MAX_SWEEPS searches, so the time is linear in the entries.
 *
 * Measured (docs/notes/node-order.md, tests/bench/bench_order.c): if positions fit the L2 cache, no order saves time;
 * if not, this one saves a quarter to three quarters of the attraction's time. METIS took 18 to 70 times as long and
 * saved no more, so it is not used. */
#include "core/graph/order.h"

#include <stdlib.h>

#define MAX_SWEEPS 4

struct search {
	uint32_t n;
	const uint64_t *start;
	const uint32_t *node;
	uint32_t *seen;  /* [n] number of the last search that reached the node */
	uint32_t stamp;
};

static uint32_t degree(const struct search *s, uint32_t i)
{
	return (uint32_t)(s->start[i + 1] - s->start[i]);
}

/* Breadth-first search from root, in queue[]. Returns the number of nodes reached; *depth: the number of levels;
 * *last_level: start of the last one. */
static uint32_t sweep(struct search *s, uint32_t root, uint32_t *queue, uint32_t *depth, uint32_t *last_level)
{
	uint32_t stamp = ++s->stamp, tail = 0, level_end;
	queue[tail++] = root;
	s->seen[root] = stamp;
	level_end = tail;
	*depth = 0;
	*last_level = 0;
	for (uint32_t head = 0; head < tail; head++) {
		if (head == level_end) {
			*last_level = head;
			level_end = tail;
			++*depth;
		}
		uint32_t i = queue[head];
		for (uint64_t e = s->start[i]; e < s->start[i + 1]; e++) {
			uint32_t j = s->node[e];
			if (s->seen[j] != stamp) {
				s->seen[j] = stamp;
				queue[tail++] = j;
			}
		}
	}
	return tail;
}

static uint32_t find_rim(struct search *s, uint32_t root, uint32_t *queue)
{
	uint32_t depth, last, best = 0;
	for (int k = 0; k < MAX_SWEEPS; k++) {
		uint32_t count = sweep(s, root, queue, &depth, &last);
		if (k && depth <= best)
			break;
		best = depth;
		uint32_t next = queue[last];
		for (uint32_t q = last + 1; q < count; q++)
			if (degree(s, queue[q]) < degree(s, next))
				next = queue[q];
		root = next;
	}
	return root;
}

struct keyed {
	uint32_t degree, node;
};

static int by_degree(const void *a, const void *b)
{
	const struct keyed *u = a, *v = b;
	if (u->degree != v->degree)
		return u->degree < v->degree ? -1 : 1;
	return u->node < v->node ? -1 : u->node > v->node;
}

/* Sorts short lists by insertion, long ones by qsort(). */
static void sort_by_degree(struct keyed *list, uint32_t k)
{
	if (k > 48) {
		qsort(list, k, sizeof *list, by_degree);
		return;
	}
	for (uint32_t i = 1; i < k; i++) {
		struct keyed x = list[i];
		uint32_t j = i;
		for (; j && by_degree(&x, &list[j - 1]) < 0; j--)
			list[j] = list[j - 1];
		list[j] = x;
	}
}

/* Numbers root's component breadth-first, into out; returns its size. Neighbours come by ascending degree if list is
 * given, else as stored. */
static uint32_t number(struct search *s, uint32_t root, uint8_t *done, struct keyed *list, uint32_t *out)
{
	uint32_t tail = 0;
	out[tail++] = root;
	done[root] = 1;
	for (uint32_t head = 0; head < tail; head++) {
		uint32_t i = out[head], first = tail, k = 0;
		for (uint64_t e = s->start[i]; e < s->start[i + 1]; e++) {
			uint32_t j = s->node[e];
			if (done[j])
				continue;
			done[j] = 1;
			out[tail++] = j;
		}
		if (!list || tail - first < 2)
			continue;
		for (uint32_t q = first; q < tail; q++)
			list[k++] = (struct keyed){degree(s, out[q]), out[q]};
		sort_by_degree(list, k);
		for (uint32_t q = 0; q < k; q++)
			out[first + q] = list[q].node;
	}
	return tail;
}

/* Breadth-first; rcm: as Cuthill and McKee, not reversed. */
static int breadth_first(uint32_t n, const uint64_t *start, const uint32_t *node, bool rcm, uint32_t *old)
{
	struct search s = {.n = n, .start = start, .node = node};
	uint8_t *done = calloc((size_t)n + 1, 1);
	struct keyed *list = rcm ? malloc(((size_t)n + 1) * sizeof *list) : NULL;
	s.seen = calloc((size_t)n + 1, sizeof *s.seen);
	int rc = SL_NOMEM;
	if (!done || !s.seen || (rcm && !list))
		goto out;
	uint32_t count = 0;
	for (uint32_t i = 0; i < n; i++)
		if (!done[i]) {
			uint32_t root = rcm ? find_rim(&s, i, old + count) : i;
			count += number(&s, root, done, list, old + count);
		}
	rc = 0;
out:
	free(done);
	free(list);
	free(s.seen);
	return rc;
}

/* In 2-D 32,768 nodes, of 8 bytes each, take 256 KiB, the least size of a core's or a multiprocessor's own cache. */
#define PAYS_FROM 32768

enum sl_order sl__order_choose(uint32_t n)
{
	return n < PAYS_FROM ? SL_ORDER_NONE : SL_ORDER_RCM;
}

int sl__order_forward(enum sl_order order, uint32_t n, const uint64_t *start, const uint32_t *node, uint32_t *old)
{
	if (order != SL_ORDER_NONE)
		return breadth_first(n, start, node, order == SL_ORDER_RCM, old);
	for (uint32_t i = 0; i < n; i++)
		old[i] = i;
	return 0;
}

int sl__order(enum sl_order order, uint32_t n, const uint64_t *start, const uint32_t *node, uint32_t *old)
{
	if (order == SL_ORDER_AUTO)
		order = sl__order_choose(n);
	int rc = sl__order_forward(order, n, start, node, old);
	for (uint32_t i = 0; !rc && order == SL_ORDER_RCM && i < n / 2; i++) {
		uint32_t t = old[i];
		old[i] = old[n - 1 - i];
		old[n - 1 - i] = t;
	}
	return rc;
}
