/* control.h -- the control block of an embedding in device memory: the host's orders and the device's report.
 *
 * The host writes struct sl_orders before a stretch of iterations and never during one. Only the device writes struct
 * sl_report; the host reads it when the stretch has finished. If report.state is not SL_GO, every kernel returns at
 * once. So when a layout has outgrown its grid, all iterations that are queued change nothing. */
#ifndef SL_GPU_CONTROL_H
#define SL_GPU_CONTROL_H

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/engine/engine.h"
#include "core/grid/grid.h"

enum sl_state { SL_GO, SL_OUTGROWN, SL_DIVERGED };

/* The repulsion uses one grid or two (core/grid/grid.h). Level 0 is the only or the near grid; level 1 is the far grid,
 * which gets its charges from level 0. */
#define SL_LEVELS 2
#define SL_BOXES 16  /* ranks of a group, at most */
#define SL_BOX_BYTES (SL_BOXES * 8 * sizeof(float))

struct sl_level {
	float inverse_h, force_scale;  /* 1 / h; 0.5 / (h nu), nu: degrees of freedom */
	float clamp;                   /* largest grid coordinate of a point */
	float weight_scale, weight_inverse;  /* in fixed point, weight_scale stands for 1 */
	float offset;                  /* grid coordinate of the layout's corner */
	const float *spectrum;         /* device memory, as the three pointers below */
	const float *tilt;             /* sl_grid_tilt(), level 1 only */
	const float *gather_weight;    /* struct sl_grid_gather, level 1 only */
	const int *gather_first;
	int gather_taps;
	double constant;               /* zero n^2 - self n, see sl_grid_spectrum() */
};

/* For pairs closer than a cut-off. */
struct sl_cutoff_orders {
	float inverse;                 /* 1 / a cell's width */
	float cutoff2;
	uint64_t candidates_most;      /* with more candidates, the layout is too tight for pairs */
	struct sl_grid_cutoff kernel;
};

struct sl_orders {
	struct sl_step step;           /* filled */
	float reach, shrink;           /* the grids serve layouts of longest side shrink .. reach */
	struct sl_level level[SL_LEVELS];
	struct sl_cutoff_orders cutoff;
	float *box;                    /* where this rank of a group writes the bounds of its nodes; NULL: no group */
};

struct sl_report {
	int state;                   /* enum sl_state */
	int finite;
	uint32_t done;               /* iterations since the host set it to 0 */
	uint64_t iteration;          /* for Adam's corrections */
	double level_z[SL_LEVELS];   /* Z is their sum */
	double z, divergence, square;
	float low[3], high[3];       /* bounds of the layout */
	float corner[3];             /* the grids that hold the charges reach from corner to corner + reach */
	uint64_t candidates;         /* pairs that sl__cutoff_pairs() tried or sl__cutoff_census() counted */
	uint32_t arrived[6];         /* counters of blocks that have finished, by kernel; 0 between kernels */
};

/* Orders and report of an embedding side by side: one copy takes both. */
struct sl_control {
	struct sl_orders orders;
	struct sl_report report;
	float box[SL_BOXES][8];      /* bounds of each rank's nodes, without grids; else they are behind the charges */
};

/* The array of partial sums, one for each block of a kernel that adds doubles: SL_PARTS + n / 256 elements. Those of
 * level 1 start at SL_LEVEL_PARTS. */
#define SL_PARTS 16384
#define SL_LEVEL_PARTS 8192
#endif
