/* labels.h -- reads a text of labels: one or more columns of labels for the nodes of a graph or the rows of a table.
 *
 * The rows of the text are joined with the nodes:
 *   by name      a column holds the nodes' names (at least half of the rows name a node,
or half of the nodes are named)
 *   by number    nodes without names: the first column, or one called id, node, index ..., holds different numbers of
 *                nodes, from 0; or exactly 1..n. Nodes with names: exactly 0..n-1 or 1..n, if no column holds names
 *   by row       no column does, and there are as many rows as nodes
 * A first row that is a header gives the columns their titles. `taken` says what became of each row and column, and its
 * first note how rows were joined.
 *
 * Any thread. */
#ifndef SL_LABELS_H
#define SL_LABELS_H

#include "core/formats/read.h"
#include "core/taken/taken.h"

#ifdef __cplusplus
extern "C" {
#endif

struct sl_label_nodes {
	uint32_t n;
	const char *name_bytes;      /* as in struct sl_graph; NULL: numbers */
	const uint64_t *name_at;
	bool ranks;                  /* take columns that count the rows, too, if they have a title: they may be ranks */
};

struct sl_label_column {
	char title[64];              /* UTF-8; "": none */
	uint32_t *label;             /* [n] index into text, or SL_UNLABELLED */
	uint32_t labels;
	char **text;                 /* [labels] distinct, none empty, in the order of the rows */
	bool numbers;                /* every text is a number */
};

struct sl_label_table {
	struct sl_label_column *column;
	uint32_t columns;
	uint32_t main;               /* the column that says most as colours */
	struct sl_taken *taken;
};

/* Reads source to its end. only: the columns to take, by title or by number from 1,
		with commas between them; NULL: all.
 * Uses max_bytes and cancel of options; NULL: those that the source has. The caller calls sl_label_table_finish(),
also after an error. SL_BADDATA: rows
 * and nodes do not match, ...; SL_BADPARAM at /column: there is no such column. */
int sl_label_table_read(struct sl_label_table *out, const struct sl_label_nodes *nodes, const char *only,
			const struct sl_read_options *options, struct sl_source *source, struct sl_error *err);
void sl_label_table_finish(struct sl_label_table *table);

/* Like sl_graph_read_labels() (core/formats/read.h), also of arrays, and gives the other columns of a text: out->column
 * without the one that became the graph's label. out->taken is NULL for arrays. */
int sl_graph_read_label_table(struct sl_graph *graph, struct sl_label_table *out, const char *only,
			      const struct sl_read_options *options, struct sl_source *source, struct sl_error *err);
/* The same for the n_user rows of a table of points. */
struct sl_points;
int sl_points_read_label_table(struct sl_points *points, struct sl_label_table *out, const char *only,
			       const struct sl_read_options *options, struct sl_source *source, struct sl_error *err);

#ifdef __cplusplus
}
#endif
#endif
