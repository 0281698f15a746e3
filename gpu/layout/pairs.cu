/* The near part of the kernel, summed over pairs closer than a cut-off (core/grid/grid.h, SL_GRID_SMOOTH), in 2-D and
 * 3-D.
 *
 * Points are sorted into cells that are as wide as the cut-off in y and z and a quarter as wide in x; x runs fastest.
 * So the points within reach of a point are nine ranges of the sorted points (in 2-D, three), and the distance in y and
 * z bounds the length of each range. (Smaller cells, in 25 rows, gave slightly fewer candidates and took twice the
 * time.) The order is the same each time: atomic additions count the points of a cell, and then each point moves to the
 * place given by its rank among the numbers of that cell. Four or eight threads share a point and go through each range
 * side by side. (Going through the nine ranges as if they were one kept all threads busy, but finding the next point
 * cost as much as it saved.)
 *
 * At the cut-off the near part and its slope are 0, so distances beyond it are clamped to it instead of compared, and
 * it does not matter if rounding loses a pair there. Points of a plane have z = 0.
 *
 * Times in this file: one NVIDIA H200, until 2026-11-25; commands: docs/notes/gpu-layout.md. */
#include "gpu/device/launch.cuh"
#include "gpu/layout/layout.h"
#include "gpu/state/point.cuh"

#define BLOCK 256
#define MANY 200000  /* with at least so many points, four threads share a point; with fewer, eight */
#define FINE SL_CUTOFF_FINE
#define ROWS(dims) ((dims) == 3 ? 9 : 3)
#define SLACK 1e-4f  /* of a cell: widens the ranges, so that rounding cannot lose a pair */
#define SCAN_EACH 16
#define SCAN (BLOCK * SCAN_EACH)  /* cells that a block sums */

/* ---- cells -------------------------------------------------------------------------------- */

template <int D> static __device__ __forceinline__ float4 load(const float *y, uint32_t i)
{
	if (D == 3)
		return reinterpret_cast<const float4 *>(y)[i];
	float2 v = reinterpret_cast<const float2 *>(y)[i];
	return make_float4(v.x, v.y, 0, 0);
}

template <int D> static __device__ __forceinline__ void store(float *out, uint32_t i, float4 v)
{
	if (D == 3)
		reinterpret_cast<float4 *>(out)[i] = v;
	else
		reinterpret_cast<float2 *>(out)[i] = make_float2(v.x, v.y);
}

/* A point's position in units of the cut-off, from the layout's lower corner. */
static __device__ __forceinline__ float3 spot_of(float4 y, const struct sl_orders *o, const struct sl_report *r)
{
	float inverse = o->cutoff.inverse;
	return make_float3((y.x - r->low[0]) * inverse, (y.y - r->low[1]) * inverse, (y.z - r->low[2]) * inverse);
}

/* A cell's coordinate, clamped to the grid: even NaN gives a valid cell. */
static __device__ __forceinline__ int clamped(float at, int side)
{
	return (int)fminf(fmaxf(at, 0.f), (float)(side - 1));
}

static __device__ __forceinline__ uint32_t number_of(int x, int y, int z, const struct sl_cutoff_cells *c)
{
	return ((uint32_t)z * c->side + y) * (FINE * c->side) + x;
}

static __device__ __forceinline__ uint32_t
cell_of(float4 y, const struct sl_cutoff_cells *c, const struct sl_orders *o, const struct sl_report *r)
{
	float3 at = spot_of(y, o, r);
	return number_of(clamped(FINE * at.x, FINE * c->side), clamped(at.y, c->side), clamped(at.z, c->side), c);
}

static __device__ __forceinline__ uint32_t start_of(const struct sl_cutoff_cells *c, uint32_t cell)
{
	return c->start[cell] + c->offset[cell / SCAN];
}

/* count_points counts the points of each cell, c.count, and numbers the points of each cell, c.rank [n]. One thread per
 * point. */
