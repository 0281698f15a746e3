/* Reads the repulsion from the grids. One kernel only reads; another reads, takes the step, and spreads the moved
 * points for the next iteration. The corner of the next grids follows from the layout before the step, so points move
 * independently of each other. For many points, move.cu takes the step and spreads.
 *
 * Times in this file: one NVIDIA H200, until 2026-11-25; commands: docs/notes/gpu-layout.md. */
#include "gpu/layout/step.cuh"

cudaError_t sl__upload_step_windows(const struct sl_window *windows) { return window_upload(windows); }

/* ---- read back ------------------------------------------------------------------------- */

/* A point's place in a grid: its first node, and this thread's weights and slopes. */
template <int D> struct spot {
	int first[D];
	float weight[D], slope[D];
};

template <int D, int W>
static __device__ __forceinline__ void
find_spot(struct spot<D> *p, const struct tap<W> *c, const struct field *f, const float *place, const float *corner)
{
#pragma unroll
	for (int k = 0; k < D; k++) {
		float v;
		p->first[k] = locate(place[k], corner[k], f, &v);
		p->weight[k] = value(c, v);
		p->slope[k] = slope(c, v);
	}
}

/* Loads this thread's column of the potential around the point. In 1-D that is one node; in 3-D add_force() loads. */
template <int D, int W>
static __device__ __forceinline__ void
load_column(float *x, const struct spot<D> *p, int lane, const struct field *f)
{
	const float *at = f->potential + p->first[0] + lane;
	bool mine = W == shape<W>::LANES || lane < W;
	if (D == 1)
		x[0] = mine ? *at : 0;
	if (D != 2)
		return;
	at += (size_t)p->first[D - 1] * f->pitch;
#pragma unroll
	for (int t = 0; t < W; t++)
		x[t] = mine ? at[t * f->pitch] : 0;
}

/* Adds this thread's share of the grid's force at the point to `force`. x: from load_column(). */
template <int D, int W>
static __device__ __forceinline__ void
add_force(float *force, const float *x, const struct spot<D> *p, int lane, const struct field *f)
{
	float sum[D];
#pragma unroll
	for (int k = 0; k < D; k++)
		sum[k] = 0;
	if (D == 1) {
		sum[0] = x[0];
	} else if (D == 2) {
#pragma unroll
		for (int t = 0; t < W; t++) {
			sum[0] = fmaf(of_lane<W>(p->weight[D - 1], t), x[t], sum[0]);
			sum[1] = fmaf(of_lane<W>(p->slope[D - 1], t), x[t], sum[1]);
		}
	} else {
		const float *at = f->potential + p->first[0] + lane + (size_t)p->first[D - 1] * f->plane +
				  (size_t)p->first[D - 2] * f->pitch;
		bool mine = W == shape<W>::LANES || lane < W;
		float weight[W], sloped[W];
#pragma unroll
		for (int t = 0; t < W; t++) {
			weight[t] = of_lane<W>(p->weight[D - 2], t);
			sloped[t] = of_lane<W>(p->slope[D - 2], t);
		}
#pragma unroll(W == 4 ? 4 : 2)
		for (int u = 0; u < W; u++, at += f->plane) {
			float along_x = 0, along_y = 0;
#pragma unroll
			for (int t = 0; t < W; t++) {
				float here = mine ? at[t * f->pitch] : 0;
				along_x = fmaf(weight[t], here, along_x);
				along_y = fmaf(sloped[t], here, along_y);
			}
			float plane = of_lane<W>(p->weight[D - 1], u);
			sum[0] = fmaf(plane, along_x, sum[0]);
			sum[1] = fmaf(plane, along_y, sum[1]);
			sum[D - 1] = fmaf(of_lane<W>(p->slope[D - 1], u), along_x, sum[D - 1]);
		}
	}
#pragma unroll
	for (int k = 0; k < D; k++)
		force[k] = fmaf(f->force_scale * (k ? p->weight[0] : p->slope[0]), sum[k], force[k]);
}

/* Sums the force over the threads of a point; all of them get the sum. */
template <int D, int W> static __device__ __forceinline__ void sum_force(float *force)
{
#pragma unroll
	for (int k = 0; k < D; k++)
		force[k] = sum_lanes(force[k], shape<W>::LANES);
}

