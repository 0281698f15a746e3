/* Transforms points for comparison, and allocates the memory of a run. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/kmeans/kmeans_internal.h"
#include "core/points/points.h"

#define PARTS 32            /* parts of the points that are measured in parallel */
#define PART_ROWS 1024
#define SAMPLE 2048         /* rows of the sample for axes */
#define LEAST_COLUMNS 96    /* with fewer columns axes save nothing */
#define MOST_COLUMNS 16384  /* with more columns one call would orthonormalise for too long */
#define PAYS_WITHIN 10      /* passes within which axes must pay */
#define FARTHEST 0x1p70     /* largest scaled value of an initial centroid: its products with points, which have at most
			     * 0x1p40, are finite in float */

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

static int take_points(struct sl_kmeans *m, const struct sl_points *p, struct sl_error *err)
{
	size_t values = (size_t)m->n * m->d;
	bool cosine = m->params.metric == SL_KMEANS_COSINE;
	/* the rows of a batch are scaled already, as are the centroids */
	m->scale = cosine || m->parent || p->type == SL_POINTS_U8 ? 1 : sl_square_scale(p->value, values);
	m->x = p->value;
	if (p->type == SL_POINTS_F32 && m->scale == 1 && !cosine)
		return 0;
	const struct sl_points *whole = p;
	int code = cosine ? sl_points_uncentred(&whole, p, SL_OFFSETS_VALUES, "cosine", err) : 0;
	if (code)
		return code;
	m->x = m->copy = malloc(values * sizeof *m->copy);
	if (m->copy)
		sl_points_rows(whole, 0, m->n, m->copy);
	sl_points_uncentred_end(whole, p);
	if (!m->copy)
		return SL_NOMEM;
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
	for (size_t at = 0; at < values; at++) {
		if (!isfinite(start[at]))
			return sl_error_field(err, SL_BADPARAM, "/start", "Initial centroid %zu has a value that is "
					      "not a finite number.", at / m->d + 1);
		if (m->params.metric == SL_KMEANS_EUCLIDEAN && fabs((double)start[at]) * m->scale > FARTHEST)
			return sl_error_field(err, SL_BADPARAM, "/start", "Initial centroid %zu has the value %g, which is too "
					      "far from the points; it must be at most %g in magnitude.", at / m->d + 1,
					      (double)start[at], FARTHEST / m->scale);
	}
	int zero = m->params.metric == SL_KMEANS_COSINE ? normalise(m, m->start, m->k) : 0;
	return zero ? sl_error_field(err, SL_BADPARAM, "/start", "Initial centroid %d is all zeros and has no "
				     "direction, which the metric cosine needs.", zero) : 0;
}

/* Computes the lengths of rows and the variance of the columns. Differences to the first row avoid cancellation. */
static int measure_points(struct sl_kmeans *m)
{
	uint32_t d = m->d, parts = m->n / PART_ROWS < PARTS ? m->n / PART_ROWS + 1 : PARTS;
	double sum = 0, *part = calloc((size_t)parts * d * 2, sizeof *part);
	if (!part)
		return SL_NOMEM;
#pragma omp parallel for schedule(static)
	for (uint32_t p = 0; p < parts; p++) {
		uint32_t from = (uint32_t)((uint64_t)m->n * p / parts), to = (uint32_t)((uint64_t)m->n * (p + 1) / parts);
		double *first = part + (size_t)p * d * 2;
		m->kernels->measure(d, to - from, m->x + (size_t)from * d, m->x, m->norm + from, first, first + d);
	}
	for (uint32_t i = 0; i < m->n; i++)
		m->square += m->norm[i] * m->norm[i];
	for (uint32_t k = 0; k < d; k++) {
		double first = 0, second = 0;
		for (uint32_t p = 0; p < parts; p++) {
			first += part[(size_t)p * d * 2 + k];
			second += part[((size_t)p * 2 + 1) * d + k];
		}
		sum += fmax(0, second / m->n - first / m->n * (first / m->n));
	}
	m->variance = sum / d;
	free(part);
	return 0;
}

/* ---- axes ------------------------------------------------------------------------------- */

/* For each centroid a pass takes n f instead of n d products with axes. The search for axes, and y of the points, take
 * `spent`. Axes must pay within PAYS_WITHIN passes. */
