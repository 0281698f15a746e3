/* launch.cuh -- launching kernels, and sums over a block. */
#ifndef SL_GPU_LAUNCH_CUH
#define SL_GPU_LAUNCH_CUH

#include <cuda_runtime_api.h>
#include <stdint.h>

#include "gpu/device/ptx.cuh"

/* ---- launches ------------------------------------------------------------------------------------------- */

/* Queues a kernel that calls await_previous(); it starts as the one before it ends, where device and code can do that
 * (compute capability 9.0; code for older ones does not wait). Errors: cudaGetLastError(). */
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

/* All threads of the block call it after their writes; true in the block that comes last. counter is 0 again. */
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

/* Sum over the block, in a fixed order, to thread 0. blockDim.x a multiple of 32, at most 1024. */
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

/* One block: the sum of part[count], to thread 0. */
static __device__ __forceinline__ double sum_parts(const double *part, uint32_t count)
{
	double x = 0;
	for (uint32_t i = threadIdx.x; i < count; i += blockDim.x)
		x += __ldcg(part + i);
	return block_sum(x);
}

/* Dynamic shared memory that a block may ask for on the current device, beside a few small arrays. */
static inline size_t shared_most(void)
{
	int device = 0, most = 0;
	cudaGetDevice(&device);
	cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
	return most > 1024 ? (size_t)most - 1024 : 0;
}

static inline uint32_t blocks_for(uint64_t threads, uint32_t block)
{
	return (uint32_t)((threads + block - 1) / block);
}

#endif