/* The repulsion of point i, not yet divided by Z, in all threads of the point. READ: the number of grids to read. */
template <int D, int READ, int W>
static __device__ __forceinline__ void
repulsion(float *force, const struct tap<W> *c, int lane, const struct field *near, const struct field *far,
	  const float *place, const float *corner)
{
	struct spot<D> here, there;
	float x[W], far_x[W];
	find_spot<D>(&here, c, near, place, corner);
	load_column<D, W>(x, &here, lane, near);
	if (READ > 1) {
		find_spot<D>(&there, c, far, place, corner);
		load_column<D, W>(far_x, &there, lane, far);
		add_force<D, W>(force, far_x, &there, lane, far);
	}
	add_force<D, W>(force, x, &here, lane, near);
	sum_force<D, W>(force);
}

/* Sums over the D components of a point, which its first D threads hold; all its threads get the sum. Called by whole
 * warps. */
template <int D, int W> static __device__ __forceinline__ float over_components(float x)
{
	float sum = of_lane<W>(x, 0);
#pragma unroll
	for (int k = 1; k < D; k++)
		sum += of_lane<W>(x, k);
	return sum;
}

static __device__ __forceinline__ float sum_splits(const float *partial, int splits, size_t floats, size_t at)
{
	float x = 0;
	for (int s = 0; s < splits; s++)
		x += partial[(size_t)s * floats + at];
	return x;
}

/* Returns x[k]; an index known only at run time would move x to local memory. */
template <int D> static __device__ __forceinline__ float component(const float *x, int k)
{
	float own = x[0];
#pragma unroll
	for (int i = 1; i < D; i++)
		own = k == i ? x[i] : own;
	return own;
}

static __device__ __forceinline__ double sum_z(const struct sl_report *r, bool both)
{
	return fmax(r->level_z[0] + (both ? r->level_z[1] : 0), 1e-30);
}

/* read_back writes p.repulsion [n * stride], not yet divided by Z, and r->z. READ: 1 or 2 grids of potentials, or 0:
 * the sum of partial [splits][n * stride]. splits < 0: the pairs have left their part in p.repulsion and in level_z[1].
 * LANES threads per point. 5.4 us (MNIST), 49 us (mixture, 2-D), bound by the latency of the L2 cache. */
template <int D, int READ, int W>
static __global__ void __launch_bounds__(BLOCK, 4)
read_back(struct sl_particles p, struct field near, struct field far, const float *__restrict__ partial, int splits,
	  const struct sl_orders *__restrict__ o, struct sl_report *r)
{
	const int S = padded<D>::stride, LANES = shape<W>::LANES, lane = (int)threadIdx.x % LANES;
	if (r->state != SL_GO)
		return;
	if (blockIdx.x == 0 && threadIdx.x == 0)
		r->z = sum_z(r, READ > 1 || splits < 0);
	struct tap<W> c;
	if (READ) {
		tap_init(&c, lane, true);
		field_orders(&near, &o->level[0]);
	}
	if (READ > 1)
		field_orders(&far, &o->level[1]);
	const float corner[3] = {r->corner[0], r->corner[1], r->corner[2]};
	uint32_t stride = gridDim.x * (BLOCK / LANES), group = threadIdx.x / LANES;
	for (uint32_t base = blockIdx.x * (BLOCK / LANES) + group; base - group < p.n; base += stride) {
		uint32_t i = base < p.n ? base : p.n - 1;
		size_t at = (size_t)i * S + (lane < D ? lane : 0);
		float place[3], force[3] = {0, 0, 0}, own;
		if (READ) {
			load_point<D>(p.y, i, place);
			repulsion<D, READ, W>(force, &c, lane, &near, &far, place, corner);
			own = component<D>(force, lane) + (READ == 1 && splits < 0 ? p.repulsion[at] : 0);
		} else {
			own = sum_splits(partial, splits, (size_t)p.all * S, at);
		}
		if (lane < D && base < p.n)
			p.repulsion[at] = own;
	}
}

/* step does what read_back does, takes the step of the KIND of optimiser (y, velocity, gain [n * stride]), adds each
 * point's charge to the next iteration's grid, and writes to the report the layout's bounds and whether it fits the
 * grids. READ and splits as in read_back. LANES threads per point; box_parts [blocks][8]. For few points; move.cu is
 * for many. */
