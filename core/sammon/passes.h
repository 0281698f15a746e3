/* passes.h -- passes over the pairs of points, done by an engine that has a device (sammon_passes of struct sl_engine).
 * core/sammon/device.c uses them in place of pass.c.
 *
 * The points stay on the device; layouts go there, and sums come back. A pass is begin(), go() over all units in their
 * order, however many at a time, and end(). Its sums are those of pass.c to rounding, and the same in every pass over
 * the same layout, however it is cut: nothing depends on the order in which threads arrive. All calls are on the
 * device's thread, and give 0 or a negative code with err (SL_DEVLOST, SL_DEVMEM, SL_INTERNAL), after which the passes
 * can only be closed. */
#ifndef SL_SAMMON_PASSES_H
#define SL_SAMMON_PASSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SL_SAMMON_NO_PARTNER UINT32_MAX

/* What a device gets of a run; host memory, borrowed for the call. */
struct sl_sammon_table {
	uint32_t n, d;
	size_t room;            /* blocks * side: points, and those that fill up the last block */
	const float *panel;     /* [room / 32][d][32] coordinates; absolute values are less than 1; 0 beyond the last
			point */
	const float *norm;      /* [room] their squared lengths */
	const float *mass;      /* [room] how many points of the input each stands for; 0 beyond the last one */
	bool differences;       /* squared distances are sums of squared differences; else they come from inner products,
			where these do not cancel */
	int dims;               /* of the layout */
	bool metric;            /* weights are m_i m_j; else m_i m_j / D */
	bool curve;             /* second derivatives are wanted, too */
	uint32_t side, blocks;  /* points of a block: 32, 64, 128 or 256; blocks */
	uint32_t partners;      /* blocks that each is compared with, itself included; 0: all pairs count */
};

struct sl_sammon_passes {
	void *arg;
	uint32_t units;         /* of a pass */
	void (*close)(void *arg);

	/* A pass of the layout y [dims][room]. partner [blocks][partners], if there are partners: first each block itself,
	 * then the others, or SL_SAMMON_NO_PARTNER; if it has a block, that one has it, too. weights: the sums of
	 * weights are wanted. y and partner are borrowed until end(). */
	int (*begin)(void *arg, const float *y, const uint32_t *partner, bool weights, struct sl_error *err);
	/* Units from .. to - 1, to their end. */
	int (*go)(void *arg, uint32_t from, uint32_t to, struct sl_error *err);
	/* force, curve [dims][room] as of struct sl__sammon_sums (tile.h); curve NULL: not wanted. *sum: of w (D - d)^2
	 * over all pairs. With weights: weight [room] the sum of w over the others, *total the sum of w D^2; else both
	 * are NULL. Beyond the last point there are zeros. */
	int (*end)(void *arg, double *force, double *curve, double *weight, double *sum, double *total,
		   struct sl_error *err);
};

#ifdef __cplusplus
}
#endif
#endif
