/* coupling.h -- the matrix of weights w of a graph, stored for fast products with values at the nodes.
 *
 * From the graph's own weights, w_ij is the larger of those of (i, j) and (j, i). So a graph without weights has w = 1
 * on each edge, whatever its direction. From the affinities, w = n P, so that the mean degree is 1. A directed coupling
 * keeps directions: row i has the weights w_ij of the edges from j to i, and the degree of j is the sum of the weights
 * of the edges that leave it.
 *
 * Nodes are renumbered: neighbours get close numbers (core/graph/order.h), the rows of a block are sorted by length,
 * longest first, and nodes without edges come last. A run is a sequence of short rows of the same length; the loop over
 * them has no other branch than its end, and does not read `start`. Rows are divided into blocks of about equal work. A
 * block's result does not depend on other blocks, so the number of threads changes no byte. All rows of a block have
 * edges, or none has.
 *
 * A coupling is immutable. */
#ifndef SL_COUPLING_H
#define SL_COUPLING_H

#include <stdbool.h>
#include <stdint.h>

#include "core/error.h"

struct sl_affinities;
struct sl_graph;

#define SL_COUPLING_ROWS 1024  /* of a block at most */
#define SL_COUPLING_SHORT 8    /* the longest rows for which runs of equal length are made */

/* The rows from `first` up to `first` of the next run, all in the same block. */
struct sl_coupling_run {
	uint32_t first;
	uint32_t length;     /* of each, SL_COUPLING_SHORT at most; or SL_COUPLING_SHORT + 1: each is longer than that */
};

struct sl_coupling {
	uint32_t n;          /* all nodes */
	uint64_t m;          /* entries; unless directed, both directions */
	bool directed;
	uint64_t *start;     /* [n + 1] */
	uint32_t *node;      /* [m], ascending within a row */
	float *weight;       /* [m], or NULL: all 1 */
	double *degree;      /* [n] d_i, the sum of w_ij; directed: of w_ji */
	double *inverse;     /* [n] 1 / d_i, or 0 if d_i = 0 */
	uint32_t *user;      /* [n] the user's index of node i */
	uint32_t *place;     /* [n] the node of each of the user's indices */
	uint32_t linked;     /* number of nodes with edges, which come first */
	uint32_t blocks;
	uint32_t *block;     /* [blocks + 1] rows where they begin */
	uint32_t *block_run; /* [blocks + 1] runs where they begin */
	struct sl_coupling_run *run;  /* [block_run[blocks] + 1] */
	double bound;        /* of the eigenvalues of D - W: the largest d_i + d_j of an edge (Anderson and Morley, 1985) */
};

int sl_coupling_of_graph(struct sl_coupling **out, const struct sl_graph *g, struct sl_error *err);
/* The directed coupling. rows: entry (i, j) of the graph is an edge from i to j; otherwise from j to i. */
int sl_coupling_of_directed(struct sl_coupling **out, const struct sl_graph *g, bool rows, struct sl_error *err);
int sl_coupling_of_affinities(struct sl_coupling **out, const struct sl_affinities *a, struct sl_error *err);
void sl_coupling_destroy(struct sl_coupling *c);  /* NULL is fine */

/* out[i - c->block[block]] = sum_j w_ij x_j for the rows i of the block, summed in the order of the row's entries. */
void sl_coupling_multiply(const struct sl_coupling *c, uint32_t block, const double *x, double *out);

/* Sets marked[n], which is zero before, to 1 for all nodes within `hops` edges of the given ones, whatever
 * the edges' direction. 0 or SL_NOMEM. */
int sl_coupling_mark(const struct sl_coupling *c, const uint32_t *node, int count, int hops, uint8_t *marked);

#endif
