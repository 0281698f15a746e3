/* engines.h -- an engine with a graph, for tests: the CPU engine, or the one that SPACELAND_ENGINE names. */
#ifndef SL_TEST_ENGINES_H
#define SL_TEST_ENGINES_H

#include <stdio.h>

#include "core/embedding/embedding.h"
#include "core/engine/load.h"
#include "core/graph/affinities.h"
#include "core/random.h"
#include "tests/unit/graphs.h"

struct bench {
	const struct sl_engine *engine;
	struct sl_graph *graph;
	struct sl_affinities *a;
	struct sl_device *device;
	struct sl_device_graph *resident;
};

static inline const struct sl_engine *test_engine(void)
{
	const char *name = getenv("SPACELAND_ENGINE");
	const struct sl_engine *engine = NULL;
	struct sl_error err;
	if (sl_engine_open(name && *name ? name : "cpu", &engine, &err)) {
		fprintf(stderr, "%s\n", err.detail);
		abort();
	}
	return engine;
}

static inline void bench_open(struct bench *b, struct sl_graph *graph, int threads)
{
	struct sl_affinities_params params = {.lambda = 10};
	struct sl_device_options options = {.threads = threads};
	struct sl_error err;
	b->engine = test_engine();
	b->graph = graph;
	if (sl_affinities_create(&b->a, graph, &params, &err) || b->engine->open(&b->device, &options, &err) ||
	    b->engine->graph_put(b->device, b->a, &b->resident, &err))
		abort();
}

static inline void bench_close(struct bench *b)
{
	b->engine->graph_drop(b->resident);
	b->engine->close(b->device);
	sl_affinities_destroy(b->a);
	sl_graph_destroy(b->graph);
}

/* Gaussian clusters of the given spread, centres in a box of the given side. */
static inline float *test_layout(uint32_t n, int dims, double side, double spread, uint64_t seed)
{
	float *y = malloc(sizeof *y * n * (size_t)dims);
	seed = test_seed(seed);
	for (uint32_t i = 0; y && i < n; i++)
		for (int k = 0; k < dims; k++) {
			uint64_t centre = sl_random_bits(seed, i) % 24 * 3 + (uint64_t)k;
			y[i * (size_t)dims + (size_t)k] =
				(float)(side * sl_random_uniform(seed + 1, centre) +
					spread * sl_random_normal(seed + 2, (uint64_t)i * 3 + (uint64_t)k));
		}
	return y;
}

#endif
