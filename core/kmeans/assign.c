/* Assigns each point to its nearest centroid.
 *
 * upper[i] is at least the distance of point i to its own centroid, lower[i][g] at most that to every other centroid of
 * panel g. When centroids move, the bounds are loosened by the same distance. A panel whose lower bound is above the
 * upper bound holds no nearer centroid. The others are scored in float: |c|^2 / 2 - x c. A score is wrong by at most
 * `slack`; all centroids that could be nearest within this error are measured in double precision, which decides. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/kmeans/kmeans_internal.h"

#define LANES SL__KMEANS_LANES
#define BLOCK SL__KMEANS_BLOCK
#define PARTS 8  /* least scores that are found side by side; divides LANES */
#define DOWN SL__KMEANS_DOWN

void sl__kmeans_forget(struct sl_kmeans *m)
{
	m->forget = m->blocks;
	memset(m->drift, 0, m->k * sizeof *m->drift);
	memset(m->group_drift, 0, m->panels * sizeof *m->group_drift);
}

void sl__kmeans_pack(struct sl_kmeans *m)
{
	double longest = 0;
#pragma omp parallel for reduction(max : longest) schedule(static)
	for (uint32_t g = 0; g < m->panels; g++)
		for (uint32_t lane = 0; lane < LANES; lane++) {
			uint32_t j = m->at[g * LANES + lane];
			float *to = m->panel + (size_t)g * m->d * LANES + lane;
			double square = 0;
			for (uint32_t k = 0; k < m->d; k++) {
				double c = j == SL__KMEANS_NONE ? 0 : m->centroid[(size_t)j * m->d + k];
				to[(size_t)k * LANES] = (float)c;
				square += c * c;
			}
			m->half[g * LANES + lane] = j == SL__KMEANS_NONE ? INFINITY : (float)(square / 2);
			longest = fmax(longest, sqrt(square));
		}
	m->longest = longest;
}

/* The points of a block that their bounds do not settle. */
struct work {
	uint32_t count;
	uint32_t point[BLOCK], best[BLOCK];
	double square[BLOCK];         /* to best, exact */
	double distance[BLOCK];
	uint32_t pick[BLOCK];         /* those that look at one panel */
	const float *row[BLOCK];
	float product[BLOCK * LANES];
};

static double exact(const struct sl_kmeans *m, uint32_t i, uint32_t j)
{
	return m->kernels->square(m->d, m->x + (size_t)i * m->d, m->centroid + (size_t)j * m->d);
}

static void gather(struct sl_kmeans *m, uint32_t from, uint32_t to, struct work *w)
{
	w->count = 0;
	for (uint32_t i = from; i < to; i++) {
		uint32_t a = m->label[i];
		float *lower = m->lower + (size_t)i * m->panels, least = INFINITY;
		m->before[i] = a;
		for (uint32_t g = 0; g < m->panels; g++) {
			float now = (lower[g] - m->group_drift[g]) * DOWN;
			lower[g] = now > 0 ? now : 0;
			least = lower[g] < least ? lower[g] : least;
		}
		if (a != SL__KMEANS_NONE)
			m->upper[i] = (m->upper[i] + m->drift[a]) * (1 + 1e-12);
		if (m->upper[i] < (double)least)
			continue;
		double square = exact(m, i, a == SL__KMEANS_NONE ? 0 : a), distance = sqrt(square);
		m->upper[i] = distance * (1 + 1e-12);
		if (a != SL__KMEANS_NONE && m->upper[i] < (double)least)
			continue;
		w->point[w->count] = i;
		w->best[w->count] = a == SL__KMEANS_NONE ? 0 : a;
		w->square[w->count] = square;
		w->distance[w->count++] = m->upper[i];
	}
}

