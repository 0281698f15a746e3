/* Gaussian mixtures, compared with plain expectation maximisation in double precision and with known results. */
#include <math.h>
#include <string.h>

#include "tests/unit/mixtures.h"

/* ---- the plain one ---------------------------------------------------------------------- */

struct plain {
	uint32_t n, d, k;
	int covariance;
	double reg;
	const float *x;
	double *r, *weight, *mean, *spread;   /* spread [k][d][d], whatever the type */
	double log_likelihood;
};

static double x_of(const struct plain *p, uint32_t i, uint32_t a)
{
	return (double)p->x[(size_t)i * p->d + a];
}

static void plain_spread(struct plain *p, uint32_t c, double mass)
{
	uint32_t d = p->d;
	double *s = p->spread + (size_t)c * d * d, mean = 0;
	for (uint32_t a = 0; a < d; a++)
		for (uint32_t b = 0; b < d; b++) {
			double sum = 0;
			for (uint32_t i = 0; i < p->n; i++)
				sum += p->r[(size_t)i * p->k + c] * (x_of(p, i, a) - p->mean[c * d + a]) *
				       (x_of(p, i, b) - p->mean[c * d + b]);
			s[a * d + b] = sum / mass;
		}
	for (uint32_t a = 0; a < d; a++)
		mean += s[a * d + a] / d;
	for (uint32_t a = 0; a < d; a++)
		for (uint32_t b = 0; b < d; b++)
			if (p->covariance >= SL_GMM_DIAG)
				s[a * d + b] = a != b ? 0 : p->covariance == SL_GMM_DIAG ? s[a * d + b] : mean;
}

static void plain_maximise(struct plain *p)
{
	uint32_t d = p->d, square = d * d;
	for (uint32_t c = 0; c < p->k; c++) {
		double mass = 0;
		for (uint32_t i = 0; i < p->n; i++)
			mass += p->r[(size_t)i * p->k + c];
		p->weight[c] = mass / p->n;
		for (uint32_t a = 0; a < d; a++) {
			double sum = 0;
			for (uint32_t i = 0; i < p->n; i++)
				sum += p->r[(size_t)i * p->k + c] * x_of(p, i, a);
			p->mean[c * d + a] = sum / mass;
		}
		plain_spread(p, c, mass);
	}
	if (p->covariance == SL_GMM_TIED)
		for (uint32_t e = 0; e < square; e++) {
			double sum = 0;
			for (uint32_t c = 0; c < p->k; c++)
				sum += p->weight[c] * p->spread[c * square + e];
			for (uint32_t c = 0; c < p->k; c++)
				p->spread[c * square + e] = sum;
		}
	for (uint32_t c = 0; c < p->k; c++)
		for (uint32_t a = 0; a < d; a++)
			p->spread[c * square + a * d + a] += p->reg;
}

/* log N(x | mean, spread) by Gaussian elimination. */
static double plain_density(const struct plain *p, uint32_t i, uint32_t c)
{
	uint32_t d = p->d;
	double a[16 * 17], square = 0, log_det = 0;
	for (uint32_t r = 0; r < d; r++) {
		memcpy(a + r * (d + 1), p->spread + (size_t)c * d * d + r * d, d * sizeof *a);
		a[r * (d + 1) + d] = x_of(p, i, r) - p->mean[c * d + r];
	}
	for (uint32_t r = 0; r < d; r++) {
		log_det += log(a[r * (d + 1) + r]);
		square += a[r * (d + 1) + d] * a[r * (d + 1) + d] / a[r * (d + 1) + r];
		for (uint32_t s = r + 1; s < d; s++) {
			double by = a[s * (d + 1) + r] / a[r * (d + 1) + r];
			for (uint32_t b = r; b <= d; b++)
				a[s * (d + 1) + b] -= by * a[r * (d + 1) + b];
		}
	}
	return -0.5 * (d * log(2 * M_PI) + log_det + square);
}

