/* cpu.h -- the parts of the CPU engine, for its own files only.
 *
 *   engine.c     devices, graphs, embeddings; one iteration
 *   repulsion.c  all pairs, one grid or two, by cost, or a tree; the forces
 *   tree.c       Barnes and Hut's tree
 *   phases.c     how long the parts of an iteration take
 *   plans.c      cached grids: transforms and kernel spectra
 *   convolve.c   potential = grid * kernel, and Z
 *   transfer.c   charges from the fine grid to the coarse one, its potential back
 *   cutoff.c     pairs within a cut-off beside a smooth grid
 *   bins.c       points ordered by grid strip, for spreading without races
 *   kernels.c    inner loops, one table for each instruction set; kernels_pairs.h: those over pairs
 *
 * An iteration is one OpenMP parallel region. Functions marked "team" are called by every
 * thread of it and share their loops out among themselves; none of their results depends on how
 * many threads there are: every sum runs in an order that the data alone decide. */
#ifndef SL_CPU_H
#define SL_CPU_H

#include <fftw3.h>

#include "core/cpu/kernels.h"
#include "core/cpu/tree.h"
#include "core/engine/engine.h"
#include "core/engine/plan_cache.h"
#include "core/params.h"

struct sl_affinities;

/* Columns (and rows) that one transform call takes at a time: a cache line of complex floats. */
#define SL_LINES 8

/* ---- plans ------------------------------------------------------------------------ */

/* Transforms of one length; shared by all plans that need it. */
struct sl_transforms {
	int length;                /* even */
	int lines;                 /* SL_LINES; in 1-D, where there is one row, 1 */
	int references;
	fftwf_plan rows_forward;   /* `lines` real rows, length apart, to complex rows, `pitch` apart */
	fftwf_plan rows_inverse;
	bool apart;                /* the next two: from one place to another, and back; else in place */
	fftwf_plan lines_forward;  /* `lines` interleaved complex columns */
	fftwf_plan lines_inverse;
	struct sl_transforms *next;
};

/* flags: FFTW's. NULL when out of memory (or, with FFTW_WISDOM_ONLY, when nothing is known). */
struct sl_transforms *sl__transforms_create(int length, int lines, unsigned flags);
void sl__transforms_destroy(struct sl_transforms *t);

/* The fine grid's nodes as charges of the coarse grid g, g->through apart. The weights in one dimension, listed
 * twice: by fine node, the SL_WINDOW_LANES coarse ones from first[] on; by coarse node, the `taps` fine ones
 * from from[] on. */
struct sl_transfer {
	int fine;       /* nodes a side that a point may touch */
	int columns;    /* fine, in whole vectors */
	int taps;
	int *first;     /* [fine] */
	int *from;      /* [side of the coarse grid] */
	float *weight;  /* [fine][SL_WINDOW_LANES] */
	float *share;   /* [side of the coarse grid][taps] */
};

struct sl_plan {
	struct sl_cached cached;
	struct sl_grid grid;
	struct sl_window window;
	struct sl_transforms *transforms;  /* counted reference */
	struct sl_transfer transfer;       /* if grid.through */
	float *spectrum;    /* [(length / 2 + 1)^dims] */
	double zero, self;  /* see sl_grid_spectrum() */
	int length;         /* of transforms: side or twice that */
	int pitch;          /* complex numbers from one half-spectrum row to the next: length / 2 + 1, rounded up */
};

struct sl_plans {
	struct sl_plan_cache cache;
	struct sl_transforms *transforms;
};

void sl__cpu_plans_init(struct sl_plans *plans, uint64_t budget);
/* The plan of a grid, made if need be; counts a user. */
int sl__cpu_plans_take(struct sl_plans *plans, const struct sl_grid *grid, struct sl_plan **out, struct sl_error *err);
void sl__cpu_plans_give(struct sl_plans *plans, struct sl_plan *plan);  /* NULL is fine */
void sl__cpu_plans_clear(struct sl_plans *plans);  /* all without users */

