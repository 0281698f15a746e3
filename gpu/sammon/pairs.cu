/* Processes the pairs of points, tile by tile. A warp processes 32 rows by 32 columns of a tile, in fragments of 16 x 8
 * in the layout of the tensor cores: a thread holds four inner products of a fragment, of two rows and two columns, and
 * computes the pairs' forces from them in registers. Coordinates are loaded to shared memory one stage ahead. If the
 * rows' coordinates fit into one stage, they stay there; else those of rows and columns are loaded in stages of
 * SL_SM_DEEP. */
#include <cuda_fp16.h>

#include "gpu/device/launch.cuh"
#include "gpu/sammon/sammon.h"

#define THREADS 256
#define BANDS 4                 /* warps that process the same columns of a tile; two process the same rows */
#define ROWS 4                  /* rows of a thread: two in each of two fragments */
#define PARTS 4                 /* fragments of a warp along the columns */
#define COLUMN_INFO (SL_SM_COLUMNS * 5)  /* floats: up to 3 coordinates of the layout, mass, squared length */

/* A thread's sums for one row or column: forces, then curvatures if CURVE; weights if DIMS is 0. */
template <int DIMS, bool CURVE> struct sums {
	static const int count = DIMS ? DIMS * (CURVE ? 2 : 1) : 1;
	float value[count];
};

/* ---- tiles and shared memory ----------------------------------------------------------------- */

static __device__ __forceinline__ uint32_t tiles_of(const struct sl_cuda_sammon &s, uint32_t block)
{
	if (s.partners)
		return s.partners * (s.side > SL_SM_COLUMNS ? s.side / SL_SM_COLUMNS : 1);
	return (s.n - 1) / SL_SM_COLUMNS + 1 - block * (SL_SM_ROWS / SL_SM_COLUMNS);
}

/* Returns the first column of a tile. live: number of its columns, 0 if the block has no such partner. */
static __device__ __forceinline__ uint32_t column_of(const struct sl_cuda_sammon &s, uint32_t block, uint32_t tile,
						     uint32_t *live)
{
	*live = SL_SM_COLUMNS;
	if (!s.partners)
		return block * SL_SM_ROWS + tile * SL_SM_COLUMNS;
	uint32_t per = s.side > SL_SM_COLUMNS ? s.side / SL_SM_COLUMNS : 1;
	uint32_t other = s.partner[(size_t)(block * s.step / s.side) * s.partners + tile / per];
	*live = other == UINT32_MAX ? 0 : min(s.side, SL_SM_COLUMNS);
	return other == UINT32_MAX ? 0 : other * s.side + tile % per * SL_SM_COLUMNS;
}

/* Shared memory. pitch: halves from one row to the next, such that rows start in different banks. */
struct memory {
	char *rows, *columns;          /* [1 or 2 stages], [2 stages]: halves high, low, or floats [d][points] */
	float *info;                   /* [2][5][SL_SM_COLUMNS] */
	float *sums;                   /* [BANDS][values][SL_SM_COLUMNS], or [2][values][SL_SM_ROWS] */
	uint32_t pitch, rows_bytes, columns_bytes;
};

static __host__ __device__ __forceinline__ size_t lay_out(const struct sl_cuda_sammon &s, int values, char *shared,
							  struct memory *m)
{
	uint32_t stages = s.wide < s.depth ? 2 : 1;
	m->pitch = s.wide + 8;
	m->rows_bytes = s.differences ? s.d * SL_SM_ROWS * 4 : SL_SM_ROWS * m->pitch * 4;
	m->columns_bytes = s.differences ? s.d * SL_SM_COLUMNS * 4 : SL_SM_COLUMNS * m->pitch * 4;
	m->rows = shared;
	m->columns = m->rows + stages * m->rows_bytes;
	m->info = reinterpret_cast<float *>(m->columns + 2 * m->columns_bytes);
	m->sums = m->info + 2 * COLUMN_INFO;
	return (size_t)(reinterpret_cast<char *>(m->sums + BANDS * values * SL_SM_COLUMNS) - shared);
}

/* ---- loading -------------------------------------------------------------------------------- */

