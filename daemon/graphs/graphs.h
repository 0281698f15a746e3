/* graphs.h -- the store of graphs: always on disk, and in memory while there is room.
 *
 * One collection with three kinds of things in it: graphs; points, whose neighbours the server searches; and
 * neighbours that were searched elsewhere. All three are called graphs here, because jobs treat them alike.
 *
 * An uploaded file is read on the thread pool, checked, and written in a form of our own (graph_file.h,
 * points_file.h, neighbours_file.h) under STATE_DIR/graphs/: temporary file, fsync, rename, fsync of the
 * folder, then the record in the data base, then the reply. A record's state:
 *
 *   reading -> ready -> (deleted)      damaged: the file is missing or does not match
 *
 * The neighbours of points are searched as soon as they have been read (search.c), and kept in a file of
 * their own; a search that was cut off is done again at the next start.
 *
 * What is in memory is immutable, so a job borrows the loaded arrays for as long as it holds a
 * reference; those without a reference are dropped, least recently used first, beyond
 * graph_memory_bytes (pinned ones never). All functions: loop thread, except
 * that the arrays handed out may be read by any thread until they are released. */
#ifndef SL_GRAPHS_H
#define SL_GRAPHS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/account.h"
#include "core/error.h"
#include "core/graph/graph.h"
#include "core/neighbours/neighbours.h"
#include "daemon/util/ulid.h"

struct sl_engine;
struct sl_points;

struct sl_daemon;
struct sl_graphs;
struct sl_request;

enum sl_kind { SL_KIND_GRAPH, SL_KIND_POINTS, SL_KIND_NEIGHBOURS };
enum sl_graph_state { SL_GRAPH_READY, SL_GRAPH_DAMAGED };
enum sl_search_state { SL_SEARCH_NONE, SL_SEARCH_RUNNING, SL_SEARCH_READY, SL_SEARCH_FAILED };

/* One graph's record. Owned by the store; borrowed until the loop turns. */
struct sl_graph_record {
	char id[SL_ULID_BYTES];
	char *name;
	enum sl_kind kind;
	enum sl_graph_state state;
	uint32_t nodes;        /* rows of its layouts */
	uint64_t entries;      /* of the matrix; of points: neighbours that are there, of all rows */
	char digest[65];       /* BLAKE2b-256 of the content, hex */
	uint64_t file_bytes;
	bool weighted, symmetric;  /* kind graph */
	bool named, pinned;
	uint32_t labels;       /* different labels, 0: none */
	char label_title[64];  /* of their column */
	int jobs;              /* jobs not finished yet that use it */
	/* points, and neighbours given (which have no columns) */
	uint32_t points;       /* rows that are laid out: not dropped for a NaN */
	uint32_t columns;
	enum sl_search_state search;  /* NONE: kind graph */
	uint32_t k;            /* neighbours a point that are there; 0: none yet */
	uint32_t wanted;       /* ... that are there or being searched */
};

/* What is in memory of one: the arrays of its kind, or its neighbours. */
struct sl_content {
	struct sl_graph *graph;            /* kind graph, or NULL */
	struct sl_points *points;          /* the table (d = 0 with given neighbours), or NULL */
	struct sl_neighbours *neighbours;  /* or NULL */
	struct sl_graph nodes;             /* names and labels of the nodes, borrowed from graph or points; no edges */
	uint64_t bytes;
	int references;
};

enum sl_content_part { SL_PART_DATA, SL_PART_NEIGHBOURS, SL_PARTS };

int sl_graphs_create(struct sl_graphs **out, struct sl_daemon *d, struct sl_error *err);
/* When no upload or load is under way any more; every reference must have been released. */
void sl_graphs_close(struct sl_graphs *s, void (*closed)(void *arg), void *arg);

/* Could all records be read at the start? */
bool sl_graphs_complete(const struct sl_graphs *s);

/* NULL: none of that id. */
const struct sl_graph_record *sl_graphs_find(struct sl_graphs *s, const char *id);

/* The graph of this id, of this name, or with an id that begins so (6 characters or more). NULL with SL_NOTFOUND, or
 * SL_CONFLICT: there are several. */
const struct sl_graph_record *sl_graphs_resolve(struct sl_graphs *s, const char *text, struct sl_error *err);

/* Gives a part in memory, loading it if need be: done runs on the loop, always later than this
 * call, with a reference on c, or with NULL and err. Returns an error at once, without calling done, when there
 * is no such graph, it is damaged, or its neighbours are not there yet. For kind graph both parts are the same. */