template <int D>
static __global__ void __launch_bounds__(BLOCK)
count_points(struct sl_cutoff_cells c, const float *__restrict__ y, const struct sl_orders *__restrict__ o,
	     const struct sl_report *r)
{
	uint32_t i = blockIdx.x * BLOCK + threadIdx.x;
	if (r->state != SL_GO)
		return;
	if (i < c.n)
		c.rank[i] = atomicAdd(&c.count[cell_of(load<D>(y, i), &c, o, r)], 1);
}

/* Returns the sum over the lower threads of the block. *all: the sum over all threads. */
static __device__ uint32_t sum_before(uint32_t x, uint32_t *all)
{
	__shared__ uint32_t warp[BLOCK / 32];
	uint32_t lane = threadIdx.x % 32, own = x;
	for (int step = 1; step < 32; step *= 2) {
		uint32_t below = __shfl_up_sync(~0u, x, step);
		x += (int)lane >= step ? below : 0;
	}
	if (lane == 31)
		warp[threadIdx.x / 32] = x;
	__syncthreads();
	uint32_t before = 0, sum = 0;
	for (uint32_t w = 0; w < BLOCK / 32; w++) {
		before += w < threadIdx.x / 32 ? warp[w] : 0;
		sum += warp[w];
	}
	__syncthreads();
	*all = sum;
	return before + x - own;
}

/* scan_cells turns counts into sums: start[i] is the number of points in the block's cells before cell i, offset[b] the
 * number in all blocks before b. Counts become zero. A block of 256 threads takes 4,096 cells; the last block to arrive
 * sums over blocks. */
static __global__ void __launch_bounds__(BLOCK)
scan_cells(struct sl_cutoff_cells c, uint32_t cells, struct sl_report *r)
{
	uint32_t number[SCAN_EACH], sum = 0, all;
	if (r->state != SL_GO)
		return;
	uint4 *at = (uint4 *)(c.count + (size_t)blockIdx.x * SCAN) + threadIdx.x * (SCAN_EACH / 4);
#pragma unroll
	for (int k = 0; k < SCAN_EACH; k += 4) {
		uint4 four = at[k / 4];
		number[k] = four.x;
		number[k + 1] = four.y;
		number[k + 2] = four.z;
		number[k + 3] = four.w;
		at[k / 4] = make_uint4(0, 0, 0, 0);
	}
#pragma unroll
	for (int k = 0; k < SCAN_EACH; k++) {
		uint32_t own = number[k];
		number[k] = sum;
		sum += own;
	}
	uint32_t before = sum_before(sum, &all);
	uint4 *to = (uint4 *)(c.start + (size_t)blockIdx.x * SCAN) + threadIdx.x * (SCAN_EACH / 4);
#pragma unroll
	for (int k = 0; k < SCAN_EACH; k += 4)
		to[k / 4] = make_uint4(before + number[k], before + number[k + 1], before + number[k + 2],
				       before + number[k + 3]);
	if (threadIdx.x == 0)
		c.offset[blockIdx.x] = all;
	if (!last_block(&r->arrived[SL_ARRIVED_CELLS]))
		return;
	uint32_t done = 0;
	for (uint32_t base = 0; base < gridDim.x; base += BLOCK) {
		uint32_t b = base + threadIdx.x, mine = b < gridDim.x ? __ldcg(c.offset + b) : 0;
		uint32_t first = sum_before(mine, &all);
		if (b < gridDim.x)
			c.offset[b] = done + first;
		done += all;
	}
}

/* scatter writes id [n], the points by cell, in an order that varies from run to run. One thread per point. */
template <int D>
static __global__ void __launch_bounds__(BLOCK)
scatter(struct sl_cutoff_cells c, const float *__restrict__ y, const struct sl_orders *__restrict__ o,
	const struct sl_report *r)
{
	uint32_t i = blockIdx.x * BLOCK + threadIdx.x;
	if (r->state == SL_GO && i < c.n)
		c.id[start_of(&c, cell_of(load<D>(y, i), &c, o, r)) + c.rank[i]] = i;
}