uint32_t sl_kmeans_columns(const struct sl_kmeans_params *p, uint32_t n, uint32_t d)
{
	uint32_t f = SL__KMEANS_COLUMNS;
	double rows = p->batch ? fmin(p->batch, n) : n, lanes = (p->clusters + 31) / 32 * 32.0;
	double passes = fmin(p->iterations, PAYS_WITHIN) * p->restarts, outlines = p->batch ? passes : 1;
	double spared = passes * rows * lanes * (d - (double)f), spent = 2.0 * f * d * (4.0 * SAMPLE + rows * outlines);
	return d < LEAST_COLUMNS || d > MOST_COLUMNS || n < 2 * SAMPLE || spared < 2 * spent ? 0 : f;
}

uint64_t sl_kmeans_columns_bytes(const struct sl_kmeans_params *p, uint32_t n, uint32_t d)
{
	uint64_t f = sl_kmeans_columns(p, n, d), points = (uint64_t)n + sl_kmeans_sample(p, n), k = (uint64_t)p->clusters;
	uint64_t tables = p->batch ? 2 : 1, longer = d > SAMPLE ? d : SAMPLE;
	uint64_t search = 8ull * SAMPLE * d + 8 * f * (2ull * d + longer + SAMPLE);
	return f ? points * (4 * f + 25) + tables * k * (8 * f + 8) + search : 0;
}

static int take_axes(struct sl_kmeans *m, const struct sl__kmeans_axes *axes)
{
	uint32_t f = axes->columns;
	m->outline = malloc((size_t)m->n * f * sizeof *m->outline);
	m->outline_length = malloc(m->n * sizeof *m->outline_length);
	m->outline_centroid = calloc((size_t)m->k * f, sizeof *m->outline_centroid);
	m->margin = malloc(m->n * sizeof *m->margin);
	m->strayed = calloc(m->k, sizeof *m->strayed);
	m->outlined = calloc(m->blocks, sizeof *m->outlined);
	if (!m->outline || !m->outline_length || !m->outline_centroid || !m->margin || !m->strayed || !m->outlined)
		return SL_NOMEM;
	m->axes = axes;
	m->f = f;
	m->y = m->outline;
	m->c = m->outline_centroid;
	m->length = m->outline_length;
	m->packed = false;
	for (uint32_t i = 0; i < m->n; i++)
		m->margin[i] = INFINITY;
	return 0;
}

int sl__kmeans_search_axes(struct sl_kmeans *m)
{
	if (!m->found)
		m->found = sl__kmeans_axes_create(m->d, SL__KMEANS_COLUMNS, SAMPLE);
	if (!m->found)
		return SL_NOMEM;
	if (!sl__kmeans_axes_search(m->found, m->kernels, m->x, m->n))
		return 0;
	m->search = false;
	if (m->found->usable)
		return m->passes.arg ? 0 : take_axes(m, m->found);
	sl__kmeans_axes_destroy(m->found);
	m->found = NULL;
	return 0;
}

/* ---- memory ----------------------------------------------------------------------------- */

static int allocate(struct sl_kmeans *m)
{
	size_t table = (size_t)m->k * m->d, lanes = (size_t)m->panels * SL__KMEANS_LANES;
	m->norm = malloc(m->n * sizeof *m->norm);
	m->centroid = calloc(table, sizeof *m->centroid);
	m->sum = malloc(table * sizeof *m->sum);
	m->count = malloc(m->k * sizeof *m->count);
	m->label = malloc(m->n * sizeof *m->label);
	m->lane_of = malloc(m->k * sizeof *m->lane_of);
	m->centroid_in = malloc(lanes * sizeof *m->centroid_in);
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
	return m->norm && m->centroid && m->sum && m->count && m->label && m->lane_of && m->centroid_in && m->panel &&
	       m->half && m->drift && m->group_drift && m->upper && m->lower && m->before && m->block_sum &&
	       m->column_sum && m->best_centroid && m->best_label && m->taken ? 0 : SL_NOMEM;
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
	int code = take_points(m, points, err);
	if (!code)
		code = take_start(m, start, err);
	if (!code)
		code = allocate(m);
	if (!code)
		code = measure_points(m);
	if (code == SL_NOMEM)
		sl_error_memory(err, "%u clusters of %u points", m->k, m->n);
	sl__kmeans_drop_axes(m);
	m->search = !m->parent && sl_kmeans_columns(&m->params, m->n, m->d);
	if (!code && m->parent && m->parent->found && take_axes(m, m->parent->found))
		code = sl_error_memory(err, "the axes of %u points", m->n);
	return code;
}
