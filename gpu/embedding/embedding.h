/* embedding.h -- an embedding of the CUDA engine, for the host code of this folder.
 *
 *   embedding.c  memory, creation and destruction, copies to and from the device, checkpoints
 *   choice.c     chooses the grids for a layout
 *   iteration.c  an iteration as a CUDA graph; runs of many iterations
 *   measure.c    measures the layout
 *   phases.c     times the parts of an iteration
 *   plans.c      work memory, transforms, spectra
 *   snapshot.c   copies layouts to the host while iterations go on
 *   hybrid.c     attraction on the host
 *   divided.c    what the ranks of a group exchange
 *
 * The host does not read the layout while iterations run. It picks a grid that has room for the layout to grow, queues
 * a stretch of iterations as CUDA graphs, and reads one small report when all of them are through. At the end of each
 * iteration the device checks whether the layout still fits the grid. If it does not, all iterations queued behind do
 * nothing, and the host continues from there with another grid. So the grid of an iteration depends only on the layouts
 * before it, not on the division of the run into stretches.
 *
 * Times in this file: one NVIDIA H200, until 2026-11-23; commands: docs/notes/gpu-layout.md. */
#ifndef SL_GPU_EMBEDDING_H
#define SL_GPU_EMBEDDING_H

#include "gpu/embedding/hybrid.h"
#include "gpu/embedding/plans.h"
#include "gpu/layout/layout.h"
#include "gpu/tree/tree.h"

#include "core/params.h"

#define GRAPHS_MAX 24      /* instantiated CUDA graphs that an embedding keeps */
#define STRETCH_FIRST 8    /* iterations queued after a change of grids; STRETCH_MAX: at most */
#define STRETCH_MAX 64
#define SIDE_MOST (1 << 20)
#define SPLIT_NODES 20000

/* The parts of an iteration, for timing; SL_PART_ALL is the whole iteration. */
enum sl_part {
	SL_PART_ATTRACTION, SL_PART_CONVOLVE, SL_PART_CONVOLVE_FAR, SL_PART_ALL_PAIRS, SL_PART_READ, SL_PART_STEP,
	SL_PART_PAIRS, SL_PART_TREE, SL_PART_TREE_SUMS, SL_PART_CHARGES, SL_PART_GATHER, SL_PART_ALL,
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
	double nu, scale;           /* degrees of freedom of the kernel; their square root, which divides y on the device */
	char *memory;               /* device memory that holds all arrays below */
	uint64_t bytes;
	struct sl_particles points;
	struct sl_particles own;    /* the nodes of this rank of a group; all, if the graph is not divided */
	bool fresh;                 /* points.y is that of all nodes, not only of this rank's; see divided.c */
	struct sl_device_embedding *of_rank[SL_RANKS_MAX];  /* of rank 0: those of all ranks. [0] NULL: not divided */
	float *partial;             /* [splits][n * stride], sums over all pairs or over the tree */
	int splits;
	double *part;
	struct sl_control *control;
	struct sl_report report;    /* as of the last synchronisation */
	bool chosen, exact;         /* chosen: the repulsion's method is chosen; exact: all pairs or the tree, no grids */
	bool settle;                /* as in struct sl_step: positions are read without rounding */
	struct sl_grid grid[SL_LEVELS];  /* the first `levels`, if chosen and not exact */
	int levels;
	float reach, shrink;        /* the grids serve layouts of longest side shrink .. reach */
	struct sl_plan *plan[SL_LEVELS];  /* references; NULL if not yet taken */
	struct iteration_graph graphs[GRAPHS_MAX];
	uint64_t clock;
	int stretch;
	struct sl_grid cutoff_grid;   /* the smooth grid that `kernel` was made for */
	struct sl_grid_cutoff kernel; /* the near part of the kernel */
	struct sl_cutoff_cells cells;      /* the arrays that depend on n, if pairs are possible; see sl__cutoff_cells() */
	uint64_t candidates_most;   /* with more candidates, the smooth grid is given up */
	struct sl_tree_memory tree;  /* for the repulsion barnes_hut */
	struct sl_small_state small;
	struct sl_hybrid *hybrid;   /* NULL: P is on the device */
};

