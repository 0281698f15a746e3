/* Transforms points for comparison, and allocates the memory of a run. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/kmeans/kmeans_internal.h"
#include "core/points/points.h"

static int normalise(struct sl_kmeans *m, float *x, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		float *row = x + (size_t)i * m->d;
		double square = 0;
		for (uint32_t k = 0; k < m->d; k++)
			square += (double)row[k] * (double)row[k];
		if (square == 0)
			return (int)i + 1;
		for (uint32_t k = 0; k < m->d; k++)
			row[k] = (float)((double)row[k] / sqrt(square));
	}
	return 0;
}

static double largest(const float *x, size_t count)
{
	float most = 0;
#pragma omp parallel for reduction(max : most) schedule(static)
	for (size_t at = 0; at < count; at++) {
		float now = fabsf(x[at]);
		most = now > most ? now : most;
	}
	return (double)most;
}

/* x: squares must neither overflow nor vanish. */
static int take_points(struct sl_kmeans *m, const struct sl_points *p, struct sl_error *err)
{
	size_t values = (size_t)m->n * m->d;
	double most = p->type == SL_POINTS_U8 ? 255 : largest(p->value, values);
	bool cosine = m->params.metric == SL_KMEANS_COSINE;
	bool fits = most == 0 || (most > 0x1p-20 && most < 0x1p40);
	int exponent;
	m->scale = 1;
	m->x = p->value;
	if (p->type == SL_POINTS_F32 && fits && !cosine)
		return 0;
	if (!fits && !cosine) {
		frexp(most, &exponent);
		m->scale = ldexp(1, -exponent);
	}
	m->x = m->copy = malloc(values * sizeof *m->copy);
	if (!m->copy)
		return sl_error_set(err, SL_NOMEM, "There is no memory for %u points of %u columns.", m->n, m->d);
	sl_points_rows(p, 0, m->n, m->copy);
	int zero = cosine ? normalise(m, m->copy, m->n) : 0;
	if (zero)
		return sl_error_set(err, SL_BADDATA, "Row %d is all zeros and has no direction, which the metric "
				    "cosine needs.", zero);
	for (size_t at = 0; m->scale != 1 && at < values; at++)
		m->copy[at] = (float)((double)m->copy[at] * m->scale);
	return 0;
}

static int take_start(struct sl_kmeans *m, const float *start, struct sl_error *err)
{
	size_t values = (size_t)m->k * m->d;
	if (!start)
		return 0;
	m->params.restarts = 1;
	m->start = malloc(values * sizeof *start);
	if (!m->start)
		return SL_NOMEM;
	memcpy(m->start, start, values * sizeof *start);
	for (size_t at = 0; at < values; at++)
		if (!isfinite(start[at]))
			return sl_error_field(err, SL_BADPARAM, "/start", "Initial centroid %zu has a value that is "
					      "not a finite number.", at / m->d + 1);
	int zero = m->params.metric == SL_KMEANS_COSINE ? normalise(m, m->start, m->k) : 0;
	return zero ? sl_error_field(err, SL_BADPARAM, "/start", "Initial centroid %d is all zeros and has no "
				     "direction, which the metric cosine needs.", zero) : 0;
}

static void measure_points(struct sl_kmeans *m)
{
	double sum = 0;
#pragma omp parallel for schedule(static)
	for (uint32_t i = 0; i < m->n; i++) {
		double square = 0;
		for (uint32_t k = 0; k < m->d; k++)
			square += (double)m->x[(size_t)i * m->d + k] * (double)m->x[(size_t)i * m->d + k];
		m->norm[i] = sqrt(square);
	}
	for (uint32_t i = 0; i < m->n; i++)
		m->square += m->norm[i] * m->norm[i];
	/* around the first row, so that nothing cancels */
	for (uint32_t from = 0; from < m->d; from += 64) {
		double first[64] = {0}, second[64] = {0};
		uint32_t columns = m->d - from < 64 ? m->d - from : 64;
		for (uint32_t i = 0; i < m->n; i++)
			for (uint32_t k = 0; k < columns; k++) {
				double x = (double)m->x[(size_t)i * m->d + from + k] - (double)m->x[from + k];
				first[k] += x;
				second[k] += x * x;
			}
		for (uint32_t k = 0; k < columns; k++)
			sum += fmax(0, second[k] / m->n - first[k] / m->n * (first[k] / m->n));
	}
	m->variance = sum / m->d;
}

