/* mixtures.h -- points, starts and runs for tests of Gaussian mixtures. */
#ifndef SL_TEST_MIXTURES_H
#define SL_TEST_MIXTURES_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core/gmm/gmm.h"
#include "core/points/points.h"
#include "core/random.h"
#include "tests/unit/seeds.h"

static inline struct sl_points points_of(float *x, uint32_t n, uint32_t d)
{
	return (struct sl_points){.n = n, .d = d, .n_user = n, .type = SL_POINTS_F32, .value = x};
}

/* Overlapping groups with correlated columns. */
static inline float *make_points(uint32_t n, uint32_t d, uint32_t groups, double offset, uint64_t seed)
{
	float *x = malloc((size_t)n * d * sizeof *x);
	for (uint32_t i = 0; i < n; i++) {
		double common = sl_random_normal(seed + 2, i);
		for (uint32_t a = 0; a < d; a++)
			x[(size_t)i * d + a] = (float)(offset + 4 * sl_random_uniform(seed, i % groups * 1000 + a) + 0.5 * common +
						       (0.3 + 0.2 * (i % groups)) * sl_random_normal(seed + 1, (uint64_t)i * d + a));
	}
	return x;
}

static inline float *hard_start(uint32_t n, uint32_t k)
{
	float *r = calloc((size_t)n * k, sizeof *r);
	for (uint32_t i = 0; i < n; i++)
		r[(size_t)i * k + i % k] = 1;
	return r;
}

static inline void finish(struct sl_gmm *m)
{
	struct sl_gmm_status status;
	bool whole;
	do
		assert_int_equal(sl_gmm_advance(m, INFINITY, &whole, &status, NULL), 0);
	while (!status.done);
}

static inline struct sl_gmm *run(const struct sl_points *p, const struct sl_gmm_params *params, const float *start)
{
	struct sl_gmm *m = NULL;
	struct sl_error err = {0};
	if (sl_gmm_create(&m, p, params, start, &err))
		fail_msg("%s", err.detail);
	finish(m);
	return m;
}

static inline struct sl_gmm_params params_of(int k, int covariance, int iterations, double tolerance)
{
	struct sl_gmm_params p;
	sl_param_defaults(&sl_gmm_table, &p);
	p.components = (struct sl_param_list){1, {k}};
	p.covariance = covariance;
	p.iterations = iterations;
	p.tolerance = tolerance;
	return p;
}

static inline void near(double a, double b, double off)
{
	if (!(fabs(a - b) <= off * (1 + fabs(b))))
		fail_msg("%.17g is not %.17g", a, b);
}

#endif
