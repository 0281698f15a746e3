/* Divides a graph into parts, numbers their nodes, and allocates memory for their terms. Edges come from sl_coupling;
 * the larger weight of the two directions counts. */
#include "core/sammon/terms.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#ifdef _OPENMP
#include <omp.h>
#else
static int omp_get_max_threads(void) { return 1; }
#endif

#include "core/graph/graph.h"
#include "core/signal/coupling.h"
#include "core/variants.h"

SL_PICK_VARIANT(struct sl__terms_kernels, sl__terms_kernels, sl__terms);

/* ---- lengths ------------------------------------------------------------------------------ */

static double length_of(double weight, int lengths)
{
	return lengths == SL_SAMMON_INVERSE ? 1 / weight : weight;
}

static int check_lengths(const struct sl_graph *g, int lengths, double *shortest, double *longest, struct sl_error *err)
{
	*shortest = g->m ? INFINITY : 1;
	*longest = g->m ? 0 : 1;
	if (lengths != SL_SAMMON_UNIT && g->report.zero_weights)
		return sl_error_field(err, SL_BADPARAM, "/lengths", "The graph has %llu edges of weight 0, which were dropped "
				      "when it was read. A length must be greater than 0, and so must be a weight whose inverse is "
				      "one. Use lengths unit, or other weights.",
				      (unsigned long long)g->report.zero_weights);
	for (uint64_t e = 0; e < g->m; e++) {
		double x = lengths == SL_SAMMON_UNIT || !g->weight ? 1 : length_of((double)g->weight[e], lengths);
		*shortest = fmin(*shortest, x);
		*longest = fmax(*longest, x);
	}
	if (!(*shortest > 0) || *longest > SL__TERMS_LENGTHS * *shortest)
		return sl_error_field(err, SL_BADPARAM, "/lengths", "The lengths of edges are from %g to %g. The longest may "
				      "be %g times as long as the shortest.", *shortest, *longest, SL__TERMS_LENGTHS);
	return 0;
}

/* ---- parts -------------------------------------------------------------------------------- */

/* Fills found[i] with the number of node i's part, in the order of first nodes; UINT32_MAX: the node has no edge.
 * Returns the number of parts. */
static uint32_t find_parts(const struct sl_coupling *c, uint32_t *found, uint32_t *queue)
{
	uint32_t parts = 0;
	memset(found, 0xff, c->n * sizeof *found);
	for (uint32_t i = 0; i < c->n; i++) {
		uint32_t from = 0, to = 0;
		if (found[i] != UINT32_MAX || c->start[i] == c->start[i + 1])
			continue;
		found[i] = parts;
		for (queue[to++] = i; from < to; from++)
			for (uint64_t e = c->start[queue[from]]; e < c->start[queue[from] + 1]; e++)
				if (found[c->node[e]] == UINT32_MAX) {
					found[c->node[e]] = parts;
					queue[to++] = c->node[e];
				}
		parts++;
	}
	return parts;
}

static int by_size(const void *a, const void *b)
{
	const struct sl__part *x = a, *y = b;
	if (x->n != y->n)
		return x->n < y->n ? 1 : -1;
	return x->first < y->first ? -1 : x->first > y->first;
}

/* Fills part[], sorted by size, and place[], the new number of each node. rank: [parts], scratch memory. */
static void sort_parts(struct sl__terms *t, const struct sl_coupling *c, const uint32_t *found, uint32_t *place,
		       uint32_t *rank)
{
	uint32_t at = 0;
	for (uint32_t k = 0; k < t->parts; k++)
		t->part[k] = (struct sl__part){.first = k};
	for (uint32_t i = 0; i < c->n; i++)
		if (found[i] != UINT32_MAX)
			t->part[found[i]].n++;
	qsort(t->part, t->parts, sizeof *t->part, by_size);
	for (uint32_t k = 0; k < t->parts; k++) {
		rank[t->part[k].first] = k;
		t->part[k].first = at;
		at += t->part[k].n;
	}
	t->n = at;
	for (uint32_t i = 0; i < c->n; i++)
		if (found[i] != UINT32_MAX)
			place[i] = t->part[rank[found[i]]].first++;
	for (uint32_t k = 0; k < t->parts; k++)
		t->part[k].first -= t->part[k].n;
}

