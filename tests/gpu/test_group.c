/* Several GPUs that compute one layout against one GPU: to the byte, for 2 to 8 ranks, in each kind of iteration.
 * Skipped where there are not as many GPUs; the emulated GPU is as many as SPACELAND_EMULATED_GPUS says. Each run
 * prints another seed, which SPACELAND_TEST_SEED repeats. With the arguments "bench [NODES]" it prints the times of
 * the collectives. */
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
#include "core/neighbours/neighbours.h"
#include "core/params.h"
#include "core/points/points.h"
#include "core/random.h"
#include "tests/gpu/need_gpu.h"
#include "tests/unit/graphs.h"

#define RANKS_MAX 8

static uint64_t seed;

/* A graph on devices of 1, 2, 4, ... GPUs. */
struct rig {
	struct sl_graph *graph;
	struct sl_affinities *a;
	int count, gpus[4];
	struct sl_device *device[4];
	struct sl_device_graph *on[4];
};

static int devices(void) { return sl_engine_devices("cuda"); }

/* One GPU; and 2, 4 and 8, as far as there are so many, or only `light` of them. */
static void rig_devices(struct rig *r, int light)
{
	for (int gpus = 1; gpus <= devices() && gpus <= RANKS_MAX; gpus *= 2) {
		struct sl_device_options options = {.gpus = gpus};
		struct sl_error err;
		if (test_light() && gpus > 1 && gpus != light && devices() >= light)
			continue;
		r->gpus[r->count] = gpus;
		if (cuda->open(&r->device[r->count++], &options, &err))
			fail_msg("%d GPUs: %s", gpus, err.detail);
	}
}

static void rig_open(struct rig *r, int light, uint32_t nodes, uint32_t degree, bool symmetric)
{
	struct sl_affinities_params params = {.lambda = 1};
	struct sl_error err;
	memset(r, 0, sizeof *r);
	r->graph = test_graph(nodes, degree, true, symmetric, seed);
	if (sl_affinities_create(&r->a, r->graph, &params, &err))
		fail_msg("%s", err.detail);
	rig_devices(r, light);
	for (int i = 0; i < r->count; i++)
		if (cuda->graph_put(r->device[i], r->a, &r->on[i], &err))
			fail_msg("%d GPUs: %s", r->gpus[i], err.detail);
}

static void rig_close(struct rig *r)
{
	for (int i = 0; i < r->count; i++) {
		cuda->graph_drop(r->on[i]);
		cuda->close(r->device[i]);
	}
	sl_affinities_destroy(r->a);
	sl_graph_destroy(r->graph);
}

static float *layout(uint32_t n, int dims, double width)
{
	float *y = malloc(sizeof *y * (size_t)n * (size_t)dims);
	for (size_t i = 0; i < (size_t)n * (size_t)dims; i++)
		y[i] = (float)(width * (sl_random_uniform(seed + 7, i) - 0.4));
	return y;
}

static struct sl_device_embedding *make(struct rig *r, int i, const struct sl_settings *s, const float *y)
{
	struct sl_device_embedding *e = NULL;
	struct sl_error err;
	if (cuda->embedding_create(r->on[i], s, y, &e, &err))
		fail_msg("%d GPUs: %s", r->gpus[i], err.detail);
	return e;
}

#define DO(call) do { \
	struct sl_error err_; \
	struct sl_error *err = &err_; \
	if (call) \
		fail_msg("%s: %s", #call, err_.detail); \
} while (0)

/* What must be the same for any number of GPUs: layout, checkpoint, forces; and nearly the same: what is measured. */
struct outcome {
	float *y, *attraction, *repulsion;
	uint16_t *quantised;
	void *state;
	struct sl_measure before, after;
	double z;
};

