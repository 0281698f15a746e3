/* Tests for the CUDA engine alone: results close to the CPU engine's, the same bytes each time, memory within its
 * budget. Skipped without a GPU. */
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
#include "core/formats/read.h"
#include "core/graph/affinities.h"
#include "core/params.h"
#include "core/random.h"
#include "tests/gpu/need_gpu.h"
#include "tests/unit/graphs.h"

struct rig {
	struct sl_graph *graph;
	struct sl_affinities *a;
};

/* The graph in SPACELAND_GRAPH, or generated clusters. */
static void rig_init(struct rig *r, uint32_t n)
{
	struct sl_affinities_params params = {.lambda = 10};
	const char *path = getenv("SPACELAND_GRAPH");
	struct sl_source *source;
	if (path && *path) {
		assert_int_equal(sl_source_open_path(&source, path, NULL, NULL), 0);
		assert_int_equal(sl_graph_read(&r->graph, NULL, source, NULL), 0);
		sl_source_close(source);
	} else {
		r->graph = test_graph(n, 7, true, false, 3);
	}
	assert_int_equal(sl_affinities_create(&r->a, r->graph, &params, NULL), 0);
}

static void rig_finish(struct rig *r)
{
	sl_affinities_destroy(r->a);
	sl_graph_destroy(r->graph);
}

/* A whole run; y [n_user * dims] may be NULL. Returns the final KL divergence. */
static double whole_run(const struct sl_engine *engine, const struct rig *r, const struct sl_params *p, float *y)
{
	struct sl_device *device;
	struct sl_device_graph *graph;
	struct sl_embedding *e;
	struct sl_status s = {0};
	struct sl_error err;
	if (engine->open(&device, NULL, &err) || engine->graph_put(device, r->a, &graph, &err) ||
	    sl_embedding_create(&e, engine, graph, r->a, p, NULL, &err))
		fail_msg("%s", err.detail);
	while (!s.done)
		if (sl_embedding_advance(e, 10, &s, &err))
			fail_msg("%s", err.detail);
	if (y)
		assert_int_equal(sl_embedding_layout(e, y, NULL), 0);
	sl_embedding_destroy(e);
	engine->graph_drop(graph);
	engine->close(device);
	return s.measure;
}

/* The engine's layout after three steps from y [n * dims]; gradient, if not NULL: gets the gradient at the start. */
static void
stepped(const struct sl_engine *engine, const struct rig *r, const struct sl_settings *s, float *y, float *gradient)
{
	bool adam = s->optimizer == SL_ADAM;
	struct sl_step step = {.exaggeration = adam ? 1 : 2, .learning_rate = adam ? 0.05f : 0.1f * (float)r->a->n,
			       .momentum = 0.8f};
	size_t floats = (size_t)r->a->n * (size_t)s->dims;
	float *repulsion = malloc(sizeof *repulsion * floats);
	struct sl_device *device;
	struct sl_device_graph *graph;
	struct sl_device_embedding *e;
	struct sl_error err;
	if (engine->open(&device, NULL, &err) || engine->graph_put(device, r->a, &graph, &err) ||
	    engine->embedding_create(graph, s, y, &e, &err) ||
	    (gradient && engine->forces(e, gradient, repulsion, NULL, &err)) || engine->run(e, &step, 3, &err) ||
	    engine->snapshot(e, y, &err))
		fail_msg("%s", err.detail);
	for (size_t i = 0; gradient && i < floats; i++)
		gradient[i] = step.exaggeration * gradient[i] - repulsion[i];
	engine->embedding_destroy(e);
	engine->graph_drop(graph);
	engine->close(device);
	free(repulsion);
}

/* Distance between the engines' layouts of that width after some steps, relative to the length of the steps. Adam's
 * first steps are the signs of the gradient, so small components may have either sign. */
