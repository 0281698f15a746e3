/* The hybrid engines: attraction as exact as their precision allows, the same bytes of repulsion as the CUDA engine,
 * the same bytes for any number of threads, and graphs larger than the GPU's budget. Skipped without a GPU.
 * tests/unit/test_engine.c compares them with the references of every engine. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/embedding/embedding.h"
#include "core/engine/load.h"
#include "core/graph/affinities.h"
#include "core/graph/synthetic.h"
#include "core/params.h"
#include "core/random.h"
#include "tests/unit/graphs.h"
#include "tests/unit/references.h"

static const struct sl_engine *cuda, *hybrid[2];  /* single, double */

static int need_gpu(void **state)
{
	struct sl_error err;
	if (sl_engine_open("cuda", &cuda, &err)) {
		printf("skipped: %s\n", err.detail);
		return 0;
	}
	return sl_engine_open("hybrid", &hybrid[0], &err) || sl_engine_open("hybrid-double", &hybrid[1], &err);
}

#define NEED_GPU() do { if (!cuda) skip(); } while (0)

/* A graph on a device, and one embedding of it. */
struct rig {
	const struct sl_engine *engine;
	struct sl_graph *graph;
	struct sl_affinities *a;
	struct sl_device *device;
	uint64_t own;  /* memory of the empty device */
	struct sl_device_graph *resident;
	struct sl_device_embedding *e;
};

static void rig_graph(struct rig *r, const struct sl_engine *engine, uint32_t n)
{
	struct sl_affinities_params params = {.lambda = 10};
	*r = (struct rig){.engine = engine, .graph = test_graph(n, 6, true, false, 21)};
	assert_int_equal(sl_affinities_create(&r->a, r->graph, &params, NULL), 0);
}

static void rig_device(struct rig *r, int threads, uint64_t memory_bytes)
{
	struct sl_device_options options = {.threads = threads, .memory_bytes = memory_bytes};
	struct sl_device_info info;
	assert_int_equal(r->engine->open(&r->device, &options, NULL), 0);
	r->engine->info(r->device, &info);
	r->own = info.memory_used;
}

static void rig_open(struct rig *r, const struct sl_settings *s, int threads, const float *y)
{
	rig_device(r, threads, 0);
	assert_int_equal(r->engine->graph_put(r->device, r->a, &r->resident, NULL), 0);
	assert_int_equal(r->engine->embedding_create(r->resident, s, y, &r->e, NULL), 0);
}

static void rig_close(struct rig *r)
{
	struct sl_device_info info;
	if (r->e)
		r->engine->embedding_destroy(r->e);
	r->engine->graph_drop(r->resident);
	r->engine->plans_clear(r->device);
	r->engine->info(r->device, &info);
	assert_int_equal(info.memory_used, r->own);
	r->engine->close(r->device);
	sl_affinities_destroy(r->a);
	sl_graph_destroy(r->graph);
}

static float *layout(const struct rig *r, int dims, double spread)
{
	size_t floats = r->a->n * (size_t)dims;
	float *y = malloc(sizeof *y * floats);
	for (size_t i = 0; i < floats; i++)
		y[i] = (float)(spread * sl_random_normal(31, i));
	return y;
}

static void forces_are_those_of_their_precision(void **state)
{
	NEED_GPU();
	for (int dims = 1; dims <= 3; dims++) {
		const struct sl_engine *engines[3] = {cuda, hybrid[0], hybrid[1]};
		struct sl_settings s = {.dims = dims, .accuracy = SL_NORMAL, .repulsion = SL_REPULSION_GRID};
		float *repulsion[3];
		double z[3], error[3];
		size_t bytes = 0;
		for (int k = 0; k < 3; k++) {
			struct rig r;
			rig_graph(&r, engines[k], 5000);
			float *y = layout(&r, dims, 9);
			size_t floats = r.a->n * (size_t)dims;
			float *attraction = malloc(sizeof *attraction * floats);
			double *right = malloc(sizeof *right * floats);
			bytes = sizeof(float) * floats;
			repulsion[k] = malloc(bytes);
			rig_open(&r, &s, 0, y);
			assert_int_equal(r.engine->forces(r.e, attraction, repulsion[k], &z[k], NULL), 0);
			exact_attraction(r.a, y, dims, right);
			error[k] = relative_error(attraction, right, floats);
			rig_close(&r);
			free(y);
			free(attraction);
			free(right);
		}
		assert_memory_equal(repulsion[0], repulsion[1], bytes);
		assert_memory_equal(repulsion[0], repulsion[2], bytes);
		assert_true(z[0] == z[1] && z[0] == z[2]);
		/* in doubles only the result is rounded: by at most 2^-24, on average about 2^-25 */
		if (!(error[1] < 5e-7) || !(error[2] < 4e-8))
			fail_msg("%d-D: attraction off by %g, in doubles %g", dims, error[1], error[2]);
		for (int k = 0; k < 3; k++)
			free(repulsion[k]);
	}
}