static void take(struct sl_device_embedding *e, const struct sl_settings *s, uint32_t n, struct outcome *o)
{
	size_t floats = (size_t)n * (size_t)s->dims;
	struct sl_step step = {.exaggeration = 4, .learning_rate = (float)n / 12, .momentum = 0.5f};
	struct sl_device_snapshot *snapshot;
	const void *held;
	float low[3], extent;
	o->y = malloc(sizeof(float) * floats);
	o->attraction = malloc(sizeof(float) * floats);
	o->repulsion = malloc(sizeof(float) * floats);
	o->quantised = malloc(sizeof(uint16_t) * floats);
	o->state = malloc(cuda->state_bytes(e));
	DO(cuda->measure(e, &o->before, err));
	DO(cuda->run(e, &step, 3, err));
	DO(cuda->snapshot_start(e, true, &snapshot, err));
	step.settle = true;
	DO(cuda->run(e, &step, 2, err));
	DO(cuda->snapshot_finish(snapshot, &held, low, &extent, err));
	memcpy(o->quantised, held, sizeof(uint16_t) * floats);
	cuda->snapshot_release(snapshot);
	step.settle = false;
	step.exaggeration = 1;
	DO(cuda->rescale(e, 1.25f, err));
	DO(cuda->run(e, &step, 3, err));
	memset(o->state, 0, cuda->state_bytes(e));
	DO(cuda->state_save(e, o->state, err));
	DO(cuda->run(e, &step, 1, err));
	DO(cuda->snapshot(e, o->y, err));
	DO(cuda->forces(e, o->attraction, o->repulsion, &o->z, err));
	DO(cuda->measure(e, &o->after, err));
}

static void outcome_free(struct outcome *o)
{
	free(o->y);
	free(o->attraction);
	free(o->repulsion);
	free(o->quantised);
	free(o->state);
}

static void same_measure(const struct sl_measure *a, const struct sl_measure *b)
{
	assert_true(a->finite && b->finite);
	assert_true(a->z == b->z && a->h == b->h && a->side == b->side);
	assert_memory_equal(a->low, b->low, sizeof a->low);
	assert_memory_equal(a->high, b->high, sizeof a->high);
	assert_true(fabs(a->kl - b->kl) <= 1e-10 * fabs(a->kl));
	assert_true(fabs(a->gradient_norm - b->gradient_norm) <= 1e-10 * a->gradient_norm);
}

/* Runs an embedding with these settings on each device, and compares all with one GPU. A checkpoint of the most GPUs
 * goes on on one, and the other way round. */
static void check(struct rig *r, const struct sl_settings *s, double width)
{
	uint32_t n = r->a->n;
	size_t floats = (size_t)n * (size_t)s->dims;
	float *y0 = layout(n, s->dims, width), *y = malloc(sizeof *y * floats);
	struct sl_step step = {.exaggeration = 1, .learning_rate = (float)n / 12, .momentum = 0.5f};
	struct outcome one = {0};
	for (int i = 0; i < r->count; i++) {
		struct sl_device_embedding *e = make(r, i, s, y0);
		struct outcome o = {0};
		take(e, s, n, i ? &o : &one);
		if (i) {
			assert_memory_equal(o.quantised, one.quantised, sizeof(uint16_t) * floats);
			assert_memory_equal(o.state, one.state, cuda->state_bytes(e));
			assert_memory_equal(o.y, one.y, sizeof(float) * floats);
			assert_memory_not_equal(o.y, y0, sizeof(float) * floats);
			assert_memory_equal(o.attraction, one.attraction, sizeof(float) * floats);
			assert_memory_equal(o.repulsion, one.repulsion, sizeof(float) * floats);
			assert_true(o.z == one.z);
			same_measure(&o.before, &one.before);
			same_measure(&o.after, &one.after);
			outcome_free(&o);
		}
		DO(cuda->state_load(e, one.state, cuda->state_bytes(e), err));
		DO(cuda->run(e, &step, 1, err));
		DO(cuda->snapshot(e, y, err));
		assert_memory_equal(y, one.y, sizeof *y * floats);
		cuda->embedding_destroy(e);
	}
	outcome_free(&one);
	free(y0);
	free(y);
}

#define NEED_GPUS() do { \
	NEED_GPU(); \
	if (devices() < 2) \
		skip(); \
} while (0)

