/* tile.cuh -- device functions that the scanning kernels share: instructions, and the queue that takes pairs that pass
 * to their row's list. */
#ifndef SL_GPU_TILE_CUH
#define SL_GPU_TILE_CUH

#include <cuda_fp16.h>

#include "gpu/device/launch.cuh"
#include "gpu/neighbours/scan/scan.h"

enum scan_mode { MODE_FILTER, MODE_DENSE, MODE_BEST };

#define QUEUE 1024u        /* capacity of the queue, in shared memory, for pairs that passed */
#define QUEUE_LIMIT 384u   /* number of pairs at which the queue is written out */

struct queue {
	uint2 pair[QUEUE];      /* score's bits, column */
	uint16_t row[QUEUE];
	uint32_t count;
};

/* Appends a pair that passed to its row's list in device memory. */
static __device__ __noinline__ void admit(const struct sl_scan &s, uint32_t row, uint32_t column, float score)
{
	uint32_t j = s.columns.index[column];
	if (j == SL_NOBODY || j == s.rows.index[row])
		return;
	struct sl_bound b = s.lists.bound[row];
	if (score < b.score || (score == b.score && j > b.index))
		return;
	uint32_t at = atomicAdd(s.lists.count + row, 1);
	if (at < s.lists.capacity)
		s.lists.entry[(size_t)row * s.lists.capacity + at] = make_uint2(__float_as_uint(score), j);
}

static __device__ __forceinline__ void push(const struct sl_scan &s, struct queue *q, uint32_t first_row, uint32_t row,
					    uint32_t column, float score)
{
	uint32_t at = atomicAdd(&q->count, 1);
	if (at < QUEUE) {
		q->pair[at] = make_uint2(__float_as_uint(score), column);
		q->row[at] = (uint16_t)row;
	} else {
		admit(s, first_row + row, column, score);
	}
}

/* True if one of a thread's scores in a fragment (two rows, two columns) passes. */
static __device__ __forceinline__ bool passes(const float acc[4], const float bound[2])
{
	return (acc[0] >= bound[0]) | (acc[1] >= bound[0]) | (acc[2] >= bound[1]) | (acc[3] >= bound[1]);
}

static __device__ __forceinline__ void push_four(const struct sl_scan &s, struct queue *q, uint32_t first_row,
						 uint32_t row, uint32_t column, const float acc[4], const float bound[2])
{
	bool hit[4] = {acc[0] >= bound[0], acc[1] >= bound[0], acc[2] >= bound[1], acc[3] >= bound[1]};
	uint32_t at = atomicAdd(&q->count, hit[0] + hit[1] + hit[2] + hit[3]);
#pragma unroll
	for (int e = 0; e < 4; e++) {
		if (!hit[e])
			continue;
		if (at < QUEUE) {
			q->pair[at] = make_uint2(__float_as_uint(acc[e]), column + e % 2);
			q->row[at] = (uint16_t)(row + e / 2 * 8);
		} else {
			admit(s, first_row + row + e / 2 * 8, column + e % 2, acc[e]);
		}
		at++;
	}
}

/* Writes the queue out. All threads of the block call it, between barriers. */
static __device__ __forceinline__ void drain(const struct sl_scan &s, struct queue *q, uint32_t first_row)
{
	uint32_t count = q->count < QUEUE ? q->count : QUEUE;
	for (uint32_t i = threadIdx.x; i < count; i += blockDim.x)
		admit(s, first_row + q->row[i], q->pair[i].y, __uint_as_float(q->pair[i].x));
	__syncthreads();
	if (threadIdx.x == 0)
		q->count = 0;
	__syncthreads();
}

/* The bound for a row's scores in this pass. */
static __device__ __forceinline__ float bound_of(const struct sl_scan &s, uint32_t row)
{
	if (s.repeat && !(s.lists.again[row] >> s.round & 1))
		return INFINITY;
	return s.lists.bound[row].score;
}

/* Writes two neighbouring columns of a dense round to place `at` of the list. j: their points. */
static __device__ __forceinline__ void store_pair(const struct sl_scan &s, uint32_t row, uint32_t at, float x, float y,
						  uint2 j, uint32_t self)
{
	uint4 v = make_uint4(__float_as_uint(j.x == self ? -INFINITY : x), j.x == self ? SL_NOBODY : j.x,
			     __float_as_uint(j.y == self ? -INFINITY : y), j.y == self ? SL_NOBODY : j.y);
	*reinterpret_cast<uint4 *>(s.lists.entry + (size_t)row * s.lists.capacity + at) = v;
}

/* The best score of four neighbouring threads; of equal scores, that of the lowest column. All four get it. */
static __device__ __forceinline__ void best_of_four(float *score, uint32_t *column)
{
	for (int step = 1; step < 4; step *= 2) {
		float other = __shfl_xor_sync(~0u, *score, step);
		uint32_t place = __shfl_xor_sync(~0u, *column, step);
		if (other > *score || (other == *score && place < *column)) {
			*score = other;
			*column = place;
		}
	}
}

static __device__ __forceinline__ uint32_t tile_at(const struct sl_scan &s, uint32_t row_block, uint32_t place)
{
	return s.order ? s.order[(size_t)row_block * s.order_stride + place] : place;
}

#endif
