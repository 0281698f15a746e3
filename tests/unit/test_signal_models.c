/* PageRank against a dense solution, epidemics against their equations and their known ends. */
#include <math.h>

#include "core/random.h"
#include "tests/unit/seeds.h"
#include "tests/unit/signals.h"

static void solve_dense(uint32_t n, double (*a)[SOME], double *b)
{
	for (uint32_t k = 0; k < n; k++) {
		uint32_t pivot = k;
		for (uint32_t i = k; i < n; i++)
			pivot = fabs(a[i][k]) > fabs(a[pivot][k]) ? i : pivot;
		for (uint32_t j = 0; j < n; j++) {
			double swap = a[k][j];
			a[k][j] = a[pivot][j];
			a[pivot][j] = swap;
		}
		double swap = b[k];
		b[k] = b[pivot];
		b[pivot] = swap;
		for (uint32_t i = k + 1; i < n; i++) {
			double by = a[i][k] / a[k][k];
			for (uint32_t j = k; j < n; j++)
				a[i][j] -= by * a[k][j];
			b[i] -= by * b[k];
		}
	}
	for (uint32_t k = n; k-- > 0;) {
		for (uint32_t j = k + 1; j < n; j++)
			b[k] -= a[k][j] * b[j];
		b[k] /= a[k][k];
	}
}

static void pagerank_is_the_solution(void **state)
{
	static double dense[SOME][SOME], a[SOME][SOME], x[SOME], r[SOME], y[SOME];
	static float initial[SOME];
	for (int kind = 0; kind < 3; kind++) {  /* restarts at all nodes; at three nodes; by given weights */
		struct sl_graph *g = some_graph(test_seed(9), true, dense);
		struct sl_signal_params p;
		struct sl_coupling *c;
		double alpha = 0.9, sum = 0;
		sl_param_defaults(&sl_signal_table, &p);
		p.model = SL_SIGNAL_PAGERANK;
		p.damping = alpha;
		p.tolerance = 1e-13;
		if (kind == 1)
			p.start_nodes = (struct sl_param_list){3, {2, 50, SOME - 1}};  /* the last one has no edges */
		for (int i = 0; i < SOME; i++) {
			initial[i] = (float)sl_random_uniform(8, (uint64_t)i);
			r[i] = kind == 0 ? 1 : kind == 1 ? i == 2 || i == 50 || i == SOME - 1 : (double)initial[i];
			sum += r[i];
		}
		for (int i = 0; i < SOME; i++)
			r[i] /= sum;
		for (int j = 0; j < SOME; j++) {
			double degree = 0;
			for (int i = 0; i < SOME; i++)
				degree += dense[i][j];
			for (int i = 0; i < SOME; i++)
				a[i][j] = (i == j) - alpha * (degree > 0 ? dense[i][j] / degree : r[i]);
		}
		for (int i = 0; i < SOME; i++)
			x[i] = (1 - alpha) * r[i];
		solve_dense(SOME, a, x);
		assert_int_equal(sl_coupling_of_graph(&c, g, NULL), 0);
		struct sl_signal_status status = run_signal(c, &p, kind == 2 ? initial : NULL, y);
		assert_true(status.converged && status.step < 400);
		for (int i = 0; i < SOME; i++)
			assert_true(fabs(y[i] - x[i]) <= 1e-11);
		sl_graph_destroy(g);
	}
}

/* Kermack and McKendrick: on a complete graph all nodes are equal, and the final fraction s of susceptible nodes
 * satisfies log(s0 / s) = R0 (1 - s), if infected and recovered nodes start near 0. */
static void the_final_size_of_an_epidemic(void **state)
{
	enum { N = 60 };
	static uint32_t edge[N * N / 2][2];
	static float initial[2 * N];
	static double y[2 * N];
	size_t count = 0;
	for (uint32_t i = 0; i < N; i++)
		for (uint32_t j = 0; j < i; j++) {
			edge[count][0] = i;
			edge[count++][1] = j;
		}
	for (int i = 0; i < N; i++) {
		initial[2 * i] = 0.99f;
		initial[2 * i + 1] = 0.01f;
	}
	struct sl_graph *g = graph_of(N, (const uint32_t (*)[2])edge, NULL, count, true);
	struct sl_signal_params p;
	struct sl_coupling *c;
	sl_param_defaults(&sl_signal_table, &p);
	p.model = SL_SIGNAL_SIR;
	p.laplacian = SL_SIGNAL_RANDOM_WALK;
	p.infection = 0.4;
	p.recovery = 0.2;
	p.duration = 400;
	p.integrator = SL_SIGNAL_DORMAND_PRINCE;
	p.tolerance = 1e-10;
	assert_int_equal(sl_coupling_of_graph(&c, g, NULL), 0);
	run_signal(c, &p, initial, y);
	double s = 0.2;
	for (int k = 0; k < 200; k++)
		s = (double)initial[0] * exp(-2 * ((double)initial[0] + (double)initial[1] - s));
	for (int i = 0; i < N; i++) {
		assert_true(fabs(y[2 * i] - s) < 1e-7);
		assert_true(fabs(y[2 * i + 1]) < 1e-7);
	}
	sl_graph_destroy(g);
}

