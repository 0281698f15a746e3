/* The search by an inverted file. Points are sorted into cells around centroids (Lloyd's k-means on a sample), and each
 * query searches the cells with the nearest centroids. A sample of queries determines how many cells reach the
 * requested recall: their exact neighbours are searched, and the rank of each neighbour's cell in the query's list of
 * cells.
 *
 * The queries are the points themselves. Those of one cell are searched together, since they need nearly the same
 * cells, and tile.c compares twelve of them with a panel at a time. This is several times faster than searching query
 * by query. The same kernel computes distances to centroids, exact neighbours of the sample, and distances within
 * cells. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/neighbours/search.h"
#include "core/points/points.h"
#include "core/random.h"
#include "core/sort.h"

#define CELL 128             /* mean number of points of a cell, unless there would be too many cells */
#define PER_CELL 32          /* points of the sample per centroid */
#define ROUNDS 6             /* of k-means */
#define QUERIES 384          /* sample for the recall */
#define SEED 20081107

struct inverted {
	struct sl__search *s;
	uint32_t cells, panels;      /* centroids, and panels of them */
	float *centroid;             /* [panels][d][SL__LANES] */
	uint32_t *number;            /* [panels * SL__LANES] */
	uint32_t *cell;              /* [n] cell of each point, by row of the table; later by place in the search */
	uint32_t *first;             /* [cells + 1] first panel of each cell */
	uint32_t probes;
	double recall;
};

static void finish(struct inverted *f)
{
	free(f->centroid);
	free(f->number);
	free(f->cell);
	free(f->first);
}

/* The metric of the cells. Inner products do not form cells; Euclidean distances replace them. */
static int cell_metric(const struct sl__search *s)
{
	return s->params->metric == SL_INNER_PRODUCT ? SL_EUCLIDEAN : s->params->metric;
}

/* Finds the best k centroids for the task's queries (gathered by groups), in the task's lists. */
static void scan_centroids(const struct inverted *f, struct sl__task *t, uint32_t count, uint32_t k, int metric)
{
	const struct sl__search *s = f->s;
	uint32_t groups = (count + SL__GROUP - 1) / SL__GROUP;
	for (uint32_t q = 0; q < groups * SL__GROUP; q++)
		sl__nearest_start(&t->list[q], q < count ? k : 0);
	for (uint32_t g = 0; g < groups; g++)
		s->kernels->scan(metric, (float)s->params->p, s->d, t->query + (size_t)g * s->d * SL__GROUP, f->centroid,
				 f->panels, f->number, t->list + g * SL__GROUP);
}

static void gather_task(const struct sl__search *s, struct sl__task *t, const uint32_t *slot, uint32_t count)
{
	for (uint32_t q = 0; q < count; q += SL__GROUP)
		sl__search_gather_rows(s, slot + q, count - q, t->query + (size_t)q / SL__GROUP * s->d * SL__GROUP);
}

/* ---- cells ------------------------------------------------------------------------- */

/* Finds the nearest centroid of the points sample[count] (NULL: all points), into out[count]. */
static int assign(struct inverted *f, const uint32_t *sample, uint32_t count, uint32_t *out)
{
	const struct sl__search *s = f->s;
	uint32_t tasks = (uint32_t)(((uint64_t)count + SL__TASK - 1) / SL__TASK);
	int failed = 0;
#pragma omp parallel reduction(| : failed)
	{
		struct sl__task *t = malloc(sizeof *t);
		failed = !t || sl__task_init(t, s, 1);
#pragma omp for schedule(dynamic, 1)
		for (uint32_t task = 0; task < tasks; task++) {
			uint32_t slot[SL__TASK] = {0}, first = task * SL__TASK, queries = count - first;
			queries = queries < SL__TASK ? queries : SL__TASK;
			if (failed || sl__search_cancelled(s))
				continue;
			for (uint32_t q = 0; q < queries; q++)
				slot[q] = sample ? sample[first + q] : first + q;
			gather_task(s, t, slot, queries);
			scan_centroids(f, t, queries, 1, cell_metric(s));
			for (uint32_t q = 0; q < queries; q++)
				out[first + q] = sl__nearest_sort(&t->list[q]) ? sl__entry_number(t->list[q].entry[0]) : 0;
		}
		if (t)
			sl__task_finish(t);
		free(t);
	}
	return failed ? SL_NOMEM : sl__search_cancelled(s) ? SL_CANCELLED : 0;
}

