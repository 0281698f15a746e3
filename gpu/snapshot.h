/* snapshot.h -- layouts on their way to the host while iterations go on.
 *
 * The compute stream is held up for one pass over the layout, a few microseconds: it is packed (padding left out,
 * quantised if asked) into a buffer of its own, and from there a stream of its own copies it into pinned memory.
 * Buffers are kept for the next snapshot; a few at a time may be under way. */
#ifndef SL_GPU_SNAPSHOT_H
#define SL_GPU_SNAPSHOT_H

#include "gpu/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

struct sl_packing {
	bool quantise;
	float low[3], scale;  /* scale: 65535 / extent */
	double unit;          /* floats are times that */
};

/* [n * dims] floats or 16-bit numbers */
cudaError_t sl__pack(const struct sl_particles *p, struct sl_packing s, void *out, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
