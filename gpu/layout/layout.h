/* layout.h -- the kernels of an iteration but for the transforms: attraction, charges, reading back, step.
 *
 *   attract.cu   attraction, and the sums over P that a measure needs; rounded.cuh: positions as it gathers them
 *   grid.cu      spreading points; what a library's transforms need; the way from the near grid to the far one
 *   step.cu      reading the repulsion back, the step, spreading; move.cu: the step of many points
 *   pairs.cu     pairs within a cut-off, which late 3-D layouts have beside a smooth grid
 *   exact.cu     all pairs
 *   snapshot.cu  the layout without padding
 *   window.cuh   how a point meets a grid; step.cuh: what step.cu and move.cu share
 *
 * Each launcher queues its kernels on a stream and returns cudaSuccess or the launch's error; none waits, allocates
 * or reads device memory, so all can be captured in a CUDA graph. Every sum has a fixed order or is one of integers:
 * equal input gives equal bytes. Tests: tests/gpu/test_cuda.c (all), test_rows.c (attract), test_fft.c (grid),
 * test_pairs.c (pairs). Bench: `spaceland bench` prints the time of each part. Figures beside kernels are of one
 * NVIDIA H200; MNIST has 70,000 nodes and 8.8 million entries, the mixture 1.3 million and 183 million. */
#ifndef SL_GPU_LAYOUT_H
#define SL_GPU_LAYOUT_H

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stdint.h>

#include "gpu/state/control.h"
#include "gpu/state/grid.h"
#include "gpu/state/matrix.h"
#include "gpu/state/particles.h"

#ifdef __cplusplus
extern "C" {
#endif

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
#define SL_CUTOFF_FINE 4  /* cells along x that the cut-off is long; along y and z it is one */

struct sl_cutoff_cells {
	uint32_t n;
	int side;                    /* cells along y and z; they begin at the report's low[] */
	uint32_t *count;             /* [sl__cutoff_room(side)], zero between kernels; as start aligned to 16 bytes */
	uint32_t *start, *offset;    /* points in cells before: start[cell] + offset[cell / 4096] */
	uint32_t *rank, *id;         /* [n] */
	float4 *sorted;              /* [n] points by cell, in each by number, which is w's bits */
	double2 *part;               /* [n / 32 + 1] partial sums */
};

/* Cells that there must be memory for; offset: a 4096th of that. */
uint64_t sl__cutoff_room(int side);
/* Points into cells, the bounds in the report being theirs. */
cudaError_t sl__cutoff_sort(const struct sl_cutoff_cells *c, const struct sl_particles *p,
			      const struct sl_orders *orders, struct sl_report *report, cudaStream_t stream);
/* After that: near forces to p->repulsion, their part of Z to report->level_z[1], candidates. */
cudaError_t sl__cutoff_pairs(const struct sl_cutoff_cells *c, const struct sl_particles *p,
			      const struct sl_orders *orders, struct sl_report *report, cudaStream_t stream);
/* Candidates alone; c->rank is used. */
cudaError_t sl__cutoff_census(const struct sl_cutoff_cells *c, const struct sl_particles *p,
			      const struct sl_orders *orders, struct sl_report *report, cudaStream_t stream);

enum sl_step_kind { SL_STEP_MOMENTUM, SL_STEP_ADAM, SL_STEP_NONE };

/* Reads the repulsion (from the potentials of grids[0 .. levels - 1], or from `partial` when splits > 0; with `pairs`
 * what sl__cutoff_pairs() left in points->repulsion is added), takes the step, bounds the layout, spreads it over
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

/* For making spectra (padded grids): an octant [(side + 1)^dims] to its even extension in g->input; and the real parts
 * of g->spectrum back. */
cudaError_t sl__mirror(const struct sl_grid_memory *g, const float *octant, cudaStream_t stream);
cudaError_t sl__real_part(const struct sl_grid_memory *g, float *octant, cudaStream_t stream);

/* The layout without its padding, on its way to the host (snapshot.cu). */
struct sl_packing {
	bool quantise;
	float low[3], scale;  /* scale: 65535 / extent */
	double unit;          /* floats are times that */
};

/* [n * dims] floats or 16-bit numbers */
cudaError_t sl__pack(const struct sl_particles *p, struct sl_packing s, void *out, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
