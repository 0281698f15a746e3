/* layout.h -- the kernels of an iteration, except the Fourier transforms: attraction, charges, repulsion, step.
 *
 *   attract.cu   attraction, and the sums over P for a measurement; rounded.cuh: the rounded positions that it reads
 *   grid.cu      spreads points over a grid; prepares cuFFT's transforms; feeds the far grid from the near one
 *   step.cu      reads the repulsion from the grids, takes the step, spreads the moved points
 *   move.cu      takes the step and spreads, for layouts of many points whose repulsion has been read
 *   pairs.cu     pairs within a cut-off, which wide layouts add to a smooth grid
 *   exact.cu     all pairs
 *   snapshot.cu  copies the layout without padding
 *   window.cuh   the window that joins a point to nodes of a grid; step.cuh: code that step.cu and move.cu share
 *
 * Each launcher queues its kernels on a stream and returns cudaSuccess or the launch's error. None waits, allocates or
 * reads device memory, so all can be captured in a CUDA graph. Every sum has a fixed order or adds integers, so equal
 * input gives equal bytes. Tests: tests/gpu/test_cuda.c (all), test_rows.c (attract), test_fft.c (grid), test_pairs.c
 * (pairs). Bench: `spaceland bench` prints the time of each part. Figures beside kernels were measured on one NVIDIA
 * H200. MNIST has 70,000 nodes and 8.8 million entries in P, the mixture 1.3 million nodes and 183 million entries. */
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

/* Copies windows[2], 4 and 6 nodes wide, to constant variables of the device. Once per device, before all else. It
 * calls the two functions below, since each .cu file has its own variable. */
cudaError_t sl__upload_windows(const struct sl_window *windows);
cudaError_t sl__upload_step_windows(const struct sl_window *windows);
cudaError_t sl__upload_move_windows(const struct sl_window *windows);

/* sl__spread() adds each point to the fixed-point charges, which must be zero before. sl__convert() writes the charges
 * as floats to g->input for cuFFT, and clears them unless a far level still needs them. */
cudaError_t sl__spread(const struct sl_particles *p, const struct sl_grid_memory *g, const struct sl_orders *orders,
		       const struct sl_report *report, cudaStream_t stream);
cudaError_t sl__convert(const struct sl_grid_memory *g, const struct sl_orders *orders, const struct sl_report *report,
			cudaStream_t stream);
/* The far level's input. sl__feed() spreads the near level's charges along x over the coarse grid: near->half.
 * sl__restrict(), in 3-D, spreads that along y and z: far->input. */
cudaError_t sl__feed(const struct sl_grid_memory *near, const struct sl_orders *orders, const struct sl_report *report,
		     cudaStream_t stream);
cudaError_t sl__restrict(const struct sl_grid_memory *near, const struct sl_grid_memory *far,
			 const struct sl_orders *orders, const struct sl_report *report, cudaStream_t stream);
/* Clears the charges, unless the iteration must not run. */
cudaError_t sl__clear(const struct sl_grid_memory *g, const struct sl_report *report, cudaStream_t stream);
/* Between cuFFT's transforms: multiplies the spectrum by the kernel's and computes report->level_z. */
cudaError_t sl__multiply(const struct sl_grid_memory *g, const struct sl_orders *orders, struct sl_report *report,
			 double *part, cudaStream_t stream);

/* Repulsion over all pairs: partial[splits][n * stride], sums of forces, and report->level_z[0]. The kernel is
 * (1 + r^2)^-nu. sl__exact_splits() gives the number of splits for n points. */
int sl__exact_splits(uint32_t n);
cudaError_t sl__exact(const struct sl_particles *p, float nu, int splits, float *partial, double *part,
		      struct sl_report *report, cudaStream_t stream);

/* attraction_i = sum_j p_ij q~_ij (y_i - y_j). If p->rounded is not NULL, y_j is read from there. sl__step() and
 * sl__move() write the rounded positions; for a layout that is new to its grids, sl__round() does. */
cudaError_t sl__attract_init(void);  /* once per device */
cudaError_t sl__round(const struct sl_particles *p, const struct sl_orders *orders, const struct sl_report *report,
		      cudaStream_t stream);
cudaError_t sl__attract(const struct sl_matrix *a, const struct sl_particles *p, const struct sl_orders *orders,
			const struct sl_report *report, cudaStream_t stream);

/* ---- pairs closer than a cut-off (2-D and 3-D) ---- */

/* The counters in report->arrived[] of these kernels. */
#define SL_ARRIVED_CELLS 4
#define SL_ARRIVED_PAIRS 5
#define SL_CUTOFF_FINE 4  /* the cut-off is 4 cells wide along x, and 1 cell along y and z (in 2-D, y) */

