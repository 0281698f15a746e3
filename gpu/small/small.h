/* small.h -- small embeddings: whole jobs side by side, each in one cluster of thread blocks.
 *
 * A graph of a thousand nodes cannot fill a GPU, and with one kernel for each step, latency would take nearly all the
 * time of an iteration. So each small embedding runs in one cluster of 1 to 16 blocks. The cluster keeps the layout in
 * its shared memory, and P if there is room. It runs many iterations, over all pairs, and the measurements between them
 * in one launch. All embeddings that are ready share a launch and the multiprocessors. The number of blocks of a
 * cluster depends only on the number of nodes, and every sum has a fixed order, so an embedding gives the same bytes
 * alone or beside others.
 *
 * Thread block clusters need compute capability 9.0; on older devices, and on those whose blocks have less shared
 * memory than SL_SMALL_SHARED_MAX, there are no small embeddings. */
#ifndef SL_GPU_SMALL_H
#define SL_GPU_SMALL_H

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/engine/engine.h"
#include "gpu/device/device.h"
#include "gpu/state/control.h"
#include "gpu/state/matrix.h"
#include "gpu/state/particles.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SL_SMALL_NODES 2048    /* with more nodes, using the whole device for one embedding is faster */
#define SL_SMALL_STRETCHES 16  /* most stretches of one embedding in one launch */
#define SL_SMALL_JOBS 128      /* most embeddings in one launch */
#define SL_SMALL_RANKS 16      /* most blocks of a cluster */

/* P of a small graph: as in the affinities, with node numbers of 16 bits. */
struct sl_small_graph {
	uint32_t *start;  /* device, [n + 1]; NULL: not a small graph */
	uint16_t *node;   /* [m] */
	float *p;         /* [m] */
	float *mass;      /* [n] */
	uint32_t share;   /* the most entries of a block */
	uint64_t bytes;
};

/* The kernel's description of one embedding. */
struct sl_small_job {
	uint32_t n, cached;                 /* cached: shared memory holds P */
	struct sl_small_graph graph;
	float *y, *velocity, *gain;         /* [n * stride] */
	uint64_t iteration;                 /* iterations done before, for Adam */
	float nu;                           /* degrees of freedom: the kernel is (1 + r^2)^-nu */
	int32_t adam, stretches;
	struct {
		struct sl_step step;         /* filled */
		int32_t iterations, measure;
	} stretch[SL_SMALL_STRETCHES];
};

struct sl_small_measure {
	double z, divergence, square;
	float low[3], high[3];
};

/* The kernel's result for one embedding. measure: of those stretches that request one. */
struct sl_small_result {
	uint32_t iterations, bad;           /* bad: a coordinate is beyond 1e15 or not a number */
	float low[3], high[3];
	struct sl_small_measure measure[SL_SMALL_STRETCHES];
};

/* The number of blocks of a cluster for n nodes. widest: that of the device's widest cluster. */
int sl__small_ranks(uint32_t n, int widest);
/* Shared memory of a block that holds so many entries of P; at most SL_SMALL_SHARED_MAX. */
uint32_t sl__small_shared(uint32_t n, int dims, int ranks, uint32_t entries);
#define SL_SMALL_SHARED_MAX (220u << 10)

/* Once per device that has clusters. *widest: blocks of its widest cluster. */
cudaError_t sl__small_init(int *widest);
/* Fills `to` from rows of P. */
cudaError_t sl__small_convert(const struct sl_rows *from, const struct sl_small_graph *to, cudaStream_t stream);
/* Runs jobs[count], writes results[count]; both in device memory. All jobs have the same dims and ranks. heavy: their
 * nu is not 1. */
cudaError_t sl__small_run(const struct sl_small_job *jobs, struct sl_small_result *results, int count, int dims,
			  bool heavy, int ranks, uint32_t shared_bytes, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

/* ---- small.c ---- */

/* The data of an embedding that small.c uses. */
struct sl_small_state {
	bool on;                        /* small.c runs its iterations */
	bool adam;
	struct sl_device *device;
	const struct sl_small_graph *graph;
	double entropy;                 /* of P */
	const struct sl_particles *points;
	struct sl_report *report;       /* the host's */
	double nu, scale;               /* degrees of freedom of the kernel; y is divided by scale on the device */
};

int sl__small_open(struct sl_device *d, struct sl_error *err);
void sl__small_close(struct sl_device *d);
bool sl__small_takes(const struct sl_device *d, uint32_t n);
/* Makes *out from all rows of a graph with m entries. Leaves it empty if the graph is not small. */
int sl__small_attach(struct sl_device *d, const struct sl_rows *rows, uint64_t m, struct sl_small_graph *out,
		     struct sl_error *err);
void sl__small_drop(struct sl_device *d, struct sl_small_graph *g);
/* Copies the initial layout to the device, without waiting, and sets the report for it. */
int sl__small_fill(struct sl_small_state *s, const float *y0, struct sl_error *err);
/* Runs many embeddings together. state[i]: the state of run[i].embedding. */
int sl__small_many(struct sl_device *d, struct sl_run *run, struct sl_small_state **state, int count,
		   struct sl_error *err);

#endif
