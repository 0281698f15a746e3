/* Sammon's mapping: odd points, partners, runs in parts and on any number of threads, states, bad parameters. */
#include <omp.h>

#include "tests/unit/graphs.h"
#include "tests/unit/sammon.h"

/* ---- odd points --------------------------------------------------------------------------- */

static void few_points(void **state)
{
	float x[] = {1, 2, 3, 1, 2, 3, 4, 6, 3, 1, 2, 3}, y[12];
	for (int optimiser = SL_SAMMON_NEWTON; optimiser <= SL_SAMMON_SMACOF; optimiser++)
		for (int start = SL_SAMMON_START_AUTO; start <= SL_SAMMON_START_RANDOM; start++)
			for (int dims = 1; dims <= 3; dims++) {
				struct sl_sammon_params params = params_of(SL_SAMMON_SAMMON, optimiser, dims, 200);
				params.start = start;
				struct sl_points one = points_of(x, 1, 3), equal = points_of(x, 2, 3), all = points_of(x, 4, 3);
				assert_true(run(&one, &params, NULL, y).stress == 0 && y[0] == 0);
				assert_true(run(&equal, &params, NULL, y).stress == 0 && y[dims] == 0);
				struct sl_sammon_status s = run(&all, &params, NULL, y);
				assert_true(s.converged && s.stress < 1e-9);
				assert_true(fabs(distance(y, (uint32_t)dims, 0, 2) - 5) < 1e-3);
				assert_memory_equal(y, y + dims, sizeof *y * (size_t)dims);
				assert_memory_equal(y, y + 3 * dims, sizeof *y * (size_t)dims);
			}
}

/* Equal rows count individually, by definition. 0 and -0 are equal. */
static void equal_rows(void **state)
{
	enum { N = 400, WIDE = 6 };
	float *x = make_points(N, WIDE, 0, 9), *y = malloc(N * 2 * sizeof *y);
	for (int i = 0; i < N; i++)
		x[i * WIDE] = 0;
	for (int i = 0; i < 150; i++)
		memcpy(x + (N - 1 - i) * WIDE, x + i / 5 * WIDE, WIDE * sizeof *x);
	x[(N - 1) * WIDE] = -0.0f;
	struct sl_points p = points_of(x, N, WIDE);
	for (int stress = 0; stress < 2; stress++)
		for (int optimiser = SL_SAMMON_NEWTON; optimiser <= SL_SAMMON_SMACOF; optimiser++) {
			struct sl_sammon_params params = params_of(stress, optimiser, 2, 100);
			double told = run(&p, &params, NULL, y).stress;
			assert_true(fabs(told - plain(N, WIDE, 2, stress, x, y, NULL)) < 2e-6 * told);
			for (int i = 0; i < 150; i++)
				assert_memory_equal(y + 2 * (N - 1 - i), y + 2 * (i / 5), 2 * sizeof *y);
		}
	free(x);
	free(y);
}

/* Very large and very small values change only the unit. */
static void units(void **state)
{
	enum { N = 100, WIDE = 4 };
	float *x = make_points(N, WIDE, 0, 4), *y = malloc(N * 2 * sizeof *y), *other = malloc(N * 2 * sizeof *y);
	struct sl_points p = points_of(x, N, WIDE);
	struct sl_sammon_params params = params_of(SL_SAMMON_SAMMON, SL_SAMMON_GRADIENT, 2, 50);
	struct sl_sammon_status s = run(&p, &params, NULL, y), t;
	static const int powers[] = {-100, 90};
	for (int at = 0; at < 2; at++) {
		float *large = malloc(N * WIDE * sizeof *large);
		for (int i = 0; i < N * WIDE; i++)
			large[i] = ldexpf(x[i], powers[at]);
		struct sl_points q = points_of(large, N, WIDE);
		t = run(&q, &params, NULL, other);
		assert_true(fabs(t.stress - s.stress) < 1e-6);
		for (int i = 0; i < N * 2; i++)
			assert_true(fabsf(ldexpf(other[i], -powers[at]) - y[i]) < 1e-2f);
		free(large);
	}
	free(x);
	free(y);
	free(other);
}

/* ---- partners ----------------------------------------------------------------------------- */

