/* device_memory.h -- a device's memory, for tests that call kernels without an engine. After cmocka.h. */
#ifndef SL_TEST_DEVICE_MEMORY_H
#define SL_TEST_DEVICE_MEMORY_H

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stdio.h>

#define CUDA(call) do { \
	cudaError_t status_ = (call); \
	if (status_ != cudaSuccess) \
		fail_msg("%s: %s", #call, cudaGetErrorString(status_)); \
} while (0)

static bool have_gpu;

static inline void find_gpu(cudaError_t (*init)(void))
{
	int count = 0;
	have_gpu = cudaGetDeviceCount(&count) == cudaSuccess && count > 0 && init() == cudaSuccess;
	if (!have_gpu)
		printf("skipped: no usable GPU\n");
}

#define BLOCKS_MAX 24

struct device_memory {
	void *block[BLOCKS_MAX];
	int count;
};

/* Filled with `content`, or with ones, which no number is. */
static inline void *take(struct device_memory *m, size_t bytes, const void *content)
{
	void *block;
	assert_true(m->count < BLOCKS_MAX);
	CUDA(cudaMalloc(&block, bytes));
	CUDA(content ? cudaMemcpy(block, content, bytes, cudaMemcpyHostToDevice) : cudaMemset(block, 0xff, bytes));
	m->block[m->count++] = block;
	return block;
}

static inline void give_back(struct device_memory *m)
{
	while (m->count)
		CUDA(cudaFree(m->block[--m->count]));
}

#endif
