/* Keys, scaled as search.h says, find the neighbours; distances are made of them at the end, and equal ones are
 * ordered by index. So a result depends neither on the packing nor on the number of threads. */
#include "core/neighbours/search.h"
#include "core/points/points.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <omp.h>

/* ---- preparation of the points ---------------------------------------------------- */

struct range {
	double extent;   /* largest difference within a column */
	double largest;  /* largest absolute value */
};

/* Columns [from, to). */
static struct range column_range(const struct sl_points *p, uint32_t from, uint32_t to, float *low, float *high)
{
	struct range r = {0, 0};
	for (uint32_t k = from; k < to; k++)
		low[k] = INFINITY, high[k] = -INFINITY;
	for (uint32_t i = 0; i < p->n; i++) {
		const float *row = (const float *)p->value + (size_t)i * p->d;
		for (uint32_t k = from; k < to; k++) {
			low[k] = row[k] < low[k] ? row[k] : low[k];
			high[k] = row[k] > high[k] ? row[k] : high[k];
		}
	}
	for (uint32_t k = from; k < to; k++) {
		r.extent = fmax(r.extent, (double)high[k] - (double)low[k]);
		r.largest = fmax(r.largest, fmax(fabs((double)low[k]), fabs((double)high[k])));
	}
	return r;
}

static int find_range(const struct sl_points *p, struct range *out)
{
	*out = (struct range){255, 255};
	if (p->type == SL_POINTS_U8)
		return 0;
	double extent = 0, largest = 0;
	float *low = malloc(2 * (size_t)p->d * sizeof *low);
	if (!low)
		return SL_NOMEM;
#pragma omp parallel for reduction(max : extent, largest) schedule(static)
	for (uint32_t from = 0; from < p->d; from += 16) {
		struct range r = column_range(p, from, p->d - from < 16 ? p->d : from + 16, low, low + p->d);
		extent = fmax(extent, r.extent);
		largest = fmax(largest, r.largest);
	}
	free(low);
	*out = (struct range){extent, largest};
	return 0;
}

/* Scales the points so that sums of powers of differences neither overflow nor vanish. */
static int scale_exponent(const struct sl__search *s, struct range r)
{
	int of_extent, of_largest, wanted = 0;
	bool products = s->params->metric == SL_INNER_PRODUCT;
	frexp(products || r.extent == 0 ? r.largest : r.extent, &of_extent);
	frexp(r.largest, &of_largest);
	if (s->params->metric == SL_LP)
		wanted = (int)floor((120 - log2(s->d)) / s->params->p);
	int exponent = wanted - of_extent - 1;
	return exponent + of_largest > 100 ? 100 - of_largest : exponent;
}

static float value_at(const struct sl_points *p, size_t at)
{
	return p->type == SL_POINTS_U8 ? ((const uint8_t *)p->value)[at] : ((const float *)p->value)[at];
}

/* True for a row of zeros and, with correlation, for a row of equal values. */
static bool no_direction(const struct sl_points *p, uint32_t row, int metric)
{
	size_t at = (size_t)row * p->d;
	float all = metric == SL_CORRELATION ? value_at(p, at) : 0;
	for (uint32_t k = 0; k < p->d; k++)
		if (value_at(p, at + k) != all)
			return false;
	return true;
}

static int split_zero_rows(struct sl__search *s)
{
	const struct sl_points *p = s->points;
	s->included = malloc(((size_t)p->n + 1) * sizeof *s->included);
	s->zero = malloc(((size_t)p->n + 1) * sizeof *s->zero);
	if (!s->included || !s->zero)
		return SL_NOMEM;
	s->n = 0;
	for (uint32_t i = 0; i < p->n; i++)
		if (no_direction(p, i, s->params->metric))
			s->zero[s->zeros++] = i;
		else
			s->included[s->n++] = i;
	return 0;
}

