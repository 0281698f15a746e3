/* Fills an array with one value; multiplies an array by a factor. */
#include "gpu/device/device.h"
#include "gpu/device/launch.cuh"

#define BLOCK 256

static __global__ void fill(float *out, float value, uint64_t count)
{
	for (uint64_t at = (uint64_t)blockIdx.x * BLOCK + threadIdx.x; at < count; at += (uint64_t)gridDim.x * BLOCK)
		out[at] = value;
}

cudaError_t sl__fill(float *out, float value, uint64_t count, cudaStream_t stream)
{
	fill<<<blocks_for(count, 4 * BLOCK), BLOCK, 0, stream>>>(out, value, count);
	return cudaGetLastError();
}

static __global__ void scale(float *x, float factor, uint64_t count)
{
	for (uint64_t at = (uint64_t)blockIdx.x * BLOCK + threadIdx.x; at < count; at += (uint64_t)gridDim.x * BLOCK)
		x[at] *= factor;
}

cudaError_t sl__scale(float *x, float factor, uint64_t count, cudaStream_t stream)
{
	scale<<<blocks_for(count, 4 * BLOCK), BLOCK, 0, stream>>>(x, factor, count);
	return cudaGetLastError();
}
