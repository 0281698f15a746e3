/* walk.h -- the random walk on a graph, for spectral initial layouts: the walk_ functions of struct sl_engine (walk.c)
 * and their kernels (walk.cu). */
#ifndef SL_GPU_WALK_H
#define SL_GPU_WALK_H

#include "gpu/graph/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

int sl__walk_mass(struct sl_device_graph *g, float *out, struct sl_error *err);
int sl__walk_components(struct sl_device_graph *g, uint32_t *label, struct sl_error *err);
int sl__walk_filter(struct sl_device_graph *g, int k, int steps, const float *slope, const float *shift, float **before,
		    float **x, struct sl_error *err);
/* label = components of the union of both; each [n], as of sl__walk_components() for different rows of P. */
void sl__walk_join(uint32_t n, uint32_t *label, const uint32_t *other);

/* One step for blocks [n][8]: w = D^-1 P x, a = slope w - shift x (slope NULL: w), to = first ? a : 2 a - to. */
cudaError_t sl__walk_step(const struct sl_matrix *a, const float *slope, const float *shift, const float *x, bool first,
			  float *to, cudaStream_t stream);
/* label[n]: the lowest number of a node in the component of node i, by the edges in the rows of a. */
cudaError_t sl__walk_label(const struct sl_matrix *a, uint32_t n, uint32_t *label, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
