/* graphs.h -- the store of graphs: all are on disk, and those in use are in memory.
 *
 * The store has one collection of three kinds of input: graphs; points, whose neighbours the server searches; and
 * neighbours that the user has searched. All three are called graphs here, because jobs treat them alike.
 *
 * The thread pool reads and checks an uploaded file, and writes it in the server's format (graph_file.h, points_file.h,
 * neighbours_file.h) to STATE_DIR/graphs/: temporary file, fsync, rename, fsync of the folder, then the record in the
 * data base, then the reply. The state of a record:
 *
 *   reading -> ready -> (deleted)      damaged: the file is missing or does not match
 *
 * The neighbours of points are searched as soon as the points have been read (search.c), and stored in a separate file.
 * A search that was interrupted is repeated at the next start.
 *
 * Loaded arrays are immutable, so a job borrows them as long as it holds a reference. If all loaded graphs exceed
 * graph_memory_bytes, those without references are dropped, least recently used first; pinned ones are never dropped.
 * All functions: loop thread. Any thread may read the arrays until they are released. */
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

struct sl_device_pass;
struct sl_device_search;
struct sl_engine;
struct sl_points;
struct sl_search_request;

struct sl_daemon;
struct sl_graphs;
struct sl_limit_hit;
struct sl_request;

enum sl_kind { SL_KIND_GRAPH, SL_KIND_POINTS, SL_KIND_NEIGHBOURS };
enum sl_graph_state { SL_GRAPH_READY, SL_GRAPH_DAMAGED };
enum sl_search_state { SL_SEARCH_NONE, SL_SEARCH_RUNNING, SL_SEARCH_READY, SL_SEARCH_FAILED };

/* The record of one graph. The store owns it; callers borrow it until they return to the loop. */
struct sl_graph_record {
	char id[SL_ULID_BYTES];
	char *name;
	enum sl_kind kind;
	enum sl_graph_state state;
	uint32_t nodes;        /* rows of its layouts */
	uint64_t entries;      /* of the matrix; points: number of known neighbours of all rows */
	char digest[65];       /* BLAKE2b-256 of the content, hex */
	uint64_t file_bytes;
	bool weighted, symmetric;  /* kind graph */
	bool named, pinned;
	uint32_t labels;       /* different labels, 0: none */
	char label_title[64];  /* title of the column of labels */
	int jobs;              /* number of unfinished jobs that use it */
	/* for points, and for given neighbours (which have no columns): */
	uint32_t points;       /* usable rows: not dropped for a NaN */
	uint32_t columns;
	const char *coarse;    /* why metrics that compare values with 0 refuse the points; NULL: they do not */
	bool centered;         /* a center was subtracted from these columns (core/points/points.h) */
	enum sl_search_state search;  /* NONE: kind graph, or points uploaded with neighbours=0 until a job wants some */
	uint32_t k;            /* known neighbours of each point; 0: none yet */
	uint32_t wanted;       /* neighbours of each point that are known or being searched */
};

/* A part of a graph in memory: the arrays of its kind, or its neighbours. */
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
/* Closes the store after uploads and loads in progress have ended; all references must have been released. */
void sl_graphs_close(struct sl_graphs *s, void (*closed)(void *arg), void *arg);

/* True if all records could be read at the start. */
bool sl_graphs_complete(const struct sl_graphs *s);

/* The record of this id; NULL: none. */
const struct sl_graph_record *sl_graphs_find(struct sl_graphs *s, const char *id);

/* The graph of this id, of this name, or with an id that begins with this text (6 characters or more). NULL with
 * SL_NOTFOUND: none, or SL_CONFLICT: several. */
const struct sl_graph_record *sl_graphs_resolve(struct sl_graphs *s, const char *text, struct sl_error *err);

/* Takes a reference to a part, and loads the part if it is not in memory. done runs on the loop, always after this
 * function has returned, with a reference to c, or with NULL and err. This function returns an error, and done does not
 * run, if the graph does not exist or is damaged, or if its neighbours are not known yet. For kind graph both parts are
 * the same. */
typedef void (*sl_graphs_done_fn)(void *arg, struct sl_content *c, const struct sl_error *err);
int sl_graphs_acquire(struct sl_graphs *s, const char *id, enum sl_content_part part, sl_graphs_done_fn done, void *arg,
		      struct sl_error *err);
void sl_graphs_release(struct sl_graphs *s, struct sl_content *c);  /* NULL is fine */

/* The file of a part, malloc'd, for workers, which read it themselves. *path NULL: it has no file yet, so it must be
 * acquired. Returns the same errors. */
