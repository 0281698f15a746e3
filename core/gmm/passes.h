/* passes.h -- the interface of an engine that does the passes of a mixture over all points on its device, its
 * operation "gmm.passes". core/gmm/device.c uses it in place of pass.c.
 *
 * The points stay on the device. A pass consists of begin(), which copies the mixture to the device, calls of go() over
 * all units in their order, any number at a time, and end(), which returns the sums. They equal those of pass.c up to
 * rounding, in double precision. The same mixture gives the same bytes on devices of the same kind, however the units
 * are divided among calls. A pass that is interrupted starts again with begin(). All calls belong to the device's
 * thread and return 0 or a negative code with err (SL_DEVLOST, SL_DEVMEM, SL_NOMEM, SL_INTERNAL); after an error the
 * passes can only be closed. */
#ifndef SL_GMM_PASSES_H
#define SL_GMM_PASSES_H

#include <stdbool.h>
#include <stdint.h>

#include "core/engine/engine.h"
#include "core/error.h"
#include "core/gmm/mixture.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SL_GMM_BLOCK 128u    /* a unit is a multiple of it */

/* The data of a run that the device needs; in host memory, borrowed only while the passes are opened. */
struct sl_gmm_table {
	const struct sl_points *points;
	int covariance;          /* enum sl_gmm_covariance */
	uint32_t n, d, k;        /* points, columns, the most components */
	uint32_t unit, units;    /* points of a unit, number of units; the last unit may be shorter */
	const double *centre;    /* [d] the device subtracts it from the points, for accuracy */
};

enum sl_gmm_sums { SL_GMM_NO_SUMS, SL_GMM_SUM_MEANS, SL_GMM_SUM_ALL };

/* Borrowed while begin() runs. */
struct sl_gmm_step {
	uint32_t k;
	const double *mean;      /* [k][d] */
	bool known;              /* true: go() gets the responsibilities; false: they follow from the fields below */
	const double *factor;    /* full [k][stride], tied [stride]: Cholesky factors, packed as in tile.h */
	uint64_t stride;
	const double *scale;     /* diag, spherical [k][d]: 1 / standard deviation */
	const double *constant;  /* [k] log weight - d/2 log 2 pi - log det S / 2 */
	enum sl_gmm_sums sums;
};

struct sl_gmm_passes {
	void *arg;
	void (*close)(void *arg);

	int (*begin)(void *arg, const struct sl_gmm_step *step, struct sl_error *err);
	/* Passes over units from .. to - 1. If step->known: label [n] or, if label is NULL, share [n][k] holds the
	 * responsibilities. Otherwise part[unit] becomes the sum over the unit's points of the logarithm of the mixture's
	 * density. */
	int (*go)(void *arg, uint32_t from, uint32_t to, const uint32_t *label, const float *share, double *part,
		  struct sl_error *err);
	/* For the unit of the last call of go(), which had only this unit: the component with the largest responsibility
	 * for each point (the first of equal ones), and all responsibilities [points][k]. */
	int (*shares)(void *arg, int32_t *label, float *share, struct sl_error *err);
	/* The sums over all units, of responsibilities r above 2^-60: mass [k], the sum of r; first [k][pitch], that of r
	 * (x - mean). With SL_GMM_SUM_ALL also: for diag and spherical, second [k][pitch], that of r (x - mean)^2; for
	 * full, scatter [k][pitch][pitch], that of r (x - mean) (x - mean)', at least above the diagonal. Columns beyond d
	 * are not written. */
	int (*end)(void *arg, uint32_t pitch, double *mass, double *first, double *second, double *scatter,
		   struct sl_error *err);
};

/* Opens the passes on a device, to which the points are copied, and where they stay until out->close().
 * Device's thread. SL_DEVMEM, SL_DEVLOST, SL_NOMEM. */
typedef int sl_gmm_open(struct sl_device *device, const struct sl_gmm_table *table, struct sl_gmm_passes *out,
			struct sl_error *err);
#define SL_GMM_PASSES "gmm.passes"  /* the name of this operation of an engine */

/* NULL: the engine has no such operation. */
static inline sl_gmm_open *sl_gmm_opener(const struct sl_engine *engine)
{
	return (sl_gmm_open *)sl_engine_operation(engine, SL_GMM_PASSES);
}

#ifdef __cplusplus
}
#endif
#endif