static void layouts_are_those_of_one_gpu(void **state)
{
	NEED_GPUS();
	static const struct {
		struct sl_settings settings;
		double width;
	} cases[] = {
		{{.dims = 2, .optimizer = SL_MOMENTUM, .accuracy = SL_DRAFT, .repulsion = SL_REPULSION_GRID}, 60},
		{{.dims = 2, .optimizer = SL_ADAM, .accuracy = SL_FINE, .repulsion = SL_REPULSION_GRID}, 1},
		{{.dims = 1, .optimizer = SL_MOMENTUM, .accuracy = SL_NORMAL, .repulsion = SL_REPULSION_GRID}, 90},
		{{.dims = 3, .optimizer = SL_MOMENTUM, .accuracy = SL_DRAFT, .repulsion = SL_REPULSION_GRID}, 9},
		{{.dims = 2, .optimizer = SL_MOMENTUM, .repulsion = SL_REPULSION_EXACT}, 20},
		{{.dims = 3, .optimizer = SL_ADAM, .repulsion = SL_REPULSION_BARNES_HUT, .theta = 0.7}, 20},
		{{.dims = 2, .optimizer = SL_MOMENTUM, .dof = 0.7, .accuracy = SL_DRAFT, .repulsion = SL_REPULSION_GRID}, 30},
	};
	struct rig r;
	rig_open(&r, 4, 2600, 4, false);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		if (!test_leaves_out(i, 3, 7))
			check(&r, &cases[i].settings, cases[i].width);
	rig_close(&r);
}

/* Two grids, and pairs within a cut-off. */
static void wide_layouts_are_those_of_one_gpu(void **state)
{
	NEED_GPUS();
	struct sl_settings s = {.dims = 3, .optimizer = SL_MOMENTUM, .accuracy = SL_DRAFT, .repulsion = SL_REPULSION_GRID};
	struct rig r;
	rig_open(&r, 2, 4500, 4, false);
	check(&r, &s, 120);
	s.dims = 2;
	s.accuracy = SL_NORMAL;
	check(&r, &s, 400);
	rig_close(&r);
}

/* Rounded positions, and a kernel for the repulsion beside that of the step. */
static void layouts_of_many_are_those_of_one_gpu(void **state)
{
	NEED_GPUS();
	struct sl_settings s = {.dims = 2, .optimizer = SL_MOMENTUM, .accuracy = SL_DRAFT, .repulsion = SL_REPULSION_GRID};
	struct rig r;
	rig_open(&r, 2, 30100, 3, false);
	check(&r, &s, 30);
	s.dims = 3;
	if (!test_light())
		check(&r, &s, 20);
	rig_close(&r);
}

/* ---- what begins a layout --------------------------------------------------------------------------- */

static void walks_are_those_of_one_gpu(void **state)
{
	NEED_GPUS();
	struct rig r;
	rig_open(&r, 8, 2600, 3, true);
	size_t n = r.a->n, bytes = sizeof(float) * 8 * n;
	float *slope = layout((uint32_t)n, 1, 1), *shift = layout((uint32_t)n, 1, 0.1), *x0 = layout((uint32_t)n, 8, 1);
	float *mass[2], *x[2], *before[2];
	uint32_t *label[2];
	for (int i = 0; i < r.count; i++) {
		int w = i > 0;
		if (i < 2) {
			mass[w] = malloc(sizeof(float) * n);
			label[w] = malloc(sizeof(uint32_t) * n);
			x[w] = malloc(bytes);
			before[w] = malloc(bytes);
		}
		memcpy(x[w], x0, bytes);
		DO(cuda->walk_mass(r.on[i], mass[w], err));
		DO(cuda->walk_components(r.on[i], label[w], err));
		DO(cuda->walk_filter(r.on[i], 0, 3, slope, shift, &before[w], &x[w], err));
		DO(cuda->walk_filter(r.on[i], 3, 2, NULL, NULL, &before[w], &x[w], err));
		if (!i)
			continue;
		assert_memory_equal(mass[0], mass[1], sizeof(float) * n);
		assert_memory_equal(label[0], label[1], sizeof(uint32_t) * n);
		assert_memory_equal(x[0], x[1], bytes);
		assert_memory_equal(before[0], before[1], bytes);
	}
	for (int w = 0; w < 2; w++) {
		free(mass[w]);
		free(label[w]);
		free(x[w]);
		free(before[w]);
	}
	free(slope);
	free(shift);
	free(x0);
	rig_close(&r);
}

