/* embedding.h -- an embedding of the CUDA engine, for the host code of this folder.
 *
 *   embedding.c  memory, life, to the device and back, checkpoints
 *   choice.c     which grids a layout gets
 *   iteration.c  an iteration as a CUDA graph, and running many
 *   measure.c    measuring the layout
 *
 * The host never looks at a layout while it runs iterations. It picks a grid that has room for the layout to
 * grow, queues a stretch of iterations as CUDA graphs, and reads one small report when all of them are through. The
 * device itself checks, at the end of each iteration, whether the layout still fits the grid; if not, all iterations
 * queued behind do nothing, and the host continues from there with another grid. So which grid an
 * iteration uses depends on the layouts before it alone, never on how the run was cut into stretches. */
#ifndef SL_GPU_EMBEDDING_H
#define SL_GPU_EMBEDDING_H

#include "gpu/embedding/hybrid.h"
#include "gpu/embedding/plans.h"
#include "gpu/layout/layout.h"

#define GRAPHS_MAX 24      /* instantiated graphs an embedding keeps */
#define STRETCH_FIRST 8    /* iterations queued after a change of grid, and at most */
#define STRETCH_MAX 64
#define SIDE_MOST (1 << 20)
#define SPLIT_NODES 20000

/* The parts of an iteration, for timing; or all of it. */
enum sl_part {
	SL_PART_ATTRACTION, SL_PART_CONVOLVE, SL_PART_CONVOLVE_FAR, SL_PART_ALL_PAIRS, SL_PART_READ, SL_PART_STEP,
	SL_PART_PAIRS, SL_PART_ALL,
};

struct iteration_graph {
	int side, coarse;  /* side 0: all pairs; coarse 0: one grid, -1: one smooth one */
	bool settle;
	uint64_t generation;
	uint64_t last_use;
	cudaGraphExec_t once, unrolled;
};

struct sl_device_embedding {
	struct sl_device_graph *graph;
	struct sl_settings settings;
	uint32_t n;
	int stride;                 /* floats a point */
	double nu, scale;           /* degrees of freedom of the kernel; their root, by which y is divided on the device */
	char *memory;               /* device; all below lies in it */
	uint64_t bytes;
	struct sl_particles points;
	float *partial;             /* [splits][n * stride], all pairs */
	int splits;
	double *part;
	struct sl_control *control;
	struct sl_report report;    /* as of the last synchronisation */
	bool chosen, exact;         /* repulsion of the present iteration */
	bool settle;                /* as in struct sl_step: positions are not rounded so that it shows */
	struct sl_grid grid[SL_LEVELS];  /* when chosen and not exact; levels of them */
	int levels;
	float reach, shrink;        /* layouts that they serve */
	struct sl_plan *plan[SL_LEVELS];  /* held; NULL where there is none yet */
	struct iteration_graph graphs[GRAPHS_MAX];
	uint64_t clock;
	int stretch;
	struct sl_grid cutoff_grid;   /* a smooth one, whose near part is `kernel` */
	struct sl_grid_cutoff kernel;
	struct sl_cutoff_cells cells;      /* where pairs are possible: what depends on n; see sl__cutoff_cells() */
	uint64_t candidates_most;   /* beyond which a smooth grid is given up */
	struct sl_small_state small;
	struct sl_hybrid *hybrid;   /* NULL: P is on the device */
};

static inline int sl__stride(int dims) { return dims == 3 ? 4 : dims; }
/* As struct sl_grid has it. */
static inline double sl__exponent(const struct sl_device_embedding *e) { return e->nu == 1 ? 0 : e->nu; }

/* Is the repulsion of the present iteration that of a smooth grid and of the pairs beside it? */
static inline bool sl__is_smooth(const struct sl_device_embedding *e)
{
	return !e->exact && e->levels == 1 && e->grid[0].part == SL_GRID_SMOOTH;
}

/* Few nodes in 3-D get wide windows throughout: they take little more time there, and what narrow ones leave is noise,
 * for which such layouts end at KL divergences up to 0.4 % higher. */
static inline bool sl__are_few(uint32_t n, int dims) { return dims == 3 && n < SPLIT_NODES; }

/* Its grids' windows, but for smooth ones. */
static inline int sl__window_width(const struct sl_device_embedding *e)
{
	const struct sl_settings *s = &e->settings;
	return sl__are_few(e->n, s->dims) ? SL_WINDOW_MAX : sl_grid_narrow_window(s->dims, s->accuracy);
}

/* Is the repulsion read by itself, while the attraction still runs, and move.cu's the step? One kernel more, which pays
 * from some nodes on: by measurement pbmc's 8,381 nodes take 28 us an iteration then instead of 24, MNIST 66 instead of
 * 71, in 3-D both kernels 35 instead of 43 us. move.cu has no wide windows in 3-D. */
