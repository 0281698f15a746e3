/* k-means against a plain Lloyd in double precision. */
#include <math.h>
#include <omp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/kmeans/kmeans.h"
#include "core/points/points.h"
#include "tests/unit/kmeans_util.h"
#include "tests/unit/seeds.h"

/* ---- the plain one ---------------------------------------------------------------------- */

/* Runs until nothing changes; no cluster may become empty. cosine: rows of x have length 1. */
static double plain(uint32_t n, uint32_t d, uint32_t k, const float *x, double *c, uint32_t *label, bool cosine)
{
	uint32_t *old = malloc(n * sizeof *old), count[256];
	double inertia;
	memset(old, 0xff, n * sizeof *old);
	for (;;) {
		inertia = plain_assign(n, d, k, x, c, label);
		if (!memcmp(old, label, n * sizeof *old))
			break;
		memcpy(old, label, n * sizeof *old);
		memset(count, 0, sizeof count);
		memset(c, 0, (size_t)k * d * sizeof *c);
		for (uint32_t i = 0; i < n; i++) {
			count[label[i]]++;
			for (uint32_t a = 0; a < d; a++)
				c[(size_t)label[i] * d + a] += (double)x[(size_t)i * d + a];
		}
		for (uint32_t j = 0; j < k; j++) {
			double by = count[j], square = 0;
			assert_true(count[j] > 0);
			for (uint32_t a = 0; a < d; a++)
				square += c[(size_t)j * d + a] * c[(size_t)j * d + a];
			for (uint32_t a = 0; a < d; a++)
				c[(size_t)j * d + a] /= cosine ? sqrt(square) : by;
		}
	}
	free(old);
	return cosine ? inertia / 2 : inertia;
}

static void same_as_plain(uint32_t n, uint32_t d, uint32_t k, double offset, bool cosine)
{
	static struct result r;
	static uint32_t label[MOST];
	float *x = make_points(n, d, k, offset, test_seed(n + d)), *start = malloc((size_t)k * d * sizeof *start);
	double *c = malloc((size_t)k * d * sizeof *c);
	for (uint32_t i = 0; cosine && i < n; i++) {
		double square = 0;
		for (uint32_t a = 0; a < d; a++)
			square += (double)x[i * d + a] * (double)x[i * d + a];
		for (uint32_t a = 0; a < d; a++)
			x[i * d + a] = (float)((double)x[i * d + a] / sqrt(square));
	}
	memcpy(start, x, (size_t)k * d * sizeof *start);
	for (size_t at = 0; at < (size_t)k * d; at++)
		c[at] = (double)start[at];
	struct sl_points p = points_of(x, n, d);
	struct sl_kmeans_params params;
	sl_param_defaults(&sl_kmeans_table, &params);
	params.clusters = (int)k;
	params.metric = cosine;
	params.tolerance = 0;
	run(&p, &params, start, &r);
	double inertia = plain(n, d, k, x, c, label, cosine);
	assert_memory_equal(r.label, label, n * sizeof *label);
	assert_true(fabs(r.inertia - inertia) <= 1e-6 * inertia);
	for (size_t at = 0; at < (size_t)k * d; at++)
		assert_true(fabs((double)r.centroid[at] - c[at]) <= 1e-6 * (fabs(c[at]) + 1));
	free(x);
	free(start);
	free(c);
}

static void it_is_lloyds(void **state)
{
	if (!test_leaves_out(0, 1, 3)) {
		same_as_plain(3000, 2, 7, 0, false);
		same_as_plain(2000, 150, 33, 5, false);
		same_as_plain(4000, 5, 100, 0, false);
	}
	if (!test_leaves_out(1, 1, 3)) {
		same_as_plain(2000, 17, 20, 1, true);
		same_as_plain(1000, 3, 4, 1e5, false);  /* distances are equal in float */
		same_as_plain(100, 4, 1, 0, false);
	}
	if (!test_leaves_out(2, 1, 3))
		same_as_plain(1500, 500, 200, 5, false);  /* blocks of fewer points */
}

