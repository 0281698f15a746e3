/* The kernels for the cells of an inverted file: k-means by Lloyd's steps (the scanning kernels assign points to
 * centres); the layout of the members, cell by cell, each cell from a new tile on; and for each block of rows the order
 * of the tiles to scan.
 *
 * Rows that are scanned together are members of one cell, or of two small cells, so they share one order: cells by the
 * distance of their centre from the nearer of the block's own centres. One thread per number written, unless a kernel
 * says otherwise. Training 2,539 cells in 7 steps, with the upload, takes 0.05 s (H200). Test:
 * tests/gpu/test_neighbours.c, inverted_file. */
#include "gpu/neighbours/inverted/cells.h"
#include "gpu/neighbours/sort/select.cuh"

#define BLOCK 256

static __global__ void spread_rows(uint32_t *which, uint32_t count, uint32_t n)
{
	uint32_t i = blockIdx.x * BLOCK + threadIdx.x;
	if (i < count)
		which[i] = (uint32_t)(((uint64_t)i * n + n / 2) / count % n);
}

cudaError_t sl__spread_rows(uint32_t *which, uint32_t count, uint32_t n, cudaStream_t stream)
{
	return each(count, spread_rows, stream, which, count, n);
}

static __device__ __forceinline__ float value_at(const struct sl_table &t, uint32_t row, uint32_t column)
{
	size_t at = (size_t)row * t.d + column;
	float x = t.type == SL_POINTS_U8 ? (float)((const uint8_t *)t.value)[at] : ((const float *)t.value)[at];
	return t.inverse ? x * t.inverse[row] : x;
}

static __global__ void begin(struct sl_cells c, struct sl_table t)
{
	uint64_t i = (uint64_t)blockIdx.x * BLOCK + threadIdx.x;
	if (i < (uint64_t)c.count * t.d)
		c.centre[i] = value_at(t, (uint32_t)(i / t.d * t.n / c.count), (uint32_t)(i % t.d));
}

cudaError_t sl__cells_begin(const struct sl_cells *c, const struct sl_table *t, cudaStream_t stream)
{
	return each((uint64_t)c->count * t->d, begin, stream, *c, *t);
}

/* One block per cell; a thread sums columns threadIdx.x, threadIdx.x + 64, ... over the members, in their order. Bound
 * by the latency of reading rows from all over the table. */
static __global__ void __launch_bounds__(64)
move(struct sl_cells c, struct sl_table t, const uint32_t *cell, const uint32_t *row, uint32_t count)
{
	uint32_t from = first_at_least(cell, count, blockIdx.x), to = first_at_least(cell, count, blockIdx.x + 1);
	if (from == to)
		return;
	for (uint32_t k = threadIdx.x; k < t.d; k += blockDim.x) {
		float sum = 0;
		for (uint32_t i = from; i < to; i++)
			sum += value_at(t, row[i], k);
		c.centre[(size_t)blockIdx.x * t.d + k] = sum / (float)(to - from);
	}
}

cudaError_t sl__cells_move(const struct sl_cells *c, const struct sl_table *t, const uint32_t *cell,
			   const uint32_t *row, uint32_t count, cudaStream_t stream)
{
	move<<<c->count, 64, 0, stream>>>(*c, *t, cell, row, count);
	return cudaGetLastError();
}

static __global__ void set_places(struct sl_cells c, const uint32_t *cell, const uint32_t *row, uint32_t count,
				  const uint32_t *start, uint32_t *which, uint32_t *place)
{
	uint32_t i = blockIdx.x * BLOCK + threadIdx.x;
	if (i >= count)
		return;
	uint32_t at = c.first_tile[cell[i]] * SL_TILE + (i - start[cell[i]]);
	which[at] = row[i];
	place[row[i]] = at;
}

cudaError_t sl__cells_place(const struct sl_cells *c, const uint32_t *cell, const uint32_t *row, uint32_t count,
			    const uint32_t *start, uint32_t *which, uint32_t *place, cudaStream_t stream)
{
	return each(count, set_places, stream, *c, cell, row, count, start, which, place);
}

/* One block per 16 x 16 pairs of centres. */
static __global__ void apart(struct sl_cells c, uint32_t d, bool products)
{
	__shared__ float a[16][17], b[16][17];
	uint32_t x = threadIdx.x, y = threadIdx.y, i = blockIdx.y * 16 + y, j = blockIdx.x * 16 + x;
	float sum = 0;
	for (uint32_t k = 0; k < d; k += 16) {
		uint32_t other = blockIdx.x * 16 + y;
		a[y][x] = i < c.count && k + x < d ? c.centre[(size_t)i * d + k + x] : 0;
		b[y][x] = other < c.count && k + x < d ? c.centre[(size_t)other * d + k + x] : 0;
		__syncthreads();
		for (int e = 0; e < 16; e++)
			sum = products ? fmaf(-a[y][e], b[x][e], sum) : fmaf(a[y][e] - b[x][e], a[y][e] - b[x][e], sum);
		__syncthreads();
	}
	if (i < c.count && j < c.count)
		c.apart[(size_t)i * c.count + j] = sum;
}