/* arrange writes sorted [n], the points by cell and within a cell by number. One thread per place. */
template <int D>
static __global__ void __launch_bounds__(BLOCK)
arrange(struct sl_cutoff_cells c, const float *__restrict__ y, const struct sl_orders *__restrict__ o,
	const struct sl_report *r)
{
	uint32_t slot = blockIdx.x * BLOCK + threadIdx.x;
	if (r->state != SL_GO || slot >= c.n)
		return;
	uint32_t i = c.id[slot];
	float4 place = load<D>(y, i);
	uint32_t cell = cell_of(place, &c, o, r), from = start_of(&c, cell), to = start_of(&c, cell + 1), at = from;
	for (uint32_t other = from; other < to; other++)
		at += c.id[other] < i;
	place.w = __uint_as_float(i);
	c.sorted[at] = place;
}

/* ---- pairs -------------------------------------------------------------------------------- */

/* The distance, in cells, from a position to the row of cells `by` further along one axis. */
static __device__ __forceinline__ float distance_to(float at, int cell, int by)
{
	float within = at - (float)cell;
	return by > 0 ? 1 - within : by < 0 ? within : 0;
}

/* The sorted points in row `row` of cells that can be within reach of a position, as (first, count). */
template <int D>
static __device__ __forceinline__ uint2 find_row(const struct sl_cutoff_cells *c, float3 place, int row)
{
	int by_y = row % 3 - 1, by_z = D == 3 ? row / 3 - 1 : 0;
	int own_y = clamped(place.y, c->side), own_z = clamped(place.z, c->side);
	int y = own_y + by_y, z = own_z + by_z;
	float off_y = distance_to(place.y, own_y, by_y), off_z = distance_to(place.z, own_z, by_z);
	float left = 1 + SLACK - off_y * off_y - off_z * off_z;
	if (row >= ROWS(D) || y < 0 || y >= c->side || z < 0 || z >= c->side || !(left > 0))
		return make_uint2(0, 0);
	float half = sqrtf(left) + SLACK;
	int first = clamped(FINE * (place.x - half), FINE * c->side);
	int last = clamped(FINE * (place.x + half), FINE * c->side);
	uint32_t from = start_of(c, number_of(first, y, z, c));
	return make_uint2(from, start_of(c, number_of(last, y, z, c) + 1) - from);
}

/* The sums of one thread. */
struct sums {
	float x, y, z, value;
};

static __device__ __forceinline__ void
add_pair(struct sums *to, float4 own, float4 their, float cutoff2, const struct sl_grid_cutoff *kernel)
{
	const int DEGREE = SL_CUTOFF_DEGREE;
	float x = own.x - their.x, y = own.y - their.y, z = own.z - their.z;
	float t = fminf(fmaf(x, x, fmaf(y, y, z * z)), cutoff2), q = reciprocal(1 + t);
	float value = kernel->value[DEGREE], slope = kernel->slope[DEGREE - 1];
#pragma unroll
	for (int k = DEGREE - 1; k >= 0; k--)
		value = fmaf(value, t, kernel->value[k]);
#pragma unroll
	for (int k = DEGREE - 2; k >= 0; k--)
		slope = fmaf(slope, t, kernel->slope[k]);
	to->value += q - value;
	slope = fmaf(q, q, slope);
	to->x = fmaf(slope, x, to->x);
	to->y = fmaf(slope, y, to->y);
	to->z = fmaf(slope, z, to->z);
}

