/* Scans in float32, for metrics that are not a product (L1, L-infinity, Lp), and for the few rows that need this
 * precision with other metrics: it subtracts the numbers before it squares them. A block has 128 rows and a tile of
 * columns, a thread 8 rows and 8 columns, each as two groups of four that are 64 apart. The score is the negative
 * distance (Lp: its p-th power). Bound by arithmetic: two instructions for each pair and number, about ten for Lp.
 *
 * Times in this file: one NVIDIA H200, until 2026-11-22; commands: docs/notes/gpu-points.md. */
#include "gpu/neighbours/scan/tile.cuh"

#define DEPTH 8  /* numbers of each point that are loaded at a time */
#define PLAIN_ROWS 128u
#define THREADS 256

struct plain_memory {
	float rows[2][DEPTH][PLAIN_ROWS + 4], columns[2][DEPTH][SL_TILE + 4];
	struct queue queue;
};

template <int METRIC> static __device__ __forceinline__ float add(float sum, float x, float y, float p)
{
	if (METRIC == SL_INNER_PRODUCT)
		return fmaf(-x, y, sum);
	float d = fabsf(x - y);
	if (METRIC == SL_EUCLIDEAN)
		return fmaf(d, d, sum);
	if (METRIC == SL_L1)
		return sum + d;
	if (METRIC == SL_LINF)
		return fmaxf(sum, d);
	return sum + exp2f(p * __log2f(d));
}

/* A thread's share of the next numbers: one float4 of a row and one of a column. */
struct next {
	float4 row, column;
};

static __device__ __forceinline__ struct next load(const struct sl_scan &s, uint32_t first_row, uint32_t tile,
						   uint32_t k)
{
	uint32_t point = threadIdx.x / 2, at = k + threadIdx.x % 2 * 4, width = (uint32_t)s.columns.width;
	const float *rows = (const float *)s.rows.value, *columns = (const float *)s.columns.value;
	return {*reinterpret_cast<const float4 *>(rows + (size_t)(first_row + point) * width + at),
		*reinterpret_cast<const float4 *>(columns + ((size_t)tile * SL_TILE + point) * width + at)};
}

static __device__ __forceinline__ void store(struct plain_memory *m, int turn, const struct next &v)
{
	uint32_t point = threadIdx.x / 2, at = threadIdx.x % 2 * 4;
	m->rows[turn][at][point] = v.row.x;
	m->rows[turn][at + 1][point] = v.row.y;
	m->rows[turn][at + 2][point] = v.row.z;
	m->rows[turn][at + 3][point] = v.row.w;
	m->columns[turn][at][point] = v.column.x;
	m->columns[turn][at + 1][point] = v.column.y;
	m->columns[turn][at + 2][point] = v.column.z;
	m->columns[turn][at + 3][point] = v.column.w;
}

/* scan_plain is scan() for metrics that are not a product. Grid: (rows / 128, splits) blocks of 256 threads. MNIST
 * PCA-50 by L1: 49 ms in all, by Lp 210 (H200). */