static void plain_expect(struct plain *p)
{
	p->log_likelihood = 0;
	for (uint32_t i = 0; i < p->n; i++) {
		double *r = p->r + (size_t)i * p->k, most = -INFINITY, sum = 0;
		for (uint32_t c = 0; c < p->k; c++) {
			r[c] = log(p->weight[c]) + plain_density(p, i, c);
			most = fmax(most, r[c]);
		}
		for (uint32_t c = 0; c < p->k; c++)
			sum += exp(r[c] - most);
		p->log_likelihood += most + log(sum);
		for (uint32_t c = 0; c < p->k; c++)
			r[c] = exp(r[c] - most) / sum;
	}
}

static void plain_run(struct plain *p, const float *start, int iterations)
{
	size_t square = (size_t)p->d * p->d;
	p->r = malloc((size_t)p->n * p->k * sizeof *p->r);
	p->weight = malloc(p->k * sizeof *p->weight);
	p->mean = malloc((size_t)p->k * p->d * sizeof *p->mean);
	p->spread = malloc(p->k * square * sizeof *p->spread);
	for (size_t e = 0; e < (size_t)p->n * p->k; e++)
		p->r[e] = (double)start[e];
	plain_maximise(p);
	for (int i = 0; i < iterations; i++) {
		plain_expect(p);
		plain_maximise(p);
	}
	plain_expect(p);
}

static void plain_finish(struct plain *p)
{
	free(p->r);
	free(p->weight);
	free(p->mean);
	free(p->spread);
}

static double spread_at(const struct sl_gmm_mixture *g, uint32_t c, uint32_t a, uint32_t b)
{
	switch (g->covariance) {
	case SL_GMM_FULL: return g->spread[((size_t)c * g->d + a) * g->d + b];
	case SL_GMM_TIED: return g->spread[(size_t)a * g->d + b];
	case SL_GMM_DIAG: return a == b ? g->spread[(size_t)c * g->d + a] : 0;
	default: return a == b ? g->spread[c] : 0;
	}
}

static void same_mixture(const struct plain *p, const struct sl_gmm_mixture *g, double off)
{
	for (uint32_t c = 0; c < p->k; c++) {
		near(g->weight[c], p->weight[c], off);
		for (uint32_t a = 0; a < p->d; a++) {
			near(g->mean[c * p->d + a], p->mean[c * p->d + a], off);
			for (uint32_t b = 0; b < p->d; b++)
				near(spread_at(g, c, a, b), p->spread[((size_t)c * p->d + a) * p->d + b], off);
		}
	}
}

static void same_as_plain(uint32_t n, uint32_t d, uint32_t k, int covariance, double offset)
{
	const int iterations = 12;
	float *x = make_points(n, d, k, offset, test_seed(n + d)), *start = hard_start(n, k);
	struct sl_points points = points_of(x, n, d);
	struct sl_gmm_params params = params_of((int)k, covariance, iterations, 0);
	struct plain p = {.n = n, .d = d, .k = k, .covariance = covariance, .reg = params.reg_covar, .x = x};
	struct sl_gmm *m = run(&points, &params, start);
	plain_run(&p, start, iterations);
	int count;
	const struct sl_gmm_fit *fit = sl_gmm_fits(m, &count);
	assert_int_equal(count, 1);
	assert_int_equal(fit->components, k);
	assert_int_equal(fit->ridged, 0);
	near(fit->log_likelihood, p.log_likelihood, 1e-10);
	near(fit->aic, -2 * p.log_likelihood + 2 * sl_gmm_freedom(covariance, k, d), 1e-10);
	near(fit->bic, -2 * p.log_likelihood + log(n) * sl_gmm_freedom(covariance, k, d), 1e-10);
	same_mixture(&p, sl_gmm_best(m), 1e-7);
	const int32_t *label;
	const float *r;
	assert_int_equal(sl_gmm_result(m, &label, &r, NULL), 0);
	for (uint32_t i = 0; i < n; i++) {
		for (uint32_t c = 0; c < k; c++) {
			near((double)r[(size_t)i * k + c], p.r[(size_t)i * k + c], 1e-6);
			assert_true(r[(size_t)i * k + (uint32_t)label[i]] >= r[(size_t)i * k + c]);
		}
	}
	sl_gmm_destroy(m);
	plain_finish(&p);
	free(x);
	free(start);
}

