/* Attraction along the edges, and the other sums over edges: divergence and the squared gradient.
 *
 * A group of threads shares a row of P, with eight entries per thread in flight. Entries are assigned to threads, and
 * sums added, in a fixed order. A row of more than SL_LONG_ROW entries gets a block of its own. Bound by the L2 cache:
 * the kernel gathers y_j, half of which comes from that cache, and reads 4 bytes of P per entry. In large layouts it
 * gathers positions rounded to fewer bytes (rounded.cuh), which is faster.
 *
 * Times in this file: one NVIDIA H200, until 2026-11-25; commands: docs/notes/gpu-layout.md. */
#include "gpu/layout/rounded.cuh"
#include "gpu/state/rows.cuh"

#define BLOCK 256
#define LONG_BLOCK 512

/* ---- rounded positions ----------------------------------------------------------------------- */

/* round_points writes out[n] words (2-D) or [n][2] words (3-D): the positions y [n * stride] as fractions of the grids'
 * reach. One thread per point. */
template <int D>
static __global__ void __launch_bounds__(BLOCK)
round_points(uint32_t n, const float *__restrict__ y, uint32_t *__restrict__ out, const struct sl_orders *o,
	     const struct sl_report *r)
{
	uint32_t i = blockIdx.x * BLOCK + threadIdx.x;
	if (i >= n)
		return;
	float place[3];
	load_point<D>(y, i, place);
	store_rounded<D>(out, i, rounding_of<D>(r->corner, o->reach), place);
}

cudaError_t sl__round(const struct sl_particles *p, const struct sl_orders *o, const struct sl_report *r,
		      cudaStream_t stream)
{
	uint32_t blocks = blocks_for(p->n, BLOCK);
	if (p->dims == 2)
		round_points<2><<<blocks, BLOCK, 0, stream>>>(p->n, p->y, p->rounded, o, r);
	else
		round_points<3><<<blocks, BLOCK, 0, stream>>>(p->n, p->y, p->rounded, o, r);
	return cudaGetLastError();
}

/* ---- edges ------------------------------------------------------------------------------------ */

/* Where the positions of neighbours are read: plain or rounded. */
template <int D, bool ROUNDED> struct places {
	const float *__restrict__ y;
	const uint32_t *__restrict__ rounded;
	struct rounding<D> c;

	__device__ __forceinline__ void load(uint32_t j, float *out) const
	{
		if (ROUNDED)
			load_rounded<D>(rounded, j, c, out);
		else
			load_point<D>(y, j, out);
	}
};

template <int D, bool ROUNDED>
static __device__ __forceinline__ struct places<D, ROUNDED>
places_of(const struct sl_particles &p, const struct sl_orders *o, const struct sl_report *r)
{
	struct places<D, ROUNDED> s;
	s.y = p.y;
	s.rounded = p.rounded;
	if (ROUNDED)
		s.c = rounding_of<D>(r->corner, o->reach);
	return s;
}

/* Adds the attraction of one edge to `sum`. */
template <int D>
static __device__ __forceinline__ void attract_edge(const float *y_i, const float *y_j, float p, float *sum)
{
	float diff[D], r2 = 1;
#pragma unroll
	for (int k = 0; k < D; k++) {
		diff[k] = y_i[k] - y_j[k];
		r2 = fmaf(diff[k], diff[k], r2);
	}
	float w = p * reciprocal(r2);
#pragma unroll
	for (int k = 0; k < D; k++)
		sum[k] = fmaf(w, diff[k], sum[k]);
}

/* Adds the edges of COUNT pieces, `step` apart. All loads precede the first use, so they are in flight together. */
template <int D, bool WIDE, bool ROUNDED, int COUNT>
static __device__ __forceinline__ void
attract_pieces(const struct sl_matrix &a, const struct places<D, ROUNDED> &y, const float *y_i, uint32_t at,
	       uint32_t step, float *sum)
{
	const int E = piece<WIDE>::ENTRIES;
	struct piece<WIDE> here[COUNT];
	float y_j[COUNT][E][3];
	uint4 v[COUNT];
#pragma unroll
	for (int c = 0; c < COUNT; c++)
		v[c] = __ldcs(a.piece + at + c * step);
#pragma unroll
	for (int c = 0; c < COUNT; c++) {
		open_piece<WIDE>(v[c], a.bits, &here[c]);
#pragma unroll
		for (int k = 0; k < E; k++)
			y.load(here[c].node[k], y_j[c][k]);
	}
#pragma unroll
	for (int c = 0; c < COUNT; c++)
#pragma unroll
		for (int k = 0; k < E; k++)
			attract_edge<D>(y_i, y_j[c][k], here[c].weight[k], sum);
}

