/* Finds the place where each key begins in a sorted list. */
#include "gpu/neighbours/sort/select.cuh"
#include "gpu/neighbours/sort/sort.h"

#define BLOCK 256

static __global__ void starts(uint32_t cells, const uint32_t *cell, uint32_t count, uint32_t *start)
{
	uint32_t c = blockIdx.x * BLOCK + threadIdx.x;
	if (c <= cells)
		start[c] = first_at_least(cell, count, c);
}

cudaError_t sl__run_starts(uint32_t cells, const uint32_t *cell, uint32_t count, uint32_t *start, cudaStream_t stream)
{
	return each(cells + 1ull, starts, stream, cells, cell, count, start);
}