static double steps_apart(const struct rig *r, const struct sl_settings *s, double width, uint64_t seed)
{
	size_t floats = (size_t)r->a->n * (size_t)s->dims;
	float *y0 = malloc(sizeof *y0 * floats), *here = malloc(sizeof *y0 * floats);
	float *there = malloc(sizeof *y0 * floats), *gradient = malloc(sizeof *y0 * floats);
	double apart = 0, way = 0, square = 0;
	for (size_t i = 0; i < floats; i++)
		y0[i] = here[i] = there[i] = (float)(width * sl_random_normal(seed, i));
	stepped(cuda, r, s, here, NULL);
	stepped(sl_engine_cpu(), r, s, there, gradient);
	for (size_t i = 0; i < floats; i++)
		square += pow((double)gradient[i], 2) / (double)floats;
	for (size_t i = 0; i < floats; i++)
		if (s->optimizer == SL_MOMENTUM || pow((double)gradient[i], 2) > 0.1 * square) {
			apart += pow((double)here[i] - (double)there[i], 2);
			way += pow((double)there[i] - (double)y0[i], 2);
		}
	free(y0);
	free(here);
	free(there);
	free(gradient);
	return sqrt(apart / way);
}

/* The limits follow from the accuracy of both engines' forces. Few and many nodes, since other kernels take their
 * steps, in 2-D and 3-D; on one grid, on two, by all pairs. */
static void first_steps_are_those_of_the_cpu_engine(void **state)
{
	enum { FEW = 3000, MANY = 21500 };
	static const struct {
		uint32_t n;
		int dims, accuracy, optimizer;
		double width;
		bool exact;
	} cases[] = {
		{FEW, 1, SL_DRAFT, SL_MOMENTUM, 10, false}, {FEW, 1, SL_NORMAL, SL_ADAM, 10, false},
		{FEW, 1, SL_FINE, SL_MOMENTUM, 10, false}, {FEW, 1, SL_DRAFT, SL_ADAM, 10, true},
		{FEW, 2, SL_FINE, SL_ADAM, 10, false}, {FEW, 2, SL_NORMAL, SL_ADAM, 70, false},
		{FEW, 2, SL_FINE, SL_ADAM, 40, false}, {FEW, 2, SL_FINE, SL_MOMENTUM, 40, false},
		{FEW, 2, SL_DRAFT, SL_ADAM, 10, true}, {MANY, 2, SL_DRAFT, SL_MOMENTUM, 10, false},
		{MANY, 2, SL_NORMAL, SL_MOMENTUM, 10, false}, {MANY, 2, SL_NORMAL, SL_ADAM, 10, false},
		{MANY, 2, SL_FINE, SL_MOMENTUM, 10, false}, {MANY, 2, SL_FINE, SL_ADAM, 10, false},
		{FEW, 3, SL_FINE, SL_MOMENTUM, 5, false}, {FEW, 3, SL_NORMAL, SL_ADAM, 3, false},
		{FEW, 3, SL_DRAFT, SL_ADAM, 10, false}, {FEW, 3, SL_NORMAL, SL_ADAM, 10, false},
		{FEW, 3, SL_DRAFT, SL_ADAM, 10, true}, {MANY, 3, SL_DRAFT, SL_MOMENTUM, 10, false},
		{MANY, 3, SL_NORMAL, SL_MOMENTUM, 10, false}, {MANY, 3, SL_DRAFT, SL_ADAM, 10, false},
	};
	NEED_GPU();
	uint64_t seed = fresh_seed();
	struct rig r[2];
	for (int many = 0; many < 2; many++) {
		r[many].graph = test_graph(many ? MANY : FEW, 7, true, false, 3);
		assert_int_equal(sl_affinities_create(&r[many].a, r[many].graph, &(struct sl_affinities_params){.lambda = 10},
						      NULL), 0);
	}
	for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
		if (test_light() && cases[c].n == MANY && cases[c].accuracy != SL_FINE)
			continue;
		struct sl_settings s = {.dims = cases[c].dims, .accuracy = cases[c].accuracy,
					.repulsion = cases[c].exact ? SL_REPULSION_EXACT : SL_REPULSION_GRID,
					.optimizer = cases[c].optimizer};
		const struct rig *its = &r[cases[c].n == MANY];
		double apart = steps_apart(its, &s, cases[c].width, seed + c);
		printf("%u nodes, %d-D, %g wide, %s %d, %s: %.1e apart\n", its->a->n, s.dims, cases[c].width,
		       cases[c].exact ? "all pairs" : "accuracy", s.accuracy, s.optimizer == SL_ADAM ? "Adam" : "momentum",
		       apart);
		double limit = s.accuracy == SL_DRAFT ? 3e-2 : s.accuracy == SL_NORMAL ? 1e-2 : 3e-3;
		limit *= s.dims == 3 ? 4 : 1;  /* twice that of forces (test_engine.c): both engines have errors */
		assert_true(apart < (cases[c].exact ? 1e-3 : limit));
	}
	rig_finish(&r[0]);
	rig_finish(&r[1]);
}

