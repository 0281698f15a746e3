/* graphs_internal.h -- the inside of the graph store: its records and who waits for them. */
#ifndef SL_GRAPHS_INTERNAL_H
#define SL_GRAPHS_INTERNAL_H

#include <uv.h>

#include "core/formats/read.h"
#include "daemon/daemon.h"
#include "daemon/graph_file.h"
#include "daemon/graphs.h"
#include "daemon/http.h"
#include "daemon/metrics.h"

/* One that asked for a graph. */
struct sl__waiter {
	struct sl__waiter *next;
	struct sl__graph *graph;
	sl_graphs_done_fn done;
	void *arg;
	int status;           /* what to tell: 0: the graph */
	struct sl_error err;
};

struct sl__graph {
	struct sl_graph_record record;
	unsigned char digest[SL_GRAPH_DIGEST_BYTES];
	enum sl_graph_format format;
	struct sl_graph_report report;
	struct sl_graph *g;          /* loaded, or NULL; owned */
	uint64_t memory;             /* bytes of g */
	int references;              /* acquired and not released */
	uint64_t used;               /* tick of the last use */
	bool loading;
	struct sl__waiter *waiters;  /* while loading */
};

struct sl__upload;

struct sl_graphs {
	struct sl_daemon *d;
	char *folder;                /* STATE_DIR/graphs */
	struct sl__graph **graph;    /* by id, ascending */
	int count, room;
	uint64_t tick;
	struct sl__upload *uploads;  /* under way */
	struct sl__waiter *ready;    /* told at the next turn of the loop */
	uv_async_t deliver;
	int active;                  /* pieces of work for the pool and the data base */
	bool closing;
	void (*closed)(void *arg);
	void *closed_arg;
	void (*on_delete)(void *arg, const char *id);
	void *on_delete_arg;
	struct sl_metric *m_graphs, *m_resident, *m_bytes, *m_uploads, *m_loads;
};

/* graph_record.c */
json_t *sl__graph_json(const struct sl__graph *g, bool for_reply);
struct sl__graph *sl__graph_from_json(const char *id, const json_t *document);
void sl__graph_free(struct sl__graph *g);
/* Fills the record from the graph itself. */
void sl__graph_describe(struct sl__graph *g, const struct sl_graph *from);

/* graphs.c */
struct sl__graph *sl__graphs_find(struct sl_graphs *s, const char *id);
struct sl__graph *sl__graphs_find_digest(struct sl_graphs *s, const unsigned char digest[SL_GRAPH_DIGEST_BYTES]);
int sl__graphs_insert(struct sl_graphs *s, struct sl__graph *g);
char *sl__graphs_path(const struct sl_graphs *s, const char *id);
void sl__graphs_evict(struct sl_graphs *s);
void sl__graphs_work_begin(struct sl_graphs *s);
void sl__graphs_work_end(struct sl_graphs *s);  /* s may be freed by it */
/* Pool thread: parsing must not take time from the loop or from a job's device. */
void sl__graphs_be_nice(void);

/* graphs_upload.c */
void sl__uploads_cancel(struct sl_graphs *s);

/* For the routes: the record as a reply has it (new reference); changes; removal. done gets status. */
json_t *sl_graphs_json(struct sl_graphs *s, const char *id);
/* Newest first, from after `cursor` (NULL: the beginning), up to limit, of this name (NULL: any).
 * *next: the cursor of the next page, or empty. New reference. */
json_t *sl_graphs_list(struct sl_graphs *s, const char *cursor, int limit, const char *name, char next[SL_ULID_BYTES]);
int sl_graphs_count(const struct sl_graphs *s);
/* name NULL, pinned -1: as it is. */
int sl_graphs_change(struct sl_graphs *s, const char *id, const char *name, int pinned,
		     void (*done)(void *arg, int status, const struct sl_error *err), void *arg, struct sl_error *err);
int sl_graphs_delete(struct sl_graphs *s, const char *id,
		     void (*done)(void *arg, int status, const struct sl_error *err), void *arg, struct sl_error *err);
int sl_graphs_unload(struct sl_graphs *s, const char *id, struct sl_error *err);
/* Takes the parts of the request and replies to it. */
void sl_graphs_upload(struct sl_graphs *s, struct sl_request *r);

#endif
