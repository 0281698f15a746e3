/* quality.h -- how good a layout is, measured without the engine's approximations.
 *
 * All layouts here are y [a->n * dims] in the engine's node order; sl_affinities_gather makes
 * one from a user's. Uses OpenMP; results do not depend on the number of threads. */
#ifndef SL_QUALITY_H
#define SL_QUALITY_H

#include "core/graph/affinities.h"

#ifdef __cplusplus
extern "C" {
#endif

struct sl_quality {
	double kl;         /* KL(P || Q) with the exact Z */
	double z;          /* sum over i != j of 1 / (1 + |y_i - y_j|^2) */
	double recall;     /* mean share of the 10 strongest neighbours among the 10 nearest */
	uint32_t queries;  /* nodes that recall was averaged over */
};

/* Exact Z by all pairs in double precision: n^2 / 2 pairs, about 1 s at n = 70,000 on two
 * cores. Returns 0, SL_BADPARAM (dims, or a position that is not finite) or SL_NOMEM. */
int sl_quality_kl(const struct sl_affinities *a, int dims, const float *y, double *kl, double *z,
		  struct sl_error *err);

/* For each query node the k' = min(k, neighbours) of largest p_ij (ties: the lower number)
 * are looked up among its k' nearest in the layout (ties: the lower number). All nodes are
 * queries up to `queries`; of more nodes a fixed, evenly spread sample of that many is
 * (0: as many as 2.5e9 distances allow: all of 50,000, 2,500 of a million). k from 1 to
 * SL_QUALITY_MOST; recall in [0, 1]; an empty layout has recall 1. */
#define SL_QUALITY_MOST 256
int sl_quality_recall(const struct sl_affinities *a, int dims, const float *y, int k, uint32_t queries,
		      double *recall, uint32_t *used, struct sl_error *err);

/* Both, with k = 10 and the default sample. */
int sl_quality_measure(const struct sl_affinities *a, int dims, const float *y, struct sl_quality *out,
		       struct sl_error *err);

#ifdef __cplusplus
}
#endif
#endif
