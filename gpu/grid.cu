/* Spreading, the product with the kernel's spectrum, reading back and the step.
 *
 * Spreading adds up integers, whose sum is the same in any order: weights in fixed point, 32 bits, two neighbours
 * along x in one 64-bit atomic. weight_scale * n stays below 2^32: no half can overflow into the other.
 *
 * Eight threads share a point, thread t having tap t of each dimension (the last two have none): its window's rows are
 * then read and added to as wholes, which costs one memory transaction a row where a thread a point costs six. A row of
 * the window lies in four aligned pairs, so the eight add two rows at a time.
 *
 * The step spreads each point from where it put it, for the iteration that follows: the grids' corner is the host's
 * choice and stays, so that nothing has to be known of the other points. */
#include "gpu/device.cuh"
#include "gpu/step.cuh"

#define TAPS 6
#define LANES 8
#define BLOCK 256
#define BLOCKS_MAX 1056  /* of kernels over points, about: 730 and 2,188 were slower */

static __device__ struct sl_window window;

cudaError_t sl__upload_window(const struct sl_window *w)
{
	return w->width == TAPS ? cudaMemcpyToSymbol(window, w, sizeof *w) : cudaErrorInvalidValue;
}

/* Coefficients of one tap. */
struct tap {
	float value[SL_WINDOW_DEGREE + 1], slope[SL_WINDOW_DEGREE];
};

static __device__ __forceinline__ void tap_init(struct tap *c, int t, bool slopes)
{
#pragma unroll
	for (int k = 0; k <= SL_WINDOW_DEGREE; k++)
		c->value[k] = window.value[k][t];
#pragma unroll
	for (int k = 0; k < SL_WINDOW_DEGREE && slopes; k++)
		c->slope[k] = window.slope[k][t];
}

static __device__ __forceinline__ float value(const struct tap *c, float v)
{
	float x = c->value[SL_WINDOW_DEGREE];
#pragma unroll
	for (int k = SL_WINDOW_DEGREE - 1; k >= 0; k--)
		x = fmaf(x, v, c->value[k]);
	return x;
}

static __device__ __forceinline__ float slope(const struct tap *c, float v)
{
	float x = c->slope[SL_WINDOW_DEGREE - 1];
#pragma unroll
	for (int k = SL_WINDOW_DEGREE - 2; k >= 0; k--)
		x = fmaf(x, v, c->slope[k]);
	return x;
}

/* What thread t of the point has. */
static __device__ __forceinline__ float of_lane(float x, int t) { return __shfl_sync(~0u, x, t, LANES); }

/* A grid's arrays, and how to find a place in it. */
struct field {
	uint64_t *charges;
	const float *potential;
	int side, pairs, pitch;
	size_t plane;
	float inverse_h, offset, clamp, force_scale, weight_scale;
};

static struct field field_of(const struct sl_grid_memory *g)
{
	struct field f = {g->charges, g->potential, g->side, g->pairs, g->pitch, g->plane, 0, 0, 0, 0, 0};
	return f;
}

static __device__ __forceinline__ void field_orders(struct field *f, const struct sl_level *level)
{
	f->inverse_h = level->inverse_h;
	f->offset = level->offset;
	f->clamp = level->clamp;
	f->force_scale = level->force_scale;
	f->weight_scale = level->weight_scale;
}

/* First node that the point touches, and v for the polynomials. Clamped: no coordinate, not even one
 * that is no number, leads outside the grid. */
static __device__ __forceinline__ int locate(float y, float corner, const struct field *f, float *v)
{
	float t = fminf(fmaxf(fmaf(y - corner, f->inverse_h, f->offset), 0.f), f->clamp);
	int i0 = (int)ceilf(t);
	*v = 2 * ((float)i0 - t) - 1;
	return i0;
}

/* ---- spread ------------------------------------------------------------------------- */

static __device__ __forceinline__ uint32_t fixed(float x) { return __float2uint_rn(x); }

