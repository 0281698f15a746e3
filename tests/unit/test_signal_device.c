/* Signals with steps on a device, compared with the same run on the CPU. SPACELAND_ENGINE names the device's engine; by
 * default the plain passes of tests/plugin/ are the device. */
#include "core/engine/load.h"
#include "core/signal/signal_internal.h"
#include "tests/plugin/signal_passes.h"
#include "tests/unit/graphs.h"
#include "tests/unit/signal_networks.h"

static struct sl_engine engine;
static struct sl_device *device;

static const struct sl_operation plain_operations[] = {
	SL_OPERATION(SL_SIGNAL_PASSES, sl_signal_open, plain_signal_passes), {NULL, NULL}
};

static int open_device(void **state)
{
	const char *name = getenv("SPACELAND_ENGINE");
	const struct sl_engine *named;
	struct sl_error err;
	if (sl_engine_open(name && *name ? name : "cpu", &named, &err)) {
		printf("%s\n", err.detail);
		return -1;
	}
	engine = *named;
	if (!sl_signal_opener(&engine))
		engine.operations = plain_operations;
	return engine.open(&device, NULL, &err);
}

static int close_device(void **state)
{
	engine.close(device);
	return plain_signals;
}

static struct sl_signal_params params_of(int model, int integrator, int laplacian)
{
	struct sl_signal_params p;
	sl_param_defaults(&sl_signal_table, &p);
	p.model = model;
	p.integrator = integrator;
	p.laplacian = laplacian;
	p.diffusion = laplacian ? 0.4 : 1e-3;
	p.infection = laplacian ? 1.5 : 0.02;
	p.duration = 1.5;
	p.snapshots = model == SL_SIGNAL_PAGERANK ? 0 : 3;
	p.start_nodes = (struct sl_param_list){2, {77, NODES - 1}};
	p.start_hops = 1;
	p.stimulus_nodes = (struct sl_param_list){1, {100}};
	p.stimulus_hops = 1;
	p.stimulus_start = 0.31;
	p.stimulus_duration = 0.4;
	p.iterations = 200;
	return p;
}

static bool goes_together(int model, int integrator)
{
	return model < SL_SIGNAL_SIR || integrator == SL_SIGNAL_EULER ||
	       (model == SL_SIGNAL_SIR && integrator != SL_SIGNAL_CRANK_NICOLSON);
}

/* ---- whole runs -------------------------------------------------------------------------------------- */

struct outcome {
	struct sl_signal_status status;
	double y[2 * NODES], level;
	float snapshot[3 * 2 * NODES], times[3];
	int snapshots;
};

/* pause: most steps of an advance on a device. on_device: false: on the CPU. */
static void run(struct sl_coupling *c, const struct sl_signal_params *p, bool on_device, int pause,
		struct outcome *out)
{
	struct sl_signal *s = NULL;
	struct sl_error err;
	const float *times;
	bool whole;
	int code = sl_signal_create(&s, c, p, NULL, 0, &err);
	if (!code && on_device)
		code = sl_signal_attach(s, &engine, device, &err);
	memset(out, 0, sizeof *out);
	while (!code && !out->status.done) {
		sl_signal_pause_at(s, out->status.step + pause);
		code = sl_signal_advance(s, 1e9, &whole, &out->status, &err);
		assert_true(code || whole);
	}
	if (code)
		fail_msg("model %d, integrator %d: %s", p->model, p->integrator, err.detail);
	out->level = sl_signal_level(s);
	sl_signal_values_exact(s, out->y);
	const float *all = sl_signal_snapshots(s, &out->snapshots, &times);
	memcpy(out->snapshot, all, (size_t)out->snapshots * NODES * (size_t)sl_signal_fields(p) * sizeof *all);
	memcpy(out->times, times, (size_t)out->snapshots * sizeof *times);
	float *theirs, *taken = sl_signal_take_snapshots(s, &out->snapshots, &theirs);
	assert_true(taken == all && theirs == times);  /* not a copy */
	sl_signal_destroy(s);
	free(taken);
	free(theirs);
}

