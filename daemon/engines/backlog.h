/* backlog.h -- the waiting line of an engine: jobs that wait for a free place (the number of active jobs and their
 * memory are limited), highest priority first, then first come. queue/lines.c decides when the next one is taken. Pure
 * logic: no clock, no threads, no allocation. */
#ifndef SL_BACKLOG_H
#define SL_BACKLOG_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/util/list.h"

/* One waiting job; embed it. */
struct sl_waiting {
	struct sl_link link;
	int priority;
	uint64_t order;
	uint64_t bytes;   /* memory that the job will take */
	bool held;        /* set by the owner of the line: the job may not start now; others pass it */
	int bypassed;     /* how often a smaller job has passed it */
};

struct sl_backlog {
	struct sl_list waiting;  /* struct sl_waiting */
	uint64_t order;
	uint64_t changes;        /* number of changes of the line or its order */
};

/* The first job of the line; NULL: the line is empty. */
static inline struct sl_waiting *sl_backlog_head(const struct sl_backlog *b)
{
	return SL_LIST_FIRST(struct sl_waiting, &b->waiting, link);
}

void sl_backlog_add(struct sl_backlog *b, struct sl_waiting *w, int priority, uint64_t bytes);
void sl_backlog_remove(struct sl_backlog *b, struct sl_waiting *w);
/* Among jobs of the new priority, w is placed by its time of arrival. */
void sl_backlog_set_priority(struct sl_backlog *b, struct sl_waiting *w, int priority);

/* The first job that is not held; NULL: none. */
struct sl_waiting *sl_backlog_next(const struct sl_backlog *b);

/* Moves w, which is in the line, before all others. */
void sl_backlog_first(struct sl_backlog *b, struct sl_waiting *w);

/* Removes and returns the first job that fits into free_bytes; NULL: none. A small job may pass a large one that does
 * not fit, SL_BYPASS_MAX times. `idle`: nothing else runs, so the first job is taken whatever memory it needs. */
#define SL_BYPASS_MAX 32
struct sl_waiting *sl_backlog_take(struct sl_backlog *b, uint64_t free_bytes, bool idle);

#endif