/* Points on a grid are equally near to several centroids. */
static void ties_go_to_the_lowest(void **state)
{
	enum { SIDE = 24, K = 40 };
	static float x[SIDE * SIDE * 2];
	static uint32_t label[SIDE * SIDE], want[SIDE * SIDE];
	double c[K * 2];
	float start[K * 2];
	for (int i = 0; i < SIDE * SIDE; i++) {
		x[2 * i] = (float)(i % SIDE);
		x[2 * i + 1] = (float)(i / SIDE);
	}
	for (int j = 0; j < K; j++)
		for (int a = 0; a < 2; a++)
			c[2 * j + a] = (double)(start[2 * j + a] = x[2 * (j * 14) + a]);
	struct sl_points p = points_of(x, SIDE * SIDE, 2);
	struct sl_kmeans_params params;
	struct sl_kmeans_status status;
	struct sl_kmeans *m;
	sl_param_defaults(&sl_kmeans_table, &params);
	params.clusters = K;
	assert_int_equal(sl_kmeans_create(&m, &p, &params, start, NULL), 0);
	assert_int_equal(sl_kmeans_step(m, &status, NULL), 0);
	assert_int_equal(sl_kmeans_result(m, label, NULL, NULL, NULL), 0);
	plain_assign(SIDE * SIDE, 2, K, x, c, want);
	assert_memory_equal(label, want, sizeof want);
	sl_kmeans_destroy(m);
}

static void empty_clusters_take_the_farthest(void **state)
{
	static struct result r;
	float x[] = {0, 1, 2, 50, 100, 101}, start[] = {0.5f, 100, 1e6f, 2e6f};
	struct sl_points p = points_of(x, 6, 1);
	struct sl_kmeans_params params;
	sl_param_defaults(&sl_kmeans_table, &params);
	params.clusters = 4;
	run(&p, &params, start, &r);
	uint32_t count[4] = {0};
	for (int i = 0; i < 6; i++)
		count[r.label[i]]++;
	assert_true(count[0] && count[1] && count[2] && count[3]);
	assert_true(count[r.label[3]] == 1 && r.label[3] == 2);  /* 50 is the farthest, and 2 the first that is empty */
	/* fewer different points than clusters */
	float same[] = {1, 1, 1, 2};
	p = points_of(same, 4, 1);
	params.clusters = 3;
	run(&p, &params, NULL, &r);
	assert_true(r.inertia == 0 && r.label[0] == r.label[1] && r.label[0] != r.label[3]);
}

static void same_bytes(int batch)
{
	static struct result one, two;
	enum { N = 3000, D = 9, K = 70 };
	float *x = make_points(N, D, 50, 0, test_seed(9));
	struct sl_points p = points_of(x, N, D);
	struct sl_kmeans_params params;
	int threads = omp_get_max_threads(), code;
	sl_param_defaults(&sl_kmeans_table, &params);
	params.clusters = K;
	params.restarts = 3;
	params.seed = 5;
	params.batch = batch;
	omp_set_num_threads(1);
	run(&p, &params, NULL, &one);
	omp_set_num_threads(3);
	run(&p, &params, NULL, &two);
	omp_set_num_threads(threads);
	assert_memory_equal(&one.label, &two.label, sizeof one.label);
	assert_memory_equal(&one.centroid, &two.centroid, sizeof one.centroid);
	assert_true(one.inertia == two.inertia);
	/* a new object after each few steps */
	memset(&two, 0, sizeof two);
	struct sl_kmeans *m = NULL;
	for (int steps = 0; !two.status.done; steps++) {
		struct sl_kmeans *next = NULL;
		assert_int_equal(sl_kmeans_create(&next, &p, &params, NULL, NULL), 0);
		if (m) {
			void *bytes;
			uint64_t count;
			assert_int_equal(sl_kmeans_save(m, &bytes, &count, NULL), 0);
			((char *)bytes)[9] ^= 1;
			code = sl_kmeans_load(next, bytes, count, NULL);
			assert_int_equal(code, SL_BADDATA);
			((char *)bytes)[9] ^= 1;
			assert_int_equal(sl_kmeans_load(next, bytes, count - 1, NULL), SL_BADDATA);
			assert_int_equal(sl_kmeans_load(next, bytes, count, NULL), 0);
			free(bytes);
			sl_kmeans_destroy(m);
		}
		m = next;
		for (int i = 0; i <= steps % 7 && !two.status.done; i++)
			assert_int_equal(sl_kmeans_step(m, &two.status, NULL), 0);
	}
	assert_int_equal(sl_kmeans_result(m, two.label, two.centroid, &two.inertia, NULL), 0);
	sl_kmeans_destroy(m);
	assert_memory_equal(&one.label, &two.label, sizeof one.label);
	assert_memory_equal(&one.centroid, &two.centroid, sizeof one.centroid);
	assert_true(one.inertia == two.inertia);
	/* the best of them */
	params.restarts = 1;
	run(&p, &params, NULL, &two);
	assert_true(one.inertia <= two.inertia);
	free(x);
}

