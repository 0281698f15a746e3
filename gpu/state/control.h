/* control.h -- the control block of an embedding in device memory: the host's orders and the device's report.
 *
 * The host writes struct sl_orders before a stretch of iterations and never during one. Only the device writes struct
 * sl_report; the host reads it when the stretch has finished. While report.state is not SL_GO every kernel returns at
 * once: an iteration that must not run (its layout has outgrown the grid) leaves everything as it was, however many
 * are queued behind it. */
#ifndef SL_GPU_CONTROL_H
#define SL_GPU_CONTROL_H

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/engine/engine.h"
#include "core/grid/grid.h"

enum sl_state { SL_GO, SL_OUTGROWN, SL_DIVERGED };

/* The kernel lies on one grid, or on two (see core/grid/grid.h): level 0 near or whole, level 1 far, fed by level 0. */
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
struct sl_cutoff_orders {
	float inverse;                 /* 1 / a cell's width */
	float cutoff2;
	uint64_t candidates_most;      /* more of them, and the layout has grown too tight for pairs */
	struct sl_grid_cutoff kernel;
};

struct sl_orders {
	struct sl_step step;           /* filled */
	float reach, shrink;           /* the grids serve layouts of longest side shrink .. reach */
	struct sl_level level[SL_LEVELS];
	struct sl_cutoff_orders cutoff;
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
	uint64_t candidates;         /* pairs that sl__cutoff_pairs() tried, or sl__cutoff_census() would */
	uint32_t arrived[6];         /* blocks that are through, by kernel; 0 between kernels */
};

/* Orders and report of an embedding side by side: one copy takes both. */
struct sl_control {
	struct sl_orders orders;
	struct sl_report report;
};

/* Partial sums, one a block, of the kernels that add up doubles: room for SL_PARTS + n / 256. The second level's start
 * at SL_LEVEL_PARTS. */
#define SL_PARTS 16384
#define SL_LEVEL_PARTS 8192
#endif
