/* fft.h -- the convolution of charges with the kernel, by our own transforms: square.cu in 2-D, cube.cu in 3-D.
 *
 * Each launcher queues its kernels on a stream and returns cudaSuccess or the launch's error; none waits, allocates
 * or reads device memory, so all can be captured in a CUDA graph. Every sum has a fixed order: equal input gives
 * equal bytes. Tests and benches: tests/gpu/test_fft.c, tests/gpu/test_fft_cube.c (`bench`). */
#ifndef SL_GPU_FFT_H
#define SL_GPU_FFT_H

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stdint.h>

#include "gpu/state/control.h"
#include "gpu/state/grid.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The convolution, for the lengths that square.cu (2-D) and cube.cu (3-D) have on the current device, in two
 * parts; the second ends with g->potential and report->level_z. In 2-D the first takes the fixed-point charges (and
 * clears them, and leaves g->half) or, at level 1, near->half; g->input is not used; g->spectrum is
 * [length / 2 + 1][side]. The kernel's spectrum must be symmetric, as those of square grids are. In 3-D it takes the
 * charges (and clears them, unless g->coarse) or, at level 1, g->input, which is [side]^3; g->spectrum is
 * [side][length * (length / 2 + 1)]. */
bool sl__fft_has(int dims, int length, bool padded);
/* Those of them that begin with what a near grid leaves. */
bool sl__fft_has_far(int dims, int length);
cudaError_t sl__fft_init(void);  /* once per device */
cudaError_t sl__fft_rows(const struct sl_grid_memory *g, const struct sl_grid_memory *near,
			 const struct sl_orders *orders, const struct sl_report *report, cudaStream_t stream);
cudaError_t sl__fft_convolve(const struct sl_grid_memory *g, const struct sl_orders *orders, struct sl_report *report,
			     double *part, cudaStream_t stream);
/* Cosine transform (type I, unnormalised) of octant[(length / 2 + 1)^dims] in place, of a padded grid. */
cudaError_t sl__fft_cosines(int dims, int length, float *octant, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
