/* Reading the repulsion back from the grids, the step, and spreading each point from where it put it, for the
 * iteration that follows. The grids' corner is that of the layout before the step: nothing has to be known of the other
 * points. */
#include "gpu/window.cuh"
#include "core/update.h"

cudaError_t sl__upload_step_window(const struct sl_window *w) { return window_upload(w); }

/* ---- read back ------------------------------------------------------------------------- */

/* Where a point lies in a grid: its first node, and this thread's weights and slopes. */
template <int D> struct spot {
	int first[D];
	float weight[D], slope[D];
};

template <int D>
static __device__ __forceinline__ void
find_spot(struct spot<D> *p, const struct tap *c, const struct field *f, const float *place, const float *corner)
{
#pragma unroll
	for (int k = 0; k < D; k++) {
		float v;
		p->first[k] = locate(place[k], corner[k], f, &v);
		p->weight[k] = value(c, v);
		p->slope[k] = slope(c, v);
	}
}

/* This thread's column of the potential around the point (1-D: its node, 3-D: see below). */
template <int D>
static __device__ __forceinline__ void
load_column(float *x, const struct spot<D> *p, int lane, const struct field *f)
{
	const float *at = f->potential + p->first[0] + lane;
	bool mine = lane < TAPS;
	if (D == 1)
		x[0] = mine ? *at : 0;
	if (D != 2)
		return;
	at += (size_t)p->first[D - 1] * f->pitch;
#pragma unroll
	for (int t = 0; t < TAPS; t++)
		x[t] = mine ? at[t * f->pitch] : 0;
}

/* Force of the grid at the point, added to `force`: this thread's share. x: from load_column(). */
template <int D>
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
		for (int t = 0; t < TAPS; t++) {
			sum[0] = fmaf(of_lane(p->weight[D - 1], t), x[t], sum[0]);
			sum[1] = fmaf(of_lane(p->slope[D - 1], t), x[t], sum[1]);
		}
	} else {
		const float *at = f->potential + p->first[0] + lane + (size_t)p->first[D - 1] * f->plane +
				  (size_t)p->first[D - 2] * f->pitch;
		bool mine = lane < TAPS;
		float weight[TAPS], sloped[TAPS];
#pragma unroll
		for (int t = 0; t < TAPS; t++) {
			weight[t] = of_lane(p->weight[D - 2], t);
			sloped[t] = of_lane(p->slope[D - 2], t);
		}
#pragma unroll 2
		for (int u = 0; u < TAPS; u++, at += f->plane) {
			float along_x = 0, along_y = 0;
#pragma unroll
			for (int t = 0; t < TAPS; t++) {
				float here = mine ? at[t * f->pitch] : 0;
				along_x = fmaf(weight[t], here, along_x);
				along_y = fmaf(sloped[t], here, along_y);
			}
			float plane = of_lane(p->weight[D - 1], u);
			sum[0] = fmaf(plane, along_x, sum[0]);
			sum[1] = fmaf(plane, along_y, sum[1]);
			sum[D - 1] = fmaf(of_lane(p->slope[D - 1], u), along_x, sum[D - 1]);
		}
	}
#pragma unroll
	for (int k = 0; k < D; k++)
		force[k] = fmaf(f->force_scale * (k ? p->weight[0] : p->slope[0]), sum[k], force[k]);
}

/* All threads of the point get the sum over them. */
template <int D> static __device__ __forceinline__ void sum_force(float *force)
{
#pragma unroll
	for (int k = 0; k < D; k++)
#pragma unroll
		for (int step = LANES / 2; step; step >>= 1)
			force[k] += __shfl_xor_sync(~0u, force[k], step);
}

/* ---- bounds ------------------------------------------------------------------------- */

template <int D> struct box {
	float low[D], high[D];
	bool bad;
};

template <int D> static __device__ __forceinline__ void box_add(struct box<D> *b, int k, float x)
{
	b->low[k] = fminf(b->low[k], x);
	b->high[k] = fmaxf(b->high[k], x);
	b->bad |= !(fabsf(x) < 1e15f);
}

