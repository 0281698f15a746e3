/* worker.h -- a worker: a process that has a device.
 *
 * A fault of a GPU can make all GPUs of its process unusable, and a fault in an engine ends its process. So a device
 * may be a process of its own. It gets the same commands and sends the same events as a device's thread (device.h), as
 * messages over a socket (proto/worker.md). It reads stored graphs and points itself, makes affinities and runs of them
 * (inputs.h), and has a device's thread that computes. It has no state that matters: it may be killed at any time.
 *
 * sl_worker_start() starts one and gives its port. If the worker ends, its jobs are reported as LOST, so they go on
 * from their checkpoints, and it is started again: at once if it had run for a minute, else at growing intervals. A
 * job that was computed during two crashes fails. Other devices and the server do not notice. */
#ifndef SL_WORKER_H
#define SL_WORKER_H

#include "daemon/device/device.h"

#define SL_WORKER_ARGUMENT "--worker"  /* of spacelandd: run as a worker; with more arguments, see dial.h */
#define SL_WORKER_FD 3                 /* its end of the connection */
#define SL_WORKER_PROTOCOL 2

struct sl_worker_options {
	const char *id;          /* of the device, "cuda0"; borrowed until the port is destroyed */
	const char *state_dir;   /* for the record of crashes; the same */
	uint64_t input_bytes;    /* budget of inputs that nobody uses */
	double patience_s;       /* a worker whose device has not ended a slice for so long is ended */
};

/* A worker of another machine: it dialled in, and ends when its connection does. */
struct sl_worker_channel {
	/* Asks to end it; sl_worker_gone() follows. Never from within a function of this header. */
	void (*end)(void *arg, const char *why);
	void *arg;
};
/* Takes fd, the socket that leads to it. The first event is STATE or STOPPED; the last one is STOPPED. SL_NOMEM. */
int sl_worker_take(struct sl_device_port **out, uv_loop_t *loop, const struct sl_device_config *config,
		   const struct sl_worker_options *options, int fd, const struct sl_worker_channel *channel,
		   sl_device_event_fn on_event, void *arg, struct sl_error *err);
/* It is not heard at present, or is heard again. It keeps its jobs, and gets no new ones meanwhile. */
void sl_worker_away(struct sl_device_port *p, bool away, const char *why);
/* True if this job is there. */
bool sl_worker_has(const struct sl_device_port *p, const char *id);
/* Ends it: it has said what is wrong. */
void sl_worker_end(struct sl_device_port *p, const char *why);
/* It is gone: its jobs and graphs are told as lost, then STOPPED. */
void sl_worker_gone(struct sl_device_port *p, const char *why);

/* Like sl_device_thread_start(). Loop thread. */
int sl_worker_start(struct sl_device_port **out, uv_loop_t *loop, const struct sl_device_config *config,
		    const struct sl_worker_options *options, sl_device_event_fn on_event, void *arg, struct sl_error *err);

/* The worker's process: runs until its connection ends. Returns the exit status. */
int sl_worker_main(void);

#endif
