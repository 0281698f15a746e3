/* Prepares the points, the initial layout and the memory of a run. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/graph/graph.h"
#include "core/points/points.h"
#include "core/random.h"
#include "core/sammon/sammon_internal.h"

#define VALUE_MOST 0x1p100     /* keeps distances and coordinates within float32, their squares within double */
#define DIFFERENCES_MOST 12    /* with more columns inner products are faster */

/* ---- equal rows --------------------------------------------------------------------------- */

/* Hashes the values of a row; 0 and -0 count as equal. */
static uint64_t hash(const float *row, uint32_t d)
{
	uint64_t h = 0;
	for (uint32_t k = 0; k < d; k++) {
		float value = row[k] + 0.0f;
		uint32_t bits;
		memcpy(&bits, &value, sizeof bits);
		h = sl_random_bits(h, bits);
	}
	return h;
}

static bool equal(const struct sl_points *p, uint32_t i, uint32_t j, float *room)
{
	sl_points_rows(p, i, 1, room);
	sl_points_rows(p, j, 1, room + p->d);
	for (uint32_t k = 0; k < p->d; k++)
		if (room[k] != room[p->d + k])
			return false;
	return true;
}

/* Fills first[row] with the first row that equals it. */
static int find_equal(const struct sl_points *p, uint32_t *first)
{
	struct sl__sammon_keyed *keyed = malloc(p->n * sizeof *keyed);
	float *room = malloc(2 * (size_t)p->d * sizeof *room);
	int code = keyed && room ? 0 : SL_NOMEM;
	for (uint32_t i = 0; !code && i < p->n; i++) {
		sl_points_rows(p, i, 1, room);
		keyed[i] = (struct sl__sammon_keyed){hash(room, p->d), i};
		first[i] = i;
	}
	if (!code)
		qsort(keyed, p->n, sizeof *keyed, sl__sammon_by_key);
	for (uint32_t from = 0, i = 1; !code && i < p->n; i++) {
		if (keyed[i].key != keyed[from].key)
			from = i;
		else if (equal(p, keyed[from].number, keyed[i].number, room))
			first[keyed[i].number] = keyed[from].number;
	}
	free(keyed);
	free(room);
	return code;
}

/* ---- order -------------------------------------------------------------------------------- */

static uint32_t side_of(uint32_t n)
{
	return n <= 1024 ? 32 : n <= 4096 ? 64 : n <= 16384 ? 128 : 256;
}

/* Computes place[] from first[], and the rounds. */
static int order(struct sl_sammon *m, const uint32_t *first)
{
	m->n = 0;
	for (uint32_t i = 0; i < m->rows; i++)
		if (first[i] == i)
			m->place[i] = m->n++;
	m->side = side_of(m->n);
	m->blocks = (m->n - 1) / m->side + 1;
	uint32_t other_blocks = (sl_sammon_partners(&m->params, m->n) - 1) / m->side + 1;
	m->sampled = other_blocks < m->blocks - 1;
	m->rounds = m->sampled ? other_blocks + 1 : sl__sammon_rounds(m);
	m->turn = calloc(m->rounds, sizeof *m->turn);
	m->keyed = malloc(m->n * sizeof *m->keyed);
	uint32_t *at = malloc(m->n * sizeof *at);
	int code = m->turn && m->keyed && at ? 0 : SL_NOMEM;
	if (!code && m->sampled)
		sl__sammon_shuffle(m->keyed, m->n, m->params.seed);
	for (uint32_t i = 0; !code && i < m->n; i++)
		at[i] = m->sampled ? m->keyed[i].number : i;
	for (uint32_t i = 0; !code && i < m->rows; i++)
		m->place[i] = first[i] == i ? at[m->place[i]] : m->place[first[i]];
	free(at);
	return code;
}

static int take_order(struct sl_sammon *m, const struct sl_points *p)
{
	uint32_t *first = malloc(p->n * sizeof *first);
	m->place = malloc(p->n * sizeof *m->place);
	int code = first && m->place ? find_equal(p, first) : SL_NOMEM;
	if (!code)
		code = order(m, first);
	free(first);
	return code;
}

/* ---- values ------------------------------------------------------------------------------- */