int sl__search_init(struct sl__search *s, const struct sl_points *points, const struct sl_neighbours_params *params)
{
	*s = (struct sl__search){
		.points = points, .params = params, .kernels = sl__tile_kernels(), .n = points->n, .d = points->d,
		.k = params->k < points->n ? params->k : points->n - 1, .scale = 1,
	};
	if (SL_DISTANCE_OF_DIRECTIONS(params->metric))
		return split_zero_rows(s);
	if (params->metric == SL_HAMMING || params->metric == SL_JACCARD)
		return 0;
	struct range range;
	int rc = find_range(points, &range);
	if (!rc && range.largest > 0)
		s->scale = ldexp(1, scale_exponent(s, range));
	return rc;
}

void sl__search_finish(struct sl__search *s)
{
	free(s->included);
	free(s->zero);
	free(s->panel);
	free(s->number);
	s->included = s->zero = s->number = NULL;
	s->panel = NULL;
}

static bool normalise(uint32_t d, bool centred, float *row)
{
	double square = 0, mean = 0;
	bool same = true;
	for (uint32_t k = 0; k < d; k++) {
		mean += centred ? (double)row[k] / d : 0;
		same = same && row[k] == row[0];
	}
	for (uint32_t k = 0; k < d; k++)
		square += ((double)row[k] - mean) * ((double)row[k] - mean);
	if (square == 0 || (centred && same))
		return false;
	double factor = 1 / sqrt(square);
	for (uint32_t k = 0; k < d; k++)
		row[k] = (float)(((double)row[k] - mean) * factor);
	return true;
}

static void scale_row(uint32_t d, double scale, float *row)
{
	if ((float)scale > 0 && isfinite((float)scale))
		for (uint32_t k = 0; k < d; k++)
			row[k] *= (float)scale;
	else
		for (uint32_t k = 0; k < d; k++)
			row[k] = (float)(row[k] * scale);
}

bool sl__search_prepare(const struct sl__search *s, float *row)
{
	int metric = s->params->metric;
	if (SL_DISTANCE_OF_DIRECTIONS(metric))
		return normalise(s->d, metric == SL_CORRELATION, row);
	if (metric == SL_JACCARD)
		for (uint32_t k = 0; k < s->d; k++)
			row[k] = row[k] != 0;
	else if (metric != SL_HAMMING)
		scale_row(s->d, s->scale, row);
	return true;
}

/* out[d] = the scaled, normalised row of point i of [0, n). */
static void row_of(const struct sl__search *s, uint32_t i, float *out)
{
	sl_points_rows(s->points, s->included ? s->included[i] : i, 1, out);
	sl__search_prepare(s, out);
}

static void pack_panel(const struct sl__search *s, const uint32_t *order, uint32_t slots, uint32_t panel, float *row)
{
	float *to = s->panel + (size_t)panel * s->d * SL__LANES;
	for (uint32_t lane = 0; lane < SL__LANES; lane++) {
		uint64_t slot = (uint64_t)panel * SL__LANES + lane;
		uint32_t i = slot >= slots ? SL_NO_NEIGHBOUR : order ? order[slot] : (uint32_t)slot;
		bool empty = i == SL_NO_NEIGHBOUR;
		s->number[slot] = empty ? i : s->included ? s->included[i] : i;
		if (!empty)
			row_of(s, i, row);
		for (uint32_t k = 0; k < s->d; k++)
			to[(size_t)k * SL__LANES + lane] = empty ? NAN : row[k];
	}
}

int sl__search_pack(struct sl__search *s, const uint32_t *order, uint32_t slots)
{
	int failed = 0;
	free(s->panel);
	free(s->number);
	s->panels = (uint32_t)(((uint64_t)slots + SL__LANES - 1) / SL__LANES);
	size_t values = ((size_t)s->panels + 1) * s->d * SL__LANES;
	s->panel = aligned_alloc(64, values * sizeof *s->panel);
	s->number = malloc(((size_t)s->panels + 1) * SL__LANES * sizeof *s->number);
	if (!s->panel || !s->number)
		return SL_NOMEM;
#pragma omp parallel reduction(| : failed)
	{
		float *row = malloc(s->d * sizeof *row);
		failed = !row;
#pragma omp for schedule(static)
		for (uint32_t panel = 0; panel < s->panels; panel++)
			if (row)
				pack_panel(s, order, slots, panel, row);
		free(row);
	}
	return failed ? SL_NOMEM : 0;
}

