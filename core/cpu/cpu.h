/* cpu.h -- structures and functions that the files of the CPU engine share. Internal to core/cpu/.
 *
 *   engine.c     devices, graphs, embeddings; one iteration
 *   repulsion.c  chooses all pairs, one grid, two grids or a tree, and computes the forces
 *   tree.c       Barnes and Hut's tree
 *   phases.c     times the phases of an iteration
 *   plans.c      cached grids: transforms and kernel spectra
 *   convolve.c   potential = grid * kernel, and Z
 *   transfer.c   charges from the fine grid to the coarse one, and the potential back
 *   cutoff.c     pairs within a cut-off beside a smooth grid
 *   bins.c       points ordered by grid strip, for spreading without races
 *   kernels.c    inner loops, one table for each instruction set; kernels_pairs.h: those over pairs
 *
 * An iteration is one OpenMP parallel region. Every thread of it calls the functions marked "team", which divide their
 * loops among the threads. No result depends on the number of threads, because the data alone decide the order of every
 * sum. */
#ifndef SL_CPU_H
#define SL_CPU_H

#include <fftw3.h>

#include "core/cpu/kernels.h"
#include "core/cpu/tree.h"
#include "core/engine/engine.h"
#include "core/engine/plan_cache.h"
#include "core/params.h"

struct sl_affinities;

/* Columns (and rows) in one call of a transform: a cache line of complex floats. */
#define SL_LINES 8

/* ---- plans ------------------------------------------------------------------------ */

/* Transforms of one length; shared by all plans that need it. */
struct sl_transforms {
	int length;                /* even */
	int lines;                 /* SL_LINES; in 1-D, where there is one row, 1 */
	int references;
	fftwf_plan rows_forward;   /* `lines` real rows, length apart, to complex rows, `pitch` apart */
	fftwf_plan rows_inverse;
	bool out_of_place;         /* true: the two plans below transform from one array to another and back */
	fftwf_plan lines_forward;  /* `lines` interleaved complex columns */
	fftwf_plan lines_inverse;
	struct sl_transforms *next;
};

/* flags: FFTW's. NULL: out of memory or, with FFTW_WISDOM_ONLY, FFTW has no wisdom for this length. */
struct sl_transforms *sl__transforms_create(int length, int lines, unsigned flags);
void sl__transforms_destroy(struct sl_transforms *t);

/* How charges pass from the nodes of the fine grid, g->through apart, to the coarse grid g. The weights in one
 * dimension are stored twice: for each fine node, those of SL_WINDOW_LANES coarse nodes from first[] on; for each
 * coarse node, those of `taps` fine nodes from from[] on. */
