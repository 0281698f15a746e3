/* Signals against analytical solutions, measured orders of convergence, conserved sums, dense solutions. */
#include <math.h>

#include "core/graph/affinities.h"
#include "core/random.h"
#include "tests/unit/seeds.h"
#include "tests/unit/signals.h"

#define PI 3.14159265358979323846

/* ---- the coupling ------------------------------------------------------------------------ */

static void weights_are_those_of_both_directions(void **state)
{
	static double dense[SOME][SOME];
	for (int weighted = 0; weighted < 2; weighted++) {
		struct sl_graph *g = some_graph(test_seed(5), weighted, dense);
		struct sl_coupling *c;
		double x[SOME], product[SOME], bound = 0;
		assert_int_equal(sl_coupling_of_graph(&c, g, NULL), 0);
		assert_true((c->weight != NULL) == weighted && c->n == SOME && c->block[c->blocks] == SOME);
		for (uint32_t i = 0; i < SOME; i++)
			x[i] = sl_random_normal(test_seed(6), c->user[i]);
		for (uint32_t b = 0; b < c->blocks; b++) {
			sl_coupling_multiply(c, b, x, product + c->block[b]);
			assert_true(c->block[b + 1] <= c->linked || c->block[b] >= c->linked);
			assert_int_equal(c->run[c->block_run[b]].first, c->block[b]);
		}
		for (uint32_t i = 0; i < SOME; i++) {
			double sum = 0, degree = 0;
			for (uint32_t j = 0; j < SOME; j++) {
				sum += dense[c->user[i]][j] * x[c->place[j]];
				degree += dense[c->user[i]][j];
			}
			assert_true(fabs(sum - product[i]) <= 1e-12 * (1 + degree));
			assert_true(fabs(degree - c->degree[i]) <= 1e-12 * (1 + degree));
			assert_int_equal(c->place[c->user[i]], i);
			assert_true(i == 0 || c->degree[i] == 0 || c->degree[i - 1] > 0);  /* nodes without edges are last */
		}
		for (uint32_t i = 0; i < SOME; i++)
			for (uint32_t j = 0; j < SOME; j++)
				if (dense[i][j] > 0)
					bound = fmax(bound, c->degree[c->place[i]] + c->degree[c->place[j]]);
		assert_true(fabs(c->bound - bound) <= 1e-12 * bound);
		sl_coupling_destroy(c);
		sl_graph_destroy(g);
	}
}

static void affinities_keep_the_nodes_without_edges(void **state)
{
	static double dense[SOME][SOME];
	struct sl_graph *g = some_graph(test_seed(7), true, dense);
	struct sl_affinities *a;
	struct sl_coupling *c;
	double sum = 0;
	assert_int_equal(sl_affinities_create(&a, g, &(struct sl_affinities_params){.lambda = 3}, NULL), 0);
	assert_int_equal(sl_coupling_of_affinities(&c, a, NULL), 0);
	assert_true(c->n == SOME && a->n < SOME && c->m == a->m);
	for (uint32_t i = 0; i < SOME; i++)
		sum += c->degree[i];
	assert_true(fabs(sum - a->n) <= 1e-5 * a->n);
	for (uint32_t i = 0; i < a->n; i++) {
		uint32_t row = c->place[a->user[i]];
		assert_int_equal(c->start[row + 1] - c->start[row], a->start[i + 1] - a->start[i]);
	}
	sl_coupling_destroy(c);
	sl_affinities_destroy(a);
	sl_graph_destroy(g);
}

/* ---- heat -------------------------------------------------------------------------------- */

