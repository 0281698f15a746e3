/* Assigns each point to its nearest centroid: fills the panels, resets bounds, and shares the blocks among threads. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/kmeans/kmeans_internal.h"

#define LANES SL__KMEANS_LANES
#define PART 16          /* centroids or points whose y are computed at a time */
#define SURE 2048        /* open points after which the axes are judged */

/* ---- y of centroids and points ---------------------------------------------------------- */

/* The length of a centroid's movement orthogonal to the axes: it moved by drift, and its y from old to now. */
static double stray(const struct sl_kmeans *m, double drift, const double *old, const double *now)
{
	double along = 0, length = 0;
	for (uint32_t k = 0; k + 1 < m->f; k++)
		along += (now[k] - old[k]) * (now[k] - old[k]);
	for (uint32_t k = 0; k < m->f; k++)
		length += fmax(now[k] * now[k], old[k] * old[k]);
	along = sqrt(along) * (1 - 1e-12) - 2 * m->axes->error * sqrt(length);
	drift *= 1 + 1e-10;
	double square = drift * drift - (along > 0 ? along * along : 0);
	return square > 0 ? sqrt(square) * (1 + 1e-10) : 0;
}

void sl__kmeans_outline_centroids(struct sl_kmeans *m)
{
	if (!m->axes)
		return;
#pragma omp parallel for schedule(static)
	for (uint32_t from = 0; from < m->k; from += PART) {
		double y[PART * SL__KMEANS_COLUMNS];
		uint32_t count = m->k - from < PART ? m->k - from : PART;
		sl__kmeans_axes_apply(m->axes, m->kernels, NULL, m->centroid + (size_t)from * m->d, count, y);
		for (uint32_t j = from; j < from + count; j++) {
			double *to = m->outline_centroid + (size_t)j * m->f, *now = y + (size_t)(j - from) * m->f;
			m->strayed[j] += stray(m, m->drift[j], to, now);
			memcpy(to, now, m->f * sizeof *to);
		}
	}
}

void sl__kmeans_outline_points(struct sl_kmeans *m, uint32_t block)
{
	double y[PART * SL__KMEANS_COLUMNS];
	if (!m->axes || m->outlined[block])
		return;
	uint32_t end = m->n - block * m->block < m->block ? m->n : (block + 1) * m->block;
	for (uint32_t from = block * m->block; from < end; from += PART) {
		uint32_t count = end - from < PART ? end - from : PART;
		sl__kmeans_axes_apply(m->axes, m->kernels, m->x + (size_t)from * m->d, NULL, count, y);
		for (uint32_t i = from; i < from + count; i++) {
			double square = 0;
			for (uint32_t k = 0; k < m->f; k++) {
				float now = (float)y[(i - from) * m->f + k];
				m->outline[(size_t)i * m->f + k] = now;
				square += (double)now * (double)now;
			}
			m->outline_length[i] = sqrt(square);
		}
	}
	m->outlined[block] = 1;
}

/* ---- panels ----------------------------------------------------------------------------- */

void sl__kmeans_pack(struct sl_kmeans *m)
{
	double longest = 0;
#pragma omp parallel for reduction(max : longest) schedule(static)
	for (uint32_t g = 0; g < m->panels; g++)
		for (uint32_t lane = 0; lane < LANES; lane++) {
			uint32_t j = m->centroid_in[g * LANES + lane];
			float *to = m->panel + (size_t)g * m->f * LANES + lane;
			double square = 0;
			for (uint32_t k = 0; k < m->f; k++) {
				double c = j == SL__KMEANS_NONE ? 0 : m->c[(size_t)j * m->f + k];
				to[(size_t)k * LANES] = (float)c;
				square += c * c;
			}
			m->half[g * LANES + lane] = j == SL__KMEANS_NONE ? INFINITY : (float)(square / 2);
			longest = fmax(longest, sqrt(square));
		}
	m->longest = longest;
}

/* ---- blocks ----------------------------------------------------------------------------- */

/* If the axes hold too little of the variance, most centroids must be measured one by one, which takes about sixteen
 * times as long as scoring them. */
bool sl__kmeans_judge_axes(struct sl_kmeans *m, uint64_t points, uint64_t measured)
{
	m->open += points;
	m->measured += measured;
	if (!m->axes || m->open < SURE || m->measured <= m->open * (m->k / 8 + 5))
		return false;
	sl__kmeans_drop_axes(m);
	return true;
}

int sl__kmeans_assign(struct sl_kmeans *m, uint32_t from, uint32_t to, uint32_t *moved)
{
	uint32_t sum = 0;
	uint64_t points = 0, measured = 0;
	int failed = 0;
#pragma omp parallel reduction(+ : sum, points, measured) reduction(| : failed)
	{
		struct sl__kmeans_work *w = malloc(sizeof *w);
		failed = !w;
		if (w)
			w->points = w->measured = 0;
#pragma omp for schedule(dynamic)
		for (uint32_t block = from; block < to; block++)
			if (w) {
				sl__kmeans_outline_points(m, block);
				sum += m->kernels->assign(m, block, block - from < m->forget, w);
			}
		if (w) {
			points += w->points;
			measured += w->measured;
		}
		free(w);
	}
	*moved += sum;
	sl__kmeans_judge_axes(m, points, measured);
	return failed ? SL_NOMEM : 0;
}