/* 16 clusters. */
static struct sl_points *points(uint32_t n, uint32_t d)
{
	struct sl_points *p = calloc(1, sizeof *p);
	p->n = p->n_user = n;
	p->d = d;
	p->value = malloc(sizeof(float) * (size_t)n * d);
	for (size_t i = 0; i < (size_t)n * d; i++)
		((float *)p->value)[i] = (float)(sl_random_normal(seed + 3, i) + 9 * (i / d % 16 >> i % d % 4 & 1));
	return p;
}

/* All pairs; an inverted file; all pairs with memory for some of the points only, which come block by block. */
static void neighbours_are_those_of_one_gpu(void **state)
{
	NEED_GPUS();
	bool emulated = getenv("SPACELAND_EMULATED_GPUS") != NULL;
	const struct {
		uint32_t n, d;
		double recall;
		uint64_t memory;
		const char *method;
	} cases[] = {
		{2200, 4, 1, 0, "exact"},
		{emulated ? 8100 : 400000, 4, 0.8, 0, "ivf"},
		{2200, 64, 1, 10300000, "exact"},
	};
	for (size_t c = 0; c < (test_light() ? 1 : sizeof cases / sizeof *cases); c++) {
		struct sl_points *p = points(cases[c].n, cases[c].d);
		struct sl_neighbours_params search = {.k = 6, .recall = cases[c].recall};
		struct sl_neighbours *one, *more;
		uint64_t memory = cases[c].memory;
		DO(cuda->neighbours_find(0, memory, p, &search, &one, err));
		assert_string_equal(one->method, cases[c].method);
		size_t bytes = 4 * (size_t)p->n * one->k;
		for (search.gpus = 2; search.gpus <= devices() && search.gpus <= RANKS_MAX; search.gpus *= 2) {
			if (c && emulated && search.gpus == 4)
				continue;
			DO(cuda->neighbours_find(0, memory, p, &search, &more, err));
			assert_string_equal(more->method, one->method);
			assert_true(more->recall == one->recall);
			assert_memory_equal(more->index, one->index, bytes);
			assert_memory_equal(more->distance, one->distance, bytes);
			sl_neighbours_destroy(more);
		}
		sl_neighbours_destroy(one);
		sl_points_destroy(p);
	}
}

/* P from neighbours, by the layouts that it gives. */
static void affinities_are_those_of_one_gpu(void **state)
{
	NEED_GPUS();
	struct sl_settings s = {.dims = 2, .optimizer = SL_MOMENTUM, .accuracy = SL_DRAFT, .repulsion = SL_REPULSION_GRID};
	struct sl_points *p = points(2500, 4);
	struct sl_neighbours_params search = {.k = 9, .recall = 1};
	struct sl_affinities_params params = {.lambda = 1};
	struct sl_neighbours *nb;
	struct rig r = {0};
	DO(sl_neighbours_find(&nb, p, &search, err));
	rig_devices(&r, 2);
	params.perplexity[0] = 3;
	params.perplexities = 1;
	for (int i = 0; i < r.count; i++) {
		struct sl_device_neighbours *resident;
		struct sl_affinities *summary;
		DO(cuda->neighbours_put(r.device[i], nb, &resident, err));
		DO(cuda->neighbours_graph(resident, &params, &summary, &r.on[i], err));
		cuda->neighbours_drop(resident);
		if (i) {
			assert_true(summary->entropy == r.a->entropy && summary->m == r.a->m && summary->n == r.a->n);
			assert_memory_equal(summary->user, r.a->user, sizeof *summary->user * summary->n);
			sl_affinities_destroy(summary);
		} else {
			r.a = summary;
		}
	}
	check(&r, &s, 10);
	rig_close(&r);
	sl_neighbours_destroy(nb);
	sl_points_destroy(p);
}

