/* Signals on the GPU: each operation of the passes against sums written plainly, and whole runs against those of the
 * processor, on random graphs with hubs, long rows and nodes without edges. Skipped without a GPU. bench_signal of
 * tests/bench/ measures. */
#include "core/engine/engine.h"
#include "core/signal/passes.h"
#include "core/signal/signal_internal.h"
#include "tests/unit/seeds.h"
#include "tests/unit/signals.h"
#include "tests/gpu/need_gpu.h"

/* ---- graphs ---------------------------------------------------------------------------------------- */

#define NODES 2900
#define ALONE 70

/* Node 0 has more entries than a warp takes, some others more than a thread; the last nodes have none. */
static struct sl_coupling *random_coupling(uint64_t *seed, bool weighted)
{
	static uint32_t edge[12 * NODES][2];
	static float weight[12 * NODES];
	size_t count = 0;
	uint32_t linked = NODES - ALONE;
	for (uint32_t i = 1; i < linked; i++) {
		int degree = i % 97 == 0 ? 40 + (int)(60 * test_uniform(seed)) : 1 + (int)(3 * test_uniform(seed));
		bool *there = calloc(NODES, 1);
		for (int k = 0; k < degree; k++) {
			uint32_t other = (uint32_t)(test_uniform(seed) * i);
			if (k == 0 && i % 7)
				other = 0;
			if (there[other] || count == 12 * NODES)
				continue;
			there[other] = true;
			edge[count][0] = i;
			edge[count][1] = other;
			weight[count++] = (float)(0.1 + test_uniform(seed));
		}
		free(there);
	}
	struct sl_graph *g = graph_of(NODES, (const uint32_t (*)[2])edge, weighted ? weight : NULL, count, false);
	struct sl_coupling *c;
	assert_int_equal(sl_coupling_of_graph(&c, g, NULL), 0);
	sl_graph_destroy(g);
	return c;
}

