/* Packs the rows of P into the form that iterations read (struct sl_matrix), and counts long rows. */
#include "gpu/device/launch.cuh"
#include "gpu/graph/graph.h"

#define BLOCK 256

static __device__ __forceinline__ uint32_t first_piece(uint64_t start, uint64_t i, uint32_t piece, uint64_t base)
{
	return (uint32_t)((start + (piece - 1) * i) / piece - base);
}

/* pack_rows packs rows `from` of P into a.piece, a.start, a.scale and a.mass, and lists long rows. One warp per row,
 * sums in a fixed order; bound by memory. Test: tests/gpu/test_rows.c. */
static __global__ void __launch_bounds__(BLOCK)
pack_rows(struct sl_rows from, struct sl_matrix a, struct sl_rows_report *report)
{
	uint32_t at = blockIdx.x * (BLOCK / 32) + threadIdx.x / 32, i = from.first + at, lane = threadIdx.x % 32;
	if (at >= from.n)
		return;
	const uint32_t words = 4, entries = a.bits ? 4 : 2;
	uint64_t begin = from.start[at], length = from.start[at + 1] - begin;
	uint32_t own = a.first + i;
	uint32_t first = first_piece(begin, own, entries, a.base);
	uint32_t next = first_piece(begin + length, own + 1ull, entries, a.base);
	begin -= from.base;
	float sum = 0, largest = 0;
	for (uint64_t e = lane; e < length; e += 32) {
		sum += from.p[begin + e];
		largest = fmaxf(largest, from.p[begin + e]);
	}
	sum = sum_lanes(sum);
	for (int step = 16; step; step >>= 1)
		largest = fmaxf(largest, __shfl_xor_sync(~0u, largest, step));
	uint32_t *out = (uint32_t *)(a.piece + first);
	float most = (float)((1u << a.bits) - 1), inverse = largest > 0 ? 1 / largest : 0;
	for (uint64_t e = lane; e < (uint64_t)(next - first) * entries; e += 32) {
		uint32_t node = e < length ? from.node[begin + e] : own;
		float p = e < length ? from.p[begin + e] : 0;
		if (a.bits) {
			out[e] = node << a.bits | (uint32_t)rintf(most * sqrtf(p * inverse));
		} else {
			out[e * (words / 2)] = node;
			out[e * (words / 2) + 1] = __float_as_uint(p);
		}
	}
	if (lane)
		return;
	a.start[i] = first;
	if (i + 1 == a.n)
		a.start[i + 1] = next;
	if (a.bits)
		a.scale[i] = largest / (most * most);
	a.mass[i] = sum;
	if (next - first > SL_LONG_ROW / entries) {
		a.long_rows[atomicAdd(&report->long_count, 1)] = i;
		atomicAdd((unsigned long long *)&report->long_entries, (unsigned long long)length);
	}
}

cudaError_t sl__pack_rows(const struct sl_rows *rows, const struct sl_matrix *a, struct sl_rows_report *report,
			  cudaStream_t stream)
{
	cudaError_t status = rows->first ? cudaSuccess : cudaMemsetAsync(report, 0, sizeof *report, stream);
	if (status == cudaSuccess && rows->n) {
		pack_rows<<<blocks_for((uint64_t)rows->n * 32, BLOCK), BLOCK, 0, stream>>>(*rows, *a, report);
		status = cudaGetLastError();
	}
	return status;
}
