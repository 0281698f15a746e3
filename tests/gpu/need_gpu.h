/* need_gpu.h -- the CUDA engine for a group of tests, which are skipped where there is none; with
 * SPACELAND_TEST_NEEDS_GPU=1 they fail there. After cmocka.h. */
#ifndef SL_TEST_NEED_GPU_H
#define SL_TEST_NEED_GPU_H

#include <stdio.h>
#include <stdlib.h>

#include "core/engine/load.h"

static const struct sl_engine *cuda;

static int need_gpu(void **state)
{
	struct sl_error err;
	if (!sl_engine_open("cuda", &cuda, &err))
		return 0;
	printf("skipped: %s\n", err.detail);
	cuda = NULL;
	return getenv("SPACELAND_TEST_NEEDS_GPU") ? -1 : 0;
}

#define NEED_GPU() do { if (!cuda) skip(); } while (0)

#endif
