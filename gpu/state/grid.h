/* grid.h -- a grid in device memory. plans.c lays it out; kernels of layout/ and fft/ read and write it. */
#ifndef SL_GPU_GRID_H
#define SL_GPU_GRID_H

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stdint.h>

/* A grid in device memory: charges as fixed-point numbers, 32 bits each, in pairs; `pairs` a row. */
struct sl_grid_memory {
	int level;
	int dims, side;
	int window;            /* width: 4 or 6 */
	int length;            /* of the transforms: side or 2 side */
	int pairs;
	uint64_t *charges;     /* [side^(dims - 1)][pairs]; before each iteration those of the present layout; behind them
				* SL_BOX_BYTES for bounds that ranks of a group exchange */
	float *half;           /* level 0 of two: charges spread over the coarse grid along x, [side^(dims - 1)][coarse] */
	float *half2;          /* in 3-D, the same spread along y, too, [side][coarse][coarse] */
	int coarse;            /* level 0 of two: side of level 1; else 0 */
	float *input;          /* cuFFT's: [length]^dims, zero outside the side^dims octant; ours: NULL or sl__fft_rows() */
	float2 *spectrum;      /* cuFFT's: [length]^(dims - 1) [length / 2 + 1]; ours: see sl__fft_rows() */
	float *potential;      /* rows of `pitch` floats, planes of `plane` */
	int pitch;
	size_t plane;
	int cells;             /* beside a smooth grid: cells of a side, and the arrays of struct sl_cutoff_cells */
	uint32_t *cell_count, *cell_start, *cell_offset;
};
#endif
