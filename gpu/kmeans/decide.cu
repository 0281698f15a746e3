/* Finds the nearest centroid in double precision, for the points whose scores are too close ("open" rows). */
#include "gpu/kmeans/exact.cuh"

#define THREADS 256
#define BLOCKS 1024

/* Computes the squared distance of each candidate, with eight lanes, and the least one of each open row in least[].
 * Sets the labels of these rows to SL_KM_MINUS, which no centroid has, for choose(). */
static __global__ void measure(const __grid_constant__ struct sl_cuda_kmeans m)
{
	uint32_t candidates = m.opens[1], stride = gridDim.x * (THREADS / 32) * 4;
	if (candidates > m.candidates)
		return;
	for (uint32_t from = (blockIdx.x * (THREADS / 32) + threadIdx.x / 32) * 4; from < candidates; from += stride) {
		uint32_t at = from + threadIdx.x % 32 / 8;
		struct sl_cuda_kmeans_candidate c = m.candidate[at < candidates ? at : candidates - 1];
		const float *x = m.x + (size_t)m.open[c.place] * m.pitch;
		double square = eight_square(m.d, x, m.centroid + (size_t)c.j * m.d);
		if (at >= candidates || threadIdx.x % 8)
			continue;
		m.candidate[at].square = square;
		atomicMin(m.least + c.place, (unsigned long long)__double_as_longlong(square));
		m.label[m.open[c.place]] = SL_KM_MINUS;
	}
}

/* The label becomes the lowest number among the candidates with the least distance. One thread for each candidate. */
static __global__ void choose(const __grid_constant__ struct sl_cuda_kmeans m)
{
	uint32_t candidates = m.opens[1];
	if (candidates > m.candidates)
		return;
	for (uint32_t at = blockIdx.x * THREADS + threadIdx.x; at < candidates; at += gridDim.x * THREADS) {
		struct sl_cuda_kmeans_candidate c = m.candidate[at];
		if ((unsigned long long)__double_as_longlong(c.square) == m.least[c.place])
			atomicMin(m.label + m.open[c.place], c.j);
	}
}

/* Computes the distances of the open rows to all centroids, if there was no room for all candidates. A warp processes a
 * row; each group of eight lanes computes every fourth centroid. */
static __global__ void measure_all(const __grid_constant__ struct sl_cuda_kmeans m)
{
	uint32_t open = *m.opens, stride = gridDim.x * (THREADS / 32);
	if (m.opens[1] <= m.candidates)
		return;
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

/* opens[2] += the number of rows whose label changed. One thread for each row. */
static __global__ void count_moved(const __grid_constant__ struct sl_cuda_kmeans m, uint32_t first, uint32_t count)
{
	uint32_t i = blockIdx.x * THREADS + threadIdx.x;
	uint32_t moved = __ballot_sync(~0u, i < count && m.label[first + i] != m.before[first + i]);
	if (threadIdx.x % 32 == 0 && moved)
		atomicAdd(m.opens + 2, (uint32_t)__popc(moved));
}

cudaError_t sl__cuda_kmeans_decide(const struct sl_cuda_kmeans *m, uint32_t first, uint32_t count, cudaStream_t stream)
{
	uint32_t most = blocks_for((uint64_t)count * 32, THREADS), blocks = most < BLOCKS ? most : BLOCKS;
	measure<<<blocks, THREADS, 0, stream>>>(*m);
	choose<<<blocks, THREADS, 0, stream>>>(*m);
	measure_all<<<blocks, THREADS, 0, stream>>>(*m);
	count_moved<<<blocks_for(count, THREADS), THREADS, 0, stream>>>(*m, first, count);
	return cudaGetLastError();
}