template <int D> static __device__ __forceinline__ struct box<D> box_empty()
{
	struct box<D> b;
	for (int k = 0; k < D; k++) {
		b.low[k] = INFINITY;
		b.high[k] = -INFINITY;
	}
	b.bad = false;
	return b;
}

/* Of the block, to its thread 0. */
template <int D> static __device__ __forceinline__ void box_reduce(struct box<D> *b)
{
	__shared__ float low[BLOCK / 32][D], high[BLOCK / 32][D];
#pragma unroll
	for (int k = 0; k < D; k++)
		for (int step = 16; step; step >>= 1) {
			b->low[k] = fminf(b->low[k], __shfl_xor_sync(~0u, b->low[k], step));
			b->high[k] = fmaxf(b->high[k], __shfl_xor_sync(~0u, b->high[k], step));
		}
	if (threadIdx.x % 32 == 0)
		for (int k = 0; k < D; k++) {
			low[threadIdx.x / 32][k] = b->low[k];
			high[threadIdx.x / 32][k] = b->high[k];
		}
	b->bad = __syncthreads_or(b->bad);
	for (int k = 0; k < D && threadIdx.x == 0; k++)
		for (int w = 1; w < BLOCK / 32; w++) {
			b->low[k] = fminf(b->low[k], low[w][k]);
			b->high[k] = fmaxf(b->high[k], high[w][k]);
		}
	__syncthreads();
}

/* Whole blocks. The last one closes the iteration. corner: of the grids that the new charges lie on, which judges the
 * layout; NULL: no grid. parts: 8 floats a block. */
template <int D>
static __device__ __forceinline__ void
box_close(struct box<D> b, float *parts, const struct sl_orders *o, const float *corner, struct sl_report *r,
	  bool stepped)
{
	box_reduce<D>(&b);
	if (threadIdx.x == 0) {
		float *mine = parts + 8 * (size_t)blockIdx.x;
		for (int k = 0; k < D; k++) {
			mine[k] = b.low[k];
			mine[4 + k] = b.high[k];
		}
		mine[3] = b.bad ? 1 : 0;
	}
	if (!last_block(&r->arrived[SL_LEVELS]))
		return;
	b = box_empty<D>();
	for (uint32_t i = threadIdx.x; i < gridDim.x; i += BLOCK) {
		const float4 low = __ldcg((const float4 *)(parts + 8 * (size_t)i));
		const float4 high = __ldcg((const float4 *)(parts + 8 * (size_t)i) + 1);
		const float lows[3] = {low.x, low.y, low.z}, highs[3] = {high.x, high.y, high.z};
		for (int k = 0; k < D; k++) {
			b.low[k] = fminf(b.low[k], lows[k]);
			b.high[k] = fmaxf(b.high[k], highs[k]);
		}
		b.bad |= low.w != 0;
	}
	box_reduce<D>(&b);
	if (threadIdx.x != 0)
		return;
	float extent = 0;
	for (int k = 0; k < D; k++) {
		r->low[k] = b.low[k];
		r->high[k] = b.high[k];
		extent = fmaxf(extent, b.high[k] - b.low[k]);
	}
	r->finite = !b.bad;
	if (stepped) {
		r->done++;
		r->iteration++;
	}
	bool inside = true;
	for (int k = 0; k < D && corner; k++) {
		inside = inside && b.low[k] >= corner[k] && b.high[k] <= corner[k] + o->reach;
		r->corner[k] = corner[k];
	}
	if (b.bad)
		r->state = SL_DIVERGED;
	else if (corner && (!(inside && extent >= o->shrink) || r->candidates > o->near.candidates_most))
		r->state = SL_OUTGROWN;
}

/* ---- step ------------------------------------------------------------------------- */