static void bytes_do_not_depend_on_threads_or_interruptions(void **state)
{
	if (!test_leaves_out(0, 1, 2))
		same_bytes(0);
	if (!test_leaves_out(1, 1, 2))
		same_bytes(200);
}

/* Parts of steps; after every few parts a new object loads the state. */
static void same_bytes_of_parts(int batch)
{
	static struct result one, two;
	enum { N = MOST, D = 8, K = 60 };
	float *x = make_points(N, D, 50, 0, test_seed(11));
	struct sl_points p = points_of(x, N, D);
	struct sl_kmeans_params params;
	struct sl_kmeans *m;
	int within = 0, parts = 0;
	sl_param_defaults(&sl_kmeans_table, &params);
	params.clusters = K;
	params.restarts = 2;
	params.iterations = 7;
	params.batch = batch;
	run(&p, &params, NULL, &one);
	memset(&two, 0, sizeof two);
	assert_int_equal(sl_kmeans_create(&m, &p, &params, NULL, NULL), 0);
	while (!two.status.done) {
		bool whole;
		void *bytes;
		uint64_t count;
		struct sl_kmeans *next;
		assert_int_equal(sl_kmeans_advance(m, 1e-6, &whole, &two.status, NULL), 0);
		within += !whole;
		if (++parts % (two.status.seeds < K ? 1501 : 11))  /* seeds, sums and batches begin again in a loaded run */
			continue;
		assert_int_equal(sl_kmeans_save(m, &bytes, &count, NULL), 0);
		assert_int_equal(sl_kmeans_create(&next, &p, &params, NULL, NULL), 0);
		assert_int_equal(sl_kmeans_load(next, bytes, count, NULL), 0);
		sl_kmeans_destroy(m);
		free(bytes);
		m = next;
	}
	assert_int_equal(sl_kmeans_result(m, two.label, two.centroid, &two.inertia, NULL), 0);
	sl_kmeans_destroy(m);
	free(x);
	assert_true(batch || within > 20);
	assert_memory_equal(&one.label, &two.label, sizeof one.label);
	assert_memory_equal(&one.centroid, &two.centroid, sizeof one.centroid);
	assert_true(one.inertia == two.inertia);
}

static void parts_of_steps_change_no_byte(void **state)
{
	same_bytes_of_parts(0);
	same_bytes_of_parts(100);
}