/* The remaining fraction of the eigenmode is exp(- lambda D t); for one-step methods it is a known power. */
static void modes(uint32_t n, bool ring, int integrator, double h, double (*left)(double), double within)
{
	struct sl_signal_params p;
	float *initial = malloc(n * sizeof *initial);
	double *y = malloc(n * sizeof *y), d = 0.7, t = 12;
	for (uint32_t k = 0; k <= 9; k += 3) {
		double lambda = 2 - 2 * cos((ring ? 2 : 1) * PI * k / n);
		sl_param_defaults(&sl_signal_table, &p);
		p.integrator = integrator;
		p.diffusion = d;
		p.duration = t;
		p.step = h;
		p.tolerance = 1e-11;
		for (uint32_t i = 0; i < n; i++)
			initial[i] = (float)cos(ring ? 2 * PI * k * i / n : PI * k * (i + 0.5) / n);
		struct sl_signal_status status = run_signal(line(n, ring), &p, initial, y);
		assert_true(status.time == t);
		double by = left ? pow(left(h * d * lambda), t / h) : exp(-lambda * d * t);
		for (uint32_t i = 0; i < n; i++)
			assert_true(fabs(y[i] - by * (double)initial[i]) <= within + 1e-7);  /* initial is in single precision */
	}
	free(initial);
	free(y);
}

static double euler(double x)
{
	return 1 - x;
}

static double runge_kutta(double x)
{
	return 1 - x + x * x / 2 - x * x * x / 6 + x * x * x * x / 24;
}

static double crank_nicolson(double x)
{
	return (1 - x / 2) / (1 + x / 2);
}

static void heat_decays_as_its_modes_do(void **state)
{
	for (int ring = 0; ring < 2; ring++) {
		modes(40, ring, SL_SIGNAL_EULER, 0.25, euler, 1e-9);
		modes(40, ring, SL_SIGNAL_RUNGE_KUTTA, 0.5, runge_kutta, 1e-9);
		modes(40, ring, SL_SIGNAL_CRANK_NICOLSON, 1.5, crank_nicolson, 1e-8);
		modes(3000, ring, SL_SIGNAL_CRANK_NICOLSON, 1.5, crank_nicolson, 1e-8);
		modes(40, ring, SL_SIGNAL_BOGACKI_SHAMPINE, 0, NULL, 1e-7);
		modes(40, ring, SL_SIGNAL_DORMAND_PRINCE, 0, NULL, 1e-8);
		modes(3000, ring, SL_SIGNAL_DORMAND_PRINCE, 0, NULL, 1e-8);
	}
}

static void sums_are_conserved(void **state)
{
	static double dense[SOME][SOME], y[SOME];
	static float initial[SOME];
	for (int weighted = 0; weighted < 2; weighted++)
		for (int laplacian = 0; laplacian < 2; laplacian++)
			for (int integrator = 0; integrator <= SL_SIGNAL_CRANK_NICOLSON; integrator++) {
				struct sl_graph *g = some_graph(test_seed(8), weighted, dense);
				struct sl_signal_params p;
				struct sl_coupling *c;
				double before = 0, after = 0, first = 0, last = 0;
				sl_param_defaults(&sl_signal_table, &p);
				p.integrator = integrator;
				p.laplacian = laplacian;
				p.duration = 3;
				assert_int_equal(sl_coupling_of_graph(&c, g, NULL), 0);
				for (int i = 0; i < SOME; i++)
					initial[i] = (float)sl_random_uniform(3, (uint64_t)i);
				struct sl_signal *s = signal_of(c, &p, initial);
				first = sl_signal_level(s);
				to_the_end(s);
				last = sl_signal_level(s);
				sl_signal_values_exact(s, y);
				for (int i = 0; i < SOME; i++) {
					double degree = c->degree[c->place[i]], by = laplacian && degree > 0 ? degree : 1;
					before += by * (double)initial[i];
					after += by * y[i];
				}
				double within = integrator == SL_SIGNAL_CRANK_NICOLSON ? 1e-9 : 1e-12;
				assert_true(fabs(after - before) <= within * before);
				assert_true(fabs(last - first) <= within * first && first > 0.3 && first < 0.7);
				double spread = 0;
				for (int i = 0; i < SOME; i++)
					spread = fmax(spread, fabs(y[i] - (double)initial[i]));
				assert_true(spread > 0.3);
				sl_signal_destroy(s);
				sl_graph_destroy(g);
			}
}