static void set_centroid(struct inverted *f, uint32_t c, const double *x)
{
	float *to = f->centroid + (size_t)(c / SL__LANES) * f->s->d * SL__LANES + c % SL__LANES;
	for (uint32_t k = 0; k < f->s->d; k++)
		to[(size_t)k * SL__LANES] = (float)x[k];
}

/* Coordinate k of the point at a slot. */
static float *point_at(const struct sl__search *s, uint32_t slot)
{
	return s->panel + (size_t)(slot / SL__LANES) * s->d * SL__LANES + slot % SL__LANES;
}

static void copy_point(const struct sl__search *s, uint32_t slot, double *x)
{
	const float *from = point_at(s, slot);
	for (uint32_t k = 0; k < s->d; k++)
		x[k] = (double)from[(size_t)k * SL__LANES];
}

/* Moves the centroids to the means of their points, and that of an empty cell to a point of the sample. */
static int update(struct inverted *f, const uint32_t *sample, uint32_t count, const uint32_t *cell, int round)
{
	const struct sl__search *s = f->s;
	uint32_t *start = calloc((size_t)f->cells + 2, sizeof *start), *member = malloc((size_t)count * sizeof *member);
	int failed = !start || !member;
	for (uint32_t i = 0; !failed && i < count; i++)
		start[cell[i] + 2]++;
	for (uint32_t c = 0; !failed && c < f->cells; c++)
		start[c + 2] += start[c + 1];
	for (uint32_t i = 0; !failed && i < count; i++)
		member[start[cell[i] + 1]++] = sample[i];
#pragma omp parallel reduction(| : failed) if (!failed)
	{
		double *x = malloc(s->d * sizeof *x), *sum = malloc(s->d * sizeof *sum);
		failed |= !x || !sum;
#pragma omp for schedule(dynamic, 16)
		for (uint32_t c = 0; c < f->cells; c++) {
			if (failed)
				continue;
			uint32_t size = start[c + 1] - start[c];
			memset(sum, 0, s->d * sizeof *sum);
			for (uint32_t e = start[c]; e < start[c + 1]; e++) {
				copy_point(s, member[e], x);
				for (uint32_t k = 0; k < s->d; k++)
					sum[k] += x[k];
			}
			for (uint32_t k = 0; k < s->d; k++)
				sum[k] /= size;
			if (!size)
				copy_point(s, sample[sl_random_bits(SEED + (uint64_t)round, c) % count], sum);
			set_centroid(f, c, sum);
		}
		free(x);
		free(sum);
	}
	free(start);
	free(member);
	return failed ? SL_NOMEM : 0;
}

/* At this time the points are packed in the order of the table. */
static int make_centroids(struct inverted *f)
{
	const struct sl__search *s = f->s;
	uint64_t wanted = (uint64_t)f->cells * PER_CELL;
	uint32_t count = wanted < s->n ? (uint32_t)wanted : s->n;
	uint32_t *sample = malloc((size_t)count * sizeof *sample), *cell = malloc((size_t)count * sizeof *cell);
	double *x = malloc(s->d * sizeof *x);
	size_t values = (size_t)f->panels * s->d * SL__LANES;
	f->centroid = aligned_alloc(64, values * sizeof *f->centroid);
	f->number = malloc((size_t)f->panels * SL__LANES * sizeof *f->number);
	int rc = sample && cell && x && f->centroid && f->number ? 0 : SL_NOMEM;
	for (size_t i = 0; !rc && i < values; i++)
		f->centroid[i] = NAN;
	for (uint32_t c = 0; !rc && c < f->panels * SL__LANES; c++)
		f->number[c] = c < f->cells ? c : SL_NO_NEIGHBOUR;
	for (uint32_t i = 0; !rc && i < count; i++)
		sample[i] = (uint32_t)((uint64_t)i * s->n / count);
	/* initial centroids: a random point from each of equal parts of the sample */
	for (uint32_t c = 0; !rc && c < f->cells; c++) {
		uint64_t from = (uint64_t)c * count / f->cells, to = (uint64_t)(c + 1) * count / f->cells;
		copy_point(s, sample[from + (to > from ? sl_random_bits(SEED, c) % (to - from) : 0)], x);
		set_centroid(f, c, x);
	}
	for (int round = 0; !rc && round < ROUNDS; round++) {
		rc = assign(f, sample, count, cell);
		if (!rc)
			rc = update(f, sample, count, cell, round + 1);
		sl__search_progress(s, 0.1 * (round + 1) / ROUNDS);
	}
	free(sample);
	free(cell);
	free(x);
	return rc;
}

