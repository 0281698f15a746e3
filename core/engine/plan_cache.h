/* plan_cache.h -- which plans an engine keeps, and which it drops.
 *
 * A plan (transforms and spectrum of one grid) is worth more than the iteration that asks for it: later iterations,
 * jobs and users find it here. Engines differ in what a plan is; what is counted, and which one goes when the budget is
 * spent, is the same for all. A plan begins with a struct sl_cached. Belongs to the thread of its device. */
#ifndef SL_PLAN_CACHE_H
#define SL_PLAN_CACHE_H

#include "core/engine/engine.h"
#include "core/grid/grid.h"

struct sl_cached {
	struct sl_cached *next;
	struct sl_grid grid;
	int users;               /* embeddings that hold it */
	uint64_t bytes;          /* the engine's to set before sl_plan_cache_add() */
	uint64_t uses, last_use;
};

struct sl_plan_cache {
	struct sl_cached *first;
	uint64_t bytes, budget, clock;
	uint64_t hits, misses, evictions;
	void (*destroy)(struct sl_plan_cache *cache, struct sl_cached *plan);  /* frees it; it is out of the list */
};

/* The plan of a grid with one user more; NULL: there is none, which counts as a miss. */
struct sl_cached *sl_plan_cache_find(struct sl_plan_cache *c, const struct sl_grid *grid);
/* Takes a new plan, with one user. The least recently used ones without users make room. */
void sl_plan_cache_add(struct sl_plan_cache *c, struct sl_cached *plan);
/* One user less. */
void sl_plan_cache_give(struct sl_plan_cache *c, struct sl_cached *plan);
/* Drops all without users. */
void sl_plan_cache_clear(struct sl_plan_cache *c);

/* The fields about plans. */
void sl_plan_cache_info(const struct sl_plan_cache *c, struct sl_device_info *out);
/* See struct sl_engine, plans. */
int sl_plan_cache_list(const struct sl_plan_cache *c, struct sl_plan_info *out, int max);

#endif