/* Computes the means to subtract from the columns. Returns the largest value after that. Differences are more exact
 * without centring, so their means are 0. */
static double centre(const struct sl_sammon *m, const struct sl_points *p, double *mean, float *row)
{
	double largest = 0;
	for (uint32_t i = 0; !m->differences && i < p->n; i++) {
		sl_points_rows(p, i, 1, row);
		for (uint32_t k = 0; k < m->d; k++)
			mean[k] += (double)row[k] / p->n;
	}
	for (uint32_t k = 0; k < m->d; k++)
		mean[k] = (double)(float)mean[k];
	for (uint32_t i = 0; i < p->n; i++) {
		sl_points_rows(p, i, 1, row);
		for (uint32_t k = 0; k < m->d; k++)
			largest = fmax(largest, fabs((double)row[k] - mean[k]));
	}
	return largest;
}

static int take_values(struct sl_sammon *m, const struct sl_points *p, struct sl_error *err)
{
	double *mean = calloc(m->d, sizeof *mean), largest;
	float *row = malloc(m->d * sizeof *row);
	int code = mean && row ? 0 : SL_NOMEM, exponent;
	if (!code) {
		largest = centre(m, p, mean, row);
		if (!(largest <= VALUE_MOST))
			code = sl_error_set(err, SL_BADDATA, "The points have values of up to %.3g; their distances are too large "
					    "for a layout. Divide all values by one number, so that none is above %.3g.", largest,
					    VALUE_MOST);
		frexp(largest, &exponent);
		m->scale = largest > 0 ? ldexp(1, -exponent) : 1;
	}
	for (uint32_t i = 0; !code && i < p->n; i++) {
		uint32_t at = m->place[i];
		float *to = m->panel + (size_t)(at / SL__SAMMON_LANES) * m->d * SL__SAMMON_LANES + at % SL__SAMMON_LANES;
		double square = 0;
		m->mass[at] += 1;
		sl_points_rows(p, i, 1, row);
		for (uint32_t k = 0; k < m->d; k++) {
			float value = (float)(((double)row[k] - mean[k]) * m->scale);
			to[(size_t)k * SL__SAMMON_LANES] = value;
			square += (double)value * (double)value;
		}
		m->norm[at] = (float)square;
	}
	free(mean);
	free(row);
	return code;
}

/* ---- start -------------------------------------------------------------------------------- */

/* Makes the layout of the first pass from coordinates [rows][stride]. */
static void put_start(struct sl_sammon *m, const float *from, uint32_t stride)
{
	uint32_t columns = stride < (uint32_t)m->params.dims ? stride : (uint32_t)m->params.dims;
	for (uint32_t i = m->rows; i-- > 0;)  /* backwards, so that the first of equal rows decides */
		for (uint32_t q = 0; q < columns; q++)
			m->trial.y[(size_t)q * m->room + m->place[i]] = (double)from[(size_t)i * stride + q] * m->scale;
}

static int start_pca(struct sl_sammon *m, const struct sl_points *p, struct sl_error *err)
{
	struct sl_points *axes = NULL;
	double kept;
	uint32_t to = m->d < (uint32_t)m->params.dims ? m->d : (uint32_t)m->params.dims;
	int code = m->n > 1 ? sl_points_pca(&axes, p, to, &kept, NULL, err) : 0;
	if (!code && axes)
		put_start(m, axes->value, to);
	sl_points_destroy(axes);
	return code;
}

/* Random positions with the variance of the points. */
static void start_random(struct sl_sammon *m)
{
	double square = 0;
	for (uint32_t k = 0; k < m->d; k++) {
		double sum = 0, squares = 0, first = (double)m->panel[(size_t)k * SL__SAMMON_LANES];
		for (uint32_t i = 0; i < m->n; i++) {
			size_t at = (size_t)(i / SL__SAMMON_LANES) * m->d + k;
			double off = (double)m->panel[at * SL__SAMMON_LANES + i % SL__SAMMON_LANES] - first;
			sum += off / m->n;
			squares += off * off / m->n;
		}
		square += fmax(0, squares - sum * sum);
	}
	square = sqrt(square / m->params.dims);
	for (uint32_t i = m->rows; i-- > 0;)
		for (int q = 0; q < m->params.dims; q++)
			m->trial.y[(size_t)q * m->room + m->place[i]] =
				square * sl_random_normal(m->params.seed, (uint64_t)i * SL__SAMMON_DIMS + (uint64_t)q);
}

