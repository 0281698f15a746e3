/* cube_shapes.cuh -- the lengths that cube.cu transforms, and how threads and blocks share their lines. */
#ifndef SL_GPU_CUBE_SHAPES_CUH
#define SL_GPU_CUBE_SHAPES_CUH

#define LONGEST 640
#define ODD_PARTS 4
#include "core/sides.h"
#include "gpu/fft/line.cuh"

#include <type_traits>

#define ABREAST 16        /* lines along z, and in large planes */
#define ABREAST_SMALL 8   /* lines in small planes; fewer lines give more blocks */
#define SMALL 192         /* up to this length */

/* For each length: the radices of rows, the number of pairs of rows in a block, and the radices of columns. */
template <int N> struct row_shape;
template <int N> struct plane_shape;  /* lines along y */
template <int N> struct deep_shape;   /* along z */
template <int N> struct wide_shape;   /* columns in double precision */
#define SHAPE(n, e, b, c, d, pairs, f, g, h, i) \
	template <> struct row_shape<n> : cut<n, e, b, c, d> { \
		/* float2 of shared memory per line, so that adjacent lines use different banks */ \
		static const int PAIRS = pairs, THREADS = T * pairs, LINE = (SPREAD + 15) / 16 * 16 + (T < 16 ? T : 0); \
		static const int BYTES = PAIRS * LINE * 8; \
		static_assert(THREADS % 32 == 0 && n / 2 % T == 0, "whole warps"); \
	}; \
	template <> struct plane_shape<n> : columns<n, f, g, h, i, n <= SMALL ? ABREAST_SMALL : ABREAST, 768> {}; \
	template <> struct deep_shape<n> : columns<n, f, g, h, i, ABREAST, f < 20 ? 768 : 512> { \
		static const bool TWINS = n >= 256;  /* one block transforms frequencies y and -y, whose kernel is the same */ \
	}; \
	template <> struct wide_shape<n> : cut<n, f, g, h, i, 8> { \
		static const int THREADS = T * 8, BYTES = SPREAD * 16; \
	}

/* Adjacent lines. WAVE: blocks for each of 132 multiprocessors, if all are to run at once. FIT: blocks that a
 * multiprocessor should hold, limited by the registers of `threads` threads. */
template <int n, int e, int b, int c, int d, int lanes, int threads> struct columns : cut<n, e, b, c, d, lanes> {
	static const int THREADS = n / e * lanes, BYTES = cut<n, e, b, c, d, lanes>::SPREAD * 8;
	static const int WAVE = ((n + 1) * ((n / 2 + lanes - 1) / lanes) + 131) / 132;
	static const int MOST = threads / THREADS, FIT = MOST < WAVE ? MOST : WAVE;
	static const bool LATE = WAVE > MOST;
};

/* If more warps wait than fit, they hide latency: load the twiddle factors just before use, which saves registers. */
template <class S>
using column_factors = std::conditional_t<S::LATE, late_factors<S, float2>, all_factors<S, float2>>;

SHAPE(48, 12, 4, 1, 1, 32, 12, 4, 1, 1);
SHAPE(64, 8, 8, 1, 1, 16, 8, 8, 1, 1);
SHAPE(80, 20, 4, 1, 1, 32, 20, 4, 1, 1);
SHAPE(96, 12, 4, 2, 1, 16, 12, 4, 2, 1);
SHAPE(128, 16, 8, 1, 1, 16, 16, 8, 1, 1);
SHAPE(144, 12, 12, 1, 1, 8, 12, 12, 1, 1);
SHAPE(160, 20, 4, 2, 1, 16, 20, 4, 2, 1);
SHAPE(192, 12, 4, 4, 1, 8, 24, 8, 1, 1);
SHAPE(256, 16, 16, 1, 1, 8, 16, 16, 1, 1);
SHAPE(288, 24, 12, 1, 1, 8, 24, 12, 1, 1);
SHAPE(320, 20, 4, 4, 1, 8, 20, 4, 4, 1);
SHAPE(384, 12, 4, 4, 2, 4, 24, 8, 2, 1);
SHAPE(512, 16, 16, 2, 1, 4, 16, 16, 2, 1);
SHAPE(640, 20, 4, 4, 2, 4, 20, 4, 4, 2);
#define FOR_EACH_PADDED(call) \
	call(48) call(64) call(80) call(96) call(128) call(144) call(160) call(192) call(256) call(320) call(384) \
	call(512) call(640)
#define FOR_EACH_OTHER(call) \
	call(64) call(80) call(96) call(128) call(144) call(160) call(192) call(256) call(288) call(320) call(384)
#define FOR_EACH_LENGTH(call) FOR_EACH_PADDED(call) call(288)
/* The lengths of far grids. */
#define FOR_EACH_FAR(call) call(48) call(64) call(80) call(96) call(128) call(144) call(160) call(192)

#define IS(n) || length == n
static constexpr bool is_padded(int length) { return false FOR_EACH_PADDED(IS); }
static constexpr bool is_near(int length) { return false FOR_EACH_OTHER(IS); }
static constexpr bool is_far(int length) { return false FOR_EACH_FAR(IS); }
#undef IS
#define CHECK(side) static_assert(is_padded(2 * side), "a side without its transform");
SL_SIDES_3D(CHECK)
SL_SIDES_SMOOTH_3D(CHECK)
#undef CHECK
#define CHECK(side, coarse) static_assert(is_near(side) && is_far(2 * coarse), "a pair without its transforms");
SL_PAIRS_3D(CHECK)
#undef CHECK

/* PADDED: the upper half of each line is zero before and unused after; the grid's side is N / 2. Else it is N. */
template <int N, bool PADDED> struct extent {
	static const int SIDE = PADDED ? N / 2 : N, HALF = N / 2, PLANE = N * (HALF + 1), LAST = N * HALF;
	static const int ROW_BLOCKS = SIDE * SIDE / 2 / row_shape<N>::PAIRS;
	/* chunks of a row, and blocks; rows that have blocks along z */
	static const int ACROSS = plane_shape<N>::LANES, PLANE_CHUNKS = (HALF + ACROSS - 1) / ACROSS;
	static const int PLANE_BLOCKS = SIDE * PLANE_CHUNKS + (SIDE + ACROSS - 1) / ACROSS;
	static const int CHUNKS = (HALF + ABREAST - 1) / ABREAST, DEEP = deep_shape<N>::TWINS ? HALF + 1 : N;
	static const int DEEP_BLOCKS = DEEP * CHUNKS + (N + ABREAST - 1) / ABREAST;
	static_assert(SIDE * SIDE / 2 % row_shape<N>::PAIRS == 0, "blocks are full");
	static_assert(DEEP_BLOCKS <= SL_LEVEL_PARTS, "room for the sums");
};

#endif
