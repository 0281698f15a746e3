/* Runs of signals: interruptions, threads, snapshots, steering, refusals; waves with the known speed. */
#include <math.h>
#include <omp.h>

#include "core/method/method.h"
#include "core/random.h"
#include "tests/unit/seeds.h"
#include "tests/unit/signals.h"

enum { N = 6000 };

/* Clusters and hubs; the last nodes have no edges. */
static struct sl_graph *network(void)
{
	static uint32_t edge[4 * N][2];
	static float weight[4 * N];
	size_t count = 0;
	for (uint32_t i = 0; i < N - 50; i++)
		for (uint32_t k = 0; k < 3; k++) {
			uint32_t other = k ? i + k : (uint32_t)(sl_random_uniform(2, i) * 60);
			if (other == i || other >= N - 50)
				continue;
			edge[count][0] = i;
			edge[count][1] = other;
			weight[count++] = (float)(0.2 + sl_random_uniform(3, i));
		}
	return graph_of(N, (const uint32_t (*)[2])edge, weight, count, false);
}

static struct sl_signal *begin(const struct sl_graph *g, const struct sl_signal_params *p)
{
	struct sl_coupling *c;
	assert_int_equal(sl_coupling_of_graph(&c, g, NULL), 0);
	return signal_of(c, p, NULL);
}

static struct sl_signal_params params_of(int model, int integrator)
{
	struct sl_signal_params p;
	sl_param_defaults(&sl_signal_table, &p);
	p.model = model;
	p.integrator = integrator;
	p.laplacian = SL_SIGNAL_RANDOM_WALK;
	p.duration = 8;
	p.snapshots = model == SL_SIGNAL_PAGERANK ? 0 : 3;
	p.start_nodes = (struct sl_param_list){2, {77, 3000}};
	p.stimulus_nodes = (struct sl_param_list){1, {100}};
	p.stimulus_hops = 2;
	p.stimulus_start = 3;
	p.stimulus_duration = 1.7;
	return p;
}

/* ---- the same bytes ------------------------------------------------------------------------ */

static void neither_threads_nor_interruptions_change_a_byte(void **state)
{
	static float whole[2 * N], parts[2 * N];
	struct sl_graph *g = network();
	int threads = omp_get_max_threads();
	for (int model = 0; model <= SL_SIGNAL_PAGERANK; model++)
		for (int integrator = 0; integrator <= SL_SIGNAL_CRANK_NICOLSON; integrator++) {
			struct sl_signal_params p = params_of(model, integrator);
			struct sl_signal_status status, first;
			int count, saved = 0, next = 3;
			const float *times;
			if (model >= SL_SIGNAL_SIR && integrator == SL_SIGNAL_CRANK_NICOLSON)
				continue;
			omp_set_num_threads(4);
			struct sl_signal *s = begin(g, &p), *one = s;
			first = to_the_end(s);
			sl_signal_values(s, whole);
			omp_set_num_threads(1);
			s = begin(g, &p);
			for (int slice = 0;; slice++) {  /* in parts of a step; a new run in between */
				bool is_whole;
				void *blob;
				uint64_t bytes;
				assert_int_equal(sl_signal_advance(s, 0.02, &is_whole, &status, NULL), 0);
				if (status.done)
					break;
				if (slice < next)
					continue;
				next = slice + slice / 2 + 7;
				assert_int_equal(sl_signal_save(s, &blob, &bytes, NULL), 0);
				sl_signal_destroy(s);
				s = begin(g, &p);
				assert_int_equal(sl_signal_load(s, blob, bytes, NULL), 0);
				free(blob);
				saved++;
			}
			sl_signal_values(s, parts);
			assert_memory_equal(whole, parts, N * (size_t)sl_signal_fields(&p) * sizeof(float));
			assert_true(status.step == first.step && status.time == first.time && saved > 0);
			const float *ours = sl_signal_snapshots(s, &count, &times);
			const float *theirs = sl_signal_snapshots(one, &count, &times);
			assert_int_equal(count, p.snapshots);
			assert_memory_equal(ours, theirs, (size_t)count * N * (size_t)sl_signal_fields(&p) * sizeof(float));
			sl_signal_destroy(s);
			sl_signal_destroy(one);
		}
	omp_set_num_threads(threads);
	sl_graph_destroy(g);
}

