/* Neighbours, compared with all pairs in double precision; ties, duplicates, zero rows, few points, threads,
 * cancelling. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <omp.h>

#include "core/neighbours/neighbours.h"
#include "core/points/points.h"
#include "core/random.h"
#include "tests/unit/graphs.h"
#include "tests/unit/seeds.h"

static struct sl_points table(uint32_t n, uint32_t d, float *value)
{
	return (struct sl_points){.n = n, .n_user = n, .d = d, .type = SL_POINTS_F32, .value = value};
}

/* Clusters, far from the origin. */
static float *clusters(uint32_t n, uint32_t d, uint64_t seed)
{
	float *x = malloc(sizeof *x * n * d);
	seed = test_seed(seed);
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t k = 0; k < d; k++)
			x[(size_t)i * d + k] = (float)(100 + 8 * sl_random_normal(seed, (uint64_t)(i % 7) * d + k) +
						       sl_random_normal(seed + 1, (uint64_t)i * d + k));
	return x;
}

/* Few distinct values, so that most distances are tied and rows are repeated. */
static float *lattice(uint32_t n, uint32_t d, uint64_t seed)
{
	float *x = malloc(sizeof *x * n * d);
	seed = test_seed(seed);
	for (size_t i = 0; i < (size_t)n * d; i++)
		x[i] = (float)(sl_random_bits(seed, i) % 3);
	return x;
}

static double distance(int metric, double p, uint32_t d, const float *x, const float *y)
{
	double sum = 0, xx = 0, yy = 0, xy = 0, mx = 0, my = 0, differ = 0, one = 0, either = 0;
	for (uint32_t k = 0; k < d; k++) {
		differ += x[k] != y[k];
		one += (x[k] != 0) != (y[k] != 0);
		either += x[k] != 0 || y[k] != 0;
		mx += metric == SL_CORRELATION ? (double)x[k] / d : 0;
		my += metric == SL_CORRELATION ? (double)y[k] / d : 0;
	}
	for (uint32_t k = 0; k < d; k++) {
		double t = fabs((double)x[k] - (double)y[k]);
		xx += ((double)x[k] - mx) * (x[k] - mx);
		yy += ((double)y[k] - my) * (y[k] - my);
		xy += ((double)x[k] - mx) * (y[k] - my);
		sum = metric == SL_LINF ? fmax(sum, t) : sum + (metric == SL_L1 ? t : metric == SL_LP ? pow(t, p) : t * t);
	}
	switch (metric) {
	case SL_EUCLIDEAN: return sqrt(sum);
	case SL_HAMMING: return differ / d;
	case SL_JACCARD: return either > 0 ? one / either : 0;
	case SL_CORRELATION:
	case SL_COSINE: return xx > 0 && yy > 0 ? 1 - xy / sqrt(xx * yy) : 1;
	case SL_INNER_PRODUCT: return -xy;
	case SL_LP: return pow(sum, 1 / p);
	default: return sum;
	}
}

static struct sl_neighbours *find(const struct sl_points *p, uint32_t k, int metric, double power, double recall)
{
	struct sl_neighbours_params params = {.k = k, .metric = metric, .p = power, .recall = recall};
	struct sl_neighbours *nb;
	struct sl_error err = {0};
	if (sl_neighbours_find(&nb, p, &params, &err))
		fail_msg("%s", err.detail);
	assert_int_equal(nb->n, p->n);
	assert_int_equal(nb->k, k < p->n ? k : p->n - 1);
	assert_int_equal(nb->short_rows, 0);
	return nb;
}

struct pair {
	double distance;
	uint32_t node;
};

static int by_distance(const void *a, const void *b)
{
	const struct pair *x = a, *y = b;
	return x->distance < y->distance ? -1 : x->distance > y->distance ? 1 : x->node < y->node ? -1 : x->node > y->node;
}

