/* P against a plain dense computation in double precision, and its invariants. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <omp.h>
#include <stdio.h>

#include "core/graph/affinities.h"
#include "core/graph/rescale.h"
#include "core/graph/vector_math.h"
#include "tests/unit/graphs.h"

static struct sl_affinities *make(const struct sl_graph *g, double lambda, bool drop, enum sl_order order)
{
	struct sl_affinities_params params = {.lambda = lambda, .drop_leaf_edges = drop, .order = order};
	struct sl_affinities *a = NULL;
	struct sl_error err;
	int rc = sl_affinities_create(&a, g, &params, &err);
	if (rc)
		print_message("%s\n", err.detail);
	assert_int_equal(rc, 0);
	return a;
}

/* ---- the reference: dense, bisection, as the paper has it ---- */

struct reference {
	uint32_t n;
	double *p;  /* [n][n], sum 1 */
	uint32_t unreachable;
};

static void drop_leaves(double *w, uint32_t n)
{
	uint8_t *leaf = calloc(n, 1);
	for (uint32_t i = 0; i < n; i++) {
		int neighbours = 0;
		for (uint32_t j = 0; j < n; j++)
			neighbours += w[i * n + j] > 0 || w[j * n + i] > 0;
		leaf[i] = neighbours == 1;
	}
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t j = 0; j < n; j++)
			if (leaf[i] || leaf[j])
				w[i * n + j] = 0;
	free(leaf);
}

static void reference_column(double *w, uint32_t n, uint32_t j, double lambda, uint32_t *unreachable)
{
	double sum = 0, low = 0, high = 1, gamma = 1, after = 0;
	uint32_t k = 0;
	for (uint32_t i = 0; i < n; i++) {
		sum += w[i * n + j];
		k += w[i * n + j] > 0;
	}
	if (!k)
		return;
	if (lambda > 1 && k <= lambda) {
		gamma = 0;
		++*unreachable;
	}
	for (int step = 0; lambda > 1 && k > lambda && step < 100; step++) {
		double total = 0;
		gamma = 0.5 * (low + high);
		for (uint32_t i = 0; i < n; i++)
			total += w[i * n + j] > 0 ? pow(w[i * n + j] / sum, gamma) : 0;
		*(total > lambda ? &low : &high) = gamma;
	}
	for (uint32_t i = 0; i < n; i++) {
		double *v = &w[i * n + j];
		*v = *v > 0 ? pow(*v / sum, gamma) : 0;
		after += *v;
	}
	for (uint32_t i = 0; i < n; i++)
		w[i * n + j] /= after;
}

static struct reference reference_make(const struct sl_graph *g, double lambda, bool drop)
{
	uint32_t n = g->n;
	struct reference r = {.n = n, .p = calloc((size_t)n * n, sizeof *r.p)};
	double *w = calloc((size_t)n * n, sizeof *w), sum = 0;
	for (uint32_t j = 0; j < n; j++)
		for (uint64_t e = g->start[j]; e < g->start[j + 1]; e++)
			w[(size_t)g->node[e] * n + j] = g->weight ? g->weight[e] : 1;
	if (drop)
		drop_leaves(w, n);
	for (uint32_t j = 0; j < n; j++)
		reference_column(w, n, j, lambda, &r.unreachable);
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t j = 0; j < n; j++)
			sum += r.p[i * n + j] = (w[i * n + j] + w[j * n + i]) / 2;
	for (size_t k = 0; sum > 0 && k < (size_t)n * n; k++)
		r.p[k] /= sum;
	free(w);
	return r;
}