static struct sl_signal_params params_of(int model, int integrator, int laplacian)
{
	struct sl_signal_params p;
	sl_signal_defaults(&p);
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

static struct sl_device *open_device(void)
{
	struct sl_device *d;
	struct sl_error err;
	if (cuda->open(&d, NULL, &err))
		fail_msg("%s", err.detail);
	return d;
}

/* ---- operations, written plainly --------------------------------------------------------------------- */

struct plain {
	const struct sl_coupling *c;
	struct sl__rates k;
	const uint8_t *stimulated;
	double *product;
};

static void plain_product(const struct plain *s, const double *x)
{
	for (uint32_t i = 0; i < s->c->n; i++) {
		long double sum = 0;
		for (uint64_t e = s->c->start[i]; e < s->c->start[i + 1]; e++)
			sum += (long double)(s->c->weight ? s->c->weight[e] : 1) * (long double)x[s->c->node[e]];
		s->product[i] = (double)sum;
	}
}

/* d[2 n]: the slopes at y[2 n]. */
static void plain_slope(const struct plain *s, const double *y, double *d)
{
	uint32_t n = s->c->n;
	bool sir = s->k.model == SL_SIGNAL_SIR;
	plain_product(s, sir ? y + n : y);
	for (uint32_t i = 0; i < n; i++) {
		const struct sl__rates *k = &s->k;
		double u = y[i], v = y[n + i], degree = s->c->degree[i], push = s->stimulated[i] ? k->stimulus : 0;
		double *dv = d + n + i;
		double flow = s->product[i] - degree * u;
		if (k->random_walk)
			flow = degree > 0 ? flow / degree : 0;
		*dv = 0;
		d[i] = 0;
		if (sir) {
			double p = !k->random_walk ? s->product[i] : degree > 0 ? s->product[i] / degree : 0;
			d[i] = -u * (k->infection * p + push);
			*dv = -d[i] - k->recovery * v;
			continue;
		}
		if (k->model == SL_SIGNAL_FITZHUGH_NAGUMO) {
			d[i] = u - u * u * u / 3 - v + k->current;
			*dv = k->epsilon * (u + k->a - k->b * v);
		} else if (k->model == SL_SIGNAL_NAGUMO) {
			d[i] = u * (1 - u) * (u - k->a) - v + k->current;
			*dv = k->epsilon * (u - k->b * v);
		}
		d[i] += k->diffusion * flow + push;
	}
}

/* An explicit step; *error: the largest of an adaptive method. */
static void plain_step(const struct plain *s, const struct sl__tableau *t, double h, double *y, double *error)
{
	size_t values = 2 * (size_t)s->c->n;
	double *slope = calloc(values * SL__SIGNAL_STAGES, sizeof *slope), *at = malloc(values * sizeof *at);
	int last = t->stages - t->adaptive;
	memcpy(at, y, values * sizeof *at);
	for (int stage = 0; stage < t->stages; stage++) {
		plain_slope(s, at, slope + (size_t)stage * values);
		for (size_t i = 0; i < values && stage < last; i++) {
			long double sum = 0;
			for (int k = 0; k <= stage; k++)
				sum += (long double)t->a[stage + 1][k] * (long double)slope[(size_t)k * values + i];
			at[i] = (double)((long double)y[i] + (long double)h * sum);
		}
	}
	*error = 0;
	for (size_t i = 0; i < values; i++) {
		double e = 0;
		for (int k = 0; k < t->stages; k++)
			e += t->error[k] * slope[(size_t)k * values + i];
		*error = fmax(*error, fabs(h * e) / (1 + fmax(fabs(y[i]), fabs(at[i]))));
	}
	memcpy(y, at, values * sizeof *y);
	free(slope);
	free(at);
}

/* ---- operations -------------------------------------------------------------------------------------- */

struct rig {
	struct sl_device *device;
	struct sl_coupling *c;
	struct sl_signal_table table;
	struct sl_signal_passes passes;
	struct plain plain;
	uint8_t stimulated[NODES];
	double y[2 * NODES], product[NODES];
};

static void get(struct rig *r, double *y)
{
	double *fields[2] = {y, y + NODES};
	memset(y, 0, 2 * NODES * sizeof *y);
	assert_int_equal(r->passes.get(r->passes.arg, fields, NULL), 0);
}

/* Random values, between 0 and 1 for epidemics. */
static void rig_open(struct rig *r, int model, int integrator, bool random_walk, bool weighted, uint64_t *seed)
{
	bool sir = model == SL_SIGNAL_SIR, implicit = integrator == SL_SIGNAL_CRANK_NICOLSON;
	const double *fields[2] = {r->y, r->y + NODES};
	struct sl_error err;
	memset(r, 0, sizeof *r);
	r->device = open_device();
	r->c = random_coupling(seed, weighted);
	for (int i = 0; i < NODES; i++)
		r->stimulated[i] = test_uniform(seed) < 0.1;
	r->table = (struct sl_signal_table){
		.coupling = r->c, .tableau = implicit ? NULL : &sl__signal_tableaus[integrator], .model = model,
		.fields = model == SL_SIGNAL_HEAT ? 1 : 2, .random_walk = random_walk, .stimulated = r->stimulated,
	};
	r->plain = (struct plain){.c = r->c, .stimulated = r->stimulated, .product = r->product};
	r->plain.k = (struct sl__rates){.model = model, .random_walk = random_walk, .diffusion = 0.3, .a = 0.2, .b = 0.8,
					.epsilon = 0.3, .current = 0.1, .infection = 0.4, .recovery = 0.2, .stimulus = 0.7};
	for (int i = 0; i < 2 * NODES; i++)
		r->y[i] = model == SL_SIGNAL_HEAT && i >= NODES ? 0 : sir ? test_uniform(seed) / 2 : 2 * test_uniform(seed) - 1;
	if (cuda->signal_passes(r->device, &r->table, &r->passes, &err))
		fail_msg("%s", err.detail);
	assert_int_equal(r->passes.put(r->passes.arg, fields, NULL), 0);
}

static void rig_close(struct rig *r)
{
	r->passes.close(r->passes.arg);
	sl_coupling_destroy(r->c);
	cuda->close(r->device);
}

static void compare(const char *what, const double *got, const double *want, double within)
{
	for (int i = 0; i < 2 * NODES; i++)
		if (!(fabs(got[i] - want[i]) <= within * (1 + fabs(want[i]))))
			fail_msg("%s: value %d is %.17g, not %.17g", what, i, got[i], want[i]);
}

/* Two steps of each method, with stages and errors. */
static void explicit_steps_are_those_of_the_tableau(void **state)
{
	NEED_GPU();
	static struct rig r;
	static double got[2 * NODES];
	uint64_t seed = fresh_seed();
	for (int model = 0; model <= SL_SIGNAL_SIR; model++)
		for (int integrator = 0; integrator < SL_SIGNAL_CRANK_NICOLSON; integrator++) {
			bool random_walk = test_uniform(&seed) < 0.5, weighted = test_uniform(&seed) < 0.5;
			double h = random_walk ? 0.2 : 1e-4;
			rig_open(&r, model, integrator, random_walk, weighted, &seed);
			for (int step = 0; step < 2; step++) {
				double error, want;
				if (r.table.tableau->adaptive) {
					assert_int_equal(r.passes.trial(r.passes.arg, &r.plain.k, 3 * h, false, &error, NULL), 0);
					assert_int_equal(r.passes.trial(r.passes.arg, &r.plain.k, h, true, &error, NULL), 0);
					r.passes.accept(r.passes.arg);
				} else {
					assert_int_equal(r.passes.steps(r.passes.arg, &r.plain.k, h, step, 1, NULL), 0);
				}
				plain_step(&r.plain, r.table.tableau, h, r.y, &want);
				get(&r, got);
				compare("explicit", got, r.y, 1e-12);
				if (r.table.tableau->adaptive && !(fabs(error - want) <= 1e-13 + 1e-6 * want))
					fail_msg("model %d, integrator %d: the error is %g, not %g", model, integrator, error, want);
			}
			rig_close(&r);
		}
}

/* Against solutions of the same systems by Jacobi's iteration, which converges as theta is small. */
static void implicit_steps_solve_their_systems(void **state)
{
	NEED_GPU();
	static struct rig r;
	static double got[2 * NODES], slope[2][2 * NODES], right[NODES], start[2 * NODES];
	uint64_t seed = fresh_seed();
	for (int model = 0; model <= SL_SIGNAL_NAGUMO; model++) {
		bool solved, random_walk = test_uniform(&seed) < 0.5;
		double h = random_walk ? 0.8 : 0.01;
		rig_open(&r, model, SL_SIGNAL_CRANK_NICOLSON, random_walk, test_uniform(&seed) < 0.5, &seed);
		for (int step = 0; step < 3; step++) {
			double theta = h * r.plain.k.diffusion / 2, diffusion = r.plain.k.diffusion;
			memcpy(start, r.y, sizeof start);
			assert_int_equal(r.passes.solve(r.passes.arg, &r.plain.k, h, &solved, NULL), 0);
			assert_true(solved);
			get(&r, got);
			r.plain.k.diffusion = 0;  /* slopes of the reaction alone */
			static double x[2 * NODES];
			memcpy(x, start, sizeof x);
			plain_slope(&r.plain, start, slope[0]);
			for (int solve = 0; solve < (model == SL_SIGNAL_HEAT ? 1 : 2); solve++) {
				if (solve)
					plain_slope(&r.plain, x, slope[1]);
				plain_product(&r.plain, start);
				for (uint32_t i = 0; i < NODES; i++) {
					double d = r.c->degree[i], m = random_walk && d > 0 ? d : 1;
					double f = solve ? (slope[0][i] + slope[1][i]) / 2 : slope[0][i];
					right[i] = m * start[i] - theta * (d * start[i] - r.product[i]) + h * m * f;
				}
				for (int round = 0; round < 4000; round++) {
					double most = 0;
					plain_product(&r.plain, x);
					for (uint32_t i = 0; i < NODES; i++) {
						double d = r.c->degree[i], m = random_walk && d > 0 ? d : 1;
						double next = (right[i] + theta * r.product[i]) / (m + theta * d);
						most = fmax(most, fabs(next - x[i]));
						x[i] = next;
					}
					if (most < 1e-14)
						break;
				}
				for (uint32_t i = NODES; i < 2 * NODES; i++)
					x[i] = start[i] + h * (solve ? (slope[0][i] + slope[1][i]) / 2 : slope[0][i]);
			}
			compare("implicit", got, x, 1e-8);
			memcpy(r.y, got, sizeof got);
			r.plain.k.diffusion = diffusion;
		}
		rig_close(&r);
	}
}

static void levels_are_sums(void **state)
{
	NEED_GPU();
	static struct rig r;
	uint64_t seed = fresh_seed();
	for (int k = 0; k < 4; k++) {
		int model = k < 2 ? SL_SIGNAL_NAGUMO : SL_SIGNAL_SIR;
		double got, want = 0, size = 0;
		rig_open(&r, model, SL_SIGNAL_EULER, k % 2, true, &seed);
		for (uint32_t i = 0; i < NODES; i++) {
			double by = k == 1 && r.c->degree[i] > 0 ? r.c->degree[i] : 1;
			double y = r.y[model == SL_SIGNAL_SIR ? NODES + i : i];
			want += by * y;
			size += by * fabs(y);
		}
		assert_int_equal(r.passes.level(r.passes.arg, &got, NULL), 0);
		assert_true(fabs(got - want) <= 1e-13 * size);
		rig_close(&r);
	}
}

/* ---- whole runs -------------------------------------------------------------------------------------- */

struct outcome {
	struct sl_signal_status status;
	double y[2 * NODES], level;
	float snapshot[3 * 2 * NODES], times[3];
	int snapshots;
};

/* pause: how many steps an advance may take on a device. by: NULL: the processor. */
static void run(struct sl_coupling *c, const struct sl_signal_params *p, struct sl_device *by, int pause,
		struct outcome *out)
{
	struct sl_signal *s = NULL;
	struct sl_error err;
	const float *times;
	bool whole;
	int code = sl_signal_create(&s, c, p, NULL, 0, &err);
	if (!code && by)
		code = sl_signal_attach(s, cuda, by, &err);
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
	sl_signal_destroy(s);
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
	NEED_GPU();
	static struct outcome cpu, gpu, again;
	uint64_t seed = fresh_seed();
	struct sl_device *d = open_device();
	for (int model = 0; model <= SL_SIGNAL_PAGERANK; model++)
		for (int integrator = 0; integrator <= SL_SIGNAL_CRANK_NICOLSON; integrator++) {
			uint64_t graph = test_random(&seed), one = graph, two = graph, three = graph;
			bool weighted = test_uniform(&seed) < 0.5;
			struct sl_signal_params p = params_of(model, integrator, test_uniform(&seed) < 0.5);
			p.seed = seed >> 20;
			if (!goes_together(model, integrator))
				continue;
			run(random_coupling(&one, weighted), &p, NULL, 1, &cpu);
			run(random_coupling(&two, weighted), &p, d, 1, &gpu);
			agree(&p, &cpu, &gpu);
			run(random_coupling(&three, weighted), &p, d, 1000, &again);  /* by graphs of steps */
			assert_memory_equal(gpu.y, again.y, sizeof gpu.y);
			assert_memory_equal(gpu.snapshot, again.snapshot, sizeof gpu.snapshot);
			assert_int_equal(gpu.status.step, again.status.step);
			assert_true(gpu.status.step >= 3 && gpu.level == again.level);
		}
	cuda->close(d);
}

/* A run goes on elsewhere: from the device to the processor and back. */
static void states_go_both_ways(void **state)
{
	NEED_GPU();
	static struct outcome whole;
	static double y[2 * NODES];
	uint64_t seed = fresh_seed(), graph = seed;
	struct sl_device *d = open_device();
	struct sl_signal_params p = params_of(SL_SIGNAL_FITZHUGH_NAGUMO, SL_SIGNAL_RUNGE_KUTTA, SL_SIGNAL_RANDOM_WALK);
	struct sl_signal_status status = {.step = 0};
	run(random_coupling(&graph, true), &p, NULL, 1, &whole);
	void *blob = NULL;
	uint64_t bytes;
	for (int part = 0; !status.done; part++) {
		struct sl_signal *s;
		bool is_whole;
		graph = seed;
		assert_int_equal(sl_signal_create(&s, random_coupling(&graph, true), &p, NULL, 0, NULL), 0);
		if (blob)
			assert_int_equal(sl_signal_load(s, blob, bytes, NULL), 0);
		if (part % 2 == 0)
			assert_int_equal(sl_signal_attach(s, cuda, d, NULL), 0);
		free(blob);
		for (int k = 0; k < 5 && !status.done; k++)
			assert_int_equal(sl_signal_advance(s, 1e9, &is_whole, &status, NULL), 0);
		assert_int_equal(sl_signal_save(s, &blob, &bytes, NULL), 0);
		if (status.done)
			sl_signal_values_exact(s, y);
		sl_signal_destroy(s);
	}
	free(blob);
	for (int i = 0; i < 2 * NODES; i++)
		assert_true(fabs(y[i] - whole.y[i]) <= 1e-11 * (1 + fabs(y[i])));
	assert_int_equal(status.step, whole.status.step);
	cuda->close(d);
}

/* Without room the run stays with the processor, and nothing is left on the device. */
static void without_room_it_stays_where_it_is(void **state)
{
	NEED_GPU();
	uint64_t seed = fresh_seed();
	struct sl_device *d = open_device();
	struct sl_error err;
	struct sl_device_info info;
	struct sl_signal *s;
	struct sl_signal_params p = params_of(SL_SIGNAL_HEAT, SL_SIGNAL_EULER, SL_SIGNAL_RANDOM_WALK);
	int refused = 0, code = SL_DEVMEM;
	cuda->info(d, &info);
	cuda->close(d);
	uint64_t before = info.memory_used;
	for (uint64_t room = 1000; code; room += 40000) {  /* not for the weights; for these, but not for the values */
		struct sl_device_options options = {.memory_bytes = before + room};
		assert_int_equal(cuda->open(&d, &options, &err), 0);
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
		cmocka_unit_test(levels_are_sums),
		cmocka_unit_test(runs_are_those_of_the_processor),
		cmocka_unit_test(states_go_both_ways),
		cmocka_unit_test(without_room_it_stays_where_it_is),
	};
	cmocka_set_test_filter(getenv("SPACELAND_TEST_FILTER"));
	return cmocka_run_group_tests(tests, need_gpu, NULL);
}