static void partners(void **state)
{
	enum { N = 2000, WIDE = 16 };
	float *x = make_points(N, WIDE, 0, 6), *y = malloc(N * 2 * sizeof *y);
	struct sl_points p = points_of(x, N, WIDE);
	struct sl_sammon_params params = params_of(SL_SAMMON_SAMMON, SL_SAMMON_NEWTON, 2, 100), all = params;
	params.partners = 256;
	assert_int_equal(sl_sammon_partners(&params, N), 256);
	assert_int_equal(sl_sammon_partners(&all, N), N);
	assert_int_equal(sl_sammon_partners(&all, SL_SAMMON_EXACT + 1), SL_SAMMON_PARTNERS);
	for (int optimiser = SL_SAMMON_NEWTON; optimiser <= SL_SAMMON_SMACOF; optimiser++)
		for (int stress = 0; stress < 2; stress++) {
			if (test_light() && stress != optimiser % 2)
				continue;
			params.stress = all.stress = stress;
			params.optimiser = all.optimiser = optimiser;
			double told = run(&p, &params, NULL, y).stress, of_some = plain(N, WIDE, 2, stress, x, y, NULL);
			double of_all = run(&p, &all, NULL, y).stress;
			assert_true(fabs(told - of_some) < 0.02 * of_some);  /* an estimate */
			assert_true(of_some < 1.02 * of_all);
		}
	free(x);
	free(y);
}

/* ---- the same bytes ----------------------------------------------------------------------- */

static void threads_and_slices_change_nothing(void **state)
{
	enum { WIDE = 20 };
	const uint32_t n = test_light() ? 1300 : 3000;
	float *x = make_points(n, WIDE, 0, 1), *y = malloc(n * 2 * sizeof *y), *other = malloc(n * 2 * sizeof *y);
	struct sl_points p = points_of(x, n, WIDE);
	int before = omp_get_max_threads();
	for (int optimiser = SL_SAMMON_NEWTON; optimiser <= SL_SAMMON_SMACOF; optimiser++) {
		struct sl_sammon_params params = params_of(SL_SAMMON_SAMMON, optimiser, 2, 12);
		struct sl_sammon_status s = {0};
		params.partners = optimiser == SL_SAMMON_GRADIENT ? 500 : 0;
		omp_set_num_threads(1);
		run(&p, &params, NULL, y);
		for (int threads = test_light() ? 5 : 2; threads <= 5; threads += 3) {
			omp_set_num_threads(threads);
			run(&p, &params, NULL, other);
			assert_memory_equal(y, other, n * 2 * sizeof *y);
		}
		/* in slices, each of them in a new process */
		struct sl_sammon *m;
		omp_set_num_threads(2);
		assert_int_equal(sl_sammon_create(&m, &p, &params, NULL, NULL), 0);
		while (!s.done) {
			void *bytes;
			uint64_t count;
			bool whole;
			assert_int_equal(sl_sammon_advance(m, test_light() ? 0.1 : 0.3, &whole, &s, NULL), 0);
			assert_int_equal(sl_sammon_save(m, &bytes, &count, NULL), 0);
			sl_sammon_destroy(m);
			assert_int_equal(sl_sammon_create(&m, &p, &params, NULL, NULL), 0);
			assert_int_equal(sl_sammon_load(m, bytes, count, NULL), 0);
			free(bytes);
		}
		sl_sammon_layout(m, other);
		assert_memory_equal(y, other, n * 2 * sizeof *y);
		sl_sammon_destroy(m);
	}
	omp_set_num_threads(before);
	free(x);
	free(y);
	free(other);
}

