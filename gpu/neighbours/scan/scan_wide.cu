/* Scans columns of any width. A block takes 256 rows and one tile of columns at a time. Both pass through shared memory
 * in chunks of C half-precision numbers: 64, or 32 if a block cannot have enough shared memory. A warp holds the scores
 * of 64 rows and 64 columns in registers. The chunks of all tiles are one sequence, so the next tile's first chunks are
 * loaded while the scores of this tile are tested.
 *
 * Columns may be codes (Jegou, Douze and Schmid, Product quantization for nearest neighbor search, TPAMI 2011). They
 * are decoded into shared memory: a thread looks up its words before it multiplies and writes them afterwards. The
 * look-ups cost little, since 256 rows share them, and scores are products as for plain columns. */
#include "gpu/neighbours/scan/tile.cuh"

#define WARPS 8
#define MT 4  /* fragments of 16 rows per warp */
#define NT 8  /* fragments of 8 columns per warp */
#define TURNS 4  /* tiles whose bias is in shared memory: a tile of one chunk is fetched two tiles ahead */

template <int C> struct __align__(16) wide_stage {
	__half rows[SL_ROWS][C + 8];  /* rows start in different banks */
	__half columns[SL_TILE][C + 8];
};

template <int C> struct wide_memory {
	float bias[TURNS][SL_TILE];
	uint32_t index[TURNS][SL_TILE];
	struct queue queue;
	struct wide_stage<C> stage[];
};

struct walk {
	uint32_t place, chunk, turn;
};

static __device__ __forceinline__ void step(struct walk *w, uint32_t chunks)
{
	if (++w->chunk == chunks) {
		w->chunk = 0;
		w->place++;
		w->turn = (w->turn + 1) % TURNS;
	}
}

/* ---- codes ---- */

/* A thread's part of a chunk of coded columns, eight numbers each. */
template <int C> struct pieces {
	static const int count = SL_TILE * C / 8 / (WARPS * 32);
	uint32_t code[count];  /* of the chunk to be fetched next */
	uint4 word[count];
};

/* The codes of one piece: 4, 2 or 1 byte. */
static __device__ __forceinline__ uint32_t codes_at(const struct sl_codes &c, uint32_t position, uint32_t piece)
{
	if (piece >= c.pieces)
		return 0;
	const uint8_t *row = c.code + (size_t)position * c.bytes;
	if (c.length == 2)
		return reinterpret_cast<const uint32_t *>(row)[piece];
	if (c.length == 4)
		return reinterpret_cast<const uint16_t *>(row)[piece];
	return row[c.length == 8 ? piece : piece / 2];
}

static __device__ __forceinline__ uint32_t add_halves(uint32_t a, uint32_t b)
{
	__half2 sum = __hadd2(*reinterpret_cast<__half2 *>(&a), *reinterpret_cast<__half2 *>(&b));
	return *reinterpret_cast<uint32_t *>(&sum);
}

static __device__ __forceinline__ uint4 decode(const struct sl_codes &c, uint32_t code, uint32_t piece, uint32_t cell)
{
	uint4 word, centre;
	if (piece >= c.pieces)
		return make_uint4(0, 0, 0, 0);
	if (c.length == 2) {
		const uint32_t *book = (const uint32_t *)c.book + piece * 4 * SL_WORDS;
		word = make_uint4(book[code & 255], book[SL_WORDS + (code >> 8 & 255)],
				  book[2 * SL_WORDS + (code >> 16 & 255)], book[3 * SL_WORDS + (code >> 24)]);
	} else if (c.length == 4) {
		const uint2 *book = (const uint2 *)c.book + piece * 2 * SL_WORDS;
		uint2 low = book[code & 255], high = book[SL_WORDS + (code >> 8)];
		word = make_uint4(low.x, low.y, high.x, high.y);
	} else if (c.length == 8) {
		word = ((const uint4 *)c.book)[piece * SL_WORDS + code];
	} else {
		word = ((const uint4 *)c.book)[(piece / 2 * SL_WORDS + code) * 2 + piece % 2];
	}
	centre = *reinterpret_cast<const uint4 *>((const __half *)c.centre + (size_t)cell * c.centre_width + piece * 8);
	return make_uint4(add_halves(word.x, centre.x), add_halves(word.y, centre.y), add_halves(word.z, centre.z),
			  add_halves(word.w, centre.w));
}

