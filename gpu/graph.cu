/* What an engine wants to know of P's rows before it iterates. */
#include "gpu/device.cuh"

#define BLOCK 256

/* A warp a row, the order of the sum fixed. */
static __global__ void __launch_bounds__(BLOCK) survey_rows(struct sl_matrix a, struct sl_rows_report *report)
{
	uint32_t i = blockIdx.x * (BLOCK / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
	if (i >= a.n)
		return;
	uint64_t from = a.start[i], to = a.start[i + 1];
	float sum = 0;
	for (uint64_t e = from + lane; e < to; e += 32)
		sum += a.p[e];
	for (int step = 16; step; step >>= 1)
		sum += __shfl_xor_sync(~0u, sum, step);
	if (lane)
		return;
	a.mass[i] = sum;
	if (to - from > SL_LONG_ROW) {
		a.long_rows[atomicAdd(&report->long_count, 1)] = i;
		atomicAdd((unsigned long long *)&report->long_entries, (unsigned long long)(to - from));
	}
}

cudaError_t sl__survey_rows(const struct sl_matrix *a, struct sl_rows_report *report, cudaStream_t stream)
{
	cudaError_t status = cudaMemsetAsync(report, 0, sizeof *report, stream);
	if (status == cudaSuccess && a->n) {
		survey_rows<<<blocks_for((uint64_t)a->n * 32, BLOCK), BLOCK, 0, stream>>>(*a, report);
		status = cudaGetLastError();
	}
	return status;
}