/* ---- a device -------------------------------------------------------------------- */

/* Work memory, shared by all embeddings of a device (they take turns). Grows, never shrinks
 * before close. */
struct sl_work {
	float *grid;              /* charges, then the potential */
	float *coarse;            /* the same on the coarse one of two grids */
	fftwf_complex *spectrum;  /* half-spectrum rows; between convolutions, what transfer.c needs */
	float *scratch;           /* [threads][scratch_floats] */
	size_t grid_floats, coarse_floats, spectrum_numbers, scratch_floats;
	double *part;             /* partial sums */
	size_t parts;
};

struct sl_device {
	const struct sl_cpu_kernels *kernels;
	struct sl_plans plans;
	struct sl_work work;
	int threads;
	uint64_t graph_bytes, embedding_bytes;  /* in use */
};

struct sl_device_graph {
	struct sl_device *device;
	const struct sl_affinities *a;  /* borrowed */
	float *mass;                    /* [n] sum_j p_ij */
};

/* ---- convolve -------------------------------------------------------------------- */

/* Floats from one grid row to the next, and of the whole grid. */
int sl__grid_stride(const struct sl_grid *g);
size_t sl__grid_floats(const struct sl_grid *g);

/* Makes room for plan's grid in work, and for that of far, unless NULL. */
int sl__cpu_work_reserve(struct sl_work *work, const struct sl_plan *plan, const struct sl_plan *far, int threads,
			 struct sl_error *err);
void sl__work_finish(struct sl_work *work);

/* Team. Charges in grid become the potential (less a constant). Returns, to every
 * thread, sum_k spectrum[k] |charges[k]|^2 over all frequencies but 0. */
double sl__convolve(struct sl_work *work, const struct sl_cpu_kernels *kernels, const struct sl_plan *plan,
		   float *grid);

/* ---- transfer --------------------------------------------------------------------- */

/* For coarse grid g, whose charges come through a finer one. 0 or SL_NOMEM. */
int sl__transfer_init(struct sl_transfer *t, const struct sl_grid *g, const struct sl_window *w);
void sl__transfer_finish(struct sl_transfer *t);
uint64_t sl__transfer_bytes(const struct sl_transfer *t, const struct sl_grid *g);
/* What it needs in work->spectrum. */
size_t sl__transfer_floats(const struct sl_transfer *t, const struct sl_grid *g);

/* Team. Charges of work->grid, near's, to work->coarse, far's; then the potential of work->coarse, added to
 * work->grid. Both use work->spectrum. */
void sl__transfer_charges(struct sl_work *work, const struct sl_cpu_kernels *kernels, const struct sl_plan *near,
			  const struct sl_plan *far);
void sl__transfer_potential(struct sl_work *work, const struct sl_cpu_kernels *kernels, const struct sl_plan *near,
			    const struct sl_plan *far);

/* ---- bins ------------------------------------------------------------------------- */

/* Points in the order of the strips (of the slowest dimension) that their windows start in.
 * Two strips that are not neighbours share no grid row. */
struct sl_bins {
	uint32_t n;
	int dims;
	uint32_t *index;    /* [n] point at each place */
	float *t;           /* [n * dims] its grid coordinates */
	uint16_t *strip;    /* [n], by point */
	uint32_t *count;    /* [chunks][strips], then their starts */
	uint32_t *first;    /* [strips + 1] */
	uint32_t chunks, chunk_points;
	size_t count_room;
	int strips, strip_rows;
};

int sl__bins_init(struct sl_bins *b, uint32_t n, int dims, struct sl_error *err);
void sl__bins_finish(struct sl_bins *b);
/* Outside a team: room for the strips of grid g. */
int sl__bins_reserve(struct sl_bins *b, const struct sl_grid *g, struct sl_error *err);
/* Team. y [n * dims]; low: the corner of its bounding box. */
void sl__bins_fill(struct sl_bins *b, const struct sl_grid *g, const float *y, const float low[3]);

