/* small.h -- small embeddings: whole jobs side by side, each inside one cluster of thread blocks.
 *
 * A graph of a thousand nodes cannot fill a GPU, and with one kernel for each step, latency would take nearly all the
 * time of an iteration. So each small embedding is given to one cluster of 1 to 16 blocks, which keeps the layout,
 * and P if there is room, in its shared memory and runs many iterations (and the measures between them) in one
 * launch, all pairs; as many embeddings as are ready go into the same launch and share the multiprocessors. How many
 * blocks a cluster has depends on the number of nodes alone, and every sum has a fixed order: an embedding gives the
 * same bytes alone or beside others.
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

#define SL_SMALL_NODES 2048    /* more than that: the whole device for one embedding is faster */
#define SL_SMALL_STRETCHES 16  /* of one embedding in one launch */
#define SL_SMALL_JOBS 128      /* in one launch */
#define SL_SMALL_RANKS 16      /* blocks a cluster, at most */

/* P of a small graph: as in the affinities, node numbers in 16 bits. */
struct sl_small_graph {
	uint32_t *start;  /* device, [n + 1]; NULL: not a small graph */
	uint16_t *node;   /* [m] */
	float *p;         /* [m] */
	float *mass;      /* [n] */
	uint32_t share;   /* most entries of the rows of one block */
	uint64_t bytes;
};

/* The kernel's description of one embedding. */
struct sl_small_job {
	uint32_t n, cached;                 /* cached: P fits into shared memory */
	struct sl_small_graph graph;
	float *y, *velocity, *gain;         /* [n * stride] */
	uint64_t iteration;                 /* done before, for Adam */
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

/* ... and tells. measure: of the stretches that asked for one. */
struct sl_small_result {
	uint32_t iterations, bad;           /* bad: a coordinate is beyond 1e15 or no number */
	float low[3], high[3];
	struct sl_small_measure measure[SL_SMALL_STRETCHES];
};

/* Blocks a cluster for n nodes, on a device whose widest has so many. */
int sl__small_ranks(uint32_t n, int widest);
/* Shared memory of a block without and with a share of P; the largest that there is. */
uint32_t sl__small_shared(uint32_t n, int dims, int ranks, uint32_t entries);
#define SL_SMALL_SHARED_MAX (220u << 10)

/* Once per device that has clusters; blocks of the widest. */
cudaError_t sl__small_init(int *widest);
/* Fills `to` from P as floats. */
cudaError_t sl__small_convert(const struct sl_rows *from, const struct sl_small_graph *to, cudaStream_t stream);
/* jobs [count] and results [count] in device memory; all of these dims and ranks. heavy: their nu is not 1. */
cudaError_t sl__small_run(const struct sl_small_job *jobs, struct sl_small_result *results, int count, int dims,
			  bool heavy, int ranks, uint32_t shared_bytes, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

/* ---- small.c ---- */

/* What small.c has to know of an embedding. */
struct sl_small_state {
	bool on;                        /* its iterations are small.c's */
	bool adam;
	struct sl_device *device;
	const struct sl_small_graph *graph;
	double entropy;                 /* of P */
	const struct sl_particles *points;
	struct sl_report *report;       /* the host's */
	double nu, scale;               /* degrees of freedom of the kernel; by what y is divided on the device */
};

int sl__small_open(struct sl_device *d, struct sl_error *err);
void sl__small_close(struct sl_device *d);
bool sl__small_takes(const struct sl_device *d, uint32_t n);
/* All rows of a graph with m entries, as small embeddings want them; nothing for graphs that are not small. */
int sl__small_attach(struct sl_device *d, const struct sl_rows *rows, uint64_t m, struct sl_small_graph *out,
		     struct sl_error *err);
void sl__small_drop(struct sl_device *d, struct sl_small_graph *g);
/* The initial layout to the device, without waiting; the report as of it. */
int sl__small_fill(struct sl_small_state *s, const float *y0, struct sl_error *err);
/* state[i]: of run[i].embedding. */
int sl__small_many(struct sl_device *d, struct sl_run *run, struct sl_small_state **state, int count,
		   struct sl_error *err);

#endif
