/* affinity_cache.h -- the cache of affinities, which jobs with the same graph and parameters share.
 *
 * There is an entry for each (graph, lambda, drop_leaf_edges) and each (points, perplexities), in one of these forms:
 *
 *   HOST     made on the thread pool from the graph or the neighbours, lent to devices
 *   DEVICE   made by each device from neighbours or a graph, to which the entry holds a reference while jobs use it;
 *            the affinities are not in host memory
 *   WORKER, WORKER_DEVICE
 *            the same, made in workers, of stored files. The entry has no content; its bytes are estimated
 *
 * The jobs that use an entry are counted. Unused entries stay until the cache exceeds its budget of bytes; then the
 * least recently used are dropped, after devices have given them back. A device is named by its number, 0 to
 * SL_DEVICES_MAX - 1. Loop thread. */
#ifndef SL_AFFINITY_CACHE_H
#define SL_AFFINITY_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/graph/affinities.h"
#include "core/params.h"

struct sl_graph;
struct sl_neighbours;
struct sl_affinity_cache;
struct sl_affinity;
struct sl_daemon;
struct sl_device_port;

int sl_affinity_cache_create(struct sl_affinity_cache **out, struct sl_daemon *d, uint64_t budget_bytes,
			     struct sl_error *err);
/* Sets the thread of a device that runs; NULL: it has stopped and given everything back. */
void sl_affinity_cache_set_device(struct sl_affinity_cache *c, int number, struct sl_device_port *device);
/* No entry may be in use or being made. NULL is fine. */
void sl_affinity_cache_destroy(struct sl_affinity_cache *c);
/* The number of entries that are being made. */
int sl_affinity_cache_busy(const struct sl_affinity_cache *c);

enum sl_affinity_form { SL_AFFINITY_HOST, SL_AFFINITY_DEVICE, SL_AFFINITY_WORKER, SL_AFFINITY_WORKER_DEVICE };

/* Takes a reference to the entry of (graph, wanted), and makes the entry if it does not exist. done runs with the
 * entry, or with err and no reference; it runs before this function returns if the entry is ready. If this function
 * returns an error, done never runs. `job` is the one to blame if
 * making the entry crashes the server (util/crashes.h). */
typedef void (*sl_affinity_done_fn)(void *arg, struct sl_affinity *entry, const struct sl_error *err);
int sl_affinity_acquire(struct sl_affinity_cache *c, const char *graph, const char *job,
			const struct sl_affinities_params *wanted, enum sl_affinity_form form,
			sl_affinity_done_fn done, void *arg, struct sl_error *err);
void sl_affinity_release(struct sl_affinity_cache *c, struct sl_affinity *entry);  /* NULL is fine */

/* The content of an entry that is ready, borrowed while the caller has a reference. _get() is NULL unless in form HOST.
 * _neighbours() or _edges(), of a graph: in form DEVICE, and in the forms of workers if it has no file yet; else
 * NULL. */
const struct sl_affinities *sl_affinity_get(const struct sl_affinity *entry);
const struct sl_neighbours *sl_affinity_neighbours(const struct sl_affinity *entry);
const struct sl_graph *sl_affinity_edges(const struct sl_affinity *entry);
uint64_t sl_affinity_neighbours_key(const struct sl_affinity *entry);
/* The same of so many neighbours of each point of a graph, whether there are any yet or not. */
uint64_t sl_affinity_neighbours_name(const char *graph, uint32_t k);
/* In the forms of workers: the file that they read; NULL: there is none yet, but _neighbours(). */
const char *sl_affinity_file(const struct sl_affinity *entry);
bool sl_affinity_of_points(const struct sl_affinity *entry);  /* false: of a graph */
const struct sl_affinities_params *sl_affinity_params(const struct sl_affinity *entry);

/* The key by which devices name the entry. */
uint64_t sl_affinity_key(const struct sl_affinity *entry);
/* Records that the entry is sent to a device with a job. */
void sl_affinity_lend(struct sl_affinity *entry, int number);
/* Handles SL_EVENT_GRAPH_DROPPED. */
void sl_affinity_returned(struct sl_affinity_cache *c, int number, uint64_t key, uint64_t adds);
/* True if the affinities for these parameters are in host memory. */
bool sl_affinity_ready(const struct sl_affinity_cache *c, const char *graph,
		       const struct sl_affinities_params *wanted);
/* True if the affinities for these parameters are on that device. */
bool sl_affinity_resident(const struct sl_affinity_cache *c, int number, const char *graph,
			  const struct sl_affinities_params *wanted);

/* The graph was deleted: drops its entries as soon as no job uses them. */
void sl_affinity_cache_forget(struct sl_affinity_cache *c, const char *graph);
/* The graph was pinned or unpinned: its affinities stay on the devices, or may be dropped. */
void sl_affinity_cache_pin(struct sl_affinity_cache *c, const char *graph, bool pinned);

#endif
