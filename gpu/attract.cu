/* Attraction along the edges, and what else is a sum over them.
 *
 * A group of `lanes` threads shares a row, several loads in flight each; which lane takes which entry and the order
 * of the final sum are fixed. Rows of more than SL_LONG_ROW entries get a block each. Bound by reading P once
 * (8 bytes an entry) and by gathering y_j from the second-level cache. */
#include "gpu/device.cuh"

#define BLOCK 256
#define LONG_BLOCK 512

/* One edge's share of the attraction. */
template <int D>
static __device__ __forceinline__ void attract_edge(const float *own, const float *their, float p, float *sum)
{
	float diff[D], r2 = 1;
#pragma unroll
	for (int k = 0; k < D; k++) {
		diff[k] = own[k] - their[k];
		r2 = fmaf(diff[k], diff[k], r2);
	}
	float w = p * reciprocal(r2);
#pragma unroll
	for (int k = 0; k < D; k++)
		sum[k] = fmaf(w, diff[k], sum[k]);
}

template <int D>
static __device__ __forceinline__ void
attract_range(const uint32_t *__restrict__ node, const float *__restrict__ p, const float *__restrict__ y,
	      const float *own, uint64_t from, uint64_t to, uint32_t step, float *sum)
{
	const uint32_t U = 4;
	uint64_t e = from;
	for (; e + (U - 1) * step < to; e += U * step) {
		uint32_t j[U];
		float w[U], their[U][3];
#pragma unroll
		for (uint32_t u = 0; u < U; u++) {
			j[u] = __ldcs(node + e + u * step);
			w[u] = __ldcs(p + e + u * step);
		}
#pragma unroll
		for (uint32_t u = 0; u < U; u++)
			load_point<D>(y, j[u], their[u]);
#pragma unroll
		for (uint32_t u = 0; u < U; u++)
			attract_edge<D>(own, their[u], w[u], sum);
	}
	for (; e < to; e += step) {
		float their[3];
		load_point<D>(y, __ldcs(node + e), their);
		attract_edge<D>(own, their, __ldcs(p + e), sum);
	}
}

template <int D> static __device__ __forceinline__ void store_point(float *out, uint32_t i, const float *x)
{
	if (D == 1)
		out[i] = x[0];
	else if (D == 2)
		reinterpret_cast<float2 *>(out)[i] = make_float2(x[0], x[1]);
	else
		reinterpret_cast<float4 *>(out)[i] = make_float4(x[0], x[1], x[2], 0);
}

template <int D, int L>
static __global__ void __launch_bounds__(BLOCK)
attract(uint32_t n, const uint64_t *__restrict__ start, const uint32_t *__restrict__ node, const float *__restrict__ p,
	const float *__restrict__ y, float *__restrict__ out, const struct sl_report *r)
{
	uint64_t at = (uint64_t)blockIdx.x * BLOCK + threadIdx.x;
	uint32_t i = (uint32_t)(at / L), lane = (uint32_t)(at % L);
	if (r->state != SL_GO)
		return;
	uint64_t from = i < n ? start[i] : 0, to = i < n ? start[i + 1] : 0;
	bool mine = i < n && to - from <= SL_LONG_ROW;
	float own[3] = {0, 0, 0}, sum[3] = {0, 0, 0};
	if (mine) {
		load_point<D>(y, i, own);
		attract_range<D>(node, p, y, own, from + lane, to, L, sum);
	}
#pragma unroll
	for (int step = L / 2; step; step >>= 1)
#pragma unroll
		for (int k = 0; k < D; k++)
			sum[k] += __shfl_xor_sync(~0u, sum[k], step);
	if (mine && lane == 0)
		store_point<D>(out, i, sum);
}

template <int D>
static __global__ void __launch_bounds__(LONG_BLOCK)
attract_long(const uint32_t *__restrict__ rows, const uint64_t *__restrict__ start, const uint32_t *__restrict__ node,
	     const float *__restrict__ p, const float *__restrict__ y, float *__restrict__ out, const struct sl_report *r)
{
	__shared__ float part[LONG_BLOCK / 32][3];
	if (r->state != SL_GO)
		return;
	uint32_t i = rows[blockIdx.x];
	float own[3], sum[3] = {0, 0, 0};
	load_point<D>(y, i, own);
	attract_range<D>(node, p, y, own, start[i] + threadIdx.x, start[i + 1], LONG_BLOCK, sum);
#pragma unroll
	for (int step = 16; step; step >>= 1)
#pragma unroll
		for (int k = 0; k < D; k++)
			sum[k] += __shfl_xor_sync(~0u, sum[k], step);
	if (threadIdx.x % 32 == 0)
		for (int k = 0; k < 3; k++)
			part[threadIdx.x / 32][k] = sum[k];
	__syncthreads();
	if (threadIdx.x)
		return;
	for (int w = 1; w < LONG_BLOCK / 32; w++)
		for (int k = 0; k < D; k++)
			sum[k] += part[w][k];
	store_point<D>(out, i, sum);
}

