/* references.h -- reference forces: plain sums in double precision. */
#ifndef SL_TEST_REFERENCES_H
#define SL_TEST_REFERENCES_H

#include <math.h>
#include <string.h>

#include "core/graph/affinities.h"

/* repulsion[n * d] = sum_j q^2 (y_i - y_j) / Z; returns Z. */
static inline double exact_repulsion(const float *y, uint32_t n, int d, double *repulsion)
{
	double z = 0;
	for (uint32_t i = 0; i < n; i++) {
		double f[3] = {0};
		for (uint32_t j = 0; j < n; j++) {
			double diff[3], r2 = 1;
			for (int k = 0; k < d; k++) {
				diff[k] = (double)y[i * (size_t)d + (size_t)k] - (double)y[j * (size_t)d + (size_t)k];
				r2 += diff[k] * diff[k];
			}
			z += i == j ? 0 : 1 / r2;
			for (int k = 0; k < d; k++)
				f[k] += diff[k] / (r2 * r2);
		}
		for (int k = 0; k < d; k++)
			repulsion[i * (size_t)d + (size_t)k] = f[k];
	}
	for (size_t i = 0; i < n * (size_t)d; i++)
		repulsion[i] /= z;
	return z;
}

static inline void exact_attraction(const struct sl_affinities *a, const float *y, int d, double *attraction)
{
	memset(attraction, 0, sizeof *attraction * a->n * (size_t)d);
	for (uint32_t i = 0; i < a->n; i++)
		for (uint64_t e = a->start[i]; e < a->start[i + 1]; e++) {
			const float *own = y + i * (size_t)d, *their = y + a->node[e] * (size_t)d;
			double r2 = 1;
			for (int k = 0; k < d; k++)
				r2 += ((double)own[k] - (double)their[k]) * ((double)own[k] - (double)their[k]);
			for (int k = 0; k < d; k++)
				attraction[i * (size_t)d + (size_t)k] +=
					(double)a->p[e] / r2 * ((double)own[k] - (double)their[k]);
		}
}

static inline double relative_error(const float *got, const double *right, size_t count)
{
	double error = 0, size = 0;
	for (size_t i = 0; i < count; i++) {
		error += ((double)got[i] - right[i]) * ((double)got[i] - right[i]);
		size += right[i] * right[i];
	}
	return sqrt(error / size);
}

#endif