static __device__ __forceinline__ void add_pair(uint64_t *pair, float low, float high)
{
	uint64_t both = (uint64_t)fixed(high) << 32 | fixed(low);
	if (both)
		atomicAdd((unsigned long long *)pair, (unsigned long long)both);
}

/* Adds a point's window to the grid: threads 0 to 3 the pairs of one row, 4 to 7 those of the next. All threads of a
 * warp call it; those of points that are not active add nothing. */
template <int D>
static __device__ __forceinline__ void
spread_point(const struct tap *c, int lane, const struct field *f, const float *place, const float *corner, bool active)
{
	const int pairs = f->pairs, pair = lane % 4, lower = lane / 4;
	float weight[D], v;
	int first[D];
#pragma unroll
	for (int k = 0; k < D; k++) {
		first[k] = locate(place[k], corner[k], f, &v);
		weight[k] = value(c, v);
	}
	int tap = 2 * pair - (first[0] & 1);  /* -1, 6 and 7 are taps of no weight */
	float low = f->weight_scale * of_lane(weight[0], tap & 7), high = f->weight_scale * of_lane(weight[0], tap + 1);
	uint64_t *grid = f->charges + (first[0] >> 1) + pair;
	if (D == 1) {
		if (active && !lower)
			add_pair(grid, low, high);
	} else if (D == 2) {
		grid += (size_t)(first[1] + lower) * pairs;
#pragma unroll
		for (int s = 0; s < TAPS; s += 2, grid += 2 * pairs) {
			float w = of_lane(weight[D - 1], s + lower);
			if (active)
				add_pair(grid, w * low, w * high);
		}
	} else {
		grid += ((size_t)first[D - 1] * f->side + first[D - 2] + lower) * pairs;
		for (int z = 0; z < TAPS; z++, grid += (size_t)f->side * pairs) {
			float plane = of_lane(weight[D - 1], z);
#pragma unroll
			for (int s = 0; s < TAPS; s += 2) {
				float w = plane * of_lane(weight[D - 2], s + lower);
				if (active)
					add_pair(grid + s * pairs, w * low, w * high);
			}
		}
	}
}

template <int D>
static __global__ void __launch_bounds__(BLOCK)
spread(uint32_t n, const float *__restrict__ y, struct field f, int level, const struct sl_orders *__restrict__ o,
       const struct sl_report *r)
{
	int lane = (int)threadIdx.x % LANES;
	if (r->state != SL_GO)
		return;
	struct tap c;
	tap_init(&c, lane, false);
	field_orders(&f, &o->level[level]);
	uint32_t step = gridDim.x * (BLOCK / LANES), group = threadIdx.x / LANES;
	const float corner[3] = {r->corner[0], r->corner[1], r->corner[2]};
	for (uint32_t base = blockIdx.x * (BLOCK / LANES) + group; base - group < n; base += step) {
		float place[3];
		load_point<D>(y, base < n ? base : n - 1, place);
		spread_point<D>(&c, lane, &f, place, corner, base < n);
	}
}

/* Pair p of a row: nodes 2p and 2p + 1, as floats. */
static __global__ void __launch_bounds__(BLOCK)
convert(uint64_t *__restrict__ charges, bool clear, float *__restrict__ input, int side, int length, int pairs,
	uint32_t rows, bool cube, const struct sl_level *__restrict__ o, const struct sl_report *r)
{
	uint64_t at = (uint64_t)blockIdx.x * BLOCK + threadIdx.x;
	uint32_t row = (uint32_t)(at / (uint32_t)pairs), pair = (uint32_t)(at % (uint32_t)pairs);
	if (r->state != SL_GO || row >= rows)
		return;
	uint64_t both = charges[at];
	float scale = o->weight_inverse;
	uint32_t x = 2 * pair;
	size_t plane_row = cube ? (size_t)(row / side) * length + row % side : row;
	float *out = input + plane_row * length + x;
	if (clear)
		charges[at] = 0;
	if (x < (uint32_t)side)
		out[0] = scale * (float)(uint32_t)both;
	if (x + 1 < (uint32_t)side)
		out[1] = scale * (float)(uint32_t)(both >> 32);
}

