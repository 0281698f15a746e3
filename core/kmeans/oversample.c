/* k-means||: draws many candidates at a time, then chooses the seeds from them (Bahmani, Moseley, Vattani, Kumar,
 * Vassilvitskii, Scalable K-Means++, VLDB 2012).
 *
 * The first candidate is a random row. Each of five rounds draws every row with u sum(s) < 2 k s, where s is its
 * squared distance to the nearest candidate and u a random number of this row and round. The weight of a candidate is
 * the number of points nearest to it. k-means++ on the weighted candidates gives the seeds. More rounds follow while
 * fewer than k candidates differ. The rounds end early if all rows coincide with candidates.
 *
 * A pass over all points compares them with a group of candidates at once, so about 11 passes replace the k of
 * k-means++. A saved state contains none of this: after loading, seeding starts again, which gives the same bytes. */
#include <math.h>
#include <stdlib.h>

#include "core/kmeans/kmeans_internal.h"
#include "core/random.h"

#define ROUNDS 5
#define ROWS 0x726f7773u    /* streams of random numbers */
#define SEEDS 0x73656564u

static uint64_t stream(const struct sl_kmeans *m, uint32_t purpose)
{
	return m->params.seed + (uint64_t)m->status.restart * 0x9e3779b97f4a7c15u + purpose;
}

/* Most candidates of a round. 2 k are expected, with a deviation of at most sqrt(2 k), so more are never reached. */
static uint64_t most_of_round(uint32_t k)
{
	return 3 * (uint64_t)k + 60;
}

uint32_t sl_kmeans_candidates(const struct sl_kmeans_params *p, uint32_t n)
{
	uint64_t most = 1 + ROUNDS * most_of_round((uint32_t)p->clusters);
	return p->seeding != SL_KMEANS_PARALLEL ? 0 : most < n ? (uint32_t)most : n;
}

static int begin(struct sl_kmeans *m)
{
	struct sl__kmeans_over *o = m->over = calloc(1, sizeof *o);
	if (!o)
		return SL_NOMEM;
	uint32_t fetch = m->block < SL__KMEANS_FETCH ? SL__KMEANS_FETCH : m->block;
	o->capacity = sl_kmeans_candidates(&m->params, m->n);
	o->row = malloc(o->capacity * sizeof *o->row);
	o->weight = malloc(o->capacity * sizeof *o->weight);
	o->square = malloc(o->capacity * sizeof *o->square);
	o->seed = malloc(o->capacity * sizeof *o->seed);
	o->label = m->passes.arg ? malloc(m->n * sizeof *o->label) : NULL;
	o->fetched = m->passes.arg ? malloc(fetch * sizeof *o->fetched) : NULL;
	bool ok = o->row && o->weight && o->square && o->seed && (!m->passes.arg || (o->label && o->fetched));
	for (uint32_t i = 0; i < m->n; i++) {
		m->upper[i] = INFINITY;
		m->before[i] = 0;
	}
	if (ok) {
		o->row[o->count++] = (uint32_t)(sl_random_uniform(stream(m, 0), 0) * m->n);
		ok = !sl__kmeans_start_group(m);
	}
	if (!ok)
		sl__kmeans_drop_over(m);
	return ok ? 0 : SL_NOMEM;
}

/* ---- candidates ------------------------------------------------------------------------- */

/* Weighs the candidates. Returns the number of candidates with a weight; they all differ. */
static uint32_t weigh(struct sl_kmeans *m)
{
	struct sl__kmeans_over *o = m->over;
	uint32_t weighty = 0;
	for (uint32_t c = 0; c < o->count; c++) {
		o->weight[c] = 0;
		o->square[c] = 1;
		o->seed[c] = 0;
	}
	for (uint32_t i = 0; i < m->n; i++)
		o->weight[m->before[i]]++;
	for (uint32_t c = 0; c < o->count; c++)
		weighty += o->weight[c] > 0;
	return weighty;
}

static int end_group(struct sl_kmeans *m, bool *ended)
{
	struct sl__kmeans_over *o = m->over;
	m->passed = 0;
	o->scored += o->group;
	if (o->scored < o->count)
		return sl__kmeans_start_group(m);
	o->total = 0;
	for (uint32_t block = 0; block < m->blocks; block++)
		o->total += m->block_sum[block];
	m->status.rounds = (int)o->round;
	*ended = true;
	bool enough = !(o->total > 0) || o->count == o->capacity;
	if (enough || o->round >= ROUNDS)
		enough = weigh(m) >= m->k || enough;
	o->stage = enough ? SL__KMEANS_CHOOSE : SL__KMEANS_DRAW;
	return 0;
}

/* If no row was drawn: takes the farthest row, of equally far ones the first. */
static void draw_farthest(struct sl_kmeans *m)
{
	uint32_t best = 0;
	for (uint32_t i = 1; i < m->n; i++)
		best = m->upper[i] > m->upper[best] ? i : best;
	m->over->row[m->over->count++] = best;
}

