/* Runs of mixtures: any number of threads, slices, saved states, stopping. */
#include <math.h>
#include <omp.h>
#include <string.h>

#include "tests/unit/mixtures.h"

/* ---- how it runs ------------------------------------------------------------------------ */

static void same_result(const struct sl_gmm *a, const struct sl_gmm *b)
{
	const struct sl_gmm_mixture *g = sl_gmm_best(a), *h = sl_gmm_best(b);
	const int32_t *label[2];
	const float *share[2];
	int count, other;
	const struct sl_gmm_fit *fit = sl_gmm_fits(a, &count), *fitted = sl_gmm_fits(b, &other);
	assert_int_equal(count, other);
	assert_memory_equal(fit, fitted, (size_t)count * sizeof *fit);
	assert_int_equal(g->k, h->k);
	assert_memory_equal(g->weight, h->weight, g->k * sizeof *g->weight);
	assert_memory_equal(g->mean, h->mean, g->k * g->d * sizeof *g->mean);
	assert_memory_equal(g->spread, h->spread, sl_gmm_spread_values(g->covariance, g->k, g->d) * sizeof *g->spread);
	assert_int_equal(sl_gmm_result(a, &label[0], &share[0], NULL), 0);
	assert_int_equal(sl_gmm_result(b, &label[1], &share[1], NULL), 0);
	assert_memory_equal(label[0], label[1], 64 * sizeof **label);
	assert_memory_equal(share[0], share[1], 64 * g->k * sizeof **share);
}

static struct sl_gmm_params several(int covariance)
{
	struct sl_gmm_params p = params_of(5, covariance, 6, 0);
	p.components = (struct sl_param_list){2, {5, 3}};
	p.restarts = 2;
	p.seed = 3;
	return p;
}

static void threads_change_nothing(void **state)
{
	const uint32_t n = 3000, d = 7;
	float *x = make_points(n, d, 5, 0, test_seed(5));
	struct sl_points points = points_of(x, n, d);
	for (int covariance = SL_GMM_FULL; covariance <= SL_GMM_SPHERICAL; covariance++) {
		struct sl_gmm_params params = several(covariance);
		omp_set_num_threads(1);
		struct sl_gmm *one = run(&points, &params, NULL);
		omp_set_num_threads(5);
		struct sl_gmm *five = run(&points, &params, NULL);
		same_result(one, five);
		sl_gmm_destroy(one);
		sl_gmm_destroy(five);
	}
	omp_set_num_threads(omp_get_num_procs());
	free(x);
}

/* The state is saved and loaded after each slice. */
static void goes_on_from_its_state(void **state)
{
	static const uint32_t shapes[][2] = {{2000, 6}, {150, 140}};  /* the second has stripes of scatter matrices */
	for (int s = 0; s < 2; s++)
		for (int covariance = SL_GMM_FULL; covariance <= SL_GMM_SPHERICAL; covariance++) {
			if (test_leaves_out((uint64_t)(s + covariance), 1, 3))
				continue;
			uint32_t n = shapes[s][0], d = shapes[s][1];
			float *x = make_points(n, d, 5, 0, test_seed(6));
			struct sl_points points = points_of(x, n, d);
			struct sl_gmm_params params = several(covariance);
			struct sl_gmm *whole = run(&points, &params, NULL), *m = NULL;
			struct sl_gmm_status status = {0};
			int loads = 0;
			assert_int_equal(sl_gmm_create(&m, &points, &params, NULL, NULL), 0);
			while (!status.done) {
				void *blob;
				uint64_t bytes;
				bool through;
				assert_int_equal(sl_gmm_advance(m, 0.05, &through, &status, NULL), 0);
				if (loads > (s ? 60 : 200) && !status.done)
					continue;
				assert_int_equal(sl_gmm_save(m, &blob, &bytes, NULL), 0);
				sl_gmm_destroy(m);
				assert_int_equal(sl_gmm_create(&m, &points, &params, NULL, NULL), 0);
				assert_int_equal(sl_gmm_load(m, blob, bytes, NULL), 0);
				assert_int_equal(sl_gmm_advance(m, 0, &through, &status, NULL), 0);
				free(blob);
				loads++;
			}
			assert_true(loads > 20);
			same_result(whole, m);
			sl_gmm_destroy(whole);
			sl_gmm_destroy(m);
			free(x);
		}
}