static void agree(const struct sl_signal_params *p, const struct outcome *a, const struct outcome *b)
{
	size_t values = (size_t)NODES * (size_t)sl_signal_fields(p);
	bool chance = p->model == SL_SIGNAL_SIR_CHANCE, adaptive = p->integrator == SL_SIGNAL_BOGACKI_SHAMPINE ||
								    p->integrator == SL_SIGNAL_DORMAND_PRINCE;
	double within = chance ? 0 : adaptive || p->integrator == SL_SIGNAL_CRANK_NICOLSON ? 1e-8 : 1e-11;
	assert_int_equal(a->status.step, b->status.step);
	assert_true(a->status.time == b->status.time && a->status.converged == b->status.converged);
	assert_int_equal(a->snapshots, p->snapshots);
	assert_memory_equal(a->times, b->times, sizeof a->times);
	for (size_t i = 0; i < values; i++)
		if (!(fabs(a->y[i] - b->y[i]) <= within * (1 + fabs(a->y[i]))))
			fail_msg("model %d, integrator %d, laplacian %d: value %zu is %.17g, on the device %.17g", p->model,
				 p->integrator, p->laplacian, i, a->y[i], b->y[i]);
	for (size_t i = 0; i < values * (size_t)a->snapshots; i++)
		assert_true(fabsf(a->snapshot[i] - b->snapshot[i]) <= 1e-6f * (1 + fabsf(a->snapshot[i])));
	assert_true(fabs(a->level - b->level) <= 1e-8 * (1e-3 + fabs(a->level)));
}

static void runs_are_those_of_the_processor(void **state)
{
	static struct outcome cpu, gpu, again;
	uint64_t seed = fresh_seed();
	for (int model = 0; model <= SL_SIGNAL_PAGERANK; model++)
		for (int integrator = 0; integrator <= SL_SIGNAL_CRANK_NICOLSON; integrator++) {
			uint64_t graph = test_random(&seed), one = graph, two = graph, three = graph;
			bool weighted = test_uniform(&seed) < 0.5;
			struct sl_signal_params p = params_of(model, integrator, test_uniform(&seed) < 0.5);
			p.seed = seed >> 20;
			if (!goes_together(model, integrator) || (test_light() && (model + integrator) % 3))
				continue;
			run(random_coupling(&one, weighted), &p, false, 1, &cpu);
			run(random_coupling(&two, weighted), &p, true, 1, &gpu);
			agree(&p, &cpu, &gpu);
			if (test_light() && (model + integrator) % 2)
				continue;
			run(random_coupling(&three, weighted), &p, true, 1000, &again);  /* by graphs of steps */
			assert_memory_equal(gpu.y, again.y, sizeof gpu.y);
			assert_memory_equal(gpu.snapshot, again.snapshot, sizeof gpu.snapshot);
			assert_int_equal(gpu.status.step, again.status.step);
			assert_true(gpu.status.step >= 3 && gpu.level == again.level);
		}
}

/* Nobody comes to most nodes, and from some the walk continues at the start. */
static void ranks_of_directed_graphs_are_those_of_the_processor(void **state)
{
	static struct outcome cpu, gpu;
	uint64_t seed = fresh_seed();
	for (int weighted = 0; weighted < 2; weighted++) {
		uint64_t graph = test_random(&seed), one = graph, two = graph;
		struct sl_signal_params p = params_of(SL_SIGNAL_PAGERANK, SL_SIGNAL_EULER, 0);
		run(random_coupling_of(&one, weighted, true), &p, false, 1, &cpu);
		run(random_coupling_of(&two, weighted, true), &p, true, 1, &gpu);
		agree(&p, &cpu, &gpu);
		double sum = 0;
		for (int i = 0; i < NODES; i++)
			sum += cpu.y[i];
		assert_true(fabs(sum - 1) < 1e-9);
	}
}

/* After every fifth advance a new run continues: if `both`, alternately on the device and the CPU; else on the
 * device. */
