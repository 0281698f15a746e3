/* Making P from the neighbours of points: one perplexity and several, ties, points that were left out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <omp.h>

#include "core/graph/affinities.h"
#include "core/graph/perplexity.h"
#include "core/neighbours/neighbours.h"
#include "core/points/points.h"
#include "core/random.h"
#include "tests/unit/seeds.h"

#define ENTROPY_LIMIT 1.001e-6  /* the documented bound is 1e-6; sums differ in rounding */

static struct sl_neighbours *neighbours(uint32_t n, uint32_t d, uint32_t k, const float *value)
{
	struct sl_points p = {.n = n, .n_user = n, .d = d, .value = (void *)(uintptr_t)value};
	struct sl_neighbours_params params = {.k = k, .recall = 1};
	struct sl_neighbours *nb;
	assert_int_equal(sl_neighbours_find(&nb, &p, &params, NULL), 0);
	return nb;
}

static float *gaussian(uint32_t n, uint32_t d, uint64_t seed, float scale)
{
	float *x = malloc(sizeof *x * n * d);
	seed = test_seed(seed);
	for (size_t i = 0; i < (size_t)n * d; i++)
		x[i] = scale * (float)sl_random_normal(seed, i);
	return x;
}

static struct sl_affinities *affinities(const struct sl_neighbours *nb, int count, double first, double second)
{
	struct sl_affinities_params params = {.perplexities = count, .perplexity = {first, second}};
	struct sl_affinities *a;
	struct sl_error err = {0};
	if (sl_affinities_from_neighbours(&a, nb, &params, &err))
		fail_msg("%s", err.detail);
	return a;
}

static double entropy(const double *p, uint32_t k)
{
	double sum = 0, h = 0;
	for (uint32_t j = 0; j < k; j++)
		sum += p[j];
	assert_true(fabs(sum - 1) < 1e-9);
	for (uint32_t j = 0; j < k; j++)
		h -= p[j] > 0 ? p[j] * log(p[j]) : 0;
	return h;
}

/* The number of elements equal to element `at` of an ascending row of k distances. */
static uint32_t ties(const float *distance, uint32_t k, uint32_t at)
{
	uint32_t count = 0;
	for (uint32_t j = 0; j < k; j++)
		count += distance[j] == distance[at];
	return count;
}

static void rows_have_the_entropy_wanted(void **state)
{
	enum { N = 400, K = 90 };
	double room[2 * K], p[K];
	static const float scales[] = {1e-15f, 1, 1e15f};
	static const double wanted[] = {1.001, 2, 5, 29.9, 60, 89};
	for (size_t s = 0; s < 3; s++) {
		float *x = gaussian(N, 10, s, scales[s]);
		struct sl_neighbours *nb = neighbours(N, 10, K, x);
		for (uint32_t i = 0; i < N; i++)
			for (size_t w = 0; w < sizeof wanted / sizeof *wanted; w++) {
				const float *distance = nb->distance + (size_t)i * K;
				if (ties(distance, K, 0) >= wanted[w])
					continue;  /* no beta has that entropy */
				memset(p, 0, sizeof p);
				assert_true(sl__calibrate_row(distance, K, wanted[w], 1, room, p));
				assert_true(fabs(entropy(p, K) - log(wanted[w])) < ENTROPY_LIMIT);
				for (uint32_t j = 1; j < K; j++)
					assert_true(p[j] <= p[j - 1]);
			}
		sl_neighbours_destroy(nb);
		free(x);
	}
}

/* For this row, Newton's steps alternate between both sides of the root. */
static void steps_that_alternate_end(void **state)
{
	static const float d[] = {0.116861738f, 0.127679303f, 0.146751881f, 0.170067951f, 0.205735385f, 0.226358905f,
				  0.229804412f, 0.232659429f, 0.235437855f, 0.239866138f, 0.247121841f, 0.248461276f,
				  0.262166649f, 0.26678291f, 0.280304044f, 0.284073025f, 0.285579532f, 0.287717044f,
				  0.301976919f, 0.305269688f, 0.309072375f, 0.315728217f, 0.316081285f, 0.31793806f,
				  0.319437146f, 0.32366702f, 0.332548887f};
	enum { K = sizeof d / sizeof *d };
	double room[2 * K];
	for (double wanted = 1.5; wanted < K - 0.5; wanted += 0.25) {
		double p[K] = {0};
		assert_true(sl__calibrate_row(d, K, wanted, 1, room, p));
		assert_true(fabs(entropy(p, K) - log(wanted)) < ENTROPY_LIMIT);
	}
}

