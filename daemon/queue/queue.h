/* queue.h -- the line: which waiting job gets a place on a device, and when.
 *
 * The queue owns no job. A job embeds a struct sl_place, fills its first fields, and joins the line of its engine; when
 * it may start, the queue calls start(). Each engine has a line of large jobs and one of small ones (engines.h). A job
 * needs a place of its size, host memory, and room within the limits of its user and project (users/limits.h).
 *
 * Fair shares (shares.c): the next large job is of the project, and in it of the user, who has used the least device
 * time in relation to the share. Where jobs of an engine with several devices run is decided in moves.c. Loop
 * thread. */
#ifndef SL_QUEUE_H
#define SL_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/config/daemon.h"
#include "daemon/engines/engines.h"
#include "daemon/users/limits.h"
#include "daemon/util/fair.h"
#include "daemon/util/list.h"

/* A place in a line or on a device. */
struct sl_place {
	/* set by the owner before it joins a line */
	const char *user, *project;      /* ids, or ""; borrowed from the owner */
	struct sl_server_engine *engine;
	int priority;                    /* in a line, use sl_queue_set_priority() */
	int small;                       /* 1: it uses the line and places of small jobs; else 0 */
	uint64_t bytes;                  /* host memory that is booked for it while it has a place */
	uint64_t away_bytes;             /* host memory that it needs where it runs, if that is elsewhere; else 0 */
	uint64_t device_bytes;           /* device memory, the same */
	struct sl_waiting waiting;       /* `bytes`: what must be free for it, normally the same as above */
	/* set by the owner before sl_queue_take(), and by the queue to NULL when it is given back */
	struct sl_server_device *device;
	/* set by the queue */
	uint64_t placed_ns;              /* uv_hrtime() when it got its place */
	struct sl_link placed;           /* in sl_queue.places, while it has one */
	struct sl_fair due;              /* moves.c */
	/* used by the owner: jobs before it in line and their seconds, as of the line's last view */
	int ahead;
	double ahead_s;
};

struct sl_queue {
	struct sl_daemon *d;
	struct sl_engines *engines;
	/* set by the owner */
	void (*start)(struct sl_place *p);   /* it has left its line: the owner takes a place for it */
	bool (*lasts)(const struct sl_place *p);  /* it will run long enough to count for moves */
	bool (*may_move)(const struct sl_place *p, const struct sl_server_device *to);
	void (*move)(struct sl_place *p, struct sl_server_device *to);
	/* set by the queue */
	struct sl_fair projects, users;      /* shares.c */
	uint64_t aged_ms;                    /* the same: loop time */
	struct sl_list places;               /* struct sl_place: those on a device, the newest first */
	int active;                          /* places of jobs that are not paused */
	uint64_t used_bytes, memory_bytes;   /* host memory booked for places and by the owner; the limit */
	uint64_t small_bytes;                /* the part of used_bytes booked for small jobs */
};

static inline struct sl_place *sl_place_of_waiting(struct sl_waiting *w)
{
	return SL_LIST_ITEM(struct sl_place, &w->link, waiting.link);
}

/* ---- lines.c ---- */

void sl_queue_join(struct sl_place *p);
void sl_queue_leave(struct sl_place *p);          /* nothing, if it is in no line */
void sl_queue_set_priority(struct sl_place *p, int priority);
void sl_queue_take(struct sl_queue *q, struct sl_place *p);
void sl_queue_give(struct sl_queue *q, struct sl_place *p);
void sl_queue_activate(struct sl_queue *q, struct sl_place *p, int by);  /* by 1: it computes; -1: no longer */
/* Starts the jobs that have room. */
void sl_queue_admit(struct sl_queue *q);
/* Host memory that is free for the next job. */
uint64_t sl_queue_free_bytes(const struct sl_queue *q, int small);
/* True if the job must wait because its user or project has reached a limit, or its user is gone. */
bool sl_queue_holds(struct sl_queue *q, const struct sl_place *p, struct sl_limit_hit *hit);

/* ---- shares.c ---- */

void sl_share_take(struct sl_queue *q, const struct sl_place *p, int by);  /* 1: it takes a place; -1: gives it back */
/* "user" or "project" if that one has all the places for jobs of this size that it may have; else NULL. */
const char *sl_share_is_full(struct sl_queue *q, const struct sl_place *p);
void sl_share_charge(struct sl_queue *q, const struct sl_place *p, double seconds);  /* of device time */
/* Counts the jobs of a user or project that have a place, and their device memory. */
void sl_share_running(const struct sl_queue *q, const char *account, int *jobs, uint64_t *device_bytes);
/* Chooses the next job of a line. False: there are no users, and the line's order decides. *next NULL: none may start
 * now. */
bool sl_share_next(struct sl_queue *q, struct sl_server_engine *e, int small, struct sl_waiting **next);
void sl_shares_finish(struct sl_queue *q);

/* ---- moves.c ---- */

/* Asks for at most one move of a job from a crowded device to a free one of its engine. */
void sl_queue_balance(struct sl_queue *q);

#endif
