/* fair.h -- the one policy by which the server divides something among users: start-time fair queueing.
 *
 *   P. Goyal, H. M. Vin, H. Cheng, "Start-time fair queueing: a scheduling algorithm for integrated services packet
 *   switching networks", SIGCOMM 1996; in levels as in P. Goyal, X. Guo, H. M. Vin, "A hierarchical CPU scheduler for
 *   multimedia operating systems", OSDI 1996.
 *
 * A flow has a share and a start tag. The ready flow with the least tag is served next, and afterwards its tag grows by
 * what it used / share: so the length of a service need not be known before. The virtual time of a class of flows is
 * the tag of the one in service. A flow that becomes ready gets at least the virtual time as its tag, so it cannot save
 * up what it did not use. Of two flows that stay ready, what they received / share differs by at most the longest
 * service of each / its share (Theorem 1 there; tests/unit/test_fair.c). A flow may be a class, too: what its flows use
 * counts for it, and it is ready while one of them is.
 *
 * Three additions, all 0 unless a class sets them:
 *   credit   a flow that becomes ready may be behind the virtual time by so much / share: a pause between two pieces of
 *            work costs it nothing.
 *   borrow   an urgent flow goes before others unless its tag is ahead of theirs by more than this ("Borrowed-virtual-
 *            time scheduling", K. Duda, D. Cheriton, SOSP 1999). Its use is charged all the same.
 *   age      lets the distances between flows decay, so use long ago counts less.
 *
 * Who divides what: device/scheduler.c the time of a device, slice by slice; queue/shares.c its places;
 * queue/moves.c the jobs among devices (sl_fair_part()); queue/fair_queue.c turns of long computations;
 * graphs/upload_line.c the reading of uploads. Pure logic: no clock, no threads; only sl_fair_named() allocates. */
#ifndef SL_FAIR_H
#define SL_FAIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/util/list.h"

/* A flow, or a class of flows. Zeroed memory is a class at the top; its owner sets credit and borrow. Other fields
 * belong to fair.c. */
struct sl_fair {
	double credit, borrow;
	struct sl_link link;
	struct sl_fair *parent;  /* its class; NULL: none */
	struct sl_list flows;    /* of a class */
	double share;            /* > 0 */
	double start;            /* start tag, in the virtual time of its class */
	double now;              /* of a class: virtual time */
	int ready, urgent;       /* 1 or 0; of a class: the number of such flows below it */
	const char *name;        /* of sl_fair_named(), or NULL */
	int held;
};

/* The flow is not ready at first. It belongs to the caller, who must keep it until it leaves. */
void sl_fair_join(struct sl_fair *parent, struct sl_fair *flow, double share);
void sl_fair_leave(struct sl_fair *flow);  /* nothing, if it is in no class */
/* Keeps the service by which it is ahead of the virtual time, or behind it. */
void sl_fair_set_share(struct sl_fair *flow, double share);
void sl_fair_set_ready(struct sl_fair *flow, bool ready, bool urgent);  /* a flow without flows of its own */

/* The flow, without flows of its own, that is next; the first of equals to join. NULL: none is ready. */
struct sl_fair *sl_fair_next(struct sl_fair *top);
/* True if a is served before b, both at the same depth below the same class; false for equals. For callers that choose
 * among some of the flows only. */
bool sl_fair_before(const struct sl_fair *a, const struct sl_fair *b);

/* Records that the flow has used so much of what is divided. The first charges only the flow itself, the second also
 * the classes above it. Less than 0 counts as 0. */
void sl_fair_charge(struct sl_fair *flow, double amount);
void sl_fair_charge_all(struct sl_fair *flow, double amount);

/* The part of the whole, 0 to 1, that is due to a flow while all ready flows are served. */
double sl_fair_part(const struct sl_fair *flow);

/* Multiplies the distances between all flows below `top` by factor, 0 to 1. */
void sl_fair_age(struct sl_fair *top, double factor);

/* The flow of this name in the class; a new one, with a share of 1, is the first member of `bytes` of zeroed memory.
 * It remains until sl_fair_release() was called as often as this function, and then until sl_fair_forget() finds it no
 * further than if it came back as a new one. NULL: no memory. */
struct sl_fair *sl_fair_named(struct sl_fair *parent, const char *name, size_t bytes);
void sl_fair_release(struct sl_fair *flow);
void sl_fair_forget(struct sl_fair *top);
void sl_fair_finish(struct sl_fair *top);  /* frees all flows of names below it; other flows leave */

#endif
