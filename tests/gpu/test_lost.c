/* A device that fails in earnest: SPACELAND_CUDA_FAULT=1 makes the first run write to an address that is nobody's.
 * The error is told, everything can be destroyed, and after closing and opening the device it works again. Skipped
 * where there is no GPU. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/embedding.h"
#include "core/engine_load.h"
#include "tests/unit/graphs.h"

static const struct sl_engine *cuda;

static int whole_job(struct sl_device *device, const struct sl_affinities *a, struct sl_error *err)
{
	struct sl_device_graph *graph;
	struct sl_embedding *e = NULL;
	struct sl_status s = {0};
	struct sl_params p;
	sl_params_preset(&p, SL_PRESET_DEFAULT);
	p.iterations = 200;
	int code = cuda->graph_put(device, a, &graph, err);
	if (code)
		return code;
	code = sl_embedding_create(&e, cuda, graph, a, &p, NULL, err);
	while (!code && !s.done)
		code = sl_embedding_advance(e, 5, &s, err);
	sl_embedding_destroy(e);
	cuda->graph_drop(graph);
	return code;
}

static void a_lost_device_comes_back(void **state)
{
	struct sl_affinities_params params = {.lambda = 10};
	struct sl_error err = {0};
	struct sl_device *device;
	struct sl_affinities *a;
	if (!cuda)
		skip();
	for (uint32_t n = 1000; n <= 20000; n *= 20) {
		struct sl_graph *g = test_graph(n, 7, true, false, 3);
		assert_int_equal(sl_affinities_create(&a, g, &params, NULL), 0);
		assert_int_equal(cuda->open(&device, NULL, &err), 0);
		int code = whole_job(device, a, &err);
		if (n == 1000) {
			printf("%s\n", err.detail);
			assert_int_equal(code, SL_DEVLOST);
			assert_int_equal(whole_job(device, a, &err), SL_DEVLOST);
		} else {
			assert_int_equal(code, 0);
		}
		cuda->close(device);
		if (cuda->open(&device, NULL, &err))
			fail_msg("after the failure: %s", err.detail);
		if (whole_job(device, a, &err))
			fail_msg("after the failure: %s", err.detail);
		cuda->close(device);
		sl_affinities_destroy(a);
		sl_graph_destroy(g);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(a_lost_device_comes_back)};
	struct sl_error err;
	setenv("SPACELAND_CUDA_FAULT", "1", 1);
	if (sl_engine_open("cuda", &cuda, &err)) {
		printf("skipped: %s\n", err.detail);
		cuda = NULL;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
