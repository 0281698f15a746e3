/* Searches all pairs of rows of bytes. The processor's instruction for bytes (tile_bytes.c) makes this several times as
 * fast as with floats.
 *
 * A panel is [words][SL__LANES] of four bytes each, followed by a row of |y|^2 - 256 sum y. A group of queries is
 * [words][SL__GROUP] of x - 128, followed by |x|^2. Keys are the squared distances as integers. Lists store them as
 * floats with the same bits, which have the same order. */
#include <stdlib.h>
#include <string.h>

#include "core/neighbours/search.h"
#include "core/points/points.h"

#define MOST_COLUMNS 8192  /* keys stay below 2^30 */

struct bytes {
	const struct sl__search *s;
	uint32_t words, panels;
	int32_t *panel;      /* [panels][words + 1][SL__LANES] */
	uint32_t *number;    /* [panels * SL__LANES] */
};

#if defined(__x86_64__)
void sl__scan_bytes_vnni(uint32_t words, const int32_t *query, const int32_t *panel, uint32_t panels,
			 const uint32_t *number, struct sl__nearest *list);
#endif

bool sl__search_knows_bytes(const struct sl_points *p, int metric)
{
#if defined(__x86_64__)
	__builtin_cpu_init();
	return p->type == SL_POINTS_U8 && metric == SL_EUCLIDEAN && p->d <= MOST_COLUMNS &&
	       __builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512bw") &&
	       __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
#else
	return false;
#endif
}

static void pack_panel(const struct bytes *f, uint32_t panel)
{
	const struct sl_points *p = f->s->points;
	int32_t *to = f->panel + (size_t)panel * (f->words + 1) * SL__LANES, *last = to + (size_t)f->words * SL__LANES;
	memset(to, 0, (size_t)f->words * SL__LANES * sizeof *to);
	for (uint32_t lane = 0; lane < SL__LANES; lane++) {
		uint64_t row = (uint64_t)panel * SL__LANES + lane;
		f->number[row] = row < p->n ? (uint32_t)row : SL_NO_NEIGHBOUR;
		last[lane] = 0;
		if (row >= p->n)
			continue;
		const uint8_t *from = (const uint8_t *)p->value + row * p->d;
		int32_t square = 0, sum = 0;
		for (uint32_t k = 0; k < p->d; k++) {
			((uint8_t *)(to + (size_t)(k / 4) * SL__LANES + lane))[k % 4] = from[k];
			square += from[k] * from[k];
			sum += from[k];
		}
		last[lane] = square - 256 * sum;
	}
}

/* Gathers rows first .. first + count - 1, count <= SL__GROUP, and fills up the group with the first one. */
static void gather(const struct bytes *f, uint32_t first, uint32_t count, int32_t *query)
{
	const struct sl_points *p = f->s->points;
	memset(query, 0, (size_t)(f->words + 1) * SL__GROUP * sizeof *query);
	for (uint32_t q = 0; q < SL__GROUP; q++) {
		const uint8_t *from = (const uint8_t *)p->value + (size_t)(first + (q < count ? q : 0)) * p->d;
		int32_t square = 0;
		for (uint32_t k = 0; k < p->d; k++) {
			((int8_t *)(query + (size_t)(k / 4) * SL__GROUP + q))[k % 4] = (int8_t)(from[k] - 128);
			square += from[k] * from[k];
		}
		query[(size_t)f->words * SL__GROUP + q] = square;
	}
}

static void search_task(const struct bytes *f, struct sl__task *t, int32_t *query, uint32_t first,
			struct sl_neighbours *nb)
{
	const struct sl__search *s = f->s;
	uint32_t count = s->n - first < SL__TASK ? s->n - first : SL__TASK, groups = (count + SL__GROUP - 1) / SL__GROUP;
	size_t group = (size_t)(f->words + 1) * SL__GROUP, panel_values = (size_t)(f->words + 1) * SL__LANES;
	uint32_t turn = 256 / f->words + 1;
	for (uint32_t g = 0; g < groups; g++)
		gather(f, first + g * SL__GROUP, count - g * SL__GROUP, query + g * group);
	for (uint32_t q = 0; q < groups * SL__GROUP; q++)
		sl__nearest_start(&t->list[q], q < count ? s->k + 1 : 0);
#if defined(__x86_64__)
	for (uint32_t panel = 0; panel < f->panels && !sl__search_cancelled(s); panel += turn)
		for (uint32_t g = 0; g < groups; g++)
			sl__scan_bytes_vnni(f->words, query + g * group, f->panel + panel * panel_values,
					    f->panels - panel < turn ? f->panels - panel : turn,
					    f->number + (size_t)panel * SL__LANES, t->list + g * SL__GROUP);
#endif
	for (uint32_t q = 0; q < count; q++)
		sl__search_emit(s, first + q, &t->list[q], nb);
}

static int search_all(const struct bytes *f, struct sl_neighbours *nb)
{
	const struct sl__search *s = f->s;
	uint32_t tasks = (uint32_t)(((uint64_t)s->n + SL__TASK - 1) / SL__TASK), done = 0;
	int failed = 0;
#pragma omp parallel reduction(| : failed)
	{
		struct sl__task *t = malloc(sizeof *t);
		int32_t *query = malloc((size_t)SL__TASK_GROUPS * (f->words + 1) * SL__GROUP * sizeof *query);
		failed = !t || sl__task_init(t, s, s->k + 1) || !query;
#pragma omp for schedule(static)
		for (uint32_t panel = 0; panel < f->panels; panel++)
			pack_panel(f, panel);
#pragma omp for schedule(dynamic, 1)
		for (uint32_t task = 0; task < tasks; task++) {
			if (failed || sl__search_cancelled(s))
				continue;
			search_task(f, t, query, task * SL__TASK, nb);
			uint32_t now = __atomic_add_fetch(&done, 1, __ATOMIC_RELAXED);
			sl__search_progress(s, (double)now / tasks);
		}
		if (t)
			sl__task_finish(t);
		free(t);
		free(query);
	}
	return failed ? SL_NOMEM : sl__search_cancelled(s) ? SL_CANCELLED : 0;
}

int sl__search_bytes(struct sl__search *s, struct sl_neighbours *nb)
{
	struct bytes f = {.s = s, .words = (s->d + 3) / 4};
	f.panels = (uint32_t)(((uint64_t)s->n + SL__LANES - 1) / SL__LANES);
	f.panel = aligned_alloc(64, (size_t)f.panels * (f.words + 1) * SL__LANES * sizeof *f.panel);
	f.number = malloc((size_t)f.panels * SL__LANES * sizeof *f.number);
	s->whole = true;
	int rc = f.panel && f.number ? search_all(&f, nb) : SL_NOMEM;
	free(f.panel);
	free(f.number);
	return rc;
}
