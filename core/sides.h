/* sides.h -- all allowed numbers of grid nodes along a side: the range for the user's `grid_side` (core/params.c), the
 * range for the CPU (core/grid/grid.c), and the lists for the GPU (gpu/embedding/choice.c), which has its own
 * transforms of these lengths (gpu/fft/square.cu, cube.cu). All are products of 2, 3 and 5, whose transforms are fast.
 * The lists are short, so that a run seldom changes its grid. Assertions here and beside the transforms check that they
 * agree. */
#ifndef SL_SIDES_H
#define SL_SIDES_H

#ifdef __cplusplus
#define SL_SIDES_ASSERT static_assert
#else
#define SL_SIDES_ASSERT _Static_assert
#endif

/* The arrays below are indexed by the number of dimensions, 0 to 3. The range of `grid_side`: */
#define SL_SIDE_ASKED_LEAST 8
#define SL_SIDES_ASKED_MOST {0, 16384, 8192, 512}

/* The range for the CPU, of padded grids and of the near grid of a pair. Within it the side is any product of 2, 3 and
 * 5 that is a multiple of 8 (3-D: of 2). */
#define SL_SIDES_LEAST {0, 64, 24, 16}
#define SL_SIDES_MOST {0, 1 << 20, 4096, 320}
#define SL_SIDES_NEAR_LEAST {0, 0, 64, 32}
#define SL_SIDES_NEAR_MOST {0, 0, 4096, 512}

/* The GPU's padded grids; a transform is twice as long as the side. In 1-D cuFFT computes them. */
#define SL_SIDES_1D(X) \
	X(64) X(128) X(256) X(512) X(1024) X(2048) X(4096) X(8192) X(16384) X(32768) X(65536) X(131072) X(262144) \
	X(524288) X(1048576)
#define SL_SIDES_2D(X) \
	X(32) X(64) X(128) X(192) X(256) X(384) X(512) X(768) X(1024) X(1536) X(2048) X(3072) X(4096)
#define SL_SIDES_3D(X) X(32) X(40) X(48) X(64) X(80) X(96) X(128) X(160) X(192) X(256) X(320)
/* Padded grids for the smooth part of the kernel, where pairs within a cut-off are summed directly. Those beyond 2,048
 * nodes a side are for layouts of millions of nodes (gpu/embedding/choice.c). */
#define SL_SIDES_SMOOTH_2D(X) \
	X(128) X(192) X(256) X(320) X(384) X(512) X(640) X(768) X(1024) X(1280) X(1536) X(2048) \
	X(3072) X(4096) X(6144) X(8192)
#define SL_SIDES_SMOOTH_3D(X) X(24) X(32) X(40) X(48) X(64) X(72) X(80) X(96) X(128)
/* Pairs of grids: the near one, which is not padded, and the far one, which is. 1-D has no pairs, because its
 * transforms cost little. In 2-D, cuFFT computes transforms longer than 4,096. */
#define SL_PAIRS_2D(X) \
	X(768, 128) X(1024, 192) X(1280, 256) X(1536, 256) X(2048, 384) X(2560, 512) X(3072, 512) X(4096, 768) \
	X(6144, 1024) X(8192, 1280)
#define SL_PAIRS_3D(X) \
	X(64, 24) X(80, 32) X(96, 32) X(128, 40) X(144, 48) X(160, 48) X(192, 64) X(256, 64) X(288, 72) X(320, 80) \
	X(384, 96)

/* A side up to 2^20 is a product of 2, 3 and 5 if it divides this. */
#define SL_SIDE_IS_FAST(side) ((1ull << 20) * 59049ull * 15625ull % (side) == 0)
#define SL_SIDE_CHECK(side, least, most) \
	SL_SIDES_ASSERT(SL_SIDE_IS_FAST(side) && (side) % 8 == 0, "its transform is slow"); \
	SL_SIDES_ASSERT((side) >= (least) && (side) <= (most), "no grid has this side");
/* A far grid is at least three times coarser than the near one; only the margins of small grids make it finer. */
#define SL_PAIR_CHECK(side, coarse, least, most) \
	SL_SIDE_CHECK(side, least, most) \
	SL_SIDES_ASSERT(SL_SIDE_IS_FAST(coarse) && 5 * (coarse) <= 2 * (side), "the far grid is too fine");
#define SL_SIDE_CHECK_1D(side) SL_SIDE_CHECK(side, 64, 1 << 20)
#define SL_SIDE_CHECK_2D(side) SL_SIDE_CHECK(side, 24, 4096)
#define SL_SIDE_CHECK_SMOOTH(side) SL_SIDE_CHECK(side, 24, 8192)
#define SL_SIDE_CHECK_3D(side) SL_SIDE_CHECK(side, 16, 320)
#define SL_PAIR_CHECK_2D(side, coarse) SL_PAIR_CHECK(side, coarse, 64, 8192)
#define SL_PAIR_CHECK_3D(side, coarse) SL_PAIR_CHECK(side, coarse, 32, 512)
SL_SIDES_1D(SL_SIDE_CHECK_1D)
SL_SIDES_2D(SL_SIDE_CHECK_2D)
SL_SIDES_3D(SL_SIDE_CHECK_3D)
SL_SIDES_SMOOTH_2D(SL_SIDE_CHECK_SMOOTH)
SL_SIDES_SMOOTH_3D(SL_SIDE_CHECK_3D)
SL_PAIRS_2D(SL_PAIR_CHECK_2D)
SL_PAIRS_3D(SL_PAIR_CHECK_3D)

#endif
