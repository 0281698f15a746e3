/* Attraction on the GPU with the kernels that the engine chooses: long rows against the CPU, many nodes against sums in
 * double precision. test_rows.c tests the kernels by themselves. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core/graph/affinities.h"
#include "core/graph/synthetic.h"
#include "core/params.h"
#include "core/random.h"
#include "tests/gpu/need_gpu.h"

/* A hub of 5,000 edges is a long row; its force must be that of the CPU engine. */
static void long_rows_are_right(void **state)
{
	NEED_GPU();
	struct sl_graph_builder *b = NULL;
	struct sl_graph *graph;
	struct sl_affinities *a;
	struct sl_affinities_params params = {.lambda = 1};
	assert_int_equal(sl_graph_builder_create(&b, SL_SYMMETRIC, false, 0, NULL), 0);
	for (uint32_t i = 1; i < 5000; i++) {
		assert_int_equal(sl_graph_builder_add(b, i, 0, 1), 0);
		assert_int_equal(sl_graph_builder_add(b, i, 1 + i * 7 % 4999, 1), 0);
	}
	assert_int_equal(sl_graph_builder_finish(b, 0, &graph, NULL), 0);
	assert_int_equal(sl_affinities_create(&a, graph, &params, NULL), 0);
	const struct sl_engine *engines[2] = {cuda, sl_engine_cpu()};
	size_t n = a->n;
	for (int dims = 1; dims <= 3; dims++) {
		size_t floats = n * (size_t)dims;
		float *y = malloc(sizeof *y * floats), *force[2];
		for (size_t i = 0; i < floats; i++)
			y[i] = (float)(5 * sl_random_normal(2, i));
		for (int k = 0; k < 2; k++) {
			struct sl_settings s = {.dims = dims, .accuracy = SL_DRAFT, .repulsion = SL_REPULSION_EXACT};
			struct sl_device *device;
			struct sl_device_graph *resident;
			struct sl_device_embedding *e;
			force[k] = malloc(sizeof *y * floats);
			assert_int_equal(engines[k]->open(&device, NULL, NULL), 0);
			assert_int_equal(engines[k]->graph_put(device, a, &resident, NULL), 0);
			assert_int_equal(engines[k]->embedding_create(resident, &s, y, &e, NULL), 0);
			assert_int_equal(engines[k]->forces(e, force[k], NULL, NULL, NULL), 0);
			engines[k]->embedding_destroy(e);
			engines[k]->graph_drop(resident);
			engines[k]->close(device);
		}
		double error = 0, size = 0;
		for (size_t i = 0; i < floats; i++) {
			error += pow((double)force[0][i] - (double)force[1][i], 2);
			size += pow((double)force[1][i], 2);
		}
		assert_true(sqrt(error / size) < 1e-5);
		free(y);
		free(force[0]);
		free(force[1]);
	}
	sl_affinities_destroy(a);
	sl_graph_destroy(graph);
}

/* Relative error of the attraction against sums in double precision. */
static double attraction_error(const struct sl_affinities *a, const struct sl_settings *s)
{
	struct sl_device *device;
	struct sl_device_graph *graph;
	struct sl_device_embedding *e;
	size_t dims = (size_t)s->dims, floats = a->n * dims;
	float *y = malloc(sizeof *y * floats), *force = malloc(sizeof *y * floats);
	double error = 0, size = 0;
#pragma omp parallel for
	for (size_t i = 0; i < floats; i++)  /* nodes of similar number are mostly near, as in a layout in good order */
		y[i] = (float)(80 * cos(40.0 * (double)(i / dims) / a->n + 2 * (double)(i % dims)) +
			       3 * sl_random_normal(2, i));
	assert_int_equal(cuda->open(&device, NULL, NULL), 0);
	assert_int_equal(cuda->graph_put(device, a, &graph, NULL), 0);
	assert_int_equal(cuda->embedding_create(graph, s, y, &e, NULL), 0);
	assert_int_equal(cuda->forces(e, force, NULL, NULL, NULL), 0);
#pragma omp parallel for reduction(+ : error, size)
	for (uint32_t i = 0; i < a->n; i++) {
		double right[3] = {0, 0, 0}, diff[3];
		for (uint64_t at = a->start[i]; at < a->start[i + 1]; at++) {
			double r2 = 1;
			for (size_t k = 0; k < dims; k++) {
				diff[k] = (double)y[i * dims + k] - (double)y[a->node[at] * dims + k];
				r2 += diff[k] * diff[k];
			}
			for (size_t k = 0; k < dims; k++)
				right[k] += (double)a->p[at] / r2 * diff[k];
		}
		for (size_t k = 0; k < dims; k++) {
			error += pow((double)force[i * dims + k] - right[k], 2);
			size += right[k] * right[k];
		}
	}
	cuda->embedding_destroy(e);
	cuda->graph_drop(graph);
	cuda->close(device);
	free(y);
	free(force);
	return sqrt(error / size);
}

