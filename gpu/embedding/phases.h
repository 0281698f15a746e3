/* phases.h -- how long the parts of an iteration take by themselves, for the host code of this folder.
 *
 * iteration.c knows how to queue each part; phases.c repeats it in a CUDA graph of its own and looks at the clock of
 * the card. What the parts do to the layout is engine.c's to undo. */
#ifndef SL_GPU_PHASES_H
#define SL_GPU_PHASES_H

#include "gpu/device/device.h"
#include "gpu/state/control.h"

struct sl_phase;

enum sl_part {
	SL_PART_ATTRACTION, SL_PART_CONVOLVE, SL_PART_CONVOLVE_FAR, SL_PART_ALL_PAIRS, SL_PART_READ, SL_PART_STEP,
	SL_PART_PAIRS,
};

#define SL_PART_ROUNDS 9
#define SL_PART_ITERATIONS 200  /* of small embeddings, whose iterations have no parts, in a round */

/* What phases.c has to know of an embedding. */
struct sl_parts {
	struct sl_device_embedding *e;
	/* On the device's stream. Spreading is part of the step, reading back, too, unless it is split. */
	int (*queue)(struct sl_device_embedding *e, enum sl_part part, struct sl_error *err);
	uint32_t n;
	int dims, stride;          /* floats a point in device memory */
	uint64_t matrix_bytes;     /* P as the attraction reads it */
	bool exact, split;
	int splits;                /* all pairs: partial sums */
	int levels;                /* grids, 1 or 2 */
	bool smooth;               /* one grid, and pairs within a cut-off beside it */
	bool own_fft[SL_LEVELS];   /* our own convolution, not cuFFT's */
};

double sl__part_clock(void);  /* seconds */
/* Fills seconds, low and high. Sorts took. */
void sl__part_median(double *took, int count, struct sl_phase *out);

/* See struct sl_engine. */
int sl__time_parts(struct sl_device *d, const struct sl_parts *parts, struct sl_phase *out, int max,
		   struct sl_error *err);
int sl__device_copy_bandwidth(struct sl_device *d, double *bytes_per_second, struct sl_error *err);

#endif