/* Copies the rows in the new numbering. Nodes are visited in their new order, so neighbours ascend. */
static int take_rows(struct sl__terms *t, const struct sl_coupling *c, const uint32_t *place, uint32_t *old,
		     int lengths)
{
	uint64_t *at = malloc(((size_t)t->n + 1) * sizeof *at);
	bool weighted = lengths != SL_SAMMON_UNIT && c->weight;
	t->user = malloc(((size_t)t->n + 1) * sizeof *t->user);
	t->start = malloc(((size_t)t->n + 1) * sizeof *t->start);
	t->node = malloc((c->m + 1) * sizeof *t->node);
	t->length = weighted ? malloc((c->m + 1) * sizeof *t->length) : NULL;
	if (!at || !t->user || !t->start || !t->node || (weighted && !t->length)) {
		free(at);
		return SL_NOMEM;
	}
	for (uint32_t i = 0; i < c->n; i++)
		if (place[i] != UINT32_MAX)
			old[place[i]] = i;
	t->start[0] = 0;
	for (uint32_t i = 0; i < t->n; i++) {
		t->user[i] = c->user[old[i]];
		at[i] = t->start[i];
		t->start[i + 1] = t->start[i] + c->start[old[i] + 1] - c->start[old[i]];
	}
	for (uint32_t i = 0; i < t->n; i++)
		for (uint64_t e = c->start[old[i]]; e < c->start[old[i] + 1]; e++) {
			uint64_t to = at[place[c->node[e]]]++;
			t->node[to] = i;
			if (weighted)
				t->length[to] = (float)(length_of((double)c->weight[e], lengths) * t->scale);
		}
	free(at);
	return 0;
}

static int take_graph(struct sl__terms *t, const struct sl_coupling *c, int lengths)
{
	size_t n = (size_t)c->n + 1;
	uint32_t *found = malloc(n * sizeof *found), *place = malloc(n * sizeof *place), *room = malloc(n * sizeof *room);
	int code = found && place && room ? 0 : SL_NOMEM;
	if (!code) {
		t->parts = find_parts(c, found, room);
		t->part = calloc((size_t)t->parts + 1, sizeof *t->part);
		code = t->part ? 0 : SL_NOMEM;
	}
	if (!code) {
		memset(place, 0xff, n * sizeof *place);
		sort_parts(t, c, found, place, room);
		code = take_rows(t, c, place, room, lengths);
	}
	free(found);
	free(place);
	free(room);
	return code;
}

/* ---- pivots and blocks -------------------------------------------------------------------- */

static int cut(struct sl__terms *t, uint32_t max_pivots)
{
	uint64_t terms = 0, slices = 0;
	for (uint32_t k = 0; k < t->parts; k++) {
		struct sl__part *p = &t->part[k];
		p->all = p->n <= max_pivots;
		p->pivot = t->pivots;
		p->pivots = p->all ? p->n : max_pivots;
		p->at = terms;
		t->sparse += !p->all;
		t->pivots += p->pivots;
		terms += (uint64_t)p->pivots * p->n;
		slices += (p->n - 1) / SL__TERMS_BLOCK + 1;
	}
	t->pivot = malloc(((size_t)t->pivots + 1) * sizeof *t->pivot);
	t->distance = malloc((terms + 1) * sizeof *t->distance);
	t->weight = malloc((terms + 1) * sizeof *t->weight);
	t->slice = malloc((slices + 1) * sizeof *t->slice);
	return t->pivot && t->distance && t->weight && t->slice ? 0 : SL_NOMEM;
}

static int cut_blocks(struct sl__terms *t, int columns)
{
	uint64_t share = 0;
	for (uint32_t k = 0; k < t->parts; k++) {
		const struct sl__part *p = &t->part[k];
		for (uint32_t from = 0; from < p->n; from += SL__TERMS_BLOCK) {
			uint32_t n = p->n - from < SL__TERMS_BLOCK ? p->n - from : SL__TERMS_BLOCK;
			t->slice[t->slices++] = (struct sl__terms_slice){.part = k, .first = p->first + from, .n = n,
									 .share = share};
			share += p->all ? 0 : (uint64_t)p->pivots * (unsigned)columns;
		}
		for (uint32_t j = 0; j < p->pivots && p->all; j++)
			t->pivot[p->pivot + j] = p->first + j;
	}
	t->share = malloc((share + 1) * sizeof *t->share);
	t->sum = calloc((size_t)t->slices + 1, sizeof *t->sum);
	t->total = calloc((size_t)t->slices + 1, sizeof *t->total);
	return t->share && t->sum && t->total ? 0 : SL_NOMEM;
}

/* The most columns that a sweep adds up at pivots. */
static int columns_of(const struct sl_sammon_params *params)
{
	return params->dims + 1;
}

static double *numbers(uint64_t count)
{
	return calloc(count + 1, sizeof(double));
}

