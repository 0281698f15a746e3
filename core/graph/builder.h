/* builder.h -- the fields of struct sl_graph_builder, for readers that renumber the nodes after the last entry (edge
 * lists, whose ids are all known only then). Internal to core/. */
#ifndef SL_GRAPH_BUILDER_H
#define SL_GRAPH_BUILDER_H

#include "core/graph/graph.h"

struct sl_account;

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
	struct sl_account *account;  /* books the memory (core/account.h); NULL: no limit */
	uint64_t granted;    /* entries for which memory was reserved in it */
	uint32_t *row;
	uint32_t *column;
	float *weight;       /* NULL: all 1 so far */
};
#define SL__ENTRY_BYTES 12u

/* sl_graph_builder_create() for a reader that books memory in an account, borrowed until the end of the builder. */
int sl__graph_builder_create(struct sl_graph_builder **out, enum sl_graph_symmetry symmetry, bool weighted,
			     uint64_t expected_m, struct sl_account *account, struct sl_error *err);

/* The root of node i in a forest that joins connected nodes; shortens its path. */
uint32_t sl__find_root(uint32_t *parent, uint32_t i);
/* Sets g->symmetric and the counts of nodes in g->report. scratch [n]. */
void sl__graph_examine(struct sl_graph *g, enum sl_graph_symmetry symmetry, uint64_t *scratch);

#endif
