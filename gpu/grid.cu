/* Spreading, the product with the kernel's spectrum, reading back and the step.
 *
 * Spreading adds up integers, whose sum is the same in any order: weights in fixed point, 32 bits, two neighbours
 * along x in one 64-bit atomic. A point that starts at an odd node uses the odd copy of the grid, so that each row
 * of its window is three aligned pairs. weight_scale * n stays below 2^32: no half can overflow.
 *
 * A point is shared by two threads in 2-D and 3-D, each with half of the taps of the slowest dimension. */
#include "gpu/device.cuh"

#define TAPS 6
#define BLOCK 256

static __constant__ struct sl_window window;

cudaError_t sl__upload_window(const struct sl_window *w)
{
	return w->width == TAPS ? cudaMemcpyToSymbol(window, w, sizeof *w) : cudaErrorInvalidValue;
}

static __device__ __forceinline__ void values(float v, float *out)
{
#pragma unroll
	for (int t = 0; t < TAPS; t++) {
		float x = window.value[SL_WINDOW_DEGREE][t];
#pragma unroll
		for (int k = SL_WINDOW_DEGREE - 1; k >= 0; k--)
			x = fmaf(x, v, window.value[k][t]);
		out[t] = x;
	}
}

static __device__ __forceinline__ void slopes(float v, float *out)
{
#pragma unroll
	for (int t = 0; t < TAPS; t++) {
		float x = window.slope[SL_WINDOW_DEGREE - 1][t];
#pragma unroll
		for (int k = SL_WINDOW_DEGREE - 2; k >= 0; k--)
			x = fmaf(x, v, window.slope[k][t]);
		out[t] = x;
	}
}

/* First node that the point touches, and v for the polynomials. Clamped: no coordinate, not even one
 * that is no number, leads outside the grid. */
static __device__ __forceinline__ int locate(float y, float low, const struct sl_orders *o, float *v)
{
	float t = fminf(fmaxf((y - low) * o->inverse_h, 0.f), o->clamp);
	int i0 = (int)ceilf(t);
	*v = 2 * ((float)i0 - t) - 1;
	return i0;
}

/* ---- spread ------------------------------------------------------------------------- */

static __device__ __forceinline__ uint32_t fixed(float x) { return __float2uint_rn(x); }

static __device__ __forceinline__ void add_row(uint64_t *pair, const float *along_x, float weight)
{
#pragma unroll
	for (int k = 0; k < TAPS / 2; k++) {
		uint64_t both = (uint64_t)fixed(weight * along_x[2 * k + 1]) << 32 | fixed(weight * along_x[2 * k]);
		if (both)
			atomicAdd((unsigned long long *)(pair + k), (unsigned long long)both);
	}
}

template <int D>
static __global__ void __launch_bounds__(BLOCK)
spread(uint32_t n, const float *__restrict__ y, uint64_t *even, uint64_t *odd, int side, int pairs,
       const struct sl_orders *__restrict__ o, const struct sl_report *r)
{
	const int L = D > 1 ? 2 : 1;
	uint32_t at = blockIdx.x * BLOCK + threadIdx.x, i = at / L;
	bool upper = at % L;
	if (r->state != SL_GO || i >= n)
		return;
	float place[3], v, weight[D][TAPS];
	int first[D];
	load_point<D>(y, i, place);
#pragma unroll
	for (int k = 0; k < D; k++) {
		first[k] = locate(place[k], r->low[k], o, &v);
		values(v, weight[k]);
	}
	uint64_t *grid = (first[0] & 1 ? odd : even) + (first[0] >> 1);
	float scale = o->weight_scale;
	if (D == 1) {
		add_row(grid, weight[0], scale);
	} else if (D == 2) {
		grid += (size_t)(first[1] + (upper ? TAPS / 2 : 0)) * pairs;
#pragma unroll
		for (int s = 0; s < TAPS / 2; s++, grid += pairs)
			add_row(grid, weight[0], scale * (upper ? weight[D - 1][s + TAPS / 2] : weight[D - 1][s]));
	} else {
		grid += ((size_t)(first[D - 1] + (upper ? TAPS / 2 : 0)) * side + first[D - 2]) * pairs;
#pragma unroll
		for (int s = 0; s < TAPS / 2; s++, grid += (size_t)side * pairs) {
			float plane = scale * (upper ? weight[D - 1][s + TAPS / 2] : weight[D - 1][s]);
#pragma unroll
			for (int t = 0; t < TAPS; t++)
				add_row(grid + t * pairs, weight[0], plane * weight[D - 2][t]);
		}
	}
}

