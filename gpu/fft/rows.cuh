/* rows.cuh -- the shapes of the 2-D convolution's blocks, and the work of its row kernels besides transforms. */
#ifndef SL_GPU_FFT_ROWS_CUH
#define SL_GPU_FFT_ROWS_CUH

#define LONGEST 4096
#define ODD_PARTS 3
#include "core/sides.h"
#include "gpu/fft/line.cuh"

/* ---- shapes ------------------------------------------------------------------------------------- */

/* Pairs of rows in a block; the columns of a block have at least 64 threads. */
template <int N> struct shape;
#define SHAPE(n, e, b, c, d, pairs) \
	template <> struct shape<n> : cut<n, e, b, c, d> { \
		static const int PAIRS = pairs, LINES = T < 64 ? 64 / T : 1; \
		/* blocks of columns that should fit on one of 132 multiprocessors, registers permitting */ \
		static const int WAVE = (n / 2 / LINES + 132) / 132, MOST = 512 / (T * LINES); \
		static const int FIT = MOST < WAVE ? MOST : WAVE; \
		/* float2 of shared memory per line, so that adjacent lines use different banks; RAW: for a row's charges */ \
		static const int LINE = (SPREAD + 15) / 16 * 16 + 16 / pairs, RAW = n + n / (T < 8 ? T : 8); \
		static const int ROW_BYTES = PAIRS * LINE * 8, FEED_BYTES = PAIRS * (LINE + RAW) * 8; \
		static const int COLUMN_BYTES = LINES * LINE * 8, COSINE_BYTES = 2 * COLUMN_BYTES; \
	}
SHAPE(64, 8, 8, 1, 1, 4);
SHAPE(128, 8, 4, 4, 1, 4);
SHAPE(192, 12, 4, 4, 1, 2);
SHAPE(256, 8, 8, 4, 1, 2);
SHAPE(320, 20, 4, 4, 1, 2);
SHAPE(384, 12, 4, 4, 2, 2);
SHAPE(512, 8, 8, 8, 1, 2);
SHAPE(640, 20, 4, 4, 2, 2);
SHAPE(768, 12, 4, 4, 4, 2);
SHAPE(1024, 32, 32, 1, 1, 4);
SHAPE(1280, 40, 8, 4, 1, 2);
SHAPE(1536, 24, 8, 8, 1, 2);
SHAPE(2048, 32, 8, 8, 1, 2);
SHAPE(2560, 40, 8, 8, 1, 2);
SHAPE(3072, 24, 8, 8, 2, 1);
SHAPE(4096, 32, 16, 8, 1, 1);
/* The lengths of padded grids, and those of the near and the far grids of pairs. */
#define FOR_EACH_PADDED(call) \
	call(64) call(128) call(192) call(256) call(320) call(384) call(512) call(640) call(768) call(1024) call(1280) \
	call(1536) call(2048) call(2560) call(3072) call(4096)
#define FOR_EACH_NEAR(call) \
	call(768) call(1024) call(1280) call(1536) call(2048) call(2560) call(3072) call(4096)
#define FOR_EACH_FAR(call) \
	call(256) call(384) call(512) call(768) call(1024) call(1536) call(2048) call(2560)

#define IS(n) || length == n
static constexpr bool is_padded(int length) { return false FOR_EACH_PADDED(IS); }
static constexpr bool is_near(int length) { return false FOR_EACH_NEAR(IS); }
static constexpr bool is_far(int length) { return false FOR_EACH_FAR(IS); }
#undef IS
#define CHECK(side) static_assert(2 * side > LONGEST || is_padded(2 * side), "a side without its transform");
SL_SIDES_2D(CHECK)
SL_SIDES_SMOOTH_2D(CHECK)
#undef CHECK
#define CHECK(side, coarse) \
	static_assert((side > LONGEST || is_near(side)) && is_far(2 * coarse), "a pair without its transforms");
SL_PAIRS_2D(CHECK)
#undef CHECK

/* PADDED: the upper half of each line is zero before and unused after; the grid's side is N / 2. Else it is N. */
template <int N, bool PADDED> struct extent {
	static const int SIDE = PADDED ? N / 2 : N, E = PADDED ? shape<N>::E / 2 : shape<N>::E;
	/* shared memory of the block that needs most */
	static const int BYTES = PADDED ? shape<N>::COSINE_BYTES : shape<N>::FEED_BYTES;
	static_assert(SIDE / 2 % shape<N>::PAIRS == 0, "blocks are full");
	static_assert(BYTES >= shape<N>::ROW_BYTES && BYTES >= shape<N>::COLUMN_BYTES, "the most");
};

