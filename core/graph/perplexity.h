/* perplexity.h -- from the distances of one row to probabilities of a wanted entropy. Internal to core/graph/. */
#ifndef SL_PERPLEXITY_H
#define SL_PERPLEXITY_H

#include <stdbool.h>
#include <stdint.h>

/* p_j ~ exp(-beta d_j^2) over the first k distances (ascending, finite), with sum 1 and the entropy log(perplexity)
 * to 1e-5; added to p[k] times share. room[2 k] is scratch. False when no beta does it: too few distances, or as many
 * ties for the smallest as the perplexity or more. p is then equal over those k, or over those ties. */
bool sl__calibrate_row(const float *distance, uint32_t k, double perplexity, double share, double *room, double *p);

#endif