template <int D, bool WIDE, bool ROUNDED>
static __device__ __forceinline__ void
attract_range(const struct sl_matrix &a, const struct places<D, ROUNDED> &y, const float *y_i, uint32_t from,
	      uint32_t to, uint32_t step, float *sum)
{
	const int U = WIDE ? 4 : 2;
	uint32_t at = from;
	for (; at + (U - 1) * step < to; at += U * step)
		attract_pieces<D, WIDE, ROUNDED, U>(a, y, y_i, at, step, sum);
	for (; at < to; at += step)
		attract_pieces<D, WIDE, ROUNDED, 1>(a, y, y_i, at, step, sum);
}

template <int D> static __device__ __forceinline__ void store_point(float *out, uint32_t i, const float *x, float scale)
{
	if (D == 1)
		out[i] = scale * x[0];
	else if (D == 2)
		reinterpret_cast<float2 *>(out)[i] = make_float2(scale * x[0], scale * x[1]);
	else
		reinterpret_cast<float4 *>(out)[i] = make_float4(scale * x[0], scale * x[1], scale * x[2], 0);
}

/* attract writes p.attraction [n * stride]: for each row i of P that is not long, sum_j p_ij (y_i - y_j) / (1 + r^2). L
 * neighbouring threads share a row. Blocks of 256 threads, no shared memory. Bound by gathering y_j from the L2 cache:
 * 22.5 us (MNIST), 410 us (mixture, 2-D). */
template <int D, bool WIDE, bool ROUNDED, int L>
static __global__ void __launch_bounds__(BLOCK)
attract(struct sl_matrix a, struct sl_particles p, const struct sl_orders *o, const struct sl_report *r)
{
	const uint32_t pieces_max = SL_LONG_ROW / piece<WIDE>::ENTRIES;
	uint64_t at = (uint64_t)blockIdx.x * BLOCK + threadIdx.x;
	uint32_t i = (uint32_t)(at / L), lane = (uint32_t)(at % L);
	await_previous();
	if (r->state != SL_GO)
		return;
	const struct places<D, ROUNDED> y = places_of<D, ROUNDED>(p, o, r);
	uint32_t from = i < a.n ? a.start[i] : 0, to = i < a.n ? a.start[i + 1] : 0;
	bool active = i < a.n && to - from <= pieces_max;
	float y_i[3] = {0, 0, 0}, sum[3] = {0, 0, 0}, scale = 0;
	if (active) {
		load_point<D>(p.y, a.first + i, y_i);
		scale = row_scale<WIDE>(a, i);
		attract_range<D, WIDE, ROUNDED>(a, y, y_i, from + lane, to, L, sum);
	}
#pragma unroll
	for (int k = 0; k < D; k++)
		sum[k] = sum_lanes(sum[k], L);
	if (active && lane == 0)
		store_point<D>(p.attraction, a.first + i, sum, scale);
}

/* attract_long does the same for the rows a.long_rows [long_count]. One block of 512 threads per row. */
template <int D, bool WIDE, bool ROUNDED>
static __global__ void __launch_bounds__(LONG_BLOCK)
attract_long(struct sl_matrix a, struct sl_particles p, const struct sl_orders *o, const struct sl_report *r)
{
	__shared__ float part[LONG_BLOCK / 32][3];
	await_previous();
	if (r->state != SL_GO)
		return;
	const struct places<D, ROUNDED> y = places_of<D, ROUNDED>(p, o, r);
	uint32_t i = a.long_rows[blockIdx.x];
	float y_i[3], sum[3] = {0, 0, 0};
	load_point<D>(p.y, a.first + i, y_i);
	attract_range<D, WIDE, ROUNDED>(a, y, y_i, a.start[i] + threadIdx.x, a.start[i + 1], LONG_BLOCK, sum);
#pragma unroll
	for (int k = 0; k < D; k++)
		sum[k] = sum_lanes(sum[k]);
	if (threadIdx.x % 32 == 0)
		for (int k = 0; k < 3; k++)
			part[threadIdx.x / 32][k] = sum[k];
	__syncthreads();
	if (threadIdx.x)
		return;
	for (int w = 1; w < LONG_BLOCK / 32; w++)
		for (int k = 0; k < D; k++)
			sum[k] += part[w][k];
	store_point<D>(p.attraction, a.first + i, sum, row_scale<WIDE>(a, i));
}

#define FOR_EACH_KIND(call) \
	call(1, false, false); call(1, true, false); \
	call(2, false, false); call(2, false, true); call(2, true, false); call(2, true, true); \
	call(3, false, false); call(3, false, true); call(3, true, false); call(3, true, true)