/* Rows have the documented form, and no other point is nearer than the last neighbour by more than rounding. */
static void check_exact(const struct sl_points *p, const struct sl_neighbours *nb, int metric, double power)
{
	const float *x = p->value;
	struct pair *all = malloc(sizeof *all * p->n);
	for (uint32_t i = 0; i < p->n; i++) {
		const uint32_t *index = nb->index + (size_t)i * nb->k;
		const float *dist = nb->distance + (size_t)i * nb->k;
		uint32_t others = 0;
		double scale = 0;
		for (uint32_t j = 0; j < p->n; j++)
			if (j != i) {
				double d = distance(metric, power, p->d, x + (size_t)i * p->d, x + (size_t)j * p->d);
				all[others++] = (struct pair){d, j};
				scale = fmax(scale, fabs(d));
			}
		qsort(all, others, sizeof *all, by_distance);
		double shift = metric == SL_INNER_PRODUCT ? all[0].distance : 0;
		double limit = 2e-5 * scale;
		if (metric == SL_COSINE || metric == SL_CORRELATION)  /* of rows of length 1, which are rounded */
			limit += 4 * (double)FLT_EPSILON * sqrt(2 * scale);
		for (uint32_t e = 0; e < nb->k; e++) {
			assert_int_not_equal(index[e], i);
			double d = distance(metric, power, p->d, x + (size_t)i * p->d, x + (size_t)index[e] * p->d);
			if (fabs(d - shift - (double)dist[e]) > limit || fabs(d - all[e].distance) > limit)
				fail_msg("metric %d row %u place %u: %.9g to %u; it should be %.9g to %u", metric, i, e,
					 (double)dist[e], index[e], all[e].distance - shift, all[e].node);
			if (e) {
				assert_true(dist[e - 1] <= dist[e]);
				assert_true(dist[e - 1] < dist[e] || index[e - 1] < index[e]);
			}
		}
	}
	free(all);
}

static void exact_for_every_metric(void **state)
{
	static const struct {
		uint32_t n, d, k;
	} sizes[] = {{2, 1, 5}, {3, 2, 1}, {33, 3, 40}, {500, 7, 20}, {700, 50, 90}, {300, 129, 10}};
	static const double powers[] = {1, 1.5, 3, 16};
	for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
		if (sizes[s].n > 100 && test_leaves_out(s, 1, 3))
			continue;
		float *x = clusters(sizes[s].n, sizes[s].d, s + 1);
		struct sl_points p = table(sizes[s].n, sizes[s].d, x);
		for (int metric = 0; metric < SL_DISTANCES; metric++)
			for (int q = 0; q < (metric == SL_LP ? 4 : 1); q++) {
				if (sizes[s].n > 100 && test_leaves_out((uint64_t)(metric + q) + s, 3, 10))
					continue;
				struct sl_neighbours *nb = find(&p, sizes[s].k, metric, powers[q], 1);
				check_exact(&p, nb, metric, powers[q]);
				assert_string_equal(nb->method, "exact");
				assert_true(nb->recall == 1);
				sl_neighbours_destroy(nb);
			}
		free(x);
	}
}

/* Small whole numbers are not rounded: all ties must be in the order of point numbers. */
static void ties_and_duplicates_come_in_order(void **state)
{
	enum { N = 400, D = 4, K = 37 };
	float *x = lattice(N, D, 5);
	struct sl_points p = table(N, D, x);
	static const int metrics[] = {SL_EUCLIDEAN, SL_L1, SL_LINF, SL_INNER_PRODUCT, SL_HAMMING, SL_JACCARD};
	struct pair all[N];
	for (size_t m = 0; m < sizeof metrics / sizeof *metrics; m++) {
		struct sl_neighbours *nb = find(&p, K, metrics[m], 0, 1);
		for (uint32_t i = 0; i < N; i++) {
			uint32_t others = 0;
			for (uint32_t j = 0; j < N; j++)
				if (j != i)
					all[others++] = (struct pair){distance(metrics[m], 0, D, x + i * D, x + j * D), j};
			qsort(all, others, sizeof *all, by_distance);
			for (uint32_t e = 0; e < K; e++)
				assert_int_equal(nb->index[i * K + e], all[e].node);
		}
		sl_neighbours_destroy(nb);
	}
	free(x);
}

