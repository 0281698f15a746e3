/* Iterations that move the centroids by a few rows (mini-batches; see kmeans.h).
 *
 * The rows of a batch are copied. A separate k-means run assigns them, with one assignment and the usual kernels and
 * exact comparisons. Another run, on a sample, chooses the seeds. A saved state contains neither run: after loading,
 * the batch or the seeding starts again, which gives the same bytes. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/kmeans/kmeans_internal.h"
#include "core/points/points.h"
#include "core/random.h"

#define PART_MS 2.0         /* compute time of the separate run per call */
#define COLUMNS 16          /* least columns per thread */
#define PATIENCE 10         /* batches without a lower mean, after which a restart ends */

uint32_t sl_kmeans_sample(const struct sl_kmeans_params *p, uint32_t n)
{
	uint64_t rows = 3 * (uint64_t)(p->batch > p->clusters ? p->batch : p->clusters);
	return !p->batch ? 0 : rows < n ? (uint32_t)rows : n;
}

/* Draws a row from part i of `count` equal parts of the points. purpose: 0 for the sample, else the batch's number. */
static uint32_t draw_row(const struct sl_kmeans *m, uint32_t purpose, uint32_t i, uint32_t count)
{
	uint64_t seed = m->params.seed + (uint64_t)m->status.restart * 0x9e3779b97f4a7c15u + 0x6d696e69u;
	double u = sl_random_uniform(seed, (uint64_t)purpose << 32 | i);
	uint64_t row = (uint64_t)(((double)i + u) / count * m->n);
	return row < m->n ? (uint32_t)row : m->n - 1;
}

static int make_part(struct sl_kmeans *m, uint32_t purpose, uint32_t count, struct sl_error *err)
{
	size_t table = (size_t)m->k * m->d;
	struct sl_kmeans_params params = m->params;
	float *start = purpose ? malloc(table * sizeof *start) : NULL;
	m->rows = malloc((size_t)count * m->d * sizeof *m->rows);
	int code = m->rows && (start || !purpose) ? 0 : SL_NOMEM;
#pragma omp parallel for schedule(static)
	for (uint32_t i = 0; i < (code ? 0 : count); i++)
		memcpy(m->rows + (size_t)i * m->d, m->x + (size_t)draw_row(m, purpose, i, count) * m->d,
		       m->d * sizeof *m->rows);
	for (size_t at = 0; !code && start && at < table; at++)
		start[at] = (float)m->centroid[at];
	params.batch = 0;
	params.restarts = params.iterations = 1;
	params.seed = (uint64_t)(sl_random_uniform(m->params.seed, (uint64_t)m->status.restart) * 0x1p53);
	const struct sl_points points = {.n = count, .n_user = count, .d = m->d, .type = SL_POINTS_F32, .value = m->rows};
	if (!code)
		code = sl__kmeans_create(&m->part, &points, &params, start, m, err);
	if (!code)
		m->part->last = purpose != 0;
	free(start);
	if (code)
		sl__kmeans_drop_part(m);
	return code;
}

static int leave(struct sl_kmeans *m)
{
	sl__kmeans_enter(m, SL__KMEANS_ASSIGN);
	sl__kmeans_ready(m);
	return 0;
}

void sl__kmeans_start_batches(struct sl_kmeans *m)
{
	memset(m->taken, 0, m->k * sizeof *m->taken);
	m->mean = m->least = NAN;
	m->since = 0;
	sl__kmeans_enter(m, SL__KMEANS_BATCH);
}

int sl__kmeans_seed_sample(struct sl_kmeans *m, bool *ended, struct sl_error *err)
{
	struct sl_kmeans_status status;
	bool one;
	int code = m->part ? 0 : make_part(m, 0, sl_kmeans_sample(&m->params, m->n), err);
	if (!code)
		code = sl_kmeans_advance(m->part, PART_MS, &one, &status, err);
	if (code || m->part->phase == SL__KMEANS_SEED)
		return code;
	for (size_t at = 0; at < (size_t)m->k * m->d; at++)
		m->centroid[at] = m->part->centroid[at] / m->part->scale;
	sl__kmeans_drop_part(m);
	m->status.seeds = (int)m->k;
	sl__kmeans_start_batches(m);
	*ended = true;
	return 0;
}

/* Moves centroids in some columns: one row after the other moves its centroid, by its rate. */
static void move_columns(struct sl_kmeans *m, const double *rate, uint32_t from, uint32_t to)
{
	for (uint32_t i = 0; i < m->part->n; i++) {
		const float *x = m->rows + (size_t)i * m->d;
		double *c = m->centroid + (size_t)m->part->best_label[i] * m->d;
		for (uint32_t k = from; k < to; k++)
			c[k] += rate[i] * ((double)x[k] - c[k]);
	}
}

/* Cosine: scales the centroids that have moved to length 1. */
static void normalise(struct sl_kmeans *m)
{
	for (uint32_t j = 0; j < m->k; j++) {
		double *c = m->centroid + (size_t)j * m->d, square = 0;
		for (uint32_t k = 0; k < m->d; k++)
			square += c[k] * c[k];
		for (uint32_t k = 0; k < m->d && square > 1e-18; k++)
			c[k] /= sqrt(square);
	}
}

static int move_rows(struct sl_kmeans *m)
{
	uint32_t rows = m->part->n;
	double *rate = malloc(rows * sizeof *rate);
	if (!rate)
		return SL_NOMEM;
	for (uint32_t i = 0; i < rows; i++)
		rate[i] = 1 / ++m->taken[m->part->best_label[i]];
	uint32_t columns = sl__kmeans_stripe(m->d, COLUMNS);
#pragma omp parallel for schedule(static)
	for (uint32_t from = 0; from < m->d; from += columns)
		move_columns(m, rate, from, m->d - from < columns ? m->d : from + columns);
	if (m->params.metric == SL_KMEANS_COSINE)
		normalise(m);
	free(rate);
	return 0;
}

/* Ends a batch, and begins another one or the final iteration. */
static int end_batch(struct sl_kmeans *m)
{
	uint32_t rows = m->part->n;
	double now = m->part->status.inertia / rows, share = 2.0 * rows / (m->n + 1.0);
	m->mean = isnan(m->mean) ? now : m->mean + (share < 1 ? share : 1) * (now - m->mean);
	m->since = m->mean >= m->least ? m->since + 1 : 0;
	m->least = m->since ? m->least : m->mean;
	m->status.current = m->mean * m->n / m->scale / m->scale;
	m->status.iteration++;
	sl__kmeans_drop_part(m);
	bool over = m->stop || m->status.iteration >= m->params.iterations - 1 ||
		    (m->params.tolerance > 0 && m->since >= PATIENCE);
	return over ? leave(m) : 0;
}

int sl__kmeans_batch(struct sl_kmeans *m, bool *ended, struct sl_error *err)
{
	struct sl_kmeans_status status;
	uint32_t rows = (uint32_t)m->params.batch < m->n ? (uint32_t)m->params.batch : m->n;
	bool one;
	int code = 0;
	if (m->params.iterations == 1)
		return leave(m);
	if (!m->part)
		code = make_part(m, (uint32_t)m->status.iteration + 1, rows, err);
	if (!code && !m->part->status.done)
		code = sl_kmeans_advance(m->part, PART_MS, &one, &status, err);
	if (code || !m->part->status.done)
		return code;
	*ended = true;
	code = move_rows(m);
	return code ? code : end_batch(m);
}
