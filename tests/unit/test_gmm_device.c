/* Mixtures with passes on a device, compared with the same run on the CPU: equal within rounding. SPACELAND_ENGINE
 * names the device's engine; by default the plain passes of tests/plugin/ are the device.
 *
 * Runs from the same start with tolerance 0 make the same iterations. A step of EM multiplies errors of the mixture by
 * at most about 1, so a few dozen iterations add them up. The log-likelihood must agree within a relative error of
 * 1e-9, a thousandth of the documented bound. */
#include <stdio.h>
#include <string.h>

#include "core/engine/load.h"
#include "tests/plugin/gmm_passes.h"
#include "tests/unit/mixtures.h"

static struct sl_engine engine;
static struct sl_device *device;

static const struct sl_operation plain_operations[] = {
	SL_OPERATION(SL_GMM_PASSES, sl_gmm_open, plain_gmm_passes), {NULL, NULL}
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
	if (!sl_gmm_opener(&engine))
		engine.operations = plain_operations;
	return engine.open(&device, NULL, &err);
}

static int close_device(void **state)
{
	engine.close(device);
	return plain_gmms_open;
}

static struct sl_gmm *make(const struct sl_points *p, const struct sl_gmm_params *params, const float *start,
			   bool on_device)
{
	struct sl_gmm *m = NULL;
	assert_int_equal(sl_gmm_create(&m, p, params, start, NULL), 0);
	if (on_device)
		assert_int_equal(sl_gmm_attach(m, &engine, device, NULL), 0);
	return m;
}

/* Runs to the end; after every `each` advances (0: never) a new object continues, if `both` alternately on the CPU and
 * the device. */
static struct sl_gmm *go(const struct sl_points *p, const struct sl_gmm_params *params, const float *start,
			 bool on_device, double ms, int each, bool both)
{
	struct sl_gmm *m = make(p, params, start, on_device);
	struct sl_gmm_status status = {0};
	for (int part = 1; !status.done; part++) {
		bool whole;
		void *bytes;
		uint64_t count;
		assert_int_equal(sl_gmm_advance(m, ms, &whole, &status, NULL), 0);
		if (!each || part % each || status.done)
			continue;
		assert_int_equal(sl_gmm_save(m, &bytes, &count, NULL), 0);
		sl_gmm_destroy(m);
		m = make(p, params, start, false);
		assert_int_equal(sl_gmm_load(m, bytes, count, NULL), 0);
		on_device ^= both;
		if (on_device)
			assert_int_equal(sl_gmm_attach(m, &engine, device, NULL), 0);
		free(bytes);
	}
	return m;
}

static void alike(const struct sl_gmm *a, const struct sl_gmm *b, uint32_t n)
{
	const struct sl_gmm_mixture *g = sl_gmm_best(a), *h = sl_gmm_best(b);
	int fits, others;
	const struct sl_gmm_fit *one = sl_gmm_fits(a, &fits), *two = sl_gmm_fits(b, &others);
	assert_int_equal(fits, others);
	for (int i = 0; i < fits; i++) {
		assert_int_equal(one[i].iterations, two[i].iterations);
		assert_int_equal(one[i].ridged, two[i].ridged);
		near(one[i].log_likelihood, two[i].log_likelihood, 1e-9);
		near(one[i].bic, two[i].bic, 1e-9);
	}
	assert_int_equal(g->k, h->k);
	for (uint32_t c = 0; c < g->k; c++)
		near(g->weight[c], h->weight[c], 1e-6);
	for (uint32_t i = 0; i < g->k * g->d; i++)
		near(g->mean[i], h->mean[i], 1e-6);
	for (uint64_t i = 0; i < sl_gmm_spread_values(g->covariance, g->k, g->d); i++)
		near(g->spread[i], h->spread[i], 1e-6);
	const int32_t *label, *other;
	const float *share, *others_share;
	assert_int_equal(sl_gmm_result(a, &label, &share, NULL), 0);
	assert_int_equal(sl_gmm_result(b, &other, &others_share, NULL), 0);
	for (uint32_t i = 0; i < n; i++) {
		for (uint32_t c = 0; c < g->k; c++)
			assert_true(fabsf(share[i * g->k + c] - others_share[i * g->k + c]) < 1e-5f);
		/* the largest, or one equally large within rounding */
		assert_true(share[i * g->k + (uint32_t)other[i]] >= share[i * g->k + (uint32_t)label[i]] - 1e-5f);
	}
}