/* Pair p of a row: nodes 2p and 2p + 1, as floats. */
static __global__ void __launch_bounds__(BLOCK)
convert(const uint64_t *__restrict__ even, const uint64_t *__restrict__ odd, float *__restrict__ charges, int side,
	int pairs, uint32_t rows, bool cube, const struct sl_orders *__restrict__ o, const struct sl_report *r)
{
	uint64_t at = (uint64_t)blockIdx.x * BLOCK + threadIdx.x;
	uint32_t row = (uint32_t)(at / (uint32_t)pairs), pair = (uint32_t)(at % (uint32_t)pairs);
	if (r->state != SL_GO || row >= rows)
		return;
	uint64_t here = even[at], shifted = odd[at], before = pair ? odd[at - 1] : 0;
	float scale = o->weight_inverse;
	uint32_t x = 2 * pair;
	size_t length = 2 * (size_t)side;
	float *out = charges + (cube ? (row / side * length + row % side) * length : row * length) + x;
	if (x < (uint32_t)side)
		out[0] = scale * (float)((uint32_t)here + (uint32_t)(before >> 32));
	if (x + 1 < (uint32_t)side)
		out[1] = scale * (float)((uint32_t)(here >> 32) + (uint32_t)shifted);
}

static uint32_t rows_of(const struct sl_grid_memory *g)
{
	uint32_t side = (uint32_t)g->side;
	return g->dims == 1 ? 1 : g->dims == 2 ? side : side * side;
}

cudaError_t sl__spread(const struct sl_points *p, const struct sl_grid_memory *g, const struct sl_orders *o,
		       const struct sl_report *r, cudaStream_t stream)
{
	uint32_t blocks = blocks_for((uint64_t)p->n * (p->dims > 1 ? 2 : 1), BLOCK);
	if (p->dims == 1)
		spread<1><<<blocks, BLOCK, 0, stream>>>(p->n, p->y, g->even, g->odd, g->side, g->pairs, o, r);
	else if (p->dims == 2)
		spread<2><<<blocks, BLOCK, 0, stream>>>(p->n, p->y, g->even, g->odd, g->side, g->pairs, o, r);
	else
		spread<3><<<blocks, BLOCK, 0, stream>>>(p->n, p->y, g->even, g->odd, g->side, g->pairs, o, r);
	uint32_t rows = rows_of(g);
	convert<<<blocks_for((uint64_t)rows * (uint32_t)g->pairs, BLOCK), BLOCK, 0, stream>>>(
		g->even, g->odd, g->charges, g->side, g->pairs, rows, g->dims == 3, o, r);
	return cudaGetLastError();
}

/* ---- multiply ------------------------------------------------------------------------- */

template <int D>
static __global__ void __launch_bounds__(BLOCK)
multiply(float2 *__restrict__ spectrum, int side, uint64_t numbers, uint64_t *even, uint64_t *odd, uint64_t clear,
	 const struct sl_orders *__restrict__ o, struct sl_report *r, double *part)
{
	if (r->state != SL_GO)
		return;
	const float *kernel = o->spectrum;
	uint32_t count = (uint32_t)side + 1, length = 2 * (uint32_t)side;
	double sum = 0;
	for (uint64_t at = (uint64_t)blockIdx.x * BLOCK + threadIdx.x; at < numbers; at += (uint64_t)gridDim.x * BLOCK) {
		uint32_t row = (uint32_t)(at / count), x = (uint32_t)(at % count), y = D == 3 ? row % length : row;
		y = y < count ? y : length - y;
		size_t mirrored = D == 1 ? 0 : y;
		if (D == 3) {
			uint32_t z = row / length;
			mirrored += (size_t)(z < count ? z : length - z) * count;
		}
		float s = kernel[mirrored * count + x];
		float2 c = spectrum[at];
		float square = s * (c.x * c.x + c.y * c.y);
		sum += x == 0 || x == (uint32_t)side ? square : 2 * square;
		spectrum[at] = make_float2(s * c.x, s * c.y);
	}
	for (uint64_t at = (uint64_t)blockIdx.x * BLOCK + threadIdx.x; at < clear; at += (uint64_t)gridDim.x * BLOCK)
		even[at] = odd[at] = 0;
	sum = block_sum(sum);
	if (threadIdx.x == 0)
		part[blockIdx.x] = sum;
	if (last_block(&r->arrived[0])) {
		sum = sum_parts(part, gridDim.x);
		if (threadIdx.x == 0)
			r->z = fmax(o->constant + sum, 1e-30);
	}
}

