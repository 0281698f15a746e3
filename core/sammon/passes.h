/* passes.h -- the interface of an engine that does the passes over pairs of points on its device, its
 * operation "sammon.passes". core/sammon/device.c uses it in place of pass.c.
 *
 * The points stay on the device. A pass consists of begin(), which copies the layout to the device, calls of go() over
 * all units in their order, any number at a time, and end(), which returns the sums. They equal those of pass.c up to
 * rounding. The same layout gives the same sums in every pass: they depend neither on the division into calls nor on
 * the order of threads. All calls belong to the device's thread and return 0 or a negative code with err (SL_DEVLOST,
 * SL_DEVMEM, SL_INTERNAL); after an error the passes can only be closed. */
#ifndef SL_SAMMON_PASSES_H
#define SL_SAMMON_PASSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/engine/engine.h"
#include "core/error.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SL_SAMMON_NO_PARTNER UINT32_MAX

/* The data of a run that the device needs; in host memory, borrowed only while the passes are opened. */
struct sl_sammon_table {
	uint32_t n, d;
	size_t room;            /* blocks * side: points, and padding of the last block */
	const float *panel;     /* [room / 32][d][32] coordinates; absolute values are less than 1; 0 beyond the last
			point */
	const float *norm;      /* [room] squared lengths of the points */
	const float *mass;      /* [room] number of equal input points that each point represents; 0 beyond the last one */
	bool differences;       /* true: distances come from squared differences; false: from inner products, except where
				 * these cancel */
	int dims;               /* of the layout */
	bool metric;            /* true: weights are m_i m_j; false: m_i m_j / D */
	bool curve;             /* true: passes also compute second derivatives */
	uint32_t side, blocks;  /* points of a block: 32, 64, 128 or 256; number of blocks */
	uint32_t partners;      /* number of blocks with which each block is compared, itself included; 0: with all */
};

struct sl_sammon_passes {
	void *arg;
	uint32_t units;         /* of a pass */
	void (*close)(void *arg);

	/* Begins a pass over the layout y [dims][room]. partner [blocks][partners], if there are partners: row b lists
	 * block b itself, then its other partners, or SL_SAMMON_NO_PARTNER; if it lists block c, row c lists block b.
	 * weights: end() will also return the sums of weights. y and partner are borrowed until end(). */
	int (*begin)(void *arg, const float *y, const uint32_t *partner, bool weights, struct sl_error *err);
	/* Computes units from .. to - 1. */
	int (*go)(void *arg, uint32_t from, uint32_t to, struct sl_error *err);
	/* force and curve [dims][room]: as in struct sl__sammon_sums (tile.h); curve may be NULL. *sum: the sum of w (D -
	 * d)^2 over all pairs. If begin() had `weights`: weight [room] becomes the sum of w over the other points, and
	 * *total the sum of w D^2; otherwise both are NULL. Elements beyond the last point become 0. */
	int (*end)(void *arg, double *force, double *curve, double *weight, double *sum, double *total,
		   struct sl_error *err);
};

/* Opens the passes on a device, to which the points are copied, and where they stay until out->close().
 * Device's thread. SL_DEVMEM, SL_DEVLOST, SL_NOMEM. */
typedef int sl_sammon_open(struct sl_device *device, const struct sl_sammon_table *table, struct sl_sammon_passes *out,
			   struct sl_error *err);
#define SL_SAMMON_PASSES "sammon.passes"  /* the name of this operation of an engine */

/* NULL: the engine has no such operation. */
static inline sl_sammon_open *sl_sammon_opener(const struct sl_engine *engine)
{
	return (sl_sammon_open *)sl_engine_operation(engine, SL_SAMMON_PASSES);
}

#ifdef __cplusplus
}
#endif
#endif