static void like_plain_em(void **state)
{
	static const uint32_t shapes[][3] = {{300, 1, 2}, {500, 2, 3}, {777, 3, 4}, {400, 5, 2}, {600, 8, 3}, {900, 13, 3},
					     {64, 2, 1}, {65, 4, 2}};
	for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
		for (int covariance = SL_GMM_FULL; covariance <= SL_GMM_SPHERICAL; covariance++) {
			if (test_leaves_out(i + 2 * (size_t)covariance, 1, 5))
				continue;
			same_as_plain(shapes[i][0], shapes[i][1], shapes[i][2], covariance, 0);
			same_as_plain(shapes[i][0], shapes[i][1], shapes[i][2], covariance, 100);
		}
}


/* ---- known answers ---------------------------------------------------------------------- */

/* One component: mean and covariance of the points. */
static void one_component(void **state)
{
	const uint32_t n = 1000, d = 3;
	float *x = make_points(n, d, 1, 50, test_seed(10));
	struct sl_points points = points_of(x, n, d);
	struct sl_gmm_params params = params_of(1, SL_GMM_FULL, 100, 1e-3);
	params.reg_covar = 0;
	struct sl_gmm *m = run(&points, &params, NULL);
	const struct sl_gmm_mixture *g = sl_gmm_best(m);
	double mean[3] = {0}, log_det = 0;
	for (uint32_t i = 0; i < n * d; i++)
		mean[i % d] += (double)x[i] / n;
	for (uint32_t a = 0; a < d; a++) {
		near(g->mean[a], mean[a], 1e-12);
		for (uint32_t b = 0; b < d; b++) {
			double sum = 0;
			for (uint32_t i = 0; i < n; i++)
				sum += ((double)x[i * d + a] - mean[a]) * ((double)x[i * d + b] - mean[b]);
			near(g->spread[a * d + b], sum / n, 1e-10);
		}
	}
	/* the mean square of whitened points is d */
	double s[9];
	memcpy(s, g->spread, sizeof s);
	log_det = log(s[0] * (s[4] * s[8] - s[5] * s[7]) - s[1] * (s[3] * s[8] - s[5] * s[6]) +
		      s[2] * (s[3] * s[7] - s[4] * s[6]));
	int count;
	near(sl_gmm_fits(m, &count)->log_likelihood, -0.5 * n * (d * log(2 * M_PI) + log_det + d), 1e-10);
	sl_gmm_destroy(m);
	free(x);
}

