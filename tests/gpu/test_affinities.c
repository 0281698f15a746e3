/* P that a device makes of a graph (gpu/affinities/) against the host's, which tests/unit compares with the definition:
 * the same numbering, the same places, and entries that differ by one unit in the last place at most, few of them at
 * all. Graphs differ in each run. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/graph/affinities.h"
#include "gpu/affinities/affinities.h"
#include "gpu/engine/engine.h"
#include "tests/unit/graphs.h"

static const struct sl_engine *engine;
static struct sl_device *device;

static int open_device(void **state)
{
	struct sl_error err;
	engine = sl_engine_cuda();
	if (engine->open(&device, NULL, &err)) {
		printf("skipped: %s\n", err.detail);
		device = NULL;
	}
	return 0;
}

static int close_device(void **state)
{
	engine->close(device);
	return 0;
}

#define NEED_DEVICE() do { if (!device) skip(); } while (0)

/* ---- P, fetched ------------------------------------------------------------------------- */

struct fetched {
	uint32_t n, rows;
	uint64_t m;
	uint64_t *start;
	uint32_t *node;
	float *p;
};

static int take_size(void *arg, uint32_t n, uint64_t m, const uint64_t *start, struct sl_error *err)
{
	struct fetched *f = arg;
	f->n = n;
	f->m = m;
	f->start = calloc(n + 1ull, sizeof *f->start);
	f->node = malloc((m + 1) * sizeof *f->node);
	f->p = malloc((m + 1) * sizeof *f->p);
	return 0;
}

static int take_rows(void *arg, const struct sl_rows *rows, struct sl_error *err)
{
	struct fetched *f = arg;
	int code = 0;
	assert_int_equal(rows->first, f->rows);
	SL_CUDA(sl__fetch(f->start + rows->first, rows->start, (rows->n + 1ull) * 8, device->stream));
	assert_int_equal(rows->base, f->start[rows->first]);
	uint64_t count = f->start[rows->first + rows->n] - rows->base;
	SL_CUDA(sl__fetch(f->node + rows->base, rows->node, count * 4, device->stream));
	SL_CUDA(sl__fetch(f->p + rows->base, rows->p, count * 4, device->stream));
	f->rows += rows->n;
out:
	return code;
}

static void free_fetched(struct fetched *f)
{
	free(f->start);
	free(f->node);
	free(f->p);
}

/* ---- comparison --------------------------------------------------------------------------- */

static void check_same(const struct fetched *f, const struct sl_affinities *made, const struct sl_affinities *a)
{
	uint64_t others = 0;
	assert_int_equal(f->rows, a->n);
	assert_int_equal(made->n, a->n);
	assert_int_equal(made->n_user, a->n_user);
	assert_int_equal(made->m, a->m);
	assert_int_equal(made->unreachable, a->unreachable);
	assert_int_equal(made->dropped, a->dropped);
	assert_null(made->p);
	for (uint32_t i = 0; i < a->n; i++)
		if (made->user[i] != a->user[i] || f->start[i + 1] != a->start[i + 1])
			fail_msg("row %u is node %u and ends at %llu, not %u and %llu", i, made->user[i],
				 (unsigned long long)f->start[i + 1], a->user[i], (unsigned long long)a->start[i + 1]);
	for (uint64_t e = 0; e < a->m; e++) {
		if (f->node[e] != a->node[e] || (f->p[e] != a->p[e] && nextafterf(a->p[e], f->p[e]) != f->p[e]))
			fail_msg("entry %llu is %u with %.9g, not %u with %.9g", (unsigned long long)e, f->node[e],
				 (double)f->p[e], a->node[e], (double)a->p[e]);
		others += f->p[e] != a->p[e];
	}
	if (others > 4 + a->m / 10000)
		fail_msg("%llu of %llu entries differ", (unsigned long long)others, (unsigned long long)a->m);
	if (!(fabs(made->entropy - a->entropy) <= 1e-9 * fabs(a->entropy)))
		fail_msg("the entropy is %.15g, not %.15g", made->entropy, a->entropy);
}

