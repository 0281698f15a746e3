/* Assigns the points of a block to their nearest centroids. Compiled once for each instruction set, as tile.c.
 *
 * upper[i] is an upper bound of the distance of point i to its own centroid, lower[i][g] a lower bound of the distance
 * to every other centroid of panel g. When centroids move, the bounds are loosened by the same distance. A panel whose
 * lower bound is above the upper bound contains no nearer centroid. The other panels are scored in float: |c|^2 / 2 - y
 * c. The error of a score is at most `slack`. The distances of all centroids that may be nearest within this error are
 * computed in double precision, which decides.
 *
 * With axes (axes.h) the scores compare the outlines y, whose distances are at most the true ones. Then the upper bound
 * can follow the point's own centroid without reading the point. Let D be the true distance, E that of the outlines,
 * and Rx the remainder of x: D^2 - E^2 = 2 (|Rx| |Rc| - Rx Rc) grows by at most 4 |Rx| |Rd| when the centroid moves by
 * d. margin[i] is that difference minus 4 |Rx| strayed[j], where strayed[j] is the sum of |Rd| over all movements of
 * centroid j. */
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "core/kmeans/kmeans_internal.h"

#define LANES SL__KMEANS_LANES
#define DOWN SL__KMEANS_DOWN

uint32_t SL_VARIANT_BLOCK(struct sl_kmeans *m, uint32_t block, bool forget, struct sl__kmeans_work *w);

static double exact(const struct sl_kmeans *m, uint32_t i, uint32_t j)
{
	return m->kernels->square(m->d, m->x + (size_t)i * m->d, m->centroid + (size_t)j * m->d);
}

/* |y - y'|^2 of a point and a centroid. */
static double outline(const struct sl_kmeans *m, uint32_t i, uint32_t j)
{
	return m->kernels->square(m->f, m->y + (size_t)i * m->f, m->c + (size_t)j * m->f);
}

/* |Rx| */
static double rest(const struct sl_kmeans *m, uint32_t i)
{
	return ((double)m->y[(size_t)i * m->f + m->f - 1] + sl__kmeans_fuzz(m, m->length[i])) * (1 + 1e-12);
}

static float up(double v)
{
	return (float)(v + fabs(v) * 1.2e-7);
}

/* Sets w->limit[e]: a centroid with a higher score is farther than w->distance[e]. */
static void set_limit(const struct sl_kmeans *m, uint32_t e, struct sl__kmeans_work *w)
{
	double length = m->length[w->point[e]], square = length * length, reach = w->distance[e] + w->fuzz[e];
	w->limit[e] = up((reach * reach - square) / 2 + w->slack[e] + square * 1e-12);
}

static void add(const struct sl_kmeans *m, uint32_t i, struct sl__kmeans_work *w)
{
	double length = m->length[i];
	uint32_t e = w->count++;
	w->point[e] = i;
	w->best[e] = m->label[i];
	w->best_lane[e] = m->label[i] == SL__KMEANS_NONE ? SL__KMEANS_NONE : m->lane_of[m->label[i]];
	w->exact[e] = false;
	w->distance[e] = m->upper[i];
	w->slack[e] = sl__kmeans_slack(m, length);
	w->fuzz[e] = sl__kmeans_fuzz(m, length);
	w->base[e] = length * length * (1 - 1e-12) - 2 * w->slack[e];
}

/* Computes the distance to the best centroid. */
static void measure_best(const struct sl_kmeans *m, uint32_t e, struct sl__kmeans_work *w)
{
	w->square[e] = exact(m, w->point[e], w->best[e]);
	w->distance[e] = sqrt(w->square[e]) * (1 + 1e-12);
	w->exact[e] = true;
	w->measured++;
}

/* Lowers upper[i] by the distance of the outlines of the point and its own centroid. */
static void follow(struct sl_kmeans *m, uint32_t i, uint32_t a)
{
	double square = outline(m, i, a), fuzz = sl__kmeans_fuzz(m, m->length[i]), margin = m->margin[i];
	if (!(margin < INFINITY))
		return;
	margin += 4 * rest(m, i) * m->strayed[a];
	double now = sqrt(square + 2 * fuzz * sqrt(square) + fuzz * fuzz + (margin > 0 ? margin : 0)) * (1 + 1e-12);
	m->upper[i] = now < m->upper[i] ? now : m->upper[i];
}

static void gather(struct sl_kmeans *m, uint32_t from, uint32_t to, struct sl__kmeans_work *w)
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
		if (a != SL__KMEANS_NONE && m->axes)
			follow(m, i, a);
		if (m->upper[i] < (double)least)
			continue;
		add(m, i, w);
		uint32_t e = w->count - 1;
		if (!m->axes && a != SL__KMEANS_NONE) {
			measure_best(m, e, w);
			m->upper[i] = w->distance[e];
			if (m->upper[i] < (double)least)
				w->count--;
		}
		set_limit(m, e, w);
	}
}

/* Lists the lanes of the panel whose centroids may be nearer than the best one, the least score first. */
static uint32_t pick_lanes(const struct sl_kmeans *m, uint32_t g, uint32_t e, const float *score,
			   const struct sl__kmeans_work *w, uint32_t *out)
{
	uint32_t count = 0, first = 0;
	for (uint32_t lane = 0; lane < LANES; lane++) {
		uint32_t place = g * LANES + lane;
		if (score[lane] <= w->limit[e] && m->centroid_in[place] != SL__KMEANS_NONE && place != w->best_lane[e])
			out[count++] = lane;
	}
	for (uint32_t at = 1; at < count; at++)
		first = score[out[at]] < score[out[first]] ? at : first;
	if (count) {
		uint32_t lane = out[0];
		out[0] = out[first];
		out[first] = lane;
	}
	return count;
}

