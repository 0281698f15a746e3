/* Seeding, updates of the centroids, restarts. */
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "core/kmeans/kmeans_internal.h"
#include "core/random.h"

#define BLOCK SL__KMEANS_BLOCK
#define COLUMNS 32  /* that one thread adds up */

/* ---- seeding ---------------------------------------------------------------------------- */

/* A point whose nearest seed is less than half as far as the new one is from that seed has no nearer one now; nor has
 * one whose length differs from the new one's by more. */
static bool may_be_nearer(const struct sl_kmeans *m, uint32_t i, double length, const double *between)
{
	double gap = fabs(m->norm[i] - length) - 1e-12 * (m->norm[i] + length);
	return 4 * m->upper[i] * (1 + 1e-12) > between[m->before[i]] && !(gap > 0 && gap * gap > m->upper[i] * (1 + 1e-12));
}

static void seed_block(struct sl_kmeans *m, uint32_t number, uint32_t block, double length,
		       const double *between)
{
	uint32_t from = block * BLOCK, to = m->n - from < BLOCK ? m->n : from + BLOCK;
	const double *c = m->centroid + (size_t)number * m->d;
	double sum = 0;
	for (uint32_t i = from; i < to; i++) {
		if (number == 0 || may_be_nearer(m, i, length, between)) {
			double square = m->kernels->square(m->d, m->x + (size_t)i * m->d, c);
			if (number == 0 || square < m->upper[i]) {
				m->upper[i] = square;
				m->before[i] = number;
			}
		}
		sum += m->upper[i];
	}
	m->block_sum[block] = sum;
}

void sl__kmeans_add_seed(struct sl_kmeans *m, uint32_t number)
{
	const double *c = m->centroid + (size_t)number * m->d;
	double *between = m->drift, length = 0;  /* no centroid moves while seeding */
	for (uint32_t k = 0; k < m->d; k++)
		length += c[k] * c[k];
	length = sqrt(length);
	for (uint32_t j = 0; j < number; j++) {
		const double *other = m->centroid + (size_t)j * m->d;
		double sum = 0;
		for (uint32_t k = 0; k < m->d; k++)
			sum += (c[k] - other[k]) * (c[k] - other[k]);
		between[j] = sum;
	}
#pragma omp parallel for schedule(static)
	for (uint32_t block = 0; block < m->blocks; block++)
		seed_block(m, number, block, length, between);
}

/* A point with a probability in proportion to its squared distance to the nearest seed. */
static uint32_t draw(const struct sl_kmeans *m, double u)
{
	double total = 0, before = 0;
	for (uint32_t b = 0; b < m->blocks; b++)
		total += m->block_sum[b];
	if (!(total > 0))
		return (uint32_t)(u * m->n);  /* all points are seeds */
	uint32_t block = 0, last = SL__KMEANS_NONE;
	while (block + 1 < m->blocks && before + m->block_sum[block] <= u * total)
		before += m->block_sum[block++];
	for (uint32_t i = block * BLOCK; i < m->n; i++) {
		if (m->upper[i] > 0)
			last = i;
		before += m->upper[i];
		if (last != SL__KMEANS_NONE && before > u * total)
			break;
	}
	for (uint32_t i = m->n; last == SL__KMEANS_NONE && i-- > 0;)  /* by rounding: none from there on */
		last = m->upper[i] > 0 ? i : last;
	return last;
}

static void choose_seed(struct sl_kmeans *m)
{
	uint32_t number = (uint32_t)m->status.seeds;
	double u = sl_random_uniform(m->params.seed + (uint64_t)m->status.restart * 0x9e3779b97f4a7c15u, number);
	uint32_t i = number ? draw(m, u) : (uint32_t)(u * m->n);
	for (uint32_t k = 0; k < m->d; k++)
		m->centroid[(size_t)number * m->d + k] = (double)m->x[(size_t)i * m->d + k];
	sl__kmeans_add_seed(m, number);
	m->status.seeds++;
}

/* ---- centroids -------------------------------------------------------------------------- */