static inline bool sl__is_split(const struct sl_device_embedding *e)
{
	bool moves = e->settings.dims == 2 || (e->settings.dims == 3 && e->grid[0].window == SL_WINDOW_NARROW);
	return !e->exact && moves && e->n >= SPLIT_NODES;
}

/* ---- embedding.c; the first seven are those of struct sl_engine ---- */

uint64_t sl__embedding_bytes(uint32_t n, const struct sl_settings *s);
int sl__embedding_create(struct sl_device_graph *g, const struct sl_settings *s, const float *y0,
			 struct sl_device_embedding **out, struct sl_error *err);
void sl__embedding_destroy(struct sl_device_embedding *e);
int sl__rescale(struct sl_device_embedding *e, float factor, struct sl_error *err);
uint64_t sl__state_bytes(const struct sl_device_embedding *e);
int sl__state_save(struct sl_device_embedding *e, void *out, struct sl_error *err);
int sl__state_load(struct sl_device_embedding *e, const void *state, uint64_t bytes, struct sl_error *err);

/* May all pairs be computed in some iteration? May those within a cut-off? */
bool sl__may_be_exact(uint32_t n, const struct sl_settings *s);
bool sl__may_be_smooth(uint32_t n, const struct sl_settings *s);
/* The embedding's cells with the arrays of them in g. */
struct sl_cutoff_cells sl__cutoff_cells(const struct sl_device_embedding *e, const struct sl_grid_memory *g);
/* Of one array of points, in device memory. */
uint64_t sl__point_bytes(uint32_t n, const struct sl_settings *s);
/* n points from [n * stride] on the device to [n * dims] here; waits. */
int sl__points_down(struct sl_device_embedding *e, float *to, const float *from, struct sl_error *err);
/* Orders and report to the device, the report as it was but for its state. step NULL: the layout is not to move. */
int sl__control_up(struct sl_device_embedding *e, const struct sl_step *step, struct sl_error *err);
/* Waits for all that is queued. */
int sl__report_down(struct sl_device_embedding *e, struct sl_error *err);
/* Bounds of the layout as it stands, into the report. */
int sl__bound(struct sl_device_embedding *e, struct sl_error *err);

/* ---- measure.c and phases.c; all but the first are those of struct sl_engine ---- */

/* Both forces of the layout as it stands, into points and report. settle: as in struct sl_step. */
int sl__forces_now(struct sl_device_embedding *e, bool settle, struct sl_error *err);
int sl__embedding_measure(struct sl_device_embedding *e, struct sl_measure *out, struct sl_error *err);
int sl__embedding_snapshot(struct sl_device_embedding *e, float *y, struct sl_error *err);
int sl__embedding_snapshot_start(struct sl_device_embedding *e, bool quantise, struct sl_device_snapshot **out,
				 struct sl_error *err);
int sl__embedding_forces(struct sl_device_embedding *e, float *attraction, float *repulsion, double *z,
			 struct sl_error *err);
int sl__embedding_phases(struct sl_device_embedding *e, struct sl_phase *out, int max, struct sl_error *err);
int sl__device_copy_bandwidth(struct sl_device *d, double *bytes_per_second, struct sl_error *err);

/* ---- choice.c ---- */

/* Are two grids of these sides ever chosen? A smooth one like that? */
bool sl__pair_known(int dims, int side, int coarse);
bool sl__smooth_known(uint32_t n, const struct sl_settings *s, const struct sl_grid *g);
/* Grids (or all pairs), work and plans for the layout as it stands. */
int sl__prepare(struct sl_device_embedding *e, struct sl_error *err);

/* ---- iteration.c; the first three are those of struct sl_engine ---- */

int sl__run(struct sl_device_embedding *e, const struct sl_step *step, int iterations, struct sl_error *err);
bool sl__joins(const struct sl_device_embedding *e);
int sl__run_many(struct sl_run *run, int count, struct sl_error *err);
/* One stretch of a small embedding. */
int sl__run_small(struct sl_device_embedding *e, struct sl_stretch *stretch, struct sl_error *err);
/* The layout as it stands on the grids, if it is not there already. After sl__control_up(). */
int sl__put_on_grids(struct sl_device_embedding *e, struct sl_error *err);
/* Queues both forces (the attraction on a stream of its own) and what `kind` makes of them. */
int sl__queue(struct sl_device_embedding *e, enum sl_step_kind kind, struct sl_error *err);
int sl__queue_part(struct sl_device_embedding *e, enum sl_part part, struct sl_error *err);
/* The part, so many times, as a graph. */
int sl__capture(struct sl_device_embedding *e, enum sl_part part, int repeats, cudaGraphExec_t *out,
		struct sl_error *err);
void sl__iteration_graph_drop(struct iteration_graph *g);

#endif
