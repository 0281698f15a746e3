/* A real failure of the device: SPACELAND_CUDA_FAULT=1 makes the first run write to an unmapped address. The error is
 * reported, everything can be destroyed, and the device can be closed. Then either the device opens again and works; or
 * the driver refuses this process (cudaErrorDevicesUnavailable), the error says so, and the program, started again with
 * the same process id, can open the device. Skipped without a GPU. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/embedding/embedding.h"
#include "core/engine/load.h"
#include "core/graph/affinities.h"
#include "core/kmeans/kmeans.h"
#include "core/params.h"
#include "core/points/points.h"
#include "core/random.h"
#include "tests/unit/graphs.h"

static const struct sl_engine *cuda;

static int whole_job(struct sl_device *device, const struct sl_affinities *a, struct sl_error *err)
{
	struct sl_device_graph *graph;
	struct sl_embedding *e = NULL;
	struct sl_status s = {0};
	struct sl_params p;
	sl_params_preset(&p, SL_PRESET_DEFAULT);
	p.iterations = test_light() ? 40 : 200;
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

/* k-means on the device, in the middle of a restart. */
static struct sl_kmeans *clusters_on(struct sl_device *device, struct sl_points *p)
{
	struct sl_kmeans_params params;
	struct sl_kmeans_status status = {0};
	struct sl_kmeans *m;
	struct sl_error err;
	float *x = malloc(500 * 3 * sizeof *x);
	for (int i = 0; i < 500 * 3; i++)
		x[i] = (float)sl_random_normal(1, (uint64_t)i);
	*p = (struct sl_points){.n = 500, .d = 3, .n_user = 500, .type = SL_POINTS_F32, .value = x};
	sl_param_defaults(&sl_kmeans_table, &params);
	params.tolerance = 0;
	if (sl_kmeans_create(&m, p, &params, NULL, &err) || sl_kmeans_attach(m, cuda, device, &err))
		fail_msg("%s", err.detail);
	while (status.seeds < 5)
		assert_int_equal(sl_kmeans_step(m, &status, NULL), 0);
	return m;
}

/* Its steps, results and states must fail; destroying it must work. */
static void clusters_lost(struct sl_kmeans *m, struct sl_points *p)
{
	struct sl_kmeans_status status;
	struct sl_error err = {0};
	assert_int_equal(sl_kmeans_step(m, &status, &err), SL_DEVLOST);
	printf("k-means: %s\n", err.detail);
	sl_kmeans_destroy(m);
	free(p->value);
}

static bool start_anew;

/* A second device on the same GPU, with its own job: it detects the failure after the first was closed, and closes. */
struct neighbour {
	const struct sl_engine *engine;
	struct sl_device *device;
	struct sl_graph *graph;
	struct sl_affinities *a;
	struct sl_device_graph *resident;
	struct sl_device_embedding *e;
};

static const struct sl_step step = {.exaggeration = 1, .learning_rate = 100, .momentum = 0.5f};

static void neighbour_open(struct neighbour *b)
{
	struct sl_affinities_params params = {.lambda = 10};
	struct sl_settings s = {.dims = 2, .accuracy = SL_NORMAL, .repulsion = SL_REPULSION_GRID};
	struct sl_error err = {0};
	b->graph = test_graph(2000, 7, true, false, 4);
	assert_int_equal(sl_affinities_create(&b->a, b->graph, &params, NULL), 0);
	float *y = calloc(b->a->n * 2, sizeof *y);
	for (uint32_t i = 0; i < 2 * b->a->n; i++)
		y[i] = (float)(i * 2654435761u % 1000) / 50;
	if (sl_engine_open("hybrid", &b->engine, &err) || b->engine->open(&b->device, NULL, &err) ||
	    b->engine->graph_put(b->device, b->a, &b->resident, &err) ||
	    b->engine->embedding_create(b->resident, &s, y, &b->e, &err))
		fail_msg("%s", err.detail);
	free(y);
}

static void neighbour_close(struct neighbour *b)
{
	struct sl_error err = {0};
	assert_int_equal(b->engine->run(b->e, &step, 5, &err), SL_DEVLOST);
	printf("the other: %s\n", err.detail);
	b->engine->embedding_destroy(b->e);
	b->engine->graph_drop(b->resident);
	b->engine->close(b->device);
	sl_affinities_destroy(b->a);
	sl_graph_destroy(b->graph);
}

static void job_on(struct sl_device *device, int expected)
{
	struct sl_affinities_params params = {.lambda = 10};
	struct sl_error err = {0};
	struct sl_affinities *a;
	struct sl_graph *g = test_graph(1000, 7, true, false, 3);
	assert_int_equal(sl_affinities_create(&a, g, &params, NULL), 0);
	if (whole_job(device, a, &err) != expected)
		fail_msg("not %s: %s", sl_error_name(expected), err.detail);
	if (expected)
		printf("%s\n", err.detail);
	sl_affinities_destroy(a);
	sl_graph_destroy(g);
}

static void a_lost_device_is_told_and_comes_back(void **state)
{
	struct sl_error err = {0};
	struct sl_device *device;
	if (!cuda)
		skip();
	assert_int_equal(cuda->open(&device, NULL, &err), 0);
	if (!getenv("SPACELAND_RESTARTED")) {
		struct neighbour other;
		struct sl_points points;
		neighbour_open(&other);
		struct sl_kmeans *clusters = clusters_on(device, &points);
		job_on(device, SL_DEVLOST);
		job_on(device, SL_DEVLOST);
		clusters_lost(clusters, &points);
		cuda->close(device);
		neighbour_close(&other);
		int code = cuda->open(&device, NULL, &err);
		if (code) {
			printf("after the failure: %s\n", err.detail);
			assert_int_equal(code, SL_DEVLOST);
			start_anew = true;
			return;
		}
	}
	job_on(device, 0);
	cuda->close(device);
}

int main(int count, char **word)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(a_lost_device_is_told_and_comes_back)};
	struct sl_error err;
	setenv("SPACELAND_CUDA_FAULT", "1", 1);
	if (sl_engine_open("cuda", &cuda, &err)) {
		printf("skipped: %s\n", err.detail);
		cuda = NULL;
	}
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	if (!failed && start_anew) {
		fflush(stdout);
		setenv("SPACELAND_RESTARTED", "1", 1);
		execv("/proc/self/exe", word);
	}
	return failed;
}
