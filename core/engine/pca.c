/* Computes principal axes, by the engine if it has passes over points, else on the CPU. */
#include "core/engine/engine.h"

#include <stddef.h>

#include "core/points/points.h"

#define WORTH 2e7  /* fewer multiplications take less time than copying the points to a device */

bool sl_engine_pca_pays(const struct sl_points *p)
{
	return (double)p->n * p->d * p->d >= WORTH;
}

int sl_engine_pca(const struct sl_engine *engine, int index, uint64_t memory_bytes, struct sl_points **out,
		  const struct sl_points *p, uint32_t to, double *kept, const int *cancel, struct sl_error *err)
{
	struct sl_points_passes passes;
	int code = SL_DEVMEM;
	if (engine && engine->points_passes && sl_engine_pca_pays(p)) {
		code = engine->points_passes(index, memory_bytes, p, cancel, &passes, NULL);
		if (!code) {
			code = sl_points_pca_by(out, p, to, kept, cancel, &passes, err);
			passes.close(passes.arg);
		}
	}
	/* if the device has too little memory, or is lost, the CPU computes the axes */
	return code && code != SL_CANCELLED && code != SL_BADPARAM ? sl_points_pca(out, p, to, kept, cancel, err) : code;
}