/* Starts to load the halves `from` .. from + wide - 1 of `count` points from `first` on. */
static __device__ __forceinline__ void fetch_halves(const struct sl_cuda_sammon &s, char *to, uint32_t pitch,
						    uint32_t first,
						    uint32_t count, uint32_t from)
{
	const __half *high = (const __half *)s.high, *low = (const __half *)s.low;
	uint32_t wide = min(s.wide, s.depth - from), each = wide / 8;
	__half *target = reinterpret_cast<__half *>(to);
	for (uint32_t c = threadIdx.x; c < count * each; c += THREADS) {
		uint32_t row = c / each, at = c % each * 8;
		size_t source = (size_t)(first + row) * s.depth + from + at;
		copy_async(target + row * pitch + at, high + source);
		copy_async(target + (count + row) * pitch + at, low + source);
	}
}

/* Starts to load the coordinates of `count` points from `first` on. count: a multiple of 32. */
static __device__ __forceinline__ void fetch_floats(const struct sl_cuda_sammon &s, char *to, uint32_t first,
						    uint32_t count)
{
	float *target = reinterpret_cast<float *>(to);
	for (uint32_t c = threadIdx.x; c < count / 4 * s.d; c += THREADS) {
		uint32_t point = c % (count / 4) * 4, k = c / (count / 4);
		copy_async(target + k * count + point,
			   s.panel + ((size_t)(first + point) / 32 * s.d + k) * 32 + (first + point) % 32);
	}
}

template <int DIMS>
static __device__ __forceinline__ void fetch_info(const struct sl_cuda_sammon &s, float *to, uint32_t first)
{
	uint32_t part = threadIdx.x / (SL_SM_COLUMNS / 4), at = threadIdx.x % (SL_SM_COLUMNS / 4) * 4;
	if (part >= DIMS + 2)
		return;
	const float *from = part == DIMS ? s.mass : part > DIMS ? s.norm : s.y + (size_t)part * s.room;
	copy_async(to + part * SL_SM_COLUMNS + at, from + first + at);
}

/* Starts to load stage `number` of a run whose first tile is `from`. A tile has `parts` stages, each with a part of the
 * coordinates; the first one also loads the columns' info. known: distances are in device memory, so no coordinates are
 * loaded. */
template <int DIMS, bool DIRECT>
static __device__ __forceinline__ void fetch(const struct sl_cuda_sammon &s, const struct memory &m, uint32_t block,
					     uint32_t from, uint32_t number, uint32_t parts, bool known)
{
	uint32_t tile = from + number / parts, part = number % parts, live;
	uint32_t column = column_of(s, block, tile, &live);
	char *to = m.columns + number % 2 * m.columns_bytes;
	if (DIRECT && !known)
		fetch_floats(s, to, column, SL_SM_COLUMNS);
	else if (!known)
		fetch_halves(s, to, m.pitch, column, SL_SM_COLUMNS, part * s.wide);
	if (parts > 1)
		fetch_halves(s, m.rows + number % 2 * m.rows_bytes, m.pitch, block * s.step, SL_SM_ROWS, part * s.wide);
	if (part == 0)
		fetch_info<DIMS>(s, m.info + number / parts % 2 * COLUMN_INFO, column);
}

/* ---- squared distances ----------------------------------------------------------------------- */

/* Adds the inner products over a stage's coordinates to acc. acc[f][p][e] belongs to row 16 f + lane / 4 (+ 8 if e >=
 * 2) and column 8 p + 2 (lane % 4) + e % 2 of the warp. */
static __device__ __forceinline__ void multiply(float acc[2][PARTS][4], const struct memory &m, const char *rows,
						const char *columns, uint32_t row, uint32_t column, uint32_t wide)
{
	uint32_t lane = threadIdx.x % 32;
	uint32_t a_at = shared_address(rows) + ((row + lane % 16) * m.pitch + lane / 16 * 8) * 2;
	uint32_t b_at = shared_address(columns) + ((column + lane % 8 + lane / 16 * 8) * m.pitch + lane / 8 % 2 * 8) * 2;
	uint32_t a_low = SL_SM_ROWS * m.pitch * 2, b_low = SL_SM_COLUMNS * m.pitch * 2;
	for (uint32_t k = 0; k < wide; k += 16) {
		uint32_t a[2][2][4], b[2][PARTS / 2][4];  /* high, low */
#pragma unroll
		for (int f = 0; f < 2; f++) {
			load_matrices(a[0][f], a_at + (f * 16 * m.pitch + k) * 2);
			load_matrices(a[1][f], a_at + (f * 16 * m.pitch + k) * 2 + a_low);
		}
#pragma unroll
		for (int p = 0; p < PARTS / 2; p++) {
			load_matrices(b[0][p], b_at + (p * 16 * m.pitch + k) * 2);
			load_matrices(b[1][p], b_at + (p * 16 * m.pitch + k) * 2 + b_low);
		}
#pragma unroll
		for (int pass = 0; pass < 3; pass++)
#pragma unroll
			for (int f = 0; f < 2; f++)
#pragma unroll
				for (int p = 0; p < PARTS; p++)
					multiply_matrices(acc[f][p], a[pass == 0][f], b[pass == 1][p / 2] + p % 2 * 2, acc[f][p]);
	}
}

