/* fft_internal.h -- the 3-D functions of cube.cu, which square.cu calls. */
#ifndef SL_GPU_FFT_INTERNAL_H
#define SL_GPU_FFT_INTERNAL_H

#include "gpu/fft/fft.h"

#ifdef __cplusplus
extern "C" {
#endif

/* As the functions of fft.h with these names. */
bool sl__cube_has(int length, bool padded);
bool sl__cube_has_far(int length);
cudaError_t sl__cube_init(void);
cudaError_t sl__cube_rows(const struct sl_grid_memory *g, const struct sl_orders *orders,
			  const struct sl_report *report, cudaStream_t stream);
cudaError_t sl__cube_convolve(const struct sl_grid_memory *g, const struct sl_orders *orders, struct sl_report *report,
			      double *part, cudaStream_t stream);
cudaError_t sl__cube_cosines(int length, float *octant, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