static int draw(struct sl_kmeans *m, uint32_t to)
{
	struct sl__kmeans_over *o = m->over;
	uint64_t seed = stream(m, ROWS), round = (uint64_t)(o->round + 1) << 32, most = o->scored + most_of_round(m->k);
	uint32_t first = m->passed * m->block, end = to == m->blocks ? m->n : to * m->block;
	double l = 2.0 * m->k;
	most = most < o->capacity ? most : o->capacity;
	for (uint32_t i = first; i < end && o->count < most; i++)
		if (m->upper[i] > 0 && sl_random_uniform(seed, round | i) * o->total < l * m->upper[i])
			o->row[o->count++] = i;
	m->passed = to;
	if (to < m->blocks)
		return 0;
	m->passed = 0;
	o->round++;
	if (o->count == o->scored)
		draw_farthest(m);
	return sl__kmeans_start_group(m);
}

/* ---- seeds ------------------------------------------------------------------------------ */

/* Draws a candidate with a probability proportional to weight times squared distance; if all candidates are seeds, any
 * row. */
static uint32_t choose(const struct sl_kmeans *m, double u)
{
	const struct sl__kmeans_over *o = m->over;
	double total = 0, before = 0;
	uint32_t last = 0;
	for (uint32_t c = 0; c < o->count; c++)
		total += o->weight[c] * o->square[c];
	if (!(total > 0))
		return (uint32_t)(u * m->n);
	for (uint32_t c = 0; c < o->count && !(before > u * total); c++) {
		double share = o->weight[c] * o->square[c];
		last = share > 0 ? c : last;
		before += share;
	}
	return o->row[last];
}

/* Updates the candidates' distances by seed `number`. */
static void add_seed(struct sl_kmeans *m, uint32_t number)
{
	struct sl__kmeans_over *o = m->over;
	const double *c = m->centroid + (size_t)number * m->d;
	double length = 0;
	for (uint32_t k = 0; k < m->d; k++)
		length += c[k] * c[k];
	length = sqrt(length);
	sl__kmeans_between_seeds(m, number);
#pragma omp parallel for schedule(static)
	for (uint32_t at = 0; at < o->count; at++) {
		uint32_t i = o->row[at];
		if (number && !sl__kmeans_may_be_nearer(m->norm[i], o->square[at], length, m->drift[o->seed[at]]))
			continue;
		double square = m->kernels->square(m->d, m->x + (size_t)i * m->d, c);
		if (!number || square < o->square[at]) {
			o->square[at] = square;
			o->seed[at] = number;
		}
	}
}

static int choose_seeds(struct sl_kmeans *m, uint32_t count, bool *ended, struct sl_error *err)
{
	*ended = true;
	for (uint32_t done = 0; done < count && m->status.seeds < (int)m->k; done++) {
		uint32_t number = (uint32_t)m->status.seeds++;
		const float *x = m->x + (size_t)choose(m, sl_random_uniform(stream(m, SEEDS), number)) * m->d;
		for (uint32_t k = 0; k < m->d; k++)
			m->centroid[(size_t)number * m->d + k] = (double)x[k];
		add_seed(m, number);
	}
	if (m->status.seeds < (int)m->k)
		return 0;
	sl__kmeans_drop_over(m);
	sl__kmeans_enter(m, SL__KMEANS_ASSIGN);
	int code = m->passes.arg ? sl__kmeans_send(m, err) : 0;  /* its labels are numbers of candidates */
	if (!code)
		sl__kmeans_ready(m);
	return code;
}

/* ---- stages ----------------------------------------------------------------------------- */

static int score(struct sl_kmeans *m, uint32_t to, bool *ended, struct sl_error *err)
{
	int code = 0;
	if (m->passes.arg)
		code = sl__kmeans_device_score(m, to, err);
	else
		sl__kmeans_score(m, m->passed, to);
	if (code)
		return code;
	m->passed = to;
	if (to < m->blocks)
		return 0;
	if (!m->passes.arg)
		return end_group(m, ended);
	m->passed = 0;
	m->over->stage = SL__KMEANS_MERGE;
	return 0;
}

static int merge(struct sl_kmeans *m, uint32_t to, bool *ended, struct sl_error *err)
{
	int code = sl__kmeans_device_merge(m, to, err);
	if (code)
		return code;
	m->passed = to;
	return to < m->blocks ? 0 : end_group(m, ended);
}

static int between(struct sl_kmeans *m, uint32_t to)
{
	uint32_t blocks = (m->over->scored + m->block - 1) / m->block;
	to = to < blocks ? to : blocks;
	sl__kmeans_between_candidates(m, m->passed, to);
	m->passed = to == blocks ? 0 : to;
	m->over->stage = to == blocks ? SL__KMEANS_SCORE : SL__KMEANS_BETWEEN;
	return 0;
}

int sl__kmeans_oversample(struct sl_kmeans *m, uint32_t to, bool *ended, struct sl_error *err)
{
	if (!m->over)
		return begin(m);
	switch (m->over->stage) {
	case SL__KMEANS_BETWEEN:
		return between(m, to);
	case SL__KMEANS_SCORE:
		return score(m, to, ended, err);
	case SL__KMEANS_MERGE:
		return merge(m, to, ended, err);
	case SL__KMEANS_DRAW:
		return draw(m, to);
	default:
		return choose_seeds(m, to - m->passed, ended, err);
	}
}
