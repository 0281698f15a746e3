/* rescale.h -- makes column-stochastic probabilities from weights, by lambda rescaling (affinities.h).
 *
 * A column j with weights w becomes p_i|j = w_i^gamma / sum_i w_i^gamma. Only gamma and the logarithm of the sum are
 * stored for each column, not the m probabilities. Code that needs a probability evaluates it: that costs an
 * exponential and saves 4 bytes an entry while memory use is at its highest. Internal to core/graph/. */
#ifndef SL_RESCALE_H
#define SL_RESCALE_H

#include <stdbool.h>
#include <stdint.h>

/* One direction of a sparse graph: by column, or its transpose by row. Borrowed. */
struct sl__half {
	uint32_t n;
	const uint64_t *start;  /* [n + 1] */
	const uint32_t *node;   /* [m], ascending within a column */
	const float *weight;    /* [m] or NULL: all 1 */
};

/* log p_i|j = gamma log w_ij - shift */
struct sl__column {
	double gamma, shift;
};

/* Fills column[n]. left_out[n] (or NULL) marks nodes whose edges are ignored, in their own columns and in others. Adds
 * the number of columns that cannot reach lambda to *unreachable, and that of columns with entries to *filled. Returns
 * 0 or SL_NOMEM. Uses OpenMP; the result does not depend on the number of threads. */
int sl__rescale_columns(const struct sl__half *columns, const uint8_t *left_out, double lambda,
			struct sl__column *column, uint32_t *unreachable, uint32_t *filled);

/* Returns gamma in [0, 1] with |sum_i exp(gamma l_i) - lambda| <= 1e-7 lambda, for l_i = log p_i <= 0 and
 * sum exp(l_i) = 1; 0 if k <= lambda. For sl__rescale_columns() and tests. */
double sl__rescale_exponent(const double *l, uint64_t k, double lambda);

#endif
