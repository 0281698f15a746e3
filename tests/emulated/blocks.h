/* blocks.h -- blocks of threads on the CPU; see blocks.cc, and device.h, which kernels include. */
#ifndef SL_EMULATED_BLOCKS_H
#define SL_EMULATED_BLOCKS_H

#include <cuda_runtime_api.h>
#include <stdint.h>

#include <functional>

namespace emulated {

struct shape {
	dim3 blocks, threads;
	size_t shared;     /* bytes of dynamic shared memory */
	unsigned cluster;  /* blocks */
};

/* Operations of a warp. Lanes that wait at different operations are an error. */
enum operation { NOTHING, SYNC, SHUFFLE, VOTE, REDUCE, LOAD_MATRICES, MULTIPLY };

#define LANE_BYTES 64

struct block;

struct warp {
	uint32_t generation;  /* number of complete exchanges */
	uint32_t arrived, alive;
	uint32_t mask;
	operation what;
	/* Of the present exchange and the previous one, since a lane may be one exchange ahead. */
	uint32_t came[2];
	alignas(16) char slot[2][32 * LANE_BYTES];
};

struct thread {
	uint3 index;
	unsigned number;      /* in the block */
	struct block *block;
	struct warp *warp;
	void *stack;          /* where it continues */
	const uint32_t *wait; /* waits while *wait equals `value`; NULL: it can continue */
	uint32_t value;
	bool done;
};

struct block {
	uint3 index;
	dim3 threads, blocks;
	char *memory;         /* dynamic shared memory */
	unsigned rank, ranks; /* in its cluster */
};

extern thread_local struct thread *self;

/* Runs a kernel, or adds it to the graph that the calling thread captures. body: the code of one thread. */
cudaError_t launch(const void *kernel, const struct shape &shape, cudaStream_t stream,
		   const std::function<void()> &body);
/* Runs the whole kernel now. */
void run(const struct shape &shape, const std::function<void()> &body);

/* Barrier `id` of the block, for `threads` threads (0: all that have not ended); returns whether any x is set. */
int block_barrier(int id, unsigned threads, int x);
/* Arrives there without waiting. */
void block_arrive(int id, unsigned threads);
/* Exchanges data among all lanes of the mask that have not ended. Returns their data, LANE_BYTES apart, valid until the
 * next exchange. came, if not NULL: gets these lanes. */
const char *warp_exchange(operation what, unsigned mask, const void *mine, size_t bytes, uint32_t *came = NULL);

static inline void *dynamic_shared() { return self->block->memory; }

/* Clusters. */
void cluster_barrier();
void *cluster_memory(void *mine, unsigned rank);  /* the same address in that block's shared memory */

} // namespace emulated

#endif
