/* Plans are kept in a list with the time of their last use. A plan with users is never dropped, so the cache may
 * exceed its limit while all its plans are in use. */
#include "core/engine/plan_cache.h"

#include <stdlib.h>

/* Drops plans until `more` bytes fit the budget, or all remaining plans have users. */
static void make_room(struct sl_plan_cache *c, uint64_t more)
{
	while (c->bytes + more > c->budget) {
		struct sl_cached **oldest = NULL;
		for (struct sl_cached **at = &c->first; *at; at = &(*at)->next)
			if (!(*at)->users && (!oldest || (*at)->last_use < (*oldest)->last_use))
				oldest = at;
		if (!oldest)
			return;
		struct sl_cached *plan = *oldest;
		*oldest = plan->next;
		c->bytes -= plan->bytes;
		c->evictions++;
		c->destroy(c, plan);
	}
}

static void use(struct sl_plan_cache *c, struct sl_cached *plan)
{
	plan->users++;
	plan->uses++;
	plan->last_use = ++c->clock;
}

struct sl_cached *sl_plan_cache_find(struct sl_plan_cache *c, const struct sl_grid *grid)
{
	struct sl_cached *plan = c->first;
	while (plan && !sl_grid_equal(&plan->grid, grid))
		plan = plan->next;
	if (!plan) {
		c->misses++;
		return NULL;
	}
	c->hits++;
	use(c, plan);
	return plan;
}

void sl_plan_cache_add(struct sl_plan_cache *c, struct sl_cached *plan)
{
	make_room(c, plan->bytes);
	c->bytes += plan->bytes;
	plan->next = c->first;
	c->first = plan;
	use(c, plan);
}

void sl_plan_cache_give(struct sl_plan_cache *c, struct sl_cached *plan)
{
	plan->users--;
	make_room(c, 0);
}

void sl_plan_cache_clear(struct sl_plan_cache *c)
{
	uint64_t budget = c->budget;
	c->budget = 0;
	make_room(c, 0);
	c->budget = budget;
}

void sl_plan_cache_info(const struct sl_plan_cache *c, struct sl_device_info *out)
{
	out->plan_bytes = c->bytes;
	out->plan_budget = c->budget;
	out->plan_hits = c->hits;
	out->plan_misses = c->misses;
	out->plan_evictions = c->evictions;
	out->plans = 0;
	for (const struct sl_cached *plan = c->first; plan; plan = plan->next)
		out->plans++;
}

static int by_last_use(const void *a, const void *b)
{
	const struct sl_cached *x = *(const struct sl_cached *const *)a, *y = *(const struct sl_cached *const *)b;
	return x->last_use < y->last_use ? 1 : -1;
}

int sl_plan_cache_list(const struct sl_plan_cache *c, struct sl_plan_info *out, int max)
{
	int count = 0;
	for (const struct sl_cached *plan = c->first; plan; plan = plan->next)
		count++;
	const struct sl_cached **all = malloc(sizeof(struct sl_cached *) * (size_t)(count + 1));
	if (!all)
		return 0;
	count = 0;
	for (const struct sl_cached *plan = c->first; plan; plan = plan->next)
		all[count++] = plan;
	qsort(all, (size_t)count, sizeof(struct sl_cached *), by_last_use);
	for (int i = 0; i < count && i < max; i++)
		out[i] = (struct sl_plan_info){
			.dims = all[i]->grid.dims, .side = all[i]->grid.side, .h = all[i]->grid.h,
			.window = all[i]->grid.window, .bytes = all[i]->bytes, .uses = all[i]->uses,
		};
	free(all);
	return count;
}
