/* gmm.h -- mixtures of Gaussians on the device: the passes of core/gmm/passes.h, and their kernels.
 *
 * The kernels process one unit of points at a time. First they compute the differences z of the points from the centre
 * of all points, then the logarithms of weight times density for each point and component (E step), then the sums
 * weighted by the responsibilities (M step). The scratch memory of a unit mostly fits into the caches. Only the points
 * and the sums are kept between units. For full covariances and up to SL_GM_SIDE columns, forms.cu does both steps with
 * fewer operations, unless components are too narrow; for up to SL_GM_GROUP components, steps.cu does so by one kernel
 * for both steps and all units.
 *
 * All arithmetic is in double precision. Full covariances use the tensor cores, which have double precision: y = A z -
 * A m for densities, where A is the inverse of the Cholesky factor, and sums of r (z - m) (z - m)' about the old means.
 * Single precision with compensation would need three products for each, and for narrow components sums of d terms that
 * nearly cancel. The tensor cores of an H100 or H200 compute in double precision as fast as the other units compute in
 * single precision. The order of all sums is fixed. */
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

#define SL_GM_POINTS 128       /* points of a thread block that computes densities; SL_GMM_BLOCK */
#define SL_GM_SIDE 16          /* side of a tile of a scatter matrix */
#define SL_GM_WARP 2           /* components of a warp that sums scatter matrices */
#define SL_GM_TILE 280         /* length of its sums: the tile, first sums of its 16 rows, the mass */
#define SL_GM_GROUP 64u        /* components that forms.cu processes at a time */
#define SL_GM_FORMS 264u       /* most blocks of forms() for a unit */
#define SL_GM_STEPS_WARPS 4u   /* warps of a block of steps.cu that compute responsibilities */
#define SL_GM_WARP_POINTS 32u  /* points of such a warp at a time */
#define SL_GM_PRODUCTS 160u    /* products of a point of SL_GM_SIDE columns, with padding; see forms.cu */
#define SL_GM_NOTHING 0x1p-60  /* responsibilities up to this are treated as 0 */

/* On the device. kp: k rounded up to a multiple of 4. Blocks of factors are 8 x 8. */
struct sl_cuda_gmm {
	uint32_t n, d, k, kp;
	uint32_t pitch;          /* columns, a multiple of SL_GM_SIDE */
	uint32_t eights;         /* blocks of 8 columns */
	uint32_t cells;          /* blocks of a factor: eights (eights + 1) / 2 */
	uint32_t tiles;          /* tiles of a scatter matrix, on the diagonal and above it */
	uint32_t unit;           /* points */
	uint64_t stride;         /* length of a packed factor of the host */
	uint32_t parts;          /* number of partial sums; each sums some of a unit's points */
	uint32_t length;         /* points of a part, a multiple of 32 */
	uint64_t sums;           /* numbers of one part */
	bool full, tied, raw;    /* raw: logit is responsibilities */
	bool forms, steps;       /* the pass uses forms.cu or, if both are set, steps.cu */
	uint32_t blocks;         /* of steps.cu; 0: the device has no room for it */

	float *x;                /* [n][d] */
	double *centre;          /* [d] */
	double *z;               /* [unit][pitch] x - centre; 0 beyond the last point and column */
	double *zt;              /* [pitch][unit] the same; not full */
	double *y;               /* tied [pitch][unit] A z */
	double *logit;           /* [kp][unit] */
	double *log_sum;         /* [unit] logarithm of the mixture's density at each point */
	double *part;            /* sums of log_sum over the points of a block or, by steps.cu, of a warp; each unit has its
				  * own; see part_of() in passes.c */
	double *mean;            /* [k][pitch] - centre */
	double *lower;           /* full [k][stride], tied [stride]: the host's factors */
	double *inverse;         /* full [kp][cells][32][2], tied one: blocks of A in the layout of the tensor cores */
	double *shift;           /* full [kp][8 eights] A mean */
	double *form;            /* full, few columns: coefficients of the products, for groups of components, in the layout
				  * of the tensor cores */
	double *level;           /* the same [groups][SL_GM_GROUP]: constants of the quadratic forms */
	double *line;            /* not full [k][d][2]: scale, and scale times mean; tied: 1, A mean */
	double *constant;        /* [k] */
	double *acc;             /* [parts][sums] */
	double *total;           /* [sums] */
	uint32_t *known;         /* [unit] labels */
	int32_t *label;          /* [unit] */
	float *share;            /* [unit][k] */
};

