/* Updates centroids: sums over clusters, and new centroids for empty clusters. */
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "core/kmeans/kmeans_internal.h"

#define COLUMNS 16  /* least columns per thread */
#define SIDE_BY_SIDE 8  /* columns of the sums that are read at once */

uint32_t sl__kmeans_stripe(uint32_t d, uint32_t least)
{
	uint32_t threads = (uint32_t)omp_get_max_threads(), each = (d + threads - 1) / threads;
	return each < least ? least : each;
}

/* Subtracts each point that changed its cluster from the old sum and adds it to the new one, in the order of rows. */
void sl__kmeans_move_points(struct sl_kmeans *m, uint32_t from_block, uint32_t to_block)
{
	uint32_t first = from_block * m->block, end = to_block < m->blocks ? to_block * m->block : m->n;
	for (uint32_t i = first; i < end; i++)
		if (m->label[i] != m->before[i]) {
			m->count[m->label[i]]++;
			if (m->before[i] != SL__KMEANS_NONE)
				m->count[m->before[i]]--;
		}
	uint32_t columns = sl__kmeans_stripe(m->d, COLUMNS);
#pragma omp parallel for schedule(static)
	for (uint32_t from = 0; from < m->d; from += columns) {
		uint32_t count = m->d - from < columns ? m->d - from : columns;
		for (uint32_t i = first; i < end; i++) {
			uint32_t a = m->before[i], b = m->label[i];
			const float *x = m->x + (size_t)i * m->d + from;
			if (a == b)
				continue;
			m->kernels->add(count, 1, x, m->sum + (size_t)b * m->d + from);
			if (a != SL__KMEANS_NONE)
				m->kernels->add(count, -1, x, m->sum + (size_t)a * m->d + from);
		}
	}
}

/* The square of the distance from its centroid that rounding may give a point which lies on it. Rows of one direction
 * differ by the rounding of their floats (cosine); a mean of equal rows, by that of its sum. */
static double rounding(const struct sl_kmeans *m, uint32_t i)
{
	double of_sum = m->count[m->label[i]] * 0x1p-52 * m->norm[i];
	return m->params.metric == SL_KMEANS_COSINE ? SL__KMEANS_ROUNDING : of_sum * of_sum;
}

/* The point farthest from its centroid, in a cluster of two points or more. NONE: all lie on their centroids. */
static uint32_t farthest(const struct sl_kmeans *m, const double *square)
{
	uint32_t best = SL__KMEANS_NONE;
	double largest = 0;
	for (uint32_t i = 0; i < m->n; i++)
		if (square[i] > largest && m->count[m->label[i]] > 1 && square[i] > rounding(m, i)) {
			largest = square[i];
			best = i;
		}
	return best;
}

int sl__kmeans_fill(struct sl_kmeans *m, uint32_t j, bool *filled)
{
	double *square = malloc(m->n * sizeof *square);
	if (!square)
		return SL_NOMEM;
#pragma omp parallel for schedule(static)
	for (uint32_t i = 0; i < m->n; i++)
		square[i] = m->label[i] == j ? 0 : m->kernels->square(m->d, m->x + (size_t)i * m->d,
								      m->centroid + (size_t)m->label[i] * m->d);
	uint32_t i = farthest(m, square);
	free(square);
	*filled = i != SL__KMEANS_NONE;
	if (!*filled)
		return 0;
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
	return 0;
}

/* Returns the distance that centroid j moved. */
static double move_centroid(struct sl_kmeans *m, uint32_t j)
{
	double *c = m->centroid + (size_t)j * m->d, *sum = m->sum + (size_t)j * m->d;
	double factor = 1.0 / m->count[j], square = 0;
	if (m->params.metric == SL_KMEANS_COSINE) {
		double length = 0;
		for (uint32_t k = 0; k < m->d; k++)
			length += sum[k] * sum[k];
		if (sqrt(length) * factor < 1e-9)  /* the directions of its points cancel out */
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

double sl__kmeans_move_centroids(struct sl_kmeans *m)
{
	double sum = 0;
#pragma omp parallel for schedule(static)
	for (uint32_t j = 0; j < m->k; j++)
		m->drift[j] = m->count[j] ? move_centroid(m, j) : 0;
	memset(m->group_drift, 0, m->panels * sizeof *m->group_drift);
	for (uint32_t j = 0; j < m->k; j++)
		sum += m->drift[j] * m->drift[j];
	for (uint32_t j = 0; j < m->k && m->ordered; j++) {
		float *largest = &m->group_drift[m->lane_of[j] / SL__KMEANS_LANES], now = (float)(m->drift[j] * (1 + 1e-6));
		*largest = now > *largest ? now : *largest;
	}
	return sum;
}

/* Scatter between the clusters, about the mean of all points, in some columns. */
static void between(const struct sl_kmeans *m, uint32_t from, uint32_t columns, double *out)
{
	double mean[SIDE_BY_SIDE] = {0}, sum[SIDE_BY_SIDE] = {0};
	for (uint32_t j = 0; j < m->k; j++)
		for (uint32_t k = 0; k < columns; k++)
			mean[k] += m->sum[(size_t)j * m->d + from + k];
	for (uint32_t k = 0; k < columns; k++)
		mean[k] /= m->n;
	for (uint32_t j = 0; j < m->k; j++)
		for (uint32_t k = 0; k < columns && m->count[j]; k++) {
			double away = m->sum[(size_t)j * m->d + from + k] / m->count[j] - mean[k];
			sum[k] += m->count[j] * away * away;
		}
	memcpy(out, sum, columns * sizeof *out);
}

/* Euclidean: the scatter of all points minus that between the clusters. Cosine: the inner products of a cluster's
 * points with its mean, scaled to length 1, add up to |sum|; the points have length 1 up to rounding. */
double sl__kmeans_scatter(struct sl_kmeans *m)
{
	double sum = 0;
	if (m->params.metric == SL_KMEANS_COSINE) {
		for (uint32_t j = 0; j < m->k; j++) {
			double square = 0;
			for (uint32_t k = 0; k < m->d; k++)
				square += m->sum[(size_t)j * m->d + k] * m->sum[(size_t)j * m->d + k];
			sum += sqrt(square);
		}
		return fmax(0, (m->square + m->n) / 2 - sum);
	}
#pragma omp parallel for schedule(static)
	for (uint32_t k = 0; k < m->d; k += SIDE_BY_SIDE)
		between(m, k, m->d - k < SIDE_BY_SIDE ? m->d - k : SIDE_BY_SIDE, m->column_sum + k);
	for (uint32_t k = 0; k < m->d; k++)
		sum += m->column_sum[k];
	return fmax(0, m->variance * m->d * m->n - sum) / m->scale / m->scale;
}