/* On a graph large enough for several threads. */
static void threads_change_no_byte(void **state)
{
	enum { LONG = 40000 };
	static const int models[] = {SL_SIGNAL_NAGUMO, SL_SIGNAL_NAGUMO, SL_SIGNAL_NAGUMO, SL_SIGNAL_PAGERANK,
			SL_SIGNAL_SIR_CHANCE};
	float *y = malloc(2 * sizeof *y * 2 * LONG);
	int threads = omp_get_max_threads();
	for (int k = 0; k < 5; k++) {
		struct sl_signal_params p = params_of(models[k], k == 1 ? SL_SIGNAL_CRANK_NICOLSON : k == 2 ?
				SL_SIGNAL_DORMAND_PRINCE :
						      SL_SIGNAL_EULER);
		size_t values = (size_t)LONG * (size_t)sl_signal_fields(&p);
		double level[2];
		p.iterations = 30;
		for (int many = 0; many < 2; many++) {
			omp_set_num_threads(many ? 3 : 1);
			struct sl_signal *s = signal_of(line(LONG, false), &p, NULL);
			to_the_end(s);
			sl_signal_values(s, y + (size_t)many * values);
			level[many] = sl_signal_level(s);
			sl_signal_destroy(s);
		}
		assert_memory_equal(y, y + values, values * sizeof *y);
		assert_true(level[0] == level[1]);
	}
	omp_set_num_threads(threads);
	free(y);
}

static void states_of_others_are_refused(void **state)
{
	struct sl_graph *g = network();
	struct sl_signal_params p = params_of(SL_SIGNAL_HEAT, SL_SIGNAL_EULER), q;
	struct sl_signal *s = begin(g, &p);
	struct sl_signal_status status;
	void *blob;
	uint64_t bytes, seed = test_seed(77);
	bool whole;
	assert_int_equal(sl_signal_advance(s, 5, &whole, &status, NULL), 0);
	assert_int_equal(sl_signal_save(s, &blob, &bytes, NULL), 0);
	assert_int_equal(sl_signal_load(s, blob, bytes - 1, NULL), SL_BADDATA);
	assert_int_equal(sl_signal_load(s, blob, 10, NULL), SL_BADDATA);
	q = params_of(SL_SIGNAL_NAGUMO, SL_SIGNAL_EULER);
	struct sl_signal *other = begin(g, &q);
	assert_int_equal(sl_signal_load(other, blob, bytes, NULL), SL_BADDATA);
	sl_signal_destroy(other);
	for (int k = 0; k < 300; k++) {  /* any header: refused, or a run that ends */
		unsigned char *copy = malloc(bytes);
		memcpy(copy, blob, bytes);
		for (int at = 0; at < 3; at++)
			copy[test_random(&seed) % 96] = (unsigned char)test_random(&seed);
		other = begin(g, &p);
		if (!sl_signal_load(other, copy, bytes, NULL))
			sl_signal_advance(other, 0.1, &whole, &status, NULL);
		sl_signal_destroy(other);
		free(copy);
	}
	free(blob);
	sl_signal_destroy(s);
	sl_graph_destroy(g);
}

/* ---- moments ------------------------------------------------------------------------------- */