cudaError_t sl__multiply(const struct sl_grid_memory *g, const struct sl_orders *o, struct sl_report *r, double *part,
			 cudaStream_t stream)
{
	uint64_t rows = g->dims == 1 ? 1 : g->dims == 2 ? 2 * (uint64_t)g->side : 4 * (uint64_t)g->side * (uint64_t)g->side;
	uint64_t numbers = rows * ((uint64_t)g->side + 1), clear = (uint64_t)rows_of(g) * (uint32_t)g->pairs;
	uint32_t blocks = blocks_for(numbers, 2 * BLOCK);
	blocks = blocks < 1056 ? blocks : 1056;
	if (g->dims == 1)
		multiply<1><<<blocks, BLOCK, 0, stream>>>(g->spectrum, g->side, numbers, g->even, g->odd, clear, o, r, part);
	else if (g->dims == 2)
		multiply<2><<<blocks, BLOCK, 0, stream>>>(g->spectrum, g->side, numbers, g->even, g->odd, clear, o, r, part);
	else
		multiply<3><<<blocks, BLOCK, 0, stream>>>(g->spectrum, g->side, numbers, g->even, g->odd, clear, o, r, part);
	return cudaGetLastError();
}

/* ---- read back and step ------------------------------------------------------------------- */

/* Force of the grid at a point: both of its threads get all components. */
template <int D>
static __device__ __forceinline__ void
read_force(const float *__restrict__ potential, int side, const float *place, bool upper, const struct sl_orders *o,
	   const struct sl_report *r, float *force)
{
	float v, weight[D][TAPS], slope[D][TAPS];
	int first[D];
	size_t length = 2 * (size_t)side;
#pragma unroll
	for (int k = 0; k < D; k++) {
		first[k] = locate(place[k], r->low[k], o, &v);
		values(v, weight[k]);
		slopes(v, slope[k]);
	}
	float sum[3] = {0, 0, 0};
	if (D == 1) {
#pragma unroll
		for (int t = 0; t < TAPS; t++)
			sum[0] = fmaf(slope[0][t], potential[first[0] + t], sum[0]);
	} else if (D == 2) {
		const float *row = potential + (size_t)(first[1] + (upper ? TAPS / 2 : 0)) * length + first[0];
#pragma unroll
		for (int s = 0; s < TAPS / 2; s++, row += length) {
			float plain = 0, sloped = 0;
#pragma unroll
			for (int t = 0; t < TAPS; t++) {
				float x = row[t];
				plain = fmaf(weight[0][t], x, plain);
				sloped = fmaf(slope[0][t], x, sloped);
			}
			sum[0] = fmaf(upper ? weight[D - 1][s + TAPS / 2] : weight[D - 1][s], sloped, sum[0]);
			sum[1] = fmaf(upper ? slope[D - 1][s + TAPS / 2] : slope[D - 1][s], plain, sum[1]);
		}
	} else {
		const float *plane = potential + ((size_t)(first[D - 1] + (upper ? TAPS / 2 : 0)) * length + first[D - 2]) *
						 length + first[0];
#pragma unroll
		for (int s = 0; s < TAPS / 2; s++, plane += length * length) {
			float plain = 0, along_x = 0, along_y = 0;
#pragma unroll
			for (int u = 0; u < TAPS; u++) {
				float a = 0, b = 0;
#pragma unroll
				for (int t = 0; t < TAPS; t++) {
					float x = plane[u * length + t];
					a = fmaf(weight[0][t], x, a);
					b = fmaf(slope[0][t], x, b);
				}
				plain = fmaf(weight[D - 2][u], a, plain);
				along_x = fmaf(weight[D - 2][u], b, along_x);
				along_y = fmaf(slope[D - 2][u], a, along_y);
			}
			float w = upper ? weight[D - 1][s + TAPS / 2] : weight[D - 1][s];
			sum[0] = fmaf(w, along_x, sum[0]);
			sum[1] = fmaf(w, along_y, sum[1]);
			sum[2] = fmaf(upper ? slope[D - 1][s + TAPS / 2] : slope[D - 1][s], plain, sum[2]);
		}
	}
#pragma unroll
	for (int k = 0; k < D; k++)
		force[k] = o->force_scale * (D > 1 ? sum[k] + __shfl_xor_sync(~0u, sum[k], 1) : sum[k]);
}

/* Order of floats as that of unsigned integers. */
static __device__ __forceinline__ uint32_t ordered(float x)
{
	uint32_t bits = __float_as_uint(x);
	return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}