/* Of a sort by few keys, whose chunks of points were counted: count[chunks][keys] becomes the place of each chunk's
 * first point of each key, first[keys + 1] that of each key's first. */
void sl__places_of_counts(uint32_t *count, uint32_t chunks, size_t keys, uint32_t *first);

/* ---- pairs within a cut-off ---------------------------------------------------------- */

/* By number of dimensions, nanoseconds of one core with AVX-512, by measurement: a node of a padded grid; a point
 * spread and read. */
#define SL_CPU_NODE {0, 40, 22, 36}
#define SL_CPU_POINT {0, 25, 40, 85}

/* By number of dimensions: of so many nodes and more. */
#define SL_CUTOFF_NODES {0, 0, 1024, 4096}
#define SL_CUTOFF_LAYERS {0, 0, 1024, 128}  /* of cells, at most */
#define SL_CUTOFF_LAYERS_MOST 1024

struct sl_cutoff {
	uint32_t n;
	int dims;
	struct sl_cells cells;
	struct sl_grid_cutoff kernel;
	size_t start_room;
	uint16_t *layer;     /* [n], by point */
	uint32_t *order;     /* [n] points by layer */
	uint32_t *cell;      /* [n] in the layer, by place in order */
	uint32_t *count;     /* [chunks][layers], then places */
	uint32_t first[SL_CUTOFF_LAYERS_MOST + 1];  /* of each layer, and the end */
	uint32_t *census;    /* points in cubes */
	uint32_t chunks, chunk_points;
};

uint64_t sl__cutoff_bytes(uint32_t n, int dims);
int sl__cutoff_init(struct sl_cutoff *s, uint32_t n, int dims, struct sl_error *err);
void sl__cutoff_finish(struct sl_cutoff *s);
/* Outside a team. Is there a smooth grid beside which pairs cost less than `most`, in nanoseconds of one core? Not in
 * narrow 2-D layouts. It goes to *out. y [n * dims]; low: the corner of its bounding box. */
bool sl__cutoff_choose(struct sl_cutoff *s, const float *y, const float low[3], double extent, int accuracy,
		       double most, struct sl_grid *out);
/* Outside a team: cells for that grid's cut-off. */
int sl__cutoff_reserve(struct sl_cutoff *s, const struct sl_grid *g, const float low[3], double extent,
		     struct sl_error *err);
/* Team. Points into cells; then the pairs' part of the forces is added to force[n * dims], and that of Z returned.
 * part: [n / SL_BLOCK + 1]. */
void sl__cutoff_sort(struct sl_cutoff *s, const float *y);
double sl__cutoff_pairs(struct sl_cutoff *s, const struct sl_cpu_kernels *kernels, double *part, float *force);

/* ---- embeddings --------------------------------------------------------------------- */

/* Rows whose attraction and update one thread takes at a time; also what sums are grouped by. */
#define SL_BLOCK 128

struct box {
	float low[3], high[3];
	bool finite;
};

enum sl_cpu_way { SL_CPU_GRID, SL_CPU_EXACT, SL_CPU_TREE };

struct sl_device_embedding {
	struct sl_device_graph *graph;
	struct sl_settings settings;
	uint32_t n;
	double nu, scale;            /* degrees of freedom of the kernel; its root, by which y is divided */
	float *y, *next;             /* [n * dims] */
	float *velocity, *gain;      /* momentum: velocity, gains; Adam: mean, square */
	float *repulsion;            /* [n * dims] sum_j q~^2 (y_i - y_j), not yet over Z */
	float *coordinate[3];        /* exact or auto: [n] each */
	enum sl_cpu_way way;         /* this iteration's repulsion */
	struct sl_bins bins;         /* grid or auto */
	struct sl_tree tree;         /* Barnes-Hut */
	struct sl_cutoff cutoff;         /* where there may be pairs beside a grid, else empty */
	struct sl_plan *plan, *far;  /* grid: held; NULL before the first iteration; far: only with two grids */
	struct box *boxes;           /* [blocks] */
	double *part;                /* [blocks] */
	uint32_t blocks;
	struct box box;              /* of y */
	uint64_t iteration;          /* for Adam's corrections */
	uint64_t bytes;
};

