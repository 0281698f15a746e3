/* plugin.c -- a plug-in under the name of the CUDA engine's, for tests/api: see resident_engine.h. It searches
 * neighbours itself, too, but knows no metric but the Euclidean one. */
#include "tests/plugin/resident_engine.h"

#define EXPORT __attribute__((visibility("default")))

static int find(int index, uint64_t memory_bytes, const struct sl_points *p, const struct sl_neighbours_params *params,
		struct sl_neighbours **out, struct sl_error *err)
{
	if (params->metric != SL_EUCLIDEAN)
		return sl_error_set(err, SL_BADPARAM, "not this metric");
	int code = sl_neighbours_find(out, p, params, err);
	if (!code)
		snprintf((*out)->method, sizeof (*out)->method, "device");
	return code;
}

EXPORT const struct sl_engine *sl_engine_cuda(void);
EXPORT const struct sl_engine *sl_engine_hybrid(int doubles);
EXPORT int sl_engine_cuda_check(struct sl_error *err);

const struct sl_engine *sl_engine_cuda(void)
{
	static struct sl_engine engine;
	engine = resident_engine();
	engine.name = "cuda";
	engine.neighbours_find = find;
	return &engine;
}

const struct sl_engine *sl_engine_hybrid(int doubles)
{
	return sl_engine_cuda();
}

int sl_engine_cuda_check(struct sl_error *err)
{
	return 0;
}