static inline int sl__stride(int dims) { return dims == 3 ? 4 : dims; }
/* The exponent field of struct sl_grid. */
static inline double sl__exponent(const struct sl_device_embedding *e) { return e->nu == 1 ? 0 : e->nu; }

static inline bool sl__is_tree(const struct sl_settings *s) { return s->repulsion == SL_REPULSION_BARNES_HUT; }

/* True if the repulsion comes from a smooth grid and pairs within a cut-off. */
static inline bool sl__is_smooth(const struct sl_device_embedding *e)
{
	return !e->exact && e->levels == 1 && e->grid[0].part == SL_GRID_SMOOTH;
}

/* True for few nodes in 3-D, which always get wide windows. These take little more time there. The error of narrow
 * windows acts as noise, with which such layouts ended at KL divergences up to 0.4 % higher. */
static inline bool sl__are_few(uint32_t n, int dims) { return dims == 3 && n < SPLIT_NODES; }

/* Width of the windows of the embedding's grids, except smooth ones. */
static inline int sl__window_width(const struct sl_device_embedding *e)
{
	const struct sl_settings *s = &e->settings;
	return sl__are_few(e->n, s->dims) ? SL_WINDOW_MAX : sl_grid_narrow_window(s->dims, s->accuracy);
}

/* True if a separate kernel reads the repulsion while the attraction runs, and move.cu takes the step. The additional
 * kernel pays for large layouts: with it, an iteration on pbmc (8,381 nodes) takes 28 us instead of 24, on MNIST 66 us
 * instead of 71; in 3-D both kernels take 35 us instead of 43. move.cu has no wide windows in 3-D. */
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

/* True if some iteration may compute all pairs; _smooth: the pairs within a cut-off. */
bool sl__may_be_exact(uint32_t n, const struct sl_settings *s);
bool sl__may_be_smooth(uint32_t n, const struct sl_settings *s);
/* True if the present grids are too coarse for the layout: it is wider than the largest ones, and pairs cost too
 * much. */
bool sl__is_coarse(const struct sl_device_embedding *e);
/* The embedding's cells, with the arrays that g holds for them. */
struct sl_cutoff_cells sl__cutoff_cells(const struct sl_device_embedding *e, const struct sl_grid_memory *g);
/* Bytes of one array of n points in device memory. */
uint64_t sl__point_bytes(uint32_t n, const struct sl_settings *s);
/* Copies n points from [n * stride] on the device to [n * dims] on the host; waits. */
int sl__points_down(struct sl_device_embedding *e, float *to, const float *from, struct sl_error *err);
/* Copies orders and report to the device. Of the report, only the state changes. step NULL: the layout must not
 * move. */
int sl__control_up(struct sl_device_embedding *e, const struct sl_step *step, struct sl_error *err);
/* Copies the report to the host, after all kernels that are queued. */
int sl__report_down(struct sl_device_embedding *e, struct sl_error *err);

/* ---- measure.c and phases.c; all but the first are those of struct sl_engine ---- */

/* Computes both forces of the present layout, into points and report. settle: as in struct sl_step. */
int sl__forces_now(struct sl_device_embedding *e, bool settle, struct sl_error *err);
int sl__embedding_measure(struct sl_device_embedding *e, struct sl_measure *out, struct sl_error *err);
int sl__embedding_snapshot(struct sl_device_embedding *e, float *y, struct sl_error *err);
int sl__embedding_snapshot_start(struct sl_device_embedding *e, bool quantise, struct sl_device_snapshot **out,
				 struct sl_error *err);
int sl__embedding_forces(struct sl_device_embedding *e, float *attraction, float *repulsion, double *z,
			 struct sl_error *err);