static void states_of_others_are_refused(void **state)
{
	float *x = make_points(100, 3, 0, 1);
	struct sl_points p = points_of(x, 100, 3), fewer = points_of(x, 99, 3);
	struct sl_sammon_params params = params_of(SL_SAMMON_SAMMON, SL_SAMMON_NEWTON, 2, 12), other = params;
	struct sl_sammon_status s;
	struct sl_sammon *m, *n, *f;
	struct sl_error err;
	void *bytes;
	uint64_t count;
	other.seed = 3;
	assert_int_equal(sl_sammon_create(&m, &p, &params, NULL, NULL), 0);
	assert_int_equal(sl_sammon_create(&n, &p, &other, NULL, NULL), 0);
	assert_int_equal(sl_sammon_create(&f, &fewer, &params, NULL, NULL), 0);
	assert_int_equal(sl_sammon_step(m, &s, NULL), 0);
	assert_int_equal(sl_sammon_save(m, &bytes, &count, NULL), 0);
	assert_int_equal(sl_sammon_load(n, bytes, count, &err), SL_BADDATA);
	assert_int_equal(sl_sammon_load(f, bytes, count, &err), SL_BADDATA);
	assert_int_equal(sl_sammon_load(m, bytes, count - 1, &err), SL_BADDATA);
	assert_int_equal(sl_sammon_load(m, bytes, 4, &err), SL_BADDATA);
	memset((char *)bytes + count - 8, 0xff, 8);
	assert_int_equal(sl_sammon_load(m, bytes, count, &err), SL_BADDATA);
	memset(bytes, 0, 8);
	assert_int_equal(sl_sammon_load(m, bytes, count, &err), SL_BADDATA);
	free(bytes);
	sl_sammon_destroy(m);
	sl_sammon_destroy(n);
	sl_sammon_destroy(f);
	sl_sammon_destroy(NULL);
	free(x);
}

static void stopped_and_steered(void **state)
{
	float *x = make_points(300, 5, 0, 1), y[600];
	struct sl_points p = points_of(x, 300, 5);
	struct sl_sammon_params params = params_of(SL_SAMMON_SAMMON, SL_SAMMON_NEWTON, 2, 100);
	struct sl_sammon_status s;
	struct sl_sammon *m;
	assert_int_equal(sl_sammon_create(&m, &p, &params, NULL, NULL), 0);
	sl_sammon_layout(m, y);
	for (int i = 0; i < 600; i++)
		assert_true(isfinite(y[i]));
	for (int i = 0; i < 3; i++)
		assert_int_equal(sl_sammon_step(m, &s, NULL), 0);
	sl_sammon_set_step(m, 0.01);
	for (int i = 0; i < 2; i++)
		assert_int_equal(sl_sammon_step(m, &s, NULL), 0);
	assert_true(s.step < 0.02);
	sl_sammon_stop(m, &s);
	assert_true(s.done && s.iteration == 5);
	assert_int_equal(sl_sammon_step(m, &s, NULL), 0);
	assert_int_equal(s.iteration, 5);
	sl_sammon_layout(m, y);
	assert_true(fabs(s.stress - plain(300, 5, 2, false, x, y, NULL)) < 1e-6);
	sl_sammon_destroy(m);
	free(x);
}

static void bad_parameters(void **state)
{
	float *x = make_points(40, 3, 0, 1), start[80] = {0};
	struct sl_points p = points_of(x, 40, 3);
	struct sl_sammon_params params;
	struct sl_error err;
	struct sl_sammon *m;
	sl_param_defaults(&sl_sammon_table, &params);
	params.partners = 41;
	assert_int_equal(sl_sammon_create(&m, &p, &params, NULL, &err), SL_BADPARAM);
	assert_string_equal(err.pointer, "/partners");
	params.partners = 0;
	params.dims = 4;
	assert_int_equal(sl_sammon_create(&m, &p, &params, NULL, &err), SL_BADPARAM);
	assert_string_equal(err.pointer, "/dims");
	params.dims = 2;
	params.tolerance = NAN;
	assert_int_equal(sl_sammon_create(&m, &p, &params, NULL, &err), SL_BADPARAM);
	assert_string_equal(err.pointer, "/tolerance");
	params.tolerance = 0;
	start[7] = INFINITY;
	assert_int_equal(sl_sammon_create(&m, &p, &params, start, &err), SL_BADDATA);
	free(x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(few_points),
		cmocka_unit_test(equal_rows),
		cmocka_unit_test(units),
		cmocka_unit_test(partners),
		cmocka_unit_test(threads_and_slices_change_nothing),
		cmocka_unit_test(states_of_others_are_refused),
		cmocka_unit_test(stopped_and_steered),
		cmocka_unit_test(bad_parameters),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
