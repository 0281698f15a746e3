/* The operations of signals on the GPU (core/signal/passes.h), one by one, against the same written plainly, on random
 * graphs with hubs, long rows and nodes without edges. Skipped without a GPU. Whole runs:
 * tests/unit/test_signal_device.c; bench_signal of tests/bench/ measures. */
#include "core/engine/engine.h"
#include "core/signal/signal_internal.h"
#include "tests/unit/signal_networks.h"
#include "tests/plugin/signal_passes.h"
#include "tests/gpu/need_gpu.h"

struct rig {
	struct sl_device *device;
	struct sl_coupling *c;
	struct sl_signal_table table;
	struct sl__rates rates;
	struct sl_signal_passes gpu, plain;
	uint8_t stimulated[NODES];
	double restart[NODES], y[2][NODES];
};

/* Random values: for epidemics between 0 and 1, for random epidemics 0 or 1, for pagerank fractions. */
static void rig_open(struct rig *r, int model, int integrator, uint64_t *seed)
{
	bool implicit = integrator == SL_SIGNAL_CRANK_NICOLSON, rank = model == SL_SIGNAL_PAGERANK;
	bool chance = model == SL_SIGNAL_SIR_CHANCE, random_walk = test_uniform(seed) < 0.5;
	const double *fields[2] = {r->y[0], r->y[1]};
	struct sl_error err;
	memset(r, 0, sizeof *r);
	if (cuda->open(&r->device, NULL, &err))
		fail_msg("%s", err.detail);
	r->c = random_coupling(seed, test_uniform(seed) < 0.5);
	for (int i = 0; i < NODES; i++) {
		double x = test_uniform(seed), kind = test_uniform(seed);
		r->stimulated[i] = test_uniform(seed) < 0.1;
		r->restart[i] = 1.0 / NODES;
		r->y[0][i] = chance ? kind < 0.6 : rank ? 2 * x / NODES : model == SL_SIGNAL_SIR ? x / 2 : 2 * x - 1;
		r->y[1][i] = chance ? kind > 0.8 : test_uniform(seed) / 2;
	}
	r->table = (struct sl_signal_table){
		.coupling = r->c, .tableau = implicit || rank || chance ? NULL : &sl__signal_tableaus[integrator],
		.model = model, .fields = model == SL_SIGNAL_HEAT || rank ? 1 : 2, .random_walk = random_walk,
		.stimulated = r->stimulated, .restart = r->restart, .damping = 0.9, .seed = test_random(seed),
	};
	r->rates = (struct sl__rates){.model = model, .random_walk = random_walk, .diffusion = 0.3, .a = 0.2, .b = 0.8,
				      .epsilon = 0.3, .current = 0.1, .infection = 0.4, .recovery = 0.2, .stimulus = 0.7};
	if (sl_signal_opener(cuda)(r->device, &r->table, &r->gpu, &err))
		fail_msg("%s", err.detail);
	assert_int_equal(plain_signal_passes(NULL, &r->table, &r->plain, NULL), 0);
	assert_int_equal(r->gpu.put(r->gpu.arg, fields, NULL), 0);
	assert_int_equal(r->plain.put(r->plain.arg, fields, NULL), 0);
}

static void rig_close(struct rig *r)
{
	r->gpu.close(r->gpu.arg);
	r->plain.close(r->plain.arg);
	sl_coupling_destroy(r->c);
	cuda->close(r->device);
}

