/* Extreme input for the engines on a GPU: too many nodes, two nodes, the smallest grids, layouts without size and huge
 * ones, too little memory. Each is computed right or refused with a reason, and leaves no memory allocated. Skipped
 * without a GPU. An argument is a pattern of tests to run. */
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/engine/load.h"
#include "core/graph/affinities.h"
#include "core/neighbours/neighbours.h"
#include "core/params.h"
#include "core/random.h"
#include "tests/gpu/need_gpu.h"
#include "tests/unit/graphs.h"

struct rig {
	struct sl_graph *graph;
	struct sl_affinities *a;
	struct sl_device *device;
	uint64_t own;  /* memory of the empty device */
	struct sl_device_graph *resident;
};

/* Takes graph. */
static void rig_open(struct rig *r, struct sl_graph *graph, double lambda, uint64_t memory_bytes)
{
	struct sl_affinities_params params = {.lambda = lambda};
	struct sl_device_options options = {.memory_bytes = memory_bytes};
	struct sl_device_info info;
	struct sl_error err;
	r->graph = graph;
	if (sl_affinities_create(&r->a, graph, &params, &err) || cuda->open(&r->device, &options, &err))
		fail_msg("%s", err.detail);
	cuda->info(r->device, &info);
	r->own = info.memory_used;
	if (cuda->graph_put(r->device, r->a, &r->resident, &err))
		fail_msg("%s", err.detail);
}

static void rig_close(struct rig *r)
{
	struct sl_device_info info;
	cuda->graph_drop(r->resident);
	cuda->plans_clear(r->device);
	cuda->info(r->device, &info);
	assert_int_equal(info.memory_used, r->own);
	cuda->close(r->device);
	sl_affinities_destroy(r->a);
	sl_graph_destroy(r->graph);
}

static struct sl_device_embedding *embed(const struct rig *r, const struct sl_settings *s, const float *y)
{
	struct sl_device_embedding *e;
	struct sl_error err;
	if (cuda->embedding_create(r->resident, s, y, &e, &err))
		fail_msg("%s", err.detail);
	return e;
}

/* A complete graph. */
static struct sl_graph *complete(uint32_t n)
{
	struct sl_graph_builder *b = NULL;
	struct sl_graph *g = NULL;
	assert_int_equal(sl_graph_builder_create(&b, SL_SYMMETRIC, false, 0, NULL), 0);
	for (uint32_t i = 1; i < n; i++)
		for (uint32_t j = 0; j < i; j++)
			assert_int_equal(sl_graph_builder_add(b, i, j, 1), 0);
	assert_int_equal(sl_graph_builder_finish(b, n, &g, NULL), 0);
	return g;
}

static float *layout(uint32_t n, int dims, double spread, uint64_t seed)
{
	float *y = malloc(sizeof *y * n * (size_t)dims);
	for (size_t i = 0; i < n * (size_t)dims; i++)
		y[i] = (float)(spread * sl_random_normal(seed, i));
	return y;
}

/* ---- nodes --------------------------------------------------------------------------- */

static void too_many_nodes_are_refused(void **state)
{
	NEED_GPU();
	static const char *const names[] = {"cuda", "hybrid", "hybrid-double"};
	struct sl_affinities a = {.n = 0xfffffff0u, .n_user = 0xfffffff0u, .m = 1ull << 33};  /* refused unread */
	struct sl_neighbours nb = {.n = 60000000, .k = 90, .n_user = 60000000};
	for (int i = 0; i < 3; i++) {
		const struct sl_engine *engine;
		struct sl_device *device;
		struct sl_device_graph *g;
		struct sl_device_neighbours *resident;
		struct sl_error err;
		assert_int_equal(sl_engine_open(names[i], &engine, &err), 0);
		assert_int_equal(engine->open(&device, NULL, &err), 0);
		assert_int_equal(engine->graph_put(device, &a, &g, &err), SL_TOOBIG);
		assert_non_null(strstr(err.detail, "4294967280 nodes"));
		if (engine->neighbours_put)
			assert_int_equal(engine->neighbours_put(device, &nb, &resident, &err), SL_TOOBIG);
		engine->close(device);
	}
}

