/* builder.h -- the inside of struct sl_graph_builder, for readers that must renumber
 * the nodes after the last entry (edge lists, whose ids are known only then). */
#ifndef SL_GRAPH_BUILDER_H
#define SL_GRAPH_BUILDER_H

#include "core/graph/graph.h"

/* Node indices above this are refused: the builder needs a few values for itself. */
#define SL__MAX_NODES 0xfffffff0u

/* Entries as they came, self-loops and zero weights included: a node may be known by
 * nothing else. Arrays grow by realloc(); pages that were never touched cost nothing. */
struct sl_graph_builder {
	enum sl_graph_symmetry symmetry;
	bool weighted;       /* duplicates add up */
	uint32_t n;          /* largest index + 1 */
	uint64_t listed;     /* calls to add() */
	uint64_t count;      /* entries held, mirrored ones included */
	uint64_t capacity;   /* of the arrays below */
	uint64_t granted;    /* entries of them that were asked for (core/account.h) */
	uint32_t *row;
	uint32_t *column;
	float *weight;       /* NULL: all 1 so far */
};
#define SL__ENTRY_BYTES 12u

/* Sets g->symmetric and the counts of nodes in g->report. scratch [n]. */
void sl__graph_examine(struct sl_graph *g, enum sl_graph_symmetry symmetry, uint64_t *scratch);

#endif
