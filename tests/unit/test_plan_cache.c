/* The cache keeps plans in use, and of the others the most recently used ones, within the budget. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core/engine/plan_cache.h"

static int destroyed;

static void destroy(struct sl_plan_cache *c, struct sl_cached *plan)
{
	assert_int_equal(plan->users, 0);
	destroyed++;
	free(plan);
}

static struct sl_grid grid(int side) { return (struct sl_grid){.dims = 2, .side = side, .window = 6, .h = 0.5}; }

/* Finds or makes a plan, as an engine does. */
static struct sl_cached *take(struct sl_plan_cache *c, int side, uint64_t bytes)
{
	struct sl_grid g = grid(side);
	struct sl_cached *plan = sl_plan_cache_find(c, &g);
	if (!plan) {
		plan = calloc(1, sizeof *plan);
		plan->grid = g;
		plan->bytes = bytes;
		sl_plan_cache_add(c, plan);
	}
	return plan;
}

static bool there(struct sl_plan_cache *c, int side)
{
	struct sl_grid g = grid(side);
	for (struct sl_cached *plan = c->first; plan; plan = plan->next)
		if (sl_grid_equal(&plan->grid, &g))
			return true;
	return false;
}

static void the_least_recently_used_goes_first(void **state)
{
	struct sl_plan_cache c = {.budget = 100, .destroy = destroy};
	destroyed = 0;
	for (int side = 1; side <= 4; side++)
		sl_plan_cache_give(&c, take(&c, side, 25));
	sl_plan_cache_give(&c, take(&c, 1, 25));  /* now 2 is the oldest */
	assert_true(c.hits == 1 && c.misses == 4 && c.bytes == 100);
	sl_plan_cache_give(&c, take(&c, 5, 25));
	assert_true(there(&c, 1) && !there(&c, 2) && there(&c, 3) && there(&c, 5));
	sl_plan_cache_give(&c, take(&c, 6, 60));  /* needs the room of three */
	assert_true(c.bytes <= 100 && there(&c, 6) && there(&c, 5) && !there(&c, 3) && !there(&c, 4) && !there(&c, 1));
	assert_true(c.evictions == 4 && destroyed == 4);
	struct sl_plan_info list[8];
	assert_int_equal(sl_plan_cache_list(&c, list, 8), 2);
	assert_true(list[0].side == 6 && list[1].side == 5);
	assert_int_equal(sl_plan_cache_list(&c, list, 1), 2);
	sl_plan_cache_clear(&c);
	assert_true(!c.first && !c.bytes && c.budget == 100);
}

static void plans_with_users_stay(void **state)
{
	struct sl_plan_cache c = {.budget = 50, .destroy = destroy};
	struct sl_device_info info = {.plan_bytes = 1};
	struct sl_cached *held = take(&c, 1, 40), *other = take(&c, 2, 40);
	assert_true(c.bytes == 80);  /* beyond the budget: both are in use */
	assert_ptr_equal(take(&c, 1, 40), held);
	sl_plan_cache_give(&c, held);
	assert_true(there(&c, 1) && held->users == 1 && held->uses == 2);
	sl_plan_cache_clear(&c);
	assert_true(there(&c, 1) && there(&c, 2));
	sl_plan_cache_give(&c, other);  /* plans beyond the budget are dropped as soon as they are unused */
	assert_true(there(&c, 1) && !there(&c, 2) && c.bytes == 40);
	sl_plan_cache_info(&c, &info);
	assert_true(info.plans == 1 && info.plan_bytes == 40 && info.plan_budget == 50 && info.plan_hits == 1 &&
		    info.plan_misses == 2 && info.plan_evictions == 1);
	sl_plan_cache_give(&c, held);
	sl_plan_cache_clear(&c);
	assert_null(c.first);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_least_recently_used_goes_first),
		cmocka_unit_test(plans_with_users_stay),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