/* The signal has the whole stimulus: steps end at its beginning and end. */
static void a_stimulus_adds_what_it_says(void **state)
{
	struct sl_signal_params p;
	double *y = malloc(sizeof *y * 1000);
	for (int integrator = 0; integrator <= SL_SIGNAL_CRANK_NICOLSON; integrator++) {
		sl_param_defaults(&sl_signal_table, &p);
		p.integrator = integrator;
		p.duration = 10;
		p.stimulus_nodes = (struct sl_param_list){2, {100, 700}};
		p.stimulus_hops = 3;
		p.stimulus_amplitude = 0.31;
		p.stimulus_start = 1.2345;
		p.stimulus_duration = 2.7182;
		run_signal(line(1000, false), &p, NULL, y);
		double sum = 0, want = 14 * 0.31 * 2.7182;
		for (int i = 0; i < 1000; i++)
			sum += y[i];
		assert_true(fabs(sum - want) <= 1e-8 * want);
		assert_true(y[100] > 0.1 && y[700] > 0.1 && y[400] < 1e-3);
	}
	free(y);
}

/* ---- orders ------------------------------------------------------------------------------ */

/* Excitable media on a small graph of hubs. */
static void medium(const struct sl_signal_params *given, int integrator, double step, double tolerance, double *y)
{
	static double dense[SOME][SOME];
	static float initial[2 * SOME];
	struct sl_signal_params p = *given;
	struct sl_graph *g = some_graph(11, true, dense);
	struct sl_coupling *c;
	p.integrator = integrator;
	p.step = step;
	p.tolerance = tolerance;
	for (int i = 0; i < 2 * SOME; i++)
		initial[i] = (float)(sl_random_normal(4, (uint64_t)i) * 0.5);
	assert_int_equal(sl_coupling_of_graph(&c, g, NULL), 0);
	run_signal(c, &p, initial, y);
	sl_graph_destroy(g);
}

static double distance(const double *a, const double *b)
{
	double most = 0;
	for (int i = 0; i < 2 * SOME; i++)
		most = fmax(most, fabs(a[i] - b[i]));
	return most;
}

static void orders_are_those_of_the_methods(void **state)
{
	static const struct { int integrator; double step, order; } methods[] = {
		{SL_SIGNAL_EULER, 0.005, 1}, {SL_SIGNAL_CRANK_NICOLSON, 0.02, 2}, {SL_SIGNAL_RUNGE_KUTTA, 0.02, 4},
	};
	static double exact[2 * SOME], y[3][2 * SOME];
	for (int model = SL_SIGNAL_FITZHUGH_NAGUMO; model <= SL_SIGNAL_NAGUMO; model++)
		for (int laplacian = 0; laplacian < 2; laplacian++) {
			struct sl_signal_params p;
			sl_param_defaults(&sl_signal_table, &p);
			p.model = model;
			p.laplacian = laplacian;
			p.diffusion = laplacian ? 0.3 : 0.02;
			p.duration = 2;
			p.epsilon = 0.4;
			medium(&p, SL_SIGNAL_DORMAND_PRINCE, 0, 1e-14, exact);
			for (int m = 0; m < 3; m++) {
				double error[3];
				for (int k = 0; k < 3; k++) {
					medium(&p, methods[m].integrator, methods[m].step / (1 << k), 1, y[k]);
					error[k] = distance(exact, y[k]);
				}
				for (int k = 0; k < 2; k++) {
					double order = log2(error[k] / error[k + 1]);
					print_message("model %d laplacian %d integrator %d: error %.3g, order %.3f\n", model, laplacian,
						      methods[m].integrator, error[k + 1], order);
					assert_true(fabs(order - methods[m].order) < 0.15);
				}
			}
			for (int k = 2; k < 4; k++)  /* errors of adaptive steps stay near the tolerance */
				for (double tolerance = 1e-5; tolerance > 1e-9; tolerance /= 100) {
					medium(&p, k, 0, tolerance, y[0]);
					double error = distance(exact, y[0]);
					print_message("integrator %d, tolerance %g: error %.3g\n", k, tolerance, error);
					assert_true(error < 20 * tolerance && error > 1e-6 * tolerance);
				}
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(weights_are_those_of_both_directions),
		cmocka_unit_test(affinities_keep_the_nodes_without_edges),
		cmocka_unit_test(heat_decays_as_its_modes_do),
		cmocka_unit_test(sums_are_conserved),
		cmocka_unit_test(a_stimulus_adds_what_it_says),
		cmocka_unit_test(orders_are_those_of_the_methods),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