template <int D, bool WIDE, bool ROUNDED>
static void launch_attract(const struct sl_matrix *a, const struct sl_particles *p, const struct sl_orders *o,
			   const struct sl_report *r, cudaStream_t stream)
{
	uint32_t blocks = blocks_for((uint64_t)a->n * (uint32_t)a->lanes, BLOCK);
	if (a->long_count)
		launch(attract_long<D, WIDE, ROUNDED>, a->long_count, LONG_BLOCK, 0, stream, *a, *p, o, r);
#define LAUNCH(lanes) launch(attract<D, WIDE, ROUNDED, lanes>, blocks, BLOCK, 0, stream, *a, *p, o, r)
	if (a->lanes == 2)
		LAUNCH(2);
	else if (a->lanes == 4)
		LAUNCH(4);
	else if (a->lanes == 8)
		LAUNCH(8);
	else
		LAUNCH(16);
#undef LAUNCH
}

/* Requests the shared-memory configuration of the kernels that run at the same time: a multiprocessor must be idle
 * before it can change its configuration. */
#define SHARED_PERCENT 25

template <int D, bool WIDE, bool ROUNDED> static cudaError_t leave_shared(void)
{
	const void *kernels[] = {(const void *)attract<D, WIDE, ROUNDED, 2>, (const void *)attract<D, WIDE, ROUNDED, 4>,
				 (const void *)attract<D, WIDE, ROUNDED, 8>, (const void *)attract<D, WIDE, ROUNDED, 16>};
	cudaError_t status = cudaSuccess;
	for (int i = 0; i < 4 && status == cudaSuccess; i++)
		status = cudaFuncSetAttribute(kernels[i], cudaFuncAttributePreferredSharedMemoryCarveout, SHARED_PERCENT);
	return status;
}

cudaError_t sl__attract_init(void)
{
	cudaError_t status = cudaSuccess;
#define LEAVE(d, is_wide, is_rounded) \
	if (status == cudaSuccess) \
		status = leave_shared<d, is_wide, is_rounded>()
	FOR_EACH_KIND(LEAVE);
#undef LEAVE
	return status;
}

cudaError_t sl__attract(const struct sl_matrix *a, const struct sl_particles *p, const struct sl_orders *o,
			const struct sl_report *r, cudaStream_t stream)
{
	bool wide = !a->bits, rounded = p->rounded != NULL;
	if (!a->n)
		return cudaSuccess;
#define LAUNCH(d, is_wide, is_rounded) \
	if (p->dims == d && wide == is_wide && rounded == is_rounded) \
		launch_attract<d, is_wide, is_rounded>(a, p, o, r, stream)
	FOR_EACH_KIND(LAUNCH);
#undef LAUNCH
	return cudaGetLastError();
}

/* ---- measures ---------------------------------------------------------------------------- */

/* measure writes r->divergence, sum p log(1 + r^2), and r->square, |attraction - repulsion / Z|^2. One warp per row; at
 * most 1,024 blocks share the rows. part [2 * blocks]: the last block adds the parts in order. */
template <int D, bool WIDE>
static __global__ void __launch_bounds__(BLOCK)
measure(struct sl_matrix a, struct sl_particles p, double *part, struct sl_report *r)
{
	const int S = padded<D>::stride;
	uint32_t warps = gridDim.x * (BLOCK / 32), lane = threadIdx.x % 32;
	double divergence = 0, square = 0, inverse_z = 1 / r->z;
	for (uint32_t i = blockIdx.x * (BLOCK / 32) + threadIdx.x / 32; i < a.n; i += warps) {
		float y_i[3], y_j[3], sum = 0;
		load_point<D>(p.y, a.first + i, y_i);
		for (uint32_t at = a.start[i] + lane; at < a.start[i + 1]; at += 32) {
			struct piece<WIDE> here;
			open_piece<WIDE>(a.piece[at], a.bits, &here);
			for (int e = 0; e < piece<WIDE>::ENTRIES; e++) {
				float r2 = 0;
				load_point<D>(p.y, here.node[e], y_j);
#pragma unroll
				for (int k = 0; k < D; k++)
					r2 = fmaf(y_i[k] - y_j[k], y_i[k] - y_j[k], r2);
				sum = fmaf(here.weight[e], log1pf(r2), sum);
			}
		}
		divergence += (double)(sum * row_scale<WIDE>(a, i));
		if (lane < D) {
			size_t c = (size_t)(a.first + i) * S + lane;
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
#define LAUNCH(d, wide) \
	if (p->dims == d && !a->bits == wide) \
		measure<d, wide><<<blocks, BLOCK, 0, stream>>>(*a, *p, part, r)
	LAUNCH(1, false); LAUNCH(2, false); LAUNCH(3, false);
	LAUNCH(1, true); LAUNCH(2, true); LAUNCH(3, true);
#undef LAUNCH
	return cudaGetLastError();
}
