/* nodes.h -- requests about the nodes of a graph: names, labels, neighbours, edges.
 *
 * Each function takes the request, which it parks, and replies when the graph is in memory and the thread pool has
 * made the answer. Nodes are counted from 0 in the user's order. Loop thread. */
#ifndef SL_NODES_H
#define SL_NODES_H

#include "daemon/files/columns_file.h"
#include "daemon/graphs/graphs.h"
#include "daemon/http/http.h"

#define SL_NODES_COUNT 10000   /* names or labels in a reply, unless asked otherwise */

struct sl_nodes_query {
	uint64_t from, count;   /* of names, labels: a page; of the others: count is the most */
	uint32_t node;
	const char *text;       /* what to search for, or a column of labels; copied */
	bool binary;            /* of labels: codes or numbers as they are in memory, all of them */
};

/* {from, total, names} */
void sl_nodes_names(struct sl_graphs *s, const char *id, const struct sl_nodes_query *q, struct sl_request *r);
/* {nodes: [{node, name}]}: names that have the text in them, whatever the case; equal ones first */
void sl_nodes_search(struct sl_graphs *s, const char *id, const struct sl_nodes_query *q, struct sl_request *r);
/* {node, name, neighbours: [{node, name, distance}]}; of points */
void sl_nodes_neighbours(struct sl_graphs *s, const char *id, const struct sl_nodes_query *q, struct sl_request *r);
/* {node, name, edges: [{node, name, weight}]}; of graphs */
void sl_nodes_edges(struct sl_graphs *s, const char *id, const struct sl_nodes_query *q, struct sl_request *r);

/* ---- labels: columns of words or numbers (columns.c) ---------------------------------- */

/* {columns: [{name, kind, ...}]} */
void sl_nodes_columns(struct sl_graphs *s, const char *id, struct sl_request *r);
/* One column: JSON, or with binary the codes (u32, 0xffffffff: none) or numbers (f32, NaN: none). */
void sl_nodes_column(struct sl_graphs *s, const char *id, const struct sl_nodes_query *q, struct sl_request *r);
/* Sets or replaces a column by the body of the request; kind: "category", "number", or NULL: as it comes. */
void sl_nodes_put_column(struct sl_graphs *s, const char *id, const char *column, const char *kind,
			 struct sl_request *r);
void sl_nodes_delete_column(struct sl_graphs *s, const char *id, const char *column, struct sl_request *r);

/* ---- one column for those who compute with it (column_read.c) --------------------------- */

#define SL_DEGREE "degree"  /* computed when it is asked for, unless there is a column of that name; in no list */

struct sl_column_source {
	const char *path;                      /* of the graph's .sll */
	const char *id, *own;                  /* of the graph; name of the labels that came with it */
	uint32_t nodes;
	const struct sl_content *data, *neighbours;  /* neighbours: where sl_column_needs_neighbours() says so */
};

struct sl_column_read {
	struct sl_column column;               /* of kind category or number; borrowed from the others */
	struct sl_columns *all;
	json_t *description;
	void *value;
};

/* SL_NOTFOUND: there is no column of this name. `label` is also another name of the labels that came with the upload.
 * Blocks: for pool threads. */
int sl_column_read(struct sl_column_read *out, const struct sl_column_source *from, const char *name,
		   struct sl_error *err);
void sl_column_read_finish(struct sl_column_read *c);
/* The file of its columns, malloc'd; NULL: no memory. */
char *sl_graphs_columns_path(const struct sl_graphs *s, const char *id);
/* Are the graph's neighbours needed for it? Loop thread. */
bool sl_column_needs_neighbours(struct sl_graphs *s, const char *id, const char *name);

#endif
