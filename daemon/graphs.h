/* graphs.h -- the graphs that the server keeps: on disk always, in memory while there is room.
 *
 * An uploaded file is read on the thread pool, checked, and written in a form of our own
 * (graph_file.h) under STATE_DIR/graphs/ID.slg: temporary file, fsync, rename, fsync of the
 * folder, then the record in the data base, then the reply. A record's state:
 *
 *   reading -> ready -> (deleted)      damaged: the file is missing or does not match
 *
 * Graphs are immutable, so a job borrows the loaded arrays for as long as it holds a
 * reference; those without a reference are dropped, least recently used first, beyond
 * graph_memory_bytes (pinned ones never). All functions: loop thread, except
 * that the struct sl_graph handed out may be read by any thread until it is released. */
#ifndef SL_GRAPHS_H
#define SL_GRAPHS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/error.h"
#include "core/graph/graph.h"
#include "daemon/ulid.h"

struct sl_daemon;
struct sl_graphs;

enum sl_graph_state { SL_GRAPH_READY, SL_GRAPH_DAMAGED };

/* One graph's record. Owned by the store; borrowed until the loop turns. */
struct sl_graph_record {
	char id[SL_ULID_BYTES];
	char *name;
	enum sl_graph_state state;
	uint32_t nodes;
	uint64_t entries;
	char digest[65];       /* BLAKE2b-256 of the graph's content, hex */
	uint64_t file_bytes;
	bool weighted, symmetric, named, pinned;
	uint32_t labels;       /* different labels, 0: none */
	int jobs;              /* jobs not finished yet that use it */
	bool loaded;           /* in host memory */
};

int sl_graphs_create(struct sl_graphs **out, struct sl_daemon *d, struct sl_error *err);
/* When no upload or load is under way any more; every reference must have been released. */
void sl_graphs_close(struct sl_graphs *s, void (*closed)(void *arg), void *arg);

/* NULL: none of that id. */
const struct sl_graph_record *sl_graphs_find(struct sl_graphs *s, const char *id);

/* Gives the graph in memory, loading it if need be: done runs on the loop, always later than this
 * call, with g (borrowed until sl_graphs_release) or with NULL and err. Returns an error at once,
 * without calling done, when there is no such graph or it is damaged. The graph cannot be deleted
 * while it is acquired. */
typedef void (*sl_graphs_done_fn)(void *arg, const struct sl_graph *g, const struct sl_error *err);
int sl_graphs_acquire(struct sl_graphs *s, const char *id, sl_graphs_done_fn done, void *arg, struct sl_error *err);
void sl_graphs_release(struct sl_graphs *s, const char *id);

/* A job that is not finished uses it (its record counts them): it cannot be deleted. */
void sl_graphs_use(struct sl_graphs *s, const char *id);
void sl_graphs_unuse(struct sl_graphs *s, const char *id);

/* fn runs when a graph is being deleted or unloaded, so that what was derived from it can be dropped. One
 * listener at most. */
void sl_graphs_on_delete(struct sl_graphs *s, void (*fn)(void *arg, const char *id), void *arg);

#endif
