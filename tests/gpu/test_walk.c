/* The random walk of the CUDA engine against the host's, on graphs that are new in each run; spectral layouts by both.
 * Skipped without a GPU. With the arguments "bench [NODES]" it prints the time of a spectral start. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/engine/load.h"
#include "core/graph/affinities.h"
#include "core/graph/synthetic.h"
#include "core/init/init.h"
#include "core/params.h"
#include "tests/gpu/need_gpu.h"
#include "tests/unit/graphs.h"

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

struct rig {
	struct sl_graph *graph;
	struct sl_affinities *a;
	struct sl_device *device;
	struct sl_device_graph *resident;
	struct sl_walk host;
};

static void rig_open(struct rig *r, struct sl_graph *graph)
{
	struct sl_error err;
	r->graph = graph;
	if (sl_affinities_create(&r->a, graph, &(struct sl_affinities_params){.lambda = 5}, &err) ||
	    cuda->open(&r->device, NULL, &err) || cuda->graph_put(r->device, r->a, &r->resident, &err) ||
	    sl_walk_host(&r->host, r->a, &err))
		fail_msg("%s", err.detail);
}

static void rig_close(struct rig *r)
{
	r->host.destroy(r->host.context);
	cuda->graph_drop(r->resident);
	cuda->close(r->device);
	sl_affinities_destroy(r->a);
	sl_graph_destroy(r->graph);
}

static void products_agree(void **state)
{
	NEED_GPU();
	uint64_t seed = fresh_seed();
	for (int round = 0; round < (test_light() ? 3 : 6); round++) {
		struct rig r;
		rig_open(&r, test_graph(2000 + 3000 * (uint32_t)round, 5, true, round % 2, seed + (uint64_t)round));
		size_t n = r.a->n, count = n * 8;
		float *x[2], *before[2], *slope = malloc(n * sizeof *slope), *shift = malloc(n * sizeof *shift);
		float *mass[2] = {malloc(n * sizeof(float)), malloc(n * sizeof(float))};
		for (int w = 0; w < 2; w++) {
			x[w] = aligned_alloc(64, (count * sizeof(float) + 63) / 64 * 64);
			before[w] = aligned_alloc(64, (count * sizeof(float) + 63) / 64 * 64);
		}
		for (size_t i = 0; i < count; i++) {
			x[0][i] = x[1][i] = (float)(test_uniform(&seed) - 0.5);
			before[0][i] = before[1][i] = (float)(test_uniform(&seed) - 0.5);
		}
		for (size_t i = 0; i < n; i++) {
			slope[i] = (float)(1 + 0.2 * test_uniform(&seed));
			shift[i] = (float)(0.2 * test_uniform(&seed) - 0.1);
		}
		assert_int_equal(r.host.mass(r.host.context, mass[0], NULL), 0);
		assert_int_equal(cuda->walk_mass(r.resident, mass[1], NULL), 0);
		for (size_t i = 0; i < n; i++)
			assert_true(fabsf(mass[0][i] - mass[1][i]) <= 1e-5f * mass[0][i]);
		/* one product; a filter from its start; one that goes on */
		static const int k[] = {0, 0, 9}, steps[] = {1, 9, 4};
		for (int part = 0; part < 3; part++) {
			const float *a = part ? slope : NULL, *b = part ? shift : NULL;
			assert_int_equal(r.host.filter(r.host.context, k[part], steps[part], a, b, &before[0], &x[0], NULL), 0);
			assert_int_equal(cuda->walk_filter(r.resident, k[part], steps[part], a, b, &before[1], &x[1], NULL), 0);
			double wrong = 0, all = 0;
			for (size_t i = 0; i < count; i++) {
				wrong += (double)(x[0][i] - x[1][i]) * (double)(x[0][i] - x[1][i]) +
					 (double)(before[0][i] - before[1][i]) * (double)(before[0][i] - before[1][i]);
				all += (double)x[0][i] * (double)x[0][i] + (double)before[0][i] * (double)before[0][i];
			}
			assert_true(wrong < 1e-9 * all);
		}
		for (int w = 0; w < 2; w++) {
			free(x[w]);
			free(before[w]);
			free(mass[w]);
		}
		free(slope);
		free(shift);
		rig_close(&r);
	}
}

