/* sides.h -- the sides of grids that layouts get, from which embedding/choice.c chooses and for which square.cu and
 * cube.cu have transforms. Both assert that they agree. Sides have fast transforms and are few, so that a run changes
 * them rarely. */
#ifndef SL_GPU_SIDES_H
#define SL_GPU_SIDES_H

/* Padded grids: their transforms are twice as long. In 2-D those beyond 4,096 are cuFFT's. */
#define SL_SIDES_2D(X) \
	X(32) X(64) X(128) X(192) X(256) X(384) X(512) X(768) X(1024) X(1536) X(2048) X(3072) X(4096)
#define SL_SIDES_3D(X) X(32) X(40) X(48) X(64) X(80) X(96) X(128) X(160) X(192) X(256) X(320)
/* Smooth grids (3-D, padded), beside which pairs are summed. */
#define SL_SIDES_SMOOTH(X) X(24) X(32) X(40) X(48) X(64) X(72) X(80) X(96) X(128)
/* Pairs of grids: the near one, which is not padded, and the far one, which is. None in 1-D, where transforms cost
 * little. */
#define SL_PAIRS_2D(X) \
	X(768, 128) X(1024, 192) X(1280, 256) X(1536, 256) X(2048, 384) X(2560, 512) X(3072, 512) X(4096, 768) \
	X(6144, 1024) X(8192, 1280)
#define SL_PAIRS_3D(X) \
	X(64, 24) X(80, 32) X(96, 32) X(128, 40) X(144, 48) X(160, 48) X(192, 64) X(256, 64) X(288, 72) X(320, 80) \
	X(384, 96)

#endif