/* ---- recall ------------------------------------------------------------------------- */

/* Adds to found[rank] the neighbours of a query whose cell has this rank in the query's list of cells. */
static void rank_neighbours(const struct inverted *f, struct sl__nearest *cells, struct sl__nearest *neighbours,
			    uint32_t row, uint32_t *rank, uint64_t *found)
{
	const struct sl__search *s = f->s;
	uint32_t ranked = sl__nearest_sort(cells), listed = sl__nearest_sort(neighbours);
	for (uint32_t r = 0; r < ranked; r++)
		rank[sl__entry_number(cells->entry[r])] = r;
	for (uint32_t e = 0, used = 0; e < listed && used < s->k; e++) {
		uint32_t number = sl__entry_number(neighbours->entry[e]);
		if (number == row)
			continue;
		used++;
		found[rank[f->cell[number]]]++;
	}
}

static uint32_t slot_row(const struct sl__search *s, uint32_t slot) { return s->number[slot]; }

static int sample_ranks(struct inverted *f, uint64_t *found)
{
	const struct sl__search *s = f->s;
	uint32_t queries = s->n < QUERIES ? s->n : QUERIES, tasks = (queries + SL__TASK - 1) / SL__TASK;
	int failed = 0;
#pragma omp parallel reduction(| : failed)
	{
		struct sl__task *cells = calloc(1, sizeof *cells), *nearest = calloc(1, sizeof *nearest);
		uint32_t *rank = malloc((size_t)f->cells * sizeof *rank);
		failed = !cells || !nearest || !rank || sl__task_init(cells, s, f->cells) ||
			 sl__task_init(nearest, s, s->k + 1);
		/* small tasks, since there are few queries */
#pragma omp for schedule(dynamic, 1)
		for (uint32_t task = 0; task < tasks * (SL__TASK / 24); task++) {
			uint32_t slot[SL__TASK] = {0}, first = task * 24, count = 0;
			for (; count < 24 && first + count < queries; count++)
				slot[count] = (uint32_t)(((uint64_t)(first + count) * 2 + 1) * s->n / (2 * (uint64_t)queries));
			if (failed || !count || sl__search_cancelled(s))
				continue;
			sl__task_exact(s, nearest, slot, count, s->k + 1);
			gather_task(s, cells, slot, count);
			scan_centroids(f, cells, count, f->cells, s->params->metric);
			for (uint32_t q = 0; q < count; q++)
#pragma omp critical
				rank_neighbours(f, &cells->list[q], &nearest->list[q], slot_row(s, slot[q]), rank, found);
		}
		if (cells)
			sl__task_finish(cells);
		if (nearest)
			sl__task_finish(nearest);
		free(cells);
		free(nearest);
		free(rank);
	}
	return failed ? SL_NOMEM : sl__search_cancelled(s) ? SL_CANCELLED : 0;
}

/* The fewest cells that reach the requested recall. A fifth of the allowed misses is a reserve for sampling errors. */
static int choose_probes(struct inverted *f)
{
	double wanted = f->s->params->recall;
	wanted += 0.2 * (1 - wanted);
	uint64_t *found = calloc(f->cells, sizeof *found), all = 0, within = 0;
	int rc = found ? sample_ranks(f, found) : SL_NOMEM;
	for (uint32_t r = 0; !rc && r < f->cells; r++)
		all += found[r];
	f->probes = f->cells;
	f->recall = 1;
	for (uint32_t r = 0; !rc && r < f->cells; r++) {
		within += found[r];
		if ((double)within >= wanted * (double)all) {
			f->probes = r + 1;
			f->recall = (double)within / (double)all;
			break;
		}
	}
	free(found);
	return rc;
}