static void run_in_pieces(uint64_t seed, const struct sl_signal_params *p, bool both, struct outcome *out)
{
	void *blob = NULL;
	uint64_t bytes;
	memset(out, 0, sizeof *out);
	for (int part = 0; !out->status.done; part++) {
		uint64_t graph = seed;
		struct sl_signal *s;
		bool whole;
		assert_int_equal(sl_signal_create(&s, random_coupling(&graph, true), p, NULL, 0, NULL), 0);
		if (blob)
			assert_int_equal(sl_signal_load(s, blob, bytes, NULL), 0);
		if (!both || part % 2 == 0)
			assert_int_equal(sl_signal_attach(s, &engine, device, NULL), 0);
		free(blob);
		for (int k = 0; k < 5 && !out->status.done; k++)
			assert_int_equal(sl_signal_advance(s, 1e9, &whole, &out->status, NULL), 0);
		assert_int_equal(sl_signal_save(s, &blob, &bytes, NULL), 0);
		if (out->status.done)
			sl_signal_values_exact(s, out->y);
		sl_signal_destroy(s);
	}
	free(blob);
}

static void states_go_both_ways(void **state)
{
	static const int kinds[][2] = {
		{SL_SIGNAL_FITZHUGH_NAGUMO, SL_SIGNAL_RUNGE_KUTTA}, {SL_SIGNAL_NAGUMO, SL_SIGNAL_DORMAND_PRINCE},
		{SL_SIGNAL_FITZHUGH_NAGUMO, SL_SIGNAL_CRANK_NICOLSON}, {SL_SIGNAL_SIR_CHANCE, SL_SIGNAL_EULER},
		{SL_SIGNAL_PAGERANK, SL_SIGNAL_EULER},
	};
	static struct outcome whole, pieces;
	uint64_t seed = fresh_seed();
	for (int k = 0; k < 5; k++) {
		uint64_t graph = seed;
		struct sl_signal_params p = params_of(kinds[k][0], kinds[k][1], SL_SIGNAL_RANDOM_WALK);
		p.duration = 0.8;
		p.iterations = 40;
		run(random_coupling(&graph, true), &p, true, 1000, &whole);
		run_in_pieces(seed, &p, false, &pieces);
		assert_memory_equal(whole.y, pieces.y, sizeof whole.y);
		assert_int_equal(whole.status.step, pieces.status.step);
		run_in_pieces(seed, &p, true, &pieces);
		for (int i = 0; i < 2 * NODES; i++)
			assert_true(fabs(whole.y[i] - pieces.y[i]) <= 1e-8 * (1 + fabs(whole.y[i])));
		assert_int_equal(whole.status.step, pieces.status.step);
	}
}

/* The next advance reports data that cannot be fetched. */
static int broken_get(void *arg, double *const *y, struct sl_error *err)
{
	return sl_error_set(err, SL_DEVLOST, "It is gone.");
}

static void lost_values_are_told(void **state)
{
	static float y[2 * NODES];
	uint64_t seed = fresh_seed();
	struct sl_signal_params p = params_of(SL_SIGNAL_HEAT, SL_SIGNAL_EULER, SL_SIGNAL_RANDOM_WALK);
	struct sl_signal_status status;
	struct sl_signal *s;
	struct sl_error err;
	void *blob;
	uint64_t bytes;
	bool whole;
	assert_int_equal(sl_signal_create(&s, random_coupling(&seed, false), &p, NULL, 0, NULL), 0);
	assert_int_equal(sl_signal_attach(s, &engine, device, NULL), 0);
	assert_int_equal(sl_signal_advance(s, 1e9, &whole, &status, NULL), 0);
	s->passes.get = broken_get;
	assert_int_equal(sl_signal_save(s, &blob, &bytes, &err), SL_DEVLOST);
	sl_signal_values(s, y);
	assert_int_equal(sl_signal_advance(s, 1e9, &whole, &status, &err), SL_DEVLOST);
	assert_string_equal(err.detail, "It is gone.");
	sl_signal_destroy(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(runs_are_those_of_the_processor),
		cmocka_unit_test(ranks_of_directed_graphs_are_those_of_the_processor),
		cmocka_unit_test(states_go_both_ways),
		cmocka_unit_test(lost_values_are_told),
	};
	cmocka_set_test_filter(getenv("SPACELAND_TEST_FILTER"));
	return cmocka_run_group_tests(tests, open_device, close_device);
}
