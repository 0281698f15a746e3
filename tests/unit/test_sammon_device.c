/* Sammon's mapping with passes on a device, compared with the same run on the CPU. SPACELAND_ENGINE names the device's
 * engine; by default the plain passes of tests/plugin/ are the device. */
#include <stdio.h>

#include "core/engine/load.h"
#include "core/sammon/sammon_internal.h"
#include "tests/plugin/sammon_passes.h"
#include "tests/unit/sammon.h"
#include "tests/unit/seeds.h"

static struct sl_engine engine;
static struct sl_device *device;

static const struct sl_operation plain_operations[] = {
	SL_OPERATION(SL_SAMMON_PASSES, sl_sammon_open, plain_sammon_passes), {NULL, NULL}
};

static int open_device(void **state)
{
	const char *name = getenv("SPACELAND_ENGINE");
	const struct sl_engine *named;
	struct sl_error err;
	if (sl_engine_open(name && *name ? name : "cpu", &named, &err)) {
		printf("%s\n", err.detail);
		return -1;
	}
	engine = *named;
	if (!sl_sammon_opener(&engine))
		engine.operations = plain_operations;
	return engine.open(&device, NULL, &err);
}

static int close_device(void **state)
{
	engine.close(device);
	return plain_sammons_open;
}

static struct sl_sammon *make(const struct sl_points *p, const struct sl_sammon_params *params, bool on_device)
{
	struct sl_sammon *m = NULL;
	assert_int_equal(sl_sammon_create(&m, p, params, NULL, NULL), 0);
	if (on_device)
		assert_int_equal(sl_sammon_attach(m, &engine, device, NULL), 0);
	return m;
}

struct outcome {
	struct sl_sammon_status status;
	double stress[64];     /* after each of the first iterations */
	float *y;
};

/* each: after so many advances a new object continues, if `both` alternately on the CPU and the device; 0: never. */
static void go(const struct sl_points *p, const struct sl_sammon_params *params, bool on_device, double ms, int each,
	       bool both, struct outcome *out)
{
	struct sl_sammon *m = make(p, params, on_device);
	memset(&out->status, 0, sizeof out->status);
	for (int part = 1; !out->status.done; part++) {
		bool whole;
		assert_int_equal(sl_sammon_advance(m, ms, &whole, &out->status, NULL), 0);
		if (whole && out->status.iteration <= 64)
			out->stress[out->status.iteration - 1] = out->status.stress;
		if (!each || part % each)
			continue;
		void *bytes;
		uint64_t count;
		assert_int_equal(sl_sammon_save(m, &bytes, &count, NULL), 0);
		sl_sammon_destroy(m);
		m = make(p, params, false);
		assert_int_equal(sl_sammon_load(m, bytes, count, NULL), 0);
		on_device ^= both;
		if (on_device)
			assert_int_equal(sl_sammon_attach(m, &engine, device, NULL), 0);
		free(bytes);
	}
	sl_sammon_layout(m, out->y);
	sl_sammon_destroy(m);
}

static void compare(uint32_t n, uint32_t d, double offset, const struct sl_sammon_params *params)
{
	size_t values = (size_t)n * (size_t)params->dims;
	float *x = make_points(n, d, offset, test_seed(n + d));
	for (uint32_t i = n / 2; i < n / 2 + n / 10; i++)  /* equal rows */
		memcpy(x + (size_t)i * d, x + (size_t)(i / 3) * d, d * sizeof *x);
	struct sl_points p = points_of(x, n, d);
	struct outcome here = {.y = malloc(values * sizeof(float))}, there = {.y = malloc(values * sizeof(float))};
	struct outcome again = {.y = malloc(values * sizeof(float))};
	go(&p, params, false, INFINITY, 0, false, &here);
	go(&p, params, true, INFINITY, 0, false, &there);
	go(&p, params, true, 0.05, 0, false, &again);
	assert_int_equal(here.status.iteration, there.status.iteration);
	for (int i = 0; i < here.status.iteration && i < 64; i++) {
		/* Each step amplifies earlier rounding errors, most where the stress has little curvature: over 26 seeds on a
		 * GPU up to 1e-6 after two steps and 3e-3 after five. */
		double limit = i < 1 ? 1e-6 : i < 2 ? 1e-5 : 1e-2;
		if (!(fabs(here.stress[i] - there.stress[i]) <= limit * (1e-3 + here.stress[i])))
			fail_msg("%u points of %u columns, stress %d, optimiser %d: after %d iterations it is %.9g, on the device "
				 "%.9g", n, d, params->stress, params->optimiser, i + 1, here.stress[i], there.stress[i]);
	}
	assert_memory_equal(there.y, again.y, values * sizeof(float));
	free(x);
	free(here.y);
	free(there.y);
	free(again.y);
}

