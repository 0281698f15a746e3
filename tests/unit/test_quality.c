/* KL and recall against naive loops. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <omp.h>

#include "core/measure/quality.h"
#include "tests/unit/graphs.h"

static struct sl_affinities *make(uint32_t n)
{
	struct sl_affinities_params params = {.lambda = 4, .drop_leaf_edges = false, .order = SL_ORDER_AUTO};
	struct sl_affinities *a;
	struct sl_graph *g = test_graph(n, 3, true, false, 21);
	assert_int_equal(sl_affinities_create(&a, g, &params, NULL), 0);
	sl_graph_destroy(g);
	return a;
}

static float *layout(const struct sl_affinities *a, int dims, double scale)
{
	float *y = malloc((size_t)a->n * (size_t)dims * sizeof *y);
	uint64_t seed = 8;
	for (size_t k = 0; k < (size_t)a->n * (size_t)dims; k++)
		y[k] = (float)(scale * (test_uniform(&seed) - 0.5));
	return y;
}

static double square(const float *y, int dims, uint32_t i, uint32_t j)
{
	double s = 0;
	for (int d = 0; d < dims; d++) {
		double v = (double)y[i * (size_t)dims + (size_t)d] - y[j * (size_t)dims + (size_t)d];
		s += v * v;
	}
	return s;
}

static void test_kl(void **state)
{
	struct sl_affinities *a = make(3000);
	for (int dims = 1; dims <= 3; dims++)
		for (double scale = 1e-3; scale < 1e4; scale *= 100) {
			float *y = layout(a, dims, scale);
			double naive_z = 0, naive = 0, kl, z;
			for (uint32_t i = 0; i < a->n; i++)
				for (uint32_t j = 0; j < a->n; j++)
					naive_z += i == j ? 0 : 1 / (1 + square(y, dims, i, j));
			for (uint32_t i = 0; i < a->n; i++)
				for (uint64_t e = a->start[i]; e < a->start[i + 1]; e++)
					naive += a->p[e] * log(a->p[e] * naive_z * (1 + square(y, dims, i, a->node[e])));
			assert_int_equal(sl_quality_kl(a, dims, y, &kl, &z, NULL), 0);
			assert_true(fabs(z - naive_z) < 1e-10 * naive_z);
			assert_true(fabs(kl - naive) < 1e-8 * fabs(naive) + 1e-10);
			assert_true(kl > 0);
			free(y);
		}
	sl_affinities_destroy(a);
}

static bool among_nearest(const float *y, uint32_t n, int dims, uint32_t i, uint32_t j, int k)
{
	int closer = 0;
	for (uint32_t q = 0; q < n; q++)
		if (q != i && q != j) {
			double u = square(y, dims, i, q), v = square(y, dims, i, j);
			closer += u < v || (u == v && q < j);
		}
	return closer < k;
}

static double naive_recall(const struct sl_affinities *a, int dims, const float *y, int k)
{
	double sum = 0;
	for (uint32_t i = 0; i < a->n; i++) {
		int degree = (int)(a->start[i + 1] - a->start[i]), kept = degree < k ? degree : k, found = 0;
		for (uint64_t e = a->start[i]; e < a->start[i + 1]; e++) {
			int stronger = 0;
			for (uint64_t f = a->start[i]; f < a->start[i + 1]; f++)
				stronger += a->p[f] > a->p[e] || (a->p[f] == a->p[e] && f < e);
			found += stronger < kept && among_nearest(y, a->n, dims, i, a->node[e], kept);
		}
		sum += (double)found / kept;
	}
	return sum / a->n;
}

static void test_recall(void **state)
{
	struct sl_affinities *a = make(700);
	for (int dims = 1; dims <= 3; dims++) {
		float *y = layout(a, dims, 30);
		double recall;
		uint32_t used;
		/* pull neighbours together, so that there is something to find */
		for (int round = 0; round < 10; round++)
			for (uint32_t i = 0; i < a->n; i++)
				for (int d = 0; d < dims; d++)
					y[i * (size_t)dims + (size_t)d] +=
						0.3f * (y[a->node[a->start[i]] * (size_t)dims + (size_t)d] -
							y[i * (size_t)dims + (size_t)d]);
		assert_int_equal(sl_quality_recall(a, dims, y, 10, 0, &recall, &used, NULL), 0);
		assert_int_equal(used, a->n);
		assert_true(fabs(recall - naive_recall(a, dims, y, 10)) < 2.0 / a->n);
		assert_true(recall > 0.02 && recall < 0.99);
		assert_int_equal(sl_quality_recall(a, dims, y, 10, 50, &recall, &used, NULL), 0);
		assert_int_equal(used, 50);
		free(y);
	}
	sl_affinities_destroy(a);
}

/* A path laid out as a path keeps every neighbour. */
static void test_perfect_recall(void **state)
{
	enum { N = 500 };
	struct sl_graph_builder *b;
	struct sl_graph *g;
	struct sl_affinities *a;
	struct sl_affinities_params params = {.lambda = 1, .drop_leaf_edges = false, .order = SL_ORDER_AUTO};
	float y[N];
	double recall;
	uint32_t used;
	assert_int_equal(sl_graph_builder_create(&b, SL_SYMMETRIC, false, 0, NULL), 0);
	for (uint32_t i = 1; i < N; i++)
		assert_int_equal(sl_graph_builder_add(b, i, i - 1, 1), 0);
	assert_int_equal(sl_graph_builder_finish(b, 0, &g, NULL), 0);
	assert_int_equal(sl_affinities_create(&a, g, &params, NULL), 0);
	for (uint32_t i = 0; i < N; i++)
		y[i] = (float)a->user[i];
	assert_int_equal(sl_quality_recall(a, 1, y, 10, 0, &recall, &used, NULL), 0);
	assert_true(recall == 1);
	sl_affinities_destroy(a);
	sl_graph_destroy(g);
}

static void test_threads_do_not_matter(void **state)
{
	int before = omp_get_max_threads();
	struct sl_affinities *a = make(4000);
	float *y = layout(a, 2, 40);
	struct sl_quality first, q;
	omp_set_num_threads(1);
	assert_int_equal(sl_quality_measure(a, 2, y, &first, NULL), 0);
	for (int threads = 2; threads <= 3; threads++) {
		memset(&q, 0, sizeof q);
		omp_set_num_threads(threads);
		assert_int_equal(sl_quality_measure(a, 2, y, &q, NULL), 0);
		assert_true(q.kl == first.kl && q.z == first.z && q.recall == first.recall);
	}
	omp_set_num_threads(before);
	free(y);
	sl_affinities_destroy(a);
}

static void test_bad_input(void **state)
{
	struct sl_affinities *a = make(100);
	float *y = layout(a, 2, 1);
	double kl, z, recall;
	uint32_t used;
	struct sl_error err;
	assert_int_equal(sl_quality_kl(a, 4, y, &kl, &z, &err), SL_BADPARAM);
	assert_string_equal(err.pointer, "/dims");
	assert_int_equal(sl_quality_recall(a, 2, y, 0, 0, &recall, &used, &err), SL_BADPARAM);
	y[7] = NAN;
	assert_int_equal(sl_quality_kl(a, 2, y, &kl, &z, &err), SL_BADPARAM);
	free(y);
	sl_affinities_destroy(a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kl),
		cmocka_unit_test(test_recall),
		cmocka_unit_test(test_perfect_recall),
		cmocka_unit_test(test_threads_do_not_matter),
		cmocka_unit_test(test_bad_input),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
