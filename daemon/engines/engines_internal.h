/* engines_internal.h -- what the files about engines share. Loop thread. */
#ifndef SL_ENGINES_INTERNAL_H
#define SL_ENGINES_INTERNAL_H

#include "daemon/config/daemon.h"
#include "daemon/engines/affinity_cache.h"
#include "daemon/engines/engines.h"

/* devices.c: the device has answered, or never will. */
void sl__device_answered(struct sl_server_device *d);
/* devices.c: from now on the device is counted. */
void sl__device_register_metrics(struct sl_server_device *d);
void sl__devices_collect(void *engines);
/* devices.c: gives its source to the event streams. */
void sl__devices_be_followed(struct sl_engines *all);

/* gpus.c: what NVIDIA's driver tells. NULL: no memory. */
struct sl_gpus *sl__gpus_create(struct sl_metrics *metrics);
void sl__gpus_destroy(struct sl_gpus *g);  /* NULL is fine */
/* The device is open and has told where its GPU is. */
void sl__gpu_watch(struct sl_gpus *g, struct sl_server_device *d);
json_t *sl__gpu_json(struct sl_gpus *g, const struct sl_server_device *d);
void sl__gpus_collect(struct sl_gpus *g);

#endif
