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
#define SL__GMM_ROWS 4     /* rows of a Cholesky factor that are solved together */

struct sl__gmm_kernels {
	/* y = L^-1 (x - mean), out[lane] = |y|^2. x, y [d, a multiple of ROWS][LANES]. factor: for each group of ROWS rows,
	 * the columns before it, [column][ROWS], then the corner [ROWS][ROWS], on its diagonal 1 / L_ii; rows beyond d
	 * are 0. */
	void (*solve)(uint32_t d, const double *x, const double *mean, const double *factor, double *y, double *out);
	/* out[lane] = sum over columns of ((x - mean) scale)^2 */
	void (*scaled)(uint32_t d, const double *x, const double *mean, const double *scale, double *out);
	/* Replaces logit [k][LANES] by exp(logit - log_sum), whose sum over k is 1; log_sum[lane] = log sum_k
	 * exp(logit). */
	void (*share)(uint32_t k, double *logit, double *log_sum);
	/* z = row - mean, rz = r z, [count][padded]; columns beyond d are not written. */
	void (*centre)(uint32_t d, uint32_t padded, uint32_t count, const float *const *row, const double *r,
		       const double *mean, double *z, double *rz);
	/* first[b] += sum of rz[i][b]; second[b] += sum of rz[i][b] z[i][b], unless NULL */
	void (*moments)(uint32_t padded, uint32_t count, const double *z, const double *rz, double *first, double *second);
	/* sum[a][b] += sum over i of rz[i][a] z[i][b], for rows a of from .. to - 1 (multiples of PAD) and all b >= a. Some
	 * elements with b < a get undefined values. */
	void (*scatter)(uint32_t padded, uint32_t from, uint32_t to, uint32_t count, const double *z, const double *rz,
			double *sum);
	double (*dot)(uint32_t count, const double *a, const double *b);
};

const struct sl__gmm_kernels *sl__gmm_kernels(void);

#endif