template <int D, int KIND, int READ, int W>
static __global__ void __launch_bounds__(BLOCK, 4)
step(struct sl_particles p, struct field near, struct field far, const float *__restrict__ partial, int splits,
     float *box_parts, const struct sl_orders *__restrict__ o, struct sl_report *r)
{
	const int S = padded<D>::stride, LANES = shape<W>::LANES, lane = (int)threadIdx.x % LANES;
	__shared__ float correct[2];
	if (r->state != SL_GO)
		return;
	corrections<KIND>(correct, r);
	struct tap<W> c;
	const double z = sum_z(r, READ > 1 || splits < 0);
	const float inverse_z = (float)(1 / z), corner[3] = {r->corner[0], r->corner[1], r->corner[2]};
	float next_corner[3];
	if (blockIdx.x == 0 && threadIdx.x == 0)
		r->z = z;
	if (READ) {
		tap_init(&c, lane, true);
		field_orders(&near, &o->level[0]);
		corner_of_next<D, W>(o, r, next_corner);
	}
	if (READ > 1)
		field_orders(&far, &o->level[1]);
	struct box<D> b = box_empty<D>();
	uint32_t stride = gridDim.x * (BLOCK / LANES), group = threadIdx.x / LANES;
	for (uint32_t base = blockIdx.x * (BLOCK / LANES) + group; base - group < p.n; base += stride) {
		uint32_t i = base < p.n ? base : p.n - 1;
		float place[3], force[3] = {0, 0, 0}, own;
		bool active = base < p.n;  /* one component a thread */
		size_t at = (size_t)i * S + (lane < D ? lane : 0);
		float attraction = p.attraction[at], velocity = p.velocity[at], gain = p.gain[at];
		float mass = KIND == SL_STEP_MOMENTUM ? p.mass[i] : 0;
		load_point<D>(p.y, i, place);
		if (READ) {
			repulsion<D, READ, W>(force, &c, lane, &near, &far, place, corner);
			own = component<D>(force, lane) + (READ == 1 && splits < 0 ? p.repulsion[at] : 0);
		} else {
			own = sum_splits(partial, splits, (size_t)p.all * S, at);
		}
		float gradient = o->step.exaggeration * attraction - inverse_z * own;
		float next = component<D>(place, lane);
		if (KIND == SL_STEP_ADAM) {
			next = adam_moved(o, correct, p.all, gradient, next, &velocity, &gain);
		} else {
			velocity = momentum_velocity(o, mass, over_components<D, W>(gradient * velocity), gradient, velocity,
						     &gain);
			if (o->step.max_step < INFINITY)
				velocity *= sl_update_clip(over_components<D, W>(velocity * velocity), o->step.max_step);
			next += velocity;
		}
		if (lane < D && active) {
			p.velocity[at] = velocity;
			p.gain[at] = gain;
			p.y[at] = next;
#pragma unroll
			for (int k = 0; k < D; k++)
				if (lane == k)
					box_add<D>(&b, k, next);
		}
		if (READ) {
#pragma unroll
			for (int k = 0; k < D; k++)
				place[k] = of_lane<W>(next, k);
			if (p.rounded && lane == 0 && active)
				store_rounded<D>(p.rounded, i, rounding_of<D>(next_corner, o->reach), place);
			spread_point<D>(&c, lane, &near, place, next_corner, active);
		}
	}
	box_close<D>(b, box_parts, o, READ ? next_corner : NULL, r, true);
}

/* bounds writes the bounds of y [n * stride] to the report, without checking that the layout fits a grid. At most 264
 * blocks; box_parts [blocks][8]. */
template <int D>
static __global__ void __launch_bounds__(BLOCK)
bounds(uint32_t n, const float *__restrict__ y, float *box_parts, struct sl_report *r)
{
	struct box<D> b = box_empty<D>();
	for (uint32_t i = blockIdx.x * BLOCK + threadIdx.x; i < n; i += gridDim.x * BLOCK) {
		float place[3];
		load_point<D>(y, i, place);
#pragma unroll
		for (int k = 0; k < D; k++)
			box_add<D>(&b, k, place[k]);
	}
	box_close<D>(b, box_parts, NULL, NULL, r, false);
}

/* close_step ends the iteration of a rank of a group, as box_close() does without a group: boxes [ranks][8] holds the
 * bounds of each rank's nodes, and is cleared. GRIDS: corner is that of the grids of width W. One thread. */
template <int D, int W, bool GRIDS>
static __global__ void close_step(float *boxes, int ranks, const struct sl_orders *o, struct sl_report *r)
{
	if (r->state != SL_GO)
		return;
	float corner[D];
	if (GRIDS)
		corner_of_next<D, W>(o, r, corner);
	struct box<D> b = box_empty<D>();
	for (int i = 0; i < ranks; i++) {
		for (int k = 0; k < D; k++) {
			b.low[k] = fminf(b.low[k], boxes[8 * i + k]);
			b.high[k] = fmaxf(b.high[k], boxes[8 * i + 4 + k]);
		}
		b.bad |= boxes[8 * i + 3] != 0;
		for (int k = 0; k < 8; k++)
			boxes[8 * i + k] = 0;
	}
	box_finish<D>(&b, o, GRIDS ? corner : NULL, r, true);
}