/* A sample of a known mixture is fitted by about that mixture, and BIC finds the number of components. */
static void what_was_sampled_is_found(void **state)
{
	enum { N = 20000 };
	double weight[3] = {0.5, 0.3, 0.2}, mean[6] = {0, 0, 6, 1, -3, 7};
	double spread[12] = {2, 0.8, 0.8, 1, 0.5, -0.2, -0.2, 0.7, 1, 0, 0, 3};
	struct sl_gmm_mixture g = {SL_GMM_FULL, 3, 2, weight, mean, spread};
	float *x = malloc(N * 2 * sizeof *x);
	int32_t *label = malloc(N * sizeof *label);
	double *density = malloc(N * sizeof *density), sum = 0;
	uint64_t seed = test_seed(11);
	assert_int_equal(sl_gmm_sample(&g, 0, N, seed, x, label, NULL), 0);
	float part[7 * 2];
	assert_int_equal(sl_gmm_sample(&g, 12345, 7, seed, part, NULL, NULL), 0);
	assert_memory_equal(part, x + 12345 * 2, sizeof part);
	struct sl_points points = points_of(x, N, 2);
	struct sl_gmm_params params = params_of(3, SL_GMM_FULL, 200, 1e-5);
	params.components = (struct sl_param_list){3, {2, 4, 3}};
	params.restarts = 5;  /* one alone may end in a local optimum */
	struct sl_gmm *m = run(&points, &params, NULL);
	const struct sl_gmm_mixture *found = sl_gmm_best(m);
	assert_int_equal(found->k, 3);
	for (uint32_t c = 0; c < 3; c++) {
		uint32_t best = 0;
		for (uint32_t b = 1; b < 3; b++)
			best = fabs(found->weight[b] - weight[c]) < fabs(found->weight[best] - weight[c]) ? b : best;
		near(found->weight[best], weight[c], 0.03);
		for (uint32_t a = 0; a < 2; a++)
			near(found->mean[best * 2 + a], mean[c * 2 + a], 0.1);
		for (uint32_t e = 0; e < 4; e++)
			near(found->spread[best * 4 + e], spread[c * 4 + e], 0.15);
	}
	/* densities of the points are those of the fit */
	int32_t *most = malloc(N * sizeof *most);
	float *share = malloc(N * 3 * sizeof *share);
	const int32_t *fit_label;
	const float *fit_share;
	int count;
	assert_int_equal(sl_gmm_predict(found, &points, most, share, density, NULL), 0);
	assert_int_equal(sl_gmm_result(m, &fit_label, &fit_share, NULL), 0);
	assert_memory_equal(most, fit_label, N * sizeof *most);
	assert_memory_equal(share, fit_share, N * 3 * sizeof *share);
	for (int i = 0; i < N; i++)
		sum += density[i];
	near(sum, sl_gmm_fits(m, &count)[2].log_likelihood, 1e-12);
	struct sl_points wide = points_of(x, N / 2, 4);
	assert_int_equal(sl_gmm_predict(found, &wide, most, NULL, NULL, NULL), SL_BADDATA);
	sl_gmm_destroy(m);
	free(x);
	free(label);
	free(density);
	free(most);
	free(share);
}

/* The result is that of the best number of components, whichever place it has in the list. */
static void result_of_the_best_number(void **state)
{
	enum { N = 900, D = 4 };
	float *x = make_points(N, D, 3, 0, test_seed(12)), share[N * 3];
	struct sl_points points = points_of(x, N, D);
	int32_t label[N];
	for (int place = 0; place < 3; place++) {
		struct sl_gmm_params params = params_of(3, SL_GMM_SPHERICAL, 50, 0);
		params.components = (struct sl_param_list){3, {1, 1, 1}};
		params.components.value[place] = 3;
		struct sl_gmm *m = run(&points, &params, NULL);
		const int32_t *fit_label;
		const float *fit_share;
		assert_int_equal(sl_gmm_best(m)->k, 3);
		assert_int_equal(sl_gmm_predict(sl_gmm_best(m), &points, label, share, NULL, NULL), 0);
		assert_int_equal(sl_gmm_result(m, &fit_label, &fit_share, NULL), 0);
		assert_memory_equal(label, fit_label, sizeof label);
		assert_memory_equal(share, fit_share, sizeof share);
		sl_gmm_destroy(m);
	}
	free(x);
}