/* The engine's choices: rounded positions, weights of the bits that a node's number leaves. test_rows.c tests the
 * kernels alone. */
static void attraction_of_many_nodes_is_right(void **state)
{
	NEED_GPU();
	static const struct {
		uint32_t n;
		int dims, accuracy;
		double limit;
	} cases[] = {
		{40000, 2, SL_DRAFT, 2e-3},
		{40000, 2, SL_NORMAL, 2e-3},
		{40000, 3, SL_DRAFT, 5e-5},
		{250000, 2, SL_FINE, 6e-5},
	};
	for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
		struct sl_affinities_params params = {.lambda = 1};
		struct sl_settings s = {.dims = cases[c].dims, .accuracy = cases[c].accuracy, .repulsion = SL_REPULSION_GRID};
		struct sl_graph *graph;
		struct sl_affinities *a;
		assert_int_equal(sl_synthetic_graph(&graph, cases[c].n, 20, 5 + c, NULL), 0);
		assert_int_equal(sl_affinities_create(&a, graph, &params, NULL), 0);
		double error = attraction_error(a, &s);
		printf("%u nodes, %d-D, accuracy %d: attraction off by %.1e\n", a->n, s.dims, s.accuracy, error);
		assert_true(error < cases[c].limit);
		sl_affinities_destroy(a);
		sl_graph_destroy(graph);
	}
}

/* P of a ring, made in the fastest way. */
static struct sl_affinities *ring(uint32_t n)
{
	struct sl_affinities *a = calloc(1, sizeof *a);
	a->n = a->n_user = n;
	a->m = 2ull * n;
	a->start = malloc(sizeof *a->start * (n + 1ull));
	a->node = malloc(sizeof *a->node * a->m);
	a->p = malloc(sizeof *a->p * a->m);
#pragma omp parallel for
	for (uint32_t i = 0; i < n; i++) {
		uint32_t before = i ? i - 1 : n - 1, after = i + 1 < n ? i + 1 : 0;
		bool ascending = before < after;
		a->start[i] = 2ull * i;
		a->node[2ull * i + !ascending] = before;
		a->node[2ull * i + ascending] = after;
		a->p[2ull * i + !ascending] = (float)((0.5 + sl_random_uniform(6, before)) / (double)a->m);
		a->p[2ull * i + ascending] = (float)((0.5 + sl_random_uniform(6, i)) / (double)a->m);
	}
	a->start[n] = a->m;
	return a;
}

/* If a node's number leaves too few bits, weights are full floats. */
static void attraction_of_16_million_nodes_is_right(void **state)
{
	NEED_GPU();
	struct sl_settings s = {.dims = 2, .accuracy = SL_FINE, .repulsion = SL_REPULSION_GRID};
	struct sl_affinities *a = ring(16800000);
	double error = attraction_error(a, &s);
	printf("%u nodes: attraction off by %.1e\n", a->n, error);
	assert_true(error < 1e-6);
	sl_affinities_destroy(a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(long_rows_are_right),
		cmocka_unit_test(attraction_of_many_nodes_is_right),
		cmocka_unit_test(attraction_of_16_million_nodes_is_right),
	};
	return cmocka_run_group_tests(tests, need_gpu, NULL);
}
