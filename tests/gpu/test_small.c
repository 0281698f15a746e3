/* Small embeddings and snapshots of the CUDA engine: the CPU engine's forces and steps, the same bytes alone and beside
 * others, no leaks. Skipped without a GPU. With the argument "bench" it prints times instead. */
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/embedding/embedding.h"
#include "core/engine/load.h"
#include "core/graph/affinities.h"
#include "core/params.h"
#include "core/random.h"
#include "tests/gpu/need_gpu.h"
#include "tests/gpu/snapshots.h"
#include "tests/unit/graphs.h"

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

struct rig {
	const struct sl_engine *engine;
	struct sl_device *device;
	struct sl_graph *graph;
	struct sl_affinities *a;
	struct sl_device_graph *resident;
};

/* Every node has neighbours, n + extra edges. */
static struct sl_graph *ring(uint32_t n, uint32_t extra, uint64_t seed)
{
	struct sl_graph_builder *b = NULL;
	struct sl_graph *g = NULL;
	uint64_t state = seed + 1;
	assert_int_equal(sl_graph_builder_create(&b, SL_SYMMETRIC, true, 0, NULL), 0);
	for (uint32_t i = 1; i < n; i++)
		assert_int_equal(sl_graph_builder_add(b, i, i - 1, (float)(0.5 + test_uniform(&state))), 0);
	for (uint32_t k = 0; k < extra; k++) {
		uint32_t i = (uint32_t)(test_random(&state) % n), j = (uint32_t)(test_random(&state) % n);
		if (i != j)
			assert_int_equal(sl_graph_builder_add(b, i > j ? i : j, i > j ? j : i, (float)test_uniform(&state)), 0);
	}
	assert_int_equal(sl_graph_builder_finish(b, n, &g, NULL), 0);
	return g;
}

static void put(struct rig *r, const struct sl_engine *engine, struct sl_graph *graph, struct sl_device *device)
{
	struct sl_affinities_params params = {.lambda = 1};
	struct sl_error err;
	*r = (struct rig){.engine = engine, .graph = graph, .device = device};
	if (sl_affinities_create(&r->a, graph, &params, &err) || engine->graph_put(device, r->a, &r->resident, &err))
		fail_msg("%s", err.detail);
}

static void take_away(struct rig *r)
{
	r->engine->graph_drop(r->resident);
	sl_affinities_destroy(r->a);
	sl_graph_destroy(r->graph);
}

static struct sl_device *open_device(const struct sl_engine *engine)
{
	struct sl_device *device;
	struct sl_error err;
	if (engine->open(&device, NULL, &err))
		fail_msg("%s", err.detail);
	return device;
}

static uint64_t used(struct sl_device *device)
{
	struct sl_device_info info;
	cuda->info(device, &info);
	return info.memory_used;
}

/* |a - b| / |b| */
static double difference(const float *a, const float *b, size_t count)
{
	double error = 0, size = 0;
	for (size_t i = 0; i < count; i++) {
		error += pow((double)a[i] - (double)b[i], 2);
		size += pow((double)b[i], 2);
	}
	return sqrt(error / size);
}

