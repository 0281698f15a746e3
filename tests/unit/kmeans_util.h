/* kmeans_util.h -- points for tests of k-means, whole runs, and a plain assignment. After cmocka.h. */
#ifndef SL_TEST_KMEANS_UTIL_H
#define SL_TEST_KMEANS_UTIL_H

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/kmeans/kmeans.h"
#include "core/points/points.h"
#include "core/random.h"

#define MOST 4096

static struct sl_points points_of(float *x, uint32_t n, uint32_t d)
{
	return (struct sl_points){.n = n, .d = d, .n_user = n, .type = SL_POINTS_F32, .value = x};
}

/* Overlapping clusters, away from the origin. */
static inline float *make_points(uint32_t n, uint32_t d, uint32_t centres, double offset, uint64_t seed)
{
	float *x = malloc((size_t)n * d * sizeof *x);
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t k = 0; k < d; k++)
			x[(size_t)i * d + k] = (float)(offset + 3 * sl_random_uniform(seed, i % centres * 1000 + k) +
						       sl_random_normal(seed + 1, (uint64_t)i * d + k));
	return x;
}

struct result {
	uint32_t label[MOST];
	float centroid[MOST * 32];  /* at most k * d numbers */
	double inertia;
	struct sl_kmeans_status status;
};

static inline void run(const struct sl_points *p, const struct sl_kmeans_params *params, const float *start,
		       struct result *r)
{
	struct sl_kmeans *m = NULL;
	memset(r, 0, sizeof *r);
	assert_int_equal(sl_kmeans_create(&m, p, params, start, NULL), 0);
	do
		assert_int_equal(sl_kmeans_step(m, &r->status, NULL), 0);
	while (!r->status.done);
	assert_int_equal(sl_kmeans_result(m, r->label, r->centroid, &r->inertia, NULL), 0);
	sl_kmeans_destroy(m);
}

static inline double plain_assign(uint32_t n, uint32_t d, uint32_t k, const float *x, const double *c, uint32_t *label)
{
	double inertia = 0;
	for (uint32_t i = 0; i < n; i++) {
		double best = INFINITY;
		for (uint32_t j = 0; j < k; j++) {
			double square = 0;
			for (uint32_t a = 0; a < d; a++) {
				double t = (double)x[(size_t)i * d + a] - c[(size_t)j * d + a];
				square += t * t;
			}
			if (square < best) {
				best = square;
				label[i] = j;
			}
		}
		inertia += best;
	}
	return inertia;
}

#endif