/* Points that changed their cluster are taken out of one sum and added to another, in the order of their rows. */
static void move_points(struct sl_kmeans *m)
{
	for (uint32_t i = 0; i < m->n; i++)
		if (m->label[i] != m->before[i]) {
			m->count[m->label[i]]++;
			if (m->before[i] != SL__KMEANS_NONE)
				m->count[m->before[i]]--;
		}
#pragma omp parallel for schedule(static)
	for (uint32_t from = 0; from < m->d; from += COLUMNS) {
		uint32_t to = m->d - from < COLUMNS ? m->d : from + COLUMNS;
		for (uint32_t i = 0; i < m->n; i++) {
			uint32_t a = m->before[i], b = m->label[i];
			const float *x = m->x + (size_t)i * m->d;
			if (a == b)
				continue;
			for (uint32_t k = from; k < to; k++)
				m->sum[(size_t)b * m->d + k] += (double)x[k];
			for (uint32_t k = from; a != SL__KMEANS_NONE && k < to; k++)
				m->sum[(size_t)a * m->d + k] -= (double)x[k];
		}
	}
}

/* The point farthest from its centroid, of a cluster with others. NONE: all are where their centroids are. */
static uint32_t farthest(const struct sl_kmeans *m, const double *square)
{
	uint32_t best = SL__KMEANS_NONE;
	double most = 0;
	for (uint32_t i = 0; i < m->n; i++)
		if (square[i] > most && m->count[m->label[i]] > 1) {
			most = square[i];
			best = i;
		}
	return best;
}

static int fill_empty(struct sl_kmeans *m)
{
	double *square = NULL;
	for (uint32_t j = 0; j < m->k; j++) {
		if (m->count[j])
			continue;
		if (!square && !(square = malloc(m->n * sizeof *square)))
			return SL_NOMEM;
#pragma omp parallel for schedule(static)
		for (uint32_t i = 0; i < m->n; i++)
			square[i] = m->label[i] == j ? 0 : m->kernels->square(m->d, m->x + (size_t)i * m->d,
									      m->centroid + (size_t)m->label[i] * m->d);
		uint32_t i = farthest(m, square);
		if (i == SL__KMEANS_NONE)
			break;
		const float *x = m->x + (size_t)i * m->d;
		for (uint32_t k = 0; k < m->d; k++) {
			m->sum[(size_t)m->label[i] * m->d + k] -= (double)x[k];
			m->sum[(size_t)j * m->d + k] = m->centroid[(size_t)j * m->d + k] = (double)x[k];
		}
		m->count[m->label[i]]--;
		m->count[j] = 1;
		m->status.moved += m->label[i] == m->before[i];
		m->label[i] = j;
		sl__kmeans_forget(m);
	}
	free(square);
	return 0;
}

/* Returns how far centroid j moved. */
static double move_centroid(struct sl_kmeans *m, uint32_t j)
{
	double *c = m->centroid + (size_t)j * m->d, *sum = m->sum + (size_t)j * m->d;
	double factor = 1.0 / m->count[j], square = 0;
	if (m->params.metric == SL_KMEANS_COSINE) {
		double length = 0;
		for (uint32_t k = 0; k < m->d; k++)
			length += sum[k] * sum[k];
		if (sqrt(length) * factor < 1e-9)  /* its points point everywhere */
			return 0;
		factor = 1 / sqrt(length);
	}
	for (uint32_t k = 0; k < m->d; k++) {
		double to = sum[k] * factor;
		square += (to - c[k]) * (to - c[k]);
		c[k] = to;
	}
	return sqrt(square);
}

/* Returns the sum of the squares. */
static double move_centroids(struct sl_kmeans *m)
{
	double sum = 0;
#pragma omp parallel for schedule(static)
	for (uint32_t j = 0; j < m->k; j++)
		m->drift[j] = m->count[j] ? move_centroid(m, j) : 0;
	memset(m->group_drift, 0, m->panels * sizeof *m->group_drift);
	for (uint32_t j = 0; j < m->k; j++) {
		float *most = &m->group_drift[m->place[j] / SL__KMEANS_LANES], now = (float)(m->drift[j] * (1 + 1e-6));
		*most = now > *most ? now : *most;
		sum += m->drift[j] * m->drift[j];
	}
	return sum;
}

/* ---- a run ------------------------------------------------------------------------------ */

static void start_restart(struct sl_kmeans *m)
{
	m->status.seeds = m->status.iteration = 0;
	m->status.moved = 0;
	m->last = false;
	memset(m->sum, 0, (size_t)m->k * m->d * sizeof *m->sum);
	memset(m->count, 0, m->k * sizeof *m->count);
	memset(m->label, 0xff, m->n * sizeof *m->label);
	if (!m->start)
		return;
	for (size_t at = 0; at < (size_t)m->k * m->d; at++)
		m->centroid[at] = (double)m->start[at] * m->scale;
	m->status.seeds = (int)m->k;
}

