/* affinities.h -- the symmetric joint probabilities P that an embedding approximates.
 *
 * From a graph (Pitsianis et al., SG-t-SNE, HPEC 2019, section II): each column is scaled to sum 1. Then Newton's
 * method finds the exponent gamma of the column for which sum_i p_ij^gamma = lambda, and the powers are scaled to
 * sum 1.
 * lambda = 1 skips this step. Newton stops when the sum is within 1e-7 of lambda (relative). A column with at
 * most lambda entries cannot reach lambda with gamma > 0: it gets equal weights (gamma = 0) and is counted in
 * `unreachable`. Last, P <- (P + P')/2, scaled to sum 1.
 *
 * From the neighbours of points: see sl_affinities_from_neighbours().
 *
 * Nodes without edges are left out, and the others are renumbered so that neighbours are close in memory; user[] maps
 * the new numbers to the user's. Only the engines see the new numbers: sl_affinities_expand() returns layouts in the
 * user's order and places the nodes without edges. Immutable once made; any number of threads may read it. */
#ifndef SL_AFFINITIES_H
#define SL_AFFINITIES_H

#include <stdbool.h>
#include <stdint.h>

#include "core/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The numbering of the nodes. RCM: reverse Cuthill-McKee. BFS: breadth-first. AUTO: RCM if there are enough nodes for
 * it to pay, else NONE. */
enum sl_order { SL_ORDER_AUTO, SL_ORDER_NONE, SL_ORDER_RCM, SL_ORDER_BFS };

struct sl_graph;
struct sl_neighbours;
struct sl_params;

#define SL_PERPLEXITIES_MAX 8  /* as many as a list of struct sl_params holds */

/* The values of "auto". If fewer than 3 * 30 neighbours are known, the perplexity is k / 3; with fewer than six, all
 * neighbours get equal weights. */
#define SL_LAMBDA_DEFAULT 10.0
#define SL_PERPLEXITY_DEFAULT 30.0

struct sl_affinities_params {
	double lambda;         /* graphs: >= 1; 1: no rescaling */
	double perplexity[SL_PERPLEXITIES_MAX];  /* points: the first `perplexities` of them, each >= 1 and <= k / 3 */
	int perplexities;      /* 0: "auto" */
	bool drop_leaf_edges;  /* leave out the edges of nodes with one neighbour */
	enum sl_order order;
};

struct sl_affinities {
	uint32_t n;          /* embedded nodes */
	uint32_t n_user;     /* nodes of the graph, isolated ones included */
	uint64_t m;          /* entries of P, both directions */
	uint64_t *start;     /* [n + 1] */
	uint32_t *node;      /* [m], ascending within a row */
	float *p;            /* [m], sum 1 */
	uint32_t *user;      /* [n] the user's index of embedded node i */
	float *axes;         /* [n_user][SL_AXES] of points: see struct sl_neighbours; NULL: not known */
	double entropy;      /* sum p log p, for the KL divergence */
	uint32_t unreachable;/* graphs: columns that could not reach lambda; points: rows that could not, the perplexity */
	uint32_t dropped;    /* nodes isolated by drop_leaf_edges */
};

/* SL_BADPARAM if lambda or order is out of range. */
int sl_affinities_params_check(const struct sl_affinities_params *params, struct sl_error *err);
/* Makes P from a graph; the caller destroys *out. Uses OpenMP; the result does not depend on the number of threads. */
int sl_affinities_create(struct sl_affinities **out, const struct sl_graph *g,
			 const struct sl_affinities_params *params, struct sl_error *err);
/* Makes P from the neighbours of points (van der Maaten and Hinton, JMLR 9, 2008, section 2). For each row and
 * perplexity, Newton's method within a bracket finds the precision beta for which p_j|i ~ exp(-beta d_ij^2) has the
 * entropy log(perplexity), to 1e-6. Of several perplexities, p_j|i is the mean. Then P <- (P + P')/2, scaled to sum 1.
 * If the distances of a row do not allow this entropy (ties, duplicates), the row gets the nearest entropy that they
 * allow and is counted in `unreachable`. */
int sl_affinities_from_neighbours(struct sl_affinities **out, const struct sl_neighbours *nb,
				  const struct sl_affinities_params *params, struct sl_error *err);
/* Takes the parameters from those of a job, and replaces "auto" by a number unless it depends on the input. */
void sl_affinities_params_from(struct sl_affinities_params *out, const struct sl_params *p);
/* The perplexity that stands for "auto" if each point has k neighbours. */
double sl_perplexity_auto(uint32_t k);
/* The number k of neighbours of each of n points that these perplexities need. */
uint32_t sl_affinities_neighbours_needed(const struct sl_affinities_params *params, uint32_t n);

void sl_affinities_destroy(struct sl_affinities *a);  /* NULL is fine */
uint64_t sl_affinities_bytes(const struct sl_affinities *a);

/* Copies y [a->n * dims], in the engine's order, to out [a->n_user * dims], in the user's order. Nodes that are not
 * embedded are spread evenly, by the golden angle (2-D), over a ring around the layout (1-D: at both ends; 3-D: over a
 * shell), at about the density of the layout. */
void sl_affinities_expand(const struct sl_affinities *a, int dims, const float *y, float *out);

/* The reverse, for given initial layouts: copies from the user's order to the engine's. */
void sl_affinities_gather(const struct sl_affinities *a, int dims, const float *user, float *y);

#ifdef __cplusplus
}
#endif
#endif