/* A few iterations and a measure on both engines, all pairs, from the same random layout. */
static void compare(uint32_t n, int dims, int optimizer, struct sl_device *device)
{
	const struct sl_engine *engines[2] = {cuda, sl_engine_cpu()};
	struct sl_settings s = {.dims = dims, .optimizer = optimizer, .accuracy = SL_NORMAL,
				.repulsion = SL_REPULSION_EXACT, .dof = (n + (uint32_t)dims) % 2 ? 1 : 1.7};
	struct sl_step step = {.exaggeration = 4, .learning_rate = optimizer == SL_ADAM ? 0.1f : 50, .momentum = 0.8f};
	size_t floats = n * (size_t)dims;
	float *y0 = malloc(sizeof *y0 * floats), *y[2];
	struct sl_measure m[2];
	static uint64_t seed = 1;
	seed += (uint64_t)time(NULL) % 1000;  /* a different seed in each run */
	for (size_t i = 0; i < floats; i++)
		y0[i] = (float)(3 * sl_random_normal(seed, i));
	for (int k = 0; k < 2; k++) {
		struct sl_device *d = k ? open_device(engines[1]) : device;
		struct sl_device_embedding *e;
		struct rig r;
		put(&r, engines[k], ring(n, 12 * n, n), d);
		assert_int_equal(r.a->n, n);
		y[k] = malloc(sizeof *y0 * floats);
		assert_int_equal(engines[k]->embedding_create(r.resident, &s, y0, &e, NULL), 0);
		assert_true(k || cuda->joins(e));
		assert_int_equal(engines[k]->run(e, &step, 3, NULL), 0);
		assert_int_equal(engines[k]->measure(e, &m[k], NULL), 0);
		assert_int_equal(engines[k]->snapshot(e, y[k], NULL), 0);
		engines[k]->embedding_destroy(e);
		take_away(&r);
		if (k)
			engines[k]->close(d);
	}
	double error = difference(y[0], y[1], floats);
	if (!(error < 1e-4))
		fail_msg("n %u, %d-D, optimizer %d, seed %llu: layouts differ by %g", n, dims, optimizer,
			 (unsigned long long)seed, error);
	/* logarithms are in single precision, and Z is computed as (n + Z) - n */
	assert_true(fabs(m[0].kl - m[1].kl) < 1e-4 * fabs(m[1].kl) + 1e-5);
	assert_true(fabs(m[0].z - m[1].z) < 1e-5 * m[1].z + 3e-7 * n);
	/* two or three nodes soon reach an equilibrium of the forces */
	if (!(fabs(m[0].gradient_norm - m[1].gradient_norm) < 1e-3 * m[1].gradient_norm + 1e-5))
		fail_msg("n %u, %d-D: gradient %g, %g", n, dims, m[0].gradient_norm, m[1].gradient_norm);
	for (int k = 0; k < dims; k++) {
		assert_true(fabsf(m[0].low[k] - m[1].low[k]) < 1e-3f);
		assert_true(fabsf(m[0].high[k] - m[1].high[k]) < 1e-3f);
	}
	assert_true(m[0].finite && m[0].h == 0);
	free(y0);
	free(y[0]);
	free(y[1]);
}

static void steps_are_those_of_the_cpu_engine(void **state)
{
	NEED_GPU();
	static const uint32_t sizes[] = {2, 3, 31, 33, 127, 128, 129, 256, 257, 500, 512, 513, 1000, 1024, 1025, 2047,
					 2048};
	struct sl_device *device = open_device(cuda);
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
		for (int dims = 1; dims <= 3; dims++)
			if (!test_light() || (i % 6 == 3 && (sizes[i] < 100 || dims == 2)))
				compare(sizes[i], dims, (i + (size_t)dims) % 3 ? SL_MOMENTUM : SL_ADAM, device);
	cuda->plans_clear(device);
	cuda->close(device);
}

static struct sl_params job_params(int which)
{
	struct sl_params p;
	sl_params_preset(&p, SL_PRESET_DEFAULT);
	p.lambda = 1;
	p.dims = 1 + which % 3;
	p.iterations = test_iterations(100 + 37 * (which % 5));
	p.exaggeration_iterations = test_iterations(40);
	p.trace_interval = which % 4 ? 20 : 0;
	p.optimizer = which % 7 == 3 ? SL_ADAM : SL_MOMENTUM;
	p.dof = which % 5 == 2 ? 0.5 : which % 5 == 4 ? 3 : 1;
	p.kl_patience = which % 6 == 5 ? 40 : 0;
	p.seed = (uint64_t)which;
	return p;
}

#define JOBS 40

