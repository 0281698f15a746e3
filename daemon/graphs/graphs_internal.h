/* graphs_internal.h -- the graph store's records, and the callbacks that wait for them. */
#ifndef SL_GRAPHS_INTERNAL_H
#define SL_GRAPHS_INTERNAL_H

#include <uv.h>

#include "core/formats/read.h"
#include "daemon/config/daemon.h"
#include "daemon/graphs/graphs.h"
#include "daemon/graphs/upload_line.h"
#include "daemon/files/graph_file.h"
#include "daemon/files/neighbours_file.h"
#include "daemon/files/points_file.h"
#include "daemon/util/list.h"
#include "daemon/util/metrics.h"
#include "daemon/util/pool.h"

struct sl_engine;

_Static_assert(SL_GRAPH_DIGEST_BYTES == SL_DIGEST_BYTES, "all kinds are told apart by digests of one length");

/* A caller of sl_graphs_acquire() that waits for its part. */
struct sl__waiter {
	struct sl_link link;
	struct sl__graph *graph;
	struct sl_content *content;  /* a reference for it, or NULL */
	sl_graphs_done_fn done;
	void *arg;
	struct sl_error err;
};

struct sl__loaded {
	struct sl_content *content;  /* a reference, or NULL */
	bool loading;
	struct sl_list waiters;      /* struct sl__waiter, while loading */
};

struct sl__finder;
struct sl__passes;

#define SL__OWN_LABELS "label"   /* name of the labels that came with an upload that does not name them */

struct sl__graph {
	struct sl_graph_record record;
	int64_t version;             /* rises with each change (util/ulid.h); not stored */
	unsigned char digest[SL_DIGEST_BYTES];
	char format[16];
	json_t *columns;             /* summaries of the columns in its .sll file, an array; NULL: no columns */
	uint64_t column_bytes;       /* size of its .sll file */
	json_t *labels_taken;        /* what was taken of the text of labels of the upload, or NULL */
	struct sl_graph_report report;
	struct sl__loaded part[SL_PARTS];  /* kind graph: DATA only */
	uint64_t used;               /* tick of the last use */
	int changing;                /* number of changes that are being recorded */
	json_t *holds;               /* array of texts (graphs.h); NULL: none */
	bool kept;                   /* uploaded without a hold */
	const char *next_name;       /* with next_pinned: of a change that is being recorded; NULL: there is none */
	bool next_pinned;
	int waiting;                 /* number of loads in progress and of waiters without an answer */
	/* points */
	int type;                    /* enum sl_points_type */
	struct sl_points_report points_report;
	uint32_t merged;             /* of struct sl_points */
	json_t *center;              /* of the points, as in the API; NULL: none */
	uint32_t pca;                /* number of principal axes on which it was projected; 0: not projected */
	uint32_t pca_columns;        /* columns before the projection; 0: the axes were not stored */
	double pca_kept;             /* share of the variance that the axes keep */
	struct sl_neighbours_params wanted;  /* metric, p, recall and k of the upload */
	struct sl_neighbours_summary found;
	uint64_t found_bytes;        /* size of the neighbours' file; 0: not stored */
	struct sl__finder *search;   /* a search that is queued, running or being stored; or NULL */
	struct sl_error problem;     /* of the last search, code 0: none */
	struct sl_taken *taken;      /* what was taken of the file; NULL: of no file */
};

struct sl__upload;

struct sl_graphs {
	struct sl_daemon *d;
	char *folder;                /* STATE_DIR/graphs */
	struct sl__graph **graph;    /* by id, ascending */
	int count, room;
	bool complete;               /* all records were read at the start */
	uint64_t tick;
	struct sl_list uploads;      /* struct sl__upload: in progress or in line */
	struct sl_upload_line line;
	struct sl_list ready;        /* struct sl__waiter: get their answer in the next turn of the loop */
	uv_async_t deliver;
	int active;                  /* number of work items in the pool and the data base */
	int cancel;                  /* changes of columns end, because the server stops; read by the pool */
	bool closing;
	void (*idle)(struct sl_graphs *s);  /* called when it closes and has no work */
	void (*closed)(void *arg);
	void *closed_arg;
	void (*on_delete)(void *arg, const char *id);
	void *on_delete_arg;
	uint64_t (*on_disk_use)(void *arg, const char *account);
	void *on_disk_use_arg;
	/* searches */
	struct sl_list searches;     /* struct sl__finder, in the order of the requests */
	struct sl_graphs_computers by;
	bool searching;              /* sl_graphs_compute_by() was called */
	struct sl__passes *passes;   /* project.c: principal axes on devices of other processes */
	void (*on_search)(void *arg, const char *id);
	void *on_search_arg;
	struct sl_metric *m_graphs, *m_resident, *m_bytes, *m_uploads, *m_loads, *m_searches, *m_search_seconds,
			 *m_search_times, *m_reading, *m_waiting;
};

/* record.c */
const char *sl__kind_name(enum sl_kind kind);
json_t *sl__graph_json(const struct sl_graphs *s, const struct sl__graph *g, bool for_reply);
/* The same with the neighbours that are being searched or are not stored yet. */
uint64_t sl__graph_disk_booked(const struct sl__graph *g);
struct sl__graph *sl__graph_from_json(const char *id, const json_t *document);
void sl__graph_free(struct sl__graph *g);  /* releases what it holds in memory */
/* Fills in what is of the file that was read, not of its content: `taken` and the report. One of graph, points; coarse:
 * of struct sl_graph_record, or NULL. */
