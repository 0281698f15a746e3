/* cooperative_groups.h -- the part of CUDA's header that gpu/ uses: clusters of blocks. */
#ifndef SL_EMULATED_COOPERATIVE_GROUPS_H
#define SL_EMULATED_COOPERATIVE_GROUPS_H

#include "tests/emulated/blocks.h"

namespace cooperative_groups {

struct cluster_group {
	unsigned block_rank() const { return emulated::self->block->rank; }
	unsigned num_blocks() const { return emulated::self->block->ranks; }
	void sync() const { emulated::cluster_barrier(); }
	template <class T> T *map_shared_rank(T *mine, unsigned rank) const
	{
		return (T *)emulated::cluster_memory((void *)mine, rank);
	}
};

static inline cluster_group this_cluster() { return cluster_group(); }

} // namespace cooperative_groups

#endif
