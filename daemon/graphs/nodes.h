/* nodes.h -- requests about the nodes of a graph: names, labels, neighbours, edges.
 *
 * Each function parks the request, and replies when the graph is in memory and the thread pool has made the answer.
 * Nodes are counted from 0 in the user's order. Loop thread. */
#ifndef SL_NODES_H
#define SL_NODES_H

#include "daemon/files/columns_file.h"
#include "daemon/graphs/graphs.h"
#include "daemon/http/http.h"

#define SL_NODES_COUNT 10000   /* default number of names or labels in a reply */

struct sl_nodes_query {
	uint64_t from, count;   /* names, labels: the page; other requests: count is the most */
	uint32_t node;
	bool strongest;         /* edges: the `count` strongest of all, and not those of one node */
	const char *text;       /* the text to search, or the name of a column of labels; copied */
	bool binary;            /* labels: reply with all codes or numbers, as they are in memory */
};

/* {from, total, names} */
void sl_nodes_names(struct sl_graphs *s, const char *id, const struct sl_nodes_query *q, struct sl_request *r);
/* {nodes: [{node, name}]}: names that contain the text, in upper or lower case; equal names first */
void sl_nodes_search(struct sl_graphs *s, const char *id, const struct sl_nodes_query *q, struct sl_request *r);
/* {node, name, neighbours: [{node, name, distance}]}; only for points */
void sl_nodes_neighbours(struct sl_graphs *s, const char *id, const struct sl_nodes_query *q, struct sl_request *r);
/* {node, name, edges: [{node, name, weight}]}; only for graphs. strongest: {total, edges: [[from, to, weight]]}, each
 * pair once if the graph is symmetric, without edges from a node to itself */
void sl_nodes_edges(struct sl_graphs *s, const char *id, const struct sl_nodes_query *q, struct sl_request *r);

/* ---- labels: columns of words or numbers (columns.c) ---------------------------------- */

/* {columns: [{name, kind, ...}]} */
void sl_nodes_columns(struct sl_graphs *s, const char *id, struct sl_request *r);
/* The columns that shows() admits, with the one that colours pictures if nothing else is chosen; new reference. Empty
 * if there is no such graph. Loop thread, at once. */
json_t *sl_graph_columns_shown(struct sl_graphs *s, const char *id, bool (*shows)(void *arg, const char *column),
			       void *arg);
/* One column: JSON or, with q->binary, codes (u32, 0xffffffff: none) or numbers (f32, NaN: none). */
void sl_nodes_column(struct sl_graphs *s, const char *id, const struct sl_nodes_query *q, struct sl_request *r);
/* Adds or replaces a column by the body of the request. column NULL: all columns of a text, by their titles. only: the
 * columns of the text to take, or NULL. kind: "category", "number", or NULL: by the type of the values. */
void sl_nodes_put_column(struct sl_graphs *s, const char *id, const char *column, const char *only, const char *kind,
			 struct sl_request *r);
/* Gives its categories an order and colours: JSON arrays, null to undo, NULL to leave; and then perhaps a new name. */
void sl_nodes_arrange_column(struct sl_graphs *s, const char *id, const char *column, const json_t *categories,
			     const json_t *colors, const char *name, struct sl_request *r);
void sl_nodes_delete_column(struct sl_graphs *s, const char *id, const char *column, struct sl_request *r);

/* ---- reading one column, for pictures (column_read.c) ----------------------------------- */

/* A column with the degree of each node. It is computed on request, unless the graph has a column of that name, and
 * lists of columns do not contain it. */
#define SL_DEGREE "degree"

struct sl_column_source {
	const char *path;                      /* of the graph's .sll file */
	const char *id, *own;                  /* id of the graph; name of the labels that came with the upload */
	uint32_t nodes;
	const struct sl_content *data, *neighbours;  /* neighbours: if sl_column_needs_neighbours() */
};

struct sl_column_read {
	struct sl_column column;               /* of kind category or number; borrowed from the fields below */
	struct sl_columns *all;
	json_t *description;
	void *value;
};

/* Reads the column of this name; the name `label` also stands for the labels that came with the upload. SL_NOTFOUND: no
 * such column. Pool thread. */
int sl_column_read(struct sl_column_read *out, const struct sl_column_source *from, const char *name,
		   struct sl_error *err);
void sl_column_read_finish(struct sl_column_read *c);
/* What colours pictures of the graph if the request names nothing (core/picture/picture_choice.h). USUAL: the labels
 * that came with the upload or, if there were none and no column was chosen, the density; such pictures stay the same
 * as long as the choice is USUAL. COLUMN: *name; DENSITY: no column, though there are labels. Loop thread. */
enum sl_column_choice { SL_CHOICE_USUAL, SL_CHOICE_COLUMN, SL_CHOICE_DENSITY };
enum sl_column_choice sl_column_choose(struct sl_graphs *s, const char *id, char *name, size_t bytes);
/* The path of the graph's file of columns, malloc'd; NULL: no memory. */
char *sl_graphs_columns_path(const struct sl_graphs *s, const char *id);
/* True if the column is computed from the graph's neighbours. Loop thread. */
bool sl_column_needs_neighbours(struct sl_graphs *s, const char *id, const char *name);

#endif
