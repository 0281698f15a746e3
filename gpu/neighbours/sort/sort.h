/* sort.h -- sorting, prefix sums and selection on the device. Each launcher queues its kernels on a stream and returns
 * the launch's error. All take the same work memory: `room`, of sl__sort_bytes(count) bytes. Tests:
 * tests/gpu/test_neighbours.c, which compares their results in whole searches and in P. */
#ifndef SL_GPU_SORT_H
#define SL_GPU_SORT_H

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SL_NOBODY UINT32_MAX  /* no point */

/* The number of bits of numbers up to `most`. */
static inline int sl__bits_for(uint32_t most)
{
	int bits = 1;
	while (bits < 32 && most >> bits)
		bits++;
	return bits;
}

/* The bytes of `room` for so many elements. */
uint64_t sl__sort_bytes(uint64_t count);
/* Sorts pairs in ascending order of the lowest `bits` bits of their keys. Pairs with equal keys keep their order. */
cudaError_t sl__sort_pairs(void *room, uint64_t room_bytes, const uint32_t *key, uint32_t *key_out,
			   const uint32_t *value, uint32_t *value_out, uint64_t count, int bits, cudaStream_t stream);
cudaError_t sl__sort_pairs_long(void *room, uint64_t room_bytes, const uint64_t *key, uint64_t *key_out,
				const uint32_t *value, uint32_t *value_out, uint64_t count, cudaStream_t stream);
/* out[i] = x[0] + ... + x[i - 1] for 0 <= i <= count. */
cudaError_t sl__sum_before(void *room, uint64_t room_bytes, const uint32_t *x, uint64_t *out, uint64_t count,
			   cudaStream_t stream);
/* out: the numbers i < n with flag[i] not 0, in ascending order. *chosen: how many there are. */
cudaError_t sl__choose(void *room, uint64_t room_bytes, const uint8_t *flag, uint32_t n, uint32_t *out,
		       uint32_t *chosen, cudaStream_t stream);
/* start[c], 0 <= c <= cells: the first place of a number >= c in cell[count], which ascends. */
cudaError_t sl__run_starts(uint32_t cells, const uint32_t *cell, uint32_t count, uint32_t *start, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
