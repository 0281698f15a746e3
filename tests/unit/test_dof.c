/* Other degrees of freedom than 1, against sums in double precision, on input that is new in each run. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/clock.h"
#include "core/cpu/kernels.h"
#include "core/measure/quality.h"
#include "core/params.h"
#include "tests/unit/engines.h"

/* Both terms of gradient / 4, and Z. */
static void naive(const struct sl_affinities *a, int dims, double dof, const float *y, double *attraction,
		  double *repulsion, double *z)
{
	size_t d = (size_t)dims;
	memset(attraction, 0, sizeof *attraction * a->n * d);
	memset(repulsion, 0, sizeof *repulsion * a->n * d);
	*z = 0;
	for (uint32_t i = 0; i < a->n; i++) {
		for (uint32_t j = 0; j < a->n; j++) {
			double r2 = 0;
			for (size_t k = 0; k < d; k++)
				r2 += ((double)y[i * d + k] - (double)y[j * d + k]) * ((double)y[i * d + k] - (double)y[j * d + k]);
			double steep = pow(1 + r2 / dof, -dof - 1);
			*z += i == j ? 0 : pow(1 + r2 / dof, -dof);
			for (size_t k = 0; k < d; k++)
				repulsion[i * d + k] += steep * ((double)y[i * d + k] - (double)y[j * d + k]);
		}
		for (uint64_t e = a->start[i]; e < a->start[i + 1]; e++) {
			uint32_t j = a->node[e];
			double r2 = 0;
			for (size_t k = 0; k < d; k++)
				r2 += ((double)y[i * d + k] - (double)y[j * d + k]) * ((double)y[i * d + k] - (double)y[j * d + k]);
			for (size_t k = 0; k < d; k++)
				attraction[i * d + k] += (double)a->p[e] / (1 + r2 / dof) *
							 ((double)y[i * d + k] - (double)y[j * d + k]);
		}
	}
	for (size_t i = 0; i < a->n * d; i++)
		repulsion[i] /= *z;
}

static double error(size_t count, const double *exact, const float *got)
{
	double sum = 0, all = 0;
	for (size_t i = 0; i < count; i++) {
		sum += (exact[i] - (double)got[i]) * (exact[i] - (double)got[i]);
		all += exact[i] * exact[i];
	}
	return sqrt(sum / all);
}

static void forces_are_the_sums(void **state)
{
	static const double dofs[] = {0.2, 0.5, 0.8, 1.5, 4, 30};
	struct bench b;
	uint64_t seed = fresh_seed();
	bench_open(&b, test_graph(test_light() ? 300 : 1500, 3, true, false, seed % 1000), 2);
	size_t most = (size_t)b.a->n * 3;
	double *attraction = malloc(sizeof *attraction * most), *repulsion = malloc(sizeof *repulsion * most), z, got_z;
	float *got_a = malloc(sizeof *got_a * most), *got_r = malloc(sizeof *got_r * most);
	for (size_t at = 0; at < sizeof dofs / sizeof *dofs; at++)
		for (int dims = 1; dims <= 3; dims++)
			for (int exact = 0; exact < 2; exact++) {
				if (test_leaves_out(at * 3 + (size_t)dims, 1, 4))
					continue;
				struct sl_settings s = {.dims = dims, .accuracy = SL_FINE, .dof = dofs[at],
							.repulsion = exact ? SL_REPULSION_EXACT : SL_REPULSION_GRID};
				float *y = test_layout(b.a->n, dims, dims == 3 ? 12 : 40, 2, seed++);
				size_t count = (size_t)b.a->n * (size_t)dims;
				struct sl_device_embedding *e;
				assert_int_equal(b.engine->embedding_create(b.resident, &s, y, &e, NULL), 0);
				assert_int_equal(b.engine->forces(e, got_a, got_r, &got_z, NULL), 0);
				naive(b.a, dims, dofs[at], y, attraction, repulsion, &z);
				double worst = exact ? 1e-4 : 5e-2, wrong = error(count, repulsion, got_r);
				if (!(wrong < worst) || !(fabs(got_z - z) < (exact ? 1e-5 : 2e-3) * z))
					fail_msg("dof %g, %d-D, %s: forces off by %.2g, Z by %.2g", dofs[at], dims,
						 exact ? "exact" : "grid", wrong, fabs(got_z - z) / z);
				assert_true(error(count, attraction, got_a) < 1e-5);

				struct sl_measure m;
				double kl, exact_z, none;
				assert_int_equal(b.engine->measure(e, &m, NULL), 0);
				assert_int_equal(sl_quality_divergence(b.a, dims, dofs[at], y, 0, &kl, &exact_z, &none, NULL), 0);
				assert_true(fabs(m.kl - kl) < 5e-3);
				assert_int_equal(b.engine->snapshot(e, got_a, NULL), 0);
				for (size_t i = 0; i < count; i++)
					assert_true(fabsf(got_a[i] - y[i]) <= 1e-6f * fabsf(y[i]));
				b.engine->embedding_destroy(e);
				free(y);
			}
	free(attraction);
	free(repulsion);
	free(got_a);
	free(got_r);
	bench_close(&b);
}

