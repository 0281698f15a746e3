/* find.h -- finds the k nearest neighbours of all points. It chooses between three searches: the exact one (exact/), an
 * inverted file (inverted/), and an inverted file with product codes for points that exceed device memory (codes/). */
#ifndef SL_GPU_FIND_H
#define SL_GPU_FIND_H

#include "core/neighbours/neighbours.h"

struct sl_points;

/* Searches on GPU `index` with at most memory_bytes of its memory (0: what is free). The caller frees *out. */
int sl__neighbours_find(int index, uint64_t memory_bytes, const struct sl_points *p,
			const struct sl_neighbours_params *params, struct sl_neighbours **out, struct sl_error *err);

#endif