#define FEED_BLOCK 128
#define FEED_ROWS 4  /* that a thread does at a time */

/* The near grid's rows spread over the coarse grid along x: half[row][coarse]. A block takes `count` rows, a multiple
 * of FEED_ROWS, into shared memory. */
static __global__ void __launch_bounds__(FEED_BLOCK)
feed_rows(const uint32_t *__restrict__ charges, float *__restrict__ half, int side, int words, int rows, int count,
	  int coarse, const struct sl_level *__restrict__ near, const struct sl_level *__restrict__ far,
	  const struct sl_report *r)
{
	extern __shared__ float lines[];
	const int pitch = side + side / 8 + 1, first_row = (int)blockIdx.x * count;
	if (r->state != SL_GO)
		return;
	for (int row = 0; row < count; row++) {
		const uint32_t *from = charges + (size_t)(first_row + row) * words;
		for (int x = (int)threadIdx.x; x < side; x += FEED_BLOCK)  /* padded: threads read about 8 apart */
			lines[row * pitch + x + x / 8] = first_row + row < rows ? (float)from[x] : 0;
	}
	__syncthreads();
	const float scale = near->weight_inverse, *weights = far->gather_weight;
	int taps = far->gather_taps;
	for (int at = (int)threadIdx.x; at < coarse * (count / FEED_ROWS); at += FEED_BLOCK) {
		int x = at % coarse, row = at / coarse * FEED_ROWS, first = far->gather_first[x];
		float sum[FEED_ROWS] = {0};
#pragma unroll 4
		for (int k = 0; k < taps; k++) {
			const float *line = lines + row * pitch + first + k + (first + k) / 8;
			float w = weights[k * coarse + x];
#pragma unroll
			for (int i = 0; i < FEED_ROWS; i++)
				sum[i] = fmaf(w, line[i * pitch], sum[i]);
		}
#pragma unroll
		for (int i = 0; i < FEED_ROWS; i++)
			if (first_row + row + i < rows)
				half[(size_t)(first_row + row + i) * coarse + x] = scale * sum[i];
	}
}

/* Where sl__restrict() puts what: node i of the axis, number j of the `inner` ones of outer o. */
struct target {
	float *out;
	int row;
	size_t outer_step, axis_step, row_step;
};

/* in[outer][side][inner] to the coarse grid along the middle axis; a thread each number. */
static __global__ void __launch_bounds__(BLOCK)
restrict_axis(const float *__restrict__ in, int outers, int side, int inner, int coarse, struct target to,
	      const struct sl_level *__restrict__ o, const struct sl_report *r)
{
	uint64_t at = (uint64_t)blockIdx.x * BLOCK + threadIdx.x;
	uint32_t j = (uint32_t)(at % (uint32_t)inner), i = (uint32_t)(at / (uint32_t)inner % (uint32_t)coarse);
	uint32_t outer = (uint32_t)(at / (uint32_t)inner / (uint32_t)coarse);
	if (r->state != SL_GO || outer >= (uint32_t)outers)
		return;
	const float *from = in + ((size_t)outer * side + o->gather_first[i]) * inner + j, *weight = o->gather_weight + i;
	int taps = o->gather_taps;
	float sum = 0;
#pragma unroll 8
	for (int k = 0; k < taps; k++)
		sum = fmaf(weight[k * coarse], from[(size_t)k * inner], sum);
	to.out[outer * to.outer_step + i * to.axis_step + j / (uint32_t)to.row * to.row_step + j % (uint32_t)to.row] = sum;
}

