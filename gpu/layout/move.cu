/* The step and the spreading of the moved points, for layouts of many points whose repulsion has been read.
 *
 * One thread takes the step of one point. Then the threads of a warp spread its points, several threads per point, as
 * in window.cuh.
 *
 * A block first adds its points to a patch of the grid in shared memory, and then adds the patch to the grid. This pays
 * because points near each other in memory are mostly near each other in the layout, if the nodes are in a good order.
 * The patch lies where most points of a sample are; points outside it add to the grid directly. All charges are
 * integers, so the sums do not depend on the place of the patch. Rows of the patch begin 20 banks apart, and each point
 * of a warp begins with a different row, so that points in the same cell rarely add to the same bank at the same time.
 *
 * One H200, 2-D, accuracy draft, nodes in the order of Cuthill and McKee: 1.3 million points take 64 us, 137 us without
 * a patch, 28 us without spreading; 10 million 0.38 ms, 0.91 ms, 0.18 ms. With the points in the layout's own order, a
 * patch of 32 nodes took 50 us and 0.29 ms. 3-D: 1.3 million take 255 us, with patches of 16 nodes 268 us.
 *
 * Times in this file: one NVIDIA H200, until 2026-11-23; commands: docs/notes/gpu-layout.md. */
#include "gpu/layout/step.cuh"

#define SAMPLES 32
#define NOWHERE (1 << 28)

/* SIDE: nodes along a side of a patch. PITCH, PLANE: words from row to row and from plane to plane. */
template <int D> struct patch_shape;
template <> struct patch_shape<2> {  /* 32: 69 us and 0.44 ms, where 48 take 64 us and 0.38 */
	static const int SIDE = 48, PITCH = 52, PLANE = 0, NODES = SIDE * PITCH, PAIRS = SIDE * SIDE / 2;
};
template <> struct patch_shape<3> {
	static const int SIDE = 20, PITCH = 20, PLANE = 404, NODES = SIDE * PLANE, PAIRS = SIDE * SIDE * SIDE / 2;
};

cudaError_t sl__upload_move_windows(const struct sl_window *windows) { return window_upload(windows); }

template <int D> static __device__ __forceinline__ void store_point(float *out, uint32_t i, const float *x)
{
	if (D == 2)
		reinterpret_cast<float2 *>(out)[i] = make_float2(x[0], x[1]);
	else
		reinterpret_cast<float4 *>(out)[i] = make_float4(x[0], x[1], x[D - 1], 0);
}

/* ---- patches ------------------------------------------------------------------------------- */

template <int D> struct patch {
	alignas(8) uint32_t node[patch_shape<D>::NODES];
	int sample[SAMPLES][D];
	int corner[D];  /* the patch's first node on the grid; even along x, so that its pairs are pairs of the grid */
};

/* Clears the patch before its first use. */
template <int D> static __device__ __forceinline__ void patch_clear(struct patch<D> *p)
{
	for (int at = (int)threadIdx.x; at < patch_shape<D>::NODES; at += BLOCK)
		p->node[at] = 0;
}

/* Places the patch. All threads of the block; thread t's point is at node `first`. The patch is centred on the point of
 * a sample that has the most other sample points within reach. */
template <int D, int W>
static __device__ __forceinline__ void patch_place(struct patch<D> *p, const int *first, bool active)
{
	const int every = BLOCK / SAMPLES, reach = (patch_shape<D>::SIDE - W) / 2;
	if (threadIdx.x % every == 0) {
		int s = (int)threadIdx.x / every;
#pragma unroll
		for (int k = 0; k < D; k++)
			p->sample[s][k] = active ? first[k] : NOWHERE + 2 * s * patch_shape<D>::SIDE;
	}
	__syncthreads();
	if (threadIdx.x < SAMPLES) {
		int lane = (int)threadIdx.x, own[D], count = 0;
#pragma unroll
		for (int k = 0; k < D; k++)
			own[k] = p->sample[lane][k];
#pragma unroll 8
		for (int i = 0; i < SAMPLES; i++) {
			bool within = true;
#pragma unroll
			for (int k = 0; k < D; k++)
				within &= abs(__shfl_sync(~0u, own[k], i) - own[k]) <= reach;
			count += within;
		}
		unsigned best = __ballot_sync(~0u, count == (int)__reduce_max_sync(~0u, (unsigned)count));
		if (lane == __ffs((int)best) - 1) {
#pragma unroll
			for (int k = 0; k < D; k++)
				p->corner[k] = k ? own[k] - reach : (own[k] - reach) & ~1;
		}
	}
	__syncthreads();
}