static void same(const struct sl_gmm *a, const struct sl_gmm *b, uint32_t n)
{
	const struct sl_gmm_mixture *g = sl_gmm_best(a), *h = sl_gmm_best(b);
	const int32_t *label, *other;
	const float *share, *others_share;
	int fits;
	assert_memory_equal(g->weight, h->weight, g->k * sizeof(double));
	assert_memory_equal(g->mean, h->mean, g->k * g->d * sizeof(double));
	assert_memory_equal(g->spread, h->spread, sl_gmm_spread_values(g->covariance, g->k, g->d) * sizeof(double));
	assert_true(sl_gmm_fits(a, &fits)->log_likelihood == sl_gmm_fits(b, &fits)->log_likelihood);
	assert_int_equal(sl_gmm_result(a, &label, &share, NULL), 0);
	assert_int_equal(sl_gmm_result(b, &other, &others_share, NULL), 0);
	assert_memory_equal(label, other, n * sizeof *label);
	assert_memory_equal(share, others_share, (size_t)n * g->k * sizeof *share);
}

static void runs_are_those_of_the_processor(void **state)
{
	static const struct { uint32_t n, d; int k; double offset; bool start; } shape[] = {
		{1, 1, 1, 0, false}, {300, 2, 3, 0, false}, {1000, 8, 5, 100, true}, {700, 16, 9, 0, false},
		{500, 17, 4, -1000, true}, {400, 31, 2, 0, false}, {300, 41, 3, 1, true}, {900, 3, 70, 0, true},
	};
	for (size_t i = 0; i < sizeof shape / sizeof *shape; i++) {
		uint32_t n = shape[i].n, d = shape[i].d;
		if (test_light() && (i == 2 || i == 7))
			continue;
		float *x = make_points(n, d, (uint32_t)shape[i].k, shape[i].offset, test_seed(i));
		float *start = shape[i].start ? hard_start(n, (uint32_t)shape[i].k) : NULL;
		struct sl_points p = points_of(x, n, d);
		for (int covariance = SL_GMM_FULL; covariance <= SL_GMM_SPHERICAL; covariance++) {
			struct sl_gmm_params params = params_of(shape[i].k, covariance, 6, 0);
			if (test_light() && (covariance + (int)i) % 2)
				continue;
			params.reg_covar = 1e-3;
			struct sl_gmm *here = go(&p, &params, start, false, INFINITY, 0, false);
			struct sl_gmm *there = go(&p, &params, start, true, INFINITY, 0, false);
			alike(here, there, n);
			sl_gmm_destroy(here);
			sl_gmm_destroy(there);
		}
		free(start);
		free(x);
	}
}

/* Several numbers of components, restarts; bytes as points. */
static void several_numbers_of_components(void **state)
{
	enum { N = 600, D = 5 };
	uint8_t *x = malloc(N * D);
	for (uint32_t i = 0; i < N * D; i++)
		x[i] = (uint8_t)(40 * (i / D % 3) + 10 * sl_random_uniform(test_seed(6), i));
	struct sl_points p = {.n = N, .d = D, .n_user = N, .type = SL_POINTS_U8, .value = x};
	struct sl_gmm_params params = params_of(2, SL_GMM_FULL, 5, 0);
	params.components = (struct sl_param_list){3, {2, 5, 3}};
	params.restarts = 2;
	struct sl_gmm *here = go(&p, &params, NULL, false, INFINITY, 0, false);
	struct sl_gmm *there = go(&p, &params, NULL, true, INFINITY, 0, false);
	alike(here, there, N);
	sl_gmm_destroy(here);
	sl_gmm_destroy(there);
	free(x);
}

