/* shapes.h -- point sets of several shapes, their distances in double precision, and checks of neighbours against them.
 * After cmocka.h. */
#ifndef SL_TEST_SHAPES_H
#define SL_TEST_SHAPES_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/neighbours/neighbours.h"
#include "core/points/points.h"
#include "core/random.h"

static uint64_t seed;  /* of the next points; make_points() counts it up */

enum shape { NORMAL, FAR, LATTICE, SAME, OUTLIERS, CLUSTERS, BYTES };

static inline struct sl_points *make_points(uint32_t n, uint32_t d, enum shape shape)
{
	struct sl_points *p = calloc(1, sizeof *p);
	size_t values = (size_t)n * d;
	p->n = p->n_user = n;
	p->d = d;
	p->type = shape == BYTES ? SL_POINTS_U8 : SL_POINTS_F32;
	p->value = malloc(values * 4 + 4);
	float *x = p->value;
	uint8_t *u = p->value;
	seed++;
	for (size_t i = 0; i < values; i++) {
		double v = sl_random_normal(seed, i);
		size_t row = i / d;
		switch (shape) {
		case NORMAL: x[i] = (float)v; break;
		case FAR: x[i] = (float)(1e4 + v); break;
		case LATTICE: x[i] = (float)round(v * 1.5); break;
		case SAME: x[i] = row % 3 ? 0.7f : (float)v; break;
		case OUTLIERS: x[i] = (float)(v * (row % 97 ? 1e-3 : 1e6)); break;
		case CLUSTERS: x[i] = (float)(0.05 * v + 3 * sl_random_normal(seed + 1000, row % 10 * d + i % d)); break;
		case BYTES: u[i] = (uint8_t)(sl_random_bits(seed, i) % (row % 5 ? 256 : 3)); break;
		}
	}
	if (shape == LATTICE && n > 7)
		memset(x, 0, 7 * d * sizeof *x);  /* zero rows */
	return p;
}

static inline double value_at(const struct sl_points *p, uint32_t i, uint32_t c)
{
	size_t at = (size_t)i * p->d + c;
	return p->type == SL_POINTS_U8 ? ((const uint8_t *)p->value)[at] : (double)((const float *)p->value)[at];
}

/* In the order of nearness; an inner product's is negative here. */
static inline double distance(const struct sl_points *p, uint32_t i, uint32_t j, int metric, double power)
{
	double sum = 0, xx = 0, yy = 0, xy = 0, most = 0;
	for (uint32_t c = 0; c < p->d; c++) {
		double x = value_at(p, i, c), y = value_at(p, j, c), diff = fabs(x - y);
		xx += x * x;
		yy += y * y;
		xy += x * y;
		most = fmax(most, diff);
		sum += metric == SL_EUCLIDEAN ? diff * diff : metric == SL_L1 ? diff : metric == SL_LP ? pow(diff, power) : 0;
	}
	switch (metric) {
	case SL_EUCLIDEAN: return sqrt(sum);
	case SL_COSINE: return xx > 0 && yy > 0 ? fmax(0, 1 - xy / sqrt(xx) / sqrt(yy)) : 1;
	case SL_INNER_PRODUCT: return -xy;
	case SL_LINF: return most;
	case SL_LP: return pow(sum, 1 / power);
	default: return sum;
	}
}

static inline int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return x < y ? -1 : x > y;
}

/* From one to the next of so many of n rows, which are then of all ten clusters. */
static inline uint32_t step_of(uint32_t n, uint32_t rows)
{
	uint32_t step = n / rows;
	while (step > 1 && (step % 2 == 0 || step % 5 == 0))
		step--;
	return step;
}

/* Every row, or for many points some of them. */
static inline void check(const struct sl_points *p, const struct sl_neighbours *nb, uint32_t k, int metric,
			 double power, double tolerance)
{
	uint32_t n = p->n, step = n > 10000 ? step_of(n, 60) : n > 1500 ? step_of(n, 300) : 1;
	double *all = malloc(sizeof *all * n);
	assert_int_equal(nb->n, n);
	assert_int_equal(nb->k, k < n - 1 ? k : n - 1);
	k = nb->k;
	for (uint32_t i = 0; i < n; i += step) {
		const uint32_t *index = nb->index + (size_t)i * k;
		const float *found = nb->distance + (size_t)i * k;
		double scale = 0, base = 0;
		uint32_t count = 0;
		for (uint32_t j = 0; j < n; j++)
			if (j != i) {
				all[count++] = distance(p, i, j, metric, power);
				scale = fmax(scale, fabs(all[count - 1]));
			}
		qsort(all, count, sizeof *all, ascending);
		if (metric == SL_INNER_PRODUCT)
			base = all[0];
		double room = tolerance * (metric == SL_COSINE ? 1 : metric == SL_INNER_PRODUCT ? scale : all[k - 1]);
		for (uint32_t r = 0; r < k; r++) {
			assert_true(index[r] < n && index[r] != i);
			assert_true(!r || found[r] > found[r - 1] || (found[r] == found[r - 1] && index[r] > index[r - 1]));
			double is = distance(p, i, index[r], metric, power) - base, best = all[r] - base;
			if (fabs(is - (double)found[r]) > room || fabs(best - (double)found[r]) > room)
				fail_msg("row %u, neighbour %u is %u: told %.9g, is %.9g, best %.9g", i, r, index[r],
					 (double)found[r], is, best);
		}
	}
	free(all);
}

/* The k-th smallest distance from a point to the others. */
static inline double kth_distance(const struct sl_points *p, uint32_t i, uint32_t k, int metric)
{
	double nearest[32] = {0};
	uint32_t count = 0;
	assert_true(k <= 32);
	for (uint32_t j = 0; j < p->n; j++) {
		double d = j == i ? INFINITY : distance(p, i, j, metric, 0);
		if (count == k && !(d < nearest[k - 1]))
			continue;
		uint32_t at = count < k ? count++ : k - 1;
		for (; at && nearest[at - 1] > d; at--)
			nearest[at] = nearest[at - 1];
		nearest[at] = d;
	}
	return nearest[k - 1];
}

#endif
