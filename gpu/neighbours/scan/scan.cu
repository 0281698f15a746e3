/* Scans columns of up to 192 half-precision numbers. A warp keeps its rows in registers; the columns stream through
 * shared memory, loaded one tile ahead. A warp has 64 rows of up to 64 numbers, or 32 longer rows; a block has SL_ROWS.
 * The first multiplication starts from an accumulator that holds the bias. Of a fragment of 16 x 8 scores a thread
 * holds four, of two rows. It tests all its scores by one chain of comparisons and one branch. (Two fragments of
 * columns at a time were slower, and so were three tiles in shared memory, with which fewer blocks fit.)
 *
 * Bound by the tensor cores (mma.sync reaches about 60 % of what Hopper's asynchronous form would).
 *
 * Times in this file: one NVIDIA H200, until 2026-11-25; commands: docs/notes/gpu-points.md. */
#include "gpu/neighbours/scan/tile.cuh"

#define STAGES 2

template <int KT> struct tile_memory {
	static const int pitch = KT * 16 + 8;  /* in half-precision numbers: rows start in different banks */
	__half value[STAGES][SL_TILE][pitch];
	float bias[STAGES][SL_TILE];
	uint32_t index[STAGES][SL_TILE];
	struct queue queue;
};

template <int KT>
static __device__ __forceinline__ void fetch(const struct sl_scan &s, tile_memory<KT> *m, int stage, uint32_t tile,
					     bool with_index)
{
	const __half *from = (const __half *)s.columns.value + (size_t)tile * SL_TILE * KT * 16;
	for (uint32_t c = threadIdx.x; c < SL_TILE * KT * 2; c += blockDim.x)
		copy_async(&m->value[stage][c / (KT * 2)][c % (KT * 2) * 8], from + (size_t)c * 8);
	if (threadIdx.x < SL_TILE / 4)
		copy_async(&m->bias[stage][threadIdx.x * 4], s.columns.bias + (size_t)tile * SL_TILE + threadIdx.x * 4);
	else if (with_index && threadIdx.x < SL_TILE / 2)
		copy_async(&m->index[stage][(threadIdx.x - SL_TILE / 4) * 4],
			   s.columns.index + (size_t)tile * SL_TILE + (threadIdx.x - SL_TILE / 4) * 4);
}

/* Loads rows in the form of the multiplication's operand: a[m][k] of rows 16 m + lane / 4 and 16 m + lane / 4 + 8. */
template <int KT, int MT>
static __device__ __forceinline__ void load_rows(const struct sl_scan &s, uint32_t row, uint32_t a[MT][KT][4])
{
	const uint32_t *from = (const uint32_t *)s.rows.value;
	uint32_t lane = threadIdx.x % 32;
#pragma unroll
	for (int m = 0; m < MT; m++)
#pragma unroll
		for (int k = 0; k < KT; k++) {
			size_t at = (size_t)(row + m * 16 + lane / 4) * (KT * 8) + k * 8 + lane % 4;
			a[m][k][0] = from[at];
			a[m][k][1] = from[at + 8 * KT * 8];
			a[m][k][2] = from[at + 4];
			a[m][k][3] = from[at + 8 * KT * 8 + 4];
		}
}

template <int KT>
static __device__ __forceinline__ void load_columns(const __half (*value)[tile_memory<KT>::pitch], int n, uint32_t *b)
{
	uint32_t lane = threadIdx.x % 32;
	if constexpr (KT == 1) {
		uint32_t r[4];  /* the upper half of the addresses repeats the lower */
		load_matrices(r, shared_address(&value[n * 8 + lane % 8][lane / 8 % 2 * 8]));
		b[0] = r[0];
		b[1] = r[1];
	} else {
#pragma unroll
		for (int k = 0; k < KT; k += 2)
			load_matrices(b + k * 2, shared_address(&value[n * 8 + lane % 8][k * 16 + lane / 8 * 8]));
	}
}

/* scan tests the scores of all rows of a block against the columns of tiles s.from .. s.to - 1. FILTER: pairs above
 * their row's bound go to its list. DENSE: all of them do, in place. BEST: only the best column of each row. KT
 * fragments of 16 halves per row; a warp has 16 MT rows. Grid: (rows / 256, splits); shared memory: two tiles. 84 ms
 * for 131,072 rows by 1.3 million columns in 13 rounds, at 340 Tflop/s in the last (H200). */
