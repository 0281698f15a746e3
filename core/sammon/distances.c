/* Lengths of shortest paths, by breadth-first search if all edges have the same length, else by Dijkstra's algorithm
 * (1959) with a binary heap. There are three phases: first the pivots of sparse parts, one after the other, since the
 * distances from the pivots so far decide on the next one (a search is divided into slices); then terms with
 * neighbours; then the rows of parts that have a term for each pair. */
#include <math.h>
#include <stdlib.h>

#ifdef _OPENMP
#include <omp.h>
#else
static int omp_get_thread_num(void) { return 0; }
static int omp_get_max_threads(void) { return 1; }
#endif

#include "core/random.h"
#include "core/sammon/terms.h"
#include "core/sort.h"

#define STEPS 4096      /* edges visited by a search in one unit of work */
#define NEAR_MOST 256   /* most nodes settled in the search for a path shorter than an edge */

struct sl__search {
	uint32_t first, n;      /* it visits nodes first .. first + n - 1 */
	double *dist;           /* [n] */
	uint32_t *heap;         /* [n] the heap, or the queue of breadth-first search */
	uint32_t *where;        /* [n] position in the heap, plus 1; 0: not reached yet; DONE */
	uint32_t from, to;      /* ends of the queue; for a heap: 0, its size */
	uint32_t *reached;      /* [n] nodes with a distance */
	uint32_t reached_count;
};
#define DONE UINT32_MAX

/* ---- a search ----------------------------------------------------------------------------- */

void sl__search_destroy(struct sl__search *s)
{
	if (!s)
		return;
	free(s->dist);
	free(s->heap);
	free(s->where);
	free(s->reached);
	free(s);
}

static struct sl__search *search_create(uint32_t n)
{
	struct sl__search *s = calloc(1, sizeof *s);
	if (!s)
		return NULL;
	s->dist = malloc(n * sizeof *s->dist);
	s->heap = malloc(n * sizeof *s->heap);
	s->where = calloc(n, sizeof *s->where);
	s->reached = malloc(n * sizeof *s->reached);
	if (s->dist && s->heap && s->where && s->reached)
		return s;
	sl__search_destroy(s);
	return NULL;
}

static void put(struct sl__search *s, uint32_t place, uint32_t node)
{
	s->heap[place] = node;
	s->where[node] = place + 1;
}

static void rise(struct sl__search *s, uint32_t place, uint32_t node)
{
	for (; place > 0; place = (place - 1) / 2) {
		uint32_t above = s->heap[(place - 1) / 2];
		if (s->dist[above] <= s->dist[node])
			break;
		put(s, place, above);
	}
	put(s, place, node);
}

static uint32_t pop(struct sl__search *s)
{
	uint32_t top = s->heap[0], last = s->heap[--s->to], place = 0;
	s->where[top] = DONE;
	if (!s->to)
		return top;
	for (;;) {
		uint32_t child = 2 * place + 1;
		if (child >= s->to)
			break;
		if (child + 1 < s->to && s->dist[s->heap[child + 1]] < s->dist[s->heap[child]])
			child++;
		if (s->dist[s->heap[child]] >= s->dist[last])
			break;
		put(s, place, s->heap[child]);
		place = child;
	}
	put(s, place, last);
	return top;
}

/* Begins a search from `node` among the nodes first .. first + n - 1. */
static void search_begin(struct sl__search *s, uint32_t first, uint32_t n, uint32_t node)
{
	for (uint32_t k = 0; k < s->reached_count; k++)
		s->where[s->reached[k]] = 0;
	s->first = first;
	s->n = n;
	s->from = 0;
	s->to = s->reached_count = 1;
	s->reached[0] = node - first;
	s->dist[node - first] = 0;
	put(s, 0, node - first);
}

static void reach(struct sl__search *s, uint32_t node, double dist, bool heap)
{
	if (!s->where[node]) {
		s->reached[s->reached_count++] = node;
		s->dist[node] = dist;
		if (heap)
			rise(s, s->to++, node);
		else
			put(s, s->to++, node);
	} else if (heap && s->where[node] != DONE && dist < s->dist[node]) {
		s->dist[node] = dist;
		rise(s, s->where[node] - 1, node);
	}
}

