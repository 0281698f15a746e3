/* affinity_cache.h -- affinities made once for all jobs that need the same.
 *
 * One entry for each (graph, lambda, drop_leaf_edges), or (points, perplexities), in one of two forms:
 *
 *   HOST     made on the thread pool from the graph store's graph or neighbours, lent to devices
 *   DEVICE   each device makes it itself, from neighbours that the entry holds while jobs refer to it; nothing of
 *            it is on the host
 *
 * Entries are counted by the jobs that use them. Unused entries stay until the cache exceeds its budget of
 * bytes; then the least recently used go first, after devices have given them back. Devices go by their numbers, 0 to
 * SL_DEVICES_MAX - 1. Loop thread. */
#ifndef SL_AFFINITY_CACHE_H
#define SL_AFFINITY_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/graph/affinities.h"
#include "core/params.h"

struct sl_neighbours;
struct sl_affinity_cache;
struct sl_affinity;
struct sl_daemon;
struct sl_device_thread;

int sl_affinity_cache_create(struct sl_affinity_cache **out, struct sl_daemon *d, uint64_t budget_bytes,
			     struct sl_error *err);
/* A device, once it runs; NULL when it has stopped (and given everything back). */
void sl_affinity_cache_set_device(struct sl_affinity_cache *c, int number, struct sl_device_thread *device);
/* Nothing is referred to or being made. NULL is fine. */
void sl_affinity_cache_destroy(struct sl_affinity_cache *c);
/* Entries being made now. */
int sl_affinity_cache_busy(const struct sl_affinity_cache *c);

enum sl_affinity_form { SL_AFFINITY_HOST, SL_AFFINITY_DEVICE };

/* Takes a reference on the entry of (graph, params), which is made if need be. done runs
 * (at once when it is there already) with the entry or with err; after an error the reference is gone. An error
 * returned at once: done never runs. Form DEVICE is for points and given neighbours only. */
typedef void (*sl_affinity_done_fn)(void *arg, struct sl_affinity *entry, const struct sl_error *err);
int sl_affinity_acquire(struct sl_affinity_cache *c, const char *graph, const struct sl_params *params,
			enum sl_affinity_form form, sl_affinity_done_fn done, void *arg, struct sl_error *err);
void sl_affinity_release(struct sl_affinity_cache *c, struct sl_affinity *entry);  /* NULL is fine */

/* Of an entry that is ready; borrowed while the reference lasts. The first is NULL in form DEVICE, the second in
 * form HOST. */
const struct sl_affinities *sl_affinity_get(const struct sl_affinity *entry);
const struct sl_neighbours *sl_affinity_neighbours(const struct sl_affinity *entry);
uint64_t sl_affinity_neighbours_key(const struct sl_affinity *entry);
const struct sl_affinities_params *sl_affinity_params(const struct sl_affinity *entry);

/* What devices know the entry by. lend: it is being sent to one with a job. */
uint64_t sl_affinity_key(const struct sl_affinity *entry);
void sl_affinity_lend(struct sl_affinity *entry, int number);
/* SL_EVENT_GRAPH_DROPPED. */
void sl_affinity_returned(struct sl_affinity_cache *c, int number, uint64_t key, uint64_t adds);
/* Is what these parameters need in memory, in form HOST? */
bool sl_affinity_ready(const struct sl_affinity_cache *c, const char *graph, const struct sl_params *params);
/* Is what these parameters need on that device? */
bool sl_affinity_resident(const struct sl_affinity_cache *c, int number, const char *graph,
			  const struct sl_params *params);

/* The graph was deleted: its entries go as soon as nobody uses them. */
void sl_affinity_cache_forget(struct sl_affinity_cache *c, const char *graph);
/* The graph was pinned, or is no longer: what there is of it on devices stays, or may go. */
void sl_affinity_cache_pin(struct sl_affinity_cache *c, const char *graph, bool pinned);

#endif