int sl_graphs_file(struct sl_graphs *s, const char *id, enum sl_content_part part, char **path, struct sl_error *err);

/* A worker has found that the file of a part is damaged: neighbours are searched again, other graphs are marked as
 * damaged. */
void sl_graphs_damaged(struct sl_graphs *s, const char *id, enum sl_content_part part, const struct sl_error *err);

/* Counts the unfinished jobs that use the graph; while there are any, the graph cannot be deleted. */
void sl_graphs_use(struct sl_graphs *s, const char *id);
void sl_graphs_unuse(struct sl_graphs *s, const char *id);

/* fn runs when a graph is deleted or unloaded, so that data derived from it can be dropped. At most one listener. */
void sl_graphs_on_delete(struct sl_graphs *s, void (*fn)(void *arg, const char *id), void *arg);

/* ---- neighbours (search.c) ----------------------------------------------- */

/* Starts a search for k neighbours of each point (at most n - 1), unless so many are known or being searched. Returns
 * READY, RUNNING, or FAILED with err. A search that failed before is tried again. */
enum sl_search_state sl_graphs_want(struct sl_graphs *s, const char *id, uint32_t k, struct sl_error *err);
/* True if this machine has the memory for so many neighbours of each point. */
bool sl_graphs_search_fits(const struct sl_graph_record *g, uint32_t k);
/* Bytes on disk that a search of k neighbours of each point would add; 0: so many are known or being searched. */
uint64_t sl_graphs_search_bytes(const struct sl_graph_record *g, uint32_t k);
/* Why the last search failed; NULL: it did not fail, or the next one is running. */
const struct sl_error *sl_graphs_search_problem(struct sl_graphs *s, const char *id);
/* Tries again to store neighbours that could not be written. */
void sl_graphs_store_again(struct sl_graphs *s);
/* fn runs when a search of a graph has ended or failed. At most one listener. */
void sl_graphs_on_search(struct sl_graphs *s, void (*fn)(void *arg, const char *id), void *arg);

/* Where searches and principal axes are computed, apart from the pool of this process, which computes what this
 * leaves. */
struct sl_graphs_computers {
	/* Within this process, with option workers off: `gpus` GPUs of this engine, from `index` on. engine NULL: none. */
	const struct sl_engine *engine;
	int index, gpus;
	uint64_t memory_bytes;
	/* In other processes (daemon/engines/searches.c). Loop thread. search NULL: there are none. */
	void *arg;
	/* True if a device can search now, or will soon. */
	bool (*able)(void *arg);
	/* Begins a search; answered() is called once, later. NULL: no device can. */
	struct sl_device_search *(*search)(void *arg, const struct sl_search_request *r);
	/* Ends it: it is not wanted any more, or its neighbours are stored, so that workers need not keep them for jobs.
	 * answered() is not called after this. */
	void (*end)(struct sl_device_search *x);
	/* Begins a step of principal axes; p->done() is called once, later. */
	void (*pass)(void *arg, struct sl_device_pass *p);
};

struct sl_search_request {
	const char *id, *path;            /* of the graph, and of its stored points; borrowed for the call */
	const struct sl_points *points;   /* the same; borrowed until it is answered or ended */
	struct sl_neighbours_params params;  /* without cancel and progress */
	void (*progress)(void *to, double share);
	/* neighbours: with axes, the receiver's. Or NULL with err: the CPU is to search. */
	void (*answered)(void *to, struct sl_neighbours *neighbours, double seconds, const struct sl_error *err);
	void *to;
};

/* A step: its memory is borrowed until done(). */
struct sl_device_pass {
	enum { SL_PASS_OPEN, SL_PASS_MEAN, SL_PASS_COVARIANCE, SL_PASS_APPLY, SL_PASS_PROJECT, SL_PASS_CLOSE } what;
	const struct sl_points *points;   /* OPEN */
	void *session;                    /* OPEN: NULL, then malloc'd by the computer, for the following steps. CLOSE frees
					   * it, here or in whoever has no computer any more */
	const double *in, *mean;          /* APPLY: v; PROJECT: axes and mean */
	uint64_t in_bytes, mean_bytes;
	uint32_t width;                   /* columns of v, or axes */
	void *out;                        /* of exactly out_bytes */
	uint64_t out_bytes;
	double total;                     /* APPLY */
	void (*done)(struct sl_device_pass *p, const struct sl_error *err);  /* err NULL: out is filled */
};

/* Lets searches run from now on. NULL: no device computes any more, and searches begin only after the next start. */
void sl_graphs_compute_by(struct sl_graphs *s, const struct sl_graphs_computers *by);

