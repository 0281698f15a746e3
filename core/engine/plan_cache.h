/* plan_cache.h -- the cache of an engine's plans.
 *
 * A plan holds the transforms and the spectrum of one grid. Later iterations and other jobs use it again. Each engine
 * has its own type of plan, which begins with a struct sl_cached; counting users and dropping the least recently used
 * plan is the same for all. The cache belongs to the thread of its device. */
#ifndef SL_PLAN_CACHE_H
#define SL_PLAN_CACHE_H

#include "core/engine/engine.h"
#include "core/grid/grid.h"

struct sl_cached {
	struct sl_cached *next;
	struct sl_grid grid;
	int users;               /* embeddings that hold it */
	uint64_t bytes;          /* the engine sets it before sl_plan_cache_add() */
	uint64_t uses, last_use; /* last_use: clock of the cache */
};

struct sl_plan_cache {
	struct sl_cached *first;
	uint64_t bytes, budget, clock;
	uint64_t hits, misses, evictions;
	void (*destroy)(struct sl_plan_cache *cache, struct sl_cached *plan);  /* frees a plan that has left the list */
};

/* The plan of a grid, with one more user; NULL: there is none, which counts as a miss. */
struct sl_cached *sl_plan_cache_find(struct sl_plan_cache *c, const struct sl_grid *grid);
/* Takes a new plan, with one user. If the budget is exceeded, drops the least recently used plans without users. */
void sl_plan_cache_add(struct sl_plan_cache *c, struct sl_cached *plan);
/* Ends one use of the plan. */
void sl_plan_cache_give(struct sl_plan_cache *c, struct sl_cached *plan);
/* Drops all plans without users. */
void sl_plan_cache_clear(struct sl_plan_cache *c);

/* Fills the fields of *out that describe plans. */
void sl_plan_cache_info(const struct sl_plan_cache *c, struct sl_device_info *out);
/* See struct sl_engine, plans. */
int sl_plan_cache_list(const struct sl_plan_cache *c, struct sl_plan_info *out, int max);

#endif