/* Adds a point's window to the patch, row by row. Returns true if the window lies within the patch. All threads of a
 * warp call it. */
template <int D, int W>
static __device__ __forceinline__ bool
patch_add(struct patch<D> *p, int lane, int group, const int *first, const float *weight, float scale)
{
	typedef patch_shape<D> S;
	const int ROWS = D == 2 ? W : W * W;
	int x = first[0] - p->corner[0], y = first[1] - p->corner[1], z = D == 3 ? first[D - 1] - p->corner[D - 1] : 0;
	bool within = (unsigned)x <= S::SIDE - W && (unsigned)y <= S::SIDE - W && (unsigned)z <= S::SIDE - W;
	uint32_t *to = p->node + z * S::PLANE + y * S::PITCH + x + lane;
	float along = scale * weight[0];
#pragma unroll
	for (int s = 0; s < ROWS; s++) {
		int row = (s + group) % ROWS;
		float across = of_lane<W>(weight[1], row % W);
		if (D == 3)
			across *= of_lane<W>(weight[D - 1], row / W);
		uint32_t charge = fixed(along * across);
		if (within && lane < W && charge)
			atomicAdd(to + row / W * S::PLANE + row % W * S::PITCH, charge);
	}
	return within;
}

/* Adds the patch to the grid and clears it. Nodes of the patch that no point has touched may lie outside the grid. */
template <int D> static __device__ __forceinline__ void patch_flush(struct patch<D> *p, const struct field *f)
{
	typedef patch_shape<D> S;
	const int ROW = S::SIDE / 2;
	for (int at = (int)threadIdx.x; at < S::PAIRS; at += BLOCK) {
		int x = at % ROW, y = D == 2 ? at / ROW : at / ROW % S::SIDE, z = D == 2 ? 0 : at / ROW / S::SIDE;
		uint2 *from = reinterpret_cast<uint2 *>(p->node + z * S::PLANE + y * S::PITCH + 2 * x), both = *from;
		if (both.x | both.y) {
			size_t row = (size_t)(p->corner[1] + y);
			if (D == 3)
				row += (size_t)(p->corner[D - 1] + z) * f->side;
			*from = make_uint2(0, 0);
			atomicAdd((unsigned long long *)f->charges + row * f->pairs + (p->corner[0] >> 1) + x,
				  (unsigned long long)both.y << 32 | both.x);
		}
	}
}

/* ---- step --------------------------------------------------------------------------------------- */

/* Spreads the points of a warp. Thread t's point lies between node `first` and the next, at the fraction v. */
template <int D, int W>
static __device__ __forceinline__ void
spread_warp(const struct tap<W> *c, const struct field *f, const int *first, const float *v, bool active,
	    struct patch<D> *p)
{
	const int LANES = shape<W>::LANES, lane = (int)threadIdx.x % LANES, group = (int)threadIdx.x % 32 / LANES;
	float scale = active ? f->weight_scale : 0;
#pragma unroll
	for (int round = 0; round < LANES; round++) {
		int from = round * (32 / LANES) + group, at[D];
		float weight[D];
#pragma unroll
		for (int k = 0; k < D; k++) {
			at[k] = __shfl_sync(~0u, first[k], from);
			weight[k] = spread_weight(c, __shfl_sync(~0u, v[k], from));
		}
		float its_scale = __shfl_sync(~0u, scale, from);
		if (patch_add<D, W>(p, lane, group, at, weight, its_scale))
			its_scale = 0;
		if (__any_sync(~0u, its_scale != 0))
			add_window<D, W>(f, lane, at, weight, its_scale);
	}
}

