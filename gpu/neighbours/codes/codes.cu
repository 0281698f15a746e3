/* Product codes. The difference between a point and the centre of its cell is cut into groups of 2 to 16 numbers. Each
 * group is replaced by the number of the nearest of 256 words, which k-means finds. Points are transformed as for the
 * scanning kernels (convert.cu), and the centre is taken in half precision, so that centre plus word is the number that
 * is scanned. Sums over points have a fixed order. Tests: tests/gpu/test_scan.c, and tests/gpu/test_neighbours.c,
 * codes. */
#include <cuda_fp16.h>

#include "gpu/device/launch.cuh"
#include "gpu/neighbours/codes/codes.h"

#define BLOCK 256
#define ROWS 128

uint32_t sl__codes_groups(const struct sl_codes *c)
{
	return c->length == 16 ? (c->pieces + 1) / 2 : c->pieces * (8 / c->length);
}

/* The numbers of row i in one group, less the centre's. */
template <int L>
static __device__ __forceinline__ void load_rest(const struct sl_coding &c, uint32_t i, uint32_t group, float x[L])
{
	uint32_t row = c.which ? c.which[i] : i;
	uint32_t cell = c.cell ? c.cell[i] : c.codes.tile_cell[c.place[i] / SL_TILE];
	const __half *centre = (const __half *)c.codes.centre + (size_t)cell * c.codes.centre_width;
	float scale = *c.frame.scale, inverse = c.table.inverse ? c.table.inverse[row] : 1;
	bool bytes = c.table.type == SL_POINTS_U8;
#pragma unroll
	for (int e = 0; e < L; e++) {
		uint32_t k = group * L + e;
		if (k >= c.table.d) {
			x[e] = 0;
			continue;
		}
		size_t at = (size_t)row * c.table.d + k;
		float v = bytes ? (float)((const uint8_t *)c.table.value)[at] : ((const float *)c.table.value)[at];
		x[e] = (v * inverse - c.frame.mean[k]) * scale - __half2float(centre[k]);
	}
}

/* Takes rows spread evenly over the sample as the first words. One block per group, one thread per word. */
template <int L> static __global__ void begin(const __grid_constant__ struct sl_coding c)
{
	float x[L];
	load_rest<L>(c, (uint32_t)((uint64_t)threadIdx.x * c.count / SL_WORDS), blockIdx.x, x);
	for (int e = 0; e < L; e++)
		c.book[((size_t)blockIdx.x * SL_WORDS + threadIdx.x) * L + e] = x[e];
}

/* The nearest word of each row; of equally near words, the first. One thread per row; a block takes ROWS rows and one
 * group. */
template <int L> static __global__ void __launch_bounds__(ROWS) assign(const __grid_constant__ struct sl_coding c)
{
	__shared__ float book[SL_WORDS * L];
	uint32_t i = blockIdx.x * ROWS + threadIdx.x, group = blockIdx.y, best = 0;
	float x[L], nearest = INFINITY;
	for (uint32_t e = threadIdx.x; e < SL_WORDS * L; e += ROWS)
		book[e] = c.book[(size_t)group * SL_WORDS * L + e];
	__syncthreads();
	if (i >= c.count)
		return;
	load_rest<L>(c, i, group, x);
	for (uint32_t w = 0; w < SL_WORDS; w++) {
		float sum = 0;
#pragma unroll
		for (int e = 0; e < L; e++) {
			float diff = x[e] - book[w * L + e];
			sum = fmaf(diff, diff, sum);
		}
		if (sum < nearest) {
			nearest = sum;
			best = w;
		}
	}
	uint64_t at = c.place ? c.place[i] : i;
	c.code[at * c.step + group * c.group_step] = (uint8_t)best;
	if (c.bias && group == 0) {  /* a row of zeros counts as perpendicular to every other */
		uint32_t row = c.which ? c.which[i] : i;
		c.bias[at] = c.table.inverse && c.table.inverse[row] == 0 ? -0.5f * *c.frame.scale * *c.frame.scale : 0;
	}
}

/* The mean of the rows with each word. One block per word and group; the rows are added in order. */
template <int L> static __global__ void __launch_bounds__(ROWS) move(const __grid_constant__ struct sl_coding c)
{
	__shared__ float part[ROWS / 32][L + 1];
	uint32_t word = blockIdx.x, group = blockIdx.y, lane = threadIdx.x % 32;
	const uint8_t *code = c.code + group * c.group_step;
	float sum[L + 1] = {}, x[L];
	for (uint32_t i = threadIdx.x; i < c.count; i += ROWS)
		if (code[i] == word) {
			load_rest<L>(c, i, group, x);
#pragma unroll
			for (int e = 0; e < L; e++)
				sum[e] += x[e];
			sum[L] += 1;
		}
#pragma unroll
	for (int e = 0; e <= L; e++) {
		sum[e] = sum_lanes(sum[e]);
		if (lane == 0)
			part[threadIdx.x / 32][e] = sum[e];
	}
	__syncthreads();
	if (threadIdx.x >= L)
		return;
	float all = 0, count = 0;
	for (int w = 0; w < ROWS / 32; w++) {
		all += part[w][threadIdx.x];
		count += part[w][L];
	}
	if (count > 0)  /* a word without rows stays */
		c.book[((size_t)group * SL_WORDS + word) * L + threadIdx.x] = all / count;
}