/* Settles the next node and updates its neighbours. Returns their number. */
static uint64_t settle(const struct sl__terms *t, struct sl__search *s)
{
	uint32_t node = t->length ? pop(s) : s->heap[s->from++];
	for (uint64_t e = t->start[s->first + node]; e < t->start[s->first + node + 1]; e++)
		reach(s, t->node[e] - s->first, s->dist[node] + (t->length ? (double)t->length[e] : t->unit),
		      t->length != NULL);
	return t->start[s->first + node + 1] - t->start[s->first + node];
}

/* True: the search has ended. */
static bool search_on(const struct sl__terms *t, struct sl__search *s, uint64_t steps)
{
	for (uint64_t done = 0; s->from < s->to && done < steps; )
		done += 1 + settle(t, s);
	return s->from == s->to;
}

/* The search of this thread. Parts come in order of decreasing size, so a search created for n nodes serves the
 * rest. */
static struct sl__search *own_search(struct sl__terms *t, uint32_t n)
{
	struct sl__search **s = &t->search[omp_get_thread_num()];
	if (!*s)
		*s = search_create(n);
	return *s;
}

static int threads_of(const struct sl__terms *t)
{
	return omp_get_max_threads() < t->threads ? omp_get_max_threads() : t->threads;
}

static void forget_searches(struct sl__terms *t)
{
	for (int k = 0; k < t->threads; k++) {
		sl__search_destroy(t->search[k]);
		t->search[k] = NULL;
	}
}

/* ---- weights ------------------------------------------------------------------------------ */

double sl__terms_weight(int stress, double distance)
{
	return stress == SL_SAMMON_METRIC ? 1 : stress == SL_SAMMON_SAMMON ? 1 / distance : 1 / (distance * distance);
}

/* Computes the weights of the terms with pivot j of a sparse part (terms.h). room: [p->n], scratch memory. */
static void weigh(struct sl__terms *t, const struct sl__part *p, uint32_t j, int stress, float *room)
{
	const float *distance = t->distance + p->at + (uint64_t)j * p->n;
	float *weight = t->weight + p->at + (uint64_t)j * p->n;
	uint32_t pivot = t->pivot[p->pivot + j], size = 0;
	for (uint32_t i = 0; i < p->n; i++)
		if (t->owner[p->first + i] == j)
			room[size++] = distance[i];
	qsort(room, size, sizeof *room, sl_by_float);
	for (uint32_t i = 0; i < p->n; i++) {
		uint32_t low = 0, high = size;  /* low becomes the number of nodes in the region within half the distance */
		while (low < high) {
			uint32_t middle = (low + high) / 2;
			if (2 * room[middle] <= distance[i])
				low = middle + 1;
			else
				high = middle;
		}
		weight[i] = distance[i] > 0 ? (float)(low * sl__terms_weight(stress, (double)distance[i])) : 0;
	}
	for (uint64_t e = t->start[pivot]; e < t->start[pivot + 1]; e++)  /* neighbours have terms of their own */
		weight[t->node[e] - p->first] = 0;
}

/* ---- pivots ------------------------------------------------------------------------------- */

/* Draws the next pivot, with a probability proportional to the squared distance to the nearest pivot so far. */
static uint32_t draw(const struct sl__terms *t, const struct sl__part *p, uint64_t seed)
{
	double sum = 0, at = 0, chance = sl_random_uniform(sl_random_bits(seed, t->at_part), t->at_pivot);
	uint32_t found = p->first;
	if (!t->at_pivot)
		return p->first + (uint32_t)(chance * p->n);
	for (uint32_t i = p->first; i < p->first + p->n; i++)
		sum += (double)t->closest[i] * (double)t->closest[i];
	for (uint32_t i = p->first; i < p->first + p->n && at <= chance * sum; i++)
		if (t->closest[i] > 0) {
			at += (double)t->closest[i] * (double)t->closest[i];
			found = i;
		}
	return found;
}