/* ---- search --------------------------------------------------------------------------- */

/* Packs the points by cell. Each cell begins with a new panel. */
static int pack_cells(struct inverted *f)
{
	struct sl__search *s = f->s;
	uint32_t *order = NULL, *at = NULL, panel = 0;
	int rc = SL_NOMEM;
	f->first = calloc((size_t)f->cells + 1, sizeof *f->first);
	at = calloc((size_t)f->cells + 1, sizeof *at);
	if (!f->first || !at)
		goto out;
	for (uint32_t i = 0; i < s->n; i++)
		at[f->cell[i]]++;
	for (uint32_t c = 0; c < f->cells; c++) {
		uint32_t panels = (at[c] + SL__LANES - 1) / SL__LANES;
		at[c] = panel * SL__LANES;
		f->first[c] = panel;
		panel += panels;
	}
	f->first[f->cells] = panel;
	order = malloc(((size_t)panel + 1) * SL__LANES * sizeof *order);
	if (!order)
		goto out;
	memset(order, 0xff, (size_t)panel * SL__LANES * sizeof *order);
	for (uint32_t i = 0; i < s->n; i++)
		order[at[f->cell[i]]++] = i;
	rc = sl__search_pack(s, order, panel * SL__LANES);
out:
	free(order);
	free(at);
	return rc;
}

/* A cell that a query searches, and the query's place in its task. */
static uint64_t probe_of(uint32_t cell, uint32_t query) { return (uint64_t)cell << 32 | query; }

/* Scratch memory of a thread. */
struct room {
	struct sl__task nearest, cells;
	uint64_t *probe;    /* [SL__TASK * probes] */
	float *query;       /* [d][SL__GROUP] */
	uint64_t unused[4 * SL__LANES];
};

static int room_init(struct room *r, const struct inverted *f)
{
	uint32_t most = f->probes > f->s->k + 1 ? f->probes : f->s->k + 1;  /* exact searches use the lists, too */
	memset(r, 0, sizeof *r);
	r->probe = malloc((size_t)SL__TASK * f->probes * sizeof *r->probe);
	r->query = aligned_alloc(64, (size_t)f->s->d * SL__GROUP * sizeof *r->query);
	return !r->probe || !r->query || sl__task_init(&r->nearest, f->s, f->s->k + 1) ||
	       sl__task_init(&r->cells, f->s, most);
}

static void room_finish(struct room *r)
{
	sl__task_finish(&r->nearest);
	sl__task_finish(&r->cells);
	free(r->probe);
	free(r->query);
}

/* Searches a cell for up to SL__GROUP queries of the task. */
static void search_cell(const struct inverted *f, struct room *r, uint32_t cell, const uint32_t *slot,
			const uint64_t *probe, uint32_t count)
{
	const struct sl__search *s = f->s;
	struct sl__nearest list[SL__GROUP];
	uint32_t at[SL__GROUP], panel = f->first[cell];
	for (uint32_t q = 0; q < SL__GROUP; q++) {
		uint32_t query = (uint32_t)probe[q < count ? q : 0];
		at[q] = slot[query];
		list[q] = r->nearest.list[query];
		if (q >= count)
			list[q] = (struct sl__nearest){.bound = -INFINITY, .entry = r->unused, .capacity = 4 * SL__LANES};
	}
	sl__search_gather_rows(s, at, SL__GROUP, r->query);
	s->kernels->scan(s->params->metric, (float)s->params->p, s->d, r->query,
			 s->panel + (size_t)panel * s->d * SL__LANES,
			 f->first[cell + 1] - panel, s->number + (size_t)panel * SL__LANES, list);
	for (uint32_t q = 0; q < count; q++)
		r->nearest.list[(uint32_t)probe[q]] = list[q];
}