static void check(const struct sl_graph *g, double lambda, bool drop, enum sl_order order)
{
	const struct sl_affinities_params params = {.lambda = lambda, .drop_leaf_edges = drop, .order = order};
	struct sl_affinities *right = NULL, *made = NULL;
	struct fetched f = {0};
	const struct sl_affinity_sink sink = {take_size, take_rows, &f};
	struct sl_error err = {0};
	uint64_t used = device->used;
	assert_int_equal(sl_affinities_create(&right, g, &params, &err), 0);
	if (sl__affinities_make(device, g, &params, &sink, &made, &err))
		fail_msg("%s", err.detail);
	assert_int_equal(device->used, used);
	check_same(&f, made, right);
	free_fetched(&f);
	sl_affinities_destroy(made);
	sl_affinities_destroy(right);
}

/* ---- graphs --------------------------------------------------------------------------------- */

static void p_is_that_of_the_host(void **state)
{
	NEED_DEVICE();
	static const enum sl_order orders[3] = {SL_ORDER_NONE, SL_ORDER_RCM, SL_ORDER_BFS};
	uint64_t seed = fresh_seed() & 0xffffffff;
	for (int kind = 0; kind < 8; kind++) {
		struct sl_graph *g = test_graph(test_light() ? 150 : 900, 1 + kind % 3, kind & 1, kind & 2,
				seed + (uint64_t)kind);
		check(g, kind & 4 ? 1 : 5, kind % 3 == 1, orders[kind % 3]);
		check(g, 3, kind % 3 != 1, orders[(kind + 1) % 3]);
		sl_graph_destroy(g);
	}
}

/* In a graph of many components the host numbers the last ones. */
static void many_components_are_in_the_host_s_order(void **state)
{
	NEED_DEVICE();
	uint64_t seed = fresh_seed() & 0xffffffff;
	struct sl_graph *g = test_graph(1000, SL_SEARCH_PARTS + 40, true, false, seed);
	check(g, 4, false, SL_ORDER_RCM);
	check(g, 4, false, SL_ORDER_BFS);
	sl_graph_destroy(g);
}

/* Each of the others has an edge to or from the hubs. */
static struct sl_graph *make_hubs(uint32_t n, uint32_t wide, uint64_t seed)
{
	struct sl_graph_builder *b = NULL;
	struct sl_graph *g = NULL;
	uint64_t state = seed * 2654435761u + 1;
	assert_int_equal(sl_graph_builder_create(&b, SL_GENERAL, true, 0, NULL), 0);
	for (uint32_t i = 2; i < n; i++) {
		float w = (float)exp(20 * test_uniform(&state) - 10);
		bool in = test_uniform(&state) < 0.5;
		assert_int_equal(sl_graph_builder_add(b, in ? 0 : i, in ? i : 0, w), 0);
		if (test_uniform(&state) < 0.2)
			assert_int_equal(sl_graph_builder_add(b, in ? i : 0, in ? 0 : i, 2 * w), 0);
		if (i < wide)
			assert_int_equal(sl_graph_builder_add(b, in ? i : 1, in ? 1 : i, w), 0);
	}
	assert_int_equal(sl_graph_builder_finish(b, n, &g, NULL), 0);
	return g;
}

static void long_rows_are_sorted(void **state)
{
	NEED_DEVICE();
	struct sl_graph *g = make_hubs(SL_FILL_BLOCK + 300, 7 * SL_FILL_WARP, fresh_seed() & 0xffffffff);
	check(g, 8, false, SL_ORDER_RCM);
	sl_graph_destroy(g);
}

/* A search of more levels than are allowed. */
static void a_long_path_is_numbered(void **state)
{
	NEED_DEVICE();
	if (test_light())
		skip();
	struct sl_graph *g = test_path(SL_SEARCH_LEVELS + 500);
	check(g, 1, false, SL_ORDER_RCM);
	sl_graph_destroy(g);
}

/* ---- the engine's function ---------------------------------------------------------------------- */

