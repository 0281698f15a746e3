/* Measures the points, and allocates the memory of a run. */
#include <float.h>
#include <stdlib.h>
#include <string.h>

#include "core/gmm/gmm_internal.h"
#include "core/kmeans/kmeans.h"
#include "core/points/points.h"
#include "core/vector.h"

#define LANES SL__GMM_LANES
#define BATCH_MOST 16384
#define BATCH_WORK 0x1p25  /* products of a batch, about */

uint32_t sl__gmm_batch_points(uint32_t n, uint32_t d, uint32_t k)
{
	double points = BATCH_WORK / (k * (0.5 * d * d + d + 16.0));
	uint32_t blocks = points > BATCH_MOST ? BATCH_MOST / LANES : (uint32_t)(points / LANES);
	uint32_t all = (n - 1) / LANES + 1;
	blocks = blocks < 1 ? 1 : blocks;
	return (blocks < all ? blocks : all) * LANES;
}

static int nomem(const struct sl_gmm *m, struct sl_error *err)
{
	return sl_error_memory(err, "a mixture of %u components of %u points", m->largest_k, m->n);
}

/* Divides responsibilities by *sum, their sum. False: one is negative or not finite. */
VECTOR static bool normalise(uint32_t k, const float *from, float *to, double *sum)
{
	double part[8] = {0};
	int bad = 0;
	uint32_t c = 0;
	for (; c + 8 <= k; c += 8)
		for (uint32_t j = 0; j < 8; j++)
			part[j] += (double)from[c + j];
	for (uint32_t j = 0; c < k; c++, j++)
		part[j] += (double)from[c];
	*sum = ((part[0] + part[1]) + (part[2] + part[3])) + ((part[4] + part[5]) + (part[6] + part[7]));
	const double by = *sum;
	for (c = 0; c < k; c++) {
		bad |= !(from[c] >= 0 && from[c] <= FLT_MAX);
		to[c] = (float)((double)from[c] / by);
	}
	return !bad;
}

static int take_start(struct sl_gmm *m, const float *start, struct sl_error *err)
{
	size_t values = (size_t)m->n * m->largest_k;
	m->start = malloc(values * sizeof *start);
	if (!m->start)
		return nomem(m, err);
	for (uint32_t i = 0; i < m->n; i++) {
		size_t at = (size_t)i * m->largest_k;
		double sum;
		bool fits = normalise(m->largest_k, start + at, m->start + at, &sum);
		if (!fits || !(sum > 0))
			return sl_error_field(err, SL_BADPARAM, "/start", "Row %u of the responsibilities to begin with has %s",
					      i + 1, fits ? "zeros alone. Give at least one number above 0." :
					      "a number that is negative or not finite.");
	}
	return 0;
}

/* Computes mean and variance of the columns and, for tied, the scatter. Differences to the first row avoid
 * cancellation. */
static int measure_points(struct sl_gmm *m, struct sl_error *err)
{
	uint32_t d = m->d, padded = m->padded;
	float *row = malloc((size_t)LANES * d * sizeof *row), *first = malloc(d * sizeof *first);
	double *z = calloc((size_t)LANES * padded, sizeof *z), *rz = calloc((size_t)LANES * padded, sizeof *rz);
	double *from = calloc(padded, sizeof *from), *sum = calloc(padded, sizeof *sum), ones[LANES];
	const float *rows[LANES];
	int code = row && first && z && rz && from && sum ? 0 : nomem(m, err);
	for (uint32_t i = 0; i < LANES && row; i++) {
		rows[i] = row + (size_t)i * d;
		ones[i] = 1;
	}
	if (!code)
		sl_points_rows(m->points, 0, 1, first);
	for (int pass = 0; !code && pass < 2; pass++) {
		for (uint32_t a = 0; a < d; a++)
			from[a] = pass ? m->column_mean[a] : (double)first[a];
		memset(sum, 0, padded * sizeof *sum);
		for (uint32_t i = 0; i < m->n; i += LANES) {
			uint32_t count = m->n - i < LANES ? m->n - i : LANES;
			sl_points_rows(m->points, i, count, row);
			m->kernels->centre(d, padded, count, rows, ones, from, z, rz);
			m->kernels->moments(padded, count, z, rz, sum, pass ? m->column_variance : NULL);
			if (pass && m->total)
#pragma omp parallel for schedule(dynamic) if (padded >= 256)
				for (uint32_t a = 0; a < padded; a += SL__GMM_PAD)
					m->kernels->scatter(padded, a, a + SL__GMM_PAD, count, z, rz, m->total);
		}
		for (uint32_t a = 0; a < d && !pass; a++)
			m->column_mean[a] = from[a] + sum[a] / m->n;
	}
	double mean = 0;
	for (uint32_t a = 0; a < d && !code; a++) {
		m->column_variance[a] /= m->n;
		mean += m->column_variance[a] / d;
	}
	m->first_ridge = mean > 0 ? 1e-12 * mean : 1e-12;
	free(row);
	free(first);
	free(z);
	free(rz);
	free(from);
	free(sum);
	return code;
}

static uint64_t share_values(const struct sl_gmm_params *p, uint32_t n, uint32_t d, uint32_t *blocks_most)
{
	uint64_t most = 0;
	*blocks_most = 0;
	for (int i = 0; i < p->components.count; i++) {
		uint32_t k = (uint32_t)p->components.value[i], blocks = sl__gmm_batch_points(n, d, k) / LANES;
		uint64_t now = (uint64_t)blocks * k * LANES;
		most = now > most ? now : most;
		*blocks_most = blocks > *blocks_most ? blocks : *blocks_most;
	}
	return most;
}