/* The shape of p is that of the kernel: log p is linear in the squared distance. */
static void rows_are_gaussian_in_the_distance(void **state)
{
	enum { K = 30 };
	float d[K];
	double room[2 * K], p[K] = {0};
	for (int j = 0; j < K; j++)
		d[j] = 1 + 0.1f * (float)j;
	assert_true(sl__calibrate_row(d, K, 10, 1, room, p));
	double beta = (log(p[0]) - log(p[1])) / ((double)d[1] * d[1] - (double)d[0] * d[0]);
	for (int j = 2; j < K; j++)
		assert_true(fabs((log(p[0]) - log(p[j])) / ((double)d[j] * d[j] - (double)d[0] * d[0]) / beta - 1) < 1e-9);
}

static void ties_are_counted_and_never_nan(void **state)
{
	static const struct {
		uint32_t zeros, k;   /* distances 0, then 1, 2, 3 ... */
		double perplexity;
		bool reached;
	} cases[] = {
		{0, 10, 3, true}, {2, 10, 3, true}, {3, 10, 3, false}, {4, 10, 3, false}, {10, 10, 3, false},
		{0, 1, 1, false}, {0, 2, 1.5, true}, {0, 4, 4, false}, {9, 10, 9.5, true}, {0, 10, 20, false},
	};
	for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
		float d[16];
		double room[32], p[16] = {0};
		for (uint32_t j = 0; j < cases[c].k; j++)
			d[j] = j < cases[c].zeros ? 0 : (float)(j - cases[c].zeros + 1);
		assert_int_equal(sl__calibrate_row(d, cases[c].k, cases[c].perplexity, 1, room, p), cases[c].reached);
		double h = entropy(p, cases[c].k), wanted = log(cases[c].perplexity);
		if (cases[c].reached)
			assert_true(fabs(h - wanted) < ENTROPY_LIMIT);
		else if (cases[c].zeros >= cases[c].perplexity)
			assert_true(fabs(h - log(cases[c].zeros)) < 1e-9);
		else
			assert_true(fabs(h - log(cases[c].k)) < 1e-9);
	}
}

static double value(const struct sl_affinities *a, uint32_t i, uint32_t j)
{
	for (uint64_t e = a->start[i]; e < a->start[i + 1]; e++)
		if (a->node[e] == j)
			return (double)a->p[e];
	return 0;
}

/* P from the definition, in double precision, for one or two perplexities. */
static void joint_probabilities_are_those_of_the_definition(void **state)
{
	enum { N = 150, D = 4, K = 60 };
	float *x = gaussian(N, D, 6, 1);
	struct sl_neighbours *nb = neighbours(N, D, K, x);
	for (int count = 1; count <= 2; count++) {
		const double perplexity[2] = {8, 20};
		double *c = calloc(N * N, sizeof *c);  /* p_j|i */
		for (uint32_t i = 0; i < N; i++)
			for (int s = 0; s < count; s++) {
				uint32_t used = (uint32_t)(3 * perplexity[s]);
				double low = 0, high = 1e6, p[K], sum = 0;
				for (int step = 0; step < 200; step++) {
					double beta = 0.5 * (low + high), h = 0;
					sum = 0;
					for (uint32_t e = 0; e < used; e++) {
						double d = (double)nb->distance[i * K + e];
						sum += p[e] = exp(-beta * d * d);
					}
					for (uint32_t e = 0; e < used; e++)
						h -= p[e] / sum * log(p[e] / sum + 1e-300);
					*(h > log(perplexity[s]) ? &low : &high) = beta;
				}
				for (uint32_t e = 0; e < used; e++)
					c[i * N + nb->index[i * K + e]] += p[e] / sum / count;
			}
		struct sl_affinities *a = affinities(nb, count, perplexity[0], perplexity[1]);
		assert_int_equal(a->n, N);
		assert_int_equal(a->unreachable, 0);
		double total = 0;
		for (uint64_t e = 0; e < a->m; e++)
			total += (double)a->p[e];
		assert_true(fabs(total - 1) < 1e-5);
		for (uint32_t i = 0; i < N; i++)
			for (uint32_t j = 0; j < N; j++) {
				uint32_t u = a->user[i], v = a->user[j];
				double wanted = i == j ? 0 : (c[u * N + v] + c[v * N + u]) / (2.0 * N);
				assert_true(fabs(value(a, i, j) - wanted) < 2e-5 / N);
			}
		sl_affinities_destroy(a);
		free(c);
	}
	sl_neighbours_destroy(nb);
	free(x);
}