static void components_agree(void **state)
{
	NEED_GPU();
	uint64_t seed = fresh_seed();
	for (int round = 0; round < 8; round++) {
		struct rig r;
		uint32_t n = 500 + (uint32_t)(test_uniform(&seed) * 60000), parts = 1 + (uint32_t)round * 40;
		rig_open(&r, test_graph(n, parts < n / 20 ? parts : n / 20, false, true, seed));
		uint32_t *label[2] = {malloc(sizeof(uint32_t) * r.a->n), malloc(sizeof(uint32_t) * r.a->n)};
		assert_int_equal(r.host.components(r.host.context, label[0], NULL), 0);
		for (int again = 0; again < 3; again++) {
			memset(label[1], 255, sizeof(uint32_t) * r.a->n);
			assert_int_equal(cuda->walk_components(r.resident, label[1], NULL), 0);
			assert_memory_equal(label[0], label[1], sizeof(uint32_t) * r.a->n);
		}
		free(label[0]);
		free(label[1]);
		rig_close(&r);
	}
}

static void found(struct sl_spectral *s, double *eigenvalue, int *rounds, uint32_t *components)
{
	bool done = false;
	while (!done)
		assert_int_equal(sl_spectral_advance(s, 10, &done, NULL), 0);
	sl_spectral_found(s, 3, eigenvalue, rounds, components);
	sl_spectral_destroy(s);
}

static void spectral_layouts_agree(void **state)
{
	NEED_GPU();
	struct rig r;
	rig_open(&r, test_graph(9000, 7, true, false, fresh_seed()));
	struct sl_params params;
	struct sl_spectral *s;
	double value[2][3];
	int rounds[2];
	uint32_t components[2];
	sl_params_preset(&params, SL_PRESET_DEFAULT);
	params.dims = 3;
	assert_int_equal(sl_init_spectral(&s, cuda, r.resident, r.a, &params, NULL), 0);
	found(s, value[0], &rounds[0], &components[0]);
	assert_int_equal(sl_init_spectral(&s, sl_engine_cpu(), NULL, r.a, &params, NULL), 0);
	found(s, value[1], &rounds[1], &components[1]);
	assert_int_equal(components[0], components[1]);
	for (int k = 0; k < 3; k++) {  /* if both have converged, and floats can distinguish them from 1 */
		printf("eigenvalue %.7f on the GPU, after %d rounds, %.7f on the CPU, %d\n", value[0][k], rounds[0],
		       value[1][k], rounds[1]);
		assert_true(fabs(value[0][k] - value[1][k]) < 5e-3 * (1 - value[1][k]) + 3e-6);
	}
	rig_close(&r);
}

/* ---- speed ------------------------------------------------------------------------- */

static int bench(uint32_t n)
{
	struct rig r;
	struct sl_graph *g;
	struct sl_error err;
	if (!cuda || sl_synthetic_graph(&g, n, 90, 1, &err))
		return 1;
	rig_open(&r, g);
	printf("%u nodes, %llu entries\n", r.a->n, (unsigned long long)r.a->m);
	struct sl_params params;
	sl_params_preset(&params, SL_PRESET_DEFAULT);
	float *y = malloc(sizeof *y * r.a->n * 2);
	for (int again = 0; again < 3; again++) {
		struct sl_spectral *s;
		double began = now(), value[3];
		int rounds;
		uint32_t components;
		bool done = false;
		if (sl_init_spectral(&s, cuda, r.resident, r.a, &params, &err))
			return 1;
		double created = now();
		while (!done && !sl_spectral_advance(s, 1e9, &done, &err))
			;
		double filtered = now();
		sl_spectral_found(s, 2, value, &rounds, &components);
		sl_init_spectral_layout(s, &params, r.a, y, &err);
		sl_spectral_destroy(s);
		printf("create %.3f s, %d rounds %.3f s, layout %.3f s, in all %.3f s; %u components, eigenvalues %.6f %.6f\n",
		       created - began, rounds, filtered - created, now() - filtered, now() - began, components, value[0],
		       value[1]);
	}
	float *x = aligned_alloc(64, (size_t)r.a->n * 32 + 64), *before = aligned_alloc(64, (size_t)r.a->n * 32 + 64);
	memset(x, 0, (size_t)r.a->n * 32);
	for (int steps = 1; steps <= 101; steps += 50) {
		double began = now();
		cuda->walk_filter(r.resident, 0, steps, NULL, NULL, &before, &x, &err);
		printf("%d steps %.2f ms\n", steps, 1e3 * (now() - began));
	}
	free(x);
	free(before);
	free(y);
	rig_close(&r);
	return 0;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(products_agree),
		cmocka_unit_test(components_agree),
		cmocka_unit_test(spectral_layouts_agree),
	};
	if (argc > 1 && !strcmp(argv[1], "bench")) {
		need_gpu(NULL);
		return bench(argc > 2 ? (uint32_t)atoi(argv[2]) : 1300000);
	}
	return cmocka_run_group_tests(tests, need_gpu, NULL);
}
