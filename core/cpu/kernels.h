/* kernels.h -- the inner loops of the CPU engine. kernels.c is compiled once for each instruction set; sl_cpu_kernels()
 * selects the best that the processor has. A kernel works on a range that its caller assigns to one thread. It
 * allocates nothing and shares no state. */
#ifndef SL_CPU_KERNELS_H
#define SL_CPU_KERNELS_H

#include <stddef.h>
#include <stdint.h>

#include "core/engine/engine.h"
#include "core/grid/grid.h"

/* Points sorted into the cells of cutoff.c. A cell is as wide as the cut-off along y and z, and a quarter of it along
 * x. */
#define SL_CELLS_FINE 4
struct sl_cells {
	int dims;               /* 2: without z */
	int side;               /* cells along y and z */
	float low[3], inverse;  /* their corner; 1 / cut-off */
	uint32_t *start;        /* [4 side^dims + 1] first place of each cell, x fastest */
	float *at[3];           /* [n + SL_CELLS_SPARE] x, y, z by place; kernels may read the spare elements */
	uint32_t *index;        /* [n] point at each place */
};
#define SL_CELLS_SPARE 16

/* The near part of the kernel (sl_grid_cutoff) in powers of unit * t; unit: a power of two, at most 1. */
struct sl_near_part {
	struct sl_grid_cutoff by;
	float unit;
};

/* A list of positions with masses: the far cells and near points whose forces act on a group of points. */
#define SL_CPU_WEIGHTED_MOST 2048
struct sl_weighted {
	int count;
	float at[3][SL_CPU_WEIGHTED_MOST];
	float mass[SL_CPU_WEIGHTED_MOST];
};

/* A grid in memory consists of rows along x, `stride` floats apart. The row index is y (2-D) or z * side + y (3-D).
 * Each row has SL_WINDOW_LANES spare floats after its last node. */
struct sl_cpu_kernels {
	const char *name;

	/* Adds the windows of `count` points to the grid. t[count * dims]: their positions in grid units, x first, relative
	 * to the first node that a window may touch. */
	void (*spread)(const struct sl_window *w, int dims, int side, int stride, const float *t, uint32_t count,
		       float *grid);

	/* force[index[i] * dims + k] = scale * derivative of the potential at point i. */
	void (*read)(const struct sl_window *w, int dims, int side, int stride, const float *t, uint32_t count,
		     const float *potential, float scale, const uint32_t *index, float *force);

	/* Multiplies 8 interleaved complex lines of `length` elements by a real spectrum: element i of line l by s[min(i,
	 * length - i) * step + l]. Returns the sum of weight[l] * s * |value|^2 over all of them; lines of weight 0 become
	 * 0. */
	double (*multiply)(float *value, int length, const float *s, size_t step, const float *weight);

	/* out[x] = sum over rows r of weight[r] * in[r * step + x], added to out[x] if `add`; count: a multiple of 16. */
	void (*combine)(const float *in, size_t step, const float *weight, int rows, int count, float *out, int add);

	/* out[i] = sum_t share[i * taps + t] * in[from[i] + t], i < count; taps: a multiple of 8. scatter is the
	 * transpose: out[from[i] + t] = sum_i share[i * taps + t] * in[i], out of `width` floats. */
	void (*gather)(const float *in, const int *from, const float *share, int taps, int count, float *out);
	void (*scatter)(const float *in, const int *from, const float *share, int taps, int count, int width, float *out);

	/* out[(i - from) * dims + k] = sum_j p_ij (y_i - y_j) / (1 + |y_i - y_j|^2), rows from..to. */
	void (*attract)(int dims, const uint64_t *start, const uint32_t *node, const float *p, const float *y,
			uint32_t from, uint32_t to, float *out);

	/* sum over rows from..to of p_ij log(1 + |y_i - y_j|^2) */
	double (*divergence)(int dims, const uint64_t *start, const uint32_t *node, const float *p, const float *y,
			     uint32_t from, uint32_t to);

	/* Rows from..to of one step of the Chebyshev recurrence of a walk on the graph, for blocks of 8 columns: w = sum_j
	 * p_ij x_j / mass_i, a = slope_i w - shift_i x_i (slope NULL: w), to_i = first ? a : 2 a - to_i. */
	void (*walk)(const uint64_t *start, const uint32_t *node, const float *p, const float *mass, const float *slope,
		     const float *shift, const float *x, int first, uint32_t from, uint32_t end, float *to);

	/* All pairs: force[i * dims + k] = sum_j (y_i - y_j) (1 + |y_i - y_j|^2)^-(nu + 1), for rows from..to and the
	 * kernel (1 + r^2)^-nu; c[k][n] are the coordinates. Returns the part of Z of these rows. */
	double (*exact)(int dims, double nu, uint32_t n, float *const c[3], uint32_t from, uint32_t to, float *force);

	/* For the points at places from..to, whose coordinates are c[k]: adds sum_j mass_j (y_i - y_j) (1 + |y_i -
	 * y_j|^2)^-(nu + 1) over the list to sum[i - from][k], and sum_j mass_j (1 + |y_i - y_j|^2)^-nu to the fourth. */
	void (*weighted)(int dims, double nu, const struct sl_weighted *list, float *const c[3], uint32_t from, uint32_t to,
			 double (*sum)[4]);

	/* Pairs closer than the cut-off, in 2-D and 3-D: adds their part of the force on the points at places from..to to
	 * force[index * dims + k]. Returns their part of Z, which includes the pair of each point with itself. */
	double (*cutoff_pairs)(const struct sl_cells *c, const struct sl_near_part *near, uint32_t from, uint32_t to,
			       float *force);
	/* The same for a position that need not be a point's: adds its force to sum[0..2], its kernel values to sum[3]. */
	void (*cutoff_at)(const struct sl_cells *c, const struct sl_near_part *near, const float at[3], double sum[4]);

	/* Moves `count` nodes by the momentum rule of core/engine/update.h. attraction and repulsion are the two terms of
	 * gradient / 4; rate[count] holds the learning rates; s comes from sl_step_filled(). velocity and gain have the
	 * shape of y. */
	void (*step_momentum)(int dims, uint32_t count, const struct sl_step *s, float inverse_z, const float *rate,
			      const float *attraction, const float *repulsion, const float *y,
			      float *velocity, float *gain, float *next);
	/* Moves nodes by Adam (Kingma and Ba, ICLR 2015), for the gradient times scale. mean and square have the shape of
	 * y. */
	void (*step_adam)(uint32_t count, float exaggeration, float inverse_z, float rate, float scale,
			  float correct_mean, float correct_square,
			  const float *attraction, const float *repulsion, const float *y,
			  float *mean, float *square, float *next);
};

const struct sl_cpu_kernels *sl_cpu_kernels(void);

#endif
