/* k-means with passes on a device gives the same bytes as the run on the CPU. SPACELAND_ENGINE names the device's
 * engine; by default the plain passes of tests/plugin/ are the device. With SPACELAND_TEST_GPUS=N the device is N
 * GPUs. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/engine/load.h"
#include "core/kmeans/kmeans.h"
#include "core/points/points.h"
#include "core/random.h"
#include "tests/plugin/kmeans_passes.h"
#include "tests/unit/seeds.h"

static struct sl_engine engine;
static struct sl_device *device;

static const struct sl_operation plain_operations[] = {
	SL_OPERATION(SL_KMEANS_PASSES, sl_kmeans_open, plain_kmeans_passes), {NULL, NULL}
};

static int open_device(void **state)
{
	const char *name = getenv("SPACELAND_ENGINE");
	const struct sl_engine *named;
	const char *gpus = getenv("SPACELAND_TEST_GPUS");
	struct sl_device_options options = {.gpus = gpus ? atoi(gpus) : 1};
	struct sl_error err;
	if (sl_engine_open(name && *name ? name : "cpu", &named, &err)) {
		printf("%s\n", err.detail);
		return -1;
	}
	engine = *named;
	if (!sl_kmeans_opener(&engine))
		engine.operations = plain_operations;
	int code = engine.open(&device, &options, &err);
	if (code)
		printf("%s\n", err.detail);
	return code;
}

static int close_device(void **state)
{
	engine.close(device);
	return plain_open;
}

struct result {
	uint32_t *label;
	float *centroid;
	double inertia, current[64];   /* after each of the first iterations */
	int iterations;
	struct sl_kmeans_status status;
};

static struct result result_of(const struct sl_points *p, const struct sl_kmeans_params *params)
{
	return (struct result){.label = malloc(p->n * sizeof(uint32_t)),
			       .centroid = malloc((size_t)params->clusters * p->d * sizeof(float))};
}

static struct sl_kmeans *make(const struct sl_points *p, const struct sl_kmeans_params *params, const float *start,
			      bool on_device)
{
	struct sl_kmeans *m = NULL;
	assert_int_equal(sl_kmeans_create(&m, p, params, start, NULL), 0);
	if (on_device)
		assert_int_equal(sl_kmeans_attach(m, &engine, device, NULL), 0);
	return m;
}

/* Makes steps; after every `each` of them (0: never) a new object continues, alternately on the device and the CPU. */
static struct result run(const struct sl_points *p, const struct sl_kmeans_params *params, const float *start,
			 bool on_device, double ms, int each)
{
	struct result r = result_of(p, params);
	struct sl_kmeans *m = make(p, params, start, on_device);
	for (int parts = 1, at = 0; !r.status.done; parts++) {
		bool whole;
		assert_int_equal(sl_kmeans_advance(m, ms, &whole, &r.status, NULL), 0);
		if (r.status.iteration != at && r.iterations < 64)
			r.current[r.iterations++] = r.status.current;
		at = r.status.iteration;
		bool seeding = r.status.seeds < params->clusters;
		if (!each || parts % (seeding ? 700 * each : each))  /* seeds begin again in a loaded run */
			continue;
		void *bytes;
		uint64_t count;
		on_device = !on_device;
		assert_int_equal(sl_kmeans_save(m, &bytes, &count, NULL), 0);
		sl_kmeans_destroy(m);
		assert_int_equal(sl_kmeans_create(&m, p, params, start, NULL), 0);
		assert_int_equal(sl_kmeans_load(m, bytes, count, NULL), 0);
		if (on_device)
			assert_int_equal(sl_kmeans_attach(m, &engine, device, NULL), 0);
		free(bytes);
	}
	assert_int_equal(sl_kmeans_result(m, r.label, r.centroid, &r.inertia, NULL), 0);
	sl_kmeans_destroy(m);
	return r;
}

static void finish(struct result *r)
{
	free(r->label);
	free(r->centroid);
}

static void same(const struct sl_points *p, const struct sl_kmeans_params *params, const struct result *a,
		 const struct result *b)
{
	assert_memory_equal(a->label, b->label, p->n * sizeof(uint32_t));
	assert_memory_equal(a->centroid, b->centroid, (size_t)params->clusters * p->d * sizeof(float));
	assert_true(a->inertia == b->inertia);
	assert_int_equal(a->iterations, b->iterations);
	assert_memory_equal(a->current, b->current, sizeof a->current);
	assert_memory_equal(&a->status.iteration, &b->status.iteration, sizeof(int));
	assert_int_equal(a->status.converged, b->status.converged);
}

/* Runs on both. The base variant of the CPU kernels has no fused multiplication, so its bits differ. */
static void compare(const struct sl_points *p, const struct sl_kmeans_params *params, const float *start)
{
	struct result here = run(p, params, start, false, INFINITY, 0), there = run(p, params, start, true, INFINITY, 0);
#if defined(__x86_64__)
	if (__builtin_cpu_supports("fma"))
#endif
		same(p, params, &here, &there);
	finish(&here);
	finish(&there);
}