/* P of a graph, made on the devices. */
static void made_graphs_are_those_of_one_gpu(void **state)
{
	NEED_GPUS();
	struct sl_settings s = {.dims = 2, .optimizer = SL_MOMENTUM, .accuracy = SL_DRAFT, .repulsion = SL_REPULSION_GRID};
	struct sl_affinities_params params = {.lambda = 3};
	struct rig r = {0};
	r.graph = test_graph(2700, 4, true, false, seed);
	rig_devices(&r, 4);
	for (int i = 0; i < r.count; i++) {
		struct sl_affinities *summary;
		DO(cuda->graph_make(r.device[i], r.graph, &params, &summary, &r.on[i], err));
		if (i) {
			assert_true(summary->entropy == r.a->entropy && summary->m == r.a->m && summary->n == r.a->n);
			assert_memory_equal(summary->user, r.a->user, sizeof *summary->user * summary->n);
			sl_affinities_destroy(summary);
		} else {
			r.a = summary;
		}
	}
	check(&r, &s, 10);
	rig_close(&r);
}

/* ---- failures ----------------------------------------------------------------------------------------- */

/* A rank without memory: an error of all, and the group goes on. */
static void a_rank_that_fails_ends_the_call_of_all(void **state)
{
	NEED_GPUS();
	struct sl_settings s = {.dims = 2, .optimizer = SL_MOMENTUM, .accuracy = SL_DRAFT, .repulsion = SL_REPULSION_GRID};
	struct sl_device_options options = {.gpus = 2, .memory_bytes = 3 << 20};
	struct sl_device_embedding *e;
	struct sl_device_graph *g;
	struct sl_step step = {.exaggeration = 1, .learning_rate = 100};
	struct sl_device *d;
	struct sl_error err;
	struct rig r;
	rig_open(&r, 2, 2600, 4, false);
	float *y = layout(r.a->n, 2, 100);
	assert_int_equal(cuda->open(&d, &options, &err), 0);
	assert_int_equal(cuda->graph_put(d, r.a, &g, &err), 0);
	assert_int_equal(cuda->embedding_create(g, &s, y, &e, &err), 0);
	assert_int_equal(cuda->run(e, &step, 1, &err), SL_DEVMEM);  /* no room for grids */
	assert_non_null(strstr(err.detail, "GPU memory"));
	assert_int_equal(cuda->snapshot(e, y, &err), 0);
	cuda->embedding_destroy(e);
	cuda->graph_drop(g);
	cuda->close(d);
	free(y);
	rig_close(&r);
}

static void too_many_gpus_are_refused(void **state)
{
	NEED_GPU();
	struct sl_device_options options = {.gpus = devices() + 1};
	struct sl_device *d;
	struct sl_error err;
	if (options.gpus > 16)
		skip();
	assert_int_equal(cuda->open(&d, &options, &err), SL_NODEVICE);
	assert_non_null(strstr(err.detail, "There is no GPU"));
}

/* A graph for the kernel that runs many small ones stays on one GPU, beside others that are divided. */
static void a_small_graph_stays_on_one(void **state)
{
	NEED_GPUS();
	struct sl_settings s = {.dims = 2, .optimizer = SL_MOMENTUM};
	struct rig r;
	rig_open(&r, 2, 300, 4, false);
	check(&r, &s, 10);
	rig_close(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(layouts_are_those_of_one_gpu),
		cmocka_unit_test(wide_layouts_are_those_of_one_gpu),
		cmocka_unit_test(layouts_of_many_are_those_of_one_gpu),
		cmocka_unit_test(walks_are_those_of_one_gpu),
		cmocka_unit_test(neighbours_are_those_of_one_gpu),
		cmocka_unit_test(affinities_are_those_of_one_gpu),
		cmocka_unit_test(made_graphs_are_those_of_one_gpu),
		cmocka_unit_test(a_rank_that_fails_ends_the_call_of_all),
		cmocka_unit_test(too_many_gpus_are_refused),
		cmocka_unit_test(a_small_graph_stays_on_one),
	};
	seed = fresh_seed();
	return cmocka_run_group_tests(tests, need_gpu, NULL);
}