static void search_task(const struct inverted *f, struct room *r, const uint32_t *slot, uint32_t count,
			struct sl_neighbours *nb)
{
	const struct sl__search *s = f->s;
	uint64_t probes = 0;
	gather_task(s, &r->cells, slot, count);
	scan_centroids(f, &r->cells, count, f->probes, s->params->metric);
	for (uint32_t q = 0; q < count; q++) {
		struct sl__nearest *cells = &r->cells.list[q];
		sl__nearest_shrink(cells);
		for (uint32_t e = 0; e < cells->count; e++)
			r->probe[probes++] = probe_of(sl__entry_number(cells->entry[e]), q);
		sl__nearest_start(&r->nearest.list[q], s->k + 1);
	}
	sl_sort(r->probe, (uint32_t)probes);
	for (uint64_t p = 0, next; p < probes; p = next) {
		uint32_t cell = (uint32_t)(r->probe[p] >> 32);
		for (next = p + 1; next < probes && next < p + SL__GROUP && r->probe[next] >> 32 == cell;)
			next++;
		search_cell(f, r, cell, slot, r->probe + p, (uint32_t)(next - p));
	}
	/* the cells may contain too few points */
	for (uint32_t q = 0; q < count; q++) {
		if (r->nearest.list[q].count < s->k + 1) {
			sl__task_exact(s, &r->cells, slot + q, 1, s->k + 1);
			sl__search_emit(s, s->number[slot[q]], &r->cells.list[0], nb);
		} else {
			sl__search_emit(s, s->number[slot[q]], &r->nearest.list[q], nb);
		}
	}
}

/* Lists the queries of a task: up to SL__TASK consecutive places, without empty ones. */
static uint32_t task_slots(const struct sl__search *s, uint64_t first, uint32_t *slot)
{
	uint32_t count = 0;
	for (uint64_t at = first; at < first + SL__TASK && at < (uint64_t)s->panels * SL__LANES; at++)
		if (s->number[at] != SL_NO_NEIGHBOUR)
			slot[count++] = (uint32_t)at;
	return count;
}

static int search_all(const struct inverted *f, struct sl_neighbours *nb)
{
	const struct sl__search *s = f->s;
	uint64_t slots = (uint64_t)s->panels * SL__LANES;
	uint32_t tasks = (uint32_t)((slots + SL__TASK - 1) / SL__TASK), done = 0;
	int failed = 0;
#pragma omp parallel reduction(| : failed)
	{
		struct room *r = malloc(sizeof *r);
		failed = !r || room_init(r, f);
#pragma omp for schedule(dynamic, 1)
		for (uint32_t task = 0; task < tasks; task++) {
			uint32_t slot[SL__TASK] = {0};
			if (failed || sl__search_cancelled(s))
				continue;
			uint32_t count = task_slots(s, (uint64_t)task * SL__TASK, slot);
			if (count)
				search_task(f, r, slot, count, nb);
			uint32_t now = __atomic_add_fetch(&done, 1, __ATOMIC_RELAXED);
			sl__search_progress(s, 0.15 + 0.85 * now / tasks);
		}
		if (r)
			room_finish(r);
		free(r);
	}
	return failed ? SL_NOMEM : sl__search_cancelled(s) ? SL_CANCELLED : 0;
}

int sl__search_inverted(struct sl__search *s, struct sl_neighbours *nb, bool *pays)
{
	struct inverted f = {.s = s};
	uint64_t cells = s->n / CELL, most = (uint64_t)(4 * sqrt(s->n));
	f.cells = (uint32_t)(cells < most ? cells : most);
	f.panels = (f.cells + SL__LANES - 1) / SL__LANES;
	*pays = false;
	if (f.cells < 16)
		return 0;
	f.cell = malloc((size_t)s->points->n * sizeof *f.cell);
	uint32_t *by_place = malloc((size_t)s->n * sizeof *by_place);
	int rc = f.cell && by_place ? sl__search_pack(s, NULL, s->n) : SL_NOMEM;
	if (!rc)
		rc = make_centroids(&f);
	if (!rc)
		rc = assign(&f, NULL, s->n, by_place);
	for (uint32_t i = 0; !rc && i < s->n; i++)
		f.cell[slot_row(s, i)] = by_place[i];
	if (!rc)
		rc = choose_probes(&f);
	/* searching more than a quarter of the cells takes as long as all pairs, since few queries share distant cells */
	if (!rc && f.probes <= f.cells / 4) {
		uint32_t *by_row = f.cell;
		f.cell = by_place;
		by_place = by_row;
		rc = pack_cells(&f);
		if (!rc)
			rc = search_all(&f, nb);
		nb->recall = f.recall;
		*pays = true;
	}
	free(by_place);
	finish(&f);
	return rc;
}