static struct sl_points floats(float *x, uint32_t n, uint32_t d)
{
	return (struct sl_points){.n = n, .d = d, .n_user = n, .type = SL_POINTS_F32, .value = x};
}

/* Overlapping clusters, away from the origin. */
static float *make_points(uint32_t n, uint32_t d, uint32_t centres, double offset, double size, uint64_t seed)
{
	float *x = malloc((size_t)n * d * sizeof *x);
	seed = test_seed(seed);
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t k = 0; k < d; k++)
			x[(size_t)i * d + k] = (float)(size * (offset + 3 * sl_random_uniform(seed, i % centres * 1000 + k) +
							       sl_random_normal(seed + 1, (uint64_t)i * d + k)));
	return x;
}

static struct sl_kmeans_params params_of(int clusters, int restarts, int iterations)
{
	struct sl_kmeans_params params;
	sl_param_defaults(&sl_kmeans_table, &params);
	params.clusters = clusters;
	params.restarts = restarts;
	params.iterations = iterations;
	return params;
}

static void runs_of_any_shape(void **state)
{
	static const struct { uint32_t n, d; int k; double offset, size; int metric; } shape[] = {
		{1, 1, 1, 0, 1, SL_KMEANS_EUCLIDEAN}, {7, 2, 7, 0, 1, SL_KMEANS_EUCLIDEAN},
		{513, 2, 9, 5, 1, SL_KMEANS_EUCLIDEAN}, {700, 3, 40, 0, 1e-9, SL_KMEANS_EUCLIDEAN},
		{1000, 20, 33, 100, 1, SL_KMEANS_EUCLIDEAN}, {900, 37, 130, 1, 1e12, SL_KMEANS_EUCLIDEAN},
		{600, 150, 65, 0, 1e-3, SL_KMEANS_EUCLIDEAN}, {800, 17, 12, 1, 1, SL_KMEANS_COSINE},
		{300, 70, 70, 0, 1e6, SL_KMEANS_COSINE},
	};
	for (size_t i = 0; i < sizeof shape / sizeof *shape; i++) {
		if (test_light() && (test_lightest() ? test_leaves_out(i, 1, 4) : i == 4 || i == 6))
			continue;
		float *x = make_points(shape[i].n, shape[i].d, (uint32_t)shape[i].k, shape[i].offset, shape[i].size, i);
		struct sl_points p = floats(x, shape[i].n, shape[i].d);
		struct sl_kmeans_params params = params_of(shape[i].k, 2, 12);
		params.metric = shape[i].metric;
		params.seed = i;
		if (!test_light() || i % 2)
			compare(&p, &params, NULL);
		params.seeding = SL_KMEANS_PARALLEL;
		if (!test_light() || i % 2 == 0)
			compare(&p, &params, NULL);
		params.batch = (shape[i].k + (int)shape[i].n) / 2;
		params.iterations = 5;
		compare(&p, &params, NULL);
		free(x);
	}
}

/* Whole numbers: equal distances everywhere, fewer different points than clusters, empty clusters. */
static void ties_and_empty_clusters(void **state)
{
	enum { N = 600, D = 4 };
	uint8_t *x = malloc(N * D);
	for (uint32_t i = 0; i < N * D; i++)
		x[i] = (uint8_t)(sl_random_uniform(test_seed(5), i) * 3);
	struct sl_points bytes = {.n = N, .d = D, .n_user = N, .type = SL_POINTS_U8, .value = x};
	for (int k = 2; k <= 120; k += 59) {
		struct sl_kmeans_params params = params_of(k, 2, 10);
		compare(&bytes, &params, NULL);
		params.seeding = SL_KMEANS_PARALLEL;
		compare(&bytes, &params, NULL);
	}
	/* a start of which all but one centroid are the same */
	float start[40 * D] = {0};
	struct sl_kmeans_params params = params_of(40, 1, 10);
	start[0] = 1;
	compare(&bytes, &params, start);
	free(x);
}

/* Parts of steps, and states that move from the device to the CPU and back. */
static void a_run_goes_on_elsewhere(void **state)
{
	enum { N = 3000, D = 6 };
	float *x = make_points(N, D, 30, 1, 1, 77);
	struct sl_points p = floats(x, N, D);
	struct sl_kmeans_params params = params_of(30, 2, 6);
	for (int each = 2; each < 14; each++) {
		if (test_leaves_out((uint64_t)each, 1, 4))
			continue;
		params.seeding = each < 8 ? SL_KMEANS_PLUSPLUS : SL_KMEANS_PARALLEL;
		struct result whole = run(&p, &params, NULL, true, INFINITY, 0);
		struct result parts = run(&p, &params, NULL, each % 2, each % 6 < 3 ? INFINITY : 1e-6, each);
		assert_memory_equal(whole.label, parts.label, N * sizeof(uint32_t));
		assert_memory_equal(whole.centroid, parts.centroid, 30 * D * sizeof(float));
		assert_true(whole.inertia == parts.inertia);
		finish(&parts);
		finish(&whole);
	}
	free(x);
}

