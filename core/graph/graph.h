/* graph.h -- a sparse graph as the user gave it, before any mathematics.
 *
 * A graph is stored by column: node[start[j] .. start[j+1]) are the rows i of the entries (i, j), ascending and
 * distinct, without i == j. weight[] holds their weights, all finite and > 0; it is NULL if every weight is 1. Readers
 * (core/formats/) make a graph with sl_graph_builder. A finished graph is immutable, so any number of threads may read
 * it.
 *
 * Readers count unusual input in sl_graph_report or refuse it:
 *   self-loop (i, i)             dropped, counted
 *   weight 0                     dropped, counted
 *   the same (i, j) again        weights added up; without weights kept once; counted
 *   negative, NaN, infinite      error naming line (or entry), row and column
 *   isolated node                kept, counted; the layout places it apart
 *   no node at all               error */
#ifndef SL_GRAPH_H
#define SL_GRAPH_H

#include <stdbool.h>
#include <stdint.h>

#include "core/error.h"

#ifdef __cplusplus
extern "C" {
#endif

struct sl_taken;

struct sl_graph_report {
	uint64_t entries_read;       /* as listed in the file, before symmetric expansion */
	uint64_t self_loops;         /* dropped */
	uint64_t zero_weights;       /* dropped */
	uint64_t duplicates;         /* merged */
	uint32_t isolated;           /* nodes without any entry */
	uint32_t leaves;             /* nodes with exactly one neighbour */
	uint32_t components;         /* connected components, isolated nodes not counted */
	uint32_t largest_component;  /* its nodes */
};

#define SL_UNLABELLED UINT32_MAX  /* in place of a label: the node has none */

struct sl_graph {
	uint32_t n;          /* nodes */
	uint64_t m;          /* entries */
	uint64_t *start;     /* [n + 1] */
	uint32_t *node;      /* [m] */
	float *weight;       /* [m] or NULL: all 1 */
	bool symmetric;      /* entries and weights are symmetric */
	char *name_bytes;    /* all names, each zero-terminated, one after the other; NULL: nodes are numbered */
	uint64_t *name_at;   /* [n + 1] offsets into name_bytes; NULL with name_bytes */
	uint32_t *label;     /* [n] index into label_name, or SL_UNLABELLED; NULL: no labels */
	uint32_t labels;     /* number of different labels */
	char **label_name;   /* [labels], none empty */
	char label_title[64];  /* title of the column of labels, "": none; only set by readers */
	struct sl_graph_report report;
	struct sl_taken *taken;  /* what a reader took of the user's file (core/taken/taken.h); NULL: of no file */
};

/* NULL is fine. */
void sl_graph_destroy(struct sl_graph *g);

/* Bytes of host memory that g holds. */
uint64_t sl_graph_bytes(const struct sl_graph *g);

/* out [n]: the number of entries in each node's row. */
void sl_graph_degrees(const struct sl_graph *g, float *out);

/* Name of node i, borrowed; NULL if nodes are numbered. */
const char *sl_graph_name(const struct sl_graph *g, uint32_t i);

/* Label of node i, borrowed; "": it has none. g->label must not be NULL. */
const char *sl_graph_label(const struct sl_graph *g, uint32_t i);

/* Takes the empty name, which stands for no label, out of name [*labels]: nodes with it in label [n] become
 * SL_UNLABELLED. If no name is left, frees both arrays and sets them to NULL. */
void sl_labels_settle(uint32_t **label, uint64_t n, char ***name, uint32_t *labels);

/* ---- building ---------------------------------------------------------- */

struct sl_graph_builder;

enum sl_graph_symmetry {
	SL_GENERAL,    /* entries are taken as listed */
	SL_SYMMETRIC,  /* each off-diagonal entry stands for (i, j) and (j, i) */
};

/* expected_m is a hint for the first allocation and may be 0. The builder takes at most twice the memory of the
 * finished graph (12 bytes an entry while reading, 8 afterwards). */
int sl_graph_builder_create(struct sl_graph_builder **out, enum sl_graph_symmetry symmetry,
			    bool weighted, uint64_t expected_m, struct sl_error *err);

/* Adds an entry. row and column count from 0; the number of nodes grows to include them. The caller has checked that
 * weight is finite and >= 0. Returns 0, SL_NOMEM or SL_TOOBIG. */
int sl_graph_builder_add(struct sl_graph_builder *b, uint32_t row, uint32_t column, float weight);

/* Makes the graph, with max(n, largest index + 1) nodes, and destroys b, also on error. The caller destroys *out. */
int sl_graph_builder_finish(struct sl_graph_builder *b, uint32_t n, struct sl_graph **out, struct sl_error *err);

void sl_graph_builder_destroy(struct sl_graph_builder *b);  /* NULL is fine */

#ifdef __cplusplus
}
#endif
#endif