static int take_start(struct sl_sammon *m, const struct sl_points *p, const float *start, struct sl_error *err)
{
	size_t values = (size_t)m->rows * (size_t)m->params.dims;
	for (size_t at = 0; start && at < values; at++)
		if (!isfinite(start[at]))
			return sl_error_set(err, SL_BADDATA, "Row %zu of the start has a coordinate that is not a finite "
					    "number.", at / (size_t)m->params.dims + 1);
	if (start)
		put_start(m, start, (uint32_t)m->params.dims);
	else if (m->params.start == SL_SAMMON_START_RANDOM)
		start_random(m);
	else
		return start_pca(m, p, err);
	return 0;
}

/* ---- memory ------------------------------------------------------------------------------- */

static bool place_allocate(struct sl__sammon_place *p, size_t values, bool curve)
{
	p->stress = NAN;
	p->y = calloc(values, sizeof *p->y);
	p->force = calloc(values, sizeof *p->force);
	p->curve = curve ? calloc(values, sizeof *p->curve) : NULL;
	return p->y && p->force && (p->curve || !curve);
}

static int allocate(struct sl_sammon *m)
{
	bool curve = m->params.optimiser == SL_SAMMON_NEWTON;
	m->room = (size_t)m->blocks * m->side;
	sl__sammon_plan(m);
	m->panel = aligned_alloc(64, m->room * m->d * sizeof *m->panel);
	m->norm = calloc(m->room, sizeof *m->norm);
	m->mass = calloc(m->room, sizeof *m->mass);
	m->kept = malloc(m->slots * m->side * m->side * sizeof *m->kept + 1);
	m->known = calloc(m->slots + 1, 1);
	m->tile_sum = calloc(2 * (size_t)m->blocks, sizeof *m->tile_sum);
	m->rounded = calloc(sl__sammon_values(m), sizeof *m->rounded);
	m->weight = calloc(m->room, sizeof *m->weight);
	if (!m->panel || !m->norm || !m->mass || !m->kept || !m->known || !m->tile_sum || !m->rounded || !m->weight ||
	    !place_allocate(&m->best, sl__sammon_values(m), curve) ||
	    !place_allocate(&m->trial, sl__sammon_values(m), curve))
		return SL_NOMEM;
	memset(m->panel, 0, m->room * m->d * sizeof *m->panel);
	return 0;
}

int sl__sammon_prepare(struct sl_sammon *m, const struct sl_points *p, const float *start, struct sl_error *err)
{
	m->rows = p->n;
	m->d = p->d;
	m->differences = m->d <= DIFFERENCES_MOST;
	int code = take_order(m, p);
	if (!code)
		code = allocate(m);
	if (!code)
		code = take_values(m, p, err);
	if (!code)
		code = take_start(m, p, start, err);
	if (code == SL_NOMEM)
		sl_error_memory(err, "the distances of %u points of %u columns", m->rows, m->d);
	if (!code)
		sl__sammon_pass_begin(m);
	return code;
}

int sl__sammon_prepare_terms(struct sl_sammon *m)
{
	bool curve = m->params.optimiser == SL_SAMMON_NEWTON;
	m->chunk = 1;
	m->status.stress = m->status.gradient_norm = NAN;
	m->rows = m->n = m->terms->n;
	m->room = m->n;
	m->scale = m->terms->scale;
	m->weight = calloc(m->room + 1, sizeof *m->weight);
	if (!m->weight || !place_allocate(&m->best, sl__sammon_values(m) + 1, curve) ||
	    !place_allocate(&m->trial, sl__sammon_values(m) + 1, curve))
		return SL_NOMEM;
	return 0;
}

int sl__sammon_prepare_graph(struct sl_sammon *m, const struct sl_graph *g, struct sl_error *err)
{
	int code = sl__terms_create(&m->terms, g, &m->params, err);
	if (!code && sl__sammon_prepare_terms(m))
		code = sl_error_memory(err, "a layout of %u nodes", g->n);
	return code;
}
