/* fair_queue.h -- a fair queue of long computations that requests wait for; they run in turns on the thread pool.
 *
 * A turn takes about a second and uses all cores, so only one turn runs at a time. Users get the same number of turns
 * (util/fair.h); the requests of one user run in their order. If users are not known, each request counts as a user.
 * So a short request waits for at most one turn of each other user, not for the end of a long request. A request holds
 * memory from its first turn on. So its first turn comes only when its bytes fit beside those of all requests that
 * have begun, or when none has begun. Loop thread. */
#ifndef SL_FAIR_QUEUE_H
#define SL_FAIR_QUEUE_H

#include "daemon/util/fair.h"
#include "daemon/util/list.h"
#include "daemon/util/pool.h"

struct sl_fair_queue {
	struct sl_list entries;       /* struct sl_fair_entry, in the order of arrival */
	struct sl_fair users;         /* they share the turns */
	uint64_t budget;              /* bytes of memory for all that have begun */
	struct sl_fair_entry *now;    /* the one whose turn runs, or NULL */
	bool picking;
};

struct sl_fair_entry {
	/* set by the caller: */
	void (*begin)(void *arg);     /* prepares the first turn, then calls ..._ready() or ..._leave(); or NULL */
	bool (*turn)(void *arg);      /* one turn, on the pool; true: more turns are needed. It may set bytes. */
	void (*rest)(void *arg);      /* work after the last turn, on the pool, beside turns of others; or NULL */
	void (*done)(void *arg);      /* at the end, after it has left the queue; may free the entry */
	void *arg;
	uv_loop_t *loop;
	uint64_t bytes;               /* memory that it holds from its first turn on; an estimate before */
	/* used by the queue: */
	struct sl_link link;
	struct sl_fair_queue *fair_queue;
	struct sl_fair *user;         /* in fair_queue->users */
	struct sl_fair alone;         /* the same for a user who is not known */
	bool begun, ready, more;
	struct sl_pool_place pool;
};

/* user: an id; "": not known. */
void sl_fair_queue_join(struct sl_fair_queue *q, struct sl_fair_entry *e, const char *user);
void sl_fair_queue_ready(struct sl_fair_entry *e);
/* Leaves the queue without another turn. No turn of it may be running. Does nothing if it has left already. */
void sl_fair_queue_leave(struct sl_fair_entry *e);

/* The speed of a computation, measured in its turns. */
struct sl_fair_pace {
	double amount, seconds;       /* of the last turn; 0: there was none */
};

/* The amount of work for the next turn, given that the last one did `amount` in `seconds`: about a second's work, or as
 * much as takes as long as a turn's fixed cost; at most four times the last amount. Any thread. */
uint32_t sl_fair_pace_amount(struct sl_fair_pace *pace, uint32_t amount, double seconds);

#endif
