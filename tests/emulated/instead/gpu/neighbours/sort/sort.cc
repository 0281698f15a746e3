/* Replaces gpu/neighbours/sort/sort.cu, which uses a GPU library. */
#include <stdint.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "gpu/neighbours/sort/sort.h"
#include "tests/emulated/runtime.h"

namespace {

template <class K>
void sort_pairs(const K *key, K *key_out, const uint32_t *value, uint32_t *value_out, uint64_t count, int bits)
{
	const K mask = bits < (int)sizeof(K) * 8 ? ((K)1 << bits) - 1 : ~(K)0;
	std::vector<uint64_t> order(count);
	std::iota(order.begin(), order.end(), 0);
	std::stable_sort(order.begin(), order.end(),
			 [=](uint64_t a, uint64_t b) { return (key[a] & mask) < (key[b] & mask); });
	std::vector<K> keys(count);
	std::vector<uint32_t> values(count);
	for (uint64_t i = 0; i < count; i++) {
		keys[i] = key[order[i]];
		values[i] = value[order[i]];
	}
	std::copy(keys.begin(), keys.end(), key_out);
	std::copy(values.begin(), values.end(), value_out);
}

} // namespace

uint64_t sl__sort_bytes(uint64_t count) { return 8 * count + 256; }

cudaError_t sl__sort_pairs(void *, uint64_t, const uint32_t *key, uint32_t *key_out, const uint32_t *value,
			   uint32_t *value_out, uint64_t count, int bits, cudaStream_t stream)
{
	emulated::queue(stream, [=] { sort_pairs(key, key_out, value, value_out, count, bits); });
	return cudaGetLastError();
}

cudaError_t sl__sort_pairs_long(void *, uint64_t, const uint64_t *key, uint64_t *key_out, const uint32_t *value,
				uint32_t *value_out, uint64_t count, cudaStream_t stream)
{
	emulated::queue(stream, [=] { sort_pairs(key, key_out, value, value_out, count, 64); });
	return cudaGetLastError();
}

cudaError_t sl__sum_before(void *, uint64_t, const uint32_t *x, uint64_t *out, uint64_t count, cudaStream_t stream)
{
	emulated::queue(stream, [=] {
		out[0] = 0;
		for (uint64_t i = 0; i < count; i++)
			out[i + 1] = out[i] + x[i];
	});
	return cudaGetLastError();
}

cudaError_t sl__choose(void *, uint64_t, const uint8_t *flag, uint32_t n, uint32_t *out, uint32_t *chosen,
		       cudaStream_t stream)
{
	emulated::queue(stream, [=] {
		uint32_t count = 0;
		for (uint32_t i = 0; i < n; i++)
			if (flag[i])
				out[count++] = i;
		*chosen = count;
	});
	return cudaGetLastError();
}
