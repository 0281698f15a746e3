/* hybrid.h -- the hybrid engine: attraction on the processor's cores, everything else on the GPU, at the same time.
 *
 * P stays in host memory, so graphs that do not fit into the card's can be embedded; what crosses the bus in an
 * iteration is the layout, down, and the attractive forces, up. After SG-tSNE-HYB (I. Iakovidis, diploma thesis,
 * Aristotle University of Thessaloniki). An embedding of this engine is one of embedding.h whose attraction is queued
 * here. */
#ifndef SL_GPU_HYBRID_H
#define SL_GPU_HYBRID_H

#include "gpu/graph/graph.h"
#include "gpu/state/control.h"
#include "gpu/state/particles.h"

struct sl_affinities;
struct sl_hybrid;  /* an embedding's share: pinned memory, and what the host function needs */

/* Borrows a. g: with g->host. */
int sl__hybrid_create(struct sl_device_graph *g, int dims, struct sl_hybrid **out, struct sl_error *err);
void sl__hybrid_destroy(struct sl_hybrid *h);  /* NULL is fine; nothing of it is queued any more */

/* In the place of sl__attract(): copy down, host function, copy up. */
cudaError_t sl__hybrid_attract(struct sl_hybrid *h, const struct sl_particles *p, const struct sl_report *report,
			       cudaStream_t stream);
/* In the place of sl__measure(), after both forces: waits for them, fills divergence and square in report. */
int sl__hybrid_measure(struct sl_hybrid *h, const struct sl_particles *p, struct sl_report *report, cudaStream_t stream,
		       struct sl_error *err);

/* attract_double.c: as sl_cpu_kernels()->attract, in double precision. */
void sl__attract_doubles(int dims, const struct sl_affinities *a, const float *y, uint32_t from, uint32_t to,
			 float *out);

#endif
