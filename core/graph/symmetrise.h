/* symmetrise.h -- P = (P + P') / 2 without holding more than one extra copy of the graph.
 *
 * The rows of the column-stochastic matrix are its transpose's columns. A symmetric
 * graph is its own transpose and needs no copy at all; otherwise the transpose (indices and
 * weights, no more than the graph itself) lives from transpose_init to transpose_finish.
 * Column i and row i are both sorted, so their union is one merge.
 * Internal to core/graph/. */
#ifndef SL_SYMMETRISE_H
#define SL_SYMMETRISE_H

#include "core/graph/graph.h"
#include "core/graph/rescale.h"

struct sl__transpose {
	struct sl__half rows;
	uint64_t *start_owned;  /* all NULL when borrowed from a symmetric graph */
	uint32_t *node_owned;
	float *weight_owned;
};

/* 8 bytes an entry (4 without weights) and 8 a node, none for a symmetric graph. 0 or SL_NOMEM. */
int sl__transpose_init(struct sl__transpose *t, const struct sl_graph *g);
void sl__transpose_finish(struct sl__transpose *t);

/* degree[n]: number of different neighbours, those marked in left_out[n] (may be NULL) not
 * counted; a node that is left out has none. */
void sl__count_neighbours(const struct sl__half *columns, const struct sl__half *rows,
			  const uint8_t *left_out, uint32_t *degree);

/* For each row r of the result, user node user[r]: the union of its column and its row in
 * ascending order with p = (p_i|j + p_j|i) * scale, at least FLT_MIN (an edge that is there
 * stays there, and subnormal numbers would slow the attraction loop down).
 * place[n]: from the user's node to its row. Returns 0 or SL_NOMEM. */
int sl__symmetrise(const struct sl__half *columns, const struct sl__half *rows, const uint8_t *left_out,
		   const struct sl__column *column, double scale, uint32_t n_out, const uint32_t *user,
		   const uint32_t *place, const uint64_t *start, uint32_t *node, float *p);

#endif
