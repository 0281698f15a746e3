/* affinities.h -- affinities of a random graph, for tests. After cmocka.h. */
#ifndef SL_TEST_AFFINITIES_H
#define SL_TEST_AFFINITIES_H

#include "core/graph/affinities.h"
#include "tests/unit/graphs.h"

static inline struct sl_affinities *test_affinities(uint32_t n)
{
	struct sl_affinities_params params = {.lambda = 4, .drop_leaf_edges = false, .order = SL_ORDER_AUTO};
	struct sl_affinities *a;
	struct sl_graph *g = test_graph(n, 3, true, false, 21);
	assert_int_equal(sl_affinities_create(&a, g, &params, NULL), 0);
	sl_graph_destroy(g);
	return a;
}

#endif
