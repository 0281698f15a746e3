/* hybrid.h -- the hybrid engine: the CPU's cores compute the attraction while the GPU computes everything else.
 *
 * P stays in host memory, so graphs that exceed the GPU's memory can be embedded. In each iteration the layout is
 * copied to the host and the attractive forces to the device. After SG-tSNE-HYB (I. Iakovidis, diploma thesis,
 * Aristotle University of Thessaloniki). An embedding of this engine is an embedding of embedding.h that queues its
 * attraction here. */
#ifndef SL_GPU_HYBRID_H
#define SL_GPU_HYBRID_H

#include "gpu/graph/graph.h"
#include "gpu/state/control.h"
#include "gpu/state/particles.h"

struct sl_affinities;
struct sl_hybrid;  /* of one embedding: pinned memory, and the host function's arguments */

/* Borrows a. g: with g->host. */
int sl__hybrid_create(struct sl_device_graph *g, int dims, struct sl_hybrid **out, struct sl_error *err);
void sl__hybrid_destroy(struct sl_hybrid *h);  /* NULL is fine; none of its work may still be queued */

/* Used instead of sl__attract(): queues the copy to the host, the host function and the copy back. */
cudaError_t sl__hybrid_attract(struct sl_hybrid *h, const struct sl_particles *p, const struct sl_report *report,
			       cudaStream_t stream);
/* Used instead of sl__measure(), after both forces: waits for them, and sets divergence and square of report. */
int sl__hybrid_measure(struct sl_hybrid *h, const struct sl_particles *p, struct sl_report *report, cudaStream_t stream,
		       struct sl_error *err);

/* attract_double.c: the same as sl_cpu_kernels()->attract, in double precision. */
void sl__attract_doubles(int dims, const struct sl_affinities *a, const float *y, uint32_t from, uint32_t to,
			 float *out);

#endif