/* The engine never chooses grids for so few nodes, but jobs may request them. */
static void few_nodes_on_grids(void **state)
{
	NEED_GPU();
	for (uint32_t n = 2; n < 8; n += n == 3 ? 4 : 1) {
		struct rig r;
		rig_open(&r, complete(n), 1, 0);
		assert_int_equal(r.a->n, n);
		for (int dims = 1; dims <= 3; dims++) {
			size_t floats = n * (size_t)dims;
			float *y = layout(n, dims, 2, n), *force[2];
			double z[2];
			for (int exact = 0; exact < 2; exact++) {
				struct sl_settings s = {.dims = dims, .accuracy = SL_FINE,
							.repulsion = exact ? SL_REPULSION_EXACT : SL_REPULSION_GRID};
				struct sl_step step = {.exaggeration = 1, .learning_rate = 1, .momentum = 0.5f};
				struct sl_device_embedding *e = embed(&r, &s, y);
				struct sl_measure m;
				force[exact] = malloc(floats * sizeof(float));
				assert_int_equal(cuda->forces(e, NULL, force[exact], &z[exact], NULL), 0);
				assert_int_equal(cuda->run(e, &step, 3, NULL), 0);
				assert_int_equal(cuda->measure(e, &m, NULL), 0);
				assert_true(m.finite);
				cuda->embedding_destroy(e);
			}
			if (!(fabs(z[0] / z[1] - 1) < 1e-2))
				fail_msg("%u nodes, %d-D: Z %g on a grid, %g of all pairs", n, dims, z[0], z[1]);
			for (size_t i = 0; i < floats; i++)  /* a pair close to each other: 0.3 */
				if (!(fabs((double)force[0][i] - (double)force[1][i]) * z[1] < 1e-3 * n))
					fail_msg("%u nodes, %d-D: force %g on a grid, %g of all pairs", n, dims, (double)force[0][i],
						 (double)force[1][i]);
			free(y);
			free(force[0]);
			free(force[1]);
		}
		rig_close(&r);
	}
}

/* ---- grids ------------------------------------------------------------------------------ */

/* The smallest permitted sides, also odd ones: an interrupted run continues with the same bytes. */
static void smallest_grids_come_back(void **state)
{
	NEED_GPU();
	static const int sides[] = {8, 9, 11, 15, 17};
	struct rig r;
	rig_open(&r, test_graph(3000, 4, true, false, 3), 10, 0);
	for (int dims = 1; dims <= 3; dims++)
		for (size_t i = 0; i < sizeof sides / sizeof *sides; i++) {
			struct sl_settings s = {.dims = dims, .accuracy = SL_NORMAL, .grid_side = sides[i],
						.repulsion = SL_REPULSION_GRID};
			struct sl_step step = {.exaggeration = 1, .learning_rate = 50, .momentum = 0.5f};
			size_t bytes = r.a->n * (size_t)dims * sizeof(float);
			float *y = layout(r.a->n, dims, 1, 7), *there = malloc(bytes);
			struct sl_device_embedding *e = embed(&r, &s, y), *again = embed(&r, &s, y);
			struct sl_measure m;
			struct sl_error err;
			void *saved = malloc(cuda->state_bytes(e));
			assert_int_equal(cuda->run(e, &step, 5, NULL), 0);
			assert_int_equal(cuda->state_save(e, saved, NULL), 0);
			if (cuda->state_load(again, saved, cuda->state_bytes(e), &err))
				fail_msg("side %d, %d-D: %s", sides[i], dims, err.detail);
			assert_int_equal(cuda->run(e, &step, 5, NULL), 0);
			assert_int_equal(cuda->run(again, &step, 5, NULL), 0);
			assert_int_equal(cuda->snapshot(e, y, NULL), 0);
			assert_int_equal(cuda->snapshot(again, there, NULL), 0);
			assert_memory_equal(y, there, bytes);
			assert_int_equal(cuda->measure(e, &m, NULL), 0);
			assert_true(m.finite && m.side == sides[i]);
			cuda->embedding_destroy(e);
			cuda->embedding_destroy(again);
			free(saved);
			free(y);
			free(there);
		}
	rig_close(&r);
}

/* Points in one place exert no force. If points are so far apart that Z is smaller than its rounding errors, the next
 * step may fail with an error. */
