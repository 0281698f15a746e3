/* kernels.h -- the inner loops of the CPU engine. kernels.c is compiled once for each
 * instruction set; sl_cpu_kernels() picks the best the processor has. Each works on a range
 * that its caller gives to one thread; none allocates, none shares state. */
#ifndef SL_CPU_KERNELS_H
#define SL_CPU_KERNELS_H

#include <stddef.h>
#include <stdint.h>

#include "core/engine/engine.h"
#include "core/grid/grid.h"

/* Points sorted into the cells of cutoff.c: as wide as the cut-off along y and z, a quarter of that along x. */
#define SL_CELLS_FINE 4
struct sl_cells {
	int dims;               /* 2: without z */
	int side;               /* cells along y and z */
	float low[3], inverse;  /* their corner; 1 / cut-off */
	uint32_t *start;        /* [4 side^dims + 1] first place of each cell, x fastest */
	float *at[3];           /* [n + SL_CELLS_SPARE] x, y, z by place; what is behind the last may be read */
	uint32_t *index;        /* [n] point at each place */
};
#define SL_CELLS_SPARE 16

/* Places that act as so many points: what a group of points sees of others. */
#define SL_CPU_WEIGHTED_MOST 2048
struct sl_weighted {
	int count;
	float at[3][SL_CPU_WEIGHTED_MOST];
	float mass[SL_CPU_WEIGHTED_MOST];
};

/* Grid in memory: rows of x, `stride` floats apart, row index y (2-D) or z * side + y (3-D).
 * stride leaves SL_WINDOW_LANES spare floats behind the last node. */
struct sl_cpu_kernels {
	const char *name;

	/* Adds the windows of `count` points at t[count * dims] (grid units, from the corner of
	 * the first node their window may touch, x first) to the grid. */
	void (*spread)(const struct sl_window *w, int dims, int side, int stride, const float *t, uint32_t count,
		       float *grid);

	/* force[index[i] * dims + k] = scale * derivative of the potential at point i. */
	void (*read)(const struct sl_window *w, int dims, int side, int stride, const float *t, uint32_t count,
		     const float *potential, float scale, const uint32_t *index, float *force);

	/* 8 interleaved complex lines of `length` elements times a real spectrum: element i, line l, times
	 * s[min(i, length - i) * step + l]. Returns the sum over them of weight[l] * s * |value|^2; lines of weight 0
	 * become 0. */
	double (*multiply)(float *value, int length, const float *s, size_t step, const float *weight);

	/* out[x] = sum over rows r of weight[r] * in[r * step + x], plus what was there if add; count: whole
	 * vectors of 16. */
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

	/* All pairs: force[i * dims + k] = sum_j (y_i - y_j) (1 + |y_i - y_j|^2)^-(nu + 1), rows from..to, for the kernel
	 * (1 + r^2)^-nu; c[k][n] are the coordinates. Returns the rows' part of Z. */
	double (*exact)(int dims, double nu, uint32_t n, float *const c[3], uint32_t from, uint32_t to, float *force);

	/* For the points at places from..to, whose coordinates are c[k]: adds sum_j mass_j (y_i - y_j) (1 + |y_i -
	 * y_j|^2)^-(nu + 1) over the list to sum[i - from][k], and sum_j mass_j (1 + |y_i - y_j|^2)^-nu to the fourth. */
	void (*weighted)(int dims, double nu, const struct sl_weighted *list, float *const c[3], uint32_t from, uint32_t to,
			 double (*sum)[4]);

	/* Pairs closer than the cut-off, in 2-D and 3-D: adds their part of the force of the points at places from..to to
	 * force[index * dims + k]. Returns their part of Z, where each point has also met itself. */
	double (*cutoff_pairs)(const struct sl_cells *c, const struct sl_grid_cutoff *kernel, uint32_t from, uint32_t to,
			       float *force);

	/* One step of `count` nodes by the momentum rule of core/engine/update.h. attraction and repulsion are the two
	 * terms of the gradient / 4, rate[count] the nodes' learning rates; sl_step_filled() has filled s. velocity and
	 * gain have the shape of y. */
	void (*step_momentum)(int dims, uint32_t count, const struct sl_step *s, float inverse_z, const float *rate,
			      const float *attraction, const float *repulsion, const float *y,
			      float *velocity, float *gain, float *next);
	/* Adam (Kingma and Ba, 2015) on the gradient times scale. mean, square: as y. */
	void (*step_adam)(uint32_t count, float exaggeration, float inverse_z, float rate, float scale,
			  float correct_mean, float correct_square,
			  const float *attraction, const float *repulsion, const float *y,
			  float *mean, float *square, float *next);
};

const struct sl_cpu_kernels *sl_cpu_kernels(void);

#endif