/* beside: an additional permitted difference, independent of the values' size. */
static void compare_beside(const struct rig *r, const char *what, double within, double beside)
{
	static double got[2][NODES], want[2][NODES];
	double *to[2] = {got[0], got[1]}, *from[2] = {want[0], want[1]}, level[2];
	assert_int_equal(r->gpu.get(r->gpu.arg, to, NULL), 0);
	assert_int_equal(r->plain.get(r->plain.arg, from, NULL), 0);
	for (int f = 0; f < r->table.fields; f++)
		for (int i = 0; i < NODES; i++)
			if (!(fabs(got[f][i] - want[f][i]) <=
			      within * (r->table.fields == 1 ? fabs(want[f][i]) + 1e-3 : 1) + beside))
				fail_msg("%s, model %d: value %d of node %d, of %llu entries, is %.17g, not %.17g", what,
					 r->table.model, f, i, (unsigned long long)(r->c->start[i + 1] - r->c->start[i]), got[f][i],
					 want[f][i]);
	assert_int_equal(r->gpu.level(r->gpu.arg, &level[0], NULL), 0);
	assert_int_equal(r->plain.level(r->plain.arg, &level[1], NULL), 0);
	assert_true(fabs(level[0] - level[1]) <= (within + beside) * (double)(NODES + r->c->m));
}

static void compare(const struct rig *r, const char *what, double within)
{
	compare_beside(r, what, within, 0);
}

/* Two solutions of a system differ by at most twice the residual of conjugate gradients; the length of the right side,
 * in the norm of the degrees, is at most this for values of about 1. */
static double of_solver(const struct rig *r)
{
	return 2 * SL__CG_CLOSE * sqrt((double)(NODES + r->c->m));
}

static void explicit_steps_are_those_of_the_tableau(void **state)
{
	NEED_GPU();
	static struct rig r;
	uint64_t seed = fresh_seed();
	for (int model = 0; model <= SL_SIGNAL_SIR; model++)
		for (int integrator = 0; integrator < SL_SIGNAL_CRANK_NICOLSON; integrator++) {
			rig_open(&r, model, integrator, &seed);
			double h = r.table.random_walk ? 0.2 : 1e-4, error, want;
			for (int step = 0; step < 3; step++) {
				if (!r.table.tableau->adaptive) {
					assert_int_equal(r.gpu.steps(r.gpu.arg, &r.rates, h, step, 1, NULL), 0);
					assert_int_equal(r.plain.steps(r.plain.arg, &r.rates, h, step, 1, NULL), 0);
					compare(&r, "an explicit step", 1e-12);
					continue;
				}
				/* the first step is refused once; from then on, and after steps, its slope is known */
				assert_int_equal(r.gpu.trial(r.gpu.arg, &r.rates, 3 * h, step > 0, &error, NULL), 0);
				assert_int_equal(r.gpu.trial(r.gpu.arg, &r.rates, h, true, &error, NULL), 0);
				assert_int_equal(r.plain.trial(r.plain.arg, &r.rates, h, false, &want, NULL), 0);
				r.gpu.accept(r.gpu.arg);
				r.plain.accept(r.plain.arg);
				compare(&r, "an adaptive step", 1e-12);
				if (!(fabs(error - want) <= 1e-13 + 1e-6 * want))
					fail_msg("model %d, integrator %d: the error is %g, not %g", model, integrator, error, want);
			}
			rig_close(&r);
		}
}

static void implicit_steps_solve_their_systems(void **state)
{
	NEED_GPU();
	static struct rig r;
	uint64_t seed = fresh_seed();
	for (int model = 0; model <= SL_SIGNAL_NAGUMO; model++) {
		bool solved[2];
		rig_open(&r, model, SL_SIGNAL_CRANK_NICOLSON, &seed);
		for (int step = 0; step < 3; step++) {
			double h = r.table.random_walk ? 0.8 : 0.01;
			assert_int_equal(r.gpu.solve(r.gpu.arg, &r.rates, h, &solved[0], NULL), 0);
			assert_int_equal(r.plain.solve(r.plain.arg, &r.rates, h, &solved[1], NULL), 0);
			assert_true(solved[0] && solved[1]);
			compare_beside(&r, "an implicit step", 1e-8, (step + 1) * of_solver(&r));
		}
		rig_close(&r);
	}
}

/* Numbers that are not finite have no solution. */
static void systems_without_solution_are_told(void **state)
{
	NEED_GPU();
	static struct rig r;
	uint64_t seed = fresh_seed();
	bool solved = true;
	rig_open(&r, SL_SIGNAL_FITZHUGH_NAGUMO, SL_SIGNAL_CRANK_NICOLSON, &seed);
	r.rates.current = INFINITY;
	assert_int_equal(r.gpu.solve(r.gpu.arg, &r.rates, 0.1, &solved, NULL), 0);
	assert_false(solved);
	rig_close(&r);
}