/* Returns the squared distance of points i and j from differences of coordinates, where inner products would cancel. */
static __device__ __noinline__ float exact_square(const float *panel, uint32_t d, uint32_t i, uint32_t j)
{
	const float *a = panel + (size_t)(i / 32) * d * 32 + i % 32, *b = panel + (size_t)(j / 32) * d * 32 + j % 32;
	float sum = 0;
	for (uint32_t k = 0; k < d; k++) {
		float off = a[(size_t)k * 32] - b[(size_t)k * 32];
		sum = fmaf(off, off, sum);
	}
	return sum;
}

/* Computes the squared distances of a thread's rows and two columns from differences of coordinates [d][points]. */
static __device__ __forceinline__ void direct_squares(float square[ROWS][2], const char *rows, const char *columns,
						      uint32_t row, uint32_t column, uint32_t d)
{
	const float *a = reinterpret_cast<const float *>(rows) + row;
	const float *b = reinterpret_cast<const float *>(columns) + column;
#pragma unroll
	for (int r = 0; r < ROWS; r++)
		square[r][0] = square[r][1] = 0;
	for (uint32_t k = 0; k < d; k++) {
		float2 c = *reinterpret_cast<const float2 *>(b + k * SL_SM_COLUMNS);
#pragma unroll
		for (int r = 0; r < ROWS; r++) {
			float x = a[k * SL_SM_ROWS + r * 8];
			square[r][0] = fmaf(x - c.x, x - c.x, square[r][0]);
			square[r][1] = fmaf(x - c.y, x - c.y, square[r][1]);
		}
	}
}

/* Returns the address of a thread's eight squared distances in part `part` of a tile, if distances are kept. */
static __device__ __forceinline__ float4 *kept_at(const struct sl_cuda_sammon &s, uint64_t tile, int part)
{
	return reinterpret_cast<float4 *>(s.kept) + (tile * PARTS + part) * 2 * THREADS + threadIdx.x;
}

static __device__ __forceinline__ void keep(const struct sl_cuda_sammon &s, uint64_t tile, int part,
					    const float square[ROWS][2])
{
	float4 *to = kept_at(s, tile, part);
	to[0] = make_float4(square[0][0], square[0][1], square[1][0], square[1][1]);
	to[THREADS] = make_float4(square[2][0], square[2][1], square[3][0], square[3][1]);
}

/* Loads a tile's kept distances, in the layout of multiply()'s products. */
static __device__ __forceinline__ void take_kept(const struct sl_cuda_sammon &s, uint64_t tile, float out[2][PARTS][4])
{
#pragma unroll
	for (int part = 0; part < PARTS; part++)
#pragma unroll
		for (int f = 0; f < 2; f++) {
			float4 four = kept_at(s, tile, part)[f * THREADS];
			out[f][part][0] = four.x;
			out[f][part][1] = four.y;
			out[f][part][2] = four.z;
			out[f][part][3] = four.w;
		}
}

/* ---- pairs ------------------------------------------------------------------------------------ */

/* Adds a pair's force to its row's sums and the opposite force to its column's; curvatures and weights are added to
 * both. Returns w (D - d)^2, or w D^2 if DIMS is 0. far_square: D^2. */