static void more_neighbours_than_needed_change_nothing(void **state)
{
	enum { N = 300, D = 5, FEW = 30, MANY = 100 };
	float *x = NULL;
	struct sl_neighbours *few = NULL, *many = NULL;
	/* If two distances round to the same float, either neighbour may be the last of the k nearest, so use other
	 * points. */
	for (uint64_t draw = 0, tied = 1; tied; draw++) {
		free(x);
		sl_neighbours_destroy(many);
		x = gaussian(N, D, 7 + 100 * draw, 1);
		many = neighbours(N, D, MANY, x);
		tied = 0;
		for (uint32_t i = 0; i < N; i++)
			tied |= many->distance[i * MANY + FEW - 1] == many->distance[i * MANY + FEW];
	}
	few = neighbours(N, D, FEW, x);
	struct sl_affinities *a = affinities(few, 1, 10, 0), *b = affinities(many, 1, 10, 0);
	assert_int_equal(a->m, b->m);
	assert_memory_equal(a->p, b->p, a->m * sizeof *a->p);
	assert_memory_equal(a->node, b->node, a->m * sizeof *a->node);
	sl_affinities_destroy(a);
	sl_affinities_destroy(b);
	sl_neighbours_destroy(few);
	sl_neighbours_destroy(many);
	free(x);
}

static void the_number_of_threads_changes_nothing(void **state)
{
	enum { N = 3000, D = 5 };
	float *x = gaussian(N, D, 8, 1);
	struct sl_neighbours *nb = neighbours(N, D, 90, x);
	struct sl_affinities *first = NULL;
	int before = omp_get_max_threads();
	for (int threads = 1; threads <= 3; threads++) {
		omp_set_num_threads(threads);
		struct sl_affinities *a = affinities(nb, 2, 10, 30);
		if (first) {
			assert_int_equal(first->m, a->m);
			assert_memory_equal(first->p, a->p, a->m * sizeof *a->p);
			assert_memory_equal(first->user, a->user, a->n * sizeof *a->user);
			sl_affinities_destroy(a);
		} else {
			first = a;
		}
	}
	omp_set_num_threads(before);
	sl_affinities_destroy(first);
	sl_neighbours_destroy(nb);
	free(x);
}

static void the_users_rows_come_back(void **state)
{
	enum { N = 200, D = 3 };
	float *x = gaussian(N, D, 9, 1);
	struct sl_neighbours *nb = neighbours(N, D, 30, x);
	nb->user = malloc(N * sizeof *nb->user);
	for (uint32_t i = 0; i < N; i++)
		nb->user[i] = 2 * i + 1;  /* every other row was left out */
	nb->n_user = 2 * N + 5;
	struct sl_affinities *a = affinities(nb, 1, 10, 0);
	assert_int_equal(a->n, N);
	assert_int_equal(a->n_user, 2 * N + 5);
	bool seen[2 * N + 5] = {false};
	for (uint32_t i = 0; i < a->n; i++) {
		assert_true(a->user[i] < a->n_user && a->user[i] % 2 == 1 && !seen[a->user[i]]);
		seen[a->user[i]] = true;
	}
	float *y = gaussian(N, 2, 10, 1), *out = malloc(sizeof *out * 2 * a->n_user);
	sl_affinities_expand(a, 2, y, out);
	for (uint32_t i = 0; i < a->n; i++)
		assert_memory_equal(out + 2 * a->user[i], y + 2 * i, 2 * sizeof *y);
	for (uint32_t i = 0; i < 2 * a->n_user; i++)
		assert_true(isfinite(out[i]));
	free(y);
	free(out);
	sl_affinities_destroy(a);
	sl_neighbours_destroy(nb);
	free(x);
}