/* A barrier for some warps of a block. */
static __device__ __forceinline__ void threads_sync(int threads)
{
	barrier(15, threads);
}

/* Writes the transforms of P pairs of rows from shared memory to the spectrum. row: the first of these rows.
 * A column of the spectrum has `side` numbers. */
template <class S, int P>
static __device__ __forceinline__ void part_rows(const float2 *shared, int row, float2 *spectrum, int side)
{
	const int T = S::T, HALF = S::N / 2, STEP = T + T / S::PAD;
	int pair = (int)threadIdx.x % P, k = (int)threadIdx.x / P;  /* and every T-th from there on */
	const float2 *line = shared + pair * S::LINE, *low = line + place<S>(k), *high = line + place<S>(S::N - k);
	float4 *out = (float4 *)(spectrum + (size_t)k * side + row) + pair;
#pragma unroll
	for (int i = 0; i < HALF / T; i++)
		out[(size_t)i * T * side / 2] = parted(low[i * STEP], i || k ? high[-i * STEP] : low[0]);
	if (k == 0)
		out[(size_t)HALF * side / 2] = parted(line[place<S>(HALF)], line[place<S>(HALF)]);
}

/* The charges in shared memory: two pairs of rows side by side, or one if the block has only one. Number x lies at
 * raw_place(x), which avoids bank conflicts: threads that restrict rows read about every fifth or sixth number. */
template <int N> struct raw {
	static const int SIDE_BY_SIDE = shape<N>::PAIRS > 1 ? 2 : 1, GAP = shape<N>::T < 8 ? shape<N>::T : 8;
};
template <int N> static __device__ __forceinline__ int raw_place(int x)
{
	return (x + x / raw<N>::GAP) * raw<N>::SIDE_BY_SIDE;
}

/* Spreads pairs of rows from shared memory over the coarse grid along x. Each of FEEDERS threads takes a column for all
 * rows and holds TAPS weights in registers; it loads the first of them before the charges arrive. */
#define FEEDERS 96
#define TAPS 40
template <int N>
static __device__ __forceinline__ void
restrict_rows(const float2 *charges, int t, int row, float *half, int coarse, const struct sl_level *far,
	      const struct sl_report *r)
{
	typedef shape<N> S;
	const int P = S::PAIRS, W = raw<N>::SIDE_BY_SIDE, taps = far->gather_taps;
	for (int x = t; x < coarse || x == t; x += FEEDERS) {
		int first = x < coarse ? far->gather_first[x] : 0;
		float2 sum[P];
#pragma unroll
		for (int p = 0; p < P; p++)
			sum[p] = make_float2(0, 0);
		for (int from = 0; from < taps; from += TAPS) {
			float weight[TAPS];
#pragma unroll
			for (int k = 0; k < TAPS; k++)
				weight[k] = from + k < taps && x < coarse ? far->gather_weight[(from + k) * coarse + x] : 0;
			if (x == t && !from) {
				await_previous();
				__syncthreads();
			}
#pragma unroll
			for (int k = 0; k < TAPS; k++) {
				if (k % 2 == 0 && from + k >= taps)
					break;
				const float2 *at = charges + raw_place<N>(min(first + from + k, N - 1));
#pragma unroll
				for (int p = 0; p < P; p += W) {
					float4 c;
					if (W == 2)
						c = *(const float4 *)(at + p * S::RAW);
					else
						c = make_float4(at[p * S::RAW].x, at[p * S::RAW].y, 0, 0);
					sum[p].x = fmaf(weight[k], c.x, sum[p].x);
					sum[p].y = fmaf(weight[k], c.y, sum[p].y);
					if (W == 2) {
						sum[p + W - 1].x = fmaf(weight[k], c.z, sum[p + W - 1].x);
						sum[p + W - 1].y = fmaf(weight[k], c.w, sum[p + W - 1].y);
					}
				}
			}
		}
		if (x >= coarse || r->state != SL_GO)
			return;
#pragma unroll
		for (int p = 0; p < P; p++) {
			half[(size_t)(row + 2 * p) * coarse + x] = sum[p].x;
			half[(size_t)(row + 2 * p + 1) * coarse + x] = sum[p].y;
		}
	}
}

#endif