template <int DIMS, bool CURVE>
static __device__ __forceinline__ float add_pair(float far_square, float mass, bool metric, const float *y_row,
						 const float *y_column, struct sums<DIMS, CURVE> *row,
						 struct sums<DIMS, CURVE> *column)
{
	bool some = far_square > 0;
	float far_inverse = reciprocal_root(some ? far_square : 1.0f), far = far_square * far_inverse;
	float w = some ? (metric ? mass : far_inverse * mass) : 0.0f;
	if constexpr (DIMS == 0) {
		row->value[0] += w;
		column->value[0] += w;
		return some ? w * far * far : 0.0f;
	} else {
		float away[DIMS], square = 0;
#pragma unroll
		for (int q = 0; q < DIMS; q++) {
			away[q] = y_row[q] - y_column[q];
			square = fmaf(away[q], away[q], square);
		}
		bool apart = square > SL_SM_NEAREST;
		float inverse = reciprocal_root(apart ? square : 1.0f);
		float near = apart ? square * inverse : 0.0f, pull = apart ? w * (far * inverse) : 0.0f;
		float off = far - near, c = w - pull, bend = pull * inverse * inverse;
#pragma unroll
		for (int q = 0; q < DIMS; q++) {
			row->value[q] = fmaf(c, away[q], row->value[q]);
			column->value[q] = fmaf(-c, away[q], column->value[q]);
			if (CURVE) {
				float h = fmaf(bend * away[q], away[q], c);
				row->value[DIMS + q] += h;
				column->value[DIMS + q] += h;
			}
		}
		return w * off * off;
	}
}

/* Adds up the sums of two columns over the eight threads of a warp that have these columns; each of the eight threads
 * then stores one of every eight sums. to: [values][SL_SM_COLUMNS] of the warp's band, at the first column. */
template <int DIMS, bool CURVE>
static __device__ __forceinline__ void put_columns(const struct sums<DIMS, CURVE> sum[2], float *to)
{
	const int count = sums<DIMS, CURVE>::count;
	uint32_t lane = threadIdx.x % 32;
#pragma unroll
	for (int from = 0; from < 2 * count; from += 8) {
		float v[8];
#pragma unroll
		for (int i = 0; i < 8; i++)
			v[i] = from + i < 2 * count ? sum[(from + i) / count % 2].value[(from + i) % count] : 0.0f;
#pragma unroll
		for (int half = 4; half; half /= 2) {
			bool upper = lane & half * 4;
#pragma unroll
			for (int i = 0; i < half; i++) {
				float keep = upper ? v[i + half] : v[i], send = upper ? v[i] : v[i + half];
				v[i] = keep + __shfl_xor_sync(~0u, send, half * 4);
			}
		}
		int mine = from + (int)(lane / 4);
		if (mine < 2 * count)
			to[mine % count * SL_SM_COLUMNS + mine / count] = v[0];
	}
}

/* A thread's rows. */
template <int DIMS> struct own_rows {
	float y[ROWS][DIMS ? DIMS : 1];
	float mass[ROWS], norm[ROWS];
};

template <int DIMS>
static __device__ __forceinline__ void take_rows(const struct sl_cuda_sammon &s, uint32_t first, uint32_t row,
						 struct own_rows<DIMS> *out)
{
#pragma unroll
	for (int r = 0; r < ROWS; r++) {
		uint32_t at = row + r * 8;
		out->mass[r] = at < s.step ? s.mass[first + at] : 0.0f;
		out->norm[r] = s.norm[first + at];
#pragma unroll
		for (int q = 0; q < DIMS; q++)
			out->y[r][q] = s.y[(size_t)q * s.room + first + at];
	}
}

/* Returns the sum of x over the four threads that have the same row. */
template <class T> static __device__ __forceinline__ T of_four(T x)
{
	x += __shfl_xor_sync(~0u, x, 1);
	return x + __shfl_xor_sync(~0u, x, 2);
}

/* ---- the kernel --------------------------------------------------------------------------------- */

/* Processes one run of tiles of a block of rows. DIMS 0: sums weights instead of forces. DIRECT: computes all distances
 * from differences of coordinates. Grid: (runs, blocks). */
