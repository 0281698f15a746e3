/* Compares points with a group of candidates for seeds (oversample.h), as assign.c does with centroids: scores in
 * float, and distances in double precision if a score does not decide.
 *
 * Let a be a point's nearest older candidate. A candidate whose distance to a is at least twice the point's distance to
 * a is not nearer to the point. So between[a][g], the least distance from a to the candidates of panel g, excludes
 * whole panels. It is stored in lower[], which seeding does not use otherwise. */
#include <math.h>

#include "core/kmeans/kmeans_internal.h"

#define LANES SL__KMEANS_LANES
#define BLOCK SL__KMEANS_BLOCK

/* A device compares with k centroids. If the group has fewer candidates, older candidates fill it up, which change no
 * minimum; if there are too few of these, the group's first one. */
static uint32_t fill_up(const struct sl__kmeans_over *o, uint32_t j)
{
	return j - o->group < o->scored ? j - o->group : o->scored;
}

int sl__kmeans_start_group(struct sl_kmeans *m)
{
	struct sl__kmeans_over *o = m->over;
	o->group = o->count - o->scored < m->k ? o->count - o->scored : m->k;
	for (uint32_t j = 0; j < (m->passes.arg ? m->k : o->group); j++) {
		uint32_t number = j < o->group ? o->scored + j : fill_up(o, j);
		const float *x = m->x + (size_t)o->row[number] * m->d;
		for (uint32_t k = 0; k < m->d; k++)
			m->centroid[(size_t)j * m->d + k] = (double)x[k];
	}
	m->packed = m->ordered = false;
	o->stage = m->passes.arg || !o->scored ? SL__KMEANS_SCORE : SL__KMEANS_BETWEEN;
	if (m->passes.arg)
		return 0;
	sl__kmeans_outline_centroids(m);
	int code = sl__kmeans_order(m, o->group);
	if (!code)
		sl__kmeans_pack(m);
	return code;
}

static uint32_t panels_of(const struct sl__kmeans_over *o)
{
	return (o->group + LANES - 1) / LANES;
}

struct work {
	uint32_t point[BLOCK];
	const float *row[BLOCK];
	float far[BLOCK];             /* distance to the nearest older candidate, rounded up */
	uint32_t older[BLOCK];        /* the nearest older candidate */
	float score[BLOCK * LANES], least[BLOCK];
	uint64_t points, measured;    /* points compared with a group, and distances measured */
};

static void score_panel(const struct sl_kmeans *m, uint32_t g, uint32_t count, struct work *w)
{
	m->kernels->scores(m->f, w->row, count, m->panel + (size_t)g * m->f * LANES, m->half + (size_t)g * LANES, w->score,
			   w->least);
}

static void between_block(struct sl_kmeans *m, uint32_t block, struct work *w)
{
	const struct sl__kmeans_over *o = m->over;
	uint32_t from = block * m->block, count = o->scored - from < m->block ? o->scored - from : m->block;
	for (uint32_t e = 0; e < count; e++)
		w->row[e] = m->y + (size_t)o->row[from + e] * m->f;
	for (uint32_t g = 0; g < panels_of(o); g++) {
		score_panel(m, g, count, w);
		for (uint32_t e = 0; e < count; e++) {
			double length = m->length[o->row[from + e]], slack = sl__kmeans_slack(m, length);
			m->lower[(size_t)(from + e) * m->panels + g] =
				sl__kmeans_bound(length, w->least[e], slack, sl__kmeans_fuzz(m, length));
		}
	}
}

/* A candidate with a higher score is farther than the nearest one so far, at the squared distance `square`. */
static double limit_of(const struct sl_kmeans *m, uint32_t i, double square)
{
	double length = m->length[i], reach = sqrt(square) * (1 + 1e-12) + sl__kmeans_fuzz(m, length);
	return (reach * reach - length * length) / 2 + sl__kmeans_slack(m, length) + length * length * 1e-12;
}

/* Updates upper[i] and before[i] by the candidates of a panel. Returns the number of distances measured. */
static uint32_t settle(struct sl_kmeans *m, uint32_t g, uint32_t i, const float *score, float least)
{
	const struct sl__kmeans_over *o = m->over;
	double limit = limit_of(m, i, m->upper[i]);
	uint32_t measured = 0;
	if ((double)least > limit)
		return 0;
	for (uint32_t lane = 0; lane < LANES; lane++) {
		uint32_t j = m->centroid_in[g * LANES + lane], number = o->scored + j;
		if (j == SL__KMEANS_NONE || (double)score[lane] > limit)
			continue;
		double now = m->kernels->square(m->d, m->x + (size_t)i * m->d, m->centroid + (size_t)j * m->d);
		if (now < m->upper[i] || (now == m->upper[i] && number < m->before[i])) {
			m->upper[i] = now;
			m->before[i] = number;
			limit = limit_of(m, i, now);
		}
		measured++;
	}
	return measured;
}

