/* tile.h -- the inner loops of Gaussian mixtures. tile.c is compiled once for each instruction set;
 * sl__gmm_kernels() selects the best that the processor has. Internal to core/gmm/.
 *
 * Points lie in blocks of SL__GMM_LANES, x[column][lane], so that a vector register holds one column of several points.
 * Sums over points take them row by row, z[point][column], with columns filled up to a multiple of SL__GMM_PAD. */
#ifndef SL_GMM_TILE_H
#define SL_GMM_TILE_H

#include <stdint.h>

#define SL__GMM_LANES 64
#define SL__GMM_PAD 8
#define SL__GMM_NOTHING 0x1p-60  /* a responsibility up to this changes no sum */
#define SL__GMM_ROWS 4     /* rows of a Cholesky factor that are solved together */

struct sl__gmm_kernels {
	/* y = L^-1 (x - mean), out[lane] = the logit constant - |y|^2 / 2, at least -1e290. x, y [d, a multiple of
	 * ROWS][LANES]. factor: for each group of ROWS rows, the columns before it, [column][ROWS], then the corner
	 * [ROWS][ROWS], on its diagonal 1 / L_ii; rows beyond d are 0. */
	void (*solve)(uint32_t d, const double *x, const double *mean, const double *factor, double constant, double *y,
		      double *out);
	/* The same with |y|^2 = sum over columns of ((x - mean) scale)^2. */
	void (*scaled)(uint32_t d, const double *x, const double *mean, const double *scale, double constant, double *out);
	/* Replaces logit [k][LANES] by exp(logit - log_sum), whose sum over k is 1; log_sum[lane] = log sum_k
	 * exp(logit). label [LANES]: the largest, the first of equal ones. */
	void (*share)(uint32_t k, double *logit, double *log_sum, int32_t *label);
	/* z = row - mean, rz = r z, [count][padded]; columns beyond d are not written. */
	void (*centre)(uint32_t d, uint32_t padded, uint32_t count, const float *const *row, const double *r,
		       const double *mean, double *z, double *rz);
	/* first[b] += sum of rz[i][b]; second[b] += sum of rz[i][b] z[i][b], unless NULL */
	void (*moments)(uint32_t padded, uint32_t count, const double *z, const double *rz, double *first, double *second);
	/* x[i][a] = row[i][a], [count][padded]; columns beyond d are not written. */
	void (*widen)(uint32_t d, uint32_t padded, uint32_t count, const float *row, double *x);
	/* For points of a block, x [count][padded], with responsibilities r [LANES], those beyond count any numbers: adds
	 * the sum of r (x - mean) to first [padded], that of r (x - mean)^2 to second [padded], unless NULL, and returns
	 * the sum of r. Leaves out r up to NOTHING. */
	double (*add)(uint32_t padded, uint32_t count, const double *x, const double *r, const double *mean, double *first,
		      double *second);
	/* sum[a][b] += sum over i of rz[i][a] z[i][b], for rows a of from .. to - 1 (multiples of PAD) and all b >= a. Some
	 * elements with b < a get undefined values. */
	void (*scatter)(uint32_t padded, uint32_t from, uint32_t to, uint32_t count, const double *z, const double *rz,
			double *sum);
	double (*dot)(uint32_t count, const double *a, const double *b);
};

const struct sl__gmm_kernels *sl__gmm_kernels(void);

#endif
