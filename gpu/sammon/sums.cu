/* Adds up the points' sums over the blocks and runs of a launch, in double precision and in a fixed order; and splits
 * coordinates into halves. */
#include <cuda_fp16.h>

#include "gpu/device/launch.cuh"
#include "gpu/sammon/sammon.h"

/* One thread per number of high and low; numbers behind the last column are 0. */
static __global__ void split(struct sl_cuda_sammon s)
{
	uint64_t at = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
	uint32_t point = (uint32_t)(at / s.depth), k = (uint32_t)(at % s.depth);
	if (point >= s.room)
		return;
	float x = k < s.d ? SL_SM_UNIT * s.panel[((size_t)(point / 32) * s.d + k) * 32 + point % 32] : 0.0f;
	__half high = __float2half_rn(x);
	((__half *)s.high)[at] = high;
	((__half *)s.low)[at] = __float2half_rn(x - __half2float(high));
}

cudaError_t sl__cuda_sammon_split(const struct sl_cuda_sammon *m, cudaStream_t stream)
{
	return each((uint64_t)m->room * m->depth, split, stream, *m);
}

static __device__ __forceinline__ uint32_t runs_of(const struct sl_cuda_sammon &s, uint32_t block)
{
	if (s.partners)
		return s.runs;
	uint32_t tiles = (s.n - 1) / SL_SM_COLUMNS + 1 - block * (SL_SM_ROWS / SL_SM_COLUMNS);
	return (tiles - 1) / s.run + 1;
}

/* One thread for each point and value, and one for each block of the launch. A point's sum is first the columns' sums
 * of the blocks before its own block, then the rows' sums of its own block's runs. */
static __global__ void add_up(struct sl_cuda_sammon s, uint32_t count, uint32_t values, double *out, double *sums)
{
	uint64_t at = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
	uint32_t v = (uint32_t)(at / s.n), point = (uint32_t)(at % s.n), own = point / s.step;
	if (v >= values) {
		uint64_t b = at - (uint64_t)s.n * values;
		double sum = 0;
		for (uint32_t run = 0; b < count && run < runs_of(s, s.first + (uint32_t)b); run++)
			sum += s.sum_part[b * s.runs + run];
		if (b < count)
			sums[s.first + b] = sum;
		return;
	}
	double sum = out[(size_t)v * s.room + point];
	for (uint32_t b = 0; !s.partners && b < count && s.first + b < own; b++)
		sum += (double)s.column_part[((size_t)b * values + v) * s.room + point];
	if (own >= s.first && own - s.first < count) {
		const float *part = s.row_part + ((size_t)(own - s.first) * s.runs * values + v) * SL_SM_ROWS + point % s.step;
		for (uint32_t run = 0; run < runs_of(s, own); run++)
			sum += (double)part[(size_t)run * values * SL_SM_ROWS];
	}
	out[(size_t)v * s.room + point] = sum;
}

cudaError_t sl__cuda_sammon_sums(const struct sl_cuda_sammon *m, uint32_t count, bool weights, cudaStream_t stream)
{
	uint32_t values = weights ? 1 : (uint32_t)m->dims * (m->curve ? 2 : 1);
	return each((uint64_t)m->n * values + count, add_up, stream, *m, count, values, weights ? m->weight : m->force,
		    weights ? m->total : m->sum);
}
