/* Every order is a permutation, on every kind of graph, and brings neighbours closer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "core/graph/affinities.h"
#include "core/graph/order.h"
#include "tests/unit/graphs.h"

static const enum sl_order orders[] = {SL_ORDER_AUTO, SL_ORDER_NONE, SL_ORDER_RCM, SL_ORDER_BFS};
#define ORDERS ((int)(sizeof orders / sizeof *orders))

static void check_permutation(enum sl_order order, uint32_t n, const uint64_t *start, const uint32_t *node)
{
	uint32_t *old = malloc(((size_t)n + 1) * sizeof *old), *again = malloc(((size_t)n + 1) * sizeof *again);
	uint8_t *seen = calloc((size_t)n + 1, 1);
	assert_int_equal(sl__order(order, n, start, node, old), 0);
	assert_int_equal(sl__order(order, n, start, node, again), 0);
	assert_memory_equal(old, again, n * sizeof *old);
	for (uint32_t r = 0; r < n; r++) {
		assert_true(old[r] < n);
		assert_false(seen[old[r]]++);
	}
	free(old);
	free(again);
	free(seen);
}

static struct sl_affinities *plain(struct sl_graph *g)
{
	struct sl_affinities_params params = {.lambda = 1, .drop_leaf_edges = false, .order = SL_ORDER_NONE};
	struct sl_affinities *a;
	assert_int_equal(sl_affinities_create(&a, g, &params, NULL), 0);
	sl_graph_destroy(g);
	return a;
}

static void test_permutations(void **state)
{
	for (int k = 0; k < 8; k++) {
		struct sl_affinities *a = plain(test_graph(60 + 700 * (uint32_t)k, 1 + (uint32_t)k, false, k & 1, 4));
		for (int o = 0; o < ORDERS; o++)
			check_permutation(orders[o], a->n, a->start, a->node);
		sl_affinities_destroy(a);
	}
}

/* a star and a path: the extremes of width and depth; and tiny graphs */
static void test_odd_shapes(void **state)
{
	enum { N = 3000 };
	for (int shape = 0; shape < 2; shape++) {
		struct sl_graph_builder *b;
		struct sl_graph *g;
		assert_int_equal(sl_graph_builder_create(&b, SL_SYMMETRIC, false, 0, NULL), 0);
		for (uint32_t i = 1; i < N; i++)
			assert_int_equal(sl_graph_builder_add(b, i, shape ? i - 1 : 0, 1), 0);
		assert_int_equal(sl_graph_builder_finish(b, 0, &g, NULL), 0);
		struct sl_affinities *a = plain(g);
		for (int o = 0; o < ORDERS; o++)
			check_permutation(orders[o], a->n, a->start, a->node);
		sl_affinities_destroy(a);
	}
	const uint64_t none[2] = {0, 0}, pair[3] = {0, 1, 2};
	const uint32_t ends[2] = {1, 0};
	for (int o = 0; o < ORDERS; o++) {
		check_permutation(orders[o], 0, none, ends);
		check_permutation(orders[o], 1, none, ends);
		check_permutation(orders[o], 2, pair, ends);
	}
}

static double mean_distance(const struct sl_affinities *a)
{
	double sum = 0;
	for (uint32_t i = 0; i < a->n; i++)
		for (uint64_t e = a->start[i]; e < a->start[i + 1]; e++)
			sum += fabs((double)i - a->node[e]);
	return sum / (double)a->m;
}

/* A grid of 64 x 64 nodes in random order has a mean distance of n / 3; in a good order it is about a side. */
static void test_neighbours_come_close(void **state)
{
	enum { SIDE = 64, N = SIDE * SIDE };
	uint32_t shuffled[N];
	uint64_t seed = test_seed(11);
	struct sl_graph_builder *b;
	struct sl_graph *g;
	for (uint32_t i = 0; i < N; i++) {
		uint32_t j = (uint32_t)(test_random(&seed) % (i + 1));
		shuffled[i] = shuffled[j];
		shuffled[j] = i;
	}
	assert_int_equal(sl_graph_builder_create(&b, SL_SYMMETRIC, false, 0, NULL), 0);
	for (uint32_t y = 0; y < SIDE; y++)
		for (uint32_t x = 0; x < SIDE; x++) {
			uint32_t at = shuffled[y * SIDE + x];
			if (x + 1 < SIDE)
				assert_int_equal(sl_graph_builder_add(b, at, shuffled[y * SIDE + x + 1], 1), 0);
			if (y + 1 < SIDE)
				assert_int_equal(sl_graph_builder_add(b, at, shuffled[(y + 1) * SIDE + x], 1), 0);
		}
	assert_int_equal(sl_graph_builder_finish(b, 0, &g, NULL), 0);
	static const struct {
		enum sl_order order;
		double most;
	} expected[] = {{SL_ORDER_RCM, SIDE}, {SL_ORDER_BFS, 2 * SIDE}};
	for (int k = 0; k < 2; k++) {
		struct sl_affinities_params params = {.lambda = 1, .drop_leaf_edges = false, .order = expected[k].order};
		struct sl_affinities *a;
		assert_int_equal(sl_affinities_create(&a, g, &params, NULL), 0);
		assert_true(mean_distance(a) < expected[k].most);
		sl_affinities_destroy(a);
	}
	struct sl_affinities *a = plain(g);
	assert_true(mean_distance(a) > N / 4);
	sl_affinities_destroy(a);
}

/* A ring of n nodes, each connected to the next three, numbered with a stride that separates neighbours. */
static struct sl_graph *scattered_ring(uint32_t n)
{
	struct sl_graph_builder *b;
	struct sl_graph *g;
	const uint64_t stride = 24001;  /* a prime, no divisor of n */
	assert_int_equal(sl_graph_builder_create(&b, SL_SYMMETRIC, false, 0, NULL), 0);
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t k = 1; k <= 3; k++)
			assert_int_equal(sl_graph_builder_add(b, (uint32_t)(i * stride % n),
							      (uint32_t)((i + k) * stride % n), 1), 0);
	assert_int_equal(sl_graph_builder_finish(b, n, &g, NULL), 0);
	return g;
}

/* Large graphs are reordered automatically; P stays the same. */
static void test_auto(void **state)
{
	assert_int_equal(sl__order_choose(8000), SL_ORDER_NONE);
	assert_int_equal(sl__order_choose(1000000), SL_ORDER_RCM);
	struct sl_graph *g = scattered_ring(60000);
	struct sl_affinities_params params = {.lambda = 1, .drop_leaf_edges = false, .order = SL_ORDER_AUTO};
	struct sl_affinities *a, *b = plain(scattered_ring(60000));
	assert_int_equal(sl_affinities_create(&a, g, &params, NULL), 0);
	assert_true(mean_distance(b) > 1000);
	assert_true(mean_distance(a) < 20);
	assert_int_equal(a->m, b->m);
	assert_true(fabs(a->entropy - b->entropy) < 1e-9 * fabs(b->entropy));
	sl_graph_destroy(g);
	sl_affinities_destroy(a);
	sl_affinities_destroy(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_permutations),
		cmocka_unit_test(test_odd_shapes),
		cmocka_unit_test(test_neighbours_come_close),
		cmocka_unit_test(test_auto),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