static void equal_points_are_at_distance_zero(void **state)
{
	enum { N = 300, D = 11 };
	float x[N * D];
	for (int i = 0; i < N * D; i++)
		x[i] = 1e6f + (float)(i % D) * 0.1f;
	struct sl_points p = table(N, D, x);
	for (int metric = 0; metric < SL_DISTANCES; metric++) {
		struct sl_neighbours *nb = find(&p, 10, metric, 3, 1);
		for (uint32_t i = 0; i < N; i++)
			for (uint32_t e = 0; e < 10; e++) {
				assert_true(nb->distance[i * 10 + e] == 0);
				assert_int_equal(nb->index[i * 10 + e], e < i ? e : e + 1);
			}
		sl_neighbours_destroy(nb);
	}
}

static void zero_rows_are_at_cosine_distance_one(void **state)
{
	enum { N = 60, D = 3 };
	float *x = clusters(N, D, 3);
	for (uint32_t i = 0; i < N * D; i++)
		x[i] -= 100;  /* around the origin, so that distances go on both sides of 1 */
	for (uint32_t i = 5; i < N; i += 10)
		memset(x + i * D, 0, D * sizeof *x);
	struct sl_points p = table(N, D, x);
	for (uint32_t k = 1; k <= N; k += 13) {
		struct sl_neighbours *nb = find(&p, k, SL_COSINE, 0, 1);
		check_exact(&p, nb, SL_COSINE, 0);
		sl_neighbours_destroy(nb);
	}
	memset(x, 0, N * D * sizeof *x);
	struct sl_neighbours *nb = find(&p, 4, SL_COSINE, 0, 1);
	check_exact(&p, nb, SL_COSINE, 0);
	sl_neighbours_destroy(nb);
	free(x);
}

static void neither_large_nor_small_numbers_matter(void **state)
{
	enum { N = 200, D = 6, K = 15 };
	float *x = clusters(N, D, 9), scaled[N * D];
	struct sl_points p = table(N, D, x), q = table(N, D, scaled);
	struct sl_neighbours *a = find(&p, K, SL_EUCLIDEAN, 0, 1);
	static const float scales[] = {0x1p110f, 0x1p-120f, 0x1p-20f};
	for (size_t s = 0; s < 3; s++) {
		for (int i = 0; i < N * D; i++)
			scaled[i] = x[i] * scales[s];
		struct sl_neighbours *b = find(&q, K, SL_EUCLIDEAN, 0, 1);
		assert_memory_equal(a->index, b->index, sizeof *a->index * N * K);
		for (int i = 0; i < N * K; i++)
			assert_true(fabsf(b->distance[i] / scales[s] - a->distance[i]) <= 1e-4f * a->distance[i]);
		sl_neighbours_destroy(b);
	}
	sl_neighbours_destroy(a);
	free(x);
}

static void bytes_and_floats_agree(void **state)
{
	enum { N = 500, D = 20, K = 12 };
	uint8_t bytes[N * D];
	float floats[N * D];
	for (int i = 0; i < N * D; i++)
		floats[i] = bytes[i] = (uint8_t)sl_random_bits(test_seed(4), (uint64_t)i);
	struct sl_points p = table(N, D, floats), q = {.n = N, .n_user = N, .d = D, .type = SL_POINTS_U8, .value = bytes};
	for (int metric = 0; metric < SL_DISTANCES; metric++) {
		struct sl_neighbours *a = find(&p, K, metric, 2, 1), *b = find(&q, K, metric, 2, 1);
		assert_memory_equal(a->index, b->index, sizeof *a->index * N * K);
		assert_memory_equal(a->distance, b->distance, sizeof *a->distance * N * K);
		sl_neighbours_destroy(a);
		sl_neighbours_destroy(b);
	}
}

