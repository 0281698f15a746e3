/* symmetrise.h -- P = (P + P') / 2 without holding more than one extra copy of the graph.
 *
 * The rows of the column-stochastic matrix are the columns of its transpose. A symmetric graph is its own transpose and
 * needs no copy. For others the transpose (indices and weights, as large as the graph) exists from
 * sl__transpose_init() to sl__transpose_finish(). Column i and row i are both sorted, so one merge makes their union.
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

/* Takes 8 bytes an entry (4 without weights) and 8 a node; nothing for a symmetric graph. 0 or SL_NOMEM. */
int sl__transpose_init(struct sl__transpose *t, const struct sl_graph *g);
void sl__transpose_finish(struct sl__transpose *t);

/* degree[n]: the number of different neighbours. Nodes marked in left_out[n] (may be NULL) have none and are not
 * counted by others. */
void sl__count_neighbours(const struct sl__half *columns, const struct sl__half *rows,
			  const uint8_t *left_out, uint32_t *degree);

/* Writes row r of the result, which belongs to the user's node user[r]: the union of the node's column and its row, in
 * ascending order, with p = (p_i|j + p_j|i) * scale. p is at least FLT_MIN, so that no edge vanishes and no subnormal
 * number slows the attraction loop down. place[n]: the row of each of the user's nodes. Returns 0 or SL_NOMEM. */
int sl__symmetrise(const struct sl__half *columns, const struct sl__half *rows, const uint8_t *left_out,
		   const struct sl__column *column, double scale, uint32_t n_out, const uint32_t *user,
		   const uint32_t *place, const uint64_t *start, uint32_t *node, float *p);

#endif