#define BY_LENGTH(kernel, grid, block) \
	switch (c->codes.length) { \
	case 2: kernel<2><<<grid, block, 0, stream>>>(*c); break; \
	case 4: kernel<4><<<grid, block, 0, stream>>>(*c); break; \
	case 8: kernel<8><<<grid, block, 0, stream>>>(*c); break; \
	default: kernel<16><<<grid, block, 0, stream>>>(*c); \
	}

cudaError_t sl__codes_begin(const struct sl_coding *c, cudaStream_t stream)
{
	BY_LENGTH(begin, sl__codes_groups(&c->codes), SL_WORDS);
	return cudaGetLastError();
}

cudaError_t sl__codes_assign(const struct sl_coding *c, cudaStream_t stream)
{
	dim3 grid(blocks_for(c->count, ROWS), sl__codes_groups(&c->codes));
	BY_LENGTH(assign, grid, ROWS);
	return cudaGetLastError();
}

cudaError_t sl__codes_move(const struct sl_coding *c, cudaStream_t stream)
{
	dim3 grid(SL_WORDS, sl__codes_groups(&c->codes));
	BY_LENGTH(move, grid, ROWS);
	return cudaGetLastError();
}

static __global__ void round_book(const float *book, uint32_t count, __half *out)
{
	uint32_t i = blockIdx.x * BLOCK + threadIdx.x;
	if (i < count)
		out[i] = __float2half_rn(book[i]);
}

cudaError_t sl__codes_round(const struct sl_coding *c, void *book, cudaStream_t stream)
{
	uint32_t count = sl__codes_groups(&c->codes) * SL_WORDS * c->codes.length;
	return each(count, round_book, stream, c->book, count, (__half *)book);
}

/* One warp per position. Each lane decodes one number at a time; scan_wide.cu decodes eight. */
static __global__ void __launch_bounds__(BLOCK) bias(const __grid_constant__ struct sl_side side, bool norms)
{
	uint32_t i = blockIdx.x * (BLOCK / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
	const struct sl_codes &c = side.codes;
	if (i >= side.count)
		return;
	if (side.index[i] == SL_NOBODY) {
		if (lane == 0)
			side.bias[i] = -INFINITY;
		return;
	}
	double sum = 0;
	for (uint32_t k = lane; norms && k < c.pieces * 8; k += 32) {
		uint32_t group = k / c.length, code = c.code[(size_t)i * c.bytes + group];
		__half word = ((const __half *)c.book)[((size_t)group * SL_WORDS + code) * c.length + k % c.length];
		__half centre = ((const __half *)c.centre)[(size_t)c.tile_cell[i / SL_TILE] * c.centre_width + k];
		double x = __half2float(__hadd(word, centre));
		sum += x * x;
	}
	sum = sum_lanes(sum);
	if (lane == 0)
		side.bias[i] -= (float)(0.5 * sum);
}

cudaError_t sl__codes_bias(const struct sl_side *columns, bool norms, cudaStream_t stream)
{
	return each_warp(columns->count, bias, stream, *columns, norms);
}

/* One warp per row. */
static __global__ void __launch_bounds__(BLOCK)
mark(const __grid_constant__ struct sl_lists l, const uint32_t *index, uint32_t rows, uint32_t *bits)
{
	uint32_t row = blockIdx.x * (BLOCK / 32) + threadIdx.x / 32;
	if (row >= rows || index[row] == SL_NOBODY)
		return;
	for (uint32_t i = threadIdx.x % 32; i < l.keep; i += 32) {
		uint32_t j = l.entry[(size_t)row * l.capacity + i].y;
		if (j != SL_NOBODY && !(__ldcg(bits + j / 32) >> j % 32 & 1))
			atomicOr(bits + j / 32, 1u << j % 32);
	}
}

cudaError_t sl__codes_mark(const struct sl_lists *l, const uint32_t *index, uint32_t rows, uint32_t *bits,
			   cudaStream_t stream)
{
	return each_warp(rows, mark, stream, *l, index, rows, bits);
}

static __global__ void slots(const uint32_t *number, uint32_t count, bool set, uint32_t *slot)
{
	uint32_t i = blockIdx.x * BLOCK + threadIdx.x;
	if (i < count)
		slot[number[i]] = set ? i : SL_NOBODY;
}

cudaError_t sl__codes_slots(const uint32_t *number, uint32_t count, bool set, uint32_t *slot, cudaStream_t stream)
{
	return each(count, slots, stream, number, count, set, slot);
}