/* Compares bytes, traces and numbers of iterations. */
static void alone_or_beside_others_makes_no_difference(void **state)
{
	NEED_GPU();
	struct sl_device *device = open_device(cuda);
	uint64_t before = used(device);
	struct rig rig[3];
	static const uint32_t sizes[3] = {60, 700, 1500};
	for (int i = 0; i < 3; i++)
		put(&rig[i], cuda, ring(sizes[i], 10 * sizes[i], 5), device);
	struct sl_embedding *alone[JOBS], *beside[JOBS];
	struct sl_status status[JOBS], s;
	struct sl_error err, each[JOBS];
	int code[JOBS];
	for (int i = 0; i < JOBS; i++) {
		struct sl_params p = job_params(i);
		struct rig *r = &rig[i % 3];
		assert_int_equal(sl_embedding_create(&alone[i], cuda, r->resident, r->a, &p, NULL, &err), 0);
		assert_int_equal(sl_embedding_create(&beside[i], cuda, r->resident, r->a, &p, NULL, &err), 0);
		assert_true(sl_embedding_joins(beside[i]));
		do
			assert_int_equal(sl_embedding_advance(alone[i], 0.3, &s, &err), 0);
		while (!s.done);
	}
	bool all;
	do {
		if (sl_embedding_advance_together(beside, JOBS, 0.7, status, code, each, &err))
			fail_msg("%s", err.detail);
		all = true;
		for (int i = 0; i < JOBS; i++) {
			assert_int_equal(code[i], 0);
			all = all && status[i].done;
		}
	} while (!all);
	for (int i = 0; i < JOBS; i++) {
		int dims = sl_embedding_params(alone[i])->dims, points[2];
		size_t floats = rig[i % 3].a->n_user * (size_t)dims;
		float *y[2] = {malloc(floats * sizeof(float)), malloc(floats * sizeof(float))};
		assert_int_equal(sl_embedding_layout(alone[i], y[0], NULL), 0);
		assert_int_equal(sl_embedding_layout(beside[i], y[1], NULL), 0);
		assert_memory_equal(y[0], y[1], floats * sizeof(float));
		const struct sl_trace_point *a = sl_embedding_trace(alone[i], &points[0]);
		const struct sl_trace_point *b = sl_embedding_trace(beside[i], &points[1]);
		assert_int_equal(points[0], points[1]);
		for (int k = 0; k < points[0]; k++)
			assert_true(a[k].iteration == b[k].iteration && a[k].measure == b[k].measure &&
				    a[k].gradient_norm == b[k].gradient_norm && a[k].exaggeration == b[k].exaggeration);
		assert_true(isfinite(a[points[0] - 1].measure));
		free(y[0]);
		free(y[1]);
		sl_embedding_destroy(alone[i]);
		sl_embedding_destroy(beside[i]);
	}
	for (int i = 0; i < 3; i++)
		take_away(&rig[i]);
	cuda->plans_clear(device);
	assert_int_equal(used(device), before);
	cuda->close(device);
}

/* A diverging embedding fails; those beside it are not affected. */
static void one_that_diverges_fails_alone(void **state)
{
	NEED_GPU();
	struct sl_device *device = open_device(cuda);
	struct rig r;
	put(&r, cuda, ring(300, 900, 2), device);
	struct sl_embedding *e[3];
	struct sl_status status[3];
	struct sl_error err, each[3];
	int code[3];
	for (int i = 0; i < 3; i++) {
		struct sl_params p = job_params(1);
		if (i == 1) {
			p.optimizer = SL_ADAM;
			p.learning_rate = 1e15;
		}
		assert_int_equal(sl_embedding_create(&e[i], cuda, r.resident, r.a, &p, NULL, &err), 0);
	}
	assert_int_equal(sl_embedding_advance_together(e, 3, 100, status, code, each, &err), 0);
	assert_int_equal(code[0], 0);
	assert_int_equal(code[1], SL_BADPARAM);
	assert_string_equal(each[1].pointer, "/learning_rate");
	assert_int_equal(code[2], 0);
	for (int i = 0; i < 3; i++)
		sl_embedding_destroy(e[i]);
	take_away(&r);
	cuda->close(device);
}

