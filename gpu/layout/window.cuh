/* window.cuh -- the window that joins a point to the nodes of a grid: its weights, its place, and spreading a point.
 *
 * A window is 4 nodes wide and has four threads per point, or 6 nodes wide with eight threads. Thread t has tap t of
 * each dimension (of eight threads, the last two have none). So the threads access a row of the window together, in one
 * memory transaction; one thread per point would need a transaction for each node.
 *
 * Spreading adds integers, whose sum does not depend on the order: weights are 32-bit fixed-point numbers, and one
 * 64-bit atomic addition takes two neighbours along x. weight_scale * n is below 2^32, so the lower half cannot
 * overflow into the upper one. A row of the window lies in at most four aligned pairs. */
#ifndef SL_GPU_WINDOW_CUH
#define SL_GPU_WINDOW_CUH

#include "gpu/device/launch.cuh"
#include "gpu/layout/layout.h"
#include "gpu/state/point.cuh"

#define BLOCK 256
#define BLOCKS_MAX 1056  /* blocks of kernels over points; 730 and 2,188 were slower */

/* The windows by width: threads that share a point, degree. */
template <int W> struct shape;
template <> struct shape<4> {
	static const int LANES = 4, DEGREE = 5, INDEX = 0;
};
template <> struct shape<6> {
	static const int LANES = 8, DEGREE = 9, INDEX = 1;
};

static __device__ struct sl_window window[2];  /* every .cu file has its own copy */

/* w[0]: narrow */
static inline cudaError_t window_upload(const struct sl_window *w)
{
	bool right = w[0].width == 4 && w[0].degree <= shape<4>::DEGREE && w[1].width == 6 &&
		     w[1].degree <= shape<6>::DEGREE;
	return right ? cudaMemcpyToSymbol(window, w, sizeof window) : cudaErrorInvalidValue;
}

/* Coefficients of one tap. */
template <int W> struct tap {
	float value[shape<W>::DEGREE + 1], slope[shape<W>::DEGREE];
};

template <int W> static __device__ __forceinline__ void tap_init(struct tap<W> *c, int t, bool slopes)
{
	const struct sl_window *w = &window[shape<W>::INDEX];
#pragma unroll
	for (int k = 0; k <= shape<W>::DEGREE; k++)
		c->value[k] = w->value[k][t];
#pragma unroll
	for (int k = 0; k < shape<W>::DEGREE && slopes; k++)
		c->slope[k] = w->slope[k][t];
}

template <int W> static __device__ __forceinline__ float value(const struct tap<W> *c, float v)
{
	float x = c->value[shape<W>::DEGREE];
#pragma unroll
	for (int k = shape<W>::DEGREE - 1; k >= 0; k--)
		x = fmaf(x, v, c->value[k]);
	return x;
}

template <int W> static __device__ __forceinline__ float slope(const struct tap<W> *c, float v)
{
	float x = c->slope[shape<W>::DEGREE - 1];
#pragma unroll
	for (int k = shape<W>::DEGREE - 2; k >= 0; k--)
		x = fmaf(x, v, c->slope[k]);
	return x;
}

/* The value of x in thread t of the point. */
template <int W> static __device__ __forceinline__ float of_lane(float x, int t)
{
	return __shfl_sync(~0u, x, t, shape<W>::LANES);
}

/* A grid's arrays, and the numbers that turn a position into a place in it. */
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

/* The first node of the point's window, and the argument v of its polynomials. Clamped, so that even NaN gives a node
 * inside the grid. */
static __device__ __forceinline__ int locate(float y, float corner, const struct field *f, float *v)
{
	float t = fminf(fmaxf(fmaf(y - corner, f->inverse_h, f->offset), 0.f), f->clamp);
	int i0 = (int)ceilf(t);
	*v = 2 * ((float)i0 - t) - 1;
	return i0;
}

/* Rounds 0 <= x < 2^23 to the nearest integer: after adding 2^23, the mantissa's last bits hold the integer. */
static __device__ __forceinline__ uint32_t fixed(float x)
{
	return __float_as_uint(x + 8388608.f) - 0x4b000000u;
}

static __device__ __forceinline__ void add_pair(uint64_t *pair, float low, float high)
{
	uint64_t both = (uint64_t)fixed(high) << 32 | fixed(low);
	if (both)
		atomicAdd((unsigned long long *)pair, (unsigned long long)both);
}

/* A thread's share of a row along x: the weights of its pair of nodes; 0 for a node outside the window. */
template <int W>
static __device__ __forceinline__ void
pair_weights(float weight, int pair, int first, float scale, float *low, float *high)
{
	int t = 2 * pair - (first & 1);  /* -1 and W on are no taps */
	*low = scale * of_lane<W>(weight, t);
	*high = scale * of_lane<W>(weight, t + 1);
	if (W == shape<W>::LANES) {  /* else the other threads have no weight */
		*low = (unsigned)t < W ? *low : 0;
		*high = (unsigned)(t + 1) < W ? *high : 0;
	}
}

/* This thread's weight of the window at v, never negative. */
template <int W> static __device__ __forceinline__ float spread_weight(const struct tap<W> *c, float v)
{
	return fmaxf(value(c, v), 0);  /* rounding may make it negative */
}

/* Adds a point's window, times scale, to the grid. Four threads add a row, one pair each; eight threads add two rows at
 * a time. All threads of a warp call it. */
template <int D, int W>
static __device__ __forceinline__ void
add_window(const struct field *f, int lane, const int *first, const float *weight, float scale)
{
	const int pairs = f->pairs, pair = lane % 4, lower = lane / 4, ROWS = shape<W>::LANES / 4;
	float low, high;
	pair_weights<W>(weight[0], pair, first[0], scale, &low, &high);
	uint64_t *grid = f->charges + (first[0] >> 1) + pair;
	if (D == 1) {
		if (!lower)
			add_pair(grid, low, high);
	} else if (D == 2) {
		grid += (size_t)(first[D - 1] + lower) * pairs;
#pragma unroll
		for (int s = 0; s < W; s += ROWS, grid += ROWS * pairs) {
			float w = of_lane<W>(weight[D - 1], s + lower);
			add_pair(grid, w * low, w * high);
		}
	} else {
		grid += ((size_t)first[D - 1] * f->side + first[D / 2] + lower) * pairs;
		for (int z = 0; z < W; z++, grid += (size_t)f->side * pairs) {
			float plane = of_lane<W>(weight[D - 1], z);
#pragma unroll
			for (int s = 0; s < W; s += ROWS) {
				float w = plane * of_lane<W>(weight[D / 2], s + lower);
				add_pair(grid + s * pairs, w * low, w * high);
			}
		}
	}
}

/* Spreads a point; threads of a point that is not active add nothing. */
template <int D, int W>
static __device__ __forceinline__ void
spread_point(const struct tap<W> *c, int lane, const struct field *f, const float *place, const float *corner,
	     bool active)
{
	float weight[D], v;
	int first[D];
#pragma unroll
	for (int k = 0; k < D; k++) {
		first[k] = locate(place[k], corner[k], f, &v);
		weight[k] = spread_weight(c, v);
	}
	add_window<D, W>(f, lane, first, weight, active ? f->weight_scale : 0);
}

template <int W> static inline uint32_t blocks_of_points(uint32_t n)
{
	uint32_t blocks = blocks_for((uint64_t)n * shape<W>::LANES, BLOCK), rounds = (blocks + BLOCKS_MAX / 2) / BLOCKS_MAX;
	return rounds > 1 ? blocks_for(blocks, rounds) : blocks;  /* equal shares for all blocks */
}

#endif