template <int DIMS, bool CURVE, bool DIRECT>
static __global__ void __launch_bounds__(THREADS, 2) pairs(const __grid_constant__ struct sl_cuda_sammon s)
{
	extern __shared__ __align__(128) char shared[];
	const int values = sums<DIMS, CURVE>::count;
	struct memory m;
	lay_out(s, values, shared, &m);
	uint32_t block = s.first + blockIdx.y, first = block * s.step;
	bool known = s.kept && block < s.known;
	uint32_t parts = known || DIRECT ? 1 : (s.depth - 1) / s.wide + 1;
	uint32_t tiles = tiles_of(s, block), from = blockIdx.x * s.run, to = min(from + s.run, tiles);
	if (from >= tiles)
		return;
	uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32;
	uint32_t row = warp % BANDS * 32, column = warp / BANDS * 32;  /* first row and column of the warp */
	struct own_rows<DIMS> own;
	struct sums<DIMS, CURVE> row_sum[ROWS] = {};
	float total = 0;

	if (DIRECT && !known)
		fetch_floats(s, m.rows, first, SL_SM_ROWS);
	else if (parts == 1 && !known)
		fetch_halves(s, m.rows, m.pitch, first, SL_SM_ROWS, 0);
	fetch<DIMS, DIRECT>(s, m, block, from, 0, parts, known);
	copies_commit();
	take_rows<DIMS>(s, first, row + lane / 4, &own);

	uint32_t stage = 0, stages = (to - from) * parts;
	for (uint32_t tile = from; tile < to; tile++) {
		float acc[2][PARTS][4] = {}, of_tile = 0;
		const char *columns = m.columns;
		for (uint32_t part = 0; part < parts; part++, stage++) {
			copies_wait<0>();
			__syncthreads();
			if (stage + 1 < stages)
				fetch<DIMS, DIRECT>(s, m, block, from, stage + 1, parts, known);
			copies_commit();
			columns = m.columns + stage % 2 * m.columns_bytes;
			if (!DIRECT && !known)
				multiply(acc, m, m.rows + (parts > 1 ? stage % 2 * m.rows_bytes : 0), columns, row, column,
					 min(s.wide, s.depth - part * s.wide));
		}
		uint64_t number = sl__cuda_sammon_tiles_before(s.n, block) + tile;
		if (known)
			take_kept(s, number, acc);
		uint32_t live, start = column_of(s, block, tile, &live);
		const float *info = m.info + (tile - from) % 2 * COLUMN_INFO;
		bool both = !s.partners && start >= first + SL_SM_ROWS;
#pragma unroll
		for (int p = 0; p < PARTS; p++) {
			uint32_t at = column + p * 8 + lane % 4 * 2;
			float square[ROWS][2], mass[2], y[2][DIMS ? DIMS : 1];
			struct sums<DIMS, CURVE> column_sum[2] = {};
#pragma unroll
			for (int e = 0; e < 2; e++) {
				mass[e] = at + e < live ? info[DIMS * SL_SM_COLUMNS + at + e] : 0.0f;
#pragma unroll
				for (int q = 0; q < DIMS; q++)
					y[e][q] = info[q * SL_SM_COLUMNS + at + e];
			}
			if (known) {
#pragma unroll
				for (int r = 0; r < ROWS; r++)
#pragma unroll
					for (int e = 0; e < 2; e++)
						square[r][e] = acc[r / 2][p][r % 2 * 2 + e];
			} else if (DIRECT) {
				direct_squares(square, m.rows, columns, row + lane / 4, at, s.d);
			} else {
				bool cancels = false;
#pragma unroll
				for (int r = 0; r < ROWS; r++)
#pragma unroll
					for (int e = 0; e < 2; e++) {
						float sum = own.norm[r] + info[(DIMS + 1) * SL_SM_COLUMNS + at + e];
						square[r][e] = fmaf(acc[r / 2][p][r % 2 * 2 + e], -2 / (SL_SM_UNIT * SL_SM_UNIT), sum);
						cancels |= square[r][e] < SL_SM_CANCELS * sum;
					}
				if (cancels) {
#pragma unroll
					for (int r = 0; r < ROWS; r++)
#pragma unroll
						for (int e = 0; e < 2; e++)
							if (square[r][e] < SL_SM_CANCELS *
							    (own.norm[r] + info[(DIMS + 1) * SL_SM_COLUMNS + at + e]))
								square[r][e] = exact_square(s.panel, s.d, first + row + lane / 4 + r * 8,
											    start + at + e);
				}
			}
			if (s.kept && !known)
				keep(s, number, p, square);
#pragma unroll
			for (int r = 0; r < ROWS; r++)
#pragma unroll
				for (int e = 0; e < 2; e++)
					of_tile += add_pair<DIMS, CURVE>(square[r][e], own.mass[r] * mass[e], s.metric, own.y[r], y[e],
									 &row_sum[r], &column_sum[e]);
			if (both)
				put_columns<DIMS, CURVE>(column_sum, m.sums + warp % BANDS * values * SL_SM_COLUMNS +
							 column + p * 8 + lane % 4 * 2);
		}
		total += both ? of_tile : 0.5f * of_tile;
		if (!both)
			continue;
		__syncthreads();
		for (uint32_t c = threadIdx.x; c < values * SL_SM_COLUMNS; c += THREADS) {
			float sum = 0;
#pragma unroll
			for (int band = 0; band < BANDS; band++)
				sum += m.sums[band * values * SL_SM_COLUMNS + c];
			s.column_part[((size_t)blockIdx.y * values + c / SL_SM_COLUMNS) * s.room + start + c % SL_SM_COLUMNS] = sum;
		}
	}

	__syncthreads();
#pragma unroll
	for (int r = 0; r < ROWS; r++)
#pragma unroll
		for (int v = 0; v < values; v++) {
			float sum = of_four(row_sum[r].value[v]);
			if (lane % 4 == 0)
				m.sums[(warp / BANDS * values + v) * SL_SM_ROWS + row + lane / 4 + r * 8] = sum;
		}
	double sum = block_sum((double)total);
	size_t number = (size_t)blockIdx.y * s.runs + blockIdx.x;
	if (threadIdx.x == 0)
		s.sum_part[number] = sum;
	for (uint32_t c = threadIdx.x; c < values * SL_SM_ROWS; c += THREADS)
		s.row_part[number * values * SL_SM_ROWS + c] = m.sums[c] + m.sums[values * SL_SM_ROWS + c];
}