typedef void (*sl_graphs_done_fn)(void *arg, struct sl_content *c, const struct sl_error *err);
int sl_graphs_acquire(struct sl_graphs *s, const char *id, enum sl_content_part part, sl_graphs_done_fn done, void *arg,
		      struct sl_error *err);
void sl_graphs_release(struct sl_graphs *s, struct sl_content *c);  /* NULL is fine */

/* A job that is not finished uses it (its record counts them): it cannot be deleted. */
void sl_graphs_use(struct sl_graphs *s, const char *id);
void sl_graphs_unuse(struct sl_graphs *s, const char *id);

/* fn runs when a graph is being deleted or unloaded, so that what was derived from it can be dropped. One
 * listener at most. */
void sl_graphs_on_delete(struct sl_graphs *s, void (*fn)(void *arg, const char *id), void *arg);

/* ---- neighbours (search.c) ----------------------------------------------- */

/* Searches k neighbours a point (n - 1 at most), unless so many are there or on their way: READY, RUNNING, or
 * FAILED with err. A search that failed before is tried again. */
enum sl_search_state sl_graphs_want(struct sl_graphs *s, const char *id, uint32_t k, struct sl_error *err);
/* Has this machine the memory for so many neighbours a point? */
bool sl_graphs_search_fits(const struct sl_graph_record *g, uint32_t k);
/* Why the last search of it failed; NULL: it did not, or the next one is under way. */
const struct sl_error *sl_graphs_search_problem(struct sl_graphs *s, const char *id);
/* Tries to write what was found and could not be written. */
void sl_graphs_store_again(struct sl_graphs *s);
/* fn runs when a search of a graph has ended, well or not. One listener at most. */
void sl_graphs_on_search(struct sl_graphs *s, void (*fn)(void *arg, const char *id), void *arg);
/* From now on searches run, on this engine if it can (else on the CPU), on its device `index`. */
void sl_graphs_search_on(struct sl_graphs *s, const struct sl_engine *engine, int index, uint64_t memory_bytes);

/* Disk that a user or project (an id) takes: files of the graphs that count for it, and what `fn` says of the rest. */
uint64_t sl_graphs_disk_use(struct sl_graphs *s, const char *account);
void sl_graphs_on_disk_use(struct sl_graphs *s, uint64_t (*fn)(void *arg, const char *account), void *arg);

/* Memory and disk of the budget of uploads, for something else that a client has sent. */
struct sl_account sl_graphs_account(struct sl_graphs *s);

int sl_graphs_count(const struct sl_graphs *s);
/* Calls each for all records; it must not change the collection. */
void sl_graphs_each(struct sl_graphs *s, void (*each)(void *arg, const struct sl_graph_record *g), void *arg);

/* ---- what clients ask for ------------------------------------------------------- */

/* The record as a reply has it (new reference); changes; removal. done gets status. */
json_t *sl_graphs_json(struct sl_graphs *s, const char *id);
/* Newest first, from after `cursor` (NULL: the beginning), up to limit, of this name (NULL: any).
 * *next: the cursor of the next page, or empty. New reference. */
json_t *sl_graphs_list(struct sl_graphs *s, const char *cursor, int limit, const char *name, char next[SL_ULID_BYTES]);
/* name NULL, pinned -1: as it is. */
int sl_graphs_change(struct sl_graphs *s, const char *id, const char *name, int pinned,
		     void (*done)(void *arg, int status, const struct sl_error *err), void *arg, struct sl_error *err);
int sl_graphs_delete(struct sl_graphs *s, const char *id,
		     void (*done)(void *arg, int status, const struct sl_error *err), void *arg, struct sl_error *err);
int sl_graphs_unload(struct sl_graphs *s, const char *id, struct sl_error *err);
/* Takes the beginning of a file and replies what the whole would be read as (preview.c). */
void sl_graphs_preview(struct sl_graphs *s, struct sl_request *r);
/* Takes the parts of the request and replies to it. */
void sl_graphs_upload(struct sl_graphs *s, struct sl_request *r);

/* Reads new points that a request asks a layout or a model about, within the server's limits. On a worker.
 * cancel: as in struct sl_read_options. */
struct sl_config;
struct sl_uploaded;
int sl_read_new_points(struct sl_points **out, const struct sl_uploaded *file, const struct sl_config *c,
		       const int *cancel, struct sl_error *err);

#endif