/* Sums of value and candidates over the block, in a fixed order, to thread 0. */
static __device__ __forceinline__ double2 sum_block(float value, uint32_t candidates)
{
	__shared__ float values[BLOCK / 32];
	__shared__ uint32_t counts[BLOCK / 32];
	value = sum_lanes(value);
	candidates = __reduce_add_sync(~0u, candidates);
	if (threadIdx.x % 32 == 0) {
		values[threadIdx.x / 32] = value;
		counts[threadIdx.x / 32] = candidates;
	}
	__syncthreads();
	double2 sum = make_double2(0, 0);
	for (int w = 0; w < BLOCK / 32 && threadIdx.x == 0; w++) {
		sum.x += (double)values[w];
		sum.y += (double)counts[w];
	}
	return sum;
}

/* Writes the block's sums to `part`. Thread 0 of the last block to arrive gets the sums over all blocks, and true. */
static __device__ __forceinline__ bool sum_all(double2 *sum, double2 *part, struct sl_report *r)
{
	if (threadIdx.x == 0)
		part[blockIdx.x] = *sum;
	if (!last_block(&r->arrived[SL_ARRIVED_PAIRS]))
		return false;
	double2 mine = make_double2(0, 0);
	for (uint32_t i = threadIdx.x; i < gridDim.x; i += BLOCK) {
		double2 one = __ldcg(part + i);
		mine.x += one.x;
		mine.y += one.y;
	}
	sum->x = block_sum(mine.x);
	sum->y = block_sum(mine.y);
	return threadIdx.x == 0;
}

/* pairs writes out [n], the forces of the near part by node, its part of Z to level_z[1], and the number of candidates
 * it tried. LANES threads per point. With the sort, 59 us for MNIST with 165 candidates per point. Much of this is
 * latency: with 24 candidates per point it takes 26 us. */
template <int D, int LANES>
static __global__ void __launch_bounds__(BLOCK, 5)
pairs(struct sl_cutoff_cells c, float *__restrict__ out, const struct sl_orders *__restrict__ o, struct sl_report *r)
{
	const int SHARE = (ROWS(D) + LANES - 1) / LANES;
	if (r->state != SL_GO)
		return;
	uint32_t slot = blockIdx.x * (BLOCK / LANES) + threadIdx.x / LANES, tried = 0;
	int lane = (int)threadIdx.x % LANES;
	bool active = slot < c.n;
	const float4 own = c.sorted[active ? slot : c.n - 1];
	const float cutoff2 = o->cutoff.cutoff2;
	const struct sl_grid_cutoff kernel = o->cutoff.kernel;
	const float3 place = spot_of(own, o, r);
	struct sums sums = {0, 0, 0, 0};
	uint2 range[SHARE];
#pragma unroll
	for (int s = 0; s < SHARE; s++) {
		range[s] = active ? find_row<D>(&c, place, s * LANES + lane) : make_uint2(0, 0);
		tried += range[s].y;
	}
#pragma unroll
	for (int s = 0; s < SHARE; s++)
		for (int l = 0; l < LANES && s * LANES + l < ROWS(D); l++) {
			uint32_t at = __shfl_sync(~0u, range[s].x, l, LANES);
			uint32_t end = at + __shfl_sync(~0u, range[s].y, l, LANES);
#pragma unroll 2
			for (at += lane; at < end; at += LANES)
				add_pair(&sums, own, c.sorted[at], cutoff2, &kernel);
		}
	float x = sum_lanes(sums.x, LANES), y = sum_lanes(sums.y, LANES), z = sum_lanes(sums.z, LANES);
	if (active && lane == 0)
		store<D>(out, __float_as_uint(own.w), make_float4(x, y, z, 0));
	double2 all = sum_block(sums.value, tried);
	if (sum_all(&all, c.part, r)) {  /* without the pairs of a point with itself */
		r->level_z[1] = all.x - (double)c.n * (1 - (double)kernel.value[0]);
		r->candidates = (uint64_t)all.y;
	}
}