/* The end of a run depends on its first rounding errors, so the mean over several runs must agree. */
static void divergence_is_that_of_the_cpu_engine(void **state)
{
	/* in 1-D, chance decides which clusters are adjacent */
	static const struct {
		int dims, accuracy, iterations, runs;
		double limit;
	} cases[] = {{1, SL_NORMAL, 1000, 4, 5e-2}, {2, SL_NORMAL, 1000, 4, 5e-3}, {3, SL_NORMAL, 1000, 2, 5e-3},
		     {3, SL_DRAFT, 1000, 4, 5e-3}};
	NEED_GPU();
	struct rig r;
	rig_init(&r, 6000);  /* wide 3-D layouts use pairs beside a grid */
	for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
		double here = 0, there = 0;
		for (int seed = 0; seed < cases[c].runs; seed++) {
			struct sl_params p;
			sl_params_preset(&p, SL_PRESET_DEFAULT);
			p.dims = cases[c].dims;
			p.accuracy = cases[c].accuracy;
			p.iterations = cases[c].iterations;
			p.seed = (uint64_t)seed;
			p.repulsion = SL_REPULSION_GRID;
			p.exaggeration_iterations = 250;  /* no search for the scale, so that only forces decide the end */
			p.rescale = 0;
			here += whole_run(cuda, &r, &p, NULL) / cases[c].runs;
			there += whole_run(sl_engine_cpu(), &r, &p, NULL) / cases[c].runs;
		}
		printf("%d-D, accuracy %d: KL %.4f on the GPU, %.4f on the CPU\n", cases[c].dims, cases[c].accuracy, here,
		       there);
		assert_true(fabs(here / there - 1) < cases[c].limit);
	}
	rig_finish(&r);
}

static void five_runs_give_the_same_bytes(void **state)
{
	NEED_GPU();
	struct rig r;
	rig_init(&r, 5000);
	for (int kind = 0; kind < 4; kind++) {
		struct sl_params p;
		sl_params_preset(&p, SL_PRESET_DEFAULT);
		p.dims = 1 + kind % 3;
		p.iterations = test_iterations(200);
		p.exaggeration_iterations = test_iterations(100);
		p.repulsion = kind == 3 ? SL_REPULSION_EXACT : SL_REPULSION_GRID;
		p.optimizer = kind == 2 ? SL_ADAM : SL_MOMENTUM;
		size_t bytes = sizeof(float) * r.a->n_user * (size_t)p.dims;
		float *first = malloc(bytes), *again = malloc(bytes);
		whole_run(cuda, &r, &p, first);
		for (int i = 1; i < 5; i++) {
			whole_run(cuda, &r, &p, again);
			assert_memory_equal(first, again, bytes);
		}
		free(first);
		free(again);
	}
	rig_finish(&r);
}

/* Alternates iterations of e and `other`, which takes over the grids; with a checkpoint, continues in a third
 * embedding. */