/* Takes point i's step. Extends the box b to its new position; first and v give its place on the grid at `corner`. */
template <int D, int KIND>
static __device__ __forceinline__ void
move_point(const struct sl_particles *p, uint32_t i, const struct sl_orders *o, const float *correct, float inverse_z,
	   const struct field *f, const float *corner, struct box<D> *b, int *first, float *v)
{
	float y[D], velocity[D], gain[D], attraction[D], repulsion[D];
	load_point<D>(p->y, i, y);
	load_point<D>(p->velocity, i, velocity);
	load_point<D>(p->gain, i, gain);
	load_point<D>(p->attraction, i, attraction);
	load_point<D>(p->repulsion, i, repulsion);
	float mass = KIND == SL_STEP_MOMENTUM ? p->mass[i] : 0, gradient[D], product = 0, square = 0;
#pragma unroll
	for (int k = 0; k < D; k++) {
		gradient[k] = o->step.exaggeration * attraction[k] - inverse_z * repulsion[k];
		product += gradient[k] * velocity[k];
	}
#pragma unroll
	for (int k = 0; k < D && KIND == SL_STEP_MOMENTUM; k++) {
		velocity[k] = momentum_velocity(o, mass, product, gradient[k], velocity[k], &gain[k]);
		square += velocity[k] * velocity[k];
	}
	float clip = sl_update_clip(square, o->step.max_step);
#pragma unroll
	for (int k = 0; k < D; k++) {
		if (KIND == SL_STEP_ADAM) {
			y[k] = adam_moved(o, correct, p->all, gradient[k], y[k], &velocity[k], &gain[k]);
		} else {
			velocity[k] *= clip;
			y[k] += velocity[k];
		}
		box_add<D>(b, k, y[k]);
		first[k] = locate(y[k], corner[k], f, &v[k]);
	}
	if (p->rounded)
		store_rounded<D>(p->rounded, i, rounding_of<D>(corner, o->reach), y);
	store_point<D>(p->velocity, i, velocity);
	store_point<D>(p->gain, i, gain);
	store_point<D>(p->y, i, y);
}

/* move takes the step for all points, whose repulsion p.repulsion holds, and spreads them over f. A block takes `count`
 * points, a multiple of 256, in turns of 256; shared memory: one patch. Each block reports its bounds before it spreads
 * its last points, so the bounds do not wait for additions to the grid. 11.1 us (MNIST), 84 us (mixture, 2-D); other
 * figures are at the head of this file. */
template <int D, int KIND, int W>
static __global__ void __launch_bounds__(BLOCK, 4)
move(struct sl_particles p, struct field f, uint32_t count, float *box_parts, const struct sl_orders *__restrict__ o,
     struct sl_report *r)
{
	__shared__ float correct[2];
	__shared__ struct patch<D> patch;
	if (r->state != SL_GO)
		return;
	corrections<KIND>(correct, r);
	struct tap<W> c;
	tap_init(&c, (int)threadIdx.x % shape<W>::LANES, false);
	field_orders(&f, &o->level[0]);
	const float inverse_z = (float)(1 / r->z);
	float corner[D];
	corner_of_next<D, W>(o, r, corner);
	struct box<D> b = box_empty<D>();
	patch_clear(&patch);
	uint32_t begin = blockIdx.x * count, end = p.n - begin < count ? p.n : begin + count;
	for (uint32_t base = begin; base < end; base += BLOCK) {
		uint32_t i = base + threadIdx.x;
		bool active = i < end;
		int first[D] = {};
		float v[D] = {};
		if (active)
			move_point<D, KIND>(&p, i, o, correct, inverse_z, &f, corner, &b, first, v);
		if (base + BLOCK >= end)
			box_close<D>(b, box_parts, o, corner, r, true);
		patch_place<D, W>(&patch, first, active);
		spread_warp<D, W>(&c, &f, first, v, active, &patch);
		__syncthreads();
		patch_flush(&patch, &f);
		__syncthreads();
	}
}

template <int D, int W>
static void launch_move(const struct sl_particles *p, const struct sl_grid_memory *g, enum sl_step_kind kind,
			double *part, const struct sl_orders *o, struct sl_report *r, cudaStream_t stream)
{
	uint32_t tiles = blocks_for(p->n, BLOCK), rounds = (tiles + BLOCKS_MAX / 2) / BLOCKS_MAX;
	if (rounds > 3 && blocks_for(tiles, rounds) > BLOCKS_MAX)
		rounds++;  /* a few blocks more would take as long as BLOCKS_MAX */
	uint32_t count = (rounds > 1 ? rounds : 1) * BLOCK, blocks = blocks_for(p->n, count);
	struct field f = field_of(g);
	if (kind == SL_STEP_MOMENTUM)
		move<D, SL_STEP_MOMENTUM, W><<<blocks, BLOCK, 0, stream>>>(*p, f, count, (float *)part, o, r);
	else
		move<D, SL_STEP_ADAM, W><<<blocks, BLOCK, 0, stream>>>(*p, f, count, (float *)part, o, r);
}

cudaError_t sl__move(const struct sl_particles *p, const struct sl_grid_memory *grid, enum sl_step_kind kind,
		     double *part, const struct sl_orders *o, struct sl_report *r, cudaStream_t stream)
{
#define LAUNCH(d, w) \
	if (p->dims == d && grid->window == w) \
		launch_move<d, w>(p, grid, kind, part, o, r, stream)
	LAUNCH(2, 4);
	LAUNCH(2, 6);
	LAUNCH(3, 4);
#undef LAUNCH
	return cudaGetLastError();
}