static int allocate(struct sl__terms *t, const struct sl_sammon_params *params)
{
	uint64_t n = t->n, dims = (uint64_t)params->dims, columns = (uint64_t)columns_of(params);
	uint64_t sparse = t->sparse ? t->part[t->sparse - 1].first + t->part[t->sparse - 1].n : 0;
	t->threads = omp_get_max_threads();
	t->search = calloc((size_t)t->threads, sizeof *t->search);
	t->near_distance = malloc((t->start[sparse] + 1) * sizeof *t->near_distance);
	t->near_weight = malloc((t->start[sparse] + 1) * sizeof *t->near_weight);
	t->closest = malloc((sparse + 1) * sizeof *t->closest);
	t->owner = malloc((sparse + 1) * sizeof *t->owner);
	t->in_pivot = numbers(4 * (uint64_t)t->pivots);
	t->out_pivot = numbers(columns * t->pivots);
	t->pivot_vector = numbers(4 * (uint64_t)t->pivots);
	t->node_vector = numbers(2 * (dims + 1) * n);
	t->mean_node = numbers(n);
	t->mean_pivot = numbers(t->pivots);
	t->mean_part = numbers(t->parts);
	t->move = numbers(dims * n);
	t->residual = numbers(dims * n);
	t->direction = numbers(dims * n);
	t->product = numbers(dims * n);
	t->square = numbers(dims * t->parts);
	t->target = numbers(dims * t->parts);
	return t->search && t->near_distance && t->near_weight && t->closest && t->owner && t->in_pivot && t->out_pivot &&
	       t->pivot_vector && t->node_vector && t->mean_node && t->mean_pivot && t->mean_part && t->move &&
	       t->residual && t->direction && t->product && t->square && t->target ? 0 : SL_NOMEM;
}

uint64_t sl_sammon_graph_bytes(const void *params, uint32_t n, uint32_t degree)
{
	const struct sl_sammon_params *p = params;
	uint64_t dims = (uint64_t)p->dims, columns = (uint64_t)columns_of(params);
	uint64_t pivots = sl_sammon_pivots(params, n);
	uint64_t terms = n * pivots, entries = (uint64_t)n * degree;
	uint64_t shares = pivots < n ? (n / SL__TERMS_BLOCK + 1) * pivots * columns * sizeof(double) : 0;
	return 8 * terms + shares + 24 * entries + n * (136 * dims + 190);
}

/* ---- life --------------------------------------------------------------------------------- */

static void set_unit(struct sl__terms *t)
{
	double sum = 0;
	t->unit = t->shortest = t->scale;
	if (t->length)
		t->shortest = INFINITY;
	for (uint64_t e = 0; t->length && e < t->start[t->n]; e++) {
		t->shortest = fmin(t->shortest, (double)t->length[e]);
		sum += (double)t->length[e];
	}
	if (t->length)
		t->unit = sum / (double)t->start[t->n];
}

int sl__terms_create(struct sl__terms **out, const struct sl_graph *g, const struct sl_sammon_params *params,
		     struct sl_error *err)
{
	struct sl_coupling *c = NULL;
	double shortest, longest;
	int exponent, code = check_lengths(g, params->lengths, &shortest, &longest, err);
	if (code)
		return code;
	struct sl__terms *t = calloc(1, sizeof *t);
	if (!t)
		return sl_error_memory(err, "a layout");
	frexp(longest, &exponent);
	t->scale = ldexp(1, -exponent);
	t->n_user = g->n;
	t->phase = SL__TERMS_PIVOTS;
	t->next = SL__TERMS_START;
	t->kernels = sl__terms_kernels();
	code = sl_coupling_of_graph(&c, g, err);
	if (!code)
		code = take_graph(t, c, params->lengths);
	sl_coupling_destroy(c);
	if (!code)
		code = cut(t, sl_sammon_pivots(params, g->n));
	if (!code)
		code = cut_blocks(t, columns_of(params));
	if (!code)
		code = allocate(t, params);
	if (code) {
		sl__terms_destroy(t);
		return sl_error_set(err, code, SL_NO_MEMORY "the distances of %u nodes; fewer pivots "
				    "take less.", g->n);
	}
	set_unit(t);
	*out = t;
	return 0;
}

int sl__terms_of_pivots(struct sl__terms **out, const struct sl__terms *of, const struct sl_sammon_params *params)
{
	struct sl__terms *t = *out = calloc(1, sizeof *t);
	if (!t)
		return SL_NOMEM;
	t->kernels = of->kernels;
	t->scale = of->scale;
	t->unit = of->unit;
	t->parts = of->sparse;
	t->part = calloc((size_t)t->parts + 1, sizeof *t->part);
	for (uint32_t k = 0; t->part && k < t->parts; k++) {
		t->part[k] = (struct sl__part){.first = t->n, .n = of->part[k].pivots};
		t->n += t->part[k].n;
	}
	t->start = calloc((size_t)t->n + 1, sizeof *t->start);
	int code = t->part && t->start ? cut(t, UINT32_MAX) : SL_NOMEM;
	if (!code)
		code = cut_blocks(t, columns_of(params));
	return code ? code : allocate(t, params);
}
