/* graphs.h -- small graphs for tests, made through the builder from fixed seeds. */
#ifndef SL_TEST_GRAPHS_H
#define SL_TEST_GRAPHS_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/graph/graph.h"

/* xorshift64*; state != 0 */
static inline uint64_t test_random(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * 0x2545f4914f6cdd1dull;
}

static inline double test_uniform(uint64_t *state)
{
	return (double)(test_random(state) >> 11) * 0x1p-53;
}

/* Another one each time, printed: what a test claims holds for any. SPACELAND_TEST_SEED repeats one. */
static inline uint64_t fresh_seed(void)
{
	const char *given = getenv("SPACELAND_TEST_SEED");
	struct timespec t;
	clock_gettime(CLOCK_REALTIME, &t);
	uint64_t seed = given ? strtoull(given, NULL, 10) : (uint64_t)t.tv_nsec | 1;
	fprintf(stderr, "SPACELAND_TEST_SEED=%llu\n", (unsigned long long)seed);
	return seed;
}

/* SPACELAND_TEST_LIGHT: less of the same, for tools under which kernels take hundreds of times as long. */
static inline bool test_light(void)
{
	const char *given = getenv("SPACELAND_TEST_LIGHT");
	return given && *given;
}

static inline int test_iterations(int count) { return test_light() ? (count + 11) / 12 : count; }

/* Nodes in `parts` groups of neighbours on circles, with random weights and some chords; every
 * 17th node a leaf hanging from its predecessor, every 23rd isolated. */
static inline struct sl_graph *test_graph(uint32_t n, uint32_t parts, bool weighted, bool symmetric, uint64_t seed)
{
	struct sl_graph_builder *b = NULL;
	struct sl_graph *g = NULL;
	uint64_t state = seed * 2654435761u + 1;
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

#endif