void sl__search_gather_rows(const struct sl__search *s, const uint32_t *slot, uint32_t count, float *query)
{
	for (uint32_t q = 0; q < SL__GROUP; q++) {
		uint32_t at = slot[q < count ? q : 0];
		const float *from = s->panel + (size_t)(at / SL__LANES) * s->d * SL__LANES + at % SL__LANES;
		for (uint32_t k = 0; k < s->d; k++)
			query[(size_t)k * SL__GROUP + q] = from[(size_t)k * SL__LANES];
	}
}

/* ---- tasks -------------------------------------------------------------------------- */

int sl__task_init(struct sl__task *t, const struct sl__search *s, uint32_t k)
{
	uint32_t capacity = 2 * k + 3 * SL__LANES;
	memset(t, 0, sizeof *t);
	t->query = aligned_alloc(64, (size_t)SL__TASK_GROUPS * s->d * SL__GROUP * sizeof *t->query);
	t->entry = malloc((size_t)SL__TASK * capacity * sizeof *t->entry);
	if (!t->query || !t->entry)
		return SL_NOMEM;
	for (uint32_t q = 0; q < SL__TASK; q++) {
		t->list[q].capacity = capacity;
		t->list[q].entry = t->entry + (size_t)q * capacity;
	}
	return 0;
}

void sl__task_finish(struct sl__task *t)
{
	free(t->query);
	free(t->entry);
}

void sl__task_exact(const struct sl__search *s, struct sl__task *t, const uint32_t *slot, uint32_t count, uint32_t k)
{
	size_t group_values = (size_t)s->d * SL__GROUP;
	uint32_t groups = (count + SL__GROUP - 1) / SL__GROUP;
	/* panels of about 32 KiB stay in the L1 cache while all groups are compared with them */
	uint32_t turn = 256 / s->d + 1;
	for (uint32_t g = 0; g < groups; g++)
		sl__search_gather_rows(s, slot + g * SL__GROUP, count - g * SL__GROUP, t->query + g * group_values);
	/* k = 0: places beyond count repeat a query, and their lists stay empty */
	for (uint32_t q = 0; q < groups * SL__GROUP; q++)
		sl__nearest_start(&t->list[q], q < count ? k : 0);
	/* a task may take seconds, so a cancelled search ends within it, and its lists are dropped */
	for (uint32_t panel = 0; panel < s->panels && !sl__search_cancelled(s); panel += turn) {
		uint32_t panels = s->panels - panel < turn ? s->panels - panel : turn;
		for (uint32_t g = 0; g < groups; g++)
			s->kernels->scan(s->params->metric, (float)s->params->p, s->d, t->query + g * group_values,
					 s->panel + (size_t)panel * s->d * SL__LANES, panels,
					 s->number + (size_t)panel * SL__LANES, t->list + g * SL__GROUP);
	}
}

/* ---- results ------------------------------------------------------------------------ */

static float to_distance(const struct sl__search *s, float key, float best)
{
	int32_t whole;
	memcpy(&whole, &key, sizeof whole);
	if (s->whole)
		return (float)sqrt(whole);
	double x = key < 0 && s->params->metric != SL_INNER_PRODUCT ? 0 : key;
	switch (s->params->metric) {
	case SL_EUCLIDEAN: x = sqrt(x) / s->scale; break;
	case SL_COSINE:
	case SL_CORRELATION: return (float)(0.5 * x);
	case SL_HAMMING: return (float)(x / s->d);
	case SL_JACCARD: return (float)x;
	case SL_INNER_PRODUCT: x = (x - best) / s->scale / s->scale; break;
	case SL_LP: x = pow(x, 1 / s->params->p) / s->scale; break;
	default: x /= s->scale; break;
	}
	return x < FLT_MAX ? (float)x : FLT_MAX;
}