static void compare(const struct sl_graph *g, double lambda, bool drop)
{
	struct reference r = reference_make(g, lambda, drop);
	struct sl_affinities *a = make(g, lambda, drop, SL_ORDER_RCM);
	size_t n = g->n, positive = 0;
	double entropy = 0;
	for (size_t k = 0; k < n * n; k++)
		if (r.p[k] > 0) {
			positive++;
			entropy += r.p[k] * log(r.p[k]);
		}
	assert_int_equal(a->m, positive);
	assert_int_equal(a->unreachable, r.unreachable);
	assert_true(fabs(a->entropy - entropy) < 1e-5 * fabs(entropy) + 1e-12);
	for (uint32_t i = 0; i < a->n; i++)
		for (uint64_t e = a->start[i]; e < a->start[i + 1]; e++) {
			double expected = r.p[a->user[i] * n + a->user[a->node[e]]];
			assert_true(fabs(a->p[e] - expected) < 1e-5 * expected);
		}
	sl_affinities_destroy(a);
	free(r.p);
}

static void test_agrees_with_reference(void **state)
{
	for (int k = 0; k < 16; k++) {
		struct sl_graph *g = test_graph(120 + 7 * (uint32_t)k, 1 + (uint32_t)k % 4, k & 1, k & 2, (uint64_t)k + 1);
		compare(g, 1, k & 4);
		compare(g, 3, k & 4);
		compare(g, 10, k & 4);
		sl_graph_destroy(g);
	}
}

static void test_invariants(void **state)
{
	static const enum sl_order orders[] = {SL_ORDER_NONE, SL_ORDER_RCM, SL_ORDER_BFS, SL_ORDER_AUTO};
	for (int k = 0; k < 4; k++) {
		struct sl_graph *g = test_graph(5000, 3, k & 1, k & 2, 77);
		struct sl_affinities *a = make(g, 4, false, orders[k]);
		double sum = 0;
		uint8_t *seen = calloc(g->n, 1);
		assert_int_equal(a->start[0], 0);
		assert_int_equal(a->start[a->n], a->m);
		assert_int_equal(a->n + g->report.isolated, a->n_user);
		for (uint32_t i = 0; i < a->n; i++) {
			assert_false(seen[a->user[i]]++);
			assert_true(a->start[i] < a->start[i + 1]);
			for (uint64_t e = a->start[i]; e < a->start[i + 1]; e++) {
				uint32_t j = a->node[e];
				assert_true(j < a->n && j != i && a->p[e] > 0);
				assert_true(e == a->start[i] || a->node[e - 1] < j);
				sum += a->p[e];
				uint64_t back = a->start[j];
				while (back < a->start[j + 1] && a->node[back] != i)
					back++;
				assert_true(back < a->start[j + 1]);
				assert_memory_equal(&a->p[e], &a->p[back], sizeof(float));
			}
		}
		assert_true(fabs(sum - 1) < 1e-6);
		free(seen);
		sl_affinities_destroy(a);
		sl_graph_destroy(g);
	}
}

static void test_lambda_is_reached(void **state)
{
	uint64_t seed = test_seed(5);
	for (int k = 0; k < 3000; k++) {
		uint32_t count = 2 + (uint32_t)(test_random(&seed) % 60);
		double l[64], sum = 0, spread = pow(10, 4 * test_uniform(&seed) - 2);
		for (uint32_t i = 0; i < count; i++)
			sum += exp(l[i] = -spread * test_uniform(&seed));
		for (uint32_t i = 0; i < count; i++)
			l[i] -= log(sum);
		double lambda = 1.001 + (count - 1.002) * test_uniform(&seed);
		double gamma = sl__rescale_exponent(l, count, lambda), reached = 0;
		assert_true(gamma >= 0 && gamma <= 1);
		for (uint32_t i = 0; i < count; i++)
			reached += exp(gamma * l[i]);
		assert_true(fabs(reached - lambda) <= 1.001e-7 * lambda);  /* documented: 1e-7; sums differ in rounding */
	}
	double equal[4] = {log(0.25), log(0.25), log(0.25), log(0.25)};
	assert_true(sl__rescale_exponent(equal, 4, 4) == 0);
	assert_true(sl__rescale_exponent(equal, 4, 9) == 0);
}