/* The layout after some iterations, in pieces of `piece`. */
static float *run(const struct sl_engine *engine, const struct sl_settings *s, int threads, int iterations, int piece)
{
	struct rig r;
	rig_graph(&r, engine, 9500);
	float *y = layout(&r, s->dims, 1e-4);
	struct sl_step step = {.exaggeration = 4, .learning_rate = s->optimizer == SL_ADAM ? 0.5f : 700, .momentum = 0.8f};
	rig_open(&r, s, threads, y);
	for (int done = 0; done < iterations; done += piece)
		assert_int_equal(engine->run(r.e, &step, piece < iterations - done ? piece : iterations - done, NULL), 0);
	assert_int_equal(engine->snapshot(r.e, y, NULL), 0);
	rig_close(&r);
	return y;
}

/* The layout outgrows several grids: iterations queued behind do nothing, also on the host. */
static void same_bytes_however_it_is_run(void **state)
{
	NEED_GPU();
	for (int kind = 0; kind < 6; kind++) {
		struct sl_settings s = {
			.dims = 1 + kind % 3, .accuracy = SL_DRAFT, .optimizer = kind == 4 ? SL_ADAM : SL_MOMENTUM,
			.repulsion = kind == 5 ? SL_REPULSION_EXACT : SL_REPULSION_GRID,
		};
		const struct sl_engine *engine = hybrid[kind & 1];
		float *first = run(engine, &s, 1, 90, 90), *threads = run(engine, &s, 5, 90, 90),
		      *pieces = run(engine, &s, 3, 90, 1);
		size_t bytes = sizeof *first * 8000 * (size_t)s.dims;  /* of about 9,000 nodes */
		assert_memory_equal(first, threads, bytes);
		assert_memory_equal(first, pieces, bytes);
		free(first);
		free(threads);
		free(pieces);
	}
}

static void first_iterations_are_those_of_the_cuda_engine(void **state)
{
	NEED_GPU();
	for (int dims = 1; dims <= 3; dims++) {
		struct sl_settings s = {.dims = dims, .accuracy = SL_NORMAL, .repulsion = SL_REPULSION_GRID};
		float *there = run(cuda, &s, 0, 5, 5);  /* errors grow fast, and the CUDA engine's entries of P have 18 bits */
		size_t floats = 8000 * (size_t)dims;
		double *right = malloc(sizeof *right * floats);
		for (size_t i = 0; i < floats; i++)
			right[i] = (double)there[i];
		for (int k = 0; k < 2; k++) {
			float *here = run(hybrid[k], &s, 0, 5, 5);
			double error = relative_error(here, right, floats);
			if (!(error < 5e-3))
				fail_msg("%d-D, %s: layouts differ by %g", dims, hybrid[k]->name, error);
			free(here);
		}
		free(there);
		free(right);
	}
}

static double whole_run(const struct sl_engine *engine, int dims)
{
	struct rig r;
	struct sl_params p;
	struct sl_embedding *e;
	struct sl_status status = {0};
	sl_params_preset(&p, SL_PRESET_DEFAULT);
	p.dims = dims;
	p.repulsion = SL_REPULSION_GRID;
	p.iterations = 600;
	rig_graph(&r, engine, 6000);
	rig_device(&r, 0, 0);
	assert_int_equal(engine->graph_put(r.device, r.a, &r.resident, NULL), 0);
	assert_int_equal(sl_embedding_create(&e, engine, r.resident, r.a, &p, NULL, NULL), 0);
	while (!status.done)
		assert_int_equal(sl_embedding_advance(e, 10, &status, NULL), 0);
	sl_embedding_destroy(e);
	rig_close(&r);
	return status.measure;
}