static __device__ __forceinline__ float unordered(uint32_t x)
{
	return __uint_as_float(x & 0x80000000u ? x & 0x7fffffffu : ~x);
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

/* Whole blocks. Into the report's accumulators; the last block closes the iteration. judge: against the grid. */
template <int D>
static __device__ __forceinline__ void
box_close(struct box<D> b, const struct sl_orders *o, struct sl_report *r, bool judge, bool stepped)
{
	__shared__ float low[32][D], high[32][D];
#pragma unroll
	for (int k = 0; k < D; k++)
		for (int step = 16; step; step >>= 1) {
			b.low[k] = fminf(b.low[k], __shfl_xor_sync(~0u, b.low[k], step));
			b.high[k] = fmaxf(b.high[k], __shfl_xor_sync(~0u, b.high[k], step));
		}
	if (threadIdx.x % 32 == 0)
		for (int k = 0; k < D; k++) {
			low[threadIdx.x / 32][k] = b.low[k];
			high[threadIdx.x / 32][k] = b.high[k];
		}
	bool bad = __syncthreads_or(b.bad);
	if (threadIdx.x < D) {
		int k = (int)threadIdx.x;
		float least = low[0][k], most = high[0][k];
		for (uint32_t w = 1; w < blockDim.x / 32; w++) {
			least = fminf(least, low[w][k]);
			most = fmaxf(most, high[w][k]);
		}
		atomicMin(&r->next_low[k], ordered(least));
		atomicMax(&r->next_high[k], ordered(most));
		if (k == 0 && bad)
			atomicOr(&r->bad, 1u);
	}
	if (!last_block(&r->arrived[1]) || threadIdx.x != 0)
		return;
	float extent = 0;
	for (int k = 0; k < D; k++) {
		r->low[k] = unordered(atomicExch(&r->next_low[k], ~0u));
		r->high[k] = unordered(atomicExch(&r->next_high[k], 0u));
		extent = fmaxf(extent, r->high[k] - r->low[k]);
	}
	r->finite = !atomicExch(&r->bad, 0u);
	if (stepped) {
		r->done++;
		r->iteration++;
	}
	if (!r->finite)
		r->state = SL_DIVERGED;
	else if (judge && !(extent <= o->reach && extent >= o->shrink))
		r->state = SL_OUTGROWN;
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

/* Momentum and gains: Jacobs (1988), as in van der Maaten and Hinton (2008). Returns the new place. */
static __device__ __forceinline__ float
step_momentum(const struct sl_orders *o, float gradient, float mass, float y, float *velocity, float *gain)
{
	float limit = SL_RATE_LIMIT / fmaxf(o->exaggeration, 1e-3f);
	float rate = o->learning_rate * mass < limit ? o->learning_rate : limit / mass;
	float v = *velocity, g = *gain;
	g = (gradient > 0) != (v > 0) ? g + 0.2f : g * 0.8f;
	g = g < 0.01f ? 0.01f : g;
	v = o->momentum * v - rate * g * gradient;
	*gain = g;
	*velocity = v;
	return y + v;
}

/* Adam (Kingma and Ba, 2015) on n times the gradient / 4, whose size does not depend on n. */
static __device__ __forceinline__ float
step_adam(const struct sl_orders *o, float gradient, const float *correct, float y, float *mean, float *square)
{
	float m = 0.9f * *mean + 0.1f * gradient, s = 0.999f * *square + 0.001f * gradient * gradient;
	*mean = m;
	*square = s;
	return y - o->learning_rate * (m * correct[0]) / (sqrtf(s * correct[1]) + 1e-8f);
}

template <int D, int KIND, bool EXACT>
static __global__ void __launch_bounds__(BLOCK)
step(struct sl_points p, const float *__restrict__ potential, int side, const float *__restrict__ partial, int splits,
     const struct sl_orders *__restrict__ o, struct sl_report *r)
{
	const int L = D > 1 ? 2 : 1, S = padded<D>::stride;
	__shared__ float correct[2];
	if (r->state != SL_GO)
		return;
	if (KIND == SL_STEP_ADAM) {
		if (threadIdx.x < 2)
			correct[threadIdx.x] = (float)(1 / (1 - pow(threadIdx.x ? 0.999 : 0.9, (double)r->iteration + 1)));
		__syncthreads();
	}
	uint32_t at = blockIdx.x * BLOCK + threadIdx.x, i = at / L < p.n ? at / L : p.n - 1;
	bool upper = at % L, mine = at / L < p.n;
	float place[3], force[3] = {0, 0, 0};
	load_point<D>(p.y, i, place);
	if (EXACT) {
		for (int s = 0; s < splits; s++) {
			float part[3];
			load_point<D>(partial + (size_t)s * p.n * S, i, part);
#pragma unroll
			for (int k = 0; k < D; k++)
				force[k] += part[k];
		}
	} else {
		read_force<D>(potential, side, place, upper, o, r, force);
	}
	float inverse_z = KIND == SL_STEP_NONE ? 0 : (float)(1 / r->z);
	struct box<D> b = box_empty<D>();
#pragma unroll
	for (int k = 0; k < D; k++) {
		if (!mine || (D == 2 ? upper != (k == 1) : upper))  /* 2-D: one component each */
			continue;
		size_t c = (size_t)i * S + k;
		if (KIND == SL_STEP_NONE) {
			p.repulsion[c] = force[k];
			continue;
		}
		float gradient = o->exaggeration * p.attraction[c] - inverse_z * force[k], next;
		if (KIND == SL_STEP_ADAM)
			next = step_adam(o, (float)p.n * gradient, correct, place[k], p.velocity + c, p.gain + c);
		else
			next = step_momentum(o, gradient, p.mass[i], place[k], p.velocity + c, p.gain + c);
		p.y[c] = next;
		box_add<D>(&b, k, next);
	}
	if (KIND != SL_STEP_NONE)
		box_close<D>(b, o, r, !EXACT, true);
}

template <int D>
static __global__ void __launch_bounds__(BLOCK) bounds(uint32_t n, const float *__restrict__ y, struct sl_report *r)
{
	struct box<D> b = box_empty<D>();
	for (uint32_t i = blockIdx.x * BLOCK + threadIdx.x; i < n; i += gridDim.x * BLOCK) {
		float place[3];
		load_point<D>(y, i, place);
#pragma unroll
		for (int k = 0; k < D; k++)
			box_add<D>(&b, k, place[k]);
	}
	box_close<D>(b, NULL, r, false, false);
}

template <int D>
static void launch_step(const struct sl_points *p, const struct sl_grid_memory *g, const float *partial, int splits,
			enum sl_step_kind kind, const struct sl_orders *o, struct sl_report *r, cudaStream_t stream)
{
	uint32_t blocks = blocks_for((uint64_t)p->n * (D > 1 ? 2 : 1), BLOCK);
	const float *potential = g ? g->potential : NULL;
	int side = g ? g->side : 0;
#define LAUNCH(kind, exact) step<D, kind, exact><<<blocks, BLOCK, 0, stream>>>(*p, potential, side, partial, splits, o, r)
	if (splits > 0) {
		if (kind == SL_STEP_MOMENTUM)
			LAUNCH(SL_STEP_MOMENTUM, true);
		else if (kind == SL_STEP_ADAM)
			LAUNCH(SL_STEP_ADAM, true);
		else
			LAUNCH(SL_STEP_NONE, true);
	} else {
		if (kind == SL_STEP_MOMENTUM)
			LAUNCH(SL_STEP_MOMENTUM, false);
		else if (kind == SL_STEP_ADAM)
			LAUNCH(SL_STEP_ADAM, false);
		else
			LAUNCH(SL_STEP_NONE, false);
	}
#undef LAUNCH
}

cudaError_t sl__step(const struct sl_points *p, const struct sl_grid_memory *g, const float *partial, int splits,
		     enum sl_step_kind kind, const struct sl_orders *o, struct sl_report *r, cudaStream_t stream)
{
	if (p->dims == 1)
		launch_step<1>(p, g, partial, splits, kind, o, r, stream);
	else if (p->dims == 2)
		launch_step<2>(p, g, partial, splits, kind, o, r, stream);
	else
		launch_step<3>(p, g, partial, splits, kind, o, r, stream);
	return cudaGetLastError();
}

cudaError_t sl__bounds(const struct sl_points *p, struct sl_report *r, cudaStream_t stream)
{
	uint32_t blocks = blocks_for(p->n, BLOCK);
	blocks = blocks < 264 ? blocks : 264;
	if (p->dims == 1)
		bounds<1><<<blocks, BLOCK, 0, stream>>>(p->n, p->y, r);
	else if (p->dims == 2)
		bounds<2><<<blocks, BLOCK, 0, stream>>>(p->n, p->y, r);
	else
		bounds<3><<<blocks, BLOCK, 0, stream>>>(p->n, p->y, r);
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

static __global__ void mirror(float *__restrict__ out, const float *__restrict__ octant, int dims, int side, uint64_t numbers)
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
	mirror<<<blocks_for(numbers, 4 * BLOCK), BLOCK, 0, stream>>>(g->charges, octant, g->dims, g->side, numbers);
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