static void assert_same(const struct sl_affinities *a, const struct sl_affinities *b)
{
	assert_int_equal(a->n, b->n);
	assert_int_equal(a->m, b->m);
	assert_memory_equal(a->start, b->start, (a->n + 1) * sizeof *a->start);
	assert_memory_equal(a->node, b->node, a->m * sizeof *a->node);
	assert_memory_equal(a->p, b->p, a->m * sizeof *a->p);
	assert_memory_equal(a->user, b->user, a->n * sizeof *a->user);
	assert_memory_equal(&a->entropy, &b->entropy, sizeof a->entropy);
}

static void test_threads_do_not_matter(void **state)
{
	int before = omp_get_max_threads();
	struct sl_graph *g = test_graph(20000, 5, true, false, 3);
	omp_set_num_threads(1);
	struct sl_affinities *one = make(g, 5, true, SL_ORDER_RCM);
	for (int threads = 2; threads <= 3; threads++) {
		omp_set_num_threads(threads);
		struct sl_affinities *many = make(g, 5, true, SL_ORDER_RCM);
		assert_same(one, many);
		assert_int_equal(one->unreachable, many->unreachable);
		assert_int_equal(one->dropped, many->dropped);
		sl_affinities_destroy(many);
	}
	omp_set_num_threads(before);
	sl_affinities_destroy(one);
	sl_graph_destroy(g);
}

/* Only the ratios of weights in a column matter; weights at the limits of float are valid. */
static void test_scale_of_weights_does_not_matter(void **state)
{
	static const float scales[] = {0x1p-120f, 0x1p120f, 3.7f};
	struct sl_graph *g = test_graph(800, 2, true, false, 9);
	struct sl_affinities *plain = make(g, 6, false, SL_ORDER_NONE);
	for (int k = 0; k < 3; k++) {
		float s = scales[k];
		for (uint64_t e = 0; e < g->m; e++)
			g->weight[e] *= s;
		struct sl_affinities *scaled = make(g, 6, false, SL_ORDER_NONE);
		for (uint64_t e = 0; e < g->m; e++)
			g->weight[e] /= s;
		assert_int_equal(plain->m, scaled->m);
		for (uint64_t e = 0; e < plain->m; e++)
			assert_true(fabsf(plain->p[e] - scaled->p[e]) <= 2e-6f * plain->p[e]);
		sl_affinities_destroy(scaled);
	}
	sl_affinities_destroy(plain);
	sl_graph_destroy(g);
}

static void test_extreme_weights_in_one_column(void **state)
{
	struct sl_graph_builder *b;
	struct sl_graph *g;
	assert_int_equal(sl_graph_builder_create(&b, SL_GENERAL, true, 0, NULL), 0);
	static const float w[] = {1e38f, 1e-38f, 3e38f, 1e-45f, 1, 2e38f};
	for (uint32_t i = 0; i < 6; i++)
		assert_int_equal(sl_graph_builder_add(b, i + 1, 0, w[i]), 0);
	assert_int_equal(sl_graph_builder_finish(b, 7, &g, NULL), 0);
	for (int k = 0; k < 3; k++) {
		struct sl_affinities *a = make(g, 1 + k, false, SL_ORDER_AUTO);
		double sum = 0;
		for (uint64_t e = 0; e < a->m; e++) {
			assert_true(isfinite(a->p[e]) && a->p[e] > 0);
			sum += a->p[e];
		}
		assert_int_equal(a->m, 12);
		assert_true(isfinite(a->entropy));
		assert_true(fabs(sum - 1) < 1e-6);
		sl_affinities_destroy(a);
	}
	sl_graph_destroy(g);
}

