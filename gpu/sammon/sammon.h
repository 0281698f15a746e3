/* sammon.h -- passes of Sammon's mapping over pairs of points on the device (core/sammon/passes.h): the arrays in
 * device memory, and the launchers of the kernels. passes.c is the host code.
 *
 * A tile holds the pairs of SL_SM_ROWS points (a block of rows) with SL_SM_COLUMNS others. A thread block processes a
 * run of tiles of one block of rows. If all pairs count, these are the tiles from the diagonal on, and a tile adds to
 * the sums of its rows and columns. Otherwise they are the tiles of its partners, and a tile adds only to the sums of
 * its rows. Sums of a run and of a tile are in single precision. Another kernel adds them in double precision, in the
 * order of blocks and runs.
 *
 * Distances of points come from inner products. A coordinate is the sum of two half-precision numbers, high and low;
 * the tensor cores sum high high + high low + low high. The omitted product is at most 2^-22 of the product of the
 * lengths. Squared distances below SL_SM_CANCELS times the sum of the squared lengths, and all distances of points with
 * at most SL_SM_MOST columns, come from differences instead. Tests: tests/gpu/test_sammon.c. Bench:
 * tests/gpu/bench_sammon.c. */
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
#define SL_SM_MOST 12u         /* distances of points of at most so many columns come from differences */
#define SL_SM_CANCELS 0x1p-6f
#define SL_SM_NEAREST 1e-24f   /* smaller squared distances in the layout are treated as 0 */
#define SL_SM_UNIT 0x1p14f     /* factor of coordinates in half precision, so that low parts are not subnormal */

/* All pointers are to device memory. */
struct sl_cuda_sammon {
	uint32_t n, d;
	uint32_t room;             /* number of points for which arrays have room: whole tiles */
	uint32_t depth;            /* d, rounded up to a multiple of 16 */
	uint32_t wide;             /* halves that are loaded at a time: depth, or SL_SM_DEEP if it exceeds SL_SM_COLUMNS */
	int dims;
	bool metric, curve, differences;
	uint32_t blocks;           /* of rows */
	uint32_t step;             /* rows of a block */
	uint32_t side, partners;   /* as in struct sl_sammon_table; partners 0: all pairs */
	uint32_t run, runs;        /* tiles of a run; the most runs of a block */
	uint32_t blocks_max;       /* the most blocks of a launch */
	uint32_t first;            /* first block of the launch */
	uint32_t known;            /* number of blocks, from the first, whose squared distances are stored in `kept` */
	float *panel;              /* [room / 32][d][32] */
	void *high, *low;          /* [room][depth] halves */
	float *norm, *mass;        /* [room] */
	float *y;                  /* [dims][room] */
	float *kept;               /* [tiles][SL_SM_ROWS * SL_SM_COLUMNS] squared distances, in the order of threads; NULL:
				    * they exceed the memory */
	uint32_t *partner;         /* [blocks of `side` points][partners] */
	float *row_part;           /* [blocks_max][runs][values][SL_SM_ROWS] */
	float *column_part;        /* [blocks_max][values][room] */
	double *sum_part;          /* [blocks_max][runs] */
	double *force;             /* [dims or 2 dims][room] forces, then curves */
	double *weight;            /* [room] */
	double *sum, *total;       /* [blocks] of w (D - d)^2, of w D^2; pairs within a block, and with partners, add
				    * half of their terms */
};

#define SL_SM_DEEP 32u

/* The number of tiles of all blocks before `block`, if all pairs count. */
#ifdef __CUDACC__
__host__ __device__
#endif
static inline uint64_t sl__cuda_sammon_tiles_before(uint32_t n, uint64_t block)
{
	return block * ((n - 1) / SL_SM_COLUMNS + 1) - block * (block - 1);
}

/* Queue kernels on a stream, and return the launch's error. */

/* Call it once for the current device, before the other functions. */
cudaError_t sl__cuda_sammon_init(void);
/* Computes high and low from panel. */
cudaError_t sl__cuda_sammon_split(const struct sl_cuda_sammon *m, cudaStream_t stream);
/* Processes blocks m->first .. m->first + count - 1, count <= m->blocks_max: adds their pairs to force and sum or, with
 * `weights`, to weight and total. All four are 0 at the beginning of the pass. Stores the squared distances if kept is
 * not NULL. */
cudaError_t sl__cuda_sammon_pairs(const struct sl_cuda_sammon *m, uint32_t count, bool weights, cudaStream_t stream);
/* The second step of sl__cuda_sammon_pairs(): adds the partial sums. */
cudaError_t sl__cuda_sammon_sums(const struct sl_cuda_sammon *m, uint32_t count, bool weights, cudaStream_t stream);

/* Opens passes over a table; the operation "sammon.passes". */
int sl__sammon_passes(struct sl_device *device, const struct sl_sammon_table *table, struct sl_sammon_passes *out,
		      struct sl_error *err);

#ifdef __cplusplus
}
#endif
#endif