int sl__embedding_phases(struct sl_device_embedding *e, struct sl_phase *out, int max, struct sl_error *err);
int sl__device_copy_bandwidth(struct sl_device *d, double *bytes_per_second, struct sl_error *err);

/* ---- divided.c; for a graph that is not divided, all but the first four do nothing ---- */

/* True if the attraction reads rounded positions. */
bool sl__reads_rounded(const struct sl_device_embedding *e);
/* Sets `own` and `fresh`, once `points` is complete. */
void sl__divided_set_up(struct sl_device_embedding *e);
/* Where all ranks find the bounds of each rank's nodes, [ranks][8], after the sum of charges; SL_BOX_BYTES bytes, 0
 * before the step, and each rank writes its own. */
float *sl__boxes(const struct sl_device_embedding *e);
/* Where `partial` has the sums of this rank's nodes; NULL if there are none. */
const float *sl__own_partial(const struct sl_device_embedding *e);
/* After points are spread: adds the charges of all ranks. After the step: does that, and ends the iteration. Before the
 * forces: gathers what they need; if gathers_beside(), only the attraction. All three can be captured. */
int sl__queue_charges(struct sl_device_embedding *e, cudaStream_t stream, struct sl_error *err);
int sl__queue_close(struct sl_device_embedding *e, cudaStream_t stream, struct sl_error *err);
int sl__queue_gather(struct sl_device_embedding *e, cudaStream_t stream, struct sl_error *err);
bool sl__gathers_beside(const struct sl_device_embedding *e);
/* Gathers points.y, if it is not fresh. */
int sl__freshen(struct sl_device_embedding *e, struct sl_error *err);
/* A meeting of the ranks, before they put a layout on its grids: if one of them has lost the charges, all spread anew.
 * code: as in sl__group_meet(), and returned if the graph is not divided. */
int sl__meet_owners(struct sl_device_embedding *e, int code, struct sl_error *err);
/* Gathers two arrays of points [n * stride] from the ranks of their nodes. */
int sl__gather_points(struct sl_device_embedding *e, float *one, float *other, struct sl_error *err);
/* Adds the report's divergence and square over all ranks. */
int sl__add_measures(struct sl_device_embedding *e, struct sl_error *err);

/* ---- choice.c ---- */

/* True if two grids of these sides are ever chosen; _smooth: this smooth grid. A checkpoint must not hold others. */
bool sl__pair_known(int dims, int side, int coarse);
bool sl__smooth_known(uint32_t n, const struct sl_settings *s, const struct sl_grid *g);
/* Chooses grids (or all pairs) for the present layout, reserves work memory and takes plans. */
int sl__prepare(struct sl_device_embedding *e, struct sl_error *err);

/* ---- iteration.c; the first three are those of struct sl_engine ---- */

size_t sl__charge_bytes(const struct sl_grid_memory *g);
int sl__run(struct sl_device_embedding *e, const struct sl_step *step, int iterations, struct sl_error *err);
bool sl__joins(const struct sl_device_embedding *e);
int sl__run_many(struct sl_run *run, int count, struct sl_error *err);
/* Runs one stretch of a small embedding. */
int sl__run_small(struct sl_device_embedding *e, struct sl_stretch *stretch, struct sl_error *err);
/* Spreads the present layout over the grids, if they do not hold it already. After sl__control_up(). */
int sl__put_on_grids(struct sl_device_embedding *e, struct sl_error *err);
/* Queues both forces (the attraction on a stream of its own) and the step of that kind. */
int sl__queue(struct sl_device_embedding *e, enum sl_step_kind kind, struct sl_error *err);
int sl__queue_part(struct sl_device_embedding *e, enum sl_part part, struct sl_error *err);
/* Captures the part, `repeats` times, as a CUDA graph. */
int sl__capture(struct sl_device_embedding *e, enum sl_part part, int repeats, cudaGraphExec_t *out,
		struct sl_error *err);
void sl__iteration_graph_drop(struct iteration_graph *g);

#endif