static void change_best(struct sl_kmeans *m, uint32_t e, uint32_t j, double square, struct sl__kmeans_work *w)
{
	w->best[e] = j;
	w->best_lane[e] = m->lane_of[j];
	w->square[e] = square;
	w->distance[e] = sqrt(square) * (1 + 1e-12);
	set_limit(m, e, w);
}

/* Updates best by exact distances to the panel's centroids, and the panel's lower bound, which excludes best. */
static void settle(struct sl_kmeans *m, uint32_t g, uint32_t e, float *score, struct sl__kmeans_work *w)
{
	uint32_t i = w->point[e], old = w->best[e], lane_of[LANES], lanes = pick_lanes(m, g, e, score, w, lane_of);
	double length = m->length[i];
	if (lanes && !w->exact[e]) {
		if (w->best_lane[e] == SL__KMEANS_NONE) {
			w->best_lane[e] = g * LANES + lane_of[0];
			old = w->best[e] = m->centroid_in[w->best_lane[e]];
		}
		measure_best(m, e, w);
		set_limit(m, e, w);
	}
	double old_square = w->square[e];
	for (uint32_t at = 0; at < lanes; at++) {
		uint32_t lane = lane_of[at], j = m->centroid_in[g * LANES + lane];
		if (score[lane] > w->limit[e] || j == w->best[e])
			continue;
		double now = exact(m, i, j);
		float so_far = (float)((now - length * length) / 2);
		w->measured++;
		score[lane] = so_far > score[lane] ? so_far : score[lane];
		if (now < w->square[e] || (now == w->square[e] && j < w->best[e]))
			change_best(m, e, j, now, w);
	}
	float least = INFINITY, *lower = m->lower + (size_t)i * m->panels;
	uint32_t best = w->best_lane[e] / LANES == g ? w->best_lane[e] % LANES : LANES;
	for (uint32_t lane = 0; lane < LANES; lane++)
		least = lane != best && score[lane] < least ? score[lane] : least;
	lower[g] = sl__kmeans_bound(length, least, w->slack[e], w->fuzz[e]);
	if (w->best[e] == old)
		return;
	/* the former best centroid counts in the bound of its panel now */
	uint32_t other = m->lane_of[old] / LANES;
	float left = (float)sqrt(old_square) * DOWN;
	lower[other] = left < lower[other] ? left : lower[other];
}

/* Lists the points whose bounds do not exclude panel g. */
static uint32_t pick(const struct sl_kmeans *m, uint32_t g, struct sl__kmeans_work *w)
{
	uint32_t picked = 0;
	for (uint32_t e = 0; e < w->count; e++)
		if ((double)m->lower[(size_t)w->point[e] * m->panels + g] <= w->distance[e]) {
			w->row[picked] = m->y + (size_t)w->point[e] * m->f;
			w->base_of[picked] = w->base[e];
			w->fuzz_of[picked] = (float)w->fuzz[e] * 1.000001f;
			w->pick[picked++] = e;
		}
	return picked;
}

static void panel(struct sl_kmeans *m, uint32_t g, struct sl__kmeans_work *w)
{
	uint32_t picked = pick(m, g, w);
	m->kernels->scores(m->f, w->row, picked, m->panel + (size_t)g * m->f * LANES, m->half + (size_t)g * LANES, w->score,
			   w->least);
	/* as sl__kmeans_bound(), but vectorised: three roundings of 2^-24, the first under the root */
	for (uint32_t p = 0; p < picked; p++) {
		double square = w->base_of[p] + 2 * (double)w->least[p];
		float bound = sqrtf((float)(square > 0 ? square : 0)) * DOWN - w->fuzz_of[p];
		w->bound[p] = bound > 0 ? bound * DOWN : 0;
	}
	for (uint32_t p = 0; p < picked; p++) {
		uint32_t e = w->pick[p];
		if (w->least[p] <= w->limit[e] || w->best_lane[e] / LANES == g)
			settle(m, g, e, w->score + (size_t)p * LANES, w);
		else
			m->lower[(size_t)w->point[e] * m->panels + g] = w->bound[p];
	}
}

static void set_margin(struct sl_kmeans *m, uint32_t i, double square)
{
	uint32_t a = m->label[i];
	double other = outline(m, i, a), fuzz = sl__kmeans_fuzz(m, m->length[i]);
	double margin = square - other + 2 * fuzz * sqrt(other) + fuzz * fuzz + (square + other) * 1e-12;
	m->margin[i] = margin - 4 * rest(m, i) * m->strayed[a] * (1 - 1e-12);
}

uint32_t SL_VARIANT_BLOCK(struct sl_kmeans *m, uint32_t block, bool forget, struct sl__kmeans_work *w)
{
	uint32_t from = block * m->block, to = m->n - from < m->block ? m->n : from + m->block, moved = 0;
	if (forget) {
		memset(m->lower + (size_t)from * m->panels, 0, (size_t)(to - from) * m->panels * sizeof *m->lower);
		for (uint32_t i = from; i < to; i++)
			m->upper[i] = INFINITY;
		for (uint32_t i = from; m->axes && i < to; i++)
			m->margin[i] = INFINITY;
	}
	gather(m, from, to, w);
	for (uint32_t g = 0; g < m->panels; g++)
		panel(m, g, w);
	for (uint32_t e = 0; e < w->count; e++) {
		uint32_t i = w->point[e];
		moved += m->label[i] != w->best[e];
		m->label[i] = w->best[e];
		m->upper[i] = w->distance[e];
		if (m->axes && w->exact[e])
			set_margin(m, i, w->square[e]);
	}
	w->points += w->count;
	return moved;
}