/* Bytes on disk that count for a user or project (an id): files of graphs, and the result of `fn` for other files. */
uint64_t sl_graphs_disk_use(struct sl_graphs *s, const char *account);
/* True if `more` bytes exceed the account's limit of disk space; *hit describes the limit. */
bool sl_graphs_exceed(struct sl_graphs *s, const char *account, uint64_t more, struct sl_limit_hit *hit);
void sl_graphs_on_disk_use(struct sl_graphs *s, uint64_t (*fn)(void *arg, const char *account), void *arg);

int sl_graphs_count(const struct sl_graphs *s);
/* Bytes on disk that count for the graph's owner, with those that a search in progress will need. */
uint64_t sl_graph_booked(const struct sl_graph_record *g);
/* Calls each() for all records; each() must not change the collection. */
void sl_graphs_each(struct sl_graphs *s, void (*each)(void *arg, const struct sl_graph_record *g), void *arg);

/* ---- holds (change.c) ---------------------------------------------------------- */

/* Who needs a graph. A program that uploads a graph for an object of its own, and deletes it with that object, takes a
 * hold: a text of its choice. Equal content is stored once, so several objects may hold one graph. Who gives its hold
 * back does not delete what another one holds. A graph that was also uploaded without a hold is kept: only a request to
 * delete it, or max_state_bytes, removes it. Taking a hold twice, or giving it back twice, is the same as once, so that
 * requests can be repeated. A program that dies does not give back its holds: then the graph stays, as if it were
 * kept. */
#define SL_HOLD_BYTES 65   /* longest hold, with its end */
#define SL_HOLDS_MOST 1000 /* of one graph; with one more it is kept */

/* Checks a hold: 1 to 64 letters, digits, '-' and '_'. field: as in sl_error_field(). */
int sl_hold_check(const char *hold, const char *field, struct sl_error *err);
/* Takes a hold. done runs when it is recorded, with status 0 or an error code. */
int sl_graphs_hold(struct sl_graphs *s, const char *id, const char *hold,
		   void (*done)(void *arg, int status, const struct sl_error *err), void *arg, struct sl_error *err);
/* Gives a hold back. If it was the last one of a graph that is neither kept nor pinned, the graph is deleted; in_use:
 * it has jobs or a public link, so it is kept instead. done: as above. */
int sl_graphs_let_go(struct sl_graphs *s, const char *id, const char *hold, bool in_use,
		     void (*done)(void *arg, int status, const struct sl_error *err), void *arg, struct sl_error *err);

/* ---- requests of clients -------------------------------------------------------- */

/* The record as in replies; new reference. */
json_t *sl_graphs_json(struct sl_graphs *s, const char *id);
/* A page of the records that the sender of r may see, newest first: those after `cursor` (NULL: from the beginning)
 * with this name (NULL: any), at most limit. next: the cursor of the next page, or empty. New reference. */
json_t *sl_graphs_list(struct sl_graphs *s, const struct sl_request *r, const char *cursor, int limit, const char *name,
		       char next[SL_ULID_BYTES]);
/* Changes name and pinned (NULL, -1: no change); deletes; unloads. done runs when the change is recorded, with status 0
 * or an error code. */
int sl_graphs_change(struct sl_graphs *s, const char *id, const char *name, int pinned,
		     void (*done)(void *arg, int status, const struct sl_error *err), void *arg, struct sl_error *err);
int sl_graphs_delete(struct sl_graphs *s, const char *id,
		     void (*done)(void *arg, int status, const struct sl_error *err), void *arg, struct sl_error *err);
int sl_graphs_unload(struct sl_graphs *s, const char *id, struct sl_error *err);
/* Takes the beginning of a file from the request, and replies how the whole file would be read (preview.c). */
void sl_graphs_preview(struct sl_graphs *s, struct sl_request *r);
/* Takes the parts of the request and replies to it. */
void sl_graphs_upload(struct sl_graphs *s, struct sl_request *r);

/* What was taken of the graph's file, a copy that the caller destroys; NULL: it is not known. Loop thread. */
struct sl_taken *sl_graphs_taken(struct sl_graphs *s, const char *id);

/* Reads new points of a request, which are to be placed in a layout or given to a model, within the server's limits.
 * how: center, roles and columns (struct sl_input_options); the rest is set here. Pool thread. account: as for
 * sl_uploaded_open(). cancel: as in struct sl_read_options. */
struct sl_config;
struct sl_uploaded;
struct sl_account;
struct sl_input_options;
int sl_read_new_points(struct sl_points **out, const struct sl_uploaded *file, struct sl_account *account,
		       const struct sl_config *c, const struct sl_input_options *how, const int *cancel,
		       struct sl_error *err);

#endif