/* How n points in a layout whose longest side is extent repel each other at the least cost: 0, all pairs; 1, on a
 * padded grid; 2, on a fine grid and a coarse one. Fills as many grids; cost: nanoseconds of one core. The kernel is
 * (1 + r^2)^-nu. */
int sl__cpu_choose(struct sl_grid out[2], const struct sl_settings *s, uint32_t n, double extent, double nu,
		   double *cost);
/* iteration_seconds of struct sl_engine */
double sl__cpu_iteration_seconds(const struct sl_settings *s, uint32_t n, uint64_t entries, int threads);
/* grid_bytes of struct sl_engine */
uint64_t sl__cpu_grid_bytes(uint32_t n, const struct sl_settings *s, double extent);
/* May there be pairs beside a smooth grid? */
bool sl__cpu_may_be_smooth(uint32_t n, const struct sl_settings *s);
/* Does this iteration have them? After sl__cpu_prepare(). */
static inline bool sl__cpu_is_smooth(const struct sl_device_embedding *e)
{
	return e->way == SL_CPU_GRID && e->plan->grid.part == SL_GRID_SMOOTH;
}
/* Outside the team: the tree; or the grid, or two, that fits the layout, unless all pairs cost less, or those within a
 * cut-off. */
int sl__cpu_prepare(struct sl_device_embedding *e, struct sl_error *err);
/* After sl__cpu_prepare(). */
int sl__cpu_threads_for(const struct sl_device_embedding *e);
/* Team. Points to the grid, which was anything; charges to potential, on both grids if there are two, which returns
 * its part of Z; the potential to e->repulsion. */
void sl__cpu_spread(struct sl_device_embedding *e);
double sl__cpu_convolve(struct sl_device_embedding *e);
void sl__cpu_read_back(struct sl_device_embedding *e);
/* Team. Pairs within the cut-off, whose forces are added to e->repulsion; returns their part of Z. */
double sl__cpu_cutoff(struct sl_device_embedding *e);
/* Team. All pairs, to e->repulsion; returns Z. */
double sl__cpu_repel_exact(struct sl_device_embedding *e);
/* Team. Near points and far cells of the tree, to e->repulsion; returns Z. */
double sl__cpu_repel_tree(struct sl_device_embedding *e);
/* Outside the team: may these settings come to a grid, or to all pairs? */
static inline bool sl__cpu_may_use_grid(const struct sl_settings *s)
{
	return s->repulsion == SL_REPULSION_AUTO || s->repulsion == SL_REPULSION_GRID;
}
static inline bool sl__cpu_may_use_pairs(const struct sl_settings *s)
{
	return s->repulsion == SL_REPULSION_AUTO || s->repulsion == SL_REPULSION_EXACT;
}
/* Team. All of these, as sl__cpu_prepare() chose. Returns Z, never 0. */
double sl__cpu_repel(struct sl_device_embedding *e);
/* The step of nodes from..to, a block, and the bounds of where it leads. */
void sl__cpu_step_block(struct sl_device_embedding *e, const struct sl_step *s, float inverse_z, uint32_t from,
			uint32_t to, const float *attraction);
void sl__cpu_box_from_layout(struct sl_device_embedding *e);

/* ---- phases: struct sl_engine's functions --------------------------------------------- */

int sl__cpu_phases(struct sl_device_embedding *e, struct sl_phase *out, int max, struct sl_error *err);
int sl__cpu_copy_bandwidth(struct sl_device *d, double *bytes_per_second, struct sl_error *err);

#endif
