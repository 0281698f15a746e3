/* snapshot.h -- copying layouts to the host while iterations go on.
 *
 * On the compute stream one kernel packs the layout (without padding, quantised if asked) into a separate buffer,
 * which takes a few microseconds. Another stream copies the buffer into pinned memory. Buffers are reused; a few
 * snapshots may be in progress at a time. */
#ifndef SL_GPU_SNAPSHOT_H
#define SL_GPU_SNAPSHOT_H

#include "gpu/device/device.h"
#include "gpu/state/particles.h"

struct sl_device_snapshot;

/* Makes d->copies. */
int sl__copies_open(struct sl_device *d, struct sl_error *err);
void sl__copies_close(struct sl_device *d);  /* waits until no snapshot is being read */
void sl__copies_trim(struct sl_device *d);  /* frees the buffers that no snapshot uses */
/* low, high: the layout's bounds. scale: y on the device is the user's divided by it. struct sl_engine describes these
 * four functions. */
int sl__snapshot_start(struct sl_device *d, const struct sl_particles *p, const float low[3], const float high[3],
		       double scale, bool quantise, struct sl_device_snapshot **out, struct sl_error *err);
bool sl__snapshot_ready(struct sl_device_snapshot *s);
int sl__snapshot_finish(struct sl_device_snapshot *s, const void **out, float low[3], float *extent,
			struct sl_error *err);
void sl__snapshot_release(struct sl_device_snapshot *s);

#endif