template <int C>
static __device__ __forceinline__ void load_codes(const struct sl_codes &c, pieces<C> *p, uint32_t tile, uint32_t chunk)
{
#pragma unroll
	for (int i = 0; i < pieces<C>::count; i++) {
		uint32_t at = (uint32_t)i * WARPS * 32 + threadIdx.x;
		p->code[i] = codes_at(c, tile * SL_TILE + at / (C / 8), chunk * (C / 8) + at % (C / 8));
	}
}

template <int C>
static __device__ __forceinline__ void load_words(const struct sl_codes &c, pieces<C> *p, uint32_t tile, uint32_t chunk)
{
	uint32_t cell = c.tile_cell[tile];
#pragma unroll
	for (int i = 0; i < pieces<C>::count; i++) {
		uint32_t at = (uint32_t)i * WARPS * 32 + threadIdx.x;
		p->word[i] = decode(c, p->code[i], chunk * (C / 8) + at % (C / 8), cell);
	}
}

template <int C>
static __device__ __forceinline__ void store_words(struct wide_stage<C> *stage, const pieces<C> &p)
{
#pragma unroll
	for (int i = 0; i < pieces<C>::count; i++) {
		uint32_t at = (uint32_t)i * WARPS * 32 + threadIdx.x;
		*reinterpret_cast<uint4 *>(&stage->columns[at / (C / 8)][at % (C / 8) * 8]) = p.word[i];
	}
}

/* ---- the scan ---- */

template <int C, bool CODED>
static __device__ __forceinline__ void fetch(const struct sl_scan &s, struct wide_memory<C> *m,
					     struct wide_stage<C> *stage, const struct walk &w, uint32_t first_row,
					     uint32_t tile)
{
	const __half *rows = (const __half *)s.rows.value, *columns = (const __half *)s.columns.value;
	uint32_t width = (uint32_t)s.columns.width;
	for (uint32_t c = threadIdx.x; c < SL_ROWS * C / 8; c += WARPS * 32)
		copy_async(&stage->rows[c / (C / 8)][c % (C / 8) * 8],
			   rows + (size_t)(first_row + c / (C / 8)) * width + w.chunk * C + c % (C / 8) * 8);
	for (uint32_t c = threadIdx.x; !CODED && c < SL_TILE * C / 8; c += WARPS * 32)
		copy_async(&stage->columns[c / (C / 8)][c % (C / 8) * 8],
			   columns + ((size_t)tile * SL_TILE + c / (C / 8)) * width + w.chunk * C + c % (C / 8) * 8);
	if (w.chunk)
		return;
	if (threadIdx.x < SL_TILE / 4)
		copy_async(&m->bias[w.turn][threadIdx.x * 4], s.columns.bias + (size_t)tile * SL_TILE + threadIdx.x * 4);
	else if (threadIdx.x < SL_TILE / 2)
		copy_async(&m->index[w.turn][(threadIdx.x - SL_TILE / 4) * 4],
			   s.columns.index + (size_t)tile * SL_TILE + (threadIdx.x - SL_TILE / 4) * 4);
}

/* One chunk's products, on top of acc. */
template <int C>
static __device__ __forceinline__ void multiply_chunk(const struct wide_stage<C> *stage, uint32_t row,
						      uint32_t column, float acc[MT][NT][4])
{
	uint32_t lane = threadIdx.x % 32;
#pragma unroll
	for (int k = 0; k < C / 16; k++) {
		uint32_t a[MT][4], b[NT][2];
#pragma unroll
		for (int i = 0; i < MT; i++)
			load_matrices(a[i], shared_address(&stage->rows[row + i * 16 + lane % 16][k * 16 + lane / 16 * 8]));
#pragma unroll
		for (int n = 0; n < NT; n += 2)
			load_matrices(b[n], shared_address(&stage->columns[column + n * 8 + lane / 16 * 8 + lane % 8]
									 [k * 16 + lane / 8 % 2 * 8]));
#pragma unroll
		for (int n = 0; n < NT; n++)
#pragma unroll
			for (int i = 0; i < MT; i++)
				multiply_matrices(acc[i][n], a[i], b[n], acc[i][n]);
	}
}