static void take_row(struct sl__terms *t, const struct sl__part *p, uint32_t j, const struct sl__search *s)
{
	float *distance = t->distance + p->at + (uint64_t)j * p->n;
	for (uint32_t i = 0; i < p->n; i++) {
		distance[i] = (float)s->dist[i];
		if (!j || distance[i] < t->closest[p->first + i]) {
			t->closest[p->first + i] = distance[i];
			t->owner[p->first + i] = j;
		}
	}
}

/* Does a unit of work for the next pivot. */
static int search_pivot(struct sl__terms *t, const struct sl_sammon_params *params)
{
	const struct sl__part *p = &t->part[t->at_part];
	struct sl__search *s = t->search[0] ? t->search[0] : (t->search[0] = search_create(p->n));
	if (!s)
		return SL_NOMEM;
	if (!t->searching) {
		uint32_t node = draw(t, p, params->seed);
		t->pivot[p->pivot + t->at_pivot] = node;
		search_begin(s, p->first, p->n, node);
		t->searching = true;
	}
	if (!search_on(t, s, STEPS))
		return 0;
	t->searching = false;
	take_row(t, p, t->at_pivot++, s);
	return 0;
}

/* Computes the weights of a part that has all of its pivots, for `count` pivots from t->at on. */
static int weigh_some(struct sl__terms *t, const struct sl_sammon_params *params, uint32_t count)
{
	const struct sl__part *p = &t->part[t->at_part];
	uint32_t to = p->pivots - t->at < count ? p->pivots : t->at + count;
	int failed = 0;
#pragma omp parallel reduction(| : failed)
	{
		float *room = malloc(p->n * sizeof *room);
		failed |= !room;
#pragma omp for schedule(dynamic)
		for (uint32_t j = t->at; j < to; j++)
			if (room)
				weigh(t, p, j, params->stress, room);
		free(room);
	}
	t->at = to;
	if (t->at == p->pivots) {
		t->at_part++;
		t->at_pivot = t->at = 0;
	}
	return failed ? SL_NOMEM : 0;
}

static bool find_pivots(struct sl__terms *t, const struct sl_sammon_params *params, uint32_t count, int *code)
{
	uint32_t done = 0;
	while (!*code && t->at_part < t->sparse && done < count)
		if (t->at_pivot < t->part[t->at_part].pivots) {
			*code = search_pivot(t, params);
			done++;
		} else {
			*code = weigh_some(t, params, count);
			done = count;
		}
	return t->at_part == t->sparse;
}

/* ---- neighbours --------------------------------------------------------------------------- */

/* Searches paths shorter than the edges of node i, settling at most NEAR_MOST nodes; an edge without a shorter path
 * keeps its length. */
static void search_near(struct sl__terms *t, struct sl__search *s, const struct sl__part *p, uint32_t i)
{
	double longest = 0;
	for (uint64_t e = t->start[i]; e < t->start[i + 1]; e++)
		longest = fmax(longest, (double)t->length[e]);
	search_begin(s, p->first, p->n, i);
	for (int k = 0; k < NEAR_MOST && s->to && s->dist[s->heap[0]] < longest; k++)
		settle(t, s);
	for (uint64_t e = t->start[i]; e < t->start[i + 1]; e++)
		t->near_distance[e] = (float)s->dist[t->node[e] - p->first];
}

