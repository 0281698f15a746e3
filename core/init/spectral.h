/* spectral.h -- coordinates from the slowest modes of the random walk on a graph.
 *
 * W = D^-1 P, D = diag(sum_j p_ij), is the walk that steps from node i to j with probability p_ij / d_i. Its
 * eigenvectors of the largest eigenvalues but the constant one are those of the normalised Laplacian's smallest,
 * divided by sqrt(d): they minimise sum p_ij |y_i - y_j|^2 at sum d_i |y_i|^2 = 1 (Belkin and Niyogi, Neural
 * Computation 15, 2003). Neighbours in the graph are close in the layout, and distant nodes are far apart, which suits
 * an initial layout. Low accuracy suffices.
 *
 * Method: a block of 8 vectors is filtered by Chebyshev polynomials of W that damp all modes faster than those looked
 * for, then made orthonormal and rotated to Ritz vectors (Zhou, Saad, Tiago, Chelikowsky, J. Comput. Phys. 219, 2006).
 * The graph is used only in products of W with the block; the caller supplies them.
 *
 * In a graph of many components, W does not mix them. So one product serves all components, while each has its own
 * orthonormalisation, Ritz vectors and filter. Afterwards each component gets a disc (1-D: an interval, 3-D: a ball)
 * whose volume is proportional to its number of nodes. The largest is in the middle; the larger ones are nearer to it.
 * Nodes of components with fewer than 16 nodes get random coordinates in their disc.
 *
 * The work is divided into steps, so that a device thread can serve other jobs in between. Uses OpenMP; the result
 * depends neither on the number of threads nor on the division into steps. */
#ifndef SL_SPECTRAL_H
#define SL_SPECTRAL_H

#include <stdbool.h>
#include <stdint.h>

#include "core/error.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SL_SPECTRAL_COLUMNS 8  /* vectors in a block, for layouts of up to 3 dimensions */

/* The walk on a graph. Called by the thread that calls sl_spectral_advance(). */
struct sl_walk {
	uint32_t n;
	void *context;
	/* out[n] = d */
	int (*mass)(void *context, float *out, struct sl_error *err);
	/* label [n]: equal for nodes of one component, less than n. NULL: the graph is taken to be connected. */
	int (*components)(void *context, uint32_t *label, struct sl_error *err);
	/* `steps` steps of the Chebyshev recurrence with A = diag(slope) W - diag(shift), slope and shift [n], NULL:
	 * A = W. *before and *x are blocks [n][8] that hold T_(k-1)(A) b and T_k(A) b; afterwards they hold those for
	 * k + steps, by
	 *     T_(k+1) = 2 A T_k - T_(k-1)
	 * k = 0: only *x has a meaning, T_1 = A T_0. The two pointers may be exchanged. */
	int (*filter)(void *context, int k, int steps, const float *slope, const float *shift, float **before, float **x,
		      struct sl_error *err);
	void (*destroy)(void *context);  /* or NULL */
	bool whole;  /* true: a call has a high fixed cost, so one call makes all steps of a filter */
};

struct sl_spectral;

/* Takes the context of walk, even on an error. user [n], borrowed: the user's number of each node. Random numbers
 * depend on these, not on the order of nodes in memory. */
int sl_spectral_create(struct sl_spectral **out, const struct sl_walk *walk, const uint32_t *user, int dims,
		       uint64_t seed, struct sl_error *err);
void sl_spectral_destroy(struct sl_spectral *s);  /* NULL is fine */

/* Computes for about budget_ms (at least one product), or to the end; then *done is true. */
int sl_spectral_advance(struct sl_spectral *s, double budget_ms, bool *done, struct sl_error *err);

/* y [n * dims], of no particular scale. Call it after *done. */
int sl_spectral_layout(struct sl_spectral *s, float *y, struct sl_error *err);

/* For tests: eigenvalue [dims], those of W in the largest component, descending, without the 1 of the constant vector;
 * the rounds of filtering; the number of components. */
void sl_spectral_found(const struct sl_spectral *s, int dims, double *eigenvalue, int *rounds, uint32_t *components);

#ifdef __cplusplus
}
#endif
#endif
