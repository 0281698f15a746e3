/* cuda.h -- the parts of the CUDA engine, for the host code of this folder only.
 *
 *   device.c     devices: opening, streams, memory and its budget, errors
 *   plans.c      work memory, transforms, cached kernel spectra
 *   graph.c      P on the device
 *   engine.c     the table of functions; embeddings: embedding.h
 *   small.c      small embeddings, many at once
 *   snapshot.c   layouts on their way to the host while iterations go on
 *   points.c     passes over points, for principal axes
 *   walk.c       products and components for spectral initial layouts
 *   hybrid.c     the hybrid engine: attraction on the host, P stays there
 *   phases.c     how long the parts of an iteration take
 *
 * Kernels, launched as kernels.h has it:
 *   graph.cu     P packed; rows.cuh: how kernels read it
 *   attract.cu   attraction, and the sums over P that a measure needs; rounded.cuh: positions as it gathers them
 *   grid.cu      spreading points, and what the convolution needs around a library's transforms
 *   fft.cu       the convolution in 2-D (fft_rows.cuh), fft_cube.cu in 3-D, elsewhere cuFFT's; fft.cuh: one line's
 *                transform
 *   step.cu      reading the repulsion back, the step, spreading; move.cu: the step of many points
 *                (window.cuh: how a point meets a grid; step.cuh: what both have of a step)
 *   pairs.cu     pairs within a cut-off, which late 3-D layouts have beside a coarse grid
 *   exact.cu     all pairs
 *   small.cu, snapshot.cu, walk.cu, points.cu: those of the .c file of that name; fault.cu: errors for tests
 *   device.cuh   what several kernels need; ptx.cuh: instructions that CUDA C has no name for
 *
 * A device and all that was made on it belong to one thread at a time. Its embeddings take turns, so they share one
 * pair of streams and one set of grids. */
#ifndef SL_GPU_CUDA_H
#define SL_GPU_CUDA_H

#include <cufft.h>

#include "core/engine.h"
#include "core/plan_cache.h"
#include "gpu/kernels.h"
#include "gpu/small.h"

/* ---- errors ---------------------------------------------------------------------- */

/* What a CUDA error means to the caller; clears it if it can be cleared. Returns a code. */
int sl__cuda_failed(struct sl_error *err, cudaError_t status, const char *what);
int sl__cufft_failed(struct sl_error *err, cufftResult status, const char *what);

/* In functions with `code`, `err` and a label `out`. */
#define SL_CUDA(call) do { \
	cudaError_t status_ = (call); \
	if (status_ != cudaSuccess) { \
		code = sl__cuda_failed(err, status_, #call); \
		goto out; \
	} \
} while (0)

#define SL_DIVERGED_DETAIL "The layout has diverged (coordinates beyond 1e15 or not a number); a lower learning rate " \
			   "would be right."

#define SL_CUFFT(call) do { \
	cufftResult status_ = (call); \
	if (status_ != CUFFT_SUCCESS) { \
		code = sl__cufft_failed(err, status_, #call); \
		goto out; \
	} \
} while (0)

/* ---- devices ---------------------------------------------------------------------- */

/* Transforms of one shape, shared by all plans of that length. Without handles where they are our own. */
struct sl_transform {
	int dims, length;
	bool own;  /* fft.cu or fft_cube.cu */
	cufftHandle forward, inverse;
	bool has_forward, has_inverse;
	size_t work_bytes;
	int references;
	uint64_t last_use;
	struct sl_transform *next;
};

struct sl_plan {
	struct sl_cached cached;
	struct sl_grid grid;
	struct sl_transform *transform;  /* counted reference */
	float *spectrum;                 /* device, [(length / 2 + 1)^dims] */
	float *tilt, *gather_weight;     /* of a grid that is fed, see core/grid.h; in the same block of memory */
	int *gather_first, gather_taps;
	double zero, self;               /* see sl_grid_spectrum() */
};

struct sl_plans {
	struct sl_plan_cache cache;
	struct sl_transform *transforms;
};

/* Grids and cuFFT's scratch, one block of memory. Grows; freed with the last plan. */
struct sl_work {
	char *memory;
	uint64_t bytes;
	uint64_t generation;  /* changes with `memory`, and when a transform goes: of captured graphs */
	int levels;           /* laid out in it; 0: nothing */
	const void *owner;    /* the embedding whose layout the charges are of; NULL: they must be cleared */
	struct sl_grid_memory grid[SL_LEVELS];
};

/* Orders and report of an embedding side by side: one copy takes both. */
struct sl_desk {
	struct sl_orders orders;
	struct sl_report report;
};

struct sl_device {
	int index;
	char name[128];
	cudaStream_t stream, side, far;  /* repulsion and all else; attraction; the far level of the repulsion */
	cudaEvent_t fork, join, far_fork, far_join;
	struct sl_desk *desk;         /* pinned */
	struct sl_window window[2];   /* narrow and wide */
	struct sl_plans plans;
	struct sl_work work;
	struct sl_small *small;       /* small.c; NULL: the device has no clusters */
	struct sl_copies *copies;     /* snapshot.c */
	uint64_t total, budget;       /* bytes of the card; for us */
	uint64_t used;                /* all that sl__device_alloc() gave */
	uint64_t graph_bytes, embedding_bytes;  /* of these */
	int threads;                  /* hybrid.c: of the host */
	bool doubles;                 /* hybrid.c: attraction in double precision */
};

