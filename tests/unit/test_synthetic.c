/* Synthetic neighbour graphs: their shape, independence of the number of threads, similarity to graphs of real data. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <omp.h>

#include "core/graph/affinities.h"
#include "core/graph/synthetic.h"
#include "tests/unit/seeds.h"

static struct sl_graph *make(uint32_t n, uint32_t k, uint64_t seed)
{
	struct sl_graph *g = NULL;
	struct sl_error err;
	if (sl_synthetic_graph(&g, n, k, test_seed(seed), &err))
		fail_msg("%u nodes, %u neighbours: %s", n, k, err.detail);
	return g;
}

static void columns_are_sorted_and_full(void **state)
{
	static const uint32_t sizes[][2] = {{3, 2}, {11, 10}, {64, 5}, {500, 120}, {2000, 3}, {9001, 30}, {30000, 13}};
	for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
		uint32_t n = sizes[s][0], k = sizes[s][1];
		struct sl_graph *g = make(n, k, 3);
		assert_int_equal(g->n, n);
		assert_int_equal(g->m, (uint64_t)n * k);
		for (uint32_t j = 0; j < n; j++) {
			assert_int_equal(g->start[j + 1] - g->start[j], k);
			for (uint64_t e = g->start[j]; e < g->start[j + 1]; e++) {
				assert_true(g->node[e] < n && g->node[e] != j);
				assert_true(e == g->start[j] || g->node[e - 1] < g->node[e]);
				assert_true(isfinite(g->weight[e]) && g->weight[e] > 0 && g->weight[e] <= 1);
			}
		}
		sl_graph_destroy(g);
	}
}

static void threads_make_no_difference_and_seeds_do(void **state)
{
	int threads = omp_get_max_threads();
	omp_set_num_threads(1);
	struct sl_graph *one = make(20000, 20, 5);
	omp_set_num_threads(3);
	struct sl_graph *three = make(20000, 20, 5), *other = make(20000, 20, 6);
	omp_set_num_threads(threads);
	assert_memory_equal(one->node, three->node, one->m * sizeof *one->node);
	assert_memory_equal(one->weight, three->weight, one->m * sizeof *one->weight);
	assert_memory_not_equal(one->node, other->node, one->m * sizeof *one->node);
	sl_graph_destroy(one);
	sl_graph_destroy(three);
	sl_graph_destroy(other);
}

/* Row lengths of the symmetric P, and the perplexity of the columns, resemble those of neighbours in real data: MNIST's
 * 90 neighbours give 125 entries per row. */
static void they_resemble_those_of_data(void **state)
{
	uint32_t n = 40000, k = 30, most = 0, far = 0;
	struct sl_graph *g = make(n, k, 1);
	struct sl_affinities *a;
	struct sl_affinities_params params = {.lambda = 1};
	double entropy = 0;
	for (uint32_t j = 0; j < n; j++) {
		double sum = 0, h = 0;
		for (uint64_t e = g->start[j]; e < g->start[j + 1]; e++)
			sum += (double)g->weight[e];
		for (uint64_t e = g->start[j]; e < g->start[j + 1]; e++) {
			double p = (double)g->weight[e] / sum;
			h -= p * log(p);
		}
		entropy += h / n;
		uint32_t last = g->node[g->start[j + 1] - 1], first = g->node[g->start[j]];
		far += last > j + 6000 || first + 6000 < j;
	}
	double perplexity = exp(entropy);
	assert_int_equal(sl_affinities_create(&a, g, &params, NULL), 0);
	assert_int_equal(a->n, n);
	for (uint32_t i = 0; i < n; i++)
		most = a->start[i + 1] - a->start[i] > most ? (uint32_t)(a->start[i + 1] - a->start[i]) : most;
	double mean = (double)a->m / n / k;
	if (!(perplexity > k / 3.0 * 0.85 && perplexity < k / 3.0 * 1.15) || !(mean > 1.3 && mean < 1.6) ||
	    !(most > 2 * k) || !(far > n / 60 && far < n / 4))
		fail_msg("perplexity %g, %g k entries a row, longest row %u, %u far", perplexity, mean, most, far);
	sl_affinities_destroy(a);
	sl_graph_destroy(g);
}

static bool ascends(const struct sl_graph *g, uint32_t j)
{
	for (uint64_t e = g->start[j]; e < g->start[j + 1]; e++)
		if (g->node[e] >= g->n || g->node[e] == j || (e > g->start[j] && g->node[e] <= g->node[e - 1]))
			return false;
	return true;
}

/* Full, ascending columns; in a mesh all nodes are alike, a small world has few other edges, attachment has hubs. */
static void other_kinds_are_what_they_are_called(void **state)
{
	uint64_t seed = fresh_seed();
	uint32_t n = 2000, k = 12, far = 0;
	for (int kind = SL_SYNTHETIC_MESH; sl_synthetic_words[kind]; kind++) {
		struct sl_graph *g = NULL;
		float *degree = calloc(n, sizeof *degree), most = 0;
		assert_int_equal(sl_synthetic_kind(&g, (enum sl_synthetic_kind)kind, n, k, seed, NULL), 0);
		for (uint32_t j = 0; j < n; j++)
			if (g->start[j] != (uint64_t)j * k || !ascends(g, j))
				fail_msg("%s: column %u, seed %llu", sl_synthetic_words[kind], j, (unsigned long long)seed);
		for (uint64_t e = 0; e < g->m; e++)
			most = fmaxf(most, ++degree[g->node[e]]);
		for (uint64_t e = 0; e < g->m; e++) {
			uint32_t apart = (g->node[e] - (uint32_t)(e / k) + n) % n;
			far += kind == SL_SYNTHETIC_SMALL_WORLD && apart > k && apart < n - k;
		}
		if ((kind == SL_SYNTHETIC_MESH) != ((double)most == (double)k) ||
				(kind == SL_SYNTHETIC_ATTACHMENT) != (most > 5 * k))
			fail_msg("%s: a row of %g entries, seed %llu", sl_synthetic_words[kind], (double)most,
					(unsigned long long)seed);
		free(degree);
		sl_graph_destroy(g);
	}
	assert_in_range(far, n * k / 30, n * k / 12);
}

static void what_cannot_be_is_an_error(void **state)
{
	static const struct {
		uint32_t n, k;
		const char *pointer;
	} bad[] = {{10, 10, "/nodes"}, {0, 5, "/nodes"}, {100, 1, "/neighbours"}, {5000, 1001, "/neighbours"}};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct sl_graph *g = NULL;
		struct sl_error err;
		assert_int_equal(sl_synthetic_graph(&g, bad[i].n, bad[i].k, 1, &err), SL_BADPARAM);
		assert_string_equal(err.pointer, bad[i].pointer);
		assert_null(g);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(columns_are_sorted_and_full),
		cmocka_unit_test(threads_make_no_difference_and_seeds_do),
		cmocka_unit_test(they_resemble_those_of_data),
		cmocka_unit_test(other_kinds_are_what_they_are_called),
		cmocka_unit_test(what_cannot_be_is_an_error),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