int sl__kmeans_ready(struct sl_kmeans *m)
{
	sl__kmeans_forget(m);
	return sl__kmeans_order(m);
}

static void end_restart(struct sl_kmeans *m)
{
	double inertia = sl_kmeans_measure(m);
	if (!(m->status.inertia <= inertia)) {
		memcpy(m->best_centroid, m->centroid, (size_t)m->k * m->d * sizeof *m->centroid);
		memcpy(m->best_label, m->label, m->n * sizeof *m->label);
		m->status.inertia = inertia;
	}
	m->status.done = ++m->status.restart >= m->params.restarts;
	if (!m->status.done)
		start_restart(m);
}

static int iterate(struct sl_kmeans *m)
{
	sl__kmeans_pack(m);
	int code = sl__kmeans_assign(m, &m->status.moved);
	if (code)
		return code;
	bool first = m->status.iteration == 0;
	if (!m->last && (m->status.moved || first)) {
		move_points(m);
		if ((code = fill_empty(m)))
			return code;
		m->status.iteration++;
		double moved = move_centroids(m);
		m->last = m->status.iteration >= m->params.iterations || moved <= m->params.tolerance * m->variance;
		return 0;
	}
	end_restart(m);
	return 0;
}

int sl_kmeans_step(struct sl_kmeans *m, struct sl_kmeans_status *status, struct sl_error *err)
{
	int code = 0;
	if (m->status.done) {
		*status = m->status;
		return 0;
	}
	if (m->status.seeds < (int)m->k) {
		choose_seed(m);
		if (m->status.seeds == (int)m->k)
			code = sl__kmeans_ready(m);
	} else {
		code = iterate(m);
	}
	*status = m->status;
	return code ? sl_error_set(err, code, "There is no memory for k-means.") : 0;
}

/* ---- creation --------------------------------------------------------------------------- */

static const char *const metric_words[] = {"euclidean", "cosine", NULL};

#define PARAM(name_, type_, min_, max_, normal_) .name = #name_, .type = SL_TYPE_##type_, \
	.offset = offsetof(struct sl_kmeans_params, name_), .min = min_, .max = max_, .normal = normal_

static const struct sl_param_info params_table[] = {
	{PARAM(clusters, INT, 1, 1000000, 8), .doc = "Clusters that points are put into."},
	{PARAM(metric, ENUM, 0, 1, SL_KMEANS_EUCLIDEAN), .words = metric_words, .doc =
	 "Distance of points; cosine compares directions only."},
	{PARAM(restarts, INT, 1, 1000, 1), .doc = "Runs from different seeds; the one with the least inertia is kept."},
	{PARAM(iterations, INT, 1, 100000, 300), .doc = "Most iterations of a restart."},
	{PARAM(tolerance, DOUBLE, 0, 1, 1e-4), .doc =
	 "A restart ends when the squared distances that centroids moved add up to less than this times the mean variance "
	 "of the columns; 0: when no point changes its cluster."},
	{PARAM(seed, UINT64, 0, 9007199254740991, 0), .doc = "Same seed, same clusters."},
};
const struct sl_param_table sl_kmeans_table = {params_table, sizeof params_table / sizeof *params_table, -1};

void sl_kmeans_defaults(struct sl_kmeans_params *params)
{
	sl_param_defaults(&sl_kmeans_table, params);
}

int sl_kmeans_create(struct sl_kmeans **out, const struct sl_points *points, const struct sl_kmeans_params *params,
		     const float *start, struct sl_error *err)
{
	int code = sl_param_check(&sl_kmeans_table, params, err);
	if (code)
		return code;
	struct sl_kmeans *m = calloc(1, sizeof *m);
	if (!m)
		return sl_error_set(err, SL_NOMEM, "There is no memory for k-means.");
	m->params = *params;
	m->kernels = sl__kmeans_kernels();
	m->status.inertia = NAN;
	code = sl__kmeans_prepare(m, points, start, err);
	if (!code) {
		start_restart(m);
		code = m->start ? sl__kmeans_ready(m) : 0;
		if (code)
			sl_error_set(err, code, "There is no memory for k-means.");
	}
	if (code)
		sl_kmeans_destroy(m);
	else
		*out = m;
	return code;
}