static void runs_are_those_of_the_processor(void **state)
{
	static const struct { uint32_t n, d; double offset; int dims; } shapes[] = {
		{1, 3, 0, 2}, {2, 1, 0, 1}, {40, 4, 5, 2}, {130, 12, 0, 3}, {300, 13, 2, 2}, {259, 50, 0, 2},
		{200, 150, 100, 1}, {400, 3, 1, 2}, {150, 20, 0, 3},
	};
	for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
		for (int optimiser = SL_SAMMON_NEWTON; optimiser <= SL_SAMMON_SMACOF; optimiser++) {
			if (test_leaves_out(i + 2 * (size_t)optimiser, 1, 4))
				continue;
			struct sl_sammon_params params = params_of((int)(i + (size_t)optimiser) % 2, optimiser, shapes[i].dims, 8);
			compare(shapes[i].n, shapes[i].d, shapes[i].offset, &params);
		}
}

static void partners_are_those_of_the_processor(void **state)
{
	for (int optimiser = SL_SAMMON_NEWTON; optimiser <= SL_SAMMON_SMACOF; optimiser++) {
		struct sl_sammon_params params = params_of(optimiser % 2, optimiser, 2, 5);
		params.partners = 100;
		compare(420, 17, 0, &params);
		compare(1100, 5, 0, &params);
	}
}

/* Also within a pass. On the device alone: the same bytes. */
static void a_run_goes_on_elsewhere(void **state)
{
	enum { N = 700, D = 14 };
	float *x = make_points(N, D, 0, test_seed(3));
	struct sl_points p = points_of(x, N, D);
	struct outcome whole = {.y = malloc(N * 2 * sizeof(float))}, parts = {.y = malloc(N * 2 * sizeof(float))};
	for (int optimiser = SL_SAMMON_NEWTON; optimiser <= SL_SAMMON_SMACOF; optimiser++)
		for (int partners = 0; partners <= 64; partners += 64) {
			if (test_leaves_out((uint64_t)(optimiser * 2 + partners / 64), 1, 3))
				continue;
			struct sl_sammon_params params = params_of(SL_SAMMON_SAMMON, optimiser, 2, 10);
			params.partners = partners;
			go(&p, &params, true, INFINITY, 0, false, &whole);
			go(&p, &params, true, INFINITY, 1, false, &parts);
			assert_memory_equal(whole.y, parts.y, N * 2 * sizeof(float));
			assert_true(whole.status.stress == parts.status.stress);
			go(&p, &params, false, INFINITY, 3, true, &parts);
			assert_int_equal(whole.status.iteration, parts.status.iteration);
			/* as far apart as in compare() */
			if (!(fabs(whole.status.stress - parts.status.stress) <= 1e-2 * whole.status.stress))
				fail_msg("optimiser %d, %d partners: the stress is %.9g, in parts %.9g", optimiser, partners,
					 whole.status.stress, parts.status.stress);
		}
	free(x);
	free(whole.y);
	free(parts.y);
}

/* A state saved within a pass is that of the pass's beginning. */
static void states_within_a_pass(void **state)
{
	enum { N = 600, D = 20 };
	float *x = make_points(N, D, 0, test_seed(5)), y[2][N * 2];
	struct sl_points p = points_of(x, N, D);
	struct sl_sammon_params params = params_of(SL_SAMMON_SAMMON, SL_SAMMON_NEWTON, 2, 3);
	struct outcome whole = {.y = y[0]};
	go(&p, &params, true, INFINITY, 0, false, &whole);
	struct sl_sammon *m = make(&p, &params, true);
	for (int k = 0, code; k < 3; k++) {
		void *bytes;
		uint64_t count;
		assert_false(sl__sammon_pass(m, 1, &code));
		assert_int_equal(code, 0);
		assert_int_equal(sl_sammon_save(m, &bytes, &count, NULL), 0);
		sl_sammon_destroy(m);
		m = make(&p, &params, false);
		assert_int_equal(sl_sammon_load(m, bytes, count, NULL), 0);
		assert_int_equal(sl_sammon_attach(m, &engine, device, NULL), 0);
		free(bytes);
		assert_int_equal(sl_sammon_step(m, &whole.status, NULL), 0);
	}
	sl_sammon_layout(m, y[1]);
	assert_memory_equal(y[0], y[1], sizeof y[0]);
	sl_sammon_destroy(m);
	free(x);
}