/* best, by exact distances, among itself and the panel's centroids; the bound of the panel without it. */
static void settle(struct sl_kmeans *m, uint32_t g, uint32_t e, const float *product, struct work *w)
{
	uint32_t i = w->point[e], old = w->best[e], lanes = 0, lane_of[LANES];
	float *lower = m->lower + (size_t)i * m->panels;
	double length = m->norm[i], slack = sl__kmeans_slack(m, length), old_square = w->square[e];
	float score[LANES], least = INFINITY;
	float low[PARTS];
	for (int part = 0; part < PARTS; part++)
		low[part] = INFINITY;
	for (int lane = 0; lane < LANES; lane += PARTS)
		for (int part = 0; part < PARTS; part++) {
			float now = m->half[g * LANES + lane + part] - product[lane + part];
			score[lane + part] = now;
			low[part] = now < low[part] ? now : low[part];
		}
	float lowest = INFINITY;
	for (int part = 0; part < PARTS; part++)
		lowest = low[part] < lowest ? low[part] : lowest;
	/* |x - c|^2 = |x|^2 + 2 score; a little more than the limit that this sets */
	double square = length * length, limit = (w->square[e] - square) / 2 + slack + square * 1e-12;
	for (uint32_t lane = 0; lane < LANES && (double)lowest <= limit; lane++)
		if ((double)score[lane] <= limit)
			lane_of[lanes++] = lane;
	/* the best score first: then few others are left */
	for (uint32_t at = 1; at < lanes; at++)
		if (score[lane_of[at]] < score[lane_of[0]]) {
			uint32_t lane = lane_of[0];
			lane_of[0] = lane_of[at];
			lane_of[at] = lane;
		}
	for (uint32_t at = 0; at < lanes; at++) {
		uint32_t j = m->at[g * LANES + lane_of[at]];
		if (j == w->best[e] || (double)score[lane_of[at]] > limit)
			continue;
		double now = exact(m, i, j);
		if (now < w->square[e] || (now == w->square[e] && j < w->best[e])) {
			w->best[e] = j;
			w->square[e] = now;
			limit = (now - square) / 2 + slack + square * 1e-12;
		}
	}
	uint32_t own = m->place[w->best[e]];
	if (own / LANES != g)
		least = lowest;
	for (uint32_t lane = 0; lane < LANES && own / LANES == g; lane++)
		if (g * LANES + lane != own)
			least = score[lane] < least ? score[lane] : least;
	lower[g] = sl__kmeans_bound(length, least, slack);
	if (w->best[e] == old)
		return;
	/* the one before is another centroid now */
	w->distance[e] = sqrt(w->square[e]) * (1 + 1e-12);
	uint32_t other = m->place[old] / LANES;
	float left = (float)sqrt(old_square) * DOWN;
	lower[other] = left < lower[other] ? left : lower[other];
}

static uint32_t assign_block(struct sl_kmeans *m, uint32_t block, bool forget, struct work *w)
{
	uint32_t from = block * m->block, to = m->n - from < m->block ? m->n : from + m->block, moved = 0;
	if (forget) {
		memset(m->lower + (size_t)from * m->panels, 0, (size_t)(to - from) * m->panels * sizeof *m->lower);
		for (uint32_t i = from; i < to; i++)
			m->upper[i] = INFINITY;
	}
	gather(m, from, to, w);
	for (uint32_t g = 0; g < m->panels; g++) {
		uint32_t picked = 0;
		for (uint32_t e = 0; e < w->count; e++)
			if ((double)m->lower[(size_t)w->point[e] * m->panels + g] <= w->distance[e]) {
				w->row[picked] = m->x + (size_t)w->point[e] * m->d;
				w->pick[picked++] = e;
			}
		m->kernels->products(m->d, w->row, picked, m->panel + (size_t)g * m->d * LANES, w->product);
		for (uint32_t p = 0; p < picked; p++)
			settle(m, g, w->pick[p], w->product + (size_t)p * LANES, w);
	}
	for (uint32_t e = 0; e < w->count; e++) {
		uint32_t i = w->point[e];
		moved += m->label[i] != w->best[e];
		m->label[i] = w->best[e];
		m->upper[i] = w->distance[e];
	}
	return moved;
}

int sl__kmeans_assign(struct sl_kmeans *m, uint32_t from, uint32_t to, uint32_t *moved)
{
	uint32_t sum = 0;
	int failed = 0;
#pragma omp parallel reduction(+ : sum) reduction(| : failed)
	{
		struct work *w = malloc(sizeof *w);
		failed = !w;
#pragma omp for schedule(dynamic)
		for (uint32_t block = from; block < to; block++)
			if (w)
				sum += assign_block(m, block, block - from < m->forget, w);
		free(w);
	}
	*moved += sum;
	return failed ? SL_NOMEM : 0;
}