/* A snapshot has the layout of the moment of the request, whatever runs afterwards. */
static void snapshots_are_of_their_moment(void **state)
{
	NEED_GPU();
	struct sl_device *device = open_device(cuda);
	for (int dims = 1; dims <= 3; dims++)
		for (int large = 0; large < 2; large++) {
			struct rig r;
			uint32_t n = !large ? 900 : test_light() ? 5000 : 30000;
			put(&r, cuda, ring(n, 5 * n, 3), device);
			struct sl_settings s = {.dims = dims, .accuracy = SL_DRAFT, .repulsion = SL_REPULSION_AUTO};
			struct sl_step step = {.exaggeration = 1, .learning_rate = 1000, .momentum = 0.8f};
			size_t floats = n * (size_t)dims;
			float *y0 = malloc(floats * sizeof *y0), *plain = malloc(floats * sizeof *y0), low[3], extent;
			float *later = malloc(floats * sizeof *y0);
			uint16_t *quantised = malloc(floats * sizeof *quantised);
			struct sl_device_embedding *e;
			struct sl_device_snapshot *snapshot[2];
			for (size_t i = 0; i < floats; i++)
				y0[i] = (float)(5 * sl_random_normal(9, i));
			assert_int_equal(cuda->embedding_create(r.resident, &s, y0, &e, NULL), 0);
			assert_int_equal(cuda->run(e, &step, 5, NULL), 0);
			assert_int_equal(cuda->snapshot(e, plain, NULL), 0);
			for (int k = 0; k < 2; k++)
				assert_int_equal(cuda->snapshot_start(e, k, &snapshot[k], NULL), 0);
			assert_int_equal(cuda->run(e, &step, test_iterations(50), NULL), 0);
			while (!cuda->snapshot_ready(snapshot[0]))
				;
			test_take_snapshot(cuda, snapshot[0], later, floats * sizeof *later, low, &extent);
			assert_memory_equal(plain, later, floats * sizeof *later);
			test_take_snapshot(cuda, snapshot[1], quantised, floats * sizeof *quantised, low, &extent);
			for (size_t i = 0; i < floats; i++) {
				double x = (double)low[i % (size_t)dims] + (double)extent * quantised[i] / 65535;
				assert_true(fabs(x - (double)plain[i]) <= 0.51 * (double)extent / 65535 + 1e-6);
			}
			assert_int_equal(cuda->snapshot(e, later, NULL), 0);
			assert_memory_not_equal(plain, later, floats * sizeof *later);
			cuda->embedding_destroy(e);
			take_away(&r);
			free(y0);
			free(plain);
			free(later);
			free(quantised);
		}
	cuda->close(device);
}

struct reader {
	struct sl_device_snapshot *snapshot;
	const float *data;
	float *copy;
	size_t floats;
};

static void *read_late(void *arg)
{
	struct reader *r = arg;
	usleep(50000);
	memcpy(r->copy, r->data, r->floats * sizeof *r->copy);
	cuda->snapshot_release(r->snapshot);
	return NULL;
}

/* Another thread reads a snapshot after its embedding was destroyed, while the device is closed. */
static void closing_waits_for_readers(void **state)
{
	NEED_GPU();
	struct rig r;
	struct sl_device *device = open_device(cuda);
	uint32_t n = 40000;
	put(&r, cuda, ring(n, 5 * n, 3), device);
	struct sl_settings s = {.dims = 2, .accuracy = SL_DRAFT, .repulsion = SL_REPULSION_AUTO};
	float *y0 = malloc(2 * n * sizeof *y0), low[3], extent;
	struct reader reader = {.floats = 2 * n, .copy = malloc(2 * n * sizeof *y0)};
	struct sl_device_embedding *e;
	pthread_t thread;
	const void *data;
	for (size_t i = 0; i < reader.floats; i++)
		y0[i] = (float)(5 * sl_random_normal(9, i));
	assert_int_equal(cuda->embedding_create(r.resident, &s, y0, &e, NULL), 0);
	assert_int_equal(cuda->snapshot(e, y0, NULL), 0);
	assert_int_equal(cuda->snapshot_start(e, false, &reader.snapshot, NULL), 0);
	assert_int_equal(cuda->snapshot_finish(reader.snapshot, &data, low, &extent, NULL), 0);
	reader.data = data;
	assert_int_equal(pthread_create(&thread, NULL, read_late, &reader), 0);
	cuda->embedding_destroy(e);
	take_away(&r);
	cuda->close(device);
	assert_memory_equal(y0, reader.copy, reader.floats * sizeof *y0);
	pthread_join(thread, NULL);
	free(y0);
	free(reader.copy);
}