/* `current` is the inertia about the clusters' means; for a converged restart it equals the inertia. */
static void inertia_is_told_while_it_falls(void **state)
{
	enum { N = 3000, D = 5 };
	for (int metric = SL_KMEANS_EUCLIDEAN; metric <= SL_KMEANS_COSINE; metric++) {
		float *x = make_points(N, D, 12, 100, test_seed(12));
		struct sl_points p = points_of(x, N, D);
		struct sl_kmeans_params params;
		struct sl_kmeans_status status;
		struct sl_kmeans *m;
		double before = INFINITY;
		sl_param_defaults(&sl_kmeans_table, &params);
		params.clusters = 12;
		params.metric = metric;
		params.tolerance = 0;
		assert_int_equal(sl_kmeans_create(&m, &p, &params, NULL, NULL), 0);
		do {
			assert_int_equal(sl_kmeans_step(m, &status, NULL), 0);
			if (status.iteration == 0 || status.done)
				continue;
			assert_true(status.current <= before * (1 + 1e-9));
			assert_true(fabs(status.current - sl_kmeans_measure(m)) <= 1e-6 * status.current + 1e-9);
			before = status.current;
		} while (!status.done);
		assert_true(status.converged && status.current == status.inertia);
		assert_true(fabs(before - status.inertia) <= 1e-6 * status.inertia + 1e-9);
		sl_kmeans_destroy(m);
		free(x);
	}
}

/* A stopped run ends soon, with the labels of its centroids. */
static void it_stops_when_asked(void **state)
{
	static uint32_t label[MOST], want[MOST];
	static double c[40 * 3];
	float *x = make_points(MOST, 3, 40, 0, test_seed(13)), centroid[40 * 3];
	struct sl_points p = points_of(x, MOST, 3);
	struct sl_kmeans_params params;
	sl_param_defaults(&sl_kmeans_table, &params);
	params.clusters = 40;
	params.restarts = 5;
	for (int steps = 0; steps < 60; steps += 13) {
		struct sl_kmeans_status status;
		struct sl_kmeans *m;
		double inertia;
		bool whole;
		assert_int_equal(sl_kmeans_create(&m, &p, &params, NULL, NULL), 0);
		for (int i = 0; i < steps; i++)
			assert_int_equal(sl_kmeans_advance(m, 0.02, &whole, &status, NULL), 0);
		sl_kmeans_stop(m, &status);
		while (!status.done)
			assert_int_equal(sl_kmeans_step(m, &status, NULL), 0);
		assert_true(status.restart <= 1 || steps > 40);
		assert_int_equal(sl_kmeans_result(m, label, centroid, &inertia, NULL), 0);
		for (int at = 0; at < 40 * 3; at++)
			c[at] = (double)centroid[at];
		double plainly = plain_assign(MOST, 3, 40, x, c, want);
		assert_true(fabs(plainly - inertia) <= 1e-6 * inertia);
		sl_kmeans_destroy(m);
	}
	free(x);
}

/* Neither the scale nor the type of the values changes the result. */
static void values_of_any_size(void **state)
{
	static struct result r, other;
	enum { N = 500, D = 6 };
	static uint8_t bytes[N * D];
	static float x[N * D], scaled[N * D];
	for (int at = 0; at < N * D; at++)
		x[at] = bytes[at] = (uint8_t)(sl_random_bits(test_seed(3), (uint64_t)at) % 256);
	struct sl_points p = points_of(x, N, D);
	struct sl_kmeans_params params;
	sl_param_defaults(&sl_kmeans_table, &params);
	run(&p, &params, NULL, &r);
	struct sl_points of_bytes = {.n = N, .d = D, .n_user = N, .type = SL_POINTS_U8, .value = bytes};
	run(&of_bytes, &params, NULL, &other);
	assert_memory_equal(r.label, other.label, sizeof r.label);
	for (int sign = -1; sign <= 1; sign += 2) {
		for (int at = 0; at < N * D; at++)
			scaled[at] = ldexpf(x[at], sign * 100);
		p = points_of(scaled, N, D);
		run(&p, &params, NULL, &other);
		assert_memory_equal(r.label, other.label, sizeof r.label);
		assert_true(fabs(ldexp(other.inertia, sign * -200) - r.inertia) <= 1e-9 * r.inertia);
	}
}

