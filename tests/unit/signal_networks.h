/* signal_networks.h -- random graphs with rows of all kinds, for tests of signals on devices. */
#ifndef SL_TEST_SIGNAL_NETWORKS_H
#define SL_TEST_SIGNAL_NETWORKS_H

#include "tests/unit/seeds.h"
#include "tests/unit/signals.h"

#define NODES 2900
#define ALONE 70

/* Node 0 has more entries than one warp sums, some others more than one thread sums; the last nodes have none. */
static inline struct sl_coupling *random_coupling_of(uint64_t *seed, bool weighted, bool directed)
{
	static uint32_t edge[12 * NODES][2];
	static float weight[12 * NODES];
	size_t count = 0;
	uint32_t linked = NODES - ALONE;
	for (uint32_t i = 1; i < linked; i++) {
		int degree = i % 97 == 0 ? 40 + (int)(60 * test_uniform(seed)) : 1 + (int)(3 * test_uniform(seed));
		bool *there = calloc(NODES, 1);
		for (int k = 0; k < degree; k++) {
			uint32_t other = (uint32_t)(test_uniform(seed) * i);
			if (k == 0 && i % 7)
				other = 0;
			if (there[other] || count == 12 * NODES)
				continue;
			there[other] = true;
			edge[count][0] = i;
			edge[count][1] = other;
			weight[count++] = (float)(0.1 + test_uniform(seed));
		}
		free(there);
	}
	struct sl_graph *g = graph_of(NODES, (const uint32_t (*)[2])edge, weighted ? weight : NULL, count, false);
	struct sl_coupling *c;
	assert_int_equal(directed ? sl_coupling_of_directed(&c, g, true, NULL) : sl_coupling_of_graph(&c, g, NULL), 0);
	sl_graph_destroy(g);
	return c;
}

static inline struct sl_coupling *random_coupling(uint64_t *seed, bool weighted)
{
	return random_coupling_of(seed, weighted, false);
}

#endif