static void layouts_of_any_size(void **state)
{
	NEED_GPU();
	static const double spreads[] = {0, 1e-30, 1e-12, 1e6, 1e13};
	struct rig r;
	struct sl_error err;
	rig_open(&r, test_graph(3000, 4, true, false, 5), 10, 0);
	double pairs = (double)r.a->n * (r.a->n - 1.0);
	for (int dims = 1; dims <= 3; dims++)
		for (size_t i = 0; i < sizeof spreads / sizeof *spreads; i += test_light() ? 2 : 1)
			for (int dof = 1; dof < 4; dof += 2) {
				struct sl_settings s = {.dims = dims, .accuracy = SL_NORMAL, .dof = dof,
							.repulsion = SL_REPULSION_GRID};
				struct sl_step step = {.exaggeration = 1, .learning_rate = 200, .momentum = 0.5f};
				float *y = layout(r.a->n, dims, spreads[i], 9);
				struct sl_device_embedding *e = embed(&r, &s, y);
				struct sl_measure m;
				assert_int_equal(cuda->measure(e, &m, NULL), 0);
				if (!m.finite || (spreads[i] < 1e-3 && !(fabs(m.z / pairs - 1) < 1e-4)) ||
				    (spreads[i] < 1e-3 && !(m.gradient_norm < 1e-3)))
					fail_msg("%d-D, spread %g, dof %d: Z %g of %g, gradient %g, KL %g", dims, spreads[i], dof, m.z,
						 pairs, m.gradient_norm, m.kl);
				int code = cuda->run(e, &step, 4, &err);
				if (code == SL_BADPARAM && spreads[i] > 1) {
					assert_non_null(strstr(err.detail, "diverged"));
				} else {
					assert_int_equal(code, 0);
					assert_int_equal(cuda->measure(e, &m, NULL), 0);
					assert_true(m.finite);
				}
				cuda->embedding_destroy(e);
				free(y);
			}
	rig_close(&r);
}

/* ---- memory -------------------------------------------------------------------------------- */

/* A gigabyte is too little for the largest grids: embeddings that need them get an error, each time, and others
 * continue. */
static void a_gigabyte_is_enough_for_some(void **state)
{
	NEED_GPU();
	struct rig r;
	rig_open(&r, test_graph(20000, 4, true, false, 6), 10, 1ull << 30);
	struct sl_settings deep = {.dims = 3, .accuracy = SL_NORMAL, .repulsion = SL_REPULSION_GRID};
	struct sl_settings flat = deep, most = deep;
	struct sl_step step = {.exaggeration = 1, .learning_rate = 300, .momentum = 0.5f};
	flat.dims = 2;
	most.grid_side = 512;
	float *wide = layout(r.a->n, 3, 25, 1), *tight = layout(r.a->n, 3, 3, 2), *plane = layout(r.a->n, 2, 20, 3);
	struct sl_device_embedding *large = embed(&r, &most, wide), *small = embed(&r, &deep, tight);
	struct sl_device_embedding *other = embed(&r, &flat, plane);
	struct sl_device_info info;
	struct sl_measure m;
	struct sl_error err;
	for (int round = 0; round < 3; round++) {
		assert_int_equal(cuda->run(large, &step, 2, &err), SL_DEVMEM);
		assert_non_null(strstr(err.detail, "bytes of GPU memory"));
		assert_int_equal(cuda->run(other, &step, 5, NULL), 0);
		assert_int_equal(cuda->run(small, &step, 5, NULL), 0);
		assert_int_equal(cuda->measure(small, &m, NULL), 0);
		cuda->info(r.device, &info);
		assert_true(m.finite && info.memory_used <= 1ull << 30);
	}
	cuda->embedding_destroy(large);
	cuda->embedding_destroy(small);
	cuda->embedding_destroy(other);
	free(wide);
	free(tight);
	free(plane);
	rig_close(&r);
}

/* ---- side by side ------------------------------------------------------------------------------ */

