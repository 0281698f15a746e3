/* scheduler.h -- chooses the job that runs next on a device.
 *
 * struct sl_scheduler divides a device's time among its jobs, slice by slice, by start-time fair queueing
 * (util/fair.h) in four levels: groups by their shares, the clients of a group equally, a client's new jobs before its
 * others, jobs by their weights. A job's weight is 2^priority, so one step of priority doubles its part of its
 * client's time. A client or group without runnable jobs keeps a claim to at most SL_CREDIT_MS of the time that it has
 * not used. This covers the gap between the end of its last job and the start of its next one.
 *
 * A job is new for its first SL_BOOST_MS, because most small jobs end within that time and a person waits for them. New
 * jobs get four fifths of their client's time. A client or group with a new job goes before others, unless it is ahead
 * of them by more than SL_BOOST_MS.
 *
 * Both times are those of a machine without other work. Where other programs take the processors from the device's
 * thread, slices last longer, and both grow by the same factor (sl_scheduler_set_slowness()): otherwise a small job of
 * a client who has used almost nothing would outlast them, and would wait for seconds.
 *
 * If an engine has several devices, shares apply to all of them together: each device's scheduler also gets the time
 * that a client has used on the others (sl_scheduler_charge_elsewhere()), so a client whose jobs fill another device
 * gets less here.
 *
 *   sl_scheduler_add(s, &task, group, 1, client, 0, 0, &err);
 *   while ((t = sl_scheduler_pick(s))) sl_scheduler_charge(s, t, run_slice(t));
 *
 * Pure logic: no clock, no threads, no allocation except one small record for each client. */
#ifndef SL_SCHEDULER_H
#define SL_SCHEDULER_H

#include <stdbool.h>
#include <stdint.h>

#include "core/error.h"
#include "daemon/util/fair.h"

#define SL_PRIORITY_MIN (-10)
#define SL_PRIORITY_MAX 10
#define SL_PRIORITY_DEFAULT 0

#define SL_BOOST_MS 100.0  /* for how long a new job is preferred */
#define SL_CREDIT_MS 300.0 /* the most device time to which a client without runnable jobs keeps a claim */

struct sl_scheduler;
struct sl_scheduler_client;

/* One job in the scheduler; embed it in the job. The fields belong to the scheduler. */
struct sl_scheduled {
	struct sl_fair flow;  /* among the new jobs of its client, or among the others */
	struct sl_scheduler_client *client;
	double used_ms;
	bool runnable, is_new;
};

int sl_scheduler_create(struct sl_scheduler **out, struct sl_error *err);
/* All tasks must have been removed. NULL is fine. */
void sl_scheduler_destroy(struct sl_scheduler *s);

/* share: that of the group, > 0, normally 1; it replaces the share given before. used_ms: device time that a resumed
 * job has used earlier, so that it does not count as new. The job is runnable at first. */
int sl_scheduler_add(struct sl_scheduler *s, struct sl_scheduled *t, const char *group, double share,
		     const char *client, int priority, double used_ms, struct sl_error *err);
void sl_scheduler_remove(struct sl_scheduler *s, struct sl_scheduled *t);

/* factor: the time that slices take, relative to a machine without other work; 1, the initial value, to
 * SL_SLOWNESS_MOST. */
#define SL_SLOWNESS_MOST 4.0
void sl_scheduler_set_slowness(struct sl_scheduler *s, double factor);

/* Pauses (false) or resumes (true) a job. */
void sl_scheduler_set_runnable(struct sl_scheduler *s, struct sl_scheduled *t, bool runnable);
void sl_scheduler_set_priority(struct sl_scheduler *s, struct sl_scheduled *t, int priority);

/* The job whose slice is next; NULL: none is runnable. Changes nothing. */
struct sl_scheduled *sl_scheduler_pick(struct sl_scheduler *s);

/* True if a is served before b, apart from new jobs of their clients. For jobs that share a slice. */
bool sl_scheduler_before(const struct sl_scheduled *a, const struct sl_scheduled *b);

/* Records that t has used the device for ms, of which part_ms is its share if it ran together with other jobs. The job
 * is charged ms, as if it had run alone, so that a large job does not wait for the sum of many small ones; client and
 * group are charged part_ms. */
void sl_scheduler_charge(struct sl_scheduler *s, struct sl_scheduled *t, double ms, double part_ms);
/* Records that the client has used other devices for ms. A client without runnable jobs here is not charged. To prevent
 * starvation, a client is charged at most SL_ELSEWHERE_RATIO ms of this kind for each millisecond that it gets here,
 * and never more than SL_ELSEWHERE_MS at a time. The same holds for groups. */
#define SL_ELSEWHERE_RATIO 50
#define SL_ELSEWHERE_MS 5000.0
void sl_scheduler_charge_elsewhere(struct sl_scheduler *s, const char *group, const char *client, double ms);

#endif
