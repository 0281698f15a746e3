/* resident.h -- neighbours that stay on the device: the functions of struct sl_engine that put and drop them, and make
 * P from them. */
#ifndef SL_GPU_RESIDENT_H
#define SL_GPU_RESIDENT_H

#include "gpu/graph/graph.h"

struct sl_neighbours;
struct sl_affinities;
struct sl_affinities_params;

int sl__neighbours_put(struct sl_device *d, const struct sl_neighbours *nb, struct sl_device_neighbours **out,
		       struct sl_error *err);
void sl__neighbours_drop(struct sl_device_neighbours *nb);  /* NULL is fine */
int sl__neighbours_graph(struct sl_device_neighbours *nb, const struct sl_affinities_params *params,
			 struct sl_affinities **summary, struct sl_device_graph **out, struct sl_error *err);

#endif