static void run_in_turns(struct sl_device_graph *graph, const struct sl_settings *s, const float *y, float *out)
{
	static const struct sl_step step = {.exaggeration = 4, .learning_rate = 3000, .momentum = 0.5f};
	struct sl_device_embedding *e, *other, *third;
	assert_int_equal(cuda->embedding_create(graph, s, y, &e, NULL), 0);
	assert_int_equal(cuda->embedding_create(graph, s, y, &other, NULL), 0);
	assert_int_equal(cuda->embedding_create(graph, s, y, &third, NULL), 0);
	uint64_t bytes = cuda->state_bytes(e);
	void *state = malloc(bytes);
	assert_int_equal(cuda->run(e, &step, 3, NULL), 0);
	assert_int_equal(cuda->run(other, &step, 2, NULL), 0);
	assert_int_equal(cuda->run(e, &step, 1, NULL), 0);
	assert_int_equal(cuda->state_save(e, state, NULL), 0);
	assert_int_equal(cuda->state_load(third, state, bytes, NULL), 0);
	assert_int_equal(cuda->run(third, &step, 3, NULL), 0);
	assert_int_equal(cuda->snapshot(third, out, NULL), 0);
	cuda->embedding_destroy(e);
	cuda->embedding_destroy(other);
	cuda->embedding_destroy(third);
	free(state);
}

/* With so many nodes the attraction reads rounded positions, which must not depend on the kernel that moved the
 * points. */
static void taking_turns_makes_no_difference(void **state)
{
	static const struct sl_step step = {.exaggeration = 4, .learning_rate = 3000, .momentum = 0.5f};
	NEED_GPU();
	struct sl_affinities_params params = {.lambda = 10};
	struct sl_device *device;
	struct sl_device_graph *graph;
	struct rig r;
	r.graph = test_graph(33000, 7, true, false, 3);
	assert_int_equal(sl_affinities_create(&r.a, r.graph, &params, NULL), 0);
	assert_int_equal(cuda->open(&device, NULL, NULL), 0);
	assert_int_equal(cuda->graph_put(device, r.a, &graph, NULL), 0);
	for (int dims = 2; dims <= 3; dims++) {
		struct sl_settings s = {.dims = dims, .accuracy = SL_DRAFT, .repulsion = SL_REPULSION_GRID};
		size_t floats = (size_t)r.a->n * (size_t)dims;
		float *y = malloc(sizeof *y * floats);
		float *whole = malloc(sizeof *y * floats), *pieces = malloc(sizeof *y * floats);
		struct sl_device_embedding *e;
		for (size_t i = 0; i < floats; i++)
			y[i] = (float)(8 * sl_random_normal(5, i));
		assert_int_equal(cuda->embedding_create(graph, &s, y, &e, NULL), 0);
		assert_int_equal(cuda->run(e, &step, 7, NULL), 0);
		assert_int_equal(cuda->snapshot(e, whole, NULL), 0);
		cuda->embedding_destroy(e);
		run_in_turns(graph, &s, y, pieces);
		assert_memory_not_equal(y, whole, sizeof *y * floats);
		assert_memory_equal(whole, pieces, sizeof *y * floats);
		free(y);
		free(whole);
		free(pieces);
	}
	cuda->graph_drop(graph);
	cuda->close(device);
	rig_finish(&r);
}

/* Returns how far a small job gets within a budget: 0 the graph, 1 the embedding, 2 its iterations, 3 to the end.
 * used[at]: bytes in use after each. */