struct sl_cutoff_cells {
	uint32_t n;
	int side;                    /* cells along y and z; they begin at the report's low[] */
	uint32_t *count;             /* [sl__cutoff_room()], zero between kernels; aligned to 16 bytes, as start */
	uint32_t *start, *offset;    /* points in all cells before: start[cell] + offset[cell / 4096] */
	uint32_t *rank, *id;         /* [n] */
	float4 *sorted;              /* [n] points by cell and number; w holds the bits of the number */
	double2 *part;               /* [n / 32 + 1] partial sums */
};

/* Elements of count and of start; offset has a 4096th of that. */
uint64_t sl__cutoff_room(int dims, int side);
/* Sorts the points, whose bounds are in the report, into cells. */
cudaError_t sl__cutoff_sort(const struct sl_cutoff_cells *c, const struct sl_particles *p,
			      const struct sl_orders *orders, struct sl_report *report, cudaStream_t stream);
/* After sl__cutoff_sort(): near forces to p->repulsion, their part of Z to report->level_z[1], the number of pairs
 * tried to report->candidates. */
cudaError_t sl__cutoff_pairs(const struct sl_cutoff_cells *c, const struct sl_particles *p,
			      const struct sl_orders *orders, struct sl_report *report, cudaStream_t stream);
/* Only report->candidates; overwrites c->rank. */
cudaError_t sl__cutoff_census(const struct sl_cutoff_cells *c, const struct sl_particles *p,
			      const struct sl_orders *orders, struct sl_report *report, cudaStream_t stream);

enum sl_step_kind { SL_STEP_MOMENTUM, SL_STEP_ADAM, SL_STEP_NONE };

/* Reads the repulsion, takes the step, computes the layout's bounds, spreads the moved points over grids[0] for the
 * next iteration, and sums report->z. The repulsion comes from the potentials of grids[0 .. levels - 1], or from
 * `partial` if splits > 0. `pairs`: the near forces that sl__cutoff_pairs() left in points->repulsion are added. */
cudaError_t sl__step(const struct sl_particles *p, const struct sl_grid_memory *grids, int levels, const float *partial,
		     int splits, bool pairs, enum sl_step_kind kind, double *part, const struct sl_orders *orders,
		     struct sl_report *report, cudaStream_t stream);
/* The same in two kernels. sl__read() writes points->repulsion, not yet divided by Z, and report->z. sl__move() takes
 * the step, computes the bounds and spreads. */
cudaError_t sl__read(const struct sl_particles *p, const struct sl_grid_memory *grids, int levels, const float *partial,
		     int splits, bool pairs, const struct sl_orders *orders, struct sl_report *report, cudaStream_t stream);
cudaError_t sl__move(const struct sl_particles *p, const struct sl_grid_memory *grid, enum sl_step_kind kind,
		     double *part, const struct sl_orders *orders, struct sl_report *report, cudaStream_t stream);
/* On a rank of a group, after the step and the sum of all ranks' boxes [ranks][8] (o->box): ends the iteration, and
 * clears the boxes. window: of grids[0]; 0: no grids. */
cudaError_t sl__close_step(int dims, int window, float *boxes, int ranks, const struct sl_orders *orders,
			   struct sl_report *report, cudaStream_t stream);
/* Writes the bounds of the layout to the report, without checking that it fits a grid. */
cudaError_t sl__bounds(const struct sl_particles *p, double *part, struct sl_report *report, cudaStream_t stream);

/* report->divergence = sum p log(1 + |y_i - y_j|^2); report->square = |attraction - repulsion / z|^2 */
cudaError_t sl__measure(const struct sl_matrix *a, const struct sl_particles *p, double *part, struct sl_report *report,
			cudaStream_t stream);

/* For computing the kernel's spectrum on padded grids by cuFFT. sl__mirror() writes the even extension of an octant
 * [(side + 1)^dims] to g->input; sl__real_part() writes the real parts of g->spectrum to the octant. */
cudaError_t sl__mirror(const struct sl_grid_memory *g, const float *octant, cudaStream_t stream);
cudaError_t sl__real_part(const struct sl_grid_memory *g, float *octant, cudaStream_t stream);

/* How sl__pack() writes the layout without its padding (snapshot.cu). */
struct sl_packing {
	bool quantise;
	float low[3], scale;  /* scale: 65535 / extent */
	double unit;          /* a float is the position times unit */
};

/* out[n * dims]: floats, or 16-bit numbers if s.quantise */
cudaError_t sl__pack(const struct sl_particles *p, struct sl_packing s, void *out, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