/* Each row's best over the threads and the two warps that share it. */
static __device__ void best_of_all(const struct sl_scan &s, float bound[MT][2], uint32_t best[MT][2], uint32_t my_row,
				   uint32_t first)
{
	__shared__ float best_score[2][SL_ROWS];
	__shared__ uint32_t best_column[2][SL_ROWS];
	uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32;
#pragma unroll
	for (int i = 0; i < MT; i++)
#pragma unroll
		for (int h = 0; h < 2; h++) {
			best_of_four(&bound[i][h], &best[i][h]);
			if (lane % 4 == 0) {
				best_score[warp % 2][my_row + i * 16 + h * 8 + lane / 4] = bound[i][h];
				best_column[warp % 2][my_row + i * 16 + h * 8 + lane / 4] = best[i][h];
			}
		}
	__syncthreads();
	for (uint32_t r = threadIdx.x; r < SL_ROWS; r += blockDim.x) {
		float a = best_score[0][r], b = best_score[1][r];
		uint32_t i = best_column[0][r], j = best_column[1][r];
		s.best[first + r] = b > a || (a == b && j < i) ? j : i;
	}
}

/* scan_wide is scan() for rows of any width, and for CODED columns. Grid: (rows / 256, splits) blocks of 256 threads;
 * shared memory: `stages` chunks of C halves of rows and columns. */
template <int MODE, int C, bool CODED>
static __global__ void __launch_bounds__(WARPS * 32, 1)
scan_wide(const __grid_constant__ struct sl_scan s, int stages)
{
	extern __shared__ __align__(128) char shared[];
	struct wide_memory<C> *m = reinterpret_cast<struct wide_memory<C> *>(shared);
	uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32, block = blockIdx.x, first = block * SL_ROWS;
	uint32_t my_row = warp / 2 * 64, my_column = warp % 2 * 64, chunks = (uint32_t)s.columns.width / C;
	uint32_t from = s.from + (uint32_t)((uint64_t)(s.to - s.from) * blockIdx.y / gridDim.y);
	uint32_t to = s.from + (uint32_t)((uint64_t)(s.to - s.from) * (blockIdx.y + 1) / gridDim.y);
	float bound[MT][2], acc[MT][NT][4];
	uint32_t best[MT][2];
	bool wanted = false;
#pragma unroll
	for (int i = 0; i < MT; i++)
#pragma unroll
		for (int h = 0; h < 2; h++) {
			uint32_t row = first + my_row + i * 16 + h * 8 + lane / 4;
			bound[i][h] = MODE == MODE_FILTER ? bound_of(s, row) : -INFINITY;
			best[i][h] = 0;
			wanted |= bound[i][h] < INFINITY;
		}
	if (threadIdx.x == 0)
		m->queue.count = 0;
	if (!__syncthreads_or(wanted) || from >= to)
		return;

	struct walk ahead = {from, 0, 0}, at = {from, 0, 0};
	pieces<C> p;
	if (CODED)
		load_codes<C>(s.columns.codes, &p, tile_at(s, block, from), 0);
	for (int i = 0; i < stages - 1; i++) {
		if (ahead.place < to) {
			uint32_t tile = tile_at(s, block, ahead.place);
			fetch<C, CODED>(s, m, &m->stage[i], ahead, first, tile);
			if (CODED) {
				load_words<C>(s.columns.codes, &p, tile, ahead.chunk);
				store_words<C>(&m->stage[i], p);
			}
			step(&ahead, chunks);
			if (CODED && ahead.place < to)
				load_codes<C>(s.columns.codes, &p, tile_at(s, block, ahead.place), ahead.chunk);
		}
		copies_commit();
	}
	int stage = 0;
	while (at.place < to) {
		if (stages == 3)
			copies_wait<1>();
		else
			copies_wait<0>();
		bool full = MODE == MODE_FILTER && *(volatile uint32_t *)&m->queue.count > QUEUE_LIMIT;
		if (__syncthreads_or(full))
			drain(s, &m->queue, first);
		bool more = ahead.place < to;
		int next = (stage + stages - 1) % stages;
		if (more) {
			uint32_t tile = tile_at(s, block, ahead.place);
			fetch<C, CODED>(s, m, &m->stage[next], ahead, first, tile);
			if (CODED)
				load_words<C>(s.columns.codes, &p, tile, ahead.chunk);
			step(&ahead, chunks);
			if (CODED && ahead.place < to)
				load_codes<C>(s.columns.codes, &p, tile_at(s, block, ahead.place), ahead.chunk);
		}
		copies_commit();
		if (at.chunk == 0)
#pragma unroll
			for (int n = 0; n < NT; n++) {
				float2 bias = *reinterpret_cast<const float2 *>(&m->bias[at.turn][my_column + n * 8 + lane % 4 * 2]);
#pragma unroll
				for (int i = 0; i < MT; i++) {
					acc[i][n][0] = acc[i][n][2] = bias.x;
					acc[i][n][1] = acc[i][n][3] = bias.y;
				}
			}
		multiply_chunk(&m->stage[stage], my_row, my_column, acc);
		if (CODED && more)
			store_words<C>(&m->stage[next], p);
		stage = (stage + 1) % stages;
		if (at.chunk + 1 < chunks) {
			step(&at, chunks);
			continue;
		}
		uint32_t column = tile_at(s, block, at.place) * SL_TILE + my_column + lane % 4 * 2;
		uint32_t slot = (at.place - s.from) * SL_TILE + my_column + lane % 4 * 2;
#pragma unroll
		for (int n = 0; n < NT; n++) {
			uint32_t row = my_row + lane / 4;
			if (MODE == MODE_FILTER) {
				bool any = false;
#pragma unroll
				for (int i = 0; i < MT; i++)
					any |= passes(acc[i][n], bound[i]);
				if (!any)
					continue;
			}
			uint2 j = MODE == MODE_DENSE ? *reinterpret_cast<const uint2 *>(
				&m->index[at.turn][my_column + n * 8 + lane % 4 * 2]) : make_uint2(0, 0);
#pragma unroll
			for (int i = 0; i < MT; i++) {
				if (MODE == MODE_DENSE)
#pragma unroll
					for (int h = 0; h < 2; h++)
						store_pair(s, first + row + i * 16 + h * 8, slot + n * 8, acc[i][n][h * 2],
							   acc[i][n][h * 2 + 1], j, s.rows.index[first + row + i * 16 + h * 8]);
				if (MODE == MODE_FILTER && passes(acc[i][n], bound[i]))
					push_four(s, &m->queue, first, row + i * 16, column + n * 8, acc[i][n], bound[i]);
				if (MODE == MODE_BEST)
#pragma unroll
					for (int e = 0; e < 4; e++)
						if (acc[i][n][e] > bound[i][e / 2]) {
							bound[i][e / 2] = acc[i][n][e];
							best[i][e / 2] = column + n * 8 + e % 2;
						}
			}
		}
		step(&at, chunks);
	}
	__syncthreads();
	if (MODE == MODE_FILTER)
		drain(s, &m->queue, first);
	if constexpr (MODE == MODE_BEST)
		best_of_all(s, bound, best, my_row, first);
}