static uint32_t rows_of(const struct sl_grid_memory *g)
{
	uint32_t side = (uint32_t)g->side;
	return g->dims == 1 ? 1 : g->dims == 2 ? side : side * side;
}

static uint32_t blocks_of_points(uint32_t n)
{
	uint32_t blocks = blocks_for((uint64_t)n * LANES, BLOCK), rounds = (blocks + BLOCKS_MAX / 2) / BLOCKS_MAX;
	return rounds > 1 ? blocks_for(blocks, rounds) : blocks;  /* as many points for all */
}

cudaError_t sl__spread(const struct sl_particles *p, const struct sl_grid_memory *g, const struct sl_orders *o,
		       const struct sl_report *r, cudaStream_t stream)
{
	uint32_t blocks = blocks_of_points(p->n);
	struct field f = field_of(g);
	if (p->dims == 1)
		spread<1><<<blocks, BLOCK, 0, stream>>>(p->n, p->y, f, g->level, o, r);
	else if (p->dims == 2)
		spread<2><<<blocks, BLOCK, 0, stream>>>(p->n, p->y, f, g->level, o, r);
	else
		spread<3><<<blocks, BLOCK, 0, stream>>>(p->n, p->y, f, g->level, o, r);
	return cudaGetLastError();
}

cudaError_t sl__convert(const struct sl_grid_memory *g, const struct sl_orders *o, const struct sl_report *r,
			cudaStream_t stream)
{
	uint32_t rows = rows_of(g);
	convert<<<blocks_for((uint64_t)rows * (uint32_t)g->pairs, BLOCK), BLOCK, 0, stream>>>(
		g->charges, !g->coarse, g->input, g->side, g->length, g->pairs, rows, g->dims == 3, &o->level[g->level], r);
	return cudaGetLastError();
}

cudaError_t sl__feed(const struct sl_grid_memory *near, const struct sl_orders *o, const struct sl_report *r,
		     cudaStream_t stream)
{
	uint32_t rows = rows_of(near), count = near->dims == 3 ? 4 * FEED_ROWS : FEED_ROWS;
	size_t bytes = count * ((size_t)near->side + (size_t)near->side / 8 + 1) * sizeof(float);
	cudaError_t status = cudaSuccess;
	if (bytes > 48 << 10)  /* of the largest grids */
		status = cudaFuncSetAttribute((const void *)feed_rows, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes);
	feed_rows<<<blocks_for(rows, count), FEED_BLOCK, bytes, stream>>>(
		(const uint32_t *)near->charges, near->half, near->side, 2 * near->pairs, (int)rows, (int)count, near->coarse,
		&o->level[0], &o->level[1], r);
	return status == cudaSuccess ? cudaGetLastError() : status;
}

static __global__ void __launch_bounds__(BLOCK)
clear(uint64_t *charges, uint64_t count, const struct sl_report *r)
{
	if (r->state != SL_GO)
		return;
	for (uint64_t at = (uint64_t)blockIdx.x * BLOCK + threadIdx.x; at < count; at += (uint64_t)gridDim.x * BLOCK)
		charges[at] = 0;
}

cudaError_t sl__clear(const struct sl_grid_memory *g, const struct sl_report *r, cudaStream_t stream)
{
	uint64_t count = (uint64_t)rows_of(g) * (uint32_t)g->pairs;
	clear<<<blocks_for(count, 8 * BLOCK), BLOCK, 0, stream>>>(g->charges, count, r);
	return cudaGetLastError();
}

cudaError_t sl__restrict(const struct sl_grid_memory *near, const struct sl_grid_memory *far, const struct sl_orders *o,
			 const struct sl_report *r, cudaStream_t stream)
{
	int side = near->side, coarse = near->coarse, square = coarse * coarse;
	size_t length = (size_t)far->length;
	struct target middle = {near->half2, coarse, (size_t)square, (size_t)coarse, 0};
	struct target last = {far->input, coarse, 0, length * length, length};
	const struct sl_level *level = &o->level[1];
	restrict_axis<<<blocks_for((uint64_t)side * (uint32_t)square, BLOCK), BLOCK, 0, stream>>>(
		near->half, side, side, coarse, coarse, middle, level, r);
	restrict_axis<<<blocks_for((uint64_t)coarse * (uint32_t)square, BLOCK), BLOCK, 0, stream>>>(
		near->half2, 1, side, square, coarse, last, level, r);
	return cudaGetLastError();
}