/* Steps follow the gradient of the measured divergence: plain descent lowers it ... */
static void steps_lead_downhill(void **state)
{
	for (double dof = 0.4; dof < 4; dof *= 3) {
		struct bench b;
		bench_open(&b, test_graph(600, 3, true, false, fresh_seed() % 1000), 1);
		struct sl_settings s = {.dims = 2, .repulsion = SL_REPULSION_EXACT, .dof = dof};
		float *y = test_layout(b.a->n, 2, 6, 1, 3);
		struct sl_device_embedding *e;
		struct sl_measure before, after;
		struct sl_step step = {.exaggeration = 1, .learning_rate = 10, .momentum = 0};
		assert_int_equal(b.engine->embedding_create(b.resident, &s, y, &e, NULL), 0);
		assert_int_equal(b.engine->measure(e, &before, NULL), 0);
		for (int i = 0; i < 10; i++) {
			assert_int_equal(b.engine->run(e, &step, 1, NULL), 0);
			assert_int_equal(b.engine->measure(e, &after, NULL), 0);
			assert_true(after.kl < before.kl);
			/* ... by the predicted amount: 16 |gradient / 4|^2 eta / 4, apart from gains */
			if (!i)
				assert_true(fabs(before.kl - after.kl - 4 * step.learning_rate * before.gradient_norm *
						 before.gradient_norm * 1.2) < 0.25 * (before.kl - after.kl));
			before = after;
		}
		b.engine->embedding_destroy(e);
		free(y);
		bench_close(&b);
	}
}

static void heavier_tails_spread_wider(void **state)
{
	double extent[2];
	for (int heavy = 0; heavy < 2; heavy++) {
		struct bench b;
		bench_open(&b, test_graph(900, 9, true, false, 5), 2);
		struct sl_params p;
		sl_params_preset(&p, SL_PRESET_DEFAULT);
		p.iterations = 400;
		p.exaggeration_iterations = 100;
		p.dof = heavy ? 1 : 4;
		struct sl_embedding *e;
		struct sl_status status = {0};
		int count;
		assert_int_equal(sl_embedding_create(&e, b.engine, b.resident, b.a, &p, NULL, NULL), 0);
		while (!status.done)
			assert_int_equal(sl_embedding_advance(e, 1e9, &status, NULL), 0);
		const struct sl_trace_point *t = sl_embedding_trace(e, &count);
		extent[heavy] = (double)(t[count - 1].high[0] - t[count - 1].low[0]);
		assert_true(status.measure > 0 && status.measure < t[0].measure);
		sl_embedding_destroy(e);
		bench_close(&b);
	}
	assert_true(extent[1] > 1.5 * extent[0]);
}

/* The least seconds of a sum over all pairs. */
static double seconds_of_all_pairs(double nu)
{
	enum { N = 500 };
	static float x[2][N], force[2 * N];
	float *coordinate[3] = {x[0], x[1], NULL};
	double least = INFINITY;
	uint64_t seed = test_seed(5);
	for (int i = 0; i < N; i++)
		for (int k = 0; k < 2; k++)
			x[k][i] = (float)(50 * test_uniform(&seed));
	for (int i = 0; i < 30; i++) {
		double before = sl_clock_s();
		assert_true(sl_cpu_kernels()->exact(2, nu, N, coordinate, 0, N, force) > 0);
		least = fmin(least, sl_clock_s() - before);
	}
	return least;
}

/* Powers cost 4 times a pair of the Cauchy kernel, and 45 times if the compiler does not vectorise them. */
static void powers_are_vectorised(void **state)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	skip();
#endif
	double cauchy = seconds_of_all_pairs(1), heavy = seconds_of_all_pairs(0.5);
	if (heavy > 15 * cauchy)
		fail_msg("%.0f us, %.0f us with powers", 1e6 * cauchy, 1e6 * heavy);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(forces_are_the_sums),
		cmocka_unit_test(steps_lead_downhill),
		cmocka_unit_test(heavier_tails_spread_wider),
		cmocka_unit_test(powers_are_vectorised),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