static int allocate(struct sl_gmm *m)
{
	uint32_t k = m->largest_k, d = m->d, blocks;
	int covariance = m->params.covariance;
	bool full = covariance == SL_GMM_FULL, tied = covariance == SL_GMM_TIED;
	uint64_t square = (uint64_t)m->padded * m->padded;
	m->share = aligned_alloc(64, share_values(&m->params, m->n, d, &blocks) * sizeof *m->share);
	m->block_sum = malloc(blocks * sizeof *m->block_sum);
	m->rows = malloc((size_t)blocks * LANES * d * sizeof *m->rows);
	m->label = m->start ? NULL : malloc(m->n * sizeof *m->label);
	m->mass = malloc(k * sizeof *m->mass);
	m->first = malloc((size_t)k * m->padded * sizeof *m->first);
	m->second = full || tied ? NULL : malloc((size_t)k * m->padded * sizeof *m->second);
	m->scatter = full || tied ? malloc((full ? k : 1) * square * sizeof *m->scatter) : NULL;
	m->shift = calloc((size_t)k * d, sizeof *m->shift);
	m->column_mean = calloc(d, sizeof *m->column_mean);
	m->column_variance = calloc(m->padded, sizeof *m->column_variance);
	m->total = tied ? calloc(square, sizeof *m->total) : NULL;
	m->result_label = malloc(m->n * sizeof *m->result_label);
	m->result_share = malloc((size_t)m->n * k * sizeof *m->result_share);
	int code = sl__gmm_mixture_init(&m->now, covariance, k, d) | sl__gmm_mixture_init(&m->best, covariance, k, d) |
		   sl__gmm_mixture_init(&m->winner, covariance, k, d) | sl__gmm_factors_init(&m->factors, covariance, k, d);
	return !code && m->share && m->block_sum && m->rows && (m->start || m->label) && m->mass && m->first &&
	       (m->second || full || tied) && (m->scatter || !(full || tied)) && m->shift && m->column_mean &&
	       m->column_variance && (m->total || !tied) && m->result_label && m->result_share ? 0 : SL_NOMEM;
}

uint64_t sl_gmm_bytes(const void *params, uint32_t n, uint32_t d)
{
	const struct sl_gmm_params *p = params;
	uint64_t k = 1, padded = d + SL__GMM_PAD, threads = 64;
	uint32_t blocks;
	for (int i = 0; i < p->components.count; i++)
		k = p->components.value[i] > (double)k ? (uint64_t)p->components.value[i] : k;
	uint64_t spread = sl_gmm_spread_values(p->covariance, (uint32_t)k, d), square = padded * padded * 8;
	uint64_t sums = p->covariance == SL_GMM_FULL ? k * square : p->covariance == SL_GMM_TIED ? 2 * square : 0;
	uint64_t mixtures = 3 * 8 * (spread + k * d + k) + 8 * (spread + k * d);
	uint64_t batch = share_values(params, n, d, &blocks) * 8;
	uint64_t result = (uint64_t)n * (4 + 4 * k), kmeans = (uint64_t)n * (28 + k / 8) + 64 * k * d;
	return mixtures + sums + batch + result + kmeans + (uint64_t)n * 4 + 4ull * blocks * LANES * d + 32 * k * padded +
	       threads * 16 * LANES * padded;
}

int sl__gmm_prepare(struct sl_gmm *m, const float *start, struct sl_error *err)
{
	if (start) {
		m->params.restarts = 1;
		m->params.components.count = 1;
	}
	for (int i = 0; i < m->params.components.count; i++) {
		uint32_t k = (uint32_t)m->params.components.value[i];
		m->largest_k = k > m->largest_k ? k : m->largest_k;
	}
	m->padded = (m->d + SL__GMM_PAD - 1) / SL__GMM_PAD * SL__GMM_PAD;
	int code = start ? take_start(m, start, err) : 0;
	if (!code && allocate(m))
		code = nomem(m, err);
	return code ? code : measure_points(m, err);
}

void sl__gmm_blank(struct sl_gmm *m, uint32_t k)
{
	struct sl_gmm_mixture *g = &m->now;
	uint32_t d = m->d;
	double reg = m->params.reg_covar, mean = 0;
	for (uint32_t a = 0; a < d; a++)
		mean += m->column_variance[a] / d;
	g->k = k;
	memset(g->spread, 0, sl_gmm_spread_values(g->covariance, k, d) * sizeof *g->spread);
	for (uint32_t c = 0; c < k; c++) {
		g->weight[c] = 1.0 / k;
		memcpy(g->mean + (size_t)c * d, m->column_mean, d * sizeof *g->mean);
		for (uint32_t a = 0; a < d; a++) {
			if (g->covariance == SL_GMM_FULL)
				g->spread[((size_t)c * d + a) * d + a] = m->column_variance[a] + reg;
			else if (g->covariance == SL_GMM_DIAG)
				g->spread[(size_t)c * d + a] = m->column_variance[a] + reg;
		}
		if (g->covariance == SL_GMM_SPHERICAL)
			g->spread[c] = mean + reg;
	}
}

void sl_gmm_destroy(struct sl_gmm *m)
{
	if (!m)
		return;
	sl_kmeans_destroy(m->kmeans);
	if (m->passes.arg)
		m->passes.close(m->passes.arg);
	free(m->part);
	sl__gmm_mixture_finish(&m->now);
	sl__gmm_mixture_finish(&m->best);
	sl__gmm_mixture_finish(&m->winner);
	sl__gmm_factors_finish(&m->factors);
	free(m->column_mean);
	free(m->column_variance);
	free(m->total);
	free(m->start);
	free(m->share);
	free(m->block_sum);
	free(m->rows);
	free(m->label);
	free(m->mass);
	free(m->first);
	free(m->second);
	free(m->scatter);
	free(m->shift);
	free(m->result_label);
	free(m->result_share);
	free(m);
}