/* Squared distances of bytes are exact whole numbers, even if a float would round them. */
static void bytes_are_compared_exactly(void **state)
{
	enum { K = 30 };
	static const uint32_t sizes[][2] = {{257, 1100}, {33, 3}, {64, 4}, {500, 1}, {96, 785}, {2, 5}};
	for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
		uint32_t n = sizes[s][0], d = sizes[s][1], k = n - 1 < K ? n - 1 : K;
		uint8_t *x = malloc((size_t)n * d);
		struct pair *all = malloc(n * sizeof *all);
		uint64_t seed = test_seed(21);
		for (size_t i = 0; i < (size_t)n * d; i++)
			x[i] = (uint8_t)(sl_random_bits(seed, i) % (s & 1 ? 3 : 256) * (s & 1 ? 127 : 1));
		memcpy(x + (size_t)(n - 1) * d, x, d);
		struct sl_points p = {.n = n, .n_user = n, .d = d, .type = SL_POINTS_U8, .value = x};
		struct sl_neighbours *nb = find(&p, K, SL_EUCLIDEAN, 0, 1);
		for (uint32_t i = 0; i < n; i++) {
			uint32_t others = 0;
			for (uint32_t j = 0; j < n; j++) {
				int64_t sum = 0;
				for (uint32_t c = 0; c < d; c++) {
					int t = (int)x[(size_t)i * d + c] - (int)x[(size_t)j * d + c];
					sum += t * t;
				}
				if (j != i)
					all[others++] = (struct pair){(double)sum, j};
			}
			qsort(all, others, sizeof *all, by_distance);
			for (uint32_t e = 0; e < k; e++) {
				float wanted = (float)sqrt(all[e].distance);
				assert_true(fabsf(nb->distance[(size_t)i * k + e] - wanted) <= 1e-6f * wanted);
				/* distances that round to the same float come in the order of their numbers */
				bool alike = (e > 0 && (float)sqrt(all[e - 1].distance) == wanted) ||
					     (e + 1 < others && (float)sqrt(all[e + 1].distance) == wanted);
				if (!alike)
					assert_int_equal(nb->index[(size_t)i * k + e], all[e].node);
			}
		}
		sl_neighbours_destroy(nb);
		free(all);
		free(x);
	}
}

static double recall_of(const struct sl_neighbours *exact, const struct sl_neighbours *nb)
{
	uint64_t kept = 0;
	for (uint32_t i = 0; i < exact->n; i++)
		for (uint32_t e = 0; e < exact->k; e++)
			for (uint32_t f = 0; f < exact->k; f++)
				kept += exact->index[(size_t)i * exact->k + e] == nb->index[(size_t)i * exact->k + f];
	return (double)kept / ((double)exact->n * exact->k);
}

static void an_inverted_file_keeps_its_recall(void **state)
{
	enum { N = 45000, D = 16, K = 15 };
	float *x = clusters(N, D, 12);
	for (uint32_t i = 0; i < 3000; i++)  /* many times as many equal points as a cell has */
		memcpy(x + (size_t)i * D, x, D * sizeof *x);
	struct sl_points p = table(N, D, x);
	struct sl_neighbours *exact = find(&p, K, SL_EUCLIDEAN, 0, 1);
	for (int r = 0; r < 2; r++) {
		if (test_leaves_out((uint64_t)r, 1, 2))
			continue;
		struct sl_neighbours *nb = find(&p, K, SL_EUCLIDEAN, 0, r ? 0.99 : 0.9);
		assert_string_equal(nb->method, "ivf");
		double recall = recall_of(exact, nb);
		assert_true(recall >= (r ? 0.985 : 0.88));
		assert_true(fabs(recall - nb->recall) < (r ? 0.01 : 0.03));
		for (uint32_t i = 0; i < N; i++)
			for (uint32_t e = 0; e < K; e++) {
				size_t at = (size_t)i * K + e;
				assert_true(nb->index[at] < N && nb->index[at] != i);
				assert_true(!e || nb->distance[at - 1] < nb->distance[at] ||
					    (nb->distance[at - 1] == nb->distance[at] && nb->index[at - 1] < nb->index[at]));
			}
		sl_neighbours_destroy(nb);
	}
	sl_neighbours_destroy(exact);
	free(x);
}