/* The new place of one component. */
template <int KIND>
static __device__ __forceinline__ float
moved(const struct sl_orders *o, const float *correct, uint32_t n, float gradient, float mass, float y, float *velocity,
      float *gain)
{
	if (KIND == SL_STEP_ADAM)
		return sl_update_adam(o->learning_rate, correct[0], correct[1], (float)n * gradient, y, velocity, gain);
	return sl_update_momentum(sl_update_rate(o->learning_rate, o->exaggeration, mass), o->momentum, gradient, y,
				  velocity, gain);
}

/* GRIDS: 0 for all pairs. splits < 0: the near part is in p.repulsion, and in the second level's Z. */
template <int D, int KIND, int GRIDS>
static __global__ void __launch_bounds__(BLOCK, 4)
step(struct sl_particles p, struct field near, struct field far, const float *__restrict__ partial, int splits,
     float *box_parts, const struct sl_orders *__restrict__ o, struct sl_report *r)
{
	const int S = padded<D>::stride;
	__shared__ float correct[2];
	if (r->state != SL_GO)
		return;
	if (KIND == SL_STEP_ADAM) {
		if (threadIdx.x < 2)
			correct[threadIdx.x] = sl_update_adam_correction(r->iteration + 1, (int)threadIdx.x);
		__syncthreads();
	}
	int lane = (int)threadIdx.x % LANES;
	struct tap c;
	if (GRIDS)
		tap_init(&c, lane, true);
	const double z = fmax(r->level_z[0] + (GRIDS > 1 || splits < 0 ? r->level_z[1] : 0), 1e-30);
	const float inverse_z = (float)(1 / z);
	float corner[3], next_corner[3];  /* the next grids have the layout as it is now in their middle */
#pragma unroll
	for (int k = 0; k < D; k++) {
		corner[k] = r->corner[k];
		next_corner[k] = 0.5f * (r->low[k] + r->high[k] - o->reach);
	}
	if (blockIdx.x == 0 && threadIdx.x == 0)
		r->z = z;
	if (GRIDS)
		field_orders(&near, &o->level[0]);
	if (GRIDS > 1)
		field_orders(&far, &o->level[1]);
	struct box<D> b = box_empty<D>();
	uint32_t stride = gridDim.x * (BLOCK / LANES), group = threadIdx.x / LANES;
	for (uint32_t base = blockIdx.x * (BLOCK / LANES) + group; base - group < p.n; base += stride) {
		uint32_t i = base < p.n ? base : p.n - 1;
		float place[3], force[3] = {0, 0, 0};
		bool active = base < p.n, mine = lane < D && active;  /* one component a thread */
		size_t at = (size_t)i * S + (lane < D ? lane : 0);
		float attraction = KIND == SL_STEP_NONE ? 0 : p.attraction[at];
		float velocity = KIND == SL_STEP_NONE ? 0 : p.velocity[at], gain = KIND == SL_STEP_NONE ? 0 : p.gain[at];
		float mass = KIND == SL_STEP_MOMENTUM ? p.mass[i] : 0;
		load_point<D>(p.y, i, place);
		if (!GRIDS) {
			float x = 0;
			for (int s = 0; s < splits; s++)
				x += partial[(size_t)s * p.n * S + at];
			force[0] = force[1] = force[2] = x;
		} else {
			struct spot<D> here, there;
			float x[TAPS], far_x[TAPS];
			find_spot<D>(&here, &c, &near, place, corner);
			load_column<D>(x, &here, lane, &near);
			if (GRIDS > 1) {
				find_spot<D>(&there, &c, &far, place, corner);
				load_column<D>(far_x, &there, lane, &far);
				add_force<D>(force, far_x, &there, lane, &far);
			}
			add_force<D>(force, x, &here, lane, &near);
			sum_force<D>(force);
		}
		float close = GRIDS == 1 && splits < 0 && mine ? p.repulsion[at] : 0;
		float own = force[0], next = place[0];
#pragma unroll
		for (int k = 1; k < D; k++) {
			own = lane == k ? force[k] : own;
			next = lane == k ? place[k] : next;
		}
		own += close;
		if (KIND == SL_STEP_NONE) {
			if (mine)
				p.repulsion[at] = own;
			continue;
		}
		float gradient = o->exaggeration * attraction - inverse_z * own;
		next = moved<KIND>(o, correct, p.n, gradient, mass, next, &velocity, &gain);
		if (mine) {
			p.velocity[at] = velocity;
			p.gain[at] = gain;
			p.y[at] = next;
#pragma unroll
			for (int k = 0; k < D; k++)
				if (lane == k)
					box_add<D>(&b, k, next);
		}
		if (GRIDS) {
#pragma unroll
			for (int k = 0; k < D; k++)
				place[k] = of_lane(next, k);
			spread_point<D>(&c, lane, &near, place, next_corner, active);
		}
	}
	if (KIND != SL_STEP_NONE)
		box_close<D>(b, box_parts, o, GRIDS ? next_corner : NULL, r, true);
}

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

