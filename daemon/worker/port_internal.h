/* port_internal.h -- the daemon's side of a worker (worker.h): port.c is what all workers need, port_remote.c what
 * those of other machines need, too. Loop thread. */
#ifndef SL_WORKER_PORT_INTERNAL_H
#define SL_WORKER_PORT_INTERNAL_H

#include <sys/types.h>

#include "daemon/util/list.h"
#include "daemon/util/pool.h"
#include "daemon/worker/codec.h"
#include "daemon/worker/worker.h"

struct sl__port_job {
	struct sl_link link;
	uint64_t key;
	const struct sl_method *method;
	char id[SL_ULID_BYTES];
	struct sl_status status;
	/* for answers of a worker that lies: what was asked, and what fits */
	int asked[SL__PLANS_CLEAR + 1];    /* commands that have no answer yet */
	bool started;
	uint32_t nodes;
	int dims, columns;             /* of its layout, of its values */
	uint32_t input_columns;
	int traced, trace_at;          /* points of its trace so far, and the iteration of the last one; -1: none */
	uint64_t most_state, most_result, most_trace;  /* bytes of a checkpoint, of an array, of a trace */
	uint64_t told_ms;
	char *file[2];                 /* stored files that it is computed from; or NULL. Owned */
	struct sl_device_event *lost;  /* owned */
};

/* A piece of a stored file, which a worker of another machine gets. */
struct sl__port_piece {
	struct sl_pool_place work;
	struct sl__port *port;
	char *path;
	uint64_t offset, bytes;
	struct sl_wire_message *answer;
};

struct sl__port_given {
	struct sl_link link;
	uint64_t graph, adds;
	struct sl_device_event *dropped;  /* owned */
};

struct sl__port {
	struct sl_device_port port;    /* first */
	uv_loop_t *loop;
	struct sl_device_config config;
	struct sl_worker_options options;
	sl_device_event_fn on_event;
	void *arg;
	uv_async_t wake;
	uv_signal_t child;
	uv_timer_t tick;
	int handles;                   /* that are open, and pieces that are being read */
	int pieces;
	struct sl_message *events, **events_end;
	struct sl_list jobs, given, calls;
	uint64_t calls_made;
	int asked;                     /* requests for the state that have no answer yet */
	uint64_t asked_ms;             /* since when; 0: there is none */
	struct sl_worker_channel channel;  /* of a worker of another machine; end NULL: it is a process of this one */
	bool away, ending;             /* it is not heard; it was asked to end, and nothing it says counts any more */
	pid_t pid;                     /* 0: there is no process */
	struct sl_wire *wire;          /* NULL: there is no worker that can be told something */
	bool open;                     /* a worker's device has been open */
	bool stopping, stopped;        /* asked to stop; STOPPED is sent or queued */
	struct sl_error open_err;
	char why[160];                 /* why the worker was ended; "": by itself */
	struct sl_device_state state;  /* as last told */
	bool state_owed;               /* there was no memory to tell it */
	uint64_t losses;               /* of earlier workers; those of the present one are in state */
	bool progressed;               /* a job has been saved or has ended since the last worker ended */
	uint64_t lost_ms, retry_ms, backoff_ms, beat_ms;
	double silent_s;
	void (*closed)(void *arg);
	void *closed_arg;
};

/* port.c: ends the worker; tells its state, or that it has stopped; tells its jobs and graphs as lost; one of
 * p->handles is closed. */
void sl__port_end(struct sl__port *p, const char *why);
void sl__port_tell_state(struct sl__port *p);
void sl__port_tell_stopped(struct sl__port *p, const struct sl_error *err);
void sl__port_lose_all(struct sl__port *p);
void sl__port_release(struct sl__port *p);

/* port_calls.c (calls.h): takes an answer, or tells what is wrong with it; loses all calls; whether the worker has kept
 * these neighbours, which it has found; whether a call reads this file; the most bytes of a part of an answer. */
const char *sl__port_answer(struct sl__port *p, struct sl_wire_message *m);
void sl__port_lose_calls(struct sl__port *p);
bool sl__port_has_found(const struct sl__port *p, uint64_t key);
bool sl__port_calls_read(const struct sl__port *p, const char *path);
uint64_t sl__port_answer_most(const struct sl__port *p, const json_t *head, const char *part);

/* port_remote.c: what is wrong with an event of a job, from a worker that need not be ours; NULL: nothing. */
const char *sl__port_wrong(struct sl__port *p, struct sl__port_job *job, struct sl_device_event *e);
/* Notes what its forecast allows the job, and a trace with these parameters. */
void sl__port_limit(struct sl__port_job *job, const struct sl_device_job *add);
void sl__port_limit_trace(struct sl__port_job *job, const struct sl_method_params *params);
/* The most bytes of a part of a message of it (struct sl_wire_ops). */
uint64_t sl__port_most(void *port, const json_t *head, const char *part);
/* It wants a piece of a stored file; it may have those of its jobs. */
void sl__port_fetch(struct sl__port *p, const struct sl_wire_message *m);

#endif