/* Products of points and centroids must stay finite in float: otherwise no centroid is the nearest. */
static void far_starts_find_labels_or_are_refused(void **state)
{
	enum { N = 300, D = 10 };
	static struct result r;
	static float x[N * D], start[2 * D];
	const double sizes[] = {1e-40, 1e-20, 1, 1e11, 1e20, 1e38};
	struct sl_kmeans_params params;
	sl_param_defaults(&sl_kmeans_table, &params);
	params.clusters = 2;
	for (size_t size = 0; size < sizeof sizes / sizeof *sizes; size++) {
		int taken = 0;
		for (int at = 0; at < N * D; at++)
			x[at] = (float)(sizes[size] * (sl_random_uniform(test_seed(4), (uint64_t)at) - 0.5));
		struct sl_points p = points_of(x, N, D);
		for (int exponent = -45; exponent <= 38; exponent++) {
			struct sl_kmeans *m;
			struct sl_error err;
			for (int k = 0; k < 2 * D; k++)
				start[k] = (float)((k % 2 ? 1 : -1) * pow(10, exponent));
			int code = sl_kmeans_create(&m, &p, &params, start, &err);
			if (code) {
				assert_int_equal(code, SL_BADPARAM);
				assert_string_equal(err.pointer, "/start");
				assert_true(pow(10, exponent) > 1e9 * sizes[size]);
				continue;
			}
			sl_kmeans_destroy(m);
			run(&p, &params, start, &r);
			for (uint32_t i = 0; i < N; i++)
				assert_true(r.label[i] < 2);
			taken++;
		}
		assert_true(taken > 15);
	}
}

static void bad_input_is_refused(void **state)
{
	float x[] = {1, 2, 0, 0, 3, 4}, start[] = {0, NAN, 1, 1};
	struct sl_points p = points_of(x, 3, 2);
	struct sl_kmeans_params params;
	struct sl_kmeans *m;
	struct sl_error err;
	sl_param_defaults(&sl_kmeans_table, &params);
	params.clusters = 4;
	assert_int_equal(sl_kmeans_create(&m, &p, &params, NULL, &err), SL_BADPARAM);
	assert_string_equal(err.pointer, "/clusters");
	params.clusters = 2;
	assert_int_equal(sl_kmeans_create(&m, &p, &params, start, &err), SL_BADPARAM);
	assert_string_equal(err.pointer, "/start");
	params.batch = 1;
	assert_int_equal(sl_kmeans_create(&m, &p, &params, NULL, &err), SL_BADPARAM);
	assert_string_equal(err.pointer, "/batch");
	params.batch = 1 << 24;
	assert_int_equal(sl_kmeans_create(&m, &p, &params, NULL, &err), SL_BADPARAM);
	assert_string_equal(err.pointer, "/batch");
	params.batch = 0;
	params.metric = SL_KMEANS_COSINE;
	assert_int_equal(sl_kmeans_create(&m, &p, &params, NULL, &err), SL_BADDATA);
	assert_non_null(strstr(err.detail, "Row 2 is all zeros"));
	params.tolerance = -1;
	assert_int_equal(sl_kmeans_create(&m, &p, &params, NULL, &err), SL_BADPARAM);
	assert_string_equal(err.pointer, "/tolerance");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_is_lloyds),
		cmocka_unit_test(ties_go_to_the_lowest),
		cmocka_unit_test(empty_clusters_take_the_farthest),
		cmocka_unit_test(bytes_do_not_depend_on_threads_or_interruptions),
		cmocka_unit_test(parts_of_steps_change_no_byte),
		cmocka_unit_test(inertia_is_told_while_it_falls),
		cmocka_unit_test(it_stops_when_asked),
		cmocka_unit_test(values_of_any_size),
		cmocka_unit_test(far_starts_find_labels_or_are_refused),
		cmocka_unit_test(bad_input_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
