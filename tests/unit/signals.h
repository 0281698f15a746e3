/* signals.h -- graphs and runs for the tests of signals. */
#ifndef SL_TEST_SIGNALS_H
#define SL_TEST_SIGNALS_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/graph/graph.h"
#include "core/random.h"
#include "core/signal/coupling.h"
#include "core/signal/signal.h"

static inline struct sl_graph *graph_of(uint32_t n, const uint32_t (*edge)[2], const float *weight, size_t count,
		bool symmetric)
{
	struct sl_graph_builder *b;
	struct sl_graph *g;
	assert_int_equal(sl_graph_builder_create(&b, symmetric ? SL_SYMMETRIC : SL_GENERAL, weight, count, NULL), 0);
	for (size_t e = 0; e < count; e++)
		assert_int_equal(sl_graph_builder_add(b, edge[e][0], edge[e][1], weight ? weight[e] : 1), 0);
	assert_int_equal(sl_graph_builder_finish(b, n, &g, NULL), 0);
	return g;
}

#define SOME 300

/* A directed graph with weights, hubs and nodes without edges; its dense weights, of both directions the larger one. */
static inline struct sl_graph *some_graph(uint64_t seed, bool weighted, double (*dense)[SOME])
{
	static uint32_t edge[SOME * 6][2];
	static float weight[SOME * 6];
	memset(dense, 0, sizeof *dense * SOME);
	size_t count = 0;
	for (uint32_t k = 0; k < SOME * 6; k++) {
		double x = sl_random_uniform(seed, 3 * k), y = sl_random_uniform(seed, 3 * k + 1);
		uint32_t i = (uint32_t)(x * x * x * (SOME - 20)), j = (uint32_t)(y * (SOME - 20));
		bool there = i == j;
		for (size_t e = 0; e < count; e++)
			there = there || (edge[e][0] == i && edge[e][1] == j);
		if (there)
			continue;
		edge[count][0] = i;
		edge[count][1] = j;
		weight[count] = weighted ? (float)(0.1 + sl_random_uniform(seed, 3 * k + 2)) : 1;
		double w = (double)weight[count++];
		dense[i][j] = dense[j][i] = fmax(w, dense[i][j]);
	}
	return graph_of(SOME, (const uint32_t (*)[2])edge, weighted ? weight : NULL, count, false);
}

/* A line of n nodes, or a ring. */
static inline struct sl_coupling *line(uint32_t n, bool ring)
{
	uint32_t (*edge)[2] = malloc(sizeof *edge * n);
	for (uint32_t i = 0; i < n; i++) {
		edge[i][0] = (i + 1) % n;
		edge[i][1] = i;
	}
	struct sl_graph *g = graph_of(n, (const uint32_t (*)[2])edge, NULL, ring ? n : n - 1, true);
	struct sl_coupling *c;
	assert_int_equal(sl_coupling_of_graph(&c, g, NULL), 0);
	sl_graph_destroy(g);
	free(edge);
	return c;
}

static inline struct sl_signal *signal_of(struct sl_coupling *c, const struct sl_signal_params *p, const float *initial)
{
	struct sl_signal *s = NULL;
	struct sl_error err;
	int code = sl_signal_create(&s, c, p, initial, (uint32_t)sl_signal_fields(p), &err);
	if (code)
		fail_msg("%s", err.detail);
	return s;
}

static inline struct sl_signal_status to_the_end(struct sl_signal *s)
{
	struct sl_signal_status status;
	struct sl_error err;
	bool whole;
	do
		if (sl_signal_advance(s, 1000, &whole, &status, &err))
			fail_msg("%s", err.detail);
	while (!status.done);
	return status;
}

/* A run from its start to its end; destroys the coupling, too. */
static inline struct sl_signal_status run_signal(struct sl_coupling *c, const struct sl_signal_params *p,
		const float *initial,
						 double *values)
{
	struct sl_signal *s = signal_of(c, p, initial);
	struct sl_signal_status status = to_the_end(s);
	if (values)
		sl_signal_values_exact(s, values);
	sl_signal_destroy(s);
	return status;
}

#endif