/* census counts the candidates that pairs() would try. One thread per point. */
template <int D>
static __global__ void __launch_bounds__(BLOCK)
census(struct sl_cutoff_cells c, const float *__restrict__ y, const struct sl_orders *__restrict__ o,
       struct sl_report *r)
{
	uint32_t i = blockIdx.x * BLOCK + threadIdx.x, tried = 0;
	if (r->state != SL_GO)
		return;
	const float3 place = spot_of(load<D>(y, i < c.n ? i : c.n - 1), o, r);
	for (int row = 0; row < ROWS(D); row++)
		tried += i < c.n ? find_row<D>(&c, place, row).y : 0;
	double2 all = sum_block(0, tried);
	if (sum_all(&all, c.part, r))
		r->candidates = (uint64_t)all.y;
}

/* ---- launchers ---------------------------------------------------------------------------------- */

uint64_t sl__cutoff_room(int dims, int side)
{
	uint64_t rows = (uint64_t)side * (dims == 3 ? (uint64_t)side : 1);
	return (FINE * (uint64_t)side * rows / SCAN + 1) * SCAN;
}

template <int D>
static void launch_count(const struct sl_cutoff_cells *c, const float *y, const struct sl_orders *o,
			 struct sl_report *r, cudaStream_t stream)
{
	uint32_t cells = (uint32_t)sl__cutoff_room(D, c->side);
	count_points<D><<<blocks_for(c->n, BLOCK), BLOCK, 0, stream>>>(*c, y, o, r);
	scan_cells<<<cells / SCAN, BLOCK, 0, stream>>>(*c, cells, r);
}

template <int D>
static void launch_sort(const struct sl_cutoff_cells *c, const float *y, const struct sl_orders *o, struct sl_report *r,
			cudaStream_t stream)
{
	uint32_t blocks = blocks_for(c->n, BLOCK);
	launch_count<D>(c, y, o, r, stream);
	scatter<D><<<blocks, BLOCK, 0, stream>>>(*c, y, o, r);
	arrange<D><<<blocks, BLOCK, 0, stream>>>(*c, y, o, r);
}

cudaError_t sl__cutoff_sort(const struct sl_cutoff_cells *c, const struct sl_particles *p, const struct sl_orders *o,
			   struct sl_report *r, cudaStream_t stream)
{
	if (p->dims == 3)
		launch_sort<3>(c, p->y, o, r, stream);
	else
		launch_sort<2>(c, p->y, o, r, stream);
	return cudaGetLastError();
}

template <int D, int LANES>
static void launch_pairs(const struct sl_cutoff_cells *c, float *out, const struct sl_orders *o, struct sl_report *r,
			 cudaStream_t stream)
{
	pairs<D, LANES><<<blocks_for(LANES * (uint64_t)c->n, BLOCK), BLOCK, 0, stream>>>(*c, out, o, r);
}

cudaError_t sl__cutoff_pairs(const struct sl_cutoff_cells *c, const struct sl_particles *p, const struct sl_orders *o,
		      struct sl_report *r, cudaStream_t stream)
{
#define LAUNCH(d, lanes) \
	if (p->dims == d && (c->n < MANY) == (lanes == 8)) \
		launch_pairs<d, lanes>(c, p->repulsion, o, r, stream)
	LAUNCH(2, 4);
	LAUNCH(2, 8);
	LAUNCH(3, 4);
	LAUNCH(3, 8);
#undef LAUNCH
	return cudaGetLastError();
}

template <int D>
static void launch_census(const struct sl_cutoff_cells *c, const float *y, const struct sl_orders *o,
			  struct sl_report *r, cudaStream_t stream)
{
	launch_count<D>(c, y, o, r, stream);
	census<D><<<blocks_for(c->n, BLOCK), BLOCK, 0, stream>>>(*c, y, o, r);
}

cudaError_t sl__cutoff_census(const struct sl_cutoff_cells *c, const struct sl_particles *p, const struct sl_orders *o,
		       struct sl_report *r, cudaStream_t stream)
{
	if (p->dims == 3)
		launch_census<3>(c, p->y, o, r, stream);
	else
		launch_census<2>(c, p->y, o, r, stream);
	return cudaGetLastError();
}
