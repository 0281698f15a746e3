/* gmm.h -- mixtures of Gaussians on the device: the passes of core/gmm/passes.h, and their kernels.
 *
 * A unit of points at a time: differences z to the centre of all points in double precision, then the logarithms of
 * weight times density of each point and component (E), then sums weighted by the responsibilities that follow from
 * them (M). What a unit takes lies in the caches for the most part; between units remain the points and the sums.
 *
 * All of it is in double precision. Full covariances go through the matrix units, whose double precision is exact to
 * rounding: y = A z - A m for densities, where A is the inverse of the Cholesky factor, and sums of r (z - m) (z - m)'
 * about the old means. Single precision with compensation would have to carry products of d terms that nearly cancel
 * where a component is narrow, and would take three products for each; the matrix units of an H100 or H200 do double
 * precision as fast as the others do single precision. The order of all sums is fixed. */
#ifndef SL_GPU_GMM_H
#define SL_GPU_GMM_H

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/error.h"

#ifdef __cplusplus
extern "C" {
#endif

struct sl_device;
struct sl_gmm_passes;
struct sl_gmm_table;

/* The operation of the engine. */
int sl__gmm_passes(struct sl_device *device, const struct sl_gmm_table *t, struct sl_gmm_passes *out,
		   struct sl_error *err);

#define SL_GM_POINTS 128       /* of a block of threads that computes densities; SL_GMM_BLOCK */
#define SL_GM_SIDE 16          /* of a tile of a scatter matrix */
#define SL_GM_WARP 2           /* components of a warp that adds up scatter matrices */
#define SL_GM_TILE 280         /* numbers of its sums: the tile, first sums of its 16 rows, the mass */
#define SL_GM_NOTHING 0x1p-60  /* a responsibility of no more changes no sum */

/* On the device. kp: k rounded up to a multiple of 4. Blocks of factors are 8 x 8. */
struct sl_gm {
	uint32_t n, d, k, kp;
	uint32_t pitch;          /* columns, a multiple of SL_GM_SIDE */
	uint32_t eights;         /* blocks of 8 columns */
	uint32_t cells;          /* blocks of a factor: eights (eights + 1) / 2 */
	uint32_t tiles;          /* of a scatter matrix, on the diagonal and above */
	uint32_t unit;           /* points */
	uint64_t stride;         /* of a packed factor of the host's */
	uint32_t parts;          /* of the sums; each has some of a unit's points */
	uint32_t length;         /* points of a part, a multiple of 32 */
	uint64_t sums;           /* numbers of one part */
	bool full, tied, raw;    /* raw: logit is responsibilities */

	float *x;                /* [n][d] */
	double *centre;          /* [d] */
	double *z;               /* [unit][pitch] x - centre; 0 beyond the last point and column */
	double *zt;              /* [pitch][unit] the same; not full */
	double *y;               /* tied [pitch][unit] A z */
	double *logit;           /* [kp][unit] */
	double *log_sum;         /* [unit] of a point: the logarithm of the mixture's density */
	double *part;            /* [n / 128 + units] sums of it over the points of a block */
	double *mean;            /* [k][pitch] - centre */
	double *lower;           /* full [k][stride], tied [stride]: the host's factors */
	double *inverse;         /* full [kp][cells][32][2], tied one: blocks of A as the matrix units take them */
	double *shift;           /* full [kp][8 eights] A mean */
	double *line;            /* else [k][d][2]: scale, and scale times mean; tied: 1, A mean */
	double *constant;        /* [k] */
	double *acc;             /* [parts][sums] */
	double *total;           /* [sums] */
	uint32_t *known;         /* [unit] labels */
	int32_t *label;          /* [unit] */
	float *share;            /* [unit][k] */
};

/* factors.cu. inverse of lower, which is zero before; shift of it and mean. */
cudaError_t sl__gm_invert(const struct sl_gm *m, cudaStream_t stream);
cudaError_t sl__gm_shift(const struct sl_gm *m, cudaStream_t stream);
/* line: tied, of inverse and mean; diag and spherical, of the scales [k][d] that the host left in total. */
cudaError_t sl__gm_line(const struct sl_gm *m, cudaStream_t stream);
/* tied: y of the `count` points in z. */
cudaError_t sl__gm_turn(const struct sl_gm *m, uint32_t count, cudaStream_t stream);

/* densities.cu. Points first .. first + count - 1 into z. */
cudaError_t sl__gm_spread(const struct sl_gm *m, uint32_t first, uint32_t count, cudaStream_t stream);
/* logit, log_sum and part[blocks] of the `count` points in z. */
cudaError_t sl__gm_densities(const struct sl_gm *m, uint32_t count, double *part, cudaStream_t stream);
/* logit is 1 or 0, by the labels in `known`, or the shares that are given. */
cudaError_t sl__gm_known(const struct sl_gm *m, uint32_t count, bool labels, cudaStream_t stream);
/* label and share, of logit and log_sum. */
cudaError_t sl__gm_shares(const struct sl_gm *m, uint32_t count, cudaStream_t stream);

/* sums.cu. acc += those of the `count` points in z. Scatter: tiles of the matrices;
 * moments: [k] first and second sums of each column in turn, [pitch][2], then the mass. */
cudaError_t sl__gm_scatter(const struct sl_gm *m, uint32_t count, cudaStream_t stream);
cudaError_t sl__gm_moments(const struct sl_gm *m, uint32_t count, cudaStream_t stream);
/* total = sum of acc over the parts */
cudaError_t sl__gm_total(const struct sl_gm *m, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