/* factors.cu. _invert: computes `inverse`, which must be zero before, from `lower`. _shift: computes `shift` from
 * `inverse` and `mean`. */
cudaError_t sl__cuda_gmm_invert(const struct sl_cuda_gmm *m, cudaStream_t stream);
cudaError_t sl__cuda_gmm_shift(const struct sl_cuda_gmm *m, cudaStream_t stream);
/* Computes `form` and `level` from `inverse`, `shift` and `constant`. */
cudaError_t sl__cuda_gmm_form(const struct sl_cuda_gmm *m, cudaStream_t stream);
/* Computes `line`: tied, from `inverse` and `mean`; diag and spherical, from the scales [k][d] that the host wrote to
 * `total`. */
cudaError_t sl__cuda_gmm_line(const struct sl_cuda_gmm *m, cudaStream_t stream);
/* tied: computes y of the `count` points in z. */
cudaError_t sl__cuda_gmm_turn(const struct sl_cuda_gmm *m, uint32_t count, cudaStream_t stream);

/* densities.cu. Computes z of the points first .. first + count - 1. */
cudaError_t sl__cuda_gmm_spread(const struct sl_cuda_gmm *m, uint32_t first, uint32_t count, cudaStream_t stream);
/* Computes logit, log_sum and part[blocks] of the `count` points in z. */
cudaError_t sl__cuda_gmm_densities(const struct sl_cuda_gmm *m, uint32_t count, double *part, cudaStream_t stream);
/* Sets logit to known responsibilities: with `labels` to 1 or 0 by the labels in `known`, else to those in `share`. */
cudaError_t sl__cuda_gmm_known(const struct sl_cuda_gmm *m, uint32_t count, bool labels, cudaStream_t stream);
/* Computes label and share from logit and log_sum. */
cudaError_t sl__cuda_gmm_shares(const struct sl_cuda_gmm *m, uint32_t count, cudaStream_t stream);

/* sums.cu. Add the sums over the `count` points in z to acc. _scatter: tiles of the scatter matrices. _moments: for
 * each of k components the first and second sums of each column, [pitch][2], then the mass. */
cudaError_t sl__cuda_gmm_scatter(const struct sl_cuda_gmm *m, uint32_t count, cudaStream_t stream);
cudaError_t sl__cuda_gmm_moments(const struct sl_cuda_gmm *m, uint32_t count, cudaStream_t stream);
/* total = sum of acc over the parts */
cudaError_t sl__cuda_gmm_total(const struct sl_cuda_gmm *m, cudaStream_t stream);

/* forms.cu: the same by quadratic forms, from the points first .. first + count - 1. _forms: computes log_sum,
 * part[blocks], and logit: responsibilities, or logits if there are several groups of components. _add_products: adds
 * to acc. _total_products: total = tiles about the means. _init: call it once in a process, before the others. */
cudaError_t sl__cuda_gmm_forms(const struct sl_cuda_gmm *m, uint32_t first, uint32_t count, double *part,
			       cudaStream_t stream);
cudaError_t sl__cuda_gmm_add_products(const struct sl_cuda_gmm *m, uint32_t first, uint32_t count, cudaStream_t stream);
cudaError_t sl__cuda_gmm_total_products(const struct sl_cuda_gmm *m, cudaStream_t stream);
cudaError_t sl__cuda_gmm_init(void);

/* steps.cu: both steps of the units from .. to - 1, by m->blocks blocks, if there is only one group of components.
 * part: of the first unit. acc has a part for each block. _blocks: returns the number of blocks for this device, or 0
 * if its blocks have too little shared memory; call it before _steps. */
cudaError_t sl__cuda_gmm_steps(const struct sl_cuda_gmm *m, uint32_t from, uint32_t to, double *part,
			       cudaStream_t stream);
uint32_t sl__cuda_gmm_steps_blocks(void);

#ifdef __cplusplus
}
#endif
#endif
