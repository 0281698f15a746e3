/* graphs.h -- small graphs for tests, made through the builder. */
#ifndef SL_TEST_GRAPHS_H
#define SL_TEST_GRAPHS_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/graph/graph.h"
#include "tests/unit/seeds.h"

static inline int test_iterations(int count) { return test_light() ? (count + 11) / 12 : count; }

/* Nodes in `parts` groups of neighbours on circles, with random weights and some chords; every
 * 17th node a leaf hanging from its predecessor, every 23rd isolated. */
static inline struct sl_graph *test_graph(uint32_t n, uint32_t parts, bool weighted, bool symmetric, uint64_t seed)
{
	struct sl_graph_builder *b = NULL;
	struct sl_graph *g = NULL;
	uint64_t state = test_seed(seed) * 2654435761u + 1;
	if (sl_graph_builder_create(&b, symmetric ? SL_SYMMETRIC : SL_GENERAL, weighted, 0, NULL))
		abort();
	uint32_t size = n / parts;
	for (uint32_t i = 0; i < n; i++) {
		if (i % 23 == 22)
			continue;
		uint32_t part = i / size, first = part * size, last = first + size < n ? first + size : n;
		int degree = i % 17 == 16 ? 1 : 2 + (int)(test_random(&state) % 9);
		for (int k = 0; k < degree; k++) {
			uint32_t j = i % 17 == 16 ? i - 1 : first + (uint32_t)(test_random(&state) % (last - first));
			float w = weighted ? (float)exp(6 * test_uniform(&state) - 3) : 1;
			if (j == i || j % 23 == 22 || (j % 17 == 16 && i % 17 != 16))
				continue;
			if (sl_graph_builder_add(b, j, i, w))
				abort();
		}
	}
	if (sl_graph_builder_finish(b, n, &g, NULL))
		abort();
	return g;
}

static inline struct sl_graph *test_path(uint32_t n)
{
	struct sl_graph_builder *b = NULL;
	struct sl_graph *g = NULL;
	if (sl_graph_builder_create(&b, SL_SYMMETRIC, false, 0, NULL))
		abort();
	for (uint32_t i = 0; i + 1 < n; i++)
		if (sl_graph_builder_add(b, i + 1, i, 1))
			abort();
	if (sl_graph_builder_finish(b, n, &g, NULL))
		abort();
	return g;
}

#endif