template <int D>
static void launch_attract(const struct sl_matrix *a, const struct sl_particles *p, const struct sl_report *r,
			   cudaStream_t stream)
{
	uint32_t blocks = blocks_for((uint64_t)a->n * (uint32_t)a->lanes, BLOCK);
	if (a->long_count)
		attract_long<D><<<a->long_count, LONG_BLOCK, 0, stream>>>(a->long_rows, a->start, a->node, a->p, p->y,
									  p->attraction, r);
#define LAUNCH(lanes) \
	attract<D, lanes><<<blocks, BLOCK, 0, stream>>>(a->n, a->start, a->node, a->p, p->y, p->attraction, r)
	if (a->lanes == 4)
		LAUNCH(4);
	else if (a->lanes == 8)
		LAUNCH(8);
	else if (a->lanes == 16)
		LAUNCH(16);
	else
		LAUNCH(32);
#undef LAUNCH
}

cudaError_t sl__attract(const struct sl_matrix *a, const struct sl_particles *p, const struct sl_report *r,
			cudaStream_t stream)
{
	if (p->dims == 1)
		launch_attract<1>(a, p, r, stream);
	else if (p->dims == 2)
		launch_attract<2>(a, p, r, stream);
	else
		launch_attract<3>(a, p, r, stream);
	return cudaGetLastError();
}

/* ---- measures ---------------------------------------------------------------------------- */

/* A warp a row, rows dealt out to a fixed number of blocks; also the squared gradient of those rows. */
template <int D>
static __global__ void __launch_bounds__(BLOCK)
measure(struct sl_matrix a, struct sl_particles p, double *part, struct sl_report *r)
{
	const int S = padded<D>::stride;
	uint32_t warps = gridDim.x * (BLOCK / 32), lane = threadIdx.x % 32;
	double divergence = 0, square = 0, inverse_z = 1 / r->z;
	for (uint32_t i = blockIdx.x * (BLOCK / 32) + threadIdx.x / 32; i < a.n; i += warps) {
		float own[3], their[3], sum = 0;
		load_point<D>(p.y, i, own);
		for (uint64_t e = a.start[i] + lane; e < a.start[i + 1]; e += 32) {
			load_point<D>(p.y, a.node[e], their);
			float r2 = 0;
#pragma unroll
			for (int k = 0; k < D; k++)
				r2 = fmaf(own[k] - their[k], own[k] - their[k], r2);
			sum = fmaf(a.p[e], log1pf(r2), sum);
		}
		divergence += (double)sum;
		if (lane < D) {
			size_t c = (size_t)i * S + lane;
			double gradient = (double)p.attraction[c] - (double)p.repulsion[c] * inverse_z;
			square += gradient * gradient;
		}
	}
	divergence = block_sum(divergence);
	square = block_sum(square);
	if (threadIdx.x == 0) {
		part[2 * blockIdx.x] = divergence;
		part[2 * blockIdx.x + 1] = square;
	}
	if (!last_block(&r->arrived[SL_LEVELS + 1]) || threadIdx.x)
		return;
	divergence = square = 0;
	for (uint32_t b = 0; b < gridDim.x; b++) {
		divergence += __ldcg(part + 2 * b);
		square += __ldcg(part + 2 * b + 1);
	}
	r->divergence = divergence;
	r->square = square;
}

cudaError_t sl__measure(const struct sl_matrix *a, const struct sl_particles *p, double *part, struct sl_report *r,
			cudaStream_t stream)
{
	uint32_t blocks = blocks_for((uint64_t)a->n * 32, BLOCK);
	blocks = blocks < 1024 ? blocks : 1024;
	if (p->dims == 1)
		measure<1><<<blocks, BLOCK, 0, stream>>>(*a, *p, part, r);
	else if (p->dims == 2)
		measure<2><<<blocks, BLOCK, 0, stream>>>(*a, *p, part, r);
	else
		measure<3><<<blocks, BLOCK, 0, stream>>>(*a, *p, part, r);
	return cudaGetLastError();
}
