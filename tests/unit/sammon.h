/* sammon.h -- helpers of the tests of Sammon's mapping: points, a run, and the sums over pairs in double precision. */
#ifndef TEST_SAMMON_H
#define TEST_SAMMON_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/points/points.h"
#include "core/random.h"
#include "core/sammon/sammon.h"

static inline struct sl_points points_of(const float *x, uint32_t n, uint32_t d)
{
	return (struct sl_points){.n = n, .d = d, .n_user = n, .type = SL_POINTS_F32, .value = (void *)(uintptr_t)x};
}

/* Clusters, away from the origin. */
static inline float *make_points(uint32_t n, uint32_t d, double offset, uint64_t seed)
{
	float *x = malloc((size_t)n * d * sizeof *x);
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t k = 0; k < d; k++)
			x[(size_t)i * d + k] = (float)(offset + 4 * sl_random_uniform(seed, i % 5 * 1000 + k) +
						       sl_random_normal(seed + 1, (uint64_t)i * d + k));
	return x;
}

static inline struct sl_sammon_params params_of(int stress, int optimiser, int dims, int iterations)
{
	struct sl_sammon_params p;
	sl_param_defaults(&sl_sammon_table, &p);
	p.stress = stress;
	p.optimiser = optimiser;
	p.dims = dims;
	p.iterations = iterations;
	p.tolerance = 0;
	return p;
}

static inline struct sl_sammon_status run(const struct sl_points *p, const struct sl_sammon_params *params,
					  const float *start, float *y)
{
	struct sl_sammon *m = NULL;
	struct sl_sammon_status s;
	double before = INFINITY;
	assert_int_equal(sl_sammon_create(&m, p, params, start, NULL), 0);
	do {
		assert_int_equal(sl_sammon_step(m, &s, NULL), 0);
		assert_true(s.stress <= before || params->partners);
		before = s.stress;
	} while (!s.done);
	sl_sammon_layout(m, y);
	sl_sammon_destroy(m);
	return s;
}

static inline double distance(const float *x, uint32_t d, uint32_t i, uint32_t j)
{
	double sum = 0;
	for (uint32_t k = 0; k < d; k++) {
		double off = (double)x[(size_t)i * d + k] - (double)x[(size_t)j * d + k];
		sum += off * off;
	}
	return sqrt(sum);
}

/* The stress over pairs of nonzero distance; gradient [n][dims] or NULL. */
static inline double plain(uint32_t n, uint32_t d, int dims, bool metric, const float *x, const float *y,
			   double *gradient)
{
	double sum = 0, total = 0;
	uint32_t q = (uint32_t)dims;
	if (gradient)
		memset(gradient, 0, (size_t)n * q * sizeof *gradient);
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t j = 0; j < i; j++) {
			double far = distance(x, d, i, j), near = distance(y, q, i, j);
			if (far <= 0)
				continue;
			double w = metric ? 1 : 1 / far;
			sum += w * (far - near) * (far - near);
			total += w * far * far;
			for (uint32_t k = 0; gradient && near > 0 && k < q; k++) {
				double off = (double)y[(size_t)i * q + k] - (double)y[(size_t)j * q + k];
				gradient[(size_t)i * q + k] += 2 * w * (1 - far / near) * off;
				gradient[(size_t)j * q + k] -= 2 * w * (1 - far / near) * off;
			}
		}
	for (size_t at = 0; gradient && at < (size_t)n * q; at++)
		gradient[at] /= total;
	return total > 0 ? sum / total : 0;
}

#endif