static int job_within(uint64_t budget, const struct rig *r, const float *y, uint64_t used[3])
{
	struct sl_settings s = {.dims = 2, .accuracy = SL_NORMAL, .repulsion = SL_REPULSION_GRID};
	struct sl_step step = {.exaggeration = 4, .learning_rate = 700, .momentum = 0.8f};
	struct sl_device_options options = {.memory_bytes = budget};
	struct sl_device *device;
	struct sl_device_graph *graph = NULL;
	struct sl_device_embedding *e = NULL;
	struct sl_device_info info;
	struct sl_error err;
	assert_int_equal(cuda->open(&device, &options, NULL), 0);
	cuda->info(device, &info);
	uint64_t own = info.memory_used;  /* memory of the empty device */
	int code = 0, at;
	for (at = 0; at < 3; at++) {
		code = at == 0 ? cuda->graph_put(device, r->a, &graph, &err) :
		       at == 1 ? cuda->embedding_create(graph, &s, y, &e, &err) : cuda->run(e, &step, 10, &err);
		cuda->info(device, &info);
		assert_true(!budget || info.memory_used <= budget);
		if (code)
			break;
		used[at] = info.memory_used;
	}
	if (code) {
		assert_int_equal(code, SL_DEVMEM);
		assert_non_null(strstr(err.detail, "bytes of GPU memory"));
	}
	if (e)
		cuda->embedding_destroy(e);
	cuda->graph_drop(graph);
	cuda->plans_clear(device);
	cuda->info(device, &info);
	assert_int_equal(info.memory_used, own);
	cuda->close(device);
	return at;
}

/* Each request that does not fit is refused with SL_DEVMEM and the bytes it needs, and leaves nothing behind. */
static void a_small_budget_is_kept(void **state)
{
	NEED_GPU();
	struct rig r;
	struct sl_affinities_params params = {.lambda = 10};
	r.graph = test_graph(20000, 7, true, false, 3);
	assert_int_equal(sl_affinities_create(&r.a, r.graph, &params, NULL), 0);
	float *y = malloc(sizeof *y * r.a->n * 2);
	for (uint32_t i = 0; i < 2 * r.a->n; i++)
		y[i] = (float)(30 * sl_random_normal(1, i));
	uint64_t used[3], ignored[3];
	assert_int_equal(job_within(0, &r, y, used), 3);
	for (int at = 0; at < 3; at++)
		assert_int_equal(job_within(used[at] - 1, &r, y, ignored), at);
	assert_int_equal(job_within(used[2], &r, y, ignored), 3);
	free(y);
	rig_finish(&r);
}

/* The repulsion of node i, not divided by Z, in double precision. */
static void exact_repulsion(const float *y, uint32_t n, int dims, uint32_t i, double *force)
{
	for (int k = 0; k < dims; k++)
		force[k] = 0;
	for (uint32_t j = 0; j < n; j++) {
		double diff[3], r2 = 1;
		for (int k = 0; k < dims; k++) {
			diff[k] = (double)y[i * (size_t)dims + (size_t)k] - (double)y[j * (size_t)dims + (size_t)k];
			r2 += diff[k] * diff[k];
		}
		for (int k = 0; k < dims; k++)
			force[k] += diff[k] / (r2 * r2);
	}
}

#define CHECKED 300u

/* Steps leave the next layout's charges on the grid. Forces from these must equal forces from newly spread charges,
 * byte for byte, and be correct. width: of the layout; order: whether neighbours in memory are near. */