static void results_before_the_end(void **state)
{
	enum { N = 500, D = 5, K = 12 };
	float *x = make_points(N, D, K, 0, 1, 9), centroid[2][K * D];
	struct sl_points p = floats(x, N, D);
	struct sl_kmeans_params params = params_of(K, 1, 30);
	uint32_t label[2][N];
	double inertia[2], measured[2];
	for (int on_device = 0; on_device < 2; on_device++) {
		struct sl_kmeans *m = make(&p, &params, NULL, on_device);
		struct sl_kmeans_status status = {0};
		assert_int_equal(sl_kmeans_result(m, label[0], NULL, NULL, NULL), SL_CONFLICT);
		while (status.iteration < 3)
			assert_int_equal(sl_kmeans_step(m, &status, NULL), 0);
		measured[on_device] = sl_kmeans_measure(m);
		assert_int_equal(sl_kmeans_result(m, label[on_device], centroid[on_device], &inertia[on_device], NULL), 0);
		sl_kmeans_stop(m, &status);
		while (!status.done)
			assert_int_equal(sl_kmeans_step(m, &status, NULL), 0);
		assert_int_equal(status.iteration, 3);
		sl_kmeans_destroy(m);
	}
	assert_memory_equal(label[0], label[1], sizeof label[0]);
	assert_memory_equal(centroid[0], centroid[1], sizeof centroid[0]);
	assert_true(inertia[0] == inertia[1] && measured[0] == measured[1]);
	free(x);
}

/* The run is unchanged, and the CPU can continue it. */
static void a_device_without_room(void **state)
{
	enum { N = 50000, D = 120, K = 4 };  /* 24 MB */
	float *x = make_points(N, D, K, 0, 1, 12);
	struct sl_points p = floats(x, N, D);
	struct sl_kmeans_params params = params_of(K, 1, 10);
	struct result whole = run(&p, &params, NULL, false, INFINITY, 0), r = result_of(&p, &params);
	struct sl_device_options little = {.memory_bytes = 16 << 20};
	struct sl_device *small;
	struct sl_error err;
	struct sl_kmeans *m = make(&p, &params, NULL, false);
	setenv("SPACELAND_TEST_KMEANS", "full", 1);
	assert_int_equal(engine.open(&small, &little, NULL), 0);
	assert_int_equal(sl_kmeans_attach(m, &engine, small, &err), SL_DEVMEM);
	assert_non_null(strstr(err.detail, "k-means"));
	unsetenv("SPACELAND_TEST_KMEANS");
	do
		assert_int_equal(sl_kmeans_step(m, &r.status, NULL), 0);
	while (!r.status.done);
	assert_int_equal(sl_kmeans_result(m, r.label, r.centroid, &r.inertia, NULL), 0);
	assert_memory_equal(whole.label, r.label, N * sizeof(uint32_t));
	assert_true(whole.inertia == r.inertia);
	sl_kmeans_destroy(m);
	engine.close(small);
	finish(&whole);
	finish(&r);
	free(x);
}

/* A run uses no more device memory than forecast. */
static void forecasts_suffice(void **state)
{
	static const uint32_t n[] = {1, 300, 4000, 20000}, d[] = {1, 21, 22, 150};
	static const int k[] = {1, 64, 700, 65};
	for (int i = 0; i < 4; i++) {
		float *x = make_points(n[i], d[i], 5, 0, 1, 14);
		struct sl_points p = floats(x, n[i], d[i]);
		struct sl_kmeans_params params = params_of(k[i], 1, 10);
		struct sl_device_info before, after;
		engine.info(device, &before);
		struct sl_kmeans *m = make(&p, &params, NULL, true);
		engine.info(device, &after);
		/* each GPU has all points */
		uint64_t gpus = getenv("SPACELAND_TEST_GPUS") ? strtoull(getenv("SPACELAND_TEST_GPUS"), NULL, 10) : 1;
		assert_true(after.memory_used - before.memory_used <=
			    gpus * sl_kmeans_device_bytes((uint32_t)k[i], n[i], d[i]));
		sl_kmeans_destroy(m);
		free(x);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(runs_of_any_shape),
		cmocka_unit_test(ties_and_empty_clusters),
		cmocka_unit_test(a_run_goes_on_elsewhere),
		cmocka_unit_test(results_before_the_end),
		cmocka_unit_test(a_device_without_room),
		cmocka_unit_test(forecasts_suffice),
	};
	return cmocka_run_group_tests_name("kmeans_device", tests, open_device, close_device);
}
