/* launch.cuh -- launching kernels, and sums over a few threads, a block or all blocks. */
#ifndef SL_GPU_LAUNCH_CUH
#define SL_GPU_LAUNCH_CUH

#include <cuda_runtime_api.h>
#include <stdint.h>

#include "gpu/device/ptx.cuh"

/* ---- launches ------------------------------------------------------------------------------------------- */

/* Queues a kernel that calls await_previous(). On compute capability 9.0 it starts while the kernel before it ends; on
 * older devices it starts afterwards. cudaGetLastError() reports errors. */
template <class... P, class... A>
static inline void launch(void (*kernel)(P...), uint32_t blocks, uint32_t threads, size_t shared, cudaStream_t stream,
			  A... arguments)
{
	cudaLaunchAttribute early = {};
	cudaLaunchConfig_t config = {};
	cudaFuncAttributes code;
	if (cudaFuncGetAttributes(&code, (const void *)kernel) != cudaSuccess)
		return;
	early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
	early.val.programmaticStreamSerializationAllowed = 1;
	config.gridDim = dim3(blocks);
	config.blockDim = dim3(threads);
	config.dynamicSmemBytes = shared;
	config.stream = stream;
	config.attrs = &early;
	config.numAttrs = code.ptxVersion >= 90;
	cudaLaunchKernelEx(&config, kernel, P(arguments)...);
}

/* Sums over `lanes` neighbouring threads, in a fixed order; all of them get the sum. */
template <class T> static __device__ __forceinline__ T sum_lanes(T x, int lanes = 32)
{
#pragma unroll
	for (int step = lanes / 2; step; step >>= 1)
		x += __shfl_xor_sync(~0u, x, step);
	return x;
}

/* All threads of a block call it after their writes. True in the last block to arrive, which resets the counter to
 * 0. */
static __device__ __forceinline__ bool last_block(uint32_t *counter)
{
	__shared__ bool last;
	__threadfence();
	__syncthreads();
	if (threadIdx.x == 0)
		last = atomicInc(counter, gridDim.x * gridDim.y - 1) == gridDim.x * gridDim.y - 1;
	__syncthreads();
	if (last)
		__threadfence();
	return last;
}

/* Sums over the block, in a fixed order; thread 0 gets the sum. blockDim.x: a multiple of 32, at most 1,024. */
static __device__ __forceinline__ double block_sum(double x)
{
	__shared__ double warp_sum[32];
	for (int step = 16; step; step >>= 1)
		x += __shfl_down_sync(~0u, x, step);
	__syncthreads();
	if (threadIdx.x % 32 == 0)
		warp_sum[threadIdx.x / 32] = x;
	__syncthreads();
	x = threadIdx.x < blockDim.x / 32 ? warp_sum[threadIdx.x] : 0;
	if (threadIdx.x < 32)
		for (int step = 16; step; step >>= 1)
			x += __shfl_down_sync(~0u, x, step);
	return x;
}

/* Sums part[count] by one block; thread 0 gets the sum. */
static __device__ __forceinline__ double sum_parts(const double *part, uint32_t count)
{
	double x = 0;
	for (uint32_t i = threadIdx.x; i < count; i += blockDim.x)
		x += __ldcg(part + i);
	return block_sum(x);
}

/* The shared memory that a block may request on the current device. */
static inline size_t block_shared_most(void)
{
	int device = 0, most = 0;
	cudaGetDevice(&device);
	cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
	return (size_t)most;
}

/* The same, less room for a few small static arrays. */
static inline size_t shared_most(void)
{
	size_t most = block_shared_most();
	return most > 1024 ? most - 1024 : 0;
}

static inline uint32_t blocks_for(uint64_t threads, uint32_t block)
{
	return (uint32_t)((threads + block - 1) / block);
}

/* Queue a kernel with one thread for each of `count` items, or one warp (each_warp()), in blocks of 256 threads. */
template <class... P, class... A>
static inline cudaError_t each(uint64_t things, void (*kernel)(P...), cudaStream_t stream, A... arguments)
{
	cudaLaunchConfig_t config = {};
	config.gridDim = dim3(blocks_for(things, 256));
	config.blockDim = dim3(256);
	config.stream = stream;
	cudaLaunchKernelEx(&config, kernel, P(arguments)...);
	return cudaGetLastError();
}

template <class... P, class... A>
static inline cudaError_t each_warp(uint64_t things, void (*kernel)(P...), cudaStream_t stream, A... arguments)
{
	return each(things * 32, kernel, stream, arguments...);
}

/* Allows blocks of these kernels to request up to `bytes` of dynamic shared memory. percent: the part of a
 * multiprocessor's memory to be shared memory; -1 leaves that to the driver. */
template <class... K> static inline cudaError_t allow_shared(size_t bytes, int percent, K... kernels)
{
	cudaError_t status = cudaSuccess;
	for (const void *kernel : {(const void *)kernels...}) {
		if (status == cudaSuccess)
			status = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes);
		if (status == cudaSuccess && percent >= 0)
			status = cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout, percent);
	}
	return status;
}

/* Returns the first error among some calls. */
template <class... S> static inline cudaError_t first_error(S... status)
{
	cudaError_t first = cudaSuccess;
	for (cudaError_t one : {status...})
		first = first == cudaSuccess ? one : first;
	return first;
}

#endif