template <int KT, int MT, int WARPS, int MODE>
static __global__ void __launch_bounds__(WARPS * 32, KT <= 4 ? 4 : KT <= 8 ? 2 : 1)
scan(const __grid_constant__ struct sl_scan s)
{
	extern __shared__ __align__(128) char shared[];
	tile_memory<KT> *m = reinterpret_cast<tile_memory<KT> *>(shared);
	uint32_t lane = threadIdx.x % 32, block = blockIdx.x, first = block * SL_ROWS;
	uint32_t mine = threadIdx.x / 32 * MT * 16 + lane / 4;  /* and + 8, + 16 ... */
	uint32_t from = s.from + (uint32_t)((uint64_t)(s.to - s.from) * blockIdx.y / gridDim.y);
	uint32_t to = s.from + (uint32_t)((uint64_t)(s.to - s.from) * (blockIdx.y + 1) / gridDim.y);
	uint32_t a[MT][KT][4], best[MT][2], self[MT][2];
	float bound[MT][2];
	bool wanted = false;

#pragma unroll
	for (int i = 0; i < MT; i++)
#pragma unroll
		for (int h = 0; h < 2; h++) {
			uint32_t row = first + mine + i * 16 + h * 8;
			if (MODE == MODE_FILTER)
				bound[i][h] = bound_of(s, row);
			if (MODE == MODE_BEST)
				bound[i][h] = -INFINITY;
			if (MODE == MODE_DENSE)
				self[i][h] = s.rows.index[row];
			best[i][h] = 0;
			wanted |= MODE != MODE_FILTER || bound[i][h] < INFINITY;
		}
	if (threadIdx.x == 0)
		m->queue.count = 0;
	if (!__syncthreads_or(wanted) || from >= to)
		return;
	load_rows<KT, MT>(s, first + threadIdx.x / 32 * MT * 16, a);

	for (int stage = 0; stage < STAGES - 1; stage++) {
		if (from + stage < to)
			fetch<KT>(s, m, stage, tile_at(s, block, from + stage), MODE == MODE_DENSE);
		copies_commit();
	}
	int stage = 0;
	for (uint32_t place = from; place < to; place++) {
		copies_wait<STAGES - 2>();
		bool full = MODE == MODE_FILTER && *(volatile uint32_t *)&m->queue.count > QUEUE_LIMIT;
		if (MODE == MODE_FILTER) {
			if (__syncthreads_or(full))
				drain(s, &m->queue, first);
		} else {
			__syncthreads();
		}
		if (place + STAGES - 1 < to)
			fetch<KT>(s, m, (stage + STAGES - 1) % STAGES, tile_at(s, block, place + STAGES - 1),
				  MODE == MODE_DENSE);
		copies_commit();
		uint32_t column = tile_at(s, block, place) * SL_TILE + lane % 4 * 2;
		uint32_t slot = (place - s.from) * SL_TILE + lane % 4 * 2;
#pragma unroll 1
		for (int n = 0; n < (int)SL_TILE / 8; n++) {
			uint32_t b[KT < 2 ? 2 : KT * 2];
			float acc[MT][4];
			load_columns<KT>(m->value[stage], n, b);
			float2 bias = *reinterpret_cast<const float2 *>(&m->bias[stage][n * 8 + lane % 4 * 2]);
			float c[4] = {bias.x, bias.y, bias.x, bias.y};
#pragma unroll
			for (int i = 0; i < MT; i++)
				multiply_matrices(acc[i], a[i][0], b, c);
#pragma unroll
			for (int k = 1; k < KT; k++)
#pragma unroll
				for (int i = 0; i < MT; i++)
					multiply_matrices(acc[i], a[i][k], b + k * 2, acc[i]);
			if (MODE == MODE_FILTER) {
				bool any = false;
#pragma unroll
				for (int i = 0; i < MT; i++)
					any |= passes(acc[i], bound[i]);
				if (!any)
					continue;
#pragma unroll
				for (int i = 0; i < MT; i++)
					if (passes(acc[i], bound[i]))
						push_four(s, &m->queue, first, mine + i * 16, column + n * 8, acc[i], bound[i]);
			} else if (MODE == MODE_DENSE) {
				uint2 j = *reinterpret_cast<const uint2 *>(&m->index[stage][n * 8 + lane % 4 * 2]);
#pragma unroll
				for (int i = 0; i < MT; i++)
#pragma unroll
					for (int h = 0; h < 2; h++)
						store_pair(s, first + mine + i * 16 + h * 8, slot + n * 8, acc[i][h * 2],
							   acc[i][h * 2 + 1], j, self[i][h]);
			} else {
#pragma unroll
				for (int i = 0; i < MT; i++)
#pragma unroll
					for (int e = 0; e < 4; e++)
						if (acc[i][e] > bound[i][e / 2]) {
							bound[i][e / 2] = acc[i][e];
							best[i][e / 2] = column + n * 8 + e % 2;
						}
			}
		}
		stage = (stage + 1) % STAGES;
	}
	if (MODE == MODE_FILTER) {
		__syncthreads();
		drain(s, &m->queue, first);
	}
	if (MODE == MODE_BEST) {
#pragma unroll
		for (int i = 0; i < MT; i++)
#pragma unroll
			for (int h = 0; h < 2; h++) {
				best_of_four(&bound[i][h], &best[i][h]);
				if (lane % 4 == 0)
					s.best[first + mine + i * 16 + h * 8] = best[i][h];
			}
	}
}

