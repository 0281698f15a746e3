/* device_memory.h -- a device's memory, for tests that call kernels without an engine. After cmocka.h. */
#ifndef SL_TEST_DEVICE_MEMORY_H
#define SL_TEST_DEVICE_MEMORY_H

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

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

#define BLOCKS_MAX 40

struct device_memory {
	void *block[BLOCKS_MAX];
	size_t bytes[BLOCKS_MAX];
	int count;
	size_t guard;  /* bytes behind each block that must stay as they are; 0: none, and tools see who goes there */
};

/* Filled with `content`, or with ones, which no number is and no node has. */
static inline void *take(struct device_memory *m, size_t bytes, const void *content)
{
	void *block;
	assert_true(m->count < BLOCKS_MAX);
	CUDA(cudaMalloc(&block, bytes + m->guard));
	CUDA(cudaMemset(block, 0xff, bytes + m->guard));
	if (content)
		CUDA(cudaMemcpy(block, content, bytes, cudaMemcpyHostToDevice));
	m->block[m->count] = block;
	m->bytes[m->count++] = bytes;
	return block;
}

static inline void give_back(struct device_memory *m)
{
	unsigned char *guard = malloc(m->guard + 1);
	while (m->count--) {
		size_t bytes = m->bytes[m->count];
		if (m->guard)
			CUDA(cudaMemcpy(guard, (char *)m->block[m->count] + bytes, m->guard, cudaMemcpyDeviceToHost));
		for (size_t i = 0; i < m->guard; i++)
			if (guard[i] != 0xff)
				fail_msg("byte %zu behind the %zu of block %d was written", i, bytes, m->count);
		CUDA(cudaFree(m->block[m->count]));
	}
	m->count = 0;
	free(guard);
}

#endif
