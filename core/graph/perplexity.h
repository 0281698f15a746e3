/* perplexity.h -- converts the distances of one row to probabilities with the requested entropy. Internal to
 * core/graph/ and the engines. */
#ifndef SL_PERPLEXITY_H
#define SL_PERPLEXITY_H

#include <stdbool.h>
#include <stdint.h>

#include "core/graph/affinities.h"

struct sl_neighbours;

/* p_j ~ exp(-beta d_j^2) over the first k distances (ascending, finite), with sum 1 and the entropy log(perplexity)
 * to 1e-6; added to p[k] times share. room[2 k] is scratch. False when no beta does it: too few distances, or as many
 * ties for the smallest as the perplexity or more. p is then equal over those k, or over those ties. */
bool sl__calibrate_row(const float *distance, uint32_t k, double perplexity, double share, double *room, double *p);

/* Neighbours that a perplexity looks at. */
uint32_t sl__perplexity_needs(double perplexity);
/* What to compute from nb (its n and k alone): the perplexities asked for, checked, or what "auto" stands for.
 * perplexity[SL_PARAM_LIST_MAX] */
int sl__perplexities_settle(const struct sl_neighbours *nb, const struct sl_affinities_params *params,
			    double *perplexity, int *count, struct sl_error *err);

#endif
