/* Searches all pairs. A task compares 192 queries with all points: the coordinates and lists of the queries stay in the
 * L2 cache while the points are read. The result of a task does not depend on the thread. */
#include <stdlib.h>

#include "core/neighbours/search.h"

static void search_task(const struct sl__search *s, struct sl__task *t, uint32_t first, struct sl_neighbours *nb)
{
	uint32_t slot[SL__TASK] = {0}, count = s->n - first < SL__TASK ? s->n - first : SL__TASK;
	for (uint32_t q = 0; q < count; q++)
		slot[q] = first + q;
	/* one more, since the search finds the point itself, too */
	sl__task_exact(s, t, slot, count, s->k + 1);
	for (uint32_t q = 0; q < count; q++)
		sl__search_emit(s, s->number[first + q], &t->list[q], nb);
}

int sl__search_all_pairs(struct sl__search *s, struct sl_neighbours *nb)
{
	uint32_t tasks = (uint32_t)(((uint64_t)s->n + SL__TASK - 1) / SL__TASK), done = 0;
	int rc = sl__search_pack(s, NULL, s->n), failed = 0;
	if (rc)
		return rc;
#pragma omp parallel reduction(| : failed)
	{
		struct sl__task *t = malloc(sizeof *t);
		failed = !t || sl__task_init(t, s, s->k + 1);
#pragma omp for schedule(dynamic, 1)
		for (uint32_t task = 0; task < tasks; task++) {
			if (failed || sl__search_cancelled(s))
				continue;
			search_task(s, t, task * SL__TASK, nb);
			uint32_t now = __atomic_add_fetch(&done, 1, __ATOMIC_RELAXED);
			sl__search_progress(s, (double)now / tasks);
		}
		if (t)
			sl__task_finish(t);
		free(t);
	}
	return failed ? SL_NOMEM : sl__search_cancelled(s) ? SL_CANCELLED : 0;
}
