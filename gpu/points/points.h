/* points.h -- passes over points on the device, for principal axes (struct sl_points_passes). points.c is the host
 * code, points.cu has the kernels. */
#ifndef SL_GPU_POINTS_H
#define SL_GPU_POINTS_H

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/points/points.h"

#ifdef __cplusplus
extern "C" {
#endif

struct sl_pca_table {
	const void *value;   /* device, [n][d] float32 or bytes */
	const double *mean;  /* device, [d] */
	uint32_t n, d;
	bool bytes;
};

#define SL_PCA_SQUARES 512u  /* partial sums of squares */

/* Number of splits, which are partial sums over the rows: enough to keep the device busy, limited by `bytes`. */
uint32_t sl__pca_splits(uint32_t d, uint32_t c, uint64_t bytes);
uint64_t sl__pca_part_bytes(uint32_t d, uint32_t c, uint32_t splits);
/* Adds a block of rows to the sums in `part`, which must be zero before the first: products of the columns with each
 * other (right NULL, c 0), or with the columns of right [n][c]. */
cudaError_t sl__pca_products(const struct sl_pca_table *t, const double *right, uint32_t c, uint32_t splits,
			     double *part, cudaStream_t stream);
/* Adds the splits: out[d][c], or out[d][d] if c is 0. */
cudaError_t sl__pca_add_parts(uint32_t d, uint32_t c, uint32_t splits, const double *part, double *out,
			      cudaStream_t stream);
/* out[n][c] = X v, v [d][c] */
cudaError_t sl__pca_project(const struct sl_pca_table *t, const double *v, uint32_t c, double *out,
			    cudaStream_t stream);
cudaError_t sl__pca_coordinates(const struct sl_pca_table *t, const double *axis, uint32_t c, float *out,
				cudaStream_t stream);
/* part[SL_PCA_SQUARES] += sums of squares. */
cudaError_t sl__pca_squares(const struct sl_pca_table *t, double *part, cudaStream_t stream);

/* Opens passes over p on GPU `index` with at most memory_bytes of its memory (0: what is free). */
int sl__points_passes(int index, uint64_t memory_bytes, const struct sl_points *p, const int *cancel,
		      struct sl_points_passes *out, struct sl_error *err);

#ifdef __cplusplus
}
#endif
#endif