struct sl_transfer {
	int fine;       /* fine nodes a side that a point may touch */
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
/* Finds or makes the plan of a grid, and counts one more user. */
int sl__cpu_plans_take(struct sl_plans *plans, const struct sl_grid *grid, struct sl_plan **out, struct sl_error *err);
void sl__cpu_plans_give(struct sl_plans *plans, struct sl_plan *plan);  /* NULL is fine */
void sl__cpu_plans_clear(struct sl_plans *plans);  /* drops all plans without users */

/* ---- a device -------------------------------------------------------------------- */

/* Work memory, shared by all embeddings of a device, which compute one after the other. It grows, and shrinks only when
 * the device is closed. */
struct sl_work {
	float *grid;              /* charges, then the potential */
	float *coarse;            /* the same for the coarse one of two grids */
	fftwf_complex *spectrum;  /* half-spectrum rows; between convolutions, scratch of transfer.c */
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

/* Makes room in work for the grid of plan and, unless it is NULL, for that of far. */
int sl__cpu_work_reserve(struct sl_work *work, const struct sl_plan *plan, const struct sl_plan *far, int threads,
			 struct sl_error *err);
void sl__work_finish(struct sl_work *work);

/* Team. Replaces the charges in grid by the potential (less a constant). Returns in every thread
 * sum_k spectrum[k] |charges[k]|^2 over all frequencies but 0. */
double sl__convolve(struct sl_work *work, const struct sl_cpu_kernels *kernels, const struct sl_plan *plan,
		   float *grid);

/* ---- transfer --------------------------------------------------------------------- */

/* For coarse grid g, which gets its charges from a finer grid. 0 or SL_NOMEM. */
int sl__transfer_init(struct sl_transfer *t, const struct sl_grid *g, const struct sl_window *w);
void sl__transfer_finish(struct sl_transfer *t);
uint64_t sl__transfer_bytes(const struct sl_transfer *t, const struct sl_grid *g);
/* The floats that it needs in work->spectrum. */
size_t sl__transfer_floats(const struct sl_transfer *t, const struct sl_grid *g);

/* Team. The first passes the charges of work->grid (of `near`) to work->coarse (of `far`); the second adds the
 * potential in work->coarse to work->grid. Both use work->spectrum as scratch. */
void sl__transfer_charges(struct sl_work *work, const struct sl_cpu_kernels *kernels, const struct sl_plan *near,
			  const struct sl_plan *far);
void sl__transfer_potential(struct sl_work *work, const struct sl_cpu_kernels *kernels, const struct sl_plan *near,
			    const struct sl_plan *far);

/* ---- bins ------------------------------------------------------------------------- */

/* Points sorted by strips of the slowest dimension: a point belongs to the strip in which its window starts. The
 * windows of two strips that are not neighbours share no grid row. */
struct sl_bins {
	uint32_t n;
	int dims;
	uint32_t *index;    /* [n] point at each place */
	float *t;           /* [n * dims] the grid coordinates of that point */
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

/* The second step of a counting sort. count[chunks][keys], the number of points of each key in each chunk, becomes the
 * place of that chunk's first point of the key; first[keys + 1] becomes the place of the first point of each key. */
void sl__places_of_counts(uint32_t *count, uint32_t chunks, size_t keys, uint32_t *first);

/* ---- pairs within a cut-off ---------------------------------------------------------- */

/* The cost model: measured nanoseconds of one core with AVX-512, by number of dimensions, for a node of a padded grid,
 * and for spreading and reading one point. */
#define SL_CPU_NODE {0, 40, 22, 36}
#define SL_CPU_POINT {0, 25, 40, 85}

/* Pairs within a cut-off are considered for at least so many nodes, by number of dimensions. */
#define SL_CUTOFF_NODES {0, 0, 1024, 4096}
#define SL_CUTOFF_LAYERS {0, 0, 1024, 128}  /* the most layers of cells */
#define SL_CUTOFF_LAYERS_MOST 1024

struct sl_cutoff {
	uint32_t n;
	int dims;
	struct sl_cells cells;
	struct sl_grid grid;      /* the one of this near part; dims is 0 at first */
	struct sl_near_part near;
	size_t start_room;
	uint16_t *layer;     /* [n], by point */
	uint32_t *order;     /* [n] points by layer */
	uint32_t *cell;      /* [n] in the layer, by place in order */
	uint32_t *count;     /* [chunks][layers], then places */
	uint32_t first[SL_CUTOFF_LAYERS_MOST + 1];  /* of each layer, and the end */
	uint32_t *census;    /* number of points in each cube, for the forecast of the cost */
	uint32_t chunks, chunk_points;
};

uint64_t sl__cutoff_bytes(uint32_t n, int dims);
int sl__cutoff_init(struct sl_cutoff *s, uint32_t n, int dims, struct sl_error *err);
void sl__cutoff_finish(struct sl_cutoff *s);
/* Outside a team. Looks for a smooth grid with which grid and pairs together cost less than `most` nanoseconds of one
 * core; true: *out is that grid. Never in narrow 2-D layouts. y [n * dims]; low: the corner of its bounding box. */
bool sl__cutoff_choose(struct sl_cutoff *s, const float *y, const float low[3], double extent, int accuracy,
		       double most, struct sl_grid *out);
/* Outside a team. Makes the cells for the cut-off of that grid. */
int sl__cutoff_reserve(struct sl_cutoff *s, const struct sl_grid *g, const float low[3], double extent,
		     struct sl_error *err);
/* Team. The first sorts points into cells. The second adds the pairs' part of the forces to force[n * dims], and
 * returns their part of Z. part: scratch [n / SL_BLOCK + 1]. */
void sl__cutoff_sort(struct sl_cutoff *s, const float *y);
double sl__cutoff_pairs(struct sl_cutoff *s, const struct sl_cpu_kernels *kernels, double *part, float *force);

/* ---- embeddings --------------------------------------------------------------------- */

/* Rows whose attraction and update one thread computes at a time. Sums are grouped by these blocks, too. */
#define SL_BLOCK 128

struct box {
	float low[3], high[3];
	bool finite;
};

enum sl_cpu_method { SL_CPU_GRID, SL_CPU_EXACT, SL_CPU_TREE };

struct sl_device_embedding {
	struct sl_device_graph *graph;
	struct sl_settings settings;
	uint32_t n;
	double nu, scale;            /* degrees of freedom of the kernel; scale: sqrt(nu), by which y is divided */
	float *y, *next;             /* [n * dims] */
	float *velocity, *gain;      /* momentum: velocity, gains; Adam: mean, square */
	float *repulsion;            /* [n * dims] sum_j q~^2 (y_i - y_j), not yet divided by Z */
	float *coordinate[3];        /* exact or auto: [n] each */
	enum sl_cpu_method method;         /* this iteration's repulsion */
	struct sl_bins bins;         /* grid or auto */
	struct sl_tree tree;         /* Barnes-Hut */
	struct sl_cutoff cutoff;     /* if sl__cpu_may_be_smooth(), else empty */
	struct sl_plan *plan, *far;  /* grid: in use; NULL before the first iteration; far: only with two grids */
	struct box *boxes;           /* [blocks] */
	double *part;                /* [blocks] */
	uint32_t blocks;
	struct box box;              /* of y */
	uint64_t iteration;          /* for Adam's corrections */
	uint64_t bytes;
};

/* Chooses the cheapest way to compute the repulsion of n points in a layout whose longest side is extent, for the
 * kernel (1 + r^2)^-nu. Returns the number of grids in out: 0, all pairs; 1, a padded grid; 2, a fine grid and a coarse
 * one. *cost: nanoseconds of one core. */
int sl__cpu_choose(struct sl_grid out[2], const struct sl_settings *s, uint32_t n, double extent, double nu,
		   double *cost);
/* iteration_seconds of struct sl_engine */
double sl__cpu_iteration_seconds(const struct sl_settings *s, uint32_t n, uint64_t entries, int threads);
/* grid_bytes of struct sl_engine */
uint64_t sl__cpu_grid_bytes(uint32_t n, const struct sl_settings *s, double extent);
/* True if embeddings of this kind may use a smooth grid and pairs within a cut-off. */
bool sl__cpu_may_be_smooth(uint32_t n, const struct sl_settings *s);
/* True if this iteration uses them. Valid after sl__cpu_prepare(). */
static inline bool sl__cpu_is_smooth(const struct sl_device_embedding *e)
{
	return e->method == SL_CPU_GRID && e->plan->grid.part == SL_GRID_SMOOTH;
}
/* Outside a team. Chooses how this iteration computes the repulsion, and builds the tree or takes the plans of the
 * grids. */
int sl__cpu_prepare(struct sl_device_embedding *e, struct sl_error *err);
/* The number of threads for this iteration. Valid after sl__cpu_prepare(). */
int sl__cpu_threads_for(const struct sl_device_embedding *e);
/* Team. spread: overwrites the grid with the charges of the points. convolve: replaces the charges by the potential, on
 * both grids if there are two, and returns the grids' part of Z. read_back: reads the forces into e->repulsion. */
void sl__cpu_spread(struct sl_device_embedding *e);
double sl__cpu_convolve(struct sl_device_embedding *e);
void sl__cpu_read_back(struct sl_device_embedding *e);
/* Team. Adds the forces of pairs within the cut-off to e->repulsion; returns their part of Z. */
double sl__cpu_cutoff(struct sl_device_embedding *e);
/* Team. Writes the forces of all pairs to e->repulsion; returns Z. */
double sl__cpu_repel_exact(struct sl_device_embedding *e);
/* Team. Writes the forces of near points and far cells of the tree to e->repulsion; returns Z. */
double sl__cpu_repel_tree(struct sl_device_embedding *e);
/* True if an embedding with these settings may use a grid, or all pairs. */
static inline bool sl__cpu_may_use_grid(const struct sl_settings *s)
{
	return s->repulsion == SL_REPULSION_AUTO || s->repulsion == SL_REPULSION_GRID;
}
static inline bool sl__cpu_may_use_pairs(const struct sl_settings *s)
{
	return s->repulsion == SL_REPULSION_AUTO || s->repulsion == SL_REPULSION_EXACT;
}
/* Team. Computes e->repulsion in the way that sl__cpu_prepare() chose. Returns Z, never 0. */
double sl__cpu_repel(struct sl_device_embedding *e);
/* Moves the nodes from..to of one block, and sets the block's bounding box. */
void sl__cpu_step_block(struct sl_device_embedding *e, const struct sl_step *s, float inverse_z, uint32_t from,
			uint32_t to, const float *attraction);
void sl__cpu_box_from_layout(struct sl_device_embedding *e);

/* ---- phases: struct sl_engine's functions --------------------------------------------- */

int sl__cpu_phases(struct sl_device_embedding *e, struct sl_phase *out, int max, struct sl_error *err);
int sl__cpu_copy_bandwidth(struct sl_device *d, double *bytes_per_second, struct sl_error *err);

#endif