static float *run(struct sl_device_graph *graph, uint32_t n, struct sl_measure *measured)
{
	const struct sl_settings settings = {.dims = 2, .repulsion = 0};
	const struct sl_step step = {.exaggeration = 12, .learning_rate = 100, .momentum = 0.5f};
	struct sl_device_embedding *e = NULL;
	struct sl_error err;
	float *y = malloc(2 * sizeof *y * n);
	uint64_t seed = 5;
	for (uint32_t i = 0; i < 2 * n; i++)
		y[i] = (float)(1e-4 * (test_uniform(&seed) - 0.5));
	assert_int_equal(engine->embedding_create(graph, &settings, y, &e, &err), 0);
	assert_int_equal(engine->run(e, &step, 3, &err), 0);
	assert_int_equal(engine->measure(e, measured, &err), 0);
	assert_int_equal(engine->snapshot(e, y, &err), 0);
	engine->embedding_destroy(e);
	return y;
}

static void layouts_have_the_bytes_of_the_host_s_p(void **state)
{
	NEED_DEVICE();
	for (uint32_t n = 700; n <= (test_light() ? 700u : 2800u); n += 2100) {  /* one kernel; one for each step */
		struct sl_graph *g = test_graph(n, 3, true, false, 11);
		const struct sl_affinities_params params = {.lambda = 4};
		struct sl_affinities *host = NULL, *summary = NULL;
		struct sl_device_graph *put = NULL, *made = NULL;
		struct sl_measure a, b;
		struct sl_error err = {0};
		assert_int_equal(sl_affinities_create(&host, g, &params, &err), 0);
		assert_int_equal(engine->graph_put(device, host, &put, &err), 0);
		if (engine->graph_make(device, g, &params, &summary, &made, &err))
			fail_msg("%s", err.detail);
		sl_graph_destroy(g);
		float *x = run(put, host->n, &a), *y = run(made, summary->n, &b);
		assert_memory_equal(x, y, 2 * sizeof *x * host->n);
		assert_true(fabs(a.kl - b.kl) <= 1e-9);
		free(x);
		free(y);
		engine->graph_drop(put);
		engine->graph_drop(made);
		sl_affinities_destroy(host);
		sl_affinities_destroy(summary);
	}
}

static void refusals_leave_nothing_behind(void **state)
{
	NEED_DEVICE();
	struct sl_graph *g = test_graph(500, 1, true, false, 3);
	struct sl_affinities_params params = {.lambda = 0.5};
	struct sl_affinities *summary = NULL;
	struct sl_device_graph *made = NULL;
	struct sl_error err;
	uint64_t used = device->used, budget = device->budget, m = g->m;
	assert_int_equal(engine->graph_make(device, g, &params, &summary, &made, &err), SL_BADPARAM);
	params.lambda = 2;
	/* each allocation is refused once */
	for (uint64_t part = 0; part < 40; part++) {
		device->budget = used + part * m;
		int code = engine->graph_make(device, g, &params, &summary, &made, &err);
		if (!code) {
			engine->graph_drop(made);
			sl_affinities_destroy(summary);
		} else {
			assert_int_equal(code, SL_DEVMEM);
		}
		assert_int_equal(device->used, used);
	}
	device->budget = budget;
	sl_graph_destroy(g);
	uint64_t start[4] = {0};
	uint32_t node[1] = {0};
	const struct sl_graph empty = {.n = 3, .start = start, .node = node};
	assert_int_equal(engine->graph_make(device, &empty, &params, &summary, &made, &err), SL_BADPARAM);
	assert_int_equal(device->used, used);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(p_is_that_of_the_host),
		cmocka_unit_test(many_components_are_in_the_host_s_order),
		cmocka_unit_test(long_rows_are_sorted),
		cmocka_unit_test(a_long_path_is_numbered),
		cmocka_unit_test(layouts_have_the_bytes_of_the_host_s_p),
		cmocka_unit_test(refusals_leave_nothing_behind),
	};
	return cmocka_run_group_tests(tests, open_device, close_device);
}