template <int C> static size_t bytes_of(int stages)
{
	return sizeof(struct wide_memory<C>) + (size_t)stages * sizeof(struct wide_stage<C>);
}

/* Chooses the size and number of chunks by the shared memory of the device, less the kernel's static arrays. */
static bool fits(size_t bytes) { return block_shared_most() >= bytes + 6144; }

static int stages_here(void) { return fits(bytes_of<64>(3)) ? 3 : 2; }
static bool chunks_of_64(void) { return fits(bytes_of<64>(2)); }

template <int C> static cudaError_t allow(int stages)
{
	return allow_shared(bytes_of<C>(stages), -1, scan_wide<MODE_FILTER, C, false>, scan_wide<MODE_DENSE, C, false>,
			    scan_wide<MODE_BEST, C, false>, scan_wide<MODE_FILTER, C, true>,
			    scan_wide<MODE_DENSE, C, true>);
}

cudaError_t sl__scan_wide_init(void)
{
	return chunks_of_64() ? allow<64>(stages_here()) : allow<32>(2);
}

template <int C> static void launch(const struct sl_scan *s, dim3 grid, int stages, cudaStream_t stream)
{
	size_t bytes = bytes_of<C>(stages);
	bool coded = s->columns.codes.code != NULL;
	if (s->best)
		scan_wide<MODE_BEST, C, false><<<grid, WARPS * 32, bytes, stream>>>(*s, stages);
	else if (s->dense && coded)
		scan_wide<MODE_DENSE, C, true><<<grid, WARPS * 32, bytes, stream>>>(*s, stages);
	else if (s->dense)
		scan_wide<MODE_DENSE, C, false><<<grid, WARPS * 32, bytes, stream>>>(*s, stages);
	else if (coded)
		scan_wide<MODE_FILTER, C, true><<<grid, WARPS * 32, bytes, stream>>>(*s, stages);
	else
		scan_wide<MODE_FILTER, C, false><<<grid, WARPS * 32, bytes, stream>>>(*s, stages);
}

cudaError_t sl__scan_wide(const struct sl_scan *s, uint32_t splits, cudaStream_t stream)
{
	dim3 grid(s->rows.count / SL_ROWS, s->best ? 1 : splits);
	if (chunks_of_64())
		launch<64>(s, grid, stages_here(), stream);
	else
		launch<32>(s, grid, 2, stream);
	return cudaGetLastError();
}