cudaError_t sl__cells_apart(const struct sl_cells *c, uint32_t d, bool products, cudaStream_t stream)
{
	dim3 grid(blocks_for(c->count, 16), blocks_for(c->count, 16)), block(16, 16);
	apart<<<grid, block, 0, stream>>>(*c, d, products);
	return cudaGetLastError();
}

/* A block of threads for each block of rows: sorts all cells, writes the tiles of the nearest. */
static __global__ void __launch_bounds__(BLOCK) rank(struct sl_cells c, uint32_t size, uint32_t ranked, uint32_t *order)
{
	extern __shared__ uint64_t key[];
	uint32_t last = c.tiles - 1, tile = blockIdx.x * (SL_ROWS / SL_TILE);
	uint32_t a = c.tile_cell[tile < last ? tile : last], b = c.tile_cell[tile + 1 < last ? tile + 1 : last];
	for (uint32_t i = threadIdx.x; i < size; i += BLOCK)
		key[i] = i < c.count ? (uint64_t)ordered(fminf(c.apart[(size_t)a * c.count + i],
							       c.apart[(size_t)b * c.count + i])) << 32 | i : UINT64_MAX;
	group_sort<BLOCK>(key, size);
	/* one thread per cell; its tiles begin behind those of all nearer cells */
	__shared__ uint32_t sums[BLOCK], base;
	if (threadIdx.x == 0)
		base = 0;
	for (uint32_t from = 0; from < c.count; from += BLOCK) {
		uint32_t i = from + threadIdx.x, cell = i < c.count ? (uint32_t)key[i] : 0;
		uint32_t tiles = i < c.count ? c.first_tile[cell + 1] - c.first_tile[cell] : 0;
		sums[threadIdx.x] = tiles;
		__syncthreads();
		for (uint32_t step = 1; step < BLOCK; step *= 2) {
			uint32_t before = threadIdx.x >= step ? sums[threadIdx.x - step] : 0;
			__syncthreads();
			sums[threadIdx.x] += before;
			__syncthreads();
		}
		uint32_t at = base + sums[threadIdx.x] - tiles;
		for (uint32_t t = 0; t < tiles && at + t < ranked; t++)
			order[(size_t)blockIdx.x * ranked + at + t] = c.first_tile[cell] + t;
		__syncthreads();
		if (threadIdx.x == 0)
			base += sums[BLOCK - 1];
		__syncthreads();
		if (base >= ranked)
			break;
	}
}

cudaError_t sl__cells_rank(const struct sl_cells *c, uint32_t row_blocks, uint32_t ranked, uint32_t *order,
			   cudaStream_t stream)
{
	uint32_t size = 32;
	while (size < c->count)
		size *= 2;
	rank<<<row_blocks, BLOCK, size * sizeof(uint64_t), stream>>>(*c, size, ranked, order);
	return cudaGetLastError();
}

cudaError_t sl__cells_init(void) { return allow_shared(SL_CELLS_MAX * sizeof(uint64_t), -1, rank); }

/* to[i][k] = from[which[i]][k]. One thread per number. */
static __global__ void collect(const uint32_t *which, uint64_t numbers, uint32_t k, const uint32_t *from, uint32_t *to)
{
	for (uint64_t at = (uint64_t)blockIdx.x * BLOCK + threadIdx.x; at < numbers; at += (uint64_t)gridDim.x * BLOCK) {
		uint32_t row = which[at / k];
		if (row != SL_NOBODY)
			to[at] = from[(uint64_t)row * k + at % k];
	}
}

cudaError_t sl__cells_collect(const uint32_t *which, uint32_t count, uint32_t k, const void *from, void *to,
			      cudaStream_t stream)
{
	uint64_t numbers = (uint64_t)count * k;
	collect<<<blocks_for(numbers, 8 * BLOCK), BLOCK, 0, stream>>>(which, numbers, k, (const uint32_t *)from,
								      (uint32_t *)to);
	return cudaGetLastError();
}

/* One warp per row; its lanes search the order for one neighbour after the other. */
static __global__ void histogram(const uint32_t *which, uint32_t rows, const uint32_t *index, uint32_t k,
				 const uint32_t *place, const uint32_t *order, uint32_t ranked, uint32_t *out)
{
	uint32_t i = blockIdx.x * (BLOCK / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
	if (i >= rows)
		return;
	const uint32_t *mine = order + (size_t)(place[which[i]] / SL_ROWS) * ranked;
	for (uint32_t e = 0; e < k; e++) {
		uint32_t tile = place[index[(size_t)i * k + e]] / SL_TILE, at = ranked;
		for (uint32_t from = 0; from < ranked && at == ranked; from += 32) {
			uint32_t votes = __ballot_sync(~0u, from + lane < ranked && mine[from + lane] == tile);
			if (votes)
				at = from + (uint32_t)__ffs((int)votes) - 1;
		}
		if (lane == 0)
			atomicAdd(out + at, 1);
	}
}

cudaError_t sl__cells_histogram(const uint32_t *which, uint32_t rows, const uint32_t *index, uint32_t k,
				const uint32_t *place, const uint32_t *order, uint32_t ranked, uint32_t *out,
				cudaStream_t stream)
{
	return each_warp(rows, histogram, stream, which, rows, index, k, place, order, ranked, out);
}
