/* passes.h -- the passes of a mixture over all points, done by an engine that has a device (gmm_passes of struct
 * sl_engine). core/gmm/device.c uses them in place of pass.c.
 *
 * The points stay on the device. A pass is begin(), which takes the mixture there, go() over all units in their order,
 * however many at a time, and end(), which gives the sums. These are those of pass.c to rounding, in double precision,
 * and the same bytes in every pass with the same mixture on devices of the same kind, however it is cut. A pass that is
 * interrupted begins anew. All calls are on the device's thread, and give 0 or a negative code with err (SL_DEVLOST,
 * SL_DEVMEM, SL_NOMEM, SL_INTERNAL), after which the passes can only be closed. */
#ifndef SL_GMM_PASSES_H
#define SL_GMM_PASSES_H

#include <stdbool.h>
#include <stdint.h>

#include "core/error.h"
#include "core/gmm/mixture.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SL_GMM_BLOCK 128u    /* a unit is a multiple of it */

/* What a device gets of a run; host memory, borrowed while the passes are opened. */
struct sl_gmm_table {
	const struct sl_points *points;
	int covariance;          /* enum sl_gmm_covariance */
	uint32_t n, d, k;        /* k: components, at most */
	uint32_t unit, units;    /* points of a unit, the last one perhaps shorter */
	const double *centre;    /* [d] of the points: differences to it are what is computed with */
};

enum sl_gmm_sums { SL_GMM_NO_SUMS, SL_GMM_SUM_MEANS, SL_GMM_SUM_ALL };

/* Borrowed while begin() runs. */
struct sl_gmm_step {
	uint32_t k;
	const double *mean;      /* [k][d]: sums are about them */
	bool known;              /* responsibilities are given to go(); else they follow from these: */
	const double *factor;    /* full [k][stride], tied [stride]: Cholesky factors, packed as of tile.h */
	uint64_t stride;
	const double *scale;     /* diag, spherical [k][d]: 1 / standard deviation */
	const double *constant;  /* [k] log weight - d/2 log 2 pi - log det S / 2 */
	enum sl_gmm_sums sums;
};

struct sl_gmm_passes {
	void *arg;
	void (*close)(void *arg);

	int (*begin)(void *arg, const struct sl_gmm_step *step, struct sl_error *err);
	/* Units from .. to - 1. known: label [n], or share [n][k] if label is NULL. Else part[unit]: the sum of the
	 * logarithms of the mixture's density over the points of each. */
	int (*go)(void *arg, uint32_t from, uint32_t to, const uint32_t *label, const float *share, double *part,
		  struct sl_error *err);
	/* Of a unit that go() has just done alone: the component of the largest responsibility of each of its points, the
	 * first of equal ones, and all responsibilities [points][k]. */
	int (*shares)(void *arg, int32_t *label, float *share, struct sl_error *err);
	/* Sums over all units, with responsibilities r of more than 2^-60: mass [k] of r; first [k][pitch] of r (x - mean);
	 * with SL_GMM_SUM_ALL, for diag and spherical second [k][pitch] of r (x - mean)^2, for full scatter
	 * [k][pitch][pitch] of r (x - mean) (x - mean)', above the diagonal at least. Columns beyond d stay as they are. */
	int (*end)(void *arg, uint32_t pitch, double *mass, double *first, double *second, double *scatter,
		   struct sl_error *err);
};

#ifdef __cplusplus
}
#endif
#endif