/* More embeddings than one launch takes, some without work. */
static void many_of_them_some_idle(void **state)
{
	NEED_GPU();
	enum { COUNT = 300 };
	struct rig r;
	rig_open(&r, complete(5), 1, 0);
	struct sl_device_embedding *e[COUNT];
	struct sl_run run[COUNT];
	struct sl_stretch stretch[COUNT][2];
	struct sl_settings s = {.accuracy = SL_NORMAL, .repulsion = SL_REPULSION_AUTO};
	memset(stretch, 0, sizeof stretch);
	for (int i = 0; i < COUNT; i++) {
		s.dims = 1 + i % 3;
		s.dof = 0.5 * (1 + i % 4);
		float *y = layout(5, s.dims, 1, (uint64_t)i);
		e[i] = embed(&r, &s, y);
		free(y);
		assert_true(cuda->joins(e[i]));
		run[i] = (struct sl_run){.embedding = e[i], .stretch = stretch[i], .stretches = i % 5 ? 2 : 0};
		for (int k = 0; k < 2; k++)
			stretch[i][k] = (struct sl_stretch){.step = {1, 10, 0.5f}, .iterations = i % 7 ? 4 : 0, .measure = true};
	}
	assert_int_equal(cuda->run_many(run, COUNT, NULL), 0);
	for (int i = 0; i < COUNT; i++) {
		assert_int_equal(run[i].code, 0);
		for (int k = 0; k < run[i].stretches; k++)
			assert_true(stretch[i][k].measured.finite && stretch[i][k].measured.z > 0);
		if (i % 7 == 0 && run[i].stretches)
			assert_true(stretch[i][0].measured.kl == stretch[i][1].measured.kl);
		cuda->embedding_destroy(e[i]);
	}
	assert_int_equal(cuda->run_many(run, 0, NULL), 0);
	rig_close(&r);
}

/* ---- several devices of a GPU --------------------------------------------------------------------- */

struct beside {
	struct rig *rig;
	int rounds, code;   /* out: completed rounds, and the error */
	bool stop;
	struct sl_error err;
};

/* Each embedding captures graphs of its own. */
static void *begin_again(void *arg)
{
	struct beside *b = arg;
	struct sl_settings s = {.accuracy = SL_NORMAL, .repulsion = SL_REPULSION_GRID};
	struct sl_step step = {.exaggeration = 1, .learning_rate = 100, .momentum = 0.5f};
	float *y = layout(b->rig->a->n, 3, 3, 1);
	for (; !b->code && !__atomic_load_n(&b->stop, __ATOMIC_RELAXED);
	     __atomic_add_fetch(&b->rounds, 1, __ATOMIC_RELAXED)) {
		struct sl_device_embedding *e;
		s.dims = 2 + b->rounds % 2;
		b->code = cuda->embedding_create(b->rig->resident, &s, y, &e, &b->err);
		if (b->code)
			break;
		b->code = cuda->run(e, &step, 2, &b->err);
		cuda->embedding_destroy(e);
	}
	free(y);
	return NULL;
}

/* Opening and closing another device on the same GPU does not disturb a capture. */
static void devices_come_and_go(void **state)
{
	NEED_GPU();
	struct rig r;
	const struct sl_engine *hybrid;
	struct beside b = {.rig = &r};
	pthread_t thread;
	rig_open(&r, test_graph(3000, 4, true, false, 8), 10, 0);
	assert_int_equal(sl_engine_open("hybrid", &hybrid, NULL), 0);
	assert_int_equal(pthread_create(&thread, NULL, begin_again, &b), 0);
	int opened = 0;
	for (; opened < 30 || (opened < 1000 && __atomic_load_n(&b.rounds, __ATOMIC_RELAXED) < 10); opened++) {
		struct sl_device *device;
		struct sl_error err;
		if (hybrid->open(&device, NULL, &err))
			fail_msg("%s", err.detail);
		hybrid->close(device);
	}
	__atomic_store_n(&b.stop, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	if (b.code)
		fail_msg("in round %d: %s", b.rounds, b.err.detail);
	print_message("%d embeddings beside %d devices\n", b.rounds, opened);
	assert_true(b.rounds >= 10);
	rig_close(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(too_many_nodes_are_refused),
		cmocka_unit_test(few_nodes_on_grids),
		cmocka_unit_test(smallest_grids_come_back),
		cmocka_unit_test(layouts_of_any_size),
		cmocka_unit_test(a_gigabyte_is_enough_for_some),
		cmocka_unit_test(many_of_them_some_idle),
		cmocka_unit_test(devices_come_and_go),
	};
	return cmocka_run_group_tests(tests, need_gpu, NULL);
}