static int allocate(struct sl_kmeans *m)
{
	size_t table = (size_t)m->k * m->d, lanes = (size_t)m->panels * SL__KMEANS_LANES;
	m->norm = malloc(m->n * sizeof *m->norm);
	m->centroid = calloc(table, sizeof *m->centroid);
	m->sum = malloc(table * sizeof *m->sum);
	m->count = malloc(m->k * sizeof *m->count);
	m->label = malloc(m->n * sizeof *m->label);
	m->place = malloc(m->k * sizeof *m->place);
	m->at = malloc(lanes * sizeof *m->at);
	m->panel = aligned_alloc(64, lanes * m->d * sizeof *m->panel);
	m->half = malloc(lanes * sizeof *m->half);
	m->drift = calloc(m->k, sizeof *m->drift);
	m->group_drift = calloc(m->panels, sizeof *m->group_drift);
	m->upper = malloc(m->n * sizeof *m->upper);
	m->lower = malloc((size_t)m->n * m->panels * sizeof *m->lower);
	m->before = malloc(m->n * sizeof *m->before);
	m->block_sum = malloc(m->blocks * sizeof *m->block_sum);
	m->column_sum = malloc(m->d * sizeof *m->column_sum);
	m->best_centroid = calloc(table, sizeof *m->best_centroid);
	m->best_label = calloc(m->n, sizeof *m->best_label);
	m->taken = calloc(m->params.batch ? m->k : 1, sizeof *m->taken);
	return m->norm && m->centroid && m->sum && m->count && m->label && m->place && m->at && m->panel && m->half &&
	       m->drift && m->group_drift && m->upper && m->lower && m->before && m->block_sum && m->column_sum &&
	       m->best_centroid && m->best_label && m->taken ? 0 : SL_NOMEM;
}

int sl__kmeans_prepare(struct sl_kmeans *m, const struct sl_points *points, const float *start, struct sl_error *err)
{
	m->n = points->n;
	m->d = points->d;
	m->k = (uint32_t)m->params.clusters;
	m->panels = (m->k + SL__KMEANS_LANES - 1) / SL__KMEANS_LANES;
	m->block = SL__KMEANS_BLOCK;
	while (m->block > 1 && (uint64_t)m->block * m->k * m->d > SL__KMEANS_WORK)
		m->block /= 2;
	m->blocks = (m->n - 1) / m->block + 1;
	sl_error_set(err, SL_NOMEM, "There is no memory for %u clusters of %u points.", m->k, m->n);
	int code = take_points(m, points, err);
	if (!code)
		code = take_start(m, start, err);
	if (!code)
		code = allocate(m);
	if (!code)
		measure_points(m);
	return code;
}

void sl_kmeans_destroy(struct sl_kmeans *m)
{
	if (!m)
		return;
	if (m->passes.arg)
		m->passes.close(m->passes.arg);
	sl__kmeans_drop_part(m);
	sl__kmeans_drop_over(m);
	free(m->copy);
	free(m->start);
	free(m->norm);
	free(m->centroid);
	free(m->sum);
	free(m->count);
	free(m->label);
	free(m->place);
	free(m->at);
	free(m->panel);
	free(m->half);
	free(m->drift);
	free(m->group_drift);
	free(m->upper);
	free(m->lower);
	free(m->before);
	free(m->block_sum);
	free(m->column_sum);
	free(m->best_centroid);
	free(m->best_label);
	free(m->taken);
	free(m);
}
