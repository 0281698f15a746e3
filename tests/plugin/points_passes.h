/* points_passes.h -- the passes over points for principal axes by plain loops: what a device computes, in tests of the
 * code above. */
#ifndef POINTS_PASSES_H
#define POINTS_PASSES_H

#include <stdlib.h>

#include "core/engine/engine.h"
#include "core/points/points.h"

struct plain_points {
	const struct sl_points *points;
	double *mean, *row;  /* [d] each */
	float *value;        /* [d] */
};

static const double *plain_row(struct plain_points *s, uint32_t i)
{
	sl_points_rows(s->points, i, 1, s->value);
	for (uint32_t k = 0; k < s->points->d; k++)
		s->row[k] = (double)s->value[k] - s->mean[k];
	return s->row;
}

static int plain_points_mean(void *arg, double *mean, struct sl_error *err)
{
	struct plain_points *s = arg;
	const struct sl_points *p = s->points;
	for (uint32_t k = 0; k < p->d; k++)
		mean[k] = s->mean[k] = 0;
	for (uint32_t i = 0; i < p->n; i++) {
		sl_points_rows(p, i, 1, s->value);
		for (uint32_t k = 0; k < p->d; k++)
			mean[k] += (double)s->value[k] / p->n;
	}
	for (uint32_t k = 0; k < p->d; k++)
		s->mean[k] = mean[k];
	return 0;
}

static int plain_points_covariance(void *arg, double *covariance, struct sl_error *err)
{
	struct plain_points *s = arg;
	uint32_t d = s->points->d;
	for (size_t k = 0; k < (size_t)d * d; k++)
		covariance[k] = 0;
	for (uint32_t i = 0; i < s->points->n; i++) {
		const double *x = plain_row(s, i);
		for (uint32_t a = 0; a < d; a++)
			for (uint32_t b = 0; b < d; b++)
				covariance[(size_t)a * d + b] += x[a] * x[b];
	}
	return 0;
}

static int plain_points_apply(void *arg, const double *v, uint32_t c, double *out, double *total, struct sl_error *err)
{
	struct plain_points *s = arg;
	uint32_t d = s->points->d;
	double *y = calloc(c, sizeof *y);
	*total = 0;
	for (size_t k = 0; k < (size_t)d * c; k++)
		out[k] = 0;
	for (uint32_t i = 0; i < s->points->n; i++) {
		const double *x = plain_row(s, i);
		for (uint32_t j = 0; j < c; j++) {
			y[j] = 0;
			for (uint32_t k = 0; k < d; k++)
				y[j] += x[k] * v[(size_t)k * c + j];
		}
		for (uint32_t k = 0; k < d; k++) {
			*total += x[k] * x[k];
			for (uint32_t j = 0; j < c; j++)
				out[(size_t)k * c + j] += x[k] * y[j];
		}
	}
	free(y);
	return 0;
}

static int plain_points_project(void *arg, const struct sl_pca *pca, float *out, struct sl_error *err)
{
	struct plain_points *s = arg;
	for (uint32_t i = 0; i < s->points->n; i++) {
		sl_points_rows(s->points, i, 1, s->value);
		for (uint32_t j = 0; j < pca->to; j++) {
			double y = 0;
			for (uint32_t k = 0; k < pca->kept; k++)
				y += ((double)s->value[k] - pca->mean[k]) * pca->axis[(size_t)k * pca->to + j];
			out[(size_t)i * pca->to + j] = (float)y;
		}
	}
	return 0;
}

static void plain_points_close(void *arg)
{
	struct plain_points *s = arg;
	free(s->mean);
	free(s->row);
	free(s->value);
	free(s);
}

static void plain_points_open(const struct sl_points *p, struct sl_points_passes *out)
{
	struct plain_points *s = calloc(1, sizeof *s);
	s->points = p;
	s->mean = calloc(p->d, sizeof *s->mean);
	s->row = calloc(p->d, sizeof *s->row);
	s->value = calloc(p->d, sizeof *s->value);
	*out = (struct sl_points_passes){.arg = s, .mean = plain_points_mean, .covariance = plain_points_covariance,
					 .apply = plain_points_apply, .project = plain_points_project,
					 .close = plain_points_close};
}

#endif
