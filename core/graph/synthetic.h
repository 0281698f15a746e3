/* synthetic.h -- synthetic neighbour graphs of any size, for benchmarks and experiments.
 *
 * The graph is the neighbour graph of points in clusters of uneven size: column j holds the k neighbours of point j,
 * with weights that give a perplexity of about k / 3. It has the properties of real graphs that decide the speed:
 * neighbours have close numbers, as on a manifold of low dimension; some points are neighbours of far more than k
 * others (hubs), some of very few; and a few edges join clusters. */
#ifndef SL_SYNTHETIC_H
#define SL_SYNTHETIC_H

#include "core/graph/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The graph is a pure function of n, k and seed; n > k >= 2, k <= 1000. Every column has exactly k entries; nodes are
 * numbered cluster by cluster, cell by cell. Of the report only entries_read is filled in. Uses OpenMP. The caller
 * destroys *out. */
int sl_synthetic_graph(struct sl_graph **out, uint32_t n, uint32_t k, uint64_t seed, struct sl_error *err);

/* Other kinds of graphs, all weights 1; synthetic_kinds.c tells what they are. A pure function of its arguments,
 * too. */
enum sl_synthetic_kind {
	SL_SYNTHETIC_CLUSTERS, SL_SYNTHETIC_MESH, SL_SYNTHETIC_RANDOM, SL_SYNTHETIC_SMALL_WORLD, SL_SYNTHETIC_ATTACHMENT,
};
extern const char *const sl_synthetic_words[];  /* their names, then NULL */
int sl_synthetic_kind(struct sl_graph **out, enum sl_synthetic_kind kind, uint32_t n, uint32_t k, uint64_t seed,
		      struct sl_error *err);
int sl__synthetic_check(uint32_t n, uint32_t k, struct sl_error *err);  /* SL_BADPARAM: out of range */

#ifdef __cplusplus
}
#endif
#endif
