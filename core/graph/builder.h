/* builder.h -- the fields of struct sl_graph_builder, for readers that renumber the nodes after the last entry (edge
 * lists, whose ids are all known only then). Internal to core/. */
#ifndef SL_GRAPH_BUILDER_H
#define SL_GRAPH_BUILDER_H

#include "core/graph/graph.h"

/* Node indices above this are refused: the builder needs a few values for itself. */
#define SL__MAX_NODES 0xfffffff0u

/* The entries as they were added. Self-loops and zero weights are included, because a node may appear in no other
 * entry. Arrays grow by realloc(); pages that were never touched take no memory. */
struct sl_graph_builder {
	enum sl_graph_symmetry symmetry;
	bool weighted;       /* duplicates add up */
	uint32_t n;          /* largest index + 1 */
	uint64_t listed;     /* calls to add() */
	uint64_t count;      /* entries held, mirrored ones included */
	uint64_t capacity;   /* of the arrays below */
	uint64_t granted;    /* entries for which memory was reserved (core/account.h) */
	uint32_t *row;
	uint32_t *column;
	float *weight;       /* NULL: all 1 so far */
};
#define SL__ENTRY_BYTES 12u

/* Sets g->symmetric and the counts of nodes in g->report. scratch [n]. */
void sl__graph_examine(struct sl_graph *g, enum sl_graph_symmetry symmetry, uint64_t *scratch);

#endif