static void snapshots_are_the_values_of_their_moments(void **state)
{
	static float y[2 * N];
	struct sl_graph *g = network();
	struct sl_signal_params p = params_of(SL_SIGNAL_FITZHUGH_NAGUMO, SL_SIGNAL_RUNGE_KUTTA), q = p;
	const float *times;
	int count;
	p.snapshots = 4;
	p.step = 0.01;
	struct sl_signal *s = begin(g, &p);
	to_the_end(s);
	const float *all = sl_signal_snapshots(s, &count, &times);
	assert_int_equal(count, 4);
	for (int k = 0; k < 4; k++) {
		q.snapshots = 0;
		q.step = 0.01;
		q.duration = 2.0 * (k + 1);
		struct sl_signal *one = begin(g, &q);
		to_the_end(one);
		sl_signal_values(one, y);
		assert_true(times[k] == (float)q.duration);
		for (int i = 0; i < 2 * N; i++)
			assert_true(fabsf(y[i] - all[(size_t)k * 2 * N + (size_t)i]) < 1e-6f);
		sl_signal_destroy(one);
	}
	sl_signal_destroy(s);
	sl_graph_destroy(g);
}

static void parameters_can_be_steered(void **state)
{
	static double first[N], y[N], sum[2];
	struct sl_graph *g = network();
	struct sl_signal_params p = params_of(SL_SIGNAL_HEAT, SL_SIGNAL_RUNGE_KUTTA);
	struct sl_signal_status status;
	bool whole;
	p.stimulus_nodes.count = 0;
	p.snapshots = 0;
	struct sl_signal *s = begin(g, &p);
	do
		assert_int_equal(sl_signal_advance(s, 1000, &whole, &status, NULL), 0);
	while (status.time < 4);
	sl_signal_values_exact(s, first);
	p.diffusion = 0;  /* nothing moves any more */
	sl_signal_steer(s, &p);
	for (int k = 0; k < 3; k++)
		assert_int_equal(sl_signal_advance(s, 1000, &whole, &status, NULL), 0);
	sl_signal_values_exact(s, y);
	assert_memory_equal(first, y, sizeof y);
	p.diffusion = 100;  /* the step stays stable */
	sl_signal_steer(s, &p);
	status = to_the_end(s);
	assert_true(status.time == p.duration && status.h <= 2.785 / 200);
	sl_signal_values_exact(s, y);
	for (int i = 0; i < N - 50; i++) {
		sum[0] += first[i];
		sum[1] += fabs(y[i]);
		assert_true(fabs(y[i]) < 1);
	}
	assert_true(memcmp(first, y, sizeof y) != 0);
	sl_signal_destroy(s);
	sl_graph_destroy(g);
}

static void it_ends_when_asked_and_at_its_limit(void **state)
{
	static float y[2 * N];
	struct sl_graph *g = network();
	struct sl_signal_params p = params_of(SL_SIGNAL_FITZHUGH_NAGUMO, SL_SIGNAL_DORMAND_PRINCE);
	struct sl_signal_status status;
	bool whole;
	p.duration = 1e6;
	struct sl_signal *s = begin(g, &p);
	for (int k = 0; k < 10; k++)
		assert_int_equal(sl_signal_advance(s, 0.01, &whole, &status, NULL), 0);
	assert_false(status.done);
	sl_signal_stop(s, &status);
	assert_true(status.done);
	sl_signal_values(s, y);
	assert_int_equal(sl_signal_advance(s, 10, &whole, &status, NULL), 0);
	assert_true(status.done && !whole);
	sl_signal_destroy(s);
	p.iterations = 7;
	s = begin(g, &p);
	status = to_the_end(s);
	assert_true(status.step == 7 && status.time < 1e6);
	sl_signal_destroy(s);
	sl_graph_destroy(g);
}

/* ---- waves ----------------------------------------------------------------------------------- */