static void test_leaf_edges(void **state)
{
	/* a triangle 0 1 2, a leaf 3 on 0, a star 4 with leaves 5 6, a lone pair 7 8 */
	static const uint32_t edges[][2] = {{0, 1}, {1, 2}, {2, 0}, {3, 0}, {5, 4}, {6, 4}, {7, 8}};
	struct sl_graph_builder *b;
	struct sl_graph *g;
	assert_int_equal(sl_graph_builder_create(&b, SL_SYMMETRIC, false, 0, NULL), 0);
	for (int k = 0; k < 7; k++)
		assert_int_equal(sl_graph_builder_add(b, edges[k][0], edges[k][1], 1), 0);
	assert_int_equal(sl_graph_builder_finish(b, 10, &g, NULL), 0);
	struct sl_affinities *kept = make(g, 1, false, SL_ORDER_NONE), *dropped = make(g, 1, true, SL_ORDER_NONE);
	assert_int_equal(kept->n, 9);
	assert_int_equal(kept->m, 14);
	assert_int_equal(kept->dropped, 0);
	assert_int_equal(dropped->n, 3);
	assert_int_equal(dropped->m, 6);
	assert_int_equal(dropped->dropped, 6);
	for (uint64_t e = 0; e < 6; e++)
		assert_true(fabs(dropped->p[e] - 1.0 / 6) < 1e-7);
	sl_affinities_destroy(kept);
	sl_affinities_destroy(dropped);
	sl_graph_destroy(g);
}

static void test_bad_lambda(void **state)
{
	static const double bad[] = {0, 0.99, -1, NAN, INFINITY};
	struct sl_graph *g = test_graph(50, 1, false, true, 1);
	for (int k = 0; k < 5; k++) {
		struct sl_affinities_params params = {.lambda = bad[k], .drop_leaf_edges = false, .order = SL_ORDER_AUTO};
		struct sl_affinities *a = NULL;
		struct sl_error err;
		assert_int_equal(sl_affinities_create(&a, g, &params, &err), SL_BADPARAM);
		assert_string_equal(err.pointer, "/lambda");
		assert_null(a);
	}
	sl_graph_destroy(g);
}

/* ---- expand and gather ---- */

static struct sl_affinities embedded_evenly(uint32_t n_user, uint32_t n)
{
	struct sl_affinities a = {.n = n, .n_user = n_user, .user = malloc(((size_t)n + 1) * sizeof *a.user)};
	for (uint32_t i = 0; i < n; i++)
		a.user[i] = (uint32_t)((uint64_t)(n - 1 - i) * n_user / n);
	return a;
}

static int by_bytes(const void *a, const void *b)
{
	return memcmp(a, b, 3 * sizeof(float));
}

/* The number of points of y[n * d] that equal another one. */
static uint32_t repeated(const float *y, uint32_t n, size_t d)
{
	float (*sorted)[3] = calloc(n + 1, sizeof *sorted);
	uint32_t equal = 0;
	assert_non_null(sorted);
	for (uint32_t i = 0; i < n; i++)
		memcpy(sorted[i], y + i * d, d * sizeof *y);
	qsort(sorted, n, sizeof *sorted, by_bytes);
	for (uint32_t i = 1; i < n; i++)
		equal += by_bytes(sorted[i - 1], sorted[i]) == 0;
	free(sorted);
	return equal;
}

static void check_expand(uint32_t n_user, uint32_t n, int dims, float scale, float shift)
{
	struct sl_affinities a = embedded_evenly(n_user, n);
	size_t d = (size_t)dims;
	float *y = malloc((n * d + 1) * sizeof *y), *out = malloc(n_user * d * sizeof *out);
	float *back = malloc((n * d + 1) * sizeof *back);
	uint8_t *placed = calloc(n_user, 1);
	uint64_t seed = test_seed(n_user + 31 * n);
	double low[3] = {1e300, 1e300, 1e300}, high[3] = {-1e300, -1e300, -1e300}, radius = 0, outer = 0, inner = 1e300;
	for (size_t k = 0; k < n * d; k++) {
		y[k] = shift + scale * (float)(test_uniform(&seed) + test_uniform(&seed) - 1);
		low[k % d] = fmin(low[k % d], y[k]);
		high[k % d] = fmax(high[k % d], y[k]);
	}
	sl_affinities_expand(&a, dims, y, out);
	sl_affinities_gather(&a, dims, out, back);
	assert_memory_equal(y, back, n * d * sizeof *y);
	for (uint32_t i = 0; i < n; i++)
		placed[a.user[i]] = 1;
	for (uint32_t i = 0; i < n_user; i++) {
		double square = 0;
		for (size_t k = 0; k < d; k++) {
			double v = out[i * d + k] - (n ? 0.5 * (low[k] + high[k]) : 0);
			assert_true(isfinite(out[i * d + k]));
			square += v * v;
		}
		if (placed[i])
			radius = fmax(radius, sqrt(square));
		else {
			outer = fmax(outer, sqrt(square));
			inner = fmin(inner, sqrt(square));
		}
	}
	if (n && n < n_user) {
		assert_true(inner > 1.01 * radius);
		assert_true(outer < 2.3 * radius);
	}
	assert_int_equal(repeated(out, n_user, d), repeated(y, n, d));  /* in 1-D some random numbers are equal */
	free(y);
	free(out);
	free(back);
	free(placed);
	free(a.user);
}