static void damaged_states_are_refused(void **state)
{
	const uint32_t n = 500, d = 3;
	float *x = make_points(n, d, 5, 0, test_seed(7));
	struct sl_points points = points_of(x, n, d);
	struct sl_gmm_params params = several(SL_GMM_FULL);
	struct sl_gmm *m = NULL, *other = NULL;
	struct sl_gmm_status status;
	bool whole;
	void *blob;
	uint64_t bytes, seed = test_seed(8);
	assert_int_equal(sl_gmm_create(&m, &points, &params, NULL, NULL), 0);
	do
		assert_int_equal(sl_gmm_advance(m, INFINITY, &whole, &status, NULL), 0);
	while (status.iteration < 3);
	assert_int_equal(sl_gmm_save(m, &blob, &bytes, NULL), 0);
	params.seed = 4;
	assert_int_equal(sl_gmm_create(&other, &points, &params, NULL, NULL), 0);
	assert_int_equal(sl_gmm_load(other, blob, bytes, NULL), SL_BADDATA);
	sl_gmm_destroy(other);
	for (uint64_t cut = 0; cut < bytes; cut += cut < 400 ? 13 : 997)
		assert_int_equal(sl_gmm_load(m, blob, cut, NULL), SL_BADDATA);
	/* for any header, no access outside the arrays */
	for (int i = 0; i < 500; i++) {
		unsigned char *copy = malloc(bytes);
		memcpy(copy, blob, bytes);
		copy[test_random(&seed) % 400] = (unsigned char)test_random(&seed);
		params.seed = 3;
		assert_int_equal(sl_gmm_create(&other, &points, &params, NULL, NULL), 0);
		int code = sl_gmm_load(other, copy, bytes, NULL);
		assert_true(code == 0 || code == SL_BADDATA);
		sl_gmm_destroy(other);
		free(copy);
	}
	free(blob);
	sl_gmm_destroy(m);
	free(x);
}

static void ends_when_asked(void **state)
{
	const uint32_t n = 4000, d = 4;
	float *x = make_points(n, d, 5, 0, test_seed(9));
	struct sl_points points = points_of(x, n, d);
	struct sl_gmm_params params = several(SL_GMM_FULL);
	params.iterations = 50;
	for (int when = 0; when < 60; when++) {
		if (test_leaves_out((uint64_t)when, 1, 7))
			continue;
		struct sl_gmm *m = NULL;
		struct sl_gmm_status status = {0};
		bool whole;
		int count;
		assert_int_equal(sl_gmm_create(&m, &points, &params, NULL, NULL), 0);
		for (int i = 0; i < when && !status.done; i++)
			assert_int_equal(sl_gmm_advance(m, 0.2 * when, &whole, &status, NULL), 0);
		int fits = status.fits;
		sl_gmm_stop(m, &status);
		finish(m);
		sl_gmm_fits(m, &count);
		assert_true(count >= 1 && count <= fits + 1);
		assert_non_null(sl_gmm_best(m));
		sl_gmm_destroy(m);
	}
	free(x);
}

static void bytes_are_points_too(void **state)
{
	const uint32_t n = 700, d = 5;
	uint8_t *bytes = malloc(n * d);
	float *x = malloc(n * d * sizeof *x), *start = hard_start(n, 3);
	for (uint32_t i = 0; i < n * d; i++)
		x[i] = bytes[i] = (uint8_t)(128 + 20 * sl_random_normal(4, i) + 30 * (i / d % 3));
	struct sl_points one = points_of(x, n, d), other = points_of(x, n, d);
	other.type = SL_POINTS_U8;
	other.value = bytes;
	struct sl_gmm_params params = params_of(3, SL_GMM_FULL, 5, 0);
	struct sl_gmm *a = run(&one, &params, start), *b = run(&other, &params, start);
	same_result(a, b);
	sl_gmm_destroy(a);
	sl_gmm_destroy(b);
	free(bytes);
	free(x);
	free(start);
}

static void refuse(struct sl_gmm_params params, uint32_t n, uint32_t d, const float *start, const char *pointer)
{
	float *x = make_points(n, d, 2, 0, 1);
	struct sl_points points = points_of(x, n, d);
	struct sl_gmm *m = NULL;
	struct sl_error err = {0};
	assert_int_equal(sl_gmm_create(&m, &points, &params, start, &err), SL_BADPARAM);
	assert_string_equal(err.pointer, pointer);
	assert_null(m);
	free(x);
}

static void bad_parameters_are_named(void **state)
{
	struct sl_gmm_params p = params_of(3, SL_GMM_FULL, 10, 0);
	float start[6] = {1, 0, 0, 0, 1, 0};
	refuse(p, 2, 2, NULL, "/components");
	refuse(p, 2049, 2049, NULL, "/covariance");
	p.components.value[0] = 1.5;
	refuse(p, 10, 2, NULL, "/components");
	p.components.count = 0;
	refuse(p, 10, 2, NULL, "/components");
	p = params_of(2, SL_GMM_FULL, 10, 0);
	refuse(p, 3, 2, start, "/start");
	start[3] = -1;
	refuse(p, 3, 2, start, "/start");
	start[3] = NAN;
	refuse(p, 3, 2, start, "/start");
	p.reg_covar = -1;
	refuse(p, 10, 2, NULL, "/reg_covar");
	p = params_of(2, SL_GMM_FULL, 0, 0);
	refuse(p, 10, 2, NULL, "/iterations");
	p = params_of(2, 4, 10, 0);
	refuse(p, 10, 2, NULL, "/covariance");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_change_nothing),
		cmocka_unit_test(goes_on_from_its_state),
		cmocka_unit_test(damaged_states_are_refused),
		cmocka_unit_test(ends_when_asked),
		cmocka_unit_test(bytes_are_points_too),
		cmocka_unit_test(bad_parameters_are_named),
	};
	return cmocka_run_group_tests_name("gmm_run", tests, NULL, NULL);
}