/* Speed in nodes per unit of time, from the times at which u rises above the level at two nodes of a line. */
static double speed(struct sl_signal *s, uint32_t n, int fields, double level, uint32_t a, uint32_t b)
{
	double *y = malloc(sizeof *y * n * (size_t)fields), seen[2] = {NAN, NAN}, before[2] = {NAN, NAN}, then = 0;
	struct sl_signal_status status;
	const uint32_t node[2] = {a, b};
	bool whole;
	do {
		struct sl_error err;
		if (sl_signal_advance(s, 1000, &whole, &status, &err))
			fail_msg("%s", err.detail);
		sl_signal_values_exact(s, y);
		for (int k = 0; k < 2; k++) {
			double u = y[(size_t)node[k] * (size_t)fields];
			if (isnan(seen[k]) && before[k] < level && u >= level)
				seen[k] = then + (status.time - then) * (level - before[k]) / (u - before[k]);
			before[k] = u;
		}
		then = status.time;
	} while (!status.done && isnan(seen[1]));
	free(y);
	assert_false(isnan(seen[0]) || isnan(seen[1]));
	return (b - a) / (seen[1] - seen[0]);
}

/* Nagumo's equation without recovery has a front of the speed sqrt(D / 2) (1 - 2 a). */
static void fronts_run_at_the_exact_speed(void **state)
{
	struct sl_signal_params p;
	sl_param_defaults(&sl_signal_table, &p);
	p.model = SL_SIGNAL_NAGUMO;
	p.epsilon = 0;
	p.diffusion = 32;
	p.duration = 1e4;
	p.start_nodes = (struct sl_param_list){1, {0}};
	p.start_hops = 60;
	for (int k = 0; k < 3; k++) {
		static const int integrators[] = {SL_SIGNAL_RUNGE_KUTTA, SL_SIGNAL_DORMAND_PRINCE, SL_SIGNAL_CRANK_NICOLSON};
		p.a = k == 1 ? 0.25 : 0.1;
		p.integrator = integrators[k];
		p.tolerance = 1e-5;
		p.step = integrators[k] == SL_SIGNAL_CRANK_NICOLSON ? 0.4 : 0;
		struct sl_signal *s = signal_of(line(1200, false), &p, NULL);
		double c = speed(s, 1200, 2, 0.5, 400, 900), want = sqrt(32 / 2.0) * (1 - 2 * p.a);
		print_message("front of a = %g: speed %.5f, exact %.5f\n", p.a, c, want);
		assert_true(fabs(c - want) < 0.01 * want);
		sl_signal_destroy(s);
	}
}

/* FitzHugh's equations on a line, in plain code with a quarter of the step. */
static double plain_speed(uint32_t n, double d, double h, uint32_t a, uint32_t b)
{
	double *y = calloc(2 * n, sizeof *y), *k = calloc(8 * (size_t)n, sizeof *k), *at = calloc(2 * n, sizeof *at);
	double u0 = -1.1994080352440455, v0 = -0.6242600440550569, seen[2] = {NAN, NAN}, t = 0;
	static const double share[4] = {0, 0.5, 0.5, 1}, weight[4] = {1, 2, 2, 1};
	for (uint32_t i = 0; i < n; i++) {
		y[2 * i] = i <= 40 ? 1 : u0;
		y[2 * i + 1] = v0;
	}
	while (isnan(seen[1])) {
		double before[2] = {y[2 * a], y[2 * b]};
		for (int s = 0; s < 4; s++) {
			double *slope = k + (size_t)s * 2 * n, *last = slope - 2 * n;
			for (uint32_t i = 0; i < 2 * n; i++)
				at[i] = s ? y[i] + share[s] * h * last[i] : y[i];
			for (uint32_t i = 0; i < n; i++) {
				double u = at[2 * i], v = at[2 * i + 1], left = i ? at[2 * i - 2] : u, right = i + 1 < n ?
						at[2 * i + 2] : u;
				slope[2 * i] = d * (left - 2 * u + right) + u - u * u * u / 3 - v;
				slope[2 * i + 1] = 0.08 * (u + 0.7 - 0.8 * v);
			}
		}
		for (uint32_t i = 0; i < 2 * n; i++)
			for (int s = 0; s < 4; s++)
				y[i] += h / 6 * weight[s] * k[(size_t)s * 2 * n + i];
		for (int w = 0; w < 2; w++) {
			double u = y[2 * (w ? b : a)];
			if (isnan(seen[w]) && before[w] < 0 && u >= 0)
				seen[w] = t + h * -before[w] / (u - before[w]);
		}
		t += h;
		assert_true(t < 4000);
	}
	free(y);
	free(k);
	free(at);
	return (b - a) / (seen[1] - seen[0]);
}

