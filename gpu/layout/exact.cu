/* Repulsion over all pairs, tile by tile. Each thread of a block has two points; the block walks over its share of all
 * points, one tile at a time in shared memory. The shares (splits) keep all multiprocessors busy when there are few
 * points; the step adds their sums in order. To limit rounding errors, floats are summed over one tile first, then over
 * tiles. A pair costs a reciprocal or, if the degrees of freedom are not 1, a logarithm and an exponential. */
#include "gpu/device/launch.cuh"
#include "gpu/layout/layout.h"
#include "gpu/state/point.cuh"

#define BLOCK 128
#define OWN 2  /* points per thread */

/* exact writes partial [splits][n * stride], the repulsion of each point from one split's share of the points, not yet
 * divided by Z, and r->level_z[0]. HEAVY: the kernel is (1 + r^2)^-nu, steeper = -(nu + 1). Grid: (points / 256,
 * splits) blocks of 128 threads, each with two points; shared memory: one tile of 128 points; part [blocks]. Bound by
 * arithmetic. */
template <int D, bool HEAVY>
static __global__ void __launch_bounds__(BLOCK)
exact(uint32_t n, const float *__restrict__ y, float *__restrict__ partial, uint32_t share, float steeper, double *part,
      struct sl_report *r)
{
	const int S = padded<D>::stride;
	__shared__ __align__(16) float tile[BLOCK][D == 3 ? 4 : D];
	if (r->state != SL_GO)
		return;
	float own[OWN][3], force[OWN][3], far = 1e18f;
	uint32_t index[OWN];
	double z = 0;
#pragma unroll
	for (int o = 0; o < OWN; o++) {
		index[o] = (blockIdx.x * OWN + o) * BLOCK + threadIdx.x;
		load_point<D>(y, index[o] < n ? index[o] : n - 1, own[o]);
		for (int k = 0; k < D; k++)
			force[o][k] = 0;
	}
	uint32_t from = blockIdx.y * share, to = n - from < share ? n : from + share;
	for (uint32_t base = from; base < to; base += BLOCK) {
		uint32_t j = base + threadIdx.x;
		float place[3] = {far, far, far};
		if (j < to)
			load_point<D>(y, j, place);
		__syncthreads();
#pragma unroll
		for (int k = 0; k < D; k++)
			tile[threadIdx.x][k] = place[k];
		__syncthreads();
		/* a heavy-tailed kernel is not 0 at any distance, so a short tile cannot be padded with remote
		 * points */
		const int count = HEAVY && to - base < BLOCK ? (int)(to - base) : BLOCK;
		float sum[OWN][3], q_sum[OWN];
#pragma unroll
		for (int o = 0; o < OWN; o++)
			sum[o][0] = sum[o][1] = sum[o][2] = q_sum[o] = 0;
#pragma unroll 8
		for (int t = 0; t < (HEAVY ? count : BLOCK); t++) {
			float their[3];
			load_point<D>(&tile[0][0], (uint32_t)t, their);
#pragma unroll
			for (int o = 0; o < OWN; o++) {
				float diff[D], r2 = 1;
#pragma unroll
				for (int k = 0; k < D; k++) {
					diff[k] = own[o][k] - their[k];
					r2 = fmaf(diff[k], diff[k], r2);
				}
				float steep;
				q_sum[o] += kernel<HEAVY>(r2, steeper, &steep);
#pragma unroll
				for (int k = 0; k < D; k++)
					sum[o][k] = fmaf(steep, diff[k], sum[o][k]);
			}
		}
#pragma unroll
		for (int o = 0; o < OWN; o++) {
			z += index[o] < n ? (double)q_sum[o] : 0;
			for (int k = 0; k < D; k++)
				force[o][k] += sum[o][k];
		}
	}
#pragma unroll
	for (int o = 0; o < OWN; o++)
		for (int k = 0; k < D && index[o] < n; k++)
			partial[((size_t)blockIdx.y * n + index[o]) * S + k] = force[o][k];
	z = block_sum(z);
	if (threadIdx.x == 0)
		part[blockIdx.y * gridDim.x + blockIdx.x] = z;
	if (last_block(&r->arrived[0])) {
		z = sum_parts(part, gridDim.x * gridDim.y);
		if (threadIdx.x == 0)
			r->level_z[0] = z - (double)n;  /* without the pairs of a point with itself */
	}
}

static uint32_t blocks_of(uint32_t n) { return blocks_for(n, BLOCK * OWN); }

int sl__exact_splits(uint32_t n)
{
	uint32_t wanted = blocks_for(1056, blocks_of(n)), tiles = blocks_for(n, BLOCK);
	wanted = wanted < tiles ? wanted : tiles;
	uint32_t share = blocks_for(tiles, wanted) * BLOCK;
	return (int)blocks_for(n, share);
}

cudaError_t sl__exact(const struct sl_particles *p, float nu, int splits, float *partial, double *part,
		      struct sl_report *r, cudaStream_t stream)
{
	uint32_t share = blocks_for(blocks_for(p->n, BLOCK), (uint32_t)splits) * BLOCK;
	dim3 blocks(blocks_of(p->n), (uint32_t)splits);
	if (blocks.x * blocks.y > SL_PARTS + p->n / (BLOCK * OWN))
		return cudaErrorInvalidConfiguration;
#define LAUNCH(d, heavy) \
	if (p->dims == d && (nu != 1) == heavy) \
		exact<d, heavy><<<blocks, BLOCK, 0, stream>>>(p->n, p->y, partial, share, -(nu + 1), part, r)
	LAUNCH(1, false); LAUNCH(2, false); LAUNCH(3, false);
	LAUNCH(1, true); LAUNCH(2, true); LAUNCH(3, true);
#undef LAUNCH
	return cudaGetLastError();
}
