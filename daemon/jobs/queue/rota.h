/* rota.h -- long computations for requests, in turns on the thread pool.
 *
 * A turn takes a second or so and uses all cores, so one runs at a time. The next turn goes to the user who has waited
 * for one the longest; requests of one user come in their order. Where nobody is known, each request counts for
 * itself. So a short request waits for a turn of each other user at most, not for the end of a long one. Whoever has
 * had a first turn holds memory: a place begins when its bytes fit beside those of all that have begun, or when none
 * has.
 * Loop thread. */
#ifndef SL_ROTA_H
#define SL_ROTA_H

#include "daemon/util/list.h"
#include "daemon/util/pool.h"
#include "daemon/util/ulid.h"

struct sl_rota {
	struct sl_list places;        /* struct sl_rota_place, in the order of their coming */
	uint64_t budget;              /* bytes */
	uint64_t turns;               /* that there were */
	struct sl_rota_place *now;    /* whose turn runs */
	bool picking;
};

struct sl_rota_place {
	/* the caller's */
	void (*begin)(void *arg);     /* prepares the first turn; then sl_rota_ready() or sl_rota_leave(). Or NULL */
	bool (*turn)(void *arg);      /* on the pool; true: there is more to do. It may set bytes. */
	void (*rest)(void *arg);      /* on the pool after the last turn, beside turns of others; or NULL */
	void (*done)(void *arg);      /* after all that, out of the rota; may free the place */
	void *arg;
	uv_loop_t *loop;
	uint64_t bytes;               /* of memory from the first turn on; an estimate before */
	/* the rota's */
	struct sl_link link;
	struct sl_rota *rota;
	char user[SL_ULID_BYTES];
	uint64_t had;                 /* number of the last turn that its user had */
	bool begun, ready, more;
	struct sl_pool_place pool;
};

/* user: an id; "": nobody is known. */
void sl_rota_join(struct sl_rota *r, struct sl_rota_place *p, const char *user);
void sl_rota_ready(struct sl_rota_place *p);
/* It goes without another turn. No turn of it may be running; does nothing to one that has left. */
void sl_rota_leave(struct sl_rota_place *p);

/* How long turns have taken. */
struct sl_rota_pace {
	double amount, seconds;       /* of the last turn; 0: there was none */
};

/* How much the next turn is to do, since one that did so much took so long: about a second's work, or as much as what a
 * turn costs anyway. At most four times as much as the last. Any thread. */
uint32_t sl_rota_amount(struct sl_rota_pace *pace, uint32_t amount, double seconds);

#endif