static void few_points_and_short_rows_work(void **state)
{
	for (uint32_t n = 2; n < 12; n++) {
		float *x = gaussian(n, 2, n, 1);
		struct sl_neighbours *nb = neighbours(n, 2, 90, x);
		struct sl_affinities *a = affinities(nb, 0, 0, 0);
		double total = 0;
		assert_int_equal(a->n, n);
		for (uint64_t e = 0; e < a->m; e++)
			total += (double)a->p[e];
		assert_true(fabs(total - 1) < 1e-5);
		sl_affinities_destroy(a);
		sl_neighbours_destroy(nb);
		free(x);
	}
	/* three points in a row with one neighbour or none, and one that is nobody's neighbour */
	uint32_t index[8] = {1, 2, 0, SL_NO_NEIGHBOUR, SL_NO_NEIGHBOUR, SL_NO_NEIGHBOUR, SL_NO_NEIGHBOUR, SL_NO_NEIGHBOUR};
	float distance[8] = {1, 2, 1, INFINITY, INFINITY, INFINITY, INFINITY, INFINITY};
	struct sl_neighbours nb = {.n = 4, .n_user = 4, .k = 2, .index = index, .distance = distance, .short_rows = 3};
	struct sl_affinities *a = affinities(&nb, 0, 0, 0);
	assert_int_equal(a->n, 3);
	assert_int_equal(a->m, 4);
	for (uint64_t e = 0; e < a->m; e++)
		assert_true(a->p[e] > 0 && a->p[e] < 1);
	sl_affinities_destroy(a);
}

static void too_much_perplexity_is_refused(void **state)
{
	enum { N = 100 };
	float *x = gaussian(N, 2, 11, 1);
	struct sl_neighbours *nb = neighbours(N, 2, 30, x);
	struct sl_affinities *a = NULL;
	struct sl_error err;
	static const struct {
		double perplexity;
		const char *says;
	} bad[] = {{10.1, "needs 31 neighbours"}, {40, "at most 33"}, {0.5, "1 or more"}, {NAN, "1 or more"}, {INFINITY,
			"1 or more"}};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct sl_affinities_params params = {.perplexities = 2, .perplexity = {5, bad[i].perplexity}};
		assert_int_equal(sl_affinities_from_neighbours(&a, nb, &params, &err), SL_BADPARAM);
		assert_string_equal(err.pointer, "/perplexity");
		assert_non_null(strstr(err.detail, bad[i].says));
		assert_null(a);
	}
	struct sl_affinities_params params = {.perplexities = 2, .perplexity = {5, 10}};
	assert_int_equal(sl_affinities_neighbours_needed(&params, 1000), 30);
	assert_int_equal(sl_affinities_neighbours_needed(&params, 20), 19);
	params.perplexities = 0;
	assert_int_equal(sl_affinities_neighbours_needed(&params, 1000), 90);
	sl_neighbours_destroy(nb);
	free(x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_have_the_entropy_wanted),
		cmocka_unit_test(steps_that_alternate_end),
		cmocka_unit_test(rows_are_gaussian_in_the_distance),
		cmocka_unit_test(ties_are_counted_and_never_nan),
		cmocka_unit_test(joint_probabilities_are_those_of_the_definition),
		cmocka_unit_test(more_neighbours_than_needed_change_nothing),
		cmocka_unit_test(the_number_of_threads_changes_nothing),
		cmocka_unit_test(the_users_rows_come_back),
		cmocka_unit_test(few_points_and_short_rows_work),
		cmocka_unit_test(too_much_perplexity_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