/* Points of a block that all lie far from a component have no share of it at all, and their density is exact. */
static void far_components_have_no_shares(void **state)
{
	enum { N = 128 };
	double weight[2] = {0.5, 0.5}, mean[2] = {0, 100}, spread[2] = {1, 1}, density[N];
	float x[N], share[2 * N];
	struct sl_gmm_mixture g = {SL_GMM_DIAG, 2, 1, weight, mean, spread};
	struct sl_points points = points_of(x, N, 1);
	for (int i = 0; i < N; i++)
		x[i] = i < N / 2 ? 0 : 100;
	assert_int_equal(sl_gmm_predict(&g, &points, NULL, share, density, NULL), 0);
	for (int i = 0; i < N; i++) {
		near(density[i], log(0.5) - 0.5 * log(2 * M_PI), 1e-14);
		assert_true(share[2 * i] == (i < N / 2 ? 1 : 0) && share[2 * i + 1] == (i < N / 2 ? 0 : 1));
	}
}

static void far_points_have_shares(void **state)
{
	double weight[2] = {0.5, 0.5}, mean[2] = {0, 1}, spread[2] = {1e-12, 1e-12};
	float x[4] = {0, 1, 3e38f, -3e38f}, share[8];
	double density[4];
	int32_t label[4];
	struct sl_gmm_mixture g = {SL_GMM_DIAG, 2, 1, weight, mean, spread};
	struct sl_points points = points_of(x, 4, 1);
	assert_int_equal(sl_gmm_predict(&g, &points, label, share, density, NULL), 0);
	for (int i = 0; i < 4; i++) {
		assert_true(isfinite(density[i]));
		near((double)share[2 * i] + (double)share[2 * i + 1], 1, 1e-6);
	}
	assert_int_equal(label[0], 0);
	assert_int_equal(label[1], 1);
	spread[1] = 0;
	assert_int_equal(sl_gmm_predict(&g, &points, label, share, density, NULL), SL_CONFLICT);
}

/* ---- odd points ------------------------------------------------------------------------- */

static void odd_points(void **state)
{
	const uint32_t n = 120, d = 3;
	float *x = malloc(n * d * sizeof *x);
	for (int kind = 0; kind < 5; kind++)
		for (int covariance = SL_GMM_FULL; covariance <= SL_GMM_SPHERICAL; covariance++)
			for (int reg = 0; reg < 2; reg++) {
				for (uint32_t i = 0; i < n; i++)
					for (uint32_t a = 0; a < d; a++) {
						float own = (float)sl_random_normal(1, i * d + a);
						x[i * d + a] = kind == 0 ? 7 : kind == 1 ? (float)(i % 2) : kind == 2 ? (a ? own : 3) :
							kind == 3 ? (a == 2 ? x[i * d] + x[i * d + 1] : own) : 1e30f * own;
					}
				struct sl_points points = points_of(x, n, d);
				struct sl_gmm_params params = params_of(4, covariance, 20, 0);
				params.reg_covar = reg ? 1e-6 : 0;
				struct sl_gmm *m = run(&points, &params, NULL);
				const struct sl_gmm_mixture *g = sl_gmm_best(m);
				int count;
				const struct sl_gmm_fit *fit = sl_gmm_fits(m, &count);
				assert_true(isfinite(fit->log_likelihood) && isfinite(fit->bic));
				if (reg && kind < 4)
					assert_int_equal(fit->ridged, 0);
				if (!reg && kind < 2)
					assert_true(fit->ridged > 0);
				double sum = 0;
				for (uint32_t c = 0; c < g->k; c++)
					sum += g->weight[c];
				near(sum, 1, 1e-12);
				for (uint64_t e = 0; e < sl_gmm_spread_values(covariance, g->k, d); e++)
					assert_true(isfinite(g->spread[e]));
				sl_gmm_destroy(m);
			}
	free(x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(like_plain_em),
		cmocka_unit_test(one_component),
		cmocka_unit_test(what_was_sampled_is_found),
		cmocka_unit_test(result_of_the_best_number),
		cmocka_unit_test(far_components_have_no_shares),
		cmocka_unit_test(far_points_have_shares),
		cmocka_unit_test(odd_points),
	};
	return cmocka_run_group_tests_name("gmm", tests, NULL, NULL);
}
