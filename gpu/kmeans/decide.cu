/* Measures, in double precision, the centroids whose scores are too close. */
#include "gpu/kmeans/exact.cuh"

#define THREADS 256
#define BLOCKS 1024

/* decide_pairs: rows with two near centroids. Eight lanes have a row; all blocks together go through the list, whose
 * length is on the device. The lower number wins where both are equally far. */
static __global__ void decide_pairs(const __grid_constant__ struct sl_km m)
{
	uint32_t pairs = *m.opens, stride = gridDim.x * (THREADS / 32) * 4;
	for (uint32_t from = (blockIdx.x * (THREADS / 32) + threadIdx.x / 32) * 4; from < pairs; from += stride) {
		uint32_t at = from + threadIdx.x % 32 / 8;
		struct sl_km_pair p = m.pair[at < pairs ? at : pairs - 1];
		const float *x = m.x + (size_t)p.row * m.pitch;
		double a = eight_square(m.d, x, m.centroid + (size_t)p.a * m.d);
		double b = eight_square(m.d, x, m.centroid + (size_t)p.b * m.d);
		if (at < pairs && threadIdx.x % 8 == 0)
			m.label[p.row] = b < a || (b == a && p.b < p.a) ? p.b : p.a;
	}
}

/* decide_open: rows with three or more. A warp has a row; eight lanes measure every fourth centroid. */
static __global__ void decide_open(const __grid_constant__ struct sl_km m)
{
	uint32_t open = m.opens[1], stride = gridDim.x * (THREADS / 32);
	for (uint32_t at = blockIdx.x * (THREADS / 32) + threadIdx.x / 32; at < open; at += stride) {
		uint32_t row = m.open[at], best = 0;
		const float *x = m.x + (size_t)row * m.pitch;
		double least = INFINITY;
		for (uint32_t from = 0; from < m.k; from += 4) {
			uint32_t j = from + threadIdx.x % 32 / 8;
			double square = eight_square(m.d, x, m.centroid + (size_t)(j < m.k ? j : m.k - 1) * m.d);
			if (j < m.k && square < least) {
				least = square;
				best = j;
			}
		}
		for (int step = 8; step < 32; step *= 2) {
			double square = __shfl_xor_sync(~0u, least, step);
			uint32_t j = __shfl_xor_sync(~0u, best, step);
			if (square < least || (square == least && j < best)) {
				least = square;
				best = j;
			}
		}
		if (threadIdx.x % 32 == 0)
			m.label[row] = best;
	}
}

/* count_moved: opens[2] += rows whose label changed. A thread has a row. */
static __global__ void count_moved(const __grid_constant__ struct sl_km m, uint32_t first, uint32_t count)
{
	uint32_t i = blockIdx.x * THREADS + threadIdx.x;
	uint32_t moved = __ballot_sync(~0u, i < count && m.label[first + i] != m.before[first + i]);
	if (threadIdx.x % 32 == 0 && moved)
		atomicAdd(m.opens + 2, (uint32_t)__popc(moved));
}

cudaError_t sl__km_decide(const struct sl_km *m, uint32_t first, uint32_t count, cudaStream_t stream)
{
	uint32_t most = blocks_for((uint64_t)count * 32, THREADS), blocks = most < BLOCKS ? most : BLOCKS;
	decide_pairs<<<blocks, THREADS, 0, stream>>>(*m);
	decide_open<<<blocks, THREADS, 0, stream>>>(*m);
	count_moved<<<blocks_for(count, THREADS), THREADS, 0, stream>>>(*m, first, count);
	return cudaGetLastError();
}
