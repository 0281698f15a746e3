/* engines_internal.h -- what the files about engines share. Loop thread. */
#ifndef SL_ENGINES_INTERNAL_H
#define SL_ENGINES_INTERNAL_H

#include "daemon/config/daemon.h"
#include "daemon/engines/affinity_cache.h"
#include "daemon/engines/engines.h"
#include "daemon/engines/remote.h"

/* devices.c: the device has answered a request for its state, or will not. */
void sl__device_answered(struct sl_server_device *d);
/* devices.c: registers the metrics of the device. */
void sl__device_register_metrics(struct sl_server_device *d);
void sl__devices_collect(void *engines);
/* devices.c: registers the source of device events with the event streams. */
void sl__devices_be_followed(struct sl_engines *all);

/* engines.c: a device for a worker that has dialled in, OPENING, without a port; its port tells its events to
 * sl__device_event_fn() with the device. NULL: the engine has as many as it can. */
struct sl_server_device *sl__device_add(struct sl_server_engine *e, struct sl_engines *all);
sl_device_event_fn sl__device_event_fn(void);
/* Its worker has gone: all its jobs and graphs were given back before. */
void sl__device_gone(struct sl_server_device *d);

/* engines.c: from now on the engine has devices of other machines only, or waits for them. */
void sl__engine_await(struct sl_server_engine *e, const struct sl_engine *functions);

/* remote.c: opens the port for workers, if the configuration has one. _close: `closed` runs when it is closed. */
int sl__remotes_create(struct sl_engines *all, struct sl_error *err);
void sl__remotes_close(struct sl_engines *all, void (*closed)(void *arg), void *arg);
/* The daemon stops: a worker that is away is not waited for. */
void sl__remote_stop(struct sl_server_device *d);
/* The device of a worker is open; the worker of the device is forgotten, and d->remote becomes NULL. */
void sl__remote_opened(struct sl_server_device *d);
void sl__remote_gone(struct sl_server_device *d);
json_t *sl__remote_json(const struct sl_remote *w);

/* gpus.c: readings of NVIDIA's driver. NULL: no memory. */
struct sl_gpus *sl__gpus_create(struct sl_metrics *metrics);
void sl__gpus_destroy(struct sl_gpus *g);  /* NULL is fine */
/* Starts reading the GPU of a device, which is open and has reported its PCI address. */
void sl__gpu_watch(struct sl_gpus *g, struct sl_server_device *d);
json_t *sl__gpu_json(struct sl_gpus *g, const struct sl_server_device *d);
void sl__gpus_collect(struct sl_gpus *g);

#endif