/* The same equations, dense, by another method with short steps. */
static void sir_follows_its_equations(void **state)
{
	static double dense[SOME][SOME], s[SOME], i0[SOME], y[2 * SOME];
	struct sl_graph *g = some_graph(test_seed(12), true, dense);
	struct sl_signal_params p;
	struct sl_coupling *c;
	sl_param_defaults(&sl_signal_table, &p);
	p.model = SL_SIGNAL_SIR;
	p.infection = 0.1;
	p.recovery = 0.2;
	p.duration = 8;
	p.step = 0.01;
	p.start_nodes = (struct sl_param_list){2, {0, 40}};
	p.start_value = 0.5;
	for (int i = 0; i < SOME; i++) {
		i0[i] = i == 0 || i == 40 ? 0.5 : 0;
		s[i] = 1 - i0[i];
	}
	const int steps = test_lightest() ? 2000 : 4000;
	for (int step = 0; step < steps; step++) {  /* midpoint rule */
		static double ms[SOME], mi[SOME], pressure[SOME];
		const double h = 8.0 / steps;
		for (int half = 0; half < 2; half++) {
			const double *us = half ? ms : s, *ui = half ? mi : i0;
			for (int i = 0; i < SOME; i++) {
				pressure[i] = 0;
				for (int j = 0; j < SOME; j++)
					pressure[i] += dense[i][j] * ui[j];
			}
			for (int i = 0; i < SOME; i++) {
				double flow = 0.1 * us[i] * pressure[i], over = half ? h : h / 2, all = 0.2 * ui[i];
				double fresh_s = s[i] - over * flow, fresh_i = i0[i] + over * (flow - all);
				if (half) {
					s[i] = fresh_s;
					i0[i] = fresh_i;
				} else {
					ms[i] = fresh_s;
					mi[i] = fresh_i;
				}
			}
		}
	}
	assert_int_equal(sl_coupling_of_graph(&c, g, NULL), 0);
	run_signal(c, &p, NULL, y);
	double infected = 0;
	for (int i = 0; i < SOME; i++) {
		assert_true(fabs(y[2 * i] - s[i]) < 1e-6 && fabs(y[2 * i + 1] - i0[i]) < 1e-6);
		infected += y[2 * i + 1];
	}
	assert_true(infected > 20);
	sl_graph_destroy(g);
}

static void chances_are_those_of_the_seed(void **state)
{
	static float y[3][2 * SOME];
	static double dense[SOME][SOME];
	double ever[2] = {0};
	for (uint64_t seed = 0; seed < 200; seed++) {
		struct sl_graph *g = some_graph(13, false, dense);
		struct sl_signal_params p;
		struct sl_coupling *c;
		sl_param_defaults(&sl_signal_table, &p);
		p.model = SL_SIGNAL_SIR_CHANCE;
		p.laplacian = SL_SIGNAL_RANDOM_WALK;
		p.infection = 1;
		p.duration = 20;
		p.seed = seed;
		p.start_nodes = (struct sl_param_list){1, {3}};
		for (int k = 0; k < 2; k++) {
			assert_int_equal(sl_coupling_of_graph(&c, g, NULL), 0);
			struct sl_signal *s = signal_of(c, &p, NULL);
			to_the_end(s);
			sl_signal_values(s, y[k]);
			sl_signal_destroy(s);
		}
		assert_memory_equal(y[0], y[1], sizeof y[0]);
		for (int i = 0; i < 2 * SOME; i++)
			assert_true(y[0][i] == 0 || y[0][i] == 1);
		for (int i = 0; i < SOME; i++) {
			assert_true(y[0][2 * i] + y[0][2 * i + 1] <= 1);
			ever[0] += y[0][2 * i] == 0;
		}
		ever[1] += memcmp(y[0], y[2], sizeof y[0]) != 0;
		memcpy(y[2], y[0], sizeof y[0]);
		assert_true(y[0][2 * (SOME - 1)] == 1);  /* nobody infects it */
		sl_graph_destroy(g);
	}
	assert_true(ever[1] > 190 && ever[0] > 200 * 100 && ever[0] < 200 * (SOME - 15));
}

/* One node without neighbours stays infected for an exponentially distributed time; the chain must have the same
 * mean. */
static void recovery_takes_as_long_as_it_says(void **state)
{
	enum { N = 20000 };
	struct sl_graph *g = graph_of(N, NULL, NULL, 0, false);
	struct sl_signal_params p;
	struct sl_coupling *c;
	static float initial[2 * N], y[2 * N];
	sl_param_defaults(&sl_signal_table, &p);
	p.model = SL_SIGNAL_SIR_CHANCE;
	p.recovery = 0.3;
	p.duration = 2;
	for (int i = 0; i < N; i++)
		initial[2 * i + 1] = 1;
	assert_int_equal(sl_coupling_of_graph(&c, g, NULL), 0);
	struct sl_signal *s = signal_of(c, &p, initial);
	to_the_end(s);
	sl_signal_values(s, y);
	double left = 0;
	for (int i = 0; i < N; i++)
		left += (double)y[2 * i + 1] / N;
	assert_true(fabs(left - exp(-0.6)) < 5 * sqrt(0.25 / N));
	sl_signal_destroy(s);
	sl_graph_destroy(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pagerank_is_the_solution),
		cmocka_unit_test(the_final_size_of_an_epidemic),
		cmocka_unit_test(sir_follows_its_equations),
		cmocka_unit_test(chances_are_those_of_the_seed),
		cmocka_unit_test(recovery_takes_as_long_as_it_says),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