static void divergence_is_that_of_the_cuda_engine(void **state)
{
	NEED_GPU();
	for (int dims = 2; dims <= 3; dims++) {
		double there = whole_run(cuda, dims);
		for (int k = 0; k < 2; k++)
			assert_true(fabs(whole_run(hybrid[k], dims) / there - 1) < 0.005);
	}
}

/* Two embeddings of one graph take turns and do not disturb each other. */
static void embeddings_are_independent(void **state)
{
	NEED_GPU();
	struct rig r;
	struct sl_settings s = {.dims = 3, .accuracy = SL_DRAFT, .repulsion = SL_REPULSION_GRID};
	struct sl_step step = {.exaggeration = 4, .learning_rate = 700, .momentum = 0.8f};
	struct sl_device_embedding *other;
	float *alone = run(hybrid[0], &s, 0, 20, 20);
	rig_graph(&r, hybrid[0], 9500);
	float *y = layout(&r, 3, 1e-4);
	rig_open(&r, &s, 0, y);
	s.dims = 2;
	assert_int_equal(r.engine->embedding_create(r.resident, &s, y, &other, NULL), 0);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(r.engine->run(r.e, &step, 5, NULL), 0);
		assert_int_equal(r.engine->run(other, &step, 3, NULL), 0);
	}
	assert_int_equal(r.engine->snapshot(r.e, y, NULL), 0);
	assert_memory_equal(y, alone, sizeof *y * 8000 * 3);
	r.engine->embedding_destroy(other);
	rig_close(&r);
	free(y);
	free(alone);
}

static void a_graph_larger_than_the_budget(void **state)
{
	NEED_GPU();
	struct rig r;
	struct sl_settings s = {.dims = 2, .accuracy = SL_DRAFT, .repulsion = SL_REPULSION_GRID};
	struct sl_step step = {.exaggeration = 4, .learning_rate = 700, .momentum = 0.8f};
	struct sl_affinities_params params = {.lambda = 1};
	struct sl_error err;
	memset(&r, 0, sizeof r);
	r.engine = hybrid[0];
	assert_int_equal(sl_synthetic_graph(&r.graph, 60000, 100, 7, NULL), 0);
	assert_int_equal(sl_affinities_create(&r.a, r.graph, &params, NULL), 0);
	float *y = layout(&r, 2, 1e-4);
	struct sl_device_options options = {.memory_bytes = 4 * r.a->m};  /* P's entries alone, on the GPU */
	assert_int_equal(cuda->open(&r.device, &options, NULL), 0);
	assert_int_equal(cuda->graph_put(r.device, r.a, &r.resident, &err), SL_DEVMEM);
	cuda->close(r.device);
	/* more than the embedding and its grids need */
	rig_device(&r, 0, options.memory_bytes);
	assert_int_equal(r.engine->graph_put(r.device, r.a, &r.resident, NULL), 0);
	assert_int_equal(r.engine->embedding_create(r.resident, &s, y, &r.e, NULL), 0);
	assert_int_equal(r.engine->run(r.e, &step, 10, NULL), 0);
	rig_close(&r);
	free(y);
}

static void what_it_says_of_itself(void **state)
{
	NEED_GPU();
	for (int k = 0; k < 2; k++) {
		struct sl_device *device;
		struct sl_device_info info;
		struct sl_device_options options = {.threads = 3};
		assert_string_equal(hybrid[k]->name, k ? "hybrid-double" : "hybrid");
		assert_int_equal(hybrid[k]->open(&device, &options, NULL), 0);
		hybrid[k]->info(device, &info);
		assert_string_equal(info.kind, "hybrid");
		assert_non_null(strstr(info.name, "3 CPU threads"));
		assert_int_equal(strstr(info.name, "double precision") != NULL, k);
		hybrid[k]->close(device);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_it_says_of_itself),
		cmocka_unit_test(forces_are_those_of_their_precision),
		cmocka_unit_test(same_bytes_however_it_is_run),
		cmocka_unit_test(first_iterations_are_those_of_the_cuda_engine),
		cmocka_unit_test(divergence_is_that_of_the_cuda_engine),
		cmocka_unit_test(embeddings_are_independent),
		cmocka_unit_test(a_graph_larger_than_the_budget),
	};
	return cmocka_run_group_tests(tests, need_gpu, NULL);
}
