/* need_gpu.h -- the CUDA engine for a group of tests, which are skipped where there is none. After cmocka.h. */
#ifndef SL_TEST_NEED_GPU_H
#define SL_TEST_NEED_GPU_H

#include <stdio.h>

#include "core/engine/load.h"

static const struct sl_engine *cuda;

static int need_gpu(void **state)
{
	struct sl_error err;
	if (!sl_engine_open("cuda", &cuda, &err))
		return 0;
	printf("skipped: %s\n", err.detail);
	cuda = NULL;
	return 0;
}

#define NEED_GPU() do { if (!cuda) skip(); } while (0)

#endif