static void pulses_run_along_a_line_of_10000_nodes(void **state)
{
	struct sl_signal_params p;
	double want = plain_speed(900, 4, 0.02, 300, 700), c = 0;
	sl_param_defaults(&sl_signal_table, &p);
	p.model = SL_SIGNAL_FITZHUGH_NAGUMO;
	p.diffusion = 4;
	p.duration = 1e5;
	p.start_nodes = (struct sl_param_list){1, {0}};
	p.start_hops = 40;
	p.start_value = 1;
	for (int k = 0; k < 2; k++) {
		p.integrator = k ? SL_SIGNAL_CRANK_NICOLSON : SL_SIGNAL_RUNGE_KUTTA;
		p.step = k ? 0.2 : 0.08;
		struct sl_signal *s = signal_of(line(k ? 1000 : 10000, false), &p, NULL);
		c = speed(s, k ? 1000 : 10000, 2, 0, 300, k ? 500 : 900);
		print_message("pulse: speed %.5f, of the plain reference %.5f\n", c, want);
		assert_true(fabs(c - want) < 0.01 * want);
		sl_signal_destroy(s);
	}
}

static void rest_is_rest(void **state)
{
	for (int model = SL_SIGNAL_FITZHUGH_NAGUMO; model <= SL_SIGNAL_NAGUMO; model++)
		for (int k = 0; k < 4; k++) {
			struct sl_signal_params p = params_of(model, SL_SIGNAL_RUNGE_KUTTA);
			static double y[2 * N], z[2 * N];
			struct sl_graph *g = network();
			p.start_nodes.count = p.stimulus_nodes.count = 0;
			p.current = (double[]){0, 0.1, -0.5, 0}[k];
			p.b = k == 3 ? 0 : SL_SIGNAL_AUTO;
			struct sl_signal *s = begin(g, &p);
			sl_signal_values_exact(s, y);
			to_the_end(s);
			sl_signal_values_exact(s, z);
			for (int i = 0; i < 2 * N; i++)
				assert_true(fabs(y[i] - z[i]) < 1e-9);
			sl_signal_destroy(s);
			sl_graph_destroy(g);
		}
}

/* ---- what is refused --------------------------------------------------------------------------- */

static void refused(const struct sl_graph *g, const struct sl_signal_params *p, const float *initial, uint32_t columns,
		    const char *pointer, const char *word)
{
	struct sl_coupling *c;
	struct sl_signal *s;
	struct sl_error err;
	assert_int_equal(sl_coupling_of_graph(&c, g, NULL), 0);
	assert_true(sl_signal_create(&s, c, p, initial, columns, &err) != 0);
	assert_string_equal(err.pointer, pointer);
	if (!strstr(err.detail, word))
		fail_msg("%s", err.detail);
	sl_coupling_destroy(c);
}

