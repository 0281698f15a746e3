/* sammon.h -- passes of Sammon's mapping over pairs of points on the device (core/sammon/passes.h): what is in device
 * memory, and launchers of the kernels. passes.c is the host's code.
 *
 * A tile is SL_SM_ROWS points, a block of rows, by SL_SM_COLUMNS others. A thread block goes through a run of tiles of
 * one block of rows. Where all pairs count it has those from the diagonal on, and a tile gives sums for its rows and
 * for its columns; else those of its partners, and sums for the rows alone. Sums of a run and of a tile are single
 * precision, and are added up in double precision in the order of the blocks and runs, by another kernel.
 *
 * Distances of points: inner products of coordinates in two halves each, high and low, of which the tensor cores add up
 * high high + high low + low high; what is left out is 2^-22 of the lengths' product. Squared distances below
 * SL_SM_CANCELS of the squared lengths' sum, and all of points of a few columns, come from differences instead. */
#ifndef SL_GPU_SAMMON_H
#define SL_GPU_SAMMON_H

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/error.h"

#ifdef __cplusplus
extern "C" {
#endif

struct sl_device;
struct sl_sammon_passes;
struct sl_sammon_table;

#define SL_SM_ROWS 128u
#define SL_SM_COLUMNS 64u
#define SL_SM_MOST 12u         /* columns of points whose distances come from differences */
#define SL_SM_CANCELS 0x1p-6f
#define SL_SM_NEAREST 1e-24f   /* squared distances in the layout below it are 0 */
#define SL_SM_UNIT 0x1p14f     /* halves are coordinates times this, so that the low ones are no subnormal numbers */

/* All pointers are to device memory. */
struct sl_sm {
	uint32_t n, d;
	uint32_t room;             /* points that arrays have room for: all tiles end there */
	uint32_t depth;            /* d, rounded up to a multiple of 16 */
	uint32_t wide;             /* halves of a stage: depth, or SL_SM_DEEP of more than SL_SM_COLUMNS */
	int dims;
	bool metric, curve, differences;
	uint32_t blocks;           /* of rows */
	uint32_t step;             /* rows of a block */
	uint32_t side, partners;   /* as of struct sl_sammon_table; partners 0: all pairs */
	uint32_t run, runs;        /* tiles of a run; runs of a block at most */
	uint32_t most;             /* blocks of a launch, at most */
	uint32_t first;            /* block of the launch */
	uint32_t known;            /* blocks whose squared distances are kept: the first ones */
	float *panel;              /* [room / 32][d][32] */
	void *high, *low;          /* [room][depth] halves */
	float *norm, *mass;        /* [room] */
	float *y;                  /* [dims][room] */
	float *kept;               /* [tiles][SL_SM_ROWS * SL_SM_COLUMNS] squared distances, as threads have them; NULL:
				    * they are too many */
	uint32_t *partner;         /* [blocks of `side` points][partners] */
	float *row_part;           /* [most][runs][values][SL_SM_ROWS] */
	float *column_part;        /* [most][values][room] */
	double *sum_part;          /* [most][runs] */
	double *force;             /* [dims or 2 dims][room] forces, then curves */
	double *weight;            /* [room] */
	double *sum, *total;       /* [blocks] of w (D - d)^2, of w D^2; of pairs of a block with itself, and with partners,
				    * half of it */
};

#define SL_SM_DEEP 32u

/* Tiles of the blocks before one, where all pairs count. */
#ifdef __CUDACC__
__host__ __device__
#endif
static inline uint64_t sl__sm_tiles_before(uint32_t n, uint64_t block)
{
	return block * ((n - 1) / SL_SM_COLUMNS + 1) - block * (block - 1);
}

/* Queue kernels on a stream, and return the launch's error. */

/* Of the current device: once, before the others. */
cudaError_t sl__sm_init(void);
/* high and low, from panel. */
cudaError_t sl__sm_split(const struct sl_sm *m, cudaStream_t stream);
/* Blocks m->first .. m->first + count - 1, count <= m->most: their pairs are added to force and sum, or, with weights,
 * to weight and total, which were 0 at the beginning of the pass. Their squared distances are kept, where kept is not
 * NULL. */
cudaError_t sl__sm_pairs(const struct sl_sm *m, uint32_t count, bool weights, cudaStream_t stream);
/* The second half of that: from the parts to the sums. */
cudaError_t sl__sm_sums(const struct sl_sm *m, uint32_t count, bool weights, cudaStream_t stream);

/* Opens passes over a table; struct sl_engine, sammon_passes. */
int sl__sammon_passes(struct sl_device *device, const struct sl_sammon_table *table, struct sl_sammon_passes *out,
		      struct sl_error *err);

#ifdef __cplusplus
}
#endif
#endif