static void the_number_of_threads_changes_nothing(void **state)
{
	enum { N = 40000, D = 24, K = 10 };
	float *x = clusters(N, D, 13);
	struct sl_points p = table(N, D, x);
	int before = omp_get_max_threads();
	struct sl_neighbours *first = NULL;
	for (int threads = 1; threads <= 3; threads++) {
		if (threads > 1 && test_leaves_out((uint64_t)threads, 1, 2))
			continue;
		omp_set_num_threads(threads);
		struct sl_neighbours *nb = find(&p, K, SL_EUCLIDEAN, 0, 0.95);
		assert_string_equal(nb->method, "ivf");
		if (first) {
			assert_memory_equal(first->index, nb->index, sizeof *nb->index * N * K);
			assert_memory_equal(first->distance, nb->distance, sizeof *nb->distance * N * K);
			assert_true(first->recall == nb->recall);
			sl_neighbours_destroy(nb);
		} else {
			first = nb;
		}
	}
	omp_set_num_threads(before);
	sl_neighbours_destroy(first);
	free(x);
}

static void cancel_now(void *arg, double share)
{
	assert_true(share >= 0 && share <= 1);
	__atomic_store_n((int *)arg, 1, __ATOMIC_RELAXED);
}

static void a_search_can_be_cancelled(void **state)
{
	enum { N = 45000, D = 16 };
	float *x = clusters(N, D, 14);
	struct sl_points p = table(N, D, x);
	for (int r = 0; r < 2; r++) {
		int cancel = 0;
		struct sl_neighbours_params params = {.k = 5, .recall = r ? 1 : 0.9, .cancel = &cancel, .progress = cancel_now,
						      .arg = &cancel};
		struct sl_neighbours *nb;
		struct sl_error err;
		assert_int_equal(sl_neighbours_find(&nb, &p, &params, &err), SL_CANCELLED);
		assert_null(nb);
	}
	free(x);
}

static void wrong_parameters_are_refused(void **state)
{
	float x[6] = {1, 2, 3, 4, 5, 6};
	struct sl_points p = table(3, 2, x), one = table(1, 2, x);
	static const struct {
		struct sl_neighbours_params params;
		const char *pointer;
	} bad[] = {
		{{.k = 0, .recall = 1}, "/neighbours"}, {{.k = 1, .recall = 0}, "/recall"},
		{{.k = 1, .recall = 1.01}, "/recall"}, {{.k = 1, .recall = NAN}, "/recall"},
		{{.k = 1, .recall = 1, .metric = SL_DISTANCES}, "/metric"}, {{.k = 1, .recall = 1, .metric = -1}, "/metric"},
		{{.k = 1, .recall = 1, .metric = SL_LP, .p = 0.5}, "/p"},
		{{.k = 1, .recall = 1, .metric = SL_LP, .p = 17}, "/p"},
		{{.k = 1, .recall = 1, .metric = SL_LP, .p = NAN}, "/p"},
	};
	struct sl_neighbours *nb;
	struct sl_error err;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		assert_int_equal(sl_neighbours_find(&nb, &p, &bad[i].params, &err), SL_BADPARAM);
		assert_string_equal(err.pointer, bad[i].pointer);
		assert_null(nb);
	}
	assert_int_equal(sl_neighbours_find(&nb, &one, &(struct sl_neighbours_params){.k = 1, .recall = 1}, &err),
			SL_BADDATA);
	int metric;
	for (int m = 0; m < SL_DISTANCES; m++) {
		assert_int_equal(sl_distance_parse(sl_distance_name(m), &metric, NULL), 0);
		assert_int_equal(metric, m);
	}
	assert_int_equal(sl_distance_parse("manhattan", &metric, NULL), 0);  /* as SciPy calls it */
	assert_int_equal(metric, SL_L1);
	assert_int_equal(sl_distance_parse("hyperbolic", &metric, &err), SL_BADPARAM);
	assert_string_equal(err.pointer, "/metric");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exact_for_every_metric),
		cmocka_unit_test(ties_and_duplicates_come_in_order),
		cmocka_unit_test(equal_points_are_at_distance_zero),
		cmocka_unit_test(zero_rows_are_at_cosine_distance_one),
		cmocka_unit_test(neither_large_nor_small_numbers_matter),
		cmocka_unit_test(bytes_and_floats_agree),
		cmocka_unit_test(bytes_are_compared_exactly),
		cmocka_unit_test(an_inverted_file_keeps_its_recall),
		cmocka_unit_test(the_number_of_threads_changes_nothing),
		cmocka_unit_test(a_search_can_be_cancelled),
		cmocka_unit_test(wrong_parameters_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