int sl__device_open(struct sl_device **out, const struct sl_device_options *options, struct sl_error *err);
void sl__device_close(struct sl_device *d);
/* Around work on the GPU in other threads than the device's: a context that a failure made unusable is not reset, by
 * sl__device_close(), before they have let go of it. */
void sl__context_hold(void);
void sl__context_release(void);
/* Makes d the calling thread's current device. */
int sl__device_enter(struct sl_device *d, struct sl_error *err);

/* Memory within the budget, from a pool that keeps what was freed. what: "a graph of 70000 nodes". */
int sl__device_alloc(struct sl_device *d, uint64_t bytes, const char *what, void *out, struct sl_error *err);
void sl__device_free(struct sl_device *d, void *memory, uint64_t bytes);  /* NULL is fine */

static inline const struct sl_window *sl__window(const struct sl_device *d, const struct sl_grid *g)
{
	return &d->window[g->window != SL_WINDOW_NARROW];
}

/* ---- plans -------------------------------------------------------------------------- */

/* Memory for grids[levels] in d->work, cleared when it held others, and their transforms ready. */
int sl__work_reserve(struct sl_device *d, const struct sl_grid *grids, int levels, struct sl_transform **transforms,
		     struct sl_error *err);
/* Cells a side beside a smooth grid; 0 beside others. */
int sl__near_side(const struct sl_grid *g);
void sl__plans_init(struct sl_plans *plans, uint64_t budget);
/* The plan of a grid, made if need be; counts a user. Takes d->work over. */
int sl__plans_take(struct sl_device *d, const struct sl_grid *g, struct sl_plan **out, struct sl_error *err);
void sl__plans_give(struct sl_device *d, struct sl_plan *plan);  /* NULL is fine */
void sl__plans_clear(struct sl_device *d);  /* all without users */

/* ---- graphs --------------------------------------------------------------------------- */

struct sl_device_graph {
	struct sl_device *device;
	struct sl_matrix matrix;        /* of which only n, m and mass with host */
	const struct sl_affinities *host;  /* hybrid.c: P, borrowed; else NULL */
	double entropy;
	char *memory;
	uint64_t bytes;
	struct sl_rows_report *report;  /* in `memory` */
	struct sl_rows rows;            /* while P is made, in memory of its own */
	uint64_t rows_bytes;
	struct sl_small_graph small;
	uint64_t small_bytes;
};

/* Counters of 32 bits run over by up to the threads of a launch, and charges of more points have no fraction. */
#define SL_GPU_NODES_MAX 0x40000000u
/* SL_TOOBIG for graphs of more nodes. */
int sl__graph_fits(uint32_t n, struct sl_error *err);

/* P of n nodes and m entries: alloc() makes room for it, rows() for some rows of it with so many entries or for all.
 * The caller fills rows (on the device's stream), pack() brings them in; so all rows in their order, and finish().
 * entropy is the caller's. */
int sl__graph_alloc(struct sl_device *d, uint32_t n, uint64_t m, struct sl_device_graph **out, struct sl_error *err);
int sl__graph_rows(struct sl_device_graph *g, uint32_t n, uint64_t entries, struct sl_error *err);
int sl__graph_pack(struct sl_device_graph *g, struct sl_error *err);
int sl__graph_finish(struct sl_device_graph *g, struct sl_error *err);
int sl__graph_put(struct sl_device *d, const struct sl_affinities *a, struct sl_device_graph **out,
		  struct sl_error *err);
void sl__graph_drop(struct sl_device_graph *g);

__attribute__((visibility("default"))) const struct sl_engine *sl_engine_cuda(void);

/* ---- small embeddings ---------------------------------------------------------------- */

/* What small.c has to know of an embedding. */
struct sl_small_state {
	bool on;                        /* its iterations are small.c's */
	bool adam;
	struct sl_device_graph *graph;
	const struct sl_particles *points;
	struct sl_report *report;       /* the host's */
	double nu, scale;               /* as in struct sl_device_embedding */
};

int sl__small_open(struct sl_device *d, struct sl_error *err);
void sl__small_close(struct sl_device *d);
bool sl__small_takes(const struct sl_device *d, uint32_t n);
/* The graph once more, as small embeddings want it, made from g->rows; nothing for graphs that are not small. */
int sl__small_attach(struct sl_device_graph *g, struct sl_error *err);
void sl__small_drop(struct sl_device_graph *g);
/* The initial layout to the device, without waiting; the report as of it. */
int sl__small_fill(struct sl_small_state *s, const float *y0, struct sl_error *err);
/* state[i]: of run[i].embedding. */
int sl__small_many(struct sl_device *d, struct sl_run *run, struct sl_small_state **state, int count,
		   struct sl_error *err);

/* ---- snapshots ------------------------------------------------------------------------- */

int sl__copies_open(struct sl_device *d, struct sl_error *err);
void sl__copies_close(struct sl_device *d);
void sl__copies_trim(struct sl_device *d);  /* frees the buffers that no snapshot uses */
/* low, high: the layout's bounds. scale: what y was divided by. See struct sl_engine for these three. */
int sl__snapshot_start(struct sl_device *d, const struct sl_particles *p, const float low[3], const float high[3],
		       double scale, bool quantise, struct sl_device_snapshot **out, struct sl_error *err);
bool sl__snapshot_ready(struct sl_device_snapshot *s);
int sl__snapshot_finish(struct sl_device_snapshot *s, void *out, float low[3], float *extent, struct sl_error *err);

#endif