static void epidemics_have_the_same_events(void **state)
{
	NEED_GPU();
	static struct rig r;
	uint64_t seed = fresh_seed();
	for (int round = 0; round < 2; round++) {
		rig_open(&r, SL_SIGNAL_SIR_CHANCE, SL_SIGNAL_EULER, &seed);
		for (int step = 0, count = 1; step < 80; step += count, count = 3 * count + 2) {
			assert_int_equal(r.gpu.steps(r.gpu.arg, &r.rates, 0.02, step, count, NULL), 0);
			assert_int_equal(r.plain.steps(r.plain.arg, &r.rates, 0.02, step, count, NULL), 0);
			compare(&r, "a step by chance", 0);
		}
		rig_close(&r);
	}
}

static void ranks_converge_alike(void **state)
{
	NEED_GPU();
	static struct rig r;
	uint64_t seed = fresh_seed();
	double got[SL_SIGNAL_RANKS], want[SL_SIGNAL_RANKS];
	int done[2];
	rig_open(&r, SL_SIGNAL_PAGERANK, SL_SIGNAL_EULER, &seed);
	for (int count = 1; count < 200; count = 3 * count + 2) {
		double tolerance = 1e-9;
		assert_int_equal(r.gpu.rank(r.gpu.arg, tolerance, count, got, &done[0], NULL), 0);
		assert_int_equal(r.plain.rank(r.plain.arg, tolerance, count, want, &done[1], NULL), 0);
		assert_int_equal(done[0], done[1]);
		for (int k = 0; k < done[0]; k++)
			assert_true(fabs(got[k] - want[k]) <= 1e-12);
		compare(&r, "an iteration of pagerank", 1e-12);
	}
	assert_true(done[0] < 100);
	rig_close(&r);
}

/* If memory is short, the run stays on the CPU, and the device keeps nothing. */
static void without_room_it_stays_where_it_is(void **state)
{
	NEED_GPU();
	uint64_t seed = fresh_seed(), before;
	struct sl_device *d;
	struct sl_error err;
	struct sl_device_info info;
	struct sl_signal *s;
	struct sl_signal_params p;
	int refused = 0, code = SL_DEVMEM;
	sl_param_defaults(&sl_signal_table, &p);
	p.laplacian = SL_SIGNAL_RANDOM_WALK;
	p.duration = 3;
	for (uint64_t room = 5000; code; room += 40000) {  /* too little for the weights, or for the values */
		struct sl_device_options options = {.memory_bytes = room};
		if (cuda->open(&d, &options, &err))
			continue;  /* too little to open the device */
		cuda->info(d, &info);
		before = info.memory_used;
		assert_int_equal(sl_signal_create(&s, random_coupling(&seed, false), &p, NULL, 0, NULL), 0);
		code = sl_signal_attach(s, cuda, d, &err);
		cuda->info(d, &info);
		if (code) {
			assert_int_equal(code, SL_DEVMEM);
			assert_non_null(strstr(err.detail, "signals at 2900 nodes"));
			assert_true(info.memory_used == before);
			refused++;
		}
		assert_true(to_the_end(s).time == p.duration);
		sl_signal_destroy(s);
		cuda->info(d, &info);
		assert_true(info.memory_used == before);
		cuda->close(d);
	}
	assert_true(refused > 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(explicit_steps_are_those_of_the_tableau),
		cmocka_unit_test(implicit_steps_solve_their_systems),
		cmocka_unit_test(systems_without_solution_are_told),
		cmocka_unit_test(epidemics_have_the_same_events),
		cmocka_unit_test(ranks_converge_alike),
		cmocka_unit_test(without_room_it_stays_where_it_is),
	};
	cmocka_set_test_filter(getenv("SPACELAND_TEST_FILTER"));
	return cmocka_run_group_tests(tests, need_gpu, NULL);
}