static void score_block(struct sl_kmeans *m, uint32_t block, struct work *w)
{
	const struct sl__kmeans_over *o = m->over;
	uint32_t from = block * m->block, rows = m->n - from < m->block ? m->n - from : m->block;
	double sum = 0;
	sl__kmeans_outline_points(m, block);
	for (uint32_t e = 0; e < rows; e++) {
		w->older[e] = m->before[from + e];
		w->far[e] = (float)sqrt(m->upper[from + e]) * 1.000001f;
	}
	for (uint32_t g = 0; g < panels_of(o); g++) {
		uint32_t picked = 0;
		for (uint32_t e = 0; e < rows; e++) {
			uint32_t i = from + e;
			float reach = w->far[e] + (float)sqrt(m->upper[i]) * 1.000001f;
			if (o->scored && m->lower[(size_t)w->older[e] * m->panels + g] > reach)
				continue;
			w->row[picked] = m->y + (size_t)i * m->f;
			w->point[picked++] = i;
		}
		score_panel(m, g, picked, w);
		for (uint32_t p = 0; p < picked; p++)
			w->measured += settle(m, g, w->point[p], w->score + (size_t)p * LANES, w->least[p]);
	}
	for (uint32_t i = from; i < from + rows; i++)
		sum += m->upper[i];
	m->block_sum[block] = sum;
	w->points += rows;
}

void sl__kmeans_between_candidates(struct sl_kmeans *m, uint32_t from, uint32_t to)
{
#pragma omp parallel
	{
		struct work w;
#pragma omp for schedule(dynamic)
		for (uint32_t block = from; block < to; block++)
			between_block(m, block, &w);
	}
}

void sl__kmeans_score(struct sl_kmeans *m, uint32_t from, uint32_t to)
{
	uint64_t points = 0, measured = 0;
#pragma omp parallel reduction(+ : points, measured)
	{
		struct work w;
		w.points = w.measured = 0;
#pragma omp for schedule(dynamic)
		for (uint32_t block = from; block < to; block++)
			score_block(m, block, &w);
		points += w.points;
		measured += w.measured;
	}
	if (sl__kmeans_judge_axes(m, points, measured))
		sl__kmeans_pack(m);
}

/* ---- a device --------------------------------------------------------------------------- */

/* Compares the first candidate like the first seed of k-means++, others like centroids. */
int sl__kmeans_device_score(struct sl_kmeans *m, uint32_t to, struct sl_error *err)
{
	const struct sl_kmeans_passes *p = &m->passes;
	uint32_t moved = 0;
	if (!m->over->scored)
		return p->seed(p->arg, 0, m->centroid, m->passed, to, m->block_sum, err);
	int code = m->packed ? 0 : p->centroids(p->arg, m->centroid, err);
	m->packed = !code;
	if (!code)
		code = p->assign(p->arg, m->passed, to, &moved, err);
	return code ? code : p->inertia(p->arg, m->passed, to, m->block_sum, err);
}

/* Label j stands for candidate scored + j, or for one that fills up the group, which is not nearer. */
static void merge_block(struct sl_kmeans *m, uint32_t block, const double *away)
{
	const struct sl__kmeans_over *o = m->over;
	uint32_t first = block * m->block, end = m->n - first < m->block ? m->n : first + m->block;
	double sum = 0;
	for (uint32_t i = first; i < end; i++) {
		uint32_t j = o->scored ? o->label[i] : 0;
		if (away[i - first] < m->upper[i]) {
			m->upper[i] = away[i - first];
			m->before[i] = o->scored + j;
		}
		sum += m->upper[i];
	}
	m->block_sum[block] = sum;
}

int sl__kmeans_device_merge(struct sl_kmeans *m, uint32_t to, struct sl_error *err)
{
	struct sl__kmeans_over *o = m->over;
	const struct sl_kmeans_passes *p = &m->passes;
	uint32_t step = m->block < SL__KMEANS_FETCH ? SL__KMEANS_FETCH / m->block : 1;
	int code = m->passed || !o->scored ? 0 : p->get(p->arg, o->label, NULL, NULL, NULL, err);
	for (uint32_t from = m->passed, end; !code && from < to; from = end) {
		end = to - from < step ? to : from + step;
		uint32_t first = from * m->block, count = end == m->blocks ? m->n - first : (end - from) * m->block;
		code = p->nearest(p->arg, first, count, o->fetched, err);
#pragma omp parallel for schedule(static)
		for (uint32_t block = from; block < end; block++)
			if (!code)
				merge_block(m, block, o->fetched + (block - from) * m->block);
	}
	return code;
}