/* Dividing and saving a run on the device changes no byte; a run may continue elsewhere. */
static void a_run_goes_on(void **state)
{
	enum { N = 700, D = 6 };
	float *x = make_points(N, D, 4, 1, test_seed(77));
	struct sl_points p = points_of(x, N, D);
	for (int covariance = SL_GMM_FULL; covariance <= SL_GMM_SPHERICAL; covariance++) {
		struct sl_gmm_params params = params_of(4, covariance, 8, 0);
		struct sl_gmm *whole = go(&p, &params, NULL, true, INFINITY, 0, false);
		struct sl_gmm *parts = go(&p, &params, NULL, true, INFINITY, 1, false);
		struct sl_gmm *pieces = go(&p, &params, NULL, true, 1e-6, 40, false);
		struct sl_gmm *both = go(&p, &params, NULL, true, INFINITY, 2, true);
		same(whole, parts, N);
		same(whole, pieces, N);
		alike(whole, both, N);
		sl_gmm_destroy(whole);
		sl_gmm_destroy(parts);
		sl_gmm_destroy(pieces);
		sl_gmm_destroy(both);
	}
	free(x);
}

static void a_device_without_room(void **state)
{
	enum { N = 50000, D = 60 };  /* 12 MB */
	float *x = make_points(N, D, 2, 0, 5);
	struct sl_points p = points_of(x, N, D);
	struct sl_gmm_params params = params_of(2, SL_GMM_DIAG, 2, 0);
	struct sl_gmm *m = make(&p, &params, NULL, false), *here = go(&p, &params, NULL, false, INFINITY, 0, false);
	struct sl_device_options little = {.memory_bytes = 8 << 20};
	struct sl_device *small;
	struct sl_error err;
	setenv("SPACELAND_TEST_GMM", "full", 1);
	assert_int_equal(engine.open(&small, &little, NULL), 0);
	assert_int_equal(sl_gmm_attach(m, &engine, small, &err), SL_DEVMEM);
	assert_non_null(strstr(err.detail, "mixture"));
	unsetenv("SPACELAND_TEST_GMM");
	finish(m);
	same(m, here, N);
	sl_gmm_destroy(m);
	sl_gmm_destroy(here);
	engine.close(small);
	free(x);
}

/* It uses no more device memory than forecast. */
static void forecasts_hold(void **state)
{
	static const struct { uint32_t n, d; int k; } shape[] = {
		{3000, 2, 3}, {50000, 16, 64}, {2000, 70, 11}, {9000, 5, 300},
	};
	for (size_t i = 0; i < sizeof shape / sizeof *shape; i++)
		for (int covariance = SL_GMM_FULL; covariance <= SL_GMM_SPHERICAL; covariance++) {
			float *x = make_points(shape[i].n, shape[i].d, 3, 0, i);
			struct sl_points p = points_of(x, shape[i].n, shape[i].d);
			struct sl_gmm_params params = params_of(shape[i].k, covariance, 5, 0);
			struct sl_device_info before, after;
			engine.info(device, &before);
			struct sl_gmm *m = make(&p, &params, NULL, true);
			engine.info(device, &after);
			uint64_t told = sl_gmm_device_bytes(&params, shape[i].n, shape[i].d);
			assert_true(after.memory_used - before.memory_used <= told);
			assert_true(told >= 4ull * shape[i].n * shape[i].d);
			sl_gmm_destroy(m);
			free(x);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(runs_are_those_of_the_processor),
		cmocka_unit_test(several_numbers_of_components),
		cmocka_unit_test(a_run_goes_on),
		cmocka_unit_test(a_device_without_room),
		cmocka_unit_test(forecasts_hold),
	};
	return cmocka_run_group_tests_name("mixtures on a device", tests, open_device, close_device);
}