void sl__graph_of_file(struct sl__graph *g, const struct sl_graph *graph, const struct sl_points *points,
		       const char *coarse);
/* The reply to an upload of known content: the record of g, with what is of the file, which `file` has. */
json_t *sl__graph_json_of_file(const struct sl_graphs *s, const struct sl__graph *g, const struct sl__graph *file);
/* Fills the record from the content. */
void sl__graph_describe(struct sl__graph *g, const struct sl_content *from, const char *coarse);
/* Fills the record from the summary of the stored neighbours. */
void sl__graph_found(struct sl__graph *g, const struct sl_neighbours_summary *found);

/* change.c. Takes a hold, or with NULL keeps the graph. Returns 1 if that changed the record, 0, or SL_NOMEM. */
int sl__graph_hold(struct sl__graph *g, const char *hold);
/* change.c. Writes the record with its holds. If the function returns an error, done never runs. */
int sl__graph_put(struct sl_graphs *s, struct sl__graph *g,
		  void (*done)(void *arg, int status, const struct sl_error *err), void *arg);

/* columns.c */
/* At the start: reads the descriptions of the graph's columns of labels. A damaged file is logged and counts as
 * empty. */
void sl__graph_read_columns(const struct sl_graphs *s, struct sl__graph *g);
/* All columns of labels, as in replies: new reference. */
json_t *sl__graph_columns(const struct sl__graph *g);
/* The same of a list of all columns. own_name: the upload's column, unless it was replaced or hidden; labels: their
 * number in it. */
json_t *sl__columns_shown(const char *own_name, uint32_t labels, uint32_t nodes, const json_t *all);
/* Marks the column that colours pictures. main_title: title of the upload's main labels, if they are listed. */
void sl__columns_mark(json_t *list, const char *main_title, uint32_t nodes);

/* table.c */
struct sl__graph *sl__graphs_find(struct sl_graphs *s, const char *id);
/* A graph of the same content and with the same title of its labels ("": no labels) that the user owns already (user
 * "": an administrator by token_file). Graphs of other users are never returned: an owner may change, delete and share
 * a graph, and uploading an equal file must not make anybody an owner. */
struct sl__graph *sl__graphs_find_twin(struct sl_graphs *s, const unsigned char digest[SL_DIGEST_BYTES],
				       const char *label_title, const char *user);
int sl__graphs_insert(struct sl_graphs *s, struct sl__graph *g);
void sl__graphs_take_out(struct sl_graphs *s, struct sl__graph *g);
/* STATE_DIR/graphs/ID.slg, .slp or .sln; malloc'd */
char *sl__graphs_path(const struct sl_graphs *s, const char *id, const char *ending);
/* The same path with .tmp appended, for a file that is not complete or has no record yet; malloc'd */
char *sl__graphs_temporary(const struct sl_graphs *s, const char *id, const char *ending);
const char *sl__graphs_ending(enum sl_kind kind, enum sl_content_part part);
/* Publishes to the event streams that a record has changed or was deleted. */
void sl__graph_changed(struct sl_graphs *s, const char *id);
int sl__graphs_not_found(const char *id, struct sl_error *err);
extern const struct sl_event_source sl__graphs_event_source;

/* work.c: count the work items in the pool and the data base; the store is freed after the last one. */
void sl__graphs_work_begin(struct sl_graphs *s);
void sl__graphs_work_end(struct sl_graphs *s);  /* s may be freed by it */

/* memory.c */
void sl__graphs_evict(struct sl_graphs *s);
void sl__graphs_on_deliver(uv_async_t *async);

/* content.c. Makes a content of one reference, and takes the arguments, each of which may be NULL. Returns NULL, and
 * takes nothing, without memory. */
struct sl_content *sl__content_take(struct sl_graph *graph, struct sl_points *points,
				    struct sl_neighbours *neighbours);
struct sl_content *sl__content_ref(struct sl_content *c);
void sl__content_unref(struct sl_content *c);  /* NULL is fine */

/* upload.c */
void sl__uploads_cancel(struct sl_graphs *s);
/* Bytes of uploads of this account that are being stored and have no record yet. */
uint64_t sl__uploads_bytes(const struct sl_graphs *s, const char *account);

/* project.c: sl_points_pca() on a device, if one can, else on the pool's thread that calls it. _open: SL_NOMEM; _close:
 * `closed` runs when the memory is free. */
int sl__passes_open(struct sl_graphs *s);
void sl__passes_close(struct sl__passes *x, void (*closed)(void *arg), void *arg);
int sl__project(struct sl__passes *x, const struct sl_graphs_computers *by, struct sl_points **out,
		const struct sl_points *p, uint32_t to, double *kept, const int *cancel, struct sl_error *err);

/* search.c */
/* At the start: finds the neighbours of a loaded record in their file, or starts a new search. */
int sl__finder_resume(struct sl_graphs *s, struct sl__graph *g);
/* Starts or enlarges a search. A record that is not in the store yet must hold the points. */
int sl__finder_begin(struct sl_graphs *s, struct sl__graph *g, uint32_t k);
/* The stored neighbours cannot be read: searches them again. */
void sl__finder_lost(struct sl_graphs *s, struct sl__graph *g);
/* The record of a new upload is on disk: neighbours that were found meanwhile may be stored now. */
void sl__finder_recorded(struct sl_graphs *s, struct sl__graph *g);
/* The record is being deleted: abandons its search. */
void sl__finder_forget(struct sl_graphs *s, struct sl__graph *g);
double sl__finder_progress(const struct sl__graph *g);  /* 0 .. 1 */
void sl__finders_cancel(struct sl_graphs *s);

#endif
