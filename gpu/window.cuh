/* window.cuh -- eight threads at a point: its window's weights, where it lies in a grid, and spreading it there.
 *
 * Thread t of the eight has tap t of each dimension (the last two have none): the window's rows are then read and added
 * to as wholes, which costs one memory transaction a row where a thread a point costs six.
 *
 * Spreading adds up integers, whose sum is the same in any order: weights in fixed point, 32 bits, two neighbours
 * along x in one 64-bit atomic. weight_scale * n stays below 2^32: no half can overflow into the other. A row of the
 * window lies in four aligned pairs, so the eight add two rows at a time. */
#ifndef SL_GPU_WINDOW_CUH
#define SL_GPU_WINDOW_CUH

#include "gpu/device.cuh"

#define TAPS 6
#define LANES 8
#define BLOCK 256
#define BLOCKS_MAX 1056  /* of kernels over points, about: 730 and 2,188 were slower */

static __device__ struct sl_window window;  /* each file's own */

static inline cudaError_t window_upload(const struct sl_window *w)
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

static inline struct field field_of(const struct sl_grid_memory *g)
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

static inline uint32_t blocks_of_points(uint32_t n)
{
	uint32_t blocks = blocks_for((uint64_t)n * LANES, BLOCK), rounds = (blocks + BLOCKS_MAX / 2) / BLOCKS_MAX;
	return rounds > 1 ? blocks_for(blocks, rounds) : blocks;  /* as many points for all */
}

#endif
