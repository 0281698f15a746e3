/* Mini-batches of k-means, against Sculley's rule in plain double precision. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/kmeans_util.h"
#include "tests/unit/seeds.h"

/* Sculley's rule, with batches of all rows in order; then one iteration of Lloyd's method. */
static double plain_batches(uint32_t n, uint32_t d, uint32_t k, const float *x, double *c, uint32_t *label, int batches)
{
	double *near = malloc((size_t)k * d * sizeof *near), *count = calloc(k, sizeof *count);
	for (int t = 0; t < batches; t++) {
		for (size_t at = 0; at < (size_t)k * d; at++)
			near[at] = (double)(float)c[at];
		plain_assign(n, d, k, x, near, label);
		for (uint32_t i = 0; i < n; i++) {
			double rate = 1 / ++count[label[i]];
			for (uint32_t a = 0; a < d; a++)
				c[label[i] * d + a] = (1 - rate) * c[label[i] * d + a] + rate * (double)x[i * d + a];
		}
	}
	plain_assign(n, d, k, x, c, label);
	memset(count, 0, k * sizeof *count);
	memset(near, 0, (size_t)k * d * sizeof *near);
	for (uint32_t i = 0; i < n; i++) {
		count[label[i]]++;
		for (uint32_t a = 0; a < d; a++)
			near[label[i] * d + a] += (double)x[i * d + a];
	}
	for (size_t at = 0; at < (size_t)k * d; at++) {
		assert_true(count[at / d] > 0);
		c[at] = near[at] / count[at / d];
	}
	free(near);
	free(count);
	return plain_assign(n, d, k, x, c, label);
}

static void batches_follow_sculley(void **state)
{
	static struct result r;
	static uint32_t label[MOST];
	enum { N = 1500, D = 7, K = 12 };
	float *x = make_points(N, D, K, 2, test_seed(21));
	double c[K * D];
	struct sl_points p = points_of(x, N, D);
	struct sl_kmeans_params params;
	sl_param_defaults(&sl_kmeans_table, &params);
	params.clusters = K;
	params.batch = N;
	params.tolerance = 0;
	for (params.iterations = 1; params.iterations < 7; params.iterations++) {
		for (size_t at = 0; at < K * D; at++)
			c[at] = (double)x[at];
		run(&p, &params, x, &r);
		double inertia = plain_batches(N, D, K, x, c, label, params.iterations - 1);
		assert_int_equal(r.status.iteration, params.iterations);
		assert_memory_equal(r.label, label, sizeof(uint32_t) * N);
		assert_true(fabs(r.inertia - inertia) <= 1e-6 * inertia);
		for (size_t at = 0; at < K * D; at++)
			assert_true(fabs((double)r.centroid[at] - c[at]) <= 1e-5);
	}
	free(x);
}

/* Random rows, with seeds from a sample: the inertia is near that of all rows, and the run ends before the limit of
 * iterations. */
static void batches_come_near(void **state)
{
	static struct result all, few;
	enum { N = MOST, D = 6, K = 16 };
	for (int cosine = 0; cosine < 2; cosine++) {
		float *x = make_points(N, D, K, cosine ? 0 : 100, test_seed(23));
		struct sl_points p = points_of(x, N, D);
		struct sl_kmeans_params params;
		sl_param_defaults(&sl_kmeans_table, &params);
		params.clusters = K;
		params.metric = cosine;
		params.restarts = 4;
		run(&p, &params, NULL, &all);
		params.batch = 256;
		run(&p, &params, NULL, &few);
		assert_true(few.inertia < 1.1 * all.inertia && few.status.converged);
		double inertia = few.inertia;
		uint32_t changed = 0, own[MOST];
		double c[K * D];
		for (size_t at = 0; at < K * D; at++)
			c[at] = (double)few.centroid[at];
		for (uint32_t i = 0; cosine && i < N; i++) {
			double square = 0;
			for (uint32_t a = 0; a < D; a++)
				square += (double)x[i * D + a] * (double)x[i * D + a];
			for (uint32_t a = 0; a < D; a++)
				x[i * D + a] = (float)((double)x[i * D + a] / sqrt(square));
		}
		double again = plain_assign(N, D, K, x, c, own) / (cosine ? 2 : 1);
		for (uint32_t i = 0; i < N; i++)
			changed += own[i] != few.label[i];
		assert_true(fabs(again - inertia) <= 1e-4 * inertia && changed <= 2);  /* centroids came as float32 */
		free(x);
	}
}

/* Batches of all rows: runs with adjacent seeds differ in their first row. */
static void seeds_that_differ_begin_elsewhere(void **state)
{
	static struct result r;
	enum { N = 400, D = 3, K = 20, SEEDS = 5 };
	float *x = make_points(N, D, 3, 0, test_seed(29)), centroid[SEEDS][K * D];
	struct sl_points p = points_of(x, N, D);
	struct sl_kmeans_params params;
	sl_param_defaults(&sl_kmeans_table, &params);
	params.clusters = K;
	params.batch = N;
	params.iterations = 1;
	for (int seed = 0; seed < SEEDS; seed++) {
		params.seed = (uint64_t)seed;
		run(&p, &params, NULL, &r);
		memcpy(centroid[seed], r.centroid, sizeof centroid[seed]);
		for (int other = 0; other < seed; other++)
			assert_memory_not_equal(centroid[seed], centroid[other], sizeof centroid[seed]);
	}
	free(x);
}

/* A batch is one row, often tiny beside the only centroid. */
static void tiny_rows_have_labels(void **state)
{
	static struct result r;
	enum { N = 1000, D = 10 };
	static float x[N * D];
	struct sl_kmeans_params params;
	for (int at = 0; at < N * D; at++)
		x[at] = (float)(at / D % 2 ? 0.5 : 1e-40 * (1 + sl_random_uniform(test_seed(24), (uint64_t)at)));
	struct sl_points p = points_of(x, N, D);
	sl_param_defaults(&sl_kmeans_table, &params);
	params.clusters = params.batch = 1;
	params.tolerance = 0;
	run(&p, &params, NULL, &r);
	for (uint32_t i = 0; i < N; i++)
		assert_int_equal(r.label[i], 0);
	assert_true(isfinite(r.inertia));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(batches_follow_sculley),
		cmocka_unit_test(batches_come_near),
		cmocka_unit_test(seeds_that_differ_begin_elsewhere),
		cmocka_unit_test(tiny_rows_have_labels),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