/* Calls X(dims, levels, window) for every kind of grid. */
#define FOR_EACH_GRID(X) \
	X(2, 1, 4) X(2, 2, 4) X(3, 1, 4) X(3, 2, 4) \
	X(1, 1, 6) X(2, 1, 6) X(2, 2, 6) X(3, 1, 6) X(3, 2, 6)
/* The same and, with levels = 0, all pairs with the fewest threads per point. */
#define FOR_EACH(X) FOR_EACH_GRID(X) X(1, 0, 4) X(2, 0, 4) X(3, 0, 4)

template <int D, int READ, int W>
static void launch_read(const struct sl_particles *p, const struct sl_grid_memory *g, const float *partial, int splits,
			const struct sl_orders *o, struct sl_report *r, cudaStream_t stream)
{
	struct field near = READ ? field_of(&g[0]) : (struct field){}, far = READ > 1 ? field_of(&g[1]) : near;
	read_back<D, READ, W><<<blocks_of_points<W>(p->n), BLOCK, 0, stream>>>(*p, near, far, partial, splits, o, r);
}

cudaError_t sl__read(const struct sl_particles *p, const struct sl_grid_memory *grids, int levels, const float *partial,
		     int splits, bool pairs, const struct sl_orders *o, struct sl_report *r, cudaStream_t stream)
{
	int count = splits > 0 ? 0 : levels, window = count ? grids[0].window : 4;
	splits = pairs ? -1 : splits;
#define LAUNCH(d, levels, w) \
	if (p->dims == d && count == levels && window == w) \
		launch_read<d, levels, w>(p, grids, partial, splits, o, r, stream);
	FOR_EACH(LAUNCH)
#undef LAUNCH
	return cudaGetLastError();
}

template <int D, int READ, int W>
static void launch_step(const struct sl_particles *p, const struct sl_grid_memory *g, const float *partial, int splits,
			enum sl_step_kind kind, double *part, const struct sl_orders *o, struct sl_report *r,
			cudaStream_t stream)
{
	uint32_t blocks = blocks_of_points<W>(p->n);
	struct field near = READ ? field_of(&g[0]) : (struct field){}, far = READ > 1 ? field_of(&g[1]) : near;
	float *parts = (float *)part;
	if (kind == SL_STEP_MOMENTUM)
		step<D, SL_STEP_MOMENTUM, READ, W><<<blocks, BLOCK, 0, stream>>>(*p, near, far, partial, splits, parts, o, r);
	else
		step<D, SL_STEP_ADAM, READ, W><<<blocks, BLOCK, 0, stream>>>(*p, near, far, partial, splits, parts, o, r);
}

cudaError_t sl__step(const struct sl_particles *p, const struct sl_grid_memory *grids, int levels, const float *partial,
		     int splits, bool pairs, enum sl_step_kind kind, double *part, const struct sl_orders *o,
		     struct sl_report *r, cudaStream_t stream)
{
	int count = splits > 0 ? 0 : levels, window = count ? grids[0].window : 4;
	splits = pairs ? -1 : splits;
#define LAUNCH(d, levels, w) \
	if (p->dims == d && count == levels && window == w) \
		launch_step<d, levels, w>(p, grids, partial, splits, kind, part, o, r, stream);
	FOR_EACH(LAUNCH)
#undef LAUNCH
	return cudaGetLastError();
}

cudaError_t sl__bounds(const struct sl_particles *p, double *part, struct sl_report *r, cudaStream_t stream)
{
	uint32_t blocks = blocks_for(p->n, BLOCK);
	blocks = blocks < 264 ? blocks : 264;
#define LAUNCH(d) bounds<d><<<blocks, BLOCK, 0, stream>>>(p->n, p->y, (float *)part, r)
	BY_DIMS(p->dims, LAUNCH);
#undef LAUNCH
	return cudaGetLastError();
}

cudaError_t sl__close_step(int dims, int window, float *boxes, int ranks, const struct sl_orders *o,
			   struct sl_report *r, cudaStream_t stream)
{
#define CLOSE(d, w, grids) close_step<d, w, grids><<<1, 1, 0, stream>>>(boxes, ranks, o, r)
#define LAUNCH(d) do { \
	if (!window) \
		CLOSE(d, 4, false); \
	else if (window == 4) \
		CLOSE(d, 4, true); \
	else \
		CLOSE(d, 6, true); \
} while (0)
	BY_DIMS(dims, LAUNCH);
#undef LAUNCH
#undef CLOSE
	return cudaGetLastError();
}
