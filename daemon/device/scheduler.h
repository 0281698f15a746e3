/* scheduler.h -- which job runs next on a device, and which waiting job is admitted to it.
 *
 * Pure logic: no clock, no threads, no allocation beyond one small record a client.
 *
 * struct sl_scheduler shares a device's time between the jobs on it, slice by slice.
 * It is fair queueing in three levels (Stoica et al., "A proportional share resource
 * allocation algorithm", RTSS 1996, without the deadlines). Each group of clients has a
 * virtual time that grows by time used / share, each client of it one that grows by time
 * used, and each job one that grows by time used / weight. The group
 * with the least virtual time is next, then its client with the least, then that client's job
 * with the least. A job's weight is 2^priority, so one step of priority doubles
 * its part of its client's time. A client or group that had nothing to run gets SL_CREDIT_MS at most of the time
 * that it has not used. This makes up for the moments between the end of its last job and the start of its next one;
 * longer sleep earns nothing.
 *
 * New jobs go first for their first SL_BOOST_MS, since most small jobs are over by
 * then and a person waits for them. Two limits keep that fair: old jobs get a fifth of
 * the time whatever arrives, and a client or group that is ahead of the others by more than
 * SL_BOOST_MS has no such privilege.
 *
 * Where an engine has several devices, shares hold over all of them: each device's scheduler is also told what a client
 * has used on the others (sl_scheduler_charge_elsewhere()), so a client whose jobs fill another device gets less here.
 *
 *   sl_scheduler_add(s, &task, group, 1, client, 0, 0, &err);
 *   while ((t = sl_scheduler_pick(s))) sl_scheduler_charge(s, t, run_slice(t));
 *
 * struct sl_backlog is the waiting line: jobs that wait for a free place (the number of active
 * jobs and their memory are limited), highest priority first, then first come. */
#ifndef SL_SCHEDULER_H
#define SL_SCHEDULER_H

#include <stdbool.h>
#include <stdint.h>

#include "core/error.h"
#include "daemon/util/list.h"

#define SL_PRIORITY_MIN (-10)
#define SL_PRIORITY_MAX 10
#define SL_PRIORITY_DEFAULT 0

#define SL_BOOST_MS 100.0  /* a new job's time of preference */
#define SL_CREDIT_MS 300.0 /* of device time that a client keeps while it has nothing to run */

struct sl_scheduler;
struct sl_scheduler_client;

/* One job's place in the scheduler; embed it in the job. The fields are the scheduler's. */
struct sl_scheduled {
	struct sl_scheduler_client *client;
	struct sl_link link;
	double virtual_ms;   /* time used / weight, from the client's origin */
	double used_ms;
	double weight;
	uint64_t order;      /* of arrival */
	bool runnable;
};

int sl_scheduler_create(struct sl_scheduler **out, struct sl_error *err);
/* All tasks must have been removed. NULL is fine. */
void sl_scheduler_destroy(struct sl_scheduler *s);

/* share: the group's, > 0, 1 is normal; the newest one given counts. used_ms: time that
 * the job has had earlier (a resumed one), so that it is not new again. Starts runnable. */
int sl_scheduler_add(struct sl_scheduler *s, struct sl_scheduled *t, const char *group, double share,
		     const char *client, int priority, double used_ms, struct sl_error *err);
void sl_scheduler_remove(struct sl_scheduler *s, struct sl_scheduled *t);

/* Pausing and resuming. */
void sl_scheduler_set_runnable(struct sl_scheduler *s, struct sl_scheduled *t, bool runnable);
void sl_scheduler_set_priority(struct sl_scheduler *s, struct sl_scheduled *t, int priority);

/* The task whose slice is next, NULL when none is runnable. Changes nothing. */
struct sl_scheduled *sl_scheduler_pick(struct sl_scheduler *s);

/* t has used the device for ms. */
void sl_scheduler_charge(struct sl_scheduler *s, struct sl_scheduled *t, double ms);
/* t has run for ms together with other jobs, and part_ms is its share of that time. The job is charged ms, as if it had
 * run alone, so that a large job does not wait for the sum of many small ones; client and group are charged part_ms. */
void sl_scheduler_charge_part(struct sl_scheduler *s, struct sl_scheduled *t, double ms, double part_ms);
/* The client has used other devices for ms. Without jobs that could run here, nothing is charged. Nobody is kept out
 * altogether: for each millisecond that it gets here, a client is charged SL_ELSEWHERE_RATIO ms of this kind at most,
 * and never more than SL_ELSEWHERE_MS at a time. The same goes for a group. */
#define SL_ELSEWHERE_RATIO 50
#define SL_ELSEWHERE_MS 5000.0
void sl_scheduler_charge_elsewhere(struct sl_scheduler *s, const char *group, const char *client, double ms);

/* ---- the waiting line --------------------------------------------------- */

/* One waiting job; embed it. */
struct sl_waiting {
	struct sl_link link;
	int priority;
	uint64_t order;
	uint64_t bytes;   /* memory that the job will take */
	bool held;        /* set by the line's owner: it may not be taken now; others pass it */
	int bypassed;     /* how often a smaller one went first */
};

struct sl_backlog {
	struct sl_list waiting;  /* struct sl_waiting */
	uint64_t order;
	uint64_t changes;        /* of who is in it, or where */
};

/* NULL: none. */
static inline struct sl_waiting *sl_backlog_head(const struct sl_backlog *b)
{
	return SL_LIST_FIRST(struct sl_waiting, &b->waiting, link);
}

void sl_backlog_add(struct sl_backlog *b, struct sl_waiting *w, int priority, uint64_t bytes);
void sl_backlog_remove(struct sl_backlog *b, struct sl_waiting *w);
/* Keeps its turn among those of the new priority. */
void sl_backlog_set_priority(struct sl_backlog *b, struct sl_waiting *w, int priority);

/* The first that is not held; NULL: none. */
struct sl_waiting *sl_backlog_next(const struct sl_backlog *b);

/* Puts w, which is in the line, before all others for the next take. */
void sl_backlog_first(struct sl_backlog *b, struct sl_waiting *w);

/* Takes out the first that fits into free_bytes; NULL when there is none. A small job may
 * pass a big one that does not fit, SL_BYPASS_MAX times. `idle`: nothing else runs, so
 * the first comes in whatever it takes. */
#define SL_BYPASS_MAX 32
struct sl_waiting *sl_backlog_take(struct sl_backlog *b, uint64_t free_bytes, bool idle);

#endif