template <int D, int GRIDS>
static void launch_step(const struct sl_particles *p, const struct sl_grid_memory *g, const float *partial, int splits,
			enum sl_step_kind kind, double *part, const struct sl_orders *o, struct sl_report *r,
			cudaStream_t stream)
{
	uint32_t blocks = blocks_of_points(p->n);
	struct field near = {}, far = {};
	if (GRIDS)
		near = field_of(&g[0]);
	if (GRIDS > 1)
		far = field_of(&g[1]);
#define LAUNCH(kind) \
	step<D, kind, GRIDS><<<blocks, BLOCK, 0, stream>>>(*p, near, far, partial, splits, (float *)part, o, r)
	if (kind == SL_STEP_MOMENTUM)
		LAUNCH(SL_STEP_MOMENTUM);
	else if (kind == SL_STEP_ADAM)
		LAUNCH(SL_STEP_ADAM);
	else
		LAUNCH(SL_STEP_NONE);
#undef LAUNCH
}

cudaError_t sl__step(const struct sl_particles *p, const struct sl_grid_memory *grids, int levels, const float *partial,
		     int splits, bool pairs, enum sl_step_kind kind, double *part, const struct sl_orders *o,
		     struct sl_report *r, cudaStream_t stream)
{
	int count = splits > 0 ? 0 : levels;
	splits = pairs ? -1 : splits;
#define LAUNCH(d, levels) \
	if (p->dims == d && count == levels) \
		launch_step<d, levels>(p, grids, partial, splits, kind, part, o, r, stream)
	LAUNCH(1, 0); LAUNCH(2, 0); LAUNCH(3, 0);
	LAUNCH(1, 1); LAUNCH(2, 1); LAUNCH(3, 1);
	LAUNCH(2, 2); LAUNCH(3, 2);
#undef LAUNCH
	return cudaGetLastError();
}

cudaError_t sl__bounds(const struct sl_particles *p, double *part, struct sl_report *r, cudaStream_t stream)
{
	uint32_t blocks = blocks_for(p->n, BLOCK);
	blocks = blocks < 264 ? blocks : 264;
	if (p->dims == 1)
		bounds<1><<<blocks, BLOCK, 0, stream>>>(p->n, p->y, (float *)part, r);
	else if (p->dims == 2)
		bounds<2><<<blocks, BLOCK, 0, stream>>>(p->n, p->y, (float *)part, r);
	else
		bounds<3><<<blocks, BLOCK, 0, stream>>>(p->n, p->y, (float *)part, r);
	return cudaGetLastError();
}

static __global__ void fill(float *out, float value, uint64_t count)
{
	for (uint64_t at = (uint64_t)blockIdx.x * BLOCK + threadIdx.x; at < count; at += (uint64_t)gridDim.x * BLOCK)
		out[at] = value;
}

cudaError_t sl__fill(float *out, float value, uint64_t count, cudaStream_t stream)
{
	fill<<<blocks_for(count, 4 * BLOCK), BLOCK, 0, stream>>>(out, value, count);
	return cudaGetLastError();
}
