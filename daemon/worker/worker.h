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

#define SL_WORKER_ARGUMENT "--worker"  /* of spacelandd: run as a worker; only the daemon uses it */
#define SL_WORKER_FD 3                 /* its end of the connection */
#define SL_WORKER_PROTOCOL 1

struct sl_worker_options {
	const char *id;          /* of the device, "cuda0"; borrowed until the port is destroyed */
	const char *state_dir;   /* for the record of crashes; the same */
	uint64_t input_bytes;    /* budget of inputs that nobody uses */
	double patience_s;       /* a worker whose device has not ended a slice for so long is ended */
};

/* Like sl_device_thread_start(). Loop thread. */
int sl_worker_start(struct sl_device_port **out, uv_loop_t *loop, const struct sl_device_config *config,
		    const struct sl_worker_options *options, sl_device_event_fn on_event, void *arg, struct sl_error *err);

/* The worker's process: runs until its connection ends. Returns the exit status. */
int sl_worker_main(void);

#endif