static void bad_parameters_are_refused(void **state)
{
	static float bad[2 * N];
	struct sl_graph *g = network();
	struct sl_signal_params p, good = params_of(SL_SIGNAL_HEAT, SL_SIGNAL_EULER);
#define REFUSED(change, pointer, word) p = good; change; refused(g, &p, NULL, 0, pointer, word)
	REFUSED(p.start_nodes.value[1] = N, "/start_nodes", "6000");
	REFUSED(p.start_nodes.value[1] = 0.5, "/start_nodes", "whole");
	REFUSED(p.stimulus_nodes.value[0] = N + 7, "/stimulus_nodes", "6007");
	REFUSED(p.step = 1.5, "/step", "at most 1");
	REFUSED(p.step = -1, "/step", "step");
	REFUSED(p.duration = 0, "/duration", "duration");
	REFUSED(p.model = SL_SIGNAL_SIR; p.integrator = SL_SIGNAL_CRANK_NICOLSON, "/integrator", "diffusion");
	REFUSED(p.model = SL_SIGNAL_SIR; p.start_value = 2, "/start_value", "share");
	REFUSED(p.model = SL_SIGNAL_SIR; p.stimulus_amplitude = -1, "/stimulus_amplitude", "rate");
	REFUSED(p.model = SL_SIGNAL_PAGERANK; p.start_value = 0, "/start_value", "greater");
	REFUSED(p.model = SL_SIGNAL_PAGERANK, "/snapshots", "time");
	good.start_nodes.count = 0;
	p = good;
	refused(g, &p, bad, 2, "/input", "2 columns");
	bad[8] = NAN;
	refused(g, &p, bad, 1, "/input", "Row 9");
	p.model = SL_SIGNAL_SIR;
	bad[8] = 1.5f;
	refused(g, &p, bad, 2, "/input", "Row 5");
	bad[8] = bad[9] = 0.8f;
	refused(g, &p, bad, 2, "/input", "together");
	p.model = SL_SIGNAL_PAGERANK;
	p.snapshots = 0;
	bad[8] = bad[9] = -1;
	refused(g, &p, bad, 1, "/input", "negative");
	bad[8] = bad[9] = 0;
	refused(g, &p, bad, 1, "/input", "all 0");
	sl_graph_destroy(g);
}

/* A step stable for the diffusion, but not for the reaction. */
static void values_without_bounds_end_the_run(void **state)
{
	struct sl_graph *g = network();
	const struct sl_method *m = sl_method_find("signal");
	struct sl_method_input in = {.edges = g};
	struct sl_signal_params p;
	struct sl_status status;
	struct sl_error err;
	void *run;
	for (int integrator = 0; integrator <= SL_SIGNAL_CRANK_NICOLSON; integrator++) {
		sl_param_defaults(&sl_signal_table, &p);
		p.model = SL_SIGNAL_FITZHUGH_NAGUMO;
		p.integrator = integrator;
		p.laplacian = SL_SIGNAL_RANDOM_WALK;
		p.diffusion = 0.001;
		p.step = 40;
		p.duration = 1e6;
		p.iterations = 2000;
		p.start_nodes = (struct sl_param_list){1, {1}};
		p.start_value = 50;
		if (integrator == SL_SIGNAL_BOGACKI_SHAMPINE || integrator == SL_SIGNAL_DORMAND_PRINCE)
			continue;  /* adaptive methods choose their step */
		assert_int_equal(m->create(&run, &in, &p, NULL), 0);
		int code;
		do
			code = m->advance(run, 10, &status, &err);
		while (!code && !status.done);
		assert_int_equal(code, SL_BADDATA);
		assert_string_equal(err.pointer, "/step");
		m->destroy(run);
	}
	sl_graph_destroy(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(neither_threads_nor_interruptions_change_a_byte),
		cmocka_unit_test(threads_change_no_byte),
		cmocka_unit_test(states_of_others_are_refused),
		cmocka_unit_test(snapshots_are_the_values_of_their_moments),
		cmocka_unit_test(parameters_can_be_steered),
		cmocka_unit_test(it_ends_when_asked_and_at_its_limit),
		cmocka_unit_test(fronts_run_at_the_exact_speed),
		cmocka_unit_test(pulses_run_along_a_line_of_10000_nodes),
		cmocka_unit_test(rest_is_rest),
		cmocka_unit_test(bad_parameters_are_refused),
		cmocka_unit_test(values_without_bounds_end_the_run),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