/* True if a block may have so much shared memory. If not, the kernel for any width is used. */
template <int KT> static bool fits() { return block_shared_most() >= sizeof(tile_memory<KT>); }

template <int KT, int MT, int WARPS> static cudaError_t allow()
{
	if (!fits<KT>())
		return cudaSuccess;
	return allow_shared(sizeof(tile_memory<KT>), -1, scan<KT, MT, WARPS, MODE_FILTER>, scan<KT, MT, WARPS, MODE_DENSE>,
			    scan<KT, MT, WARPS, MODE_BEST>);
}

template <int KT, int MT, int WARPS>
static cudaError_t launch(const struct sl_scan *s, uint32_t splits, cudaStream_t stream)
{
	dim3 grid(s->rows.count / SL_ROWS, s->best ? 1 : splits);
	size_t bytes = sizeof(tile_memory<KT>);
	if (s->best)
		scan<KT, MT, WARPS, MODE_BEST><<<grid, WARPS * 32, bytes, stream>>>(*s);
	else if (s->dense)
		scan<KT, MT, WARPS, MODE_DENSE><<<grid, WARPS * 32, bytes, stream>>>(*s);
	else
		scan<KT, MT, WARPS, MODE_FILTER><<<grid, WARPS * 32, bytes, stream>>>(*s);
	return cudaGetLastError();
}

cudaError_t sl__scan_init(void)
{
	return first_error(allow<1, 4, 4>(), allow<2, 4, 4>(), allow<4, 4, 4>(), allow<8, 2, 8>(), allow<12, 2, 8>(),
			   sl__scan_wide_init());
}

/* The number of splits. If there are too few blocks of rows for all multiprocessors, several thread blocks share the
 * columns of one block of rows. */
static uint32_t splits_for(uint32_t blocks, uint32_t tiles)
{
	const uint32_t enough = 2400, least = 4;  /* blocks in flight, tiles per block */
	uint32_t splits = enough / blocks + 1, most = tiles / least + 1;
	return splits < most ? splits : most;
}

cudaError_t sl__scan(const struct sl_scan *s, cudaStream_t stream)
{
	uint32_t splits = splits_for(s->rows.count / SL_ROWS, s->to - s->from);
	if (s->from >= s->to || !s->rows.count)
		return cudaSuccess;
	if (s->columns.precision == SL_FULL)
		return sl__scan_plain(s, splits, stream);
	if (s->columns.codes.code)
		return sl__scan_wide(s, splits, stream);
	switch (s->columns.width / 16) {
	case 1: return launch<1, 4, 4>(s, splits, stream);
	case 2: return launch<2, 4, 4>(s, splits, stream);
	case 4: return launch<4, 4, 4>(s, splits, stream);
	case 8: return launch<8, 2, 8>(s, splits, stream);
	case 12:
		if (fits<12>())
			return launch<12, 2, 8>(s, splits, stream);
	}
	return sl__scan_wide(s, splits, stream);
}

int sl__search_width(uint32_t length, enum sl_precision precision)
{
	uint64_t w = precision == SL_SPLIT ? 3ull * length : length;
	if (precision == SL_FULL)
		return (int)((w + 15) / 16 * 16);
	return w <= 16 ? 16 : w <= 32 ? 32 : w <= 64 ? 64 : w <= 128 ? 128 : w <= 192 ? 192 : (int)((w + 63) / 64 * 64);
}
