/* find.h -- the k nearest neighbours of all points: the exact search, the inverted file, or the one with codes. */
#ifndef SL_GPU_FIND_H
#define SL_GPU_FIND_H

#include "core/neighbours/neighbours.h"

struct sl_points;

int sl__neighbours_find(int index, uint64_t memory_bytes, const struct sl_points *p,
			const struct sl_neighbours_params *params, struct sl_neighbours **out, struct sl_error *err);

#endif