/* ---- launches ------------------------------------------------------------------------------------- */

template <int DIMS, bool CURVE, bool DIRECT> static cudaError_t allow()
{
	struct sl_cuda_sammon deepest = {};
	struct memory m;
	deepest.d = SL_SM_MOST;
	deepest.depth = deepest.wide = SL_SM_COLUMNS;
	deepest.differences = DIRECT;
	size_t bytes = lay_out(deepest, sums<DIMS, CURVE>::count, NULL, &m);
	return allow_shared(bytes, -1, pairs<DIMS, CURVE, DIRECT>);
}

template <int DIMS, bool CURVE> static cudaError_t allow_both()
{
	return first_error(allow<DIMS, CURVE, false>(), allow<DIMS, CURVE, true>());
}

cudaError_t sl__cuda_sammon_init(void)
{
	return first_error(allow_both<0, false>(), allow_both<1, false>(), allow_both<2, false>(), allow_both<3, false>(),
			   allow_both<1, true>(), allow_both<2, true>(), allow_both<3, true>());
}

template <int DIMS, bool CURVE> static cudaError_t go(const struct sl_cuda_sammon *s, uint32_t count,
						      cudaStream_t stream)
{
	dim3 grid(s->runs, count);
	struct memory m;
	size_t bytes = lay_out(*s, sums<DIMS, CURVE>::count, NULL, &m);
	if (s->differences)
		pairs<DIMS, CURVE, true><<<grid, THREADS, bytes, stream>>>(*s);
	else
		pairs<DIMS, CURVE, false><<<grid, THREADS, bytes, stream>>>(*s);
	return cudaGetLastError();
}

template <int DIMS> static cudaError_t go_dims(const struct sl_cuda_sammon *s, uint32_t count, cudaStream_t stream)
{
	return s->curve ? go<DIMS, true>(s, count, stream) : go<DIMS, false>(s, count, stream);
}

cudaError_t sl__cuda_sammon_pairs(const struct sl_cuda_sammon *s, uint32_t count, bool weights, cudaStream_t stream)
{
	cudaError_t status = weights ? go<0, false>(s, count, stream) : s->dims == 1 ? go_dims<1>(s, count, stream) :
			     s->dims == 2 ? go_dims<2>(s, count, stream) : go_dims<3>(s, count, stream);
	return status == cudaSuccess ? sl__cuda_sammon_sums(s, count, weights, stream) : status;
}
