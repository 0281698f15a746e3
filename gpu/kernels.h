/* kernels.h -- what runs on the card: launchers for the host code of this folder.
 *
 * Each launcher queues its kernels on a stream and returns cudaSuccess or the launch's error; none waits,
 * allocates or reads device memory, so all can be captured in a CUDA graph.
 *
 * Two small structures in device memory steer them. struct sl_orders comes from the host before a stretch of
 * iterations; struct sl_report is the device's own and is copied back after it. While report.state is not
 * SL_GO every kernel returns at once: an iteration that must not run (its layout has outgrown the grid) leaves
 * everything as it was, however many are queued behind it.
 *
 * Layouts are padded to `stride` floats a point: 1, 2, 4 in 1-D, 2-D, 3-D. Every sum has a fixed order or
 * is one of integers, so that equal input gives equal bytes. */
#ifndef SL_GPU_KERNELS_H
#define SL_GPU_KERNELS_H

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/grid.h"

#ifdef __cplusplus
extern "C" {
#endif

enum sl_state { SL_GO, SL_OUTGROWN, SL_DIVERGED };

/* The kernel lies on one grid, or on two (see core/grid.h): level 0 near or whole, level 1 far, fed by level 0. */
#define SL_LEVELS 2

struct sl_level {
	float inverse_h, force_scale;  /* 1 / h; 0.5 / (h nu), nu: degrees of freedom */
	float clamp;                   /* largest grid coordinate that a point may have */
	float weight_scale, weight_inverse;  /* fixed point: 1 is weight_scale */
	float offset;                  /* of the layout's corner, in grid coordinates */
	const float *spectrum;         /* device memory, as the following */
	const float *tilt;             /* sl_grid_tilt(), level 1 only */
	const float *gather_weight;    /* struct sl_grid_gather, level 1 only */
	const int *gather_first;
	int gather_taps;
	double constant;               /* zero n^2 - self n, see sl_grid_spectrum() */
};

/* Of pairs closer than a cut-off. */
struct sl_near_orders {
	float inverse;                 /* 1 / a cell's width */
	float cutoff2;
	uint64_t candidates_most;      /* more of them, and the layout has grown too tight for pairs */
	struct sl_grid_near near;
};

struct sl_orders {
	float exaggeration, learning_rate, momentum;
	float gain_least, gain_added, rate_limit, max_step;  /* struct sl_step, filled */
	int gains;                     /* enum sl_gains */
	float reach, shrink;           /* the grids serve layouts of longest side shrink .. reach */
	struct sl_level level[SL_LEVELS];
	struct sl_near_orders near;
};

struct sl_report {
	int state;                   /* enum sl_state */
	int finite;
	uint32_t done;               /* iterations since the host set it to 0 */
	uint64_t iteration;          /* for Adam's corrections */
	double level_z[SL_LEVELS];   /* Z is their sum */
	double z, divergence, square;
	float low[3], high[3];       /* of the layout */
	float corner[3];             /* of the grids that the charges lie on: they hold corner .. corner + reach */
	uint64_t candidates;         /* pairs that sl__near_pairs() tried, or sl__near_census() would */
	uint32_t arrived[6];         /* blocks that are through, by kernel; 0 between kernels */
};

/* Partial sums, one a block, of the kernels that add up doubles: room for SL_PARTS + n / 256. The second level's start
 * at SL_LEVEL_PARTS. */
#define SL_PARTS 16384
#define SL_LEVEL_PARTS 8192

/* A grid in device memory: charges as fixed-point numbers, 32 bits each, in pairs; `pairs` a row. */
struct sl_grid_memory {
	int level;
	int dims, side;
	int window;            /* width: 4 or 6 */
	int length;            /* of the transforms: side or 2 side */
	int pairs;
	uint64_t *charges;     /* [side^(dims - 1)][pairs], those of the layout as it stands before each iteration */
	float *half;           /* level 0 of two: charges spread over the coarse grid along x, [side^(dims - 1)][coarse] */
	float *half2;          /* and in 3-D along y, too, [side][coarse][coarse] */
	int coarse;            /* level 0 of two: side of level 1; else 0 */
	float *input;          /* [length]^dims, zero outside the side^dims octant; of own transforms NULL, or see below */
	float2 *spectrum;      /* [length]^(dims - 1) [length / 2 + 1]; own transforms': see sl__fft_rows() */
	float *potential;      /* rows of `pitch` floats, planes of `plane` */
	int pitch;
	size_t plane;
	int cells;             /* beside a smooth grid: cells a side, and struct sl_near_cells' arrays of them */
	uint32_t *cell_count, *cell_start, *cell_offset;
};

struct sl_particles {
	uint32_t n;
	int dims;
	float *y, *velocity, *gain;     /* [n * stride] */
	float *attraction, *repulsion;  /* [n * stride] */
	uint32_t *rounded;              /* y as rounded.cuh has it: 2-D one word a point, 3-D two; or NULL */
	const float *mass;              /* [n] sum_j p_ij */
};

/* Some of P's rows, or all, while it is made: as the affinities have them. */
struct sl_rows {
	uint32_t first, n;    /* rows first .. first + n - 1 of P */
	uint64_t base;        /* what start[0] is */
	uint64_t *start;      /* [n + 1] */
	uint32_t *node;       /* [start[n] - base] */
	float *p;             /* likewise */
};

/* P as iterations read it, in pieces of 16 bytes. An entry is one word: its node above `bits` bits that hold q, where
 * p = scale q^2 and the largest entry of a row has the largest q there is. The square makes small weights as exact, for
 * their size, as large ones nearly are. Where a node's number leaves fewer than SL_BITS_LEAST bits, entries are two
 * words, the node and p. A row's last piece is filled up, and a piece of nothing may follow, with entries of the row's
 * own node and no weight: so the pieces' places follow from the rows' lengths alone. */
struct sl_matrix {
	uint32_t n;
	uint64_t m;           /* entries that are not filling */
	uint32_t *start;      /* [n + 1] first piece */
	uint4 *piece;         /* [start[n]] */
	float *scale;         /* [n], bits > 0 */
	int bits;             /* 0: wide entries */
	float *mass;          /* [n] sum_j p_ij */
	uint32_t *long_rows;  /* [long_count] rows of more than SL_LONG_ROW entries, filling included */
	uint32_t long_count;
	int lanes;            /* threads that share a row: 2, 4, 8, 16 */
};

#define SL_LONG_ROW 2048u
#define SL_BITS_LEAST 8  /* up to 16.7 million nodes */

/* Entries in a piece. */
static inline uint32_t sl__piece(int bits) { return bits ? 4 : 2; }
/* First piece of row i, whose entries begin at `start`. */
static inline uint64_t sl__first_piece(uint64_t start, uint64_t i, uint32_t piece)
{
	return (start + (piece - 1) * i) / piece;
}

struct sl_rows_report { uint32_t long_count; uint64_t long_entries; };

/* Those rows of *a, whose memory and bits are given; how many of them are long, and their entries, are added up. */
cudaError_t sl__pack_rows(const struct sl_rows *rows, const struct sl_matrix *a, struct sl_rows_report *report,
			  cudaStream_t stream);

/* Once per device, before anything else. windows[2]: 4 and 6 nodes wide */
cudaError_t sl__upload_windows(const struct sl_window *windows);
cudaError_t sl__upload_step_windows(const struct sl_window *windows);  /* parts of it */
cudaError_t sl__upload_move_windows(const struct sl_window *windows);

/* Points to fixed-point charges, which must be zero; and those to g->input, for a library's transforms. They are
 * cleared on the way, unless there is a far level, which wants them, too. */
cudaError_t sl__spread(const struct sl_particles *p, const struct sl_grid_memory *g, const struct sl_orders *orders,
		       const struct sl_report *report, cudaStream_t stream);
cudaError_t sl__convert(const struct sl_grid_memory *g, const struct sl_orders *orders, const struct sl_report *report,
			cudaStream_t stream);
/* Towards the far level: charges to near->half; and in 3-D that to far->input. */
cudaError_t sl__feed(const struct sl_grid_memory *near, const struct sl_orders *orders, const struct sl_report *report,
		     cudaStream_t stream);
cudaError_t sl__restrict(const struct sl_grid_memory *near, const struct sl_grid_memory *far,
			 const struct sl_orders *orders, const struct sl_report *report, cudaStream_t stream);
/* Charges to zero, unless the iteration must not run. */
cudaError_t sl__clear(const struct sl_grid_memory *g, const struct sl_report *report, cudaStream_t stream);
/* Between a library's transforms: spectrum times kernel, and report->level_z. */
cudaError_t sl__multiply(const struct sl_grid_memory *g, const struct sl_orders *orders, struct sl_report *report,
			 double *part, cudaStream_t stream);

/* The convolution, for the lengths that fft.cu (2-D) and fft_cube.cu (3-D) have on the current device, in two
 * parts; the second ends with g->potential and report->level_z. In 2-D the first takes the fixed-point charges (and
 * clears them, and leaves g->half) or, at level 1, near->half; g->input is not used; g->spectrum is
 * [length / 2 + 1][side]. The kernel's spectrum must be symmetric, as those of square grids are. In 3-D it takes the
 * charges (and clears them, unless g->coarse) or, at level 1, g->input, which is [side]^3; g->spectrum is
 * [side][length * (length / 2 + 1)]. */
bool sl__fft_has(int dims, int length, bool padded);
/* Those of them that begin with what a near grid leaves. */
bool sl__fft_has_far(int dims, int length);
cudaError_t sl__fft_init(void);  /* once per device */
cudaError_t sl__fft_rows(const struct sl_grid_memory *g, const struct sl_grid_memory *near,
			 const struct sl_orders *orders, const struct sl_report *report, cudaStream_t stream);
cudaError_t sl__fft_convolve(const struct sl_grid_memory *g, const struct sl_orders *orders, struct sl_report *report,
			     double *part, cudaStream_t stream);
/* Cosine transform (type I, unnormalised) of octant[(length / 2 + 1)^dims] in place, of a padded grid. */
cudaError_t sl__fft_cosines(int dims, int length, float *octant, cudaStream_t stream);
/* Their parts in 3-D. */
bool sl__cube_has(int length, bool padded);
bool sl__cube_has_far(int length);
cudaError_t sl__cube_init(void);
cudaError_t sl__cube_rows(const struct sl_grid_memory *g, const struct sl_orders *orders,
			  const struct sl_report *report, cudaStream_t stream);
cudaError_t sl__cube_convolve(const struct sl_grid_memory *g, const struct sl_orders *orders, struct sl_report *report,
			      double *part, cudaStream_t stream);
cudaError_t sl__cube_cosines(int length, float *octant, cudaStream_t stream);

/* All pairs: partial[splits][n * stride] sums of forces, and report->level_z[0]. The kernel is (1 + r^2)^-nu. */
int sl__exact_splits(uint32_t n);
cudaError_t sl__exact(const struct sl_particles *p, float nu, int splits, float *partial, double *part,
		      struct sl_report *report, cudaStream_t stream);

/* attraction = sum_j p_ij q~_ij (y_i - y_j). With p->rounded, y_j is read from there: where sl__step() and sl__move()
 * leave it, or, for a layout that is new to its grids, sl__round(). */
cudaError_t sl__attract_init(void);  /* once per device */
cudaError_t sl__round(const struct sl_particles *p, const struct sl_orders *orders, const struct sl_report *report,
		      cudaStream_t stream);
cudaError_t sl__attract(const struct sl_matrix *a, const struct sl_particles *p, const struct sl_orders *orders,
			const struct sl_report *report, cudaStream_t stream);

/* Pairs closer than a cut-off (3-D). Places in arrived[]. */
#define SL_ARRIVED_CELLS 4
#define SL_ARRIVED_PAIRS 5
#define SL_NEAR_FINE 4  /* cells along x that the cut-off is long; along y and z it is one */

struct sl_near_cells {
	uint32_t n;
	int side;                    /* cells along y and z; they begin at the report's low[] */
	uint32_t *count;             /* [sl__near_room(side)], zero between kernels; as start aligned to 16 bytes */
	uint32_t *start, *offset;    /* points in cells before: start[cell] + offset[cell / 4096] */
	uint32_t *rank, *id;         /* [n] */
	float4 *sorted;              /* [n] points by cell, in each by number, which is w's bits */
	double2 *part;               /* [n / 32 + 1] partial sums */
};

/* Cells that there must be memory for; offset: a 4096th of that. */
uint64_t sl__near_room(int side);
/* Points into cells, the bounds in the report being theirs. */
cudaError_t sl__near_sort(const struct sl_near_cells *c, const struct sl_particles *p, const struct sl_orders *orders,
			   struct sl_report *report, cudaStream_t stream);
/* After that: near forces to p->repulsion, their part of Z to report->level_z[1], candidates. */
cudaError_t sl__near_pairs(const struct sl_near_cells *c, const struct sl_particles *p, const struct sl_orders *orders,
		      struct sl_report *report, cudaStream_t stream);
/* Candidates alone; c->rank is used. */
cudaError_t sl__near_census(const struct sl_near_cells *c, const struct sl_particles *p, const struct sl_orders *orders,
		       struct sl_report *report, cudaStream_t stream);

enum sl_step_kind { SL_STEP_MOMENTUM, SL_STEP_ADAM, SL_STEP_NONE };

/* Reads the repulsion (from the potentials of grids[0 .. levels - 1], or from `partial` when splits > 0; with `pairs`
 * what sl__near_pairs() left in points->repulsion is added), takes the step, bounds the layout, spreads it over
 * grids[0] for the next one, adds up report->z. */
cudaError_t sl__step(const struct sl_particles *p, const struct sl_grid_memory *grids, int levels, const float *partial,
		     int splits, bool pairs, enum sl_step_kind kind, double *part, const struct sl_orders *orders,
		     struct sl_report *report, cudaStream_t stream);
/* The same in two parts: the first writes points->repulsion, not yet over Z, and z; the second does what is left, in
 * 2-D on grids. */
cudaError_t sl__read(const struct sl_particles *p, const struct sl_grid_memory *grids, int levels, const float *partial,
		     int splits, bool pairs, const struct sl_orders *orders, struct sl_report *report, cudaStream_t stream);
cudaError_t sl__move(const struct sl_particles *p, const struct sl_grid_memory *grid, enum sl_step_kind kind,
		     double *part, const struct sl_orders *orders, struct sl_report *report, cudaStream_t stream);
/* Bounds of the layout as it stands, into the report; judges them by no grid. */
cudaError_t sl__bounds(const struct sl_particles *p, double *part, struct sl_report *report, cudaStream_t stream);

/* report->divergence = sum p log(1 + |y_i - y_j|^2); report->square = |attraction - repulsion / z|^2 */
cudaError_t sl__measure(const struct sl_matrix *a, const struct sl_particles *p, double *part, struct sl_report *report,
			cudaStream_t stream);

cudaError_t sl__fill(float *out, float value, uint64_t count, cudaStream_t stream);

/* For making spectra (padded grids): an octant [(side + 1)^dims] to its even extension in g->input; and the real parts
 * of g->spectrum back. */
cudaError_t sl__mirror(const struct sl_grid_memory *g, const float *octant, cudaStream_t stream);
cudaError_t sl__real_part(const struct sl_grid_memory *g, float *octant, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