/* The run is unchanged, and the CPU can continue it. */
static void a_device_without_room(void **state)
{
	enum { N = 1500, D = 3000 };  /* 36 MB with the halves */
	float *x = make_points(N, D, 0, 12);
	struct sl_points p = points_of(x, N, D);
	struct sl_sammon_params params = params_of(SL_SAMMON_SAMMON, SL_SAMMON_NEWTON, 2, 1);
	struct sl_device_options little = {.memory_bytes = 16 << 20};
	struct sl_device_info info;
	struct sl_sammon_status status;
	struct sl_device *small;
	struct sl_error err;
	params.start = SL_SAMMON_START_RANDOM;
	struct sl_sammon *m = make(&p, &params, false);
	setenv("SPACELAND_TEST_SAMMON", "full", 1);
	assert_int_equal(engine.open(&small, &little, NULL), 0);
	engine.info(small, &info);
	uint64_t before = info.memory_used;
	assert_int_equal(sl_sammon_attach(m, &engine, small, &err), SL_DEVMEM);
	assert_non_null(strstr(err.detail, "a layout"));
	unsetenv("SPACELAND_TEST_SAMMON");
	engine.info(small, &info);
	assert_true(info.memory_used == before);
	assert_int_equal(sl_sammon_step(m, &status, NULL), 0);
	assert_true(status.done && status.stress > 0);
	sl_sammon_destroy(m);
	engine.close(small);
	free(x);
}

/* The method reserves at least the memory that it uses. */
static void forecasts_suffice(void **state)
{
	static const uint32_t n[] = {1, 100, 700, 3000}, d[] = {1, 12, 60, 150};
	struct sl_sammon_params params = params_of(SL_SAMMON_SAMMON, SL_SAMMON_NEWTON, 3, 2);
	for (int i = 0; i < 4; i++)
		for (int partners = 0; partners <= 64; partners += 64) {
			float *x = make_points(n[i], d[i], 0, 4);
			struct sl_points p = points_of(x, n[i], d[i]);
			struct sl_device_info before, after;
			params.partners = partners < (int)n[i] ? partners : 0;
			engine.info(device, &before);
			struct sl_sammon *m = make(&p, &params, true);
			engine.info(device, &after);
			assert_true(after.memory_used - before.memory_used <= sl_sammon_device_bytes(&params, n[i], d[i]));
			sl_sammon_destroy(m);
			engine.info(device, &after);
			assert_true(after.memory_used == before.memory_used);
			free(x);
		}
}

static int broken_go(void *arg, uint32_t from, uint32_t to, struct sl_error *err)
{
	return sl_error_set(err, SL_DEVLOST, "It is gone.");
}

static void a_lost_device_is_told(void **state)
{
	float *x = make_points(100, 3, 0, 1);
	struct sl_points p = points_of(x, 100, 3);
	struct sl_sammon_params params = params_of(SL_SAMMON_SAMMON, SL_SAMMON_NEWTON, 2, 12);
	struct sl_sammon_status status;
	struct sl_error err;
	struct sl_sammon *m = make(&p, &params, true);
	assert_int_equal(sl_sammon_step(m, &status, NULL), 0);
	m->passes.go = broken_go;
	assert_int_equal(sl_sammon_step(m, &status, &err), SL_DEVLOST);
	assert_string_equal(err.detail, "It is gone.");
	assert_int_equal(status.iteration, 1);
	sl_sammon_destroy(m);
	free(x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(runs_are_those_of_the_processor),
		cmocka_unit_test(partners_are_those_of_the_processor),
		cmocka_unit_test(a_run_goes_on_elsewhere),
		cmocka_unit_test(states_within_a_pass),
		cmocka_unit_test(a_device_without_room),
		cmocka_unit_test(forecasts_suffice),
		cmocka_unit_test(a_lost_device_is_told),
	};
	cmocka_set_test_filter(getenv("SPACELAND_TEST_FILTER"));
	return cmocka_run_group_tests_name("sammon_device", tests, open_device, close_device);
}