/* ---- how fast ------------------------------------------------------------------------------- */

/* Seconds for `count` jobs on graphs of n nodes and k entries per row, together; 0: one after the other. */
static double time_jobs(struct rig *r, int jobs, int iterations, bool together, bool layouts)
{
	struct sl_embedding *e[SL_EMBEDDINGS_TOGETHER];
	struct sl_status status[SL_EMBEDDINGS_TOGETHER];
	struct sl_error err, each[SL_EMBEDDINGS_TOGETHER];
	int code[SL_EMBEDDINGS_TOGETHER];
	struct sl_params p;
	float *y = malloc(sizeof *y * r->a->n_user * 2);
	sl_params_preset(&p, SL_PRESET_DEFAULT);
	p.iterations = iterations;
	p.lambda = 1;
	double began = now();
	for (int i = 0; i < jobs; i++) {
		p.seed = (uint64_t)i;
		assert_int_equal(sl_embedding_create(&e[i], cuda, r->resident, r->a, &p, NULL, &err), 0);
		for (status[i].done = together; !status[i].done;)
			assert_int_equal(sl_embedding_advance(e[i], 1e9, &status[i], &err), 0);
	}
	for (bool all = !together; !all;) {
		if (sl_embedding_advance_together(e, jobs, 1e9, status, code, each, &err))
			fail_msg("%s", err.detail);
		all = true;
		for (int i = 0; i < jobs; i++)
			all = all && status[i].done;
	}
	for (int i = 0; i < jobs; i++) {
		if (layouts)
			assert_int_equal(sl_embedding_layout(e[i], y, NULL), 0);
		sl_embedding_destroy(e[i]);
	}
	double took = now() - began;
	free(y);
	return took;
}

static int bench(void)
{
	static const uint32_t sizes[] = {100, 200, 400, 700, 1000, 1400, 2000, 2048};
	struct sl_device *device = open_device(cuda);
	printf("jobs of 1,000 iterations, 30 entries a row, 2-D; us an iteration; jobs/s with creation and layout\n"
	       "| nodes | alone | 8 together, each | 16 | 32 | 64 | 128 | jobs/s, one by one | jobs/s, 128 together |\n"
	       "| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n");
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		struct rig r;
		put(&r, cuda, ring(sizes[i], 14 * sizes[i], 4), device);
		time_jobs(&r, 4, 1000, true, false);
		printf("| %u | %.2f |", sizes[i], 1e3 * time_jobs(&r, 1, 1000, true, false));
		for (int jobs = 8; jobs <= 128; jobs *= 2)
			printf(" %.2f |", 1e3 * time_jobs(&r, jobs, 1000, true, false) / jobs);
		printf(" %.0f | %.0f |\n", 16 / time_jobs(&r, 16, 1000, false, true),
		       128 / time_jobs(&r, 128, 1000, true, true));
		fflush(stdout);
		take_away(&r);
	}
	struct rig r;
	put(&r, cuda, ring(1000, 14000, 4), device);
	time_jobs(&r, 128, 250, true, true);
	printf("1,000 nodes, 250 iterations: %.0f jobs/s one by one, %.0f jobs/s 128 together\n",
	       64 / time_jobs(&r, 64, 250, false, true), 128 / time_jobs(&r, 128, 250, true, true));
	take_away(&r);
	cuda->close(device);
	return 0;
}

int main(int count, char **word)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(steps_are_those_of_the_cpu_engine),
		cmocka_unit_test(alone_or_beside_others_makes_no_difference),
		cmocka_unit_test(one_that_diverges_fails_alone),
		cmocka_unit_test(snapshots_are_of_their_moment),
		cmocka_unit_test(closing_waits_for_readers),
	};
	if (count > 1 && !strcmp(word[1], "bench"))
		return need_gpu(NULL) || !cuda || bench();
	return cmocka_run_group_tests(tests, need_gpu, NULL);
}
