/* perplexity.h -- converts the distances of one row to probabilities with the requested entropy. Internal to
 * core/graph/ and the engines. */
#ifndef SL_PERPLEXITY_H
#define SL_PERPLEXITY_H

#include <stdbool.h>
#include <stdint.h>

#include "core/graph/affinities.h"

struct sl_neighbours;

/* Computes p_j ~ exp(-beta d_j^2) over the first k distances (ascending, finite) with sum 1 and the entropy
 * log(perplexity) to 1e-6, and adds share * p_j to p[k]. room[2 k] is scratch. False if no beta gives that entropy:
 * there are too few distances, or at least as many ties for the smallest as the perplexity. Then all k, or all these
 * ties, get equal probabilities. */
bool sl__calibrate_row(const float *distance, uint32_t k, double perplexity, double share, double *room, double *p);

/* The number of neighbours that a perplexity needs. */
uint32_t sl__perplexity_needs(double perplexity);
/* perplexity[SL_PARAM_LIST_MAX]: the perplexities of params, checked against n and k of nb, or the value of "auto". */
int sl__perplexities_settle(const struct sl_neighbours *nb, const struct sl_affinities_params *params,
			    double *perplexity, int *count, struct sl_error *err);

#endif
