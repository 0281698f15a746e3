/* Sorting, prefix sums and selection by CUB, the library of the CUDA toolkit; sort.h has the contracts. */
#include <cub/cub.cuh>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

#include "gpu/neighbours/sort/sort.h"

uint64_t sl__sort_bytes(uint64_t count)
{
	size_t pairs = 0, lengthy = 0, sums = 0, chosen = 0;
	cub::DeviceRadixSort::SortPairs(NULL, pairs, (uint32_t *)NULL, (uint32_t *)NULL, (uint32_t *)NULL, (uint32_t *)NULL,
					(int64_t)count);
	cub::DeviceRadixSort::SortPairs(NULL, lengthy, (uint64_t *)NULL, (uint64_t *)NULL, (uint32_t *)NULL,
					(uint32_t *)NULL, (int64_t)count);
	cub::DeviceScan::InclusiveSum(NULL, sums, (uint32_t *)NULL, (uint64_t *)NULL, (int64_t)count);
	cub::DeviceSelect::Flagged(NULL, chosen, thrust::counting_iterator<uint32_t>(0), (uint8_t *)NULL, (uint32_t *)NULL,
				   (uint32_t *)NULL, (int64_t)count);
	size_t most = pairs > lengthy ? pairs : lengthy;
	most = most > sums ? most : sums;
	return (most > chosen ? most : chosen) + 256;
}

cudaError_t sl__sort_pairs(void *room, uint64_t room_bytes, const uint32_t *key, uint32_t *key_out,
			   const uint32_t *value, uint32_t *value_out, uint64_t count, int bits, cudaStream_t stream)
{
	size_t bytes = room_bytes;
	return cub::DeviceRadixSort::SortPairs(room, bytes, key, key_out, value, value_out, (int64_t)count, 0, bits,
					       stream);
}

cudaError_t sl__sort_pairs_long(void *room, uint64_t room_bytes, const uint64_t *key, uint64_t *key_out,
				const uint32_t *value, uint32_t *value_out, uint64_t count, cudaStream_t stream)
{
	size_t bytes = room_bytes;
	return cub::DeviceRadixSort::SortPairs(room, bytes, key, key_out, value, value_out, (int64_t)count, 0, 64, stream);
}

struct widen {
	__host__ __device__ uint64_t operator()(uint32_t x) const { return x; }
};

cudaError_t sl__sum_before(void *room, uint64_t room_bytes, const uint32_t *x, uint64_t *out, uint64_t count,
			   cudaStream_t stream)
{
	size_t bytes = room_bytes;
	cudaError_t status = cudaMemsetAsync(out, 0, sizeof *out, stream);
	if (status != cudaSuccess || !count)
		return status;
	thrust::transform_iterator<widen, const uint32_t *> in(x, widen());
	return cub::DeviceScan::InclusiveSum(room, bytes, in, out + 1, (int64_t)count, stream);
}

cudaError_t sl__choose(void *room, uint64_t room_bytes, const uint8_t *flag, uint32_t n, uint32_t *out,
		       uint32_t *chosen, cudaStream_t stream)
{
	size_t bytes = room_bytes;
	return cub::DeviceSelect::Flagged(room, bytes, thrust::counting_iterator<uint32_t>(0), flag, out, chosen,
					  (int64_t)n, stream);
}