static void
check_charges(struct sl_device_graph *graph, uint32_t n, const struct sl_settings *s, double width, bool near)
{
	size_t floats = n * (size_t)s->dims;
	float *y = malloc(sizeof *y * floats), *left = malloc(sizeof *y * floats), *fresh = malloc(sizeof *y * floats);
	struct sl_step step = {.exaggeration = 1, .learning_rate = 1e-3f * n, .momentum = 0.5f};
	struct sl_device_embedding *e;
	struct sl_error err;
	double left_z, fresh_z, wrong = 0, all = 0;
	for (uint32_t i = 0; i < n; i++) {
		double along = near ? (double)i / n : sl_random_uniform(8, i);
		for (int k = 0; k < s->dims; k++)
			y[i * (size_t)s->dims + (size_t)k] =
				(float)(width * (0.5 * cos(40 * along + 1.6 * k) + 0.02 * sl_random_normal(9, i * 3 + (uint32_t)k)));
	}
	if (cuda->embedding_create(graph, s, y, &e, &err) || cuda->run(e, &step, test_iterations(20), &err) ||
	    cuda->forces(e, NULL, left, &left_z, &err) || cuda->forces(e, NULL, fresh, &fresh_z, &err) ||
	    cuda->snapshot(e, y, &err))
		fail_msg("%s", err.detail);
	assert_memory_equal(left, fresh, sizeof *y * floats);
	assert_true(left_z == fresh_z);
	for (uint32_t c = 0; c < CHECKED; c++) {
		uint32_t i = (uint32_t)((uint64_t)c * n / CHECKED);
		double right[3];
		exact_repulsion(y, n, s->dims, i, right);
		for (int k = 0; k < s->dims; k++) {
			wrong += pow((double)left[i * (size_t)s->dims + (size_t)k] * left_z - right[k], 2);
			all += pow(right[k], 2);
		}
	}
	double limit = s->accuracy == SL_FINE ? 5e-3 : s->dims == 3 ? 1e-1 : 4e-2;
	if (!(sqrt(wrong / all) < limit))
		fail_msg("%u nodes, %d-D, accuracy %d, width %g: force error %g", n, s->dims, s->accuracy, width,
			 sqrt(wrong / all));
	cuda->embedding_destroy(e);
	free(y);
	free(left);
	free(fresh);
}

static void steps_leave_the_charges_of_the_layout(void **state)
{
	static const uint32_t nodes[] = {5000, 40000};
	NEED_GPU();
	for (int at = 0; at < 2; at++) {
		struct sl_affinities_params params = {.lambda = 10};
		struct sl_device *device;
		struct sl_device_graph *graph;
		struct rig r;
		r.graph = test_graph(nodes[at], 7, true, false, 3);
		assert_int_equal(sl_affinities_create(&r.a, r.graph, &params, NULL), 0);
		assert_int_equal(cuda->open(&device, NULL, NULL), 0);
		assert_int_equal(cuda->graph_put(device, r.a, &graph, NULL), 0);
		for (int kind = 0; kind < 24; kind++) {
			static const double widths[] = {1e-3, 20, 300};
			struct sl_settings s = {.dims = 2 + kind / 12, .accuracy = kind / 6 % 2 ? SL_FINE : SL_DRAFT,
						.repulsion = SL_REPULSION_GRID};
			double width = widths[kind / 2 % 3];
			check_charges(graph, r.a->n, &s, s.dims == 3 && width > 40 ? 40 : width, kind % 2);
		}
		cuda->graph_drop(graph);
		cuda->close(device);
		rig_finish(&r);
	}
}

static void names_of_engines(void **state)
{
	const struct sl_engine *engine = NULL;
	struct sl_error err;
	assert_int_equal(sl_engine_open("cpu", &engine, &err), 0);
	assert_string_equal(engine->name, "cpu");
	assert_int_equal(sl_engine_open("gpu", &engine, &err), SL_BADPARAM);
	assert_int_equal(sl_engine_open("auto", &engine, &err), 0);
	assert_string_equal(engine->name, cuda ? "cuda" : "cpu");
	assert_int_equal(err.code, cuda ? SL_OK : SL_NODEVICE);
	assert_int_equal(sl_engine_open("cuda", &engine, &err), cuda ? 0 : SL_NODEVICE);
	struct sl_device_options options = {.index = 99};
	struct sl_device *device;
	if (cuda)
		assert_int_equal(cuda->open(&device, &options, &err), SL_NODEVICE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_of_engines),
		cmocka_unit_test(first_steps_are_those_of_the_cpu_engine),
		cmocka_unit_test(divergence_is_that_of_the_cpu_engine),
		cmocka_unit_test(five_runs_give_the_same_bytes),
		cmocka_unit_test(taking_turns_makes_no_difference),
		cmocka_unit_test(a_small_budget_is_kept),
		cmocka_unit_test(steps_leave_the_charges_of_the_layout),
	};
	return cmocka_run_group_tests(tests, need_gpu, NULL);
}