/* ---- multiply ------------------------------------------------------------------------- */

template <int D>
static __global__ void __launch_bounds__(BLOCK)
multiply(float2 *__restrict__ spectrum, uint32_t length, uint64_t numbers, const struct sl_level *__restrict__ o, const struct sl_report *r, double *z, uint32_t *arrived, double *part)
{
	if (r->state != SL_GO)
		return;
	const float *kernel = o->spectrum, *tilt = o->tilt;
	uint32_t count = length / 2 + 1;
	double sum = 0;
	for (uint64_t at = (uint64_t)blockIdx.x * BLOCK + threadIdx.x; at < numbers; at += (uint64_t)gridDim.x * BLOCK) {
		uint32_t row = (uint32_t)(at / count), x = (uint32_t)(at % count), y = D == 3 ? row % length : row;
		y = y < count ? y : length - y;
		size_t mirrored = D == 1 ? 0 : y;
		float tilted = tilt ? tilt[x] * (D > 1 ? tilt[y] : 1) : 1;
		if (D == 3) {
			uint32_t z = row / length;
			z = z < count ? z : length - z;
			mirrored += (size_t)z * count;
			tilted *= tilt ? tilt[z] : 1;
		}
		float s = kernel[mirrored * count + x];
		float2 c = spectrum[at];
		float square = tilted * s * (c.x * c.x + c.y * c.y);
		sum += x == 0 || x == length / 2 ? square : 2 * square;
		spectrum[at] = make_float2(s * c.x, s * c.y);
	}
	sum = block_sum(sum);
	if (threadIdx.x == 0)
		part[blockIdx.x] = sum;
	if (last_block(arrived)) {
		sum = sum_parts(part, gridDim.x);
		if (threadIdx.x == 0)
			*z = o->constant + sum;
	}
}

cudaError_t sl__multiply(const struct sl_grid_memory *g, const struct sl_orders *o, struct sl_report *r, double *part,
			 cudaStream_t stream)
{
	uint64_t length = (uint64_t)g->length, rows = g->dims == 1 ? 1 : g->dims == 2 ? length : length * length;
	uint64_t numbers = rows * (length / 2 + 1);
	uint32_t blocks = blocks_for(numbers, 2 * BLOCK);
	const struct sl_level *level = &o->level[g->level];
	double *z = &r->level_z[g->level];
	uint32_t *arrived = &r->arrived[g->level];
	blocks = blocks < 1056 ? blocks : 1056;
	part += g->level * SL_LEVEL_PARTS;
#define LAUNCH(d) multiply<d><<<blocks, BLOCK, 0, stream>>>(g->spectrum, (uint32_t)length, numbers, level, r, z, \
							     arrived, part)
	if (g->dims == 1)
		LAUNCH(1);
	else if (g->dims == 2)
		LAUNCH(2);
	else
		LAUNCH(3);
#undef LAUNCH
	return cudaGetLastError();
}

/* ---- read back and step ------------------------------------------------------------------- */

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
box_close(struct box<D> b, float *parts, const struct sl_orders *o, const float *corner, struct sl_report *r, bool stepped)
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
	else if (corner && !(inside && extent >= o->shrink))
		r->state = SL_OUTGROWN;
}

/* The new place of one component. */
template <int KIND>
static __device__ __forceinline__ float
moved(const struct sl_orders *o, const float *correct, uint32_t n, float gradient, float mass, float y, float *velocity,
      float *gain)
{
	if (KIND == SL_STEP_ADAM)
		return adam_step(o->learning_rate, (float)n * gradient, correct, y, velocity, gain);
	return momentum_step(o->exaggeration, o->learning_rate, o->momentum, gradient, mass, y, velocity, gain);
}

