/* calls.h -- what the daemon has computed by a worker beside its jobs: searches of neighbours, and the passes over
 * points for principal axes. proto/worker.md has the messages: a `call` of the daemon, one `answer` of the worker, and
 * `end` when the daemon does not want the answer, or what the call has left there. Each call is answered once, also
 * after its end.
 *
 *   find     neighbours of stored points. The worker keeps them until the end, for jobs that ask for their key
 *   points   takes points; mean, covariance, apply, project compute with them until the end
 *
 * Loop thread, on both sides. */
#ifndef SL_WORKER_CALLS_H
#define SL_WORKER_CALLS_H

#include "daemon/device/device.h"
#include "daemon/util/list.h"
#include "daemon/worker/wire.h"

/* ---- the daemon's side: port_calls.c ---- */

#define SL_CALL_PARTS 4
struct sl__port_call;

/* A call, in the memory of its caller, which fills the first part. */
struct sl_worker_call {
	/* The answer of the worker, borrowed; or NULL with err: SL_DEVLOST, and the worker has forgotten the call. */
	void (*answered)(struct sl_worker_call *c, struct sl_wire_message *m, const struct sl_error *err);
	void (*progress)(struct sl_worker_call *c, double share);  /* or NULL */
	const char *file;              /* that the worker may read, copied; NULL: none */
	uint64_t key;                  /* of the neighbours that it leaves in the worker; 0: none */
	bool stays;                    /* the worker keeps something until the end */
	struct {
		const char *name;          /* NULL: no more */
		uint64_t bytes;            /* at most */
	} part[SL_CALL_PARTS];         /* that the answer may have */
	/* the port's: NULL: it was never sent, or is lost, or ended */
	struct sl__port_call *at;
};

/* Sends m, which it takes, as a call. SL_DEVLOST: there is no worker now; SL_NOMEM. Then nothing was sent. */
int sl_worker_call(struct sl_device_port *p, struct sl_worker_call *c, struct sl_wire_message *m,
		   struct sl_error *err);
/* The caller does not want it any more. */
void sl_worker_call_end(struct sl_worker_call *c);
/* The number by which other calls name it. */
uint64_t sl_worker_call_number(const struct sl_worker_call *c);
/* A message of kind "call"; NULL: no memory. */
struct sl_wire_message *sl_worker_call_message(const char *what);

/* ---- the worker's side: calls.c ---- */

struct sl_inputs;
struct sl_calls;

/* Borrows all arguments. lost() runs after the answer of a call that found the device lost. NULL: no memory. */
struct sl_calls *sl_calls_create(uv_loop_t *loop, struct sl_wire *wire, struct sl_inputs *inputs,
				 const struct sl_device_config *config, void (*lost)(void *arg), void *arg);
/* Takes what m has; false: it is no message of calls. */
bool sl_calls_take(struct sl_calls *c, struct sl_wire_message *m);

#endif