/* Sorts points with equal distances by number; different keys may round to the same distance. */
static void sort_ties(uint32_t *index, const float *distance, uint32_t count)
{
	for (uint32_t e = 1; e < count; e++) {
		uint32_t moved = index[e], f = e;
		for (; f > 0 && distance[f - 1] == distance[e] && index[f - 1] > moved; f--)
			index[f] = index[f - 1];
		index[f] = moved;
	}
}

/* Writes a row of the result. excluded: a point to leave out, or SL_NO_NEIGHBOUR. */
static void emit(const struct sl__search *s, uint32_t row, uint32_t excluded, struct sl__nearest *list,
		 struct sl_neighbours *nb)
{
	uint32_t *index = nb->index + (size_t)row * nb->k, used = 0, count = sl__nearest_sort(list);
	float *distance = nb->distance + (size_t)row * nb->k, best = 0;
	for (uint32_t e = 0; e < count && used < nb->k; e++) {
		uint32_t number = sl__entry_number(list->entry[e]);
		float key = sl__entry_key(list->entry[e]);
		if (number == excluded)
			continue;
		if (!used)
			best = key;
		index[used] = number;
		distance[used++] = to_distance(s, key, best);
	}
	sort_ties(index, distance, used);
	for (; used < nb->k; used++) {
		index[used] = SL_NO_NEIGHBOUR;
		distance[used] = INFINITY;
	}
}

void sl__search_emit(const struct sl__search *s, uint32_t row, struct sl__nearest *list, struct sl_neighbours *nb)
{
	emit(s, row, row, list, nb);
}

void sl__search_emit_query(const struct sl__search *s, uint32_t row, struct sl__nearest *list, struct sl_neighbours *nb)
{
	emit(s, row, SL_NO_NEIGHBOUR, list, nb);
}

/* A zero row has distance 1 from all others, so its neighbours are the first k points. */
static void fill_zero_row(uint32_t row, struct sl_neighbours *nb)
{
	uint32_t *index = nb->index + (size_t)row * nb->k;
	float *distance = nb->distance + (size_t)row * nb->k;
	for (uint32_t e = 0; e < nb->k; e++) {
		index[e] = e < row ? e : e + 1;
		distance[e] = 1;
	}
}

/* Inserts zero rows, at distance 1, into a row with fewer than k neighbours at distances up to 1. */
static void merge_zero_rows(const struct sl__search *s, uint32_t row, struct sl_neighbours *nb)
{
	uint32_t *index = nb->index + (size_t)row * nb->k, k = nb->k, from = 0;
	float *distance = nb->distance + (size_t)row * k;
	for (uint32_t z = 0; z < s->zeros && z < k; z++) {
		while (from < k && (distance[from] < 1 || (distance[from] == 1 && index[from] < s->zero[z])))
			from++;
		if (from == k)
			return;
		memmove(index + from + 1, index + from, (k - from - 1) * sizeof *index);
		memmove(distance + from + 1, distance + from, (k - from - 1) * sizeof *distance);
		index[from] = s->zero[z];
		distance[from] = 1;
	}
}

void sl__search_add_zero_rows(const struct sl__search *s, struct sl_neighbours *nb)
{
	for (uint32_t z = 0; z < s->zeros; z++)
		fill_zero_row(s->zero[z], nb);
	if (s->zeros)
		for (uint32_t i = 0; i < s->n; i++)
			merge_zero_rows(s, s->included[i], nb);
}

bool sl__search_cancelled(const struct sl__search *s)
{
	return s->params->cancel && __atomic_load_n(s->params->cancel, __ATOMIC_RELAXED);
}

void sl__search_progress(const struct sl__search *s, double share)
{
	if (s->params->progress && omp_get_thread_num() == 0)
		s->params->progress(s->params->arg, share);
}
