/* divided.h -- the engine's functions for a device of several GPUs, as in struct sl_engine; for one GPU they call the
 * functions of the lower rooms directly. */
#ifndef SL_GPU_DIVIDED_H
#define SL_GPU_DIVIDED_H

#include "gpu/embedding/embedding.h"

struct sl_graph;
struct sl_neighbours;
struct sl_affinities;
struct sl_affinities_params;
struct sl_device_neighbours;

int sl__divided_put(struct sl_device *d, const struct sl_affinities *a, struct sl_device_graph **out,
		    struct sl_error *err);
int sl__divided_make(struct sl_device *d, const struct sl_graph *g, const struct sl_affinities_params *params,
		     struct sl_affinities **summary, struct sl_device_graph **out, struct sl_error *err);
void sl__divided_drop(struct sl_device_graph *g);
int sl__divided_neighbours_put(struct sl_device *d, const struct sl_neighbours *nb, struct sl_device_neighbours **out,
			       struct sl_error *err);
void sl__divided_neighbours_drop(struct sl_device_neighbours *nb);
int sl__divided_neighbours_graph(struct sl_device_neighbours *nb, const struct sl_affinities_params *params,
				 struct sl_affinities **summary, struct sl_device_graph **out, struct sl_error *err);
int sl__divided_walk_mass(struct sl_device_graph *g, float *out, struct sl_error *err);
int sl__divided_walk_components(struct sl_device_graph *g, uint32_t *label, struct sl_error *err);
int sl__divided_walk_filter(struct sl_device_graph *g, int k, int steps, const float *slope, const float *shift,
			    float **before, float **x, struct sl_error *err);
int sl__divided_create(struct sl_device_graph *g, const struct sl_settings *s, const float *y0,
		       struct sl_device_embedding **out, struct sl_error *err);
void sl__divided_destroy(struct sl_device_embedding *e);
int sl__divided_run(struct sl_device_embedding *e, const struct sl_step *step, int iterations, struct sl_error *err);
int sl__divided_measure(struct sl_device_embedding *e, struct sl_measure *out, struct sl_error *err);
int sl__divided_snapshot(struct sl_device_embedding *e, float *y, struct sl_error *err);
int sl__divided_snapshot_start(struct sl_device_embedding *e, bool quantise, struct sl_device_snapshot **out,
			       struct sl_error *err);
int sl__divided_rescale(struct sl_device_embedding *e, float factor, struct sl_error *err);
int sl__divided_state_save(struct sl_device_embedding *e, void *out, struct sl_error *err);
int sl__divided_state_load(struct sl_device_embedding *e, const void *state, uint64_t bytes, struct sl_error *err);
int sl__divided_forces(struct sl_device_embedding *e, float *attraction, float *repulsion, double *z,
		       struct sl_error *err);
int sl__divided_phases(struct sl_device_embedding *e, struct sl_phase *out, int max, struct sl_error *err);

#endif
