/* Lays out the arrays of a tree in device memory. */
#include "gpu/tree/tree.h"

#include <math.h>

#include "gpu/device/device.h"

#define TILE_BITS_LEAST 10
#define TILES_MOST 512      /* each block of the sort reads the counts of all tiles */
#define SPLIT_MOST 250000u  /* points up to which several warps share a group; beyond, one is enough */

void sl__tree_lay_out(struct sl_tree_memory *t, uint32_t n, int dims, double theta, char **at)
{
	uint64_t stride = dims == 3 ? 4 : (uint64_t)dims, points = n;
	uint32_t cells = (uint32_t)((points + SL_TREE_LEAF - 1) / SL_TREE_LEAF);
	*t = (struct sl_tree_memory){.n = n, .dims = dims, .tile_bits = TILE_BITS_LEAST, .warps = n > SPLIT_MOST ? 1 : 4};
	t->inverse_theta2 = theta > 0 ? (float)(1 / (theta * theta)) : INFINITY;
	while (points >> t->tile_bits > TILES_MOST)
		t->tile_bits++;
	do {
		t->first[t->levels + 1] = t->first[t->levels] + cells;
		t->levels++;
		cells = (cells + 3) / 4;
	} while (t->first[t->levels] - t->first[t->levels - 1] > SL_TREE_TOP);
	uint64_t tiles = (points + (1ull << t->tile_bits) - 1) >> t->tile_bits;
	for (int i = 0; i < 2; i++) {
		t->key[i] = sl__carve(at, points * sizeof *t->key[i]);
		t->index[i] = sl__carve(at, points * sizeof *t->index[i]);
	}
	t->count = sl__carve(at, tiles * SL_TREE_PASSES * SL_TREE_DIGITS * sizeof *t->count);
	t->at = sl__carve(at, points * stride * sizeof *t->at);
	t->cell = sl__carve(at, t->first[t->levels] * sizeof *t->cell);
	uint32_t boxes = t->levels > 3 ? t->first[t->levels] - t->first[3] : 0;
	t->box = sl__carve(at, boxes * sizeof *t->box);
	t->part = sl__carve(at, (points / SL_TREE_GROUP + 1) * sizeof *t->part);
}
