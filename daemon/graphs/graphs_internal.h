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
#include "daemon/util/budget.h"
#include "daemon/util/list.h"
#include "daemon/util/metrics.h"
#include "daemon/util/pool.h"

struct sl_limit_hit;  /* daemon/users/limits.h */

struct sl_engine;

_Static_assert(SL_GRAPH_DIGEST_BYTES == SL_DIGEST_BYTES, "all kinds are told apart by digests of one length");

/* One that asked for a part of a graph. */
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

#define SL__OWN_LABELS "label"   /* name of the labels that came with an upload that does not name them */

struct sl__graph {
	struct sl_graph_record record;
	unsigned char digest[SL_DIGEST_BYTES];
	char format[16];
	json_t *columns;             /* summaries of the columns in its .sll, an array; NULL: it has none */
	uint64_t column_bytes;       /* of its .sll */
	struct sl_graph_report report;
	struct sl__loaded part[SL_PARTS];  /* kind graph: DATA only */
	uint64_t used;               /* tick of the last use */
	int changing;                /* changes that are being recorded */
	int waiting;                 /* loads under way and waiters not told yet */
	/* points */
	int type;                    /* enum sl_points_type */
	struct sl_points_report points_report;
	uint32_t pca;                /* dimensions it was projected on, 0: not at all */
	uint32_t pca_columns;        /* before; 0: the axes were not kept */
	double pca_kept;             /* share of the variance that is left */
	struct sl_neighbours_params wanted;  /* metric, p, recall and k as asked for at the upload */
	struct sl_neighbours_summary found;
	uint64_t found_bytes;        /* of its file, 0: not stored */
	struct sl__finder *search;   /* queued, under way or being stored; or NULL */
	struct sl_error problem;     /* of the last search, code 0: none */
};

struct sl__upload;

struct sl_graphs {
	struct sl_daemon *d;
	char *folder;                /* STATE_DIR/graphs */
	struct sl__graph **graph;    /* by id, ascending */
	int count, room;
	bool complete;               /* all records were read at the start */
	uint64_t tick;
	struct sl_list uploads;      /* struct sl__upload: under way or in line */
	struct sl_upload_line line;
	struct sl_budget budget;     /* of uploads that are read or stored */
	char *temporary_folder;      /* STATE_DIR/tmp */
	struct sl_list ready;        /* struct sl__waiter: told at the next turn of the loop */
	uv_async_t deliver;
	int active;                  /* pieces of work for the pool and the data base */
	bool closing;
	void (*closed)(void *arg);
	void *closed_arg;
	void (*on_delete)(void *arg, const char *id);
	void *on_delete_arg;
	uint64_t (*on_disk_use)(void *arg, const char *account);
	void *on_disk_use_arg;
	/* searches */
	struct sl_list searches;     /* struct sl__finder, in the order in which they were asked for */
	const struct sl_engine *engine;
	int engine_index;
	uint64_t engine_bytes;
	bool searching;              /* sl_graphs_search_on() was called */
	void (*on_search)(void *arg, const char *id);
	void *on_search_arg;
	struct sl_metric *m_graphs, *m_resident, *m_bytes, *m_uploads, *m_loads, *m_searches, *m_search_seconds,
			 *m_search_times, *m_reading, *m_waiting, *m_booked[SL_RESOURCES];
};

/* record.c */
const char *sl__kind_name(enum sl_kind kind);
json_t *sl__graph_json(const struct sl_graphs *s, const struct sl__graph *g, bool for_reply);
uint64_t sl__graph_disk_bytes(const struct sl__graph *g);  /* of all its files */
struct sl__graph *sl__graph_from_json(const char *id, const json_t *document);
void sl__graph_free(struct sl__graph *g);  /* releases what it holds in memory */
/* Fills the record from the thing itself. */
void sl__graph_describe(struct sl__graph *g, const struct sl_content *from);
/* ... from the neighbours that are there now. */
void sl__graph_found(struct sl__graph *g, const struct sl_neighbours_summary *found);

/* columns.c */
/* At the start: reads what columns of labels the graph has. A damaged file is logged, and has none. */
void sl__graph_read_columns(const struct sl_graphs *s, struct sl__graph *g);
/* All columns of labels, as replies list them: new reference. */
json_t *sl__graph_columns(const struct sl__graph *g);

/* table.c */
struct sl__graph *sl__graphs_find(struct sl_graphs *s, const char *id);
/* Of the same content, whose labels have the same title ("": there are none), and which is the user's already ("": an
 * administrator's by token_file): owners may change, delete and share a graph, so knowing its file makes nobody one. */
struct sl__graph *sl__graphs_find_twin(struct sl_graphs *s, const unsigned char digest[SL_DIGEST_BYTES],
				       const char *label_title, const char *user);
int sl__graphs_insert(struct sl_graphs *s, struct sl__graph *g);
void sl__graphs_take_out(struct sl_graphs *s, struct sl__graph *g);
/* STATE_DIR/graphs/ID.slg, .slp or .sln; malloc'd */
char *sl__graphs_path(const struct sl_graphs *s, const char *id, const char *ending);
/* ... with .tmp behind: until it is complete and has a record */
char *sl__graphs_temporary(const struct sl_graphs *s, const char *id, const char *ending);
const char *sl__graphs_ending(enum sl_kind kind, enum sl_content_part part);
/* Tells the event streams that a record has changed, or is gone. */
void sl__graph_changed(struct sl_graphs *s, const char *id);
int sl__graphs_not_found(const char *id, struct sl_error *err);
extern const struct sl_event_source sl__graphs_event_source;

/* start.c: a piece of work for the pool or the data base; the store is freed after the last. */
void sl__graphs_work_begin(struct sl_graphs *s);
void sl__graphs_work_end(struct sl_graphs *s);  /* s may be freed by it */

/* memory.c */
void sl__graphs_evict(struct sl_graphs *s);
void sl__graphs_on_deliver(uv_async_t *async);

/* content.c. Any of the three may be NULL; takes them. One reference is the caller's. NULL: no memory, and
 * nothing was taken. */
struct sl_content *sl__content_take(struct sl_graph *graph, struct sl_points *points,
				    struct sl_neighbours *neighbours);
struct sl_content *sl__content_ref(struct sl_content *c);
void sl__content_unref(struct sl_content *c);  /* NULL is fine */

/* upload.c */
void sl__uploads_cancel(struct sl_graphs *s);
/* Would the account have more on the disk than its limit allows? *hit: how. */
bool sl__graphs_exceed(struct sl_graphs *s, const char *account, uint64_t more, struct sl_limit_hit *hit);
/* Bytes that are being stored for a user, and are nobody's yet. */
uint64_t sl__uploads_bytes(const struct sl_graphs *s, const char *account);

/* search.c */
/* At the start: the neighbours of a record just loaded, from their file or by a new search. */
int sl__finder_resume(struct sl_graphs *s, struct sl__graph *g);
/* Begins or enlarges the search. A record that is not in the store yet holds the points. */
int sl__finder_begin(struct sl_graphs *s, struct sl__graph *g, uint32_t k);
/* The stored neighbours cannot be read: they are searched again. */
void sl__finder_lost(struct sl_graphs *s, struct sl__graph *g);
/* The record of a new upload is safe: neighbours that were found meanwhile may be stored. */
void sl__finder_recorded(struct sl_graphs *s, struct sl__graph *g);
/* The record goes: nobody waits for its search any more. */
void sl__finder_forget(struct sl_graphs *s, struct sl__graph *g);
double sl__finder_progress(const struct sl__graph *g);  /* 0 .. 1 */
void sl__finders_cancel(struct sl_graphs *s);

#endif