/* The entry of node i in the row of node j. */
static uint64_t entry(const struct sl__terms *t, uint32_t j, uint32_t i)
{
	uint64_t low = t->start[j], high = t->start[j + 1];
	while (low < high) {
		uint64_t middle = (low + high) / 2;
		if (t->node[middle] < i)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Gives both directions of an edge the shorter of the two lengths found from its ends, and its weight. */
static void weigh_near(struct sl__terms *t, uint32_t n, int stress)
{
	for (uint32_t i = 0; i < n; i++)
		for (uint64_t e = t->start[i]; e < t->start[i + 1]; e++)
			if (i < t->node[e]) {
				uint64_t back = entry(t, t->node[e], i);
				t->near_distance[e] = t->near_distance[back] = fminf(t->near_distance[e], t->near_distance[back]);
				t->near_weight[e] = t->near_weight[back] = (float)sl__terms_weight(stress, (double)t->near_distance[e]);
			}
}

static int search_all_near(struct sl__terms *t, uint32_t to)
{
	int failed = 0, threads = threads_of(t);
#pragma omp parallel num_threads(threads) reduction(| : failed)
	{
		struct sl__search *s = own_search(t, t->part[0].n);
		uint32_t k = 0;
		failed |= !s;
#pragma omp for schedule(dynamic, 64)
		for (uint32_t i = t->at; i < to; i++) {
			k = i < t->part[k].first ? 0 : k;
			while (i >= t->part[k].first + t->part[k].n)
				k++;
			if (s)
				search_near(t, s, &t->part[k], i);
		}
	}
	return failed ? SL_NOMEM : 0;
}

static bool find_near(struct sl__terms *t, const struct sl_sammon_params *params, uint32_t count, int *code)
{
	uint32_t n = t->sparse ? t->part[t->sparse - 1].first + t->part[t->sparse - 1].n : 0;
	uint32_t to = t->length && n - t->at > count ? t->at + count : n;
	if (t->length && t->at < to)
		*code = search_all_near(t, to);
	for (uint64_t e = 0; !t->length && e < t->start[n]; e++)
		t->near_distance[e] = (float)t->unit;
	t->at = to;
	if (!*code && to == n)
		weigh_near(t, n, params->stress);
	return to == n;
}

/* ---- all pairs ---------------------------------------------------------------------------- */

static const struct sl__part *part_of_pivot(const struct sl__terms *t, uint32_t pivot)
{
	uint32_t low = t->sparse, high = t->parts;
	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;
		*(t->part[middle].pivot <= pivot ? &low : &high) = middle;
	}
	return &t->part[low];
}

static void make_row(struct sl__terms *t, struct sl__search *s, uint32_t pivot, int stress)
{
	const struct sl__part *p = part_of_pivot(t, pivot);
	float *distance = t->distance + p->at + (uint64_t)(pivot - p->pivot) * p->n;
	float *weight = t->weight + p->at + (uint64_t)(pivot - p->pivot) * p->n;
	search_begin(s, p->first, p->n, t->pivot[pivot]);
	search_on(t, s, UINT64_MAX);
	for (uint32_t i = 0; i < p->n; i++) {
		distance[i] = (float)s->dist[i];
		weight[i] = s->dist[i] > 0 ? (float)sl__terms_weight(stress, s->dist[i]) : 0;
	}
}

static bool make_rows(struct sl__terms *t, const struct sl_sammon_params *params, uint32_t count, int *code)
{
	uint32_t to = t->pivots - t->at < count ? t->pivots : t->at + count;
	int failed = 0, threads = to - t->at > 4 ? threads_of(t) : 1;
#pragma omp parallel num_threads(threads) reduction(| : failed)
	{
		struct sl__search *s = t->at < to ? own_search(t, t->part[t->sparse].n) : NULL;
		failed |= t->at < to && !s;
#pragma omp for schedule(dynamic)
		for (uint32_t k = t->at; k < to; k++)
			if (s)
				make_row(t, s, k, params->stress);
	}
	t->at = to;
	*code = failed ? SL_NOMEM : 0;
	return t->at == t->pivots;
}

bool sl__terms_measure(struct sl__terms *t, const struct sl_sammon_params *params, uint32_t count, int *code)
{
	bool over = t->phase == SL__TERMS_PIVOTS ? find_pivots(t, params, count, code) :
		    t->phase == SL__TERMS_NEAR ? find_near(t, params, count, code) : make_rows(t, params, count, code);
	if (!over || *code)
		return false;
	forget_searches(t);
	t->at = t->phase == SL__TERMS_NEAR && t->sparse < t->parts ? t->part[t->sparse].pivot :
		t->phase == SL__TERMS_NEAR ? t->pivots : 0;
	t->phase++;
	return true;
}