template <int METRIC, bool DENSE>
static __global__ void __launch_bounds__(THREADS, 2) scan_plain(const __grid_constant__ struct sl_scan s)
{
	__shared__ __align__(16) struct plain_memory m;
	uint32_t block = blockIdx.x / (SL_ROWS / PLAIN_ROWS), first = blockIdx.x * PLAIN_ROWS;
	uint32_t my_row = threadIdx.x / 16 * 4, my_column = threadIdx.x % 16 * 4, steps = (uint32_t)s.columns.width / DEPTH;
	uint32_t from = s.from + (uint32_t)((uint64_t)(s.to - s.from) * blockIdx.y / gridDim.y);
	uint32_t to = s.from + (uint32_t)((uint64_t)(s.to - s.from) * (blockIdx.y + 1) / gridDim.y);
	float bound[8];
	bool wanted = false;
#pragma unroll
	for (int i = 0; i < 8; i++) {
		bound[i] = DENSE ? -INFINITY : bound_of(s, first + my_row + i % 4 + i / 4 * 64);
		wanted |= bound[i] < INFINITY;
	}
	if (threadIdx.x == 0)
		m.queue.count = 0;
	if (!__syncthreads_or(wanted) || from >= to)
		return;
	int turn = 0;
	for (uint32_t place = from; place < to; place++) {
		uint32_t tile = tile_at(s, block, place);
		float sum[8][8] = {};
		store(&m, turn, load(s, first, tile, 0));
		bool full = !DENSE && *(volatile uint32_t *)&m.queue.count > QUEUE_LIMIT;
		if (__syncthreads_or(full))
			drain(s, &m.queue, first);
		for (uint32_t k = 0; k < steps; k++) {
			struct next v = {};
			if (k + 1 < steps)
				v = load(s, first, tile, (k + 1) * DEPTH);
#pragma unroll
			for (int e = 0; e < DEPTH; e++) {
				float x[8], y[8];
				*(float4 *)x = *(const float4 *)&m.rows[turn][e][my_row];
				*(float4 *)(x + 4) = *(const float4 *)&m.rows[turn][e][my_row + 64];
				*(float4 *)y = *(const float4 *)&m.columns[turn][e][my_column];
				*(float4 *)(y + 4) = *(const float4 *)&m.columns[turn][e][my_column + 64];
#pragma unroll
				for (int i = 0; i < 8; i++)
#pragma unroll
					for (int j = 0; j < 8; j++)
						sum[i][j] = add<METRIC>(sum[i][j], x[i], y[j], s.p);
			}
			turn ^= 1;
			if (k + 1 < steps) {
				store(&m, turn, v);
				__syncthreads();
			}
		}
		uint32_t column = tile * SL_TILE + my_column, slot = (place - s.from) * SL_TILE + my_column;
#pragma unroll
		for (int j = 0; j < 8; j += 2) {
			uint32_t c = column + j % 4 + j / 4 * 64, at = slot + j % 4 + j / 4 * 64;
			float2 bias = *reinterpret_cast<const float2 *>(s.columns.bias + c);
			uint2 who = DENSE ? *reinterpret_cast<const uint2 *>(s.columns.index + c) : make_uint2(0, 0);
#pragma unroll
			for (int i = 0; i < 8; i++) {
				uint32_t row = my_row + i % 4 + i / 4 * 64;
				float a = bias.x - sum[i][j], b = bias.y - sum[i][j + 1];
				if (DENSE) {
					store_pair(s, first + row, at, a, b, who, s.rows.index[first + row]);
				} else {
					if (a >= bound[i])
						push(s, &m.queue, first, row, c, a);
					if (b >= bound[i])
						push(s, &m.queue, first, row, c + 1, b);
				}
			}
		}
	}
	__syncthreads();
	if (!DENSE)
		drain(s, &m.queue, first);
}

template <int METRIC> static void launch(const struct sl_scan *s, dim3 grid, cudaStream_t stream)
{
	if (s->dense)
		scan_plain<METRIC, true><<<grid, THREADS, 0, stream>>>(*s);
	else
		scan_plain<METRIC, false><<<grid, THREADS, 0, stream>>>(*s);
}

cudaError_t sl__scan_plain(const struct sl_scan *s, uint32_t splits, cudaStream_t stream)
{
	dim3 grid(s->rows.count / PLAIN_ROWS, splits);
	if (s->metric == SL_L1)
		launch<SL_L1>(s, grid, stream);
	else if (s->metric == SL_LINF)
		launch<SL_LINF>(s, grid, stream);
	else if (s->metric == SL_INNER_PRODUCT)
		launch<SL_INNER_PRODUCT>(s, grid, stream);
	else if (s->metric == SL_EUCLIDEAN || s->metric == SL_COSINE)  /* of normalised rows */
		launch<SL_EUCLIDEAN>(s, grid, stream);
	else
		launch<SL_LP>(s, grid, stream);
	return cudaGetLastError();
}
