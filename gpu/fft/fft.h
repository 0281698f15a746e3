/* fft.h -- convolves charges with the kernel by our own Fourier transforms: square.cu in 2-D, cube.cu in 3-D.
 *
 * Each launcher queues its kernels on a stream and returns cudaSuccess or the launch's error. None waits, allocates or
 * reads device memory, so all can be captured in a CUDA graph. Every sum has a fixed order: equal input gives equal
 * bytes. Tests, and benches with the argument `bench`: tests/gpu/test_fft.c, tests/gpu/test_fft_cube.c. */
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

/* True if this room has the transform of that length on the current device; _far: for a far grid (level 1). */
bool sl__fft_has(int dims, int length, bool padded);
bool sl__fft_has_far(int dims, int length);
cudaError_t sl__fft_init(void);  /* once per device */
/* The convolution in two parts. sl__fft_rows() transforms the rows; sl__fft_convolve() does all the rest and writes
 * g->potential and report->level_z.
 *
 * In 2-D, level 0 reads the fixed-point charges, clears them and writes g->half; level 1 reads near->half. g->input is
 * not used; g->spectrum is [length / 2 + 1][side]. The kernel's spectrum must be symmetric, as that of a square grid
 * is.
 *
 * In 3-D, level 0 reads the charges and clears them unless g->coarse; level 1 reads g->input, [side]^3. g->spectrum is
 * [side][length * (length / 2 + 1)]. */
cudaError_t sl__fft_rows(const struct sl_grid_memory *g, const struct sl_grid_memory *near,
			 const struct sl_orders *orders, const struct sl_report *report, cudaStream_t stream);
cudaError_t sl__fft_convolve(const struct sl_grid_memory *g, const struct sl_orders *orders, struct sl_report *report,
			     double *part, cudaStream_t stream);
/* The cosine transform (type I, unnormalised) of octant[(length / 2 + 1)^dims], in place, for a padded grid. */
cudaError_t sl__fft_cosines(int dims, int length, float *octant, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
