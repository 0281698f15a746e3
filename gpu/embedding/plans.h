/* plans.h -- cached transforms and kernel spectra of grids, and the memory for charges and potentials.
 *
 * All embeddings of a device share one set; the running embedding reserves the memory for its grids. Making a cuFFT
 * plan takes tens of milliseconds, a spectrum a few. So all spectra of a side share a transform, and both are kept. */
#ifndef SL_GPU_PLANS_H
#define SL_GPU_PLANS_H

#include <cufft.h>

#include "core/engine/plan_cache.h"
#include "gpu/device/device.h"
#include "gpu/state/control.h"
#include "gpu/state/grid.h"

int sl__cufft_failed(struct sl_error *err, cufftResult status, const char *what);

/* In functions with `code`, `err` and a label `out`. */
#define SL_CUFFT(call) do { \
	cufftResult status_ = (call); \
	if (status_ != CUFFT_SUCCESS) { \
		code = sl__cufft_failed(err, status_, #call); \
		goto out; \
	} \
} while (0)

/* Transforms of one shape, shared by all plans of that length. Native transforms have no handles. */
struct sl_transform {
	int dims, length;
	bool native;  /* computed by fft/, not by cuFFT */
	cufftHandle forward, inverse;
	bool has_forward, has_inverse;
	size_t work_bytes;
	int references;
	uint64_t last_use;
	struct sl_transform *next;
};

struct sl_plan {
	struct sl_cached cached;
	struct sl_grid grid;
	struct sl_transform *transform;  /* counted reference */
	float *spectrum;                 /* device, [(length / 2 + 1)^dims] */
	float *tilt, *gather_weight;     /* of a far grid, see core/grid/grid.h; in the same block of memory */
	int *gather_first, gather_taps;
	double zero, self;               /* see sl_grid_spectrum() */
};

struct sl_plans {
	struct sl_plan_cache cache;
	struct sl_transform *transforms;
	struct sl_device *device;
	struct sl_window window[2];      /* narrow and wide */
};

/* Grids and cuFFT's scratch, one block of memory. Grows; freed with the last plan. */
struct sl_work {
	char *memory;
	uint64_t bytes;
	uint64_t generation;  /* changes with `memory` and when a transform is freed; older CUDA graphs are invalid */
	int levels;           /* levels laid out in `memory`; 0: none */
	const void *owner;    /* the embedding whose charges the grids hold; NULL: they must be cleared */
	struct sl_grid_memory grid[SL_LEVELS];
};

/* Makes d->plans and d->work, and copies the windows to the device. plan_bytes: limit on kept spectra; 0: 256 MiB. */
int sl__plans_open(struct sl_device *d, uint64_t plan_bytes, struct sl_error *err);
void sl__plans_close(struct sl_device *d);  /* also after a failed sl__plans_open() */

/* Reserves memory for grids[levels] in d->work, clears it if it held others, and makes their transforms. */
int sl__work_reserve(struct sl_device *d, const struct sl_grid *grids, int levels, struct sl_transform **transforms,
		     struct sl_error *err);
/* Cells a side beside a smooth grid; 0 beside others. */
int sl__cutoff_side(const struct sl_grid *g);
/* The plan of a grid, made if needed. Counts a user. Uses d->work, whose charges are lost. */
int sl__plans_take(struct sl_device *d, const struct sl_grid *g, struct sl_plan **out, struct sl_error *err);
void sl__plans_give(struct sl_device *d, struct sl_plan *plan);  /* NULL is fine */
void sl__plans_clear(struct sl_device *d);  /* frees all plans without users */

#endif
