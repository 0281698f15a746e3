/* The engine's memory equals its reports: for embeddings, their grids, and the plans that they share. */
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/params.h"
#include "tests/unit/engines.h"

/* The CPU engine's report of an embedding's memory, apart from grids, equals its use of the heap. */
static void embeddings_take_what_they_say(void **state)
{
	struct bench b;
	bench_open(&b, test_graph(60000, 4, true, false, 12), 1);
	for (int dims = 1; dims <= 3 && !strcmp(b.engine->name, "cpu"); dims++)
		for (int kind = SL_REPULSION_AUTO; kind <= SL_REPULSION_EXACT; kind++) {
			struct sl_settings s = {.dims = dims, .accuracy = SL_DRAFT, .repulsion = kind};
			struct sl_device_embedding *e;
			float *y = test_layout(b.a->n, dims, 50, 1, 3);
			struct mallinfo2 before = mallinfo2();
			assert_int_equal(b.engine->embedding_create(b.resident, &s, y, &e, NULL), 0);
			struct mallinfo2 after = mallinfo2();
			double took = (double)(after.uordblks + after.hblkhd) - (double)(before.uordblks + before.hblkhd);
			double said = (double)b.engine->embedding_bytes(b.a->n, &s);
			if (after.arena && !(took > 0.9 * said && took < 1.2 * said))
				fail_msg("%d-D, repulsion %d: %.0f bytes, said to be %.0f", dims, kind, took, said);
			b.engine->embedding_destroy(e);
			free(y);
		}
	bench_close(&b);
}

/* For few nodes in a layout of any width, the CPU engine's grid stays small, and its memory is reported. */
static void few_nodes_have_a_small_grid(void **state)
{
	static const double extents[] = {10, 1e3, 1e5, 1e7};
	static const int largest[4] = {0, 1 << 20, 1024, 128};
	struct bench b;
	bench_open(&b, test_graph(200, 4, true, false, 12), 1);
	for (int dims = 1; dims <= 3 && !strcmp(b.engine->name, "cpu"); dims++)
		for (int i = 0; i < 8; i++) {
			if (test_leaves_out((uint64_t)(dims * 8 + i), 1, 7))
				continue;
			double extent = extents[i / 2];
			struct sl_settings s = {.dims = dims, .accuracy = SL_DRAFT,
						.repulsion = i % 2 ? SL_REPULSION_GRID : SL_REPULSION_AUTO};
			struct sl_device_embedding *e;
			struct sl_measure m;
			struct sl_device_info before, after;
			float *y = test_layout(b.a->n, dims, extent, 1, 3);
			b.engine->info(b.device, &before);
			assert_int_equal(b.engine->embedding_create(b.resident, &s, y, &e, NULL), 0);
			assert_int_equal(b.engine->measure(e, &m, NULL), 0);
			b.engine->info(b.device, &after);
			double plans = (double)after.plan_bytes - (double)before.plan_bytes;
			double said = (double)b.engine->grid_bytes(b.a->n, &s, extent);
			if (i % 2 == 0 ? m.side > 64 || said > 1e5 : !(m.side > 0 && m.side <= largest[dims]))
				fail_msg("%d-D, extent %g: a side of %d, %.0f bytes", dims, extent, m.side, said);
			assert_true(said < 128e6 && plans <= 1.2 * said + 65536);
			b.engine->embedding_destroy(e);
			free(y);
		}
	bench_close(&b);
}

/* Layouts of several extents, each twice; returns the device's info after the last one. */
static struct sl_device_info use_plans(const struct bench *b, struct sl_device *device,
				       struct sl_device_graph *resident)
{
	struct sl_settings s = {.dims = 2, .accuracy = SL_NORMAL, .repulsion = SL_REPULSION_GRID};
	struct sl_device_info info;
	for (int round = 0; round < 2; round++)
		for (int i = 0; i < 16; i++) {
			float *y = test_layout(b->a->n, 2, 10 + 10 * (i / 2), 1, 51);
			struct sl_device_embedding *e;
			assert_int_equal(b->engine->embedding_create(resident, &s, y, &e, NULL), 0);
			assert_int_equal(b->engine->forces(e, NULL, NULL, NULL, NULL), 0);
			b->engine->embedding_destroy(e);
			b->engine->info(device, &info);
			assert_true(info.plan_bytes <= info.plan_budget);
			free(y);
		}
	return info;
}

/* With too little room for all plans, one of them has to go. */
static void plans_are_shared_and_stay_within_their_budget(void **state)
{
	struct bench b;
	bench_open(&b, test_graph(1200, 3, true, true, 14), 2);
	uint64_t all = use_plans(&b, b.device, b.resident).plan_bytes;
	struct sl_device_options options = {.threads = 2, .plan_bytes = all - 1};
	struct sl_device *small;
	struct sl_device_graph *resident;
	struct sl_device_info info;
	assert_int_equal(b.engine->open(&small, &options, NULL), 0);
	b.engine->info(small, &info);
	uint64_t own = info.memory_used;  /* memory of the empty device */
	assert_int_equal(b.engine->graph_put(small, b.a, &resident, NULL), 0);
	info = use_plans(&b, small, resident);
	if (info.plan_hits < 16 || !info.plan_evictions || !info.plans)
		fail_msg("%llu hits, %llu evictions, %llu plans of %llu bytes", (unsigned long long)info.plan_hits,
			 (unsigned long long)info.plan_evictions, (unsigned long long)info.plans,
			 (unsigned long long)info.plan_bytes);
	struct sl_plan_info list[4];
	int count = b.engine->plans(small, list, 4);
	assert_int_equal(count, info.plans);
	assert_int_equal(list[0].dims, 2);
	b.engine->plans_clear(small);
	b.engine->info(small, &info);
	assert_int_equal(info.plans, 0);
	assert_int_equal(info.plan_bytes, 0);
	b.engine->graph_drop(resident);
	b.engine->info(small, &info);
	assert_int_equal(info.memory_used, own);
	b.engine->close(small);
	bench_close(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(embeddings_take_what_they_say),
		cmocka_unit_test(few_nodes_have_a_small_grid),
		cmocka_unit_test(plans_are_shared_and_stay_within_their_budget),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
