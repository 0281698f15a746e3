/* snapshots.h -- takes a snapshot of the CUDA engine. After cmocka.h. */
#ifndef SL_TEST_SNAPSHOTS_H
#define SL_TEST_SNAPSHOTS_H

#include <string.h>

#include "core/engine/engine.h"

/* Finishes s, copies its bytes and releases it. */
static void test_take_snapshot(const struct sl_engine *engine, struct sl_device_snapshot *s, void *out, size_t bytes,
			       float low[3], float *extent)
{
	const void *data;
	assert_int_equal(engine->snapshot_finish(s, &data, low, extent, NULL), 0);
	memcpy(out, data, bytes);
	engine->snapshot_release(s);
}

#endif