/* GRIDS: 0 for all pairs. */
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
			correct[threadIdx.x] = adam_correction(r->iteration + 1, (int)threadIdx.x);
		__syncthreads();
	}
	int lane = (int)threadIdx.x % LANES;
	struct tap c;
	if (GRIDS)
		tap_init(&c, lane, true);
	const double z = fmax(r->level_z[0] + (GRIDS > 1 ? r->level_z[1] : 0), 1e-30);
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
		float own = force[0], next = place[0];
#pragma unroll
		for (int k = 1; k < D; k++) {
			own = lane == k ? force[k] : own;
			next = lane == k ? place[k] : next;
		}
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
#define LAUNCH(kind) step<D, kind, GRIDS><<<blocks, BLOCK, 0, stream>>>(*p, near, far, partial, splits, (float *)part, o, r)
	if (kind == SL_STEP_MOMENTUM)
		LAUNCH(SL_STEP_MOMENTUM);
	else if (kind == SL_STEP_ADAM)
		LAUNCH(SL_STEP_ADAM);
	else
		LAUNCH(SL_STEP_NONE);
#undef LAUNCH
}

cudaError_t sl__step(const struct sl_particles *p, const struct sl_grid_memory *grids, int levels, const float *partial,
		     int splits, enum sl_step_kind kind, double *part, const struct sl_orders *o, struct sl_report *r,
		     cudaStream_t stream)
{
	int count = splits > 0 ? 0 : levels;
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

/* ---- spectra ------------------------------------------------------------------------------- */

static __global__ void mirror(float *__restrict__ out, const float *__restrict__ octant, int dims, int side,
			      uint64_t numbers)
{
	uint32_t length = 2 * (uint32_t)side, count = (uint32_t)side + 1;
	for (uint64_t at = (uint64_t)blockIdx.x * BLOCK + threadIdx.x; at < numbers; at += (uint64_t)gridDim.x * BLOCK) {
		uint64_t rest = at, from = 0, step = 1;
		for (int k = 0; k < dims; k++, step *= count) {
			uint32_t x = (uint32_t)(rest % length);
			rest /= length;
			from += step * (x < count ? x : length - x);
		}
		out[at] = octant[from];
	}
}

static __global__ void real_part(const float2 *__restrict__ spectrum, float *__restrict__ octant, int dims, int side,
				 uint64_t numbers)
{
	uint32_t length = 2 * (uint32_t)side, count = (uint32_t)side + 1;
	for (uint64_t at = (uint64_t)blockIdx.x * BLOCK + threadIdx.x; at < numbers; at += (uint64_t)gridDim.x * BLOCK) {
		uint64_t x = at % count, y = at / count % count, z = at / count / count;
		octant[at] = spectrum[(z * length + y) * count + x].x;
	}
}

cudaError_t sl__mirror(const struct sl_grid_memory *g, const float *octant, cudaStream_t stream)
{
	uint64_t numbers = 1;
	for (int k = 0; k < g->dims; k++)
		numbers *= 2 * (uint64_t)g->side;
	mirror<<<blocks_for(numbers, 4 * BLOCK), BLOCK, 0, stream>>>(g->input, octant, g->dims, g->side, numbers);
	return cudaGetLastError();
}

cudaError_t sl__real_part(const struct sl_grid_memory *g, float *octant, cudaStream_t stream)
{
	uint64_t numbers = 1;
	for (int k = 0; k < g->dims; k++)
		numbers *= (uint64_t)g->side + 1;
	real_part<<<blocks_for(numbers, 4 * BLOCK), BLOCK, 0, stream>>>(g->spectrum, octant, g->dims, g->side, numbers);
	return cudaGetLastError();
}