static void test_expand(void **state)
{
	for (int dims = 1; dims <= 3; dims++) {
		check_expand(1000, 1000, dims, 50, 0);
		check_expand(1000, 700, dims, 50, 3);
		check_expand(3200, 2280, dims, 1e-4f, 0);
		check_expand(1000, 3, dims, 20, -7);
		check_expand(1000, 0, dims, 1, 0);
		check_expand(2, 0, dims, 1, 0);
		check_expand(1, 0, dims, 1, 0);
	}
}

static void test_expand_single_node_is_the_origin(void **state)
{
	struct sl_affinities a = embedded_evenly(1, 0);
	float out[3] = {5, 5, 5}, none = 0;
	sl_affinities_expand(&a, 3, &none, out);
	assert_true(out[0] == 0 && out[1] == 0 && out[2] == 0);
	free(a.user);
}

static void test_all_isolated(void **state)
{
	struct sl_graph_builder *b;
	struct sl_graph *g;
	assert_int_equal(sl_graph_builder_create(&b, SL_GENERAL, false, 0, NULL), 0);
	assert_int_equal(sl_graph_builder_finish(b, 5, &g, NULL), 0);
	struct sl_affinities *a = make(g, 10, true, SL_ORDER_AUTO);
	float none = 0, out[10];
	assert_int_equal(a->n, 0);
	assert_int_equal(a->m, 0);
	assert_true(a->entropy == 0);
	sl_affinities_expand(a, 2, &none, out);
	for (int k = 0; k < 10; k++)
		assert_true(isfinite(out[k]));
	sl_affinities_destroy(a);
	sl_graph_destroy(g);
}

static void test_vector_math(void **state)
{
	for (int k = -690; k <= 700; k++) {
		double x = k + 0.37, e = x, l;
		float w = (float)exp(x / 9);
		sl__exp_in_place(&e, 1);
		assert_true(fabs(e - exp(x)) <= 1e-11 * exp(x));
		sl__log_float(&w, 1, &l);
		assert_true(fabs(l - log(w)) <= 1e-11);
	}
	float small[3] = {1e-45f, 1.2e-38f, 3e38f};
	double l[3];
	sl__log_float(small, 3, l);
	for (int k = 0; k < 3; k++)
		assert_true(fabs(l[k] - log(small[k])) <= 1e-11 * fabs(l[k]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_agrees_with_reference),
		cmocka_unit_test(test_invariants),
		cmocka_unit_test(test_lambda_is_reached),
		cmocka_unit_test(test_threads_do_not_matter),
		cmocka_unit_test(test_scale_of_weights_does_not_matter),
		cmocka_unit_test(test_extreme_weights_in_one_column),
		cmocka_unit_test(test_leaf_edges),
		cmocka_unit_test(test_bad_lambda),
		cmocka_unit_test(test_expand),
		cmocka_unit_test(test_expand_single_node_is_the_origin),
		cmocka_unit_test(test_all_isolated),
		cmocka_unit_test(test_vector_math),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
