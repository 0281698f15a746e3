/* engines_internal.h -- what the files about engines share. Loop thread. */
#ifndef SL_ENGINES_INTERNAL_H
#define SL_ENGINES_INTERNAL_H

#include "daemon/config/daemon.h"
#include "daemon/engines/affinity_cache.h"
#include "daemon/engines/engines.h"

/* devices.c: the device has answered a request for its state, or will not. */
void sl__device_answered(struct sl_server_device *d);
/* devices.c: registers the metrics of the device. */
void sl__device_register_metrics(struct sl_server_device *d);
void sl__devices_collect(void *engines);
/* devices.c: registers the source of device events with the event streams. */
void sl__devices_be_followed(struct sl_engines *all);

/* gpus.c: readings of NVIDIA's driver. NULL: no memory. */
struct sl_gpus *sl__gpus_create(struct sl_metrics *metrics);
void sl__gpus_destroy(struct sl_gpus *g);  /* NULL is fine */
/* Starts reading the GPU of a device, which is open and has reported its PCI address. */
void sl__gpu_watch(struct sl_gpus *g, struct sl_server_device *d);
json_t *sl__gpu_json(struct sl_gpus *g, const struct sl_server_device *d);
void sl__gpus_collect(struct sl_gpus *g);

#endif
