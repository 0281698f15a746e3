/* clusters.h -- the clusters that people see in a layout: its density peaks, in a few nested levels.
 *
 * Nodes are counted in the cells of a grid and smoothed by a Gaussian (n^(-1/6), Silverman's rate in 2-D). A cell
 * belongs to the peak that the steepest way up from it reaches. Peaks merge where they meet, as in a density tree; of
 * two the one with less excess of mass ends there. Excess of mass is the number of nodes above the level at which
 * they meet (Mueller and Sawitzki 1991), which is also what HDBSCAN selects clusters by (Campello, Moulavi and Sander
 * 2013). A level keeps the peaks with the most; the nodes of others belong to the peak into which theirs has merged.
 * So levels nest, and the same layout has the same clusters, whatever the number of threads.
 *
 * A million nodes take 0.1 seconds of one core. Any thread. */
#ifndef SL_NAMES_CLUSTERS_H
#define SL_NAMES_CLUSTERS_H

#include <stdint.h>

#include "core/error.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SL_MAP_LEVELS 3
#define SL_MAP_CLUSTERS 128        /* at most, of a level */
#define SL_MAP_NONE UINT32_MAX

struct sl_map_cluster {
	uint32_t nodes;
	uint32_t peak;             /* the node that is nearest to its peak */
	uint32_t parent;           /* its cluster in the level before; SL_MAP_NONE: none, as in the first level */
	float at[3];               /* where its name goes: in its dense part, near its centre; in units of the layout */
	float radius;              /* the root mean square distance of its nodes from there */
};

struct sl_map_level {
	uint32_t count;
	struct sl_map_cluster *cluster;   /* [count] the largest first */
};

struct sl_map_clusters {
	uint32_t n;
	int dims, levels;          /* levels 0: no node has a position */
	struct sl_map_level level[SL_MAP_LEVELS];   /* coarse first */
	uint32_t *code;            /* [n] cluster in the last level; SL_MAP_NONE: none */
};

/* y [n * dims], dims 1 to 3; nodes whose position is not finite belong to no cluster. *out: the caller's. */
int sl_map_clusters_make(const float *y, uint32_t n, int dims, struct sl_map_clusters **out, struct sl_error *err);
/* The same from labels [n] < labels of a clustering: one level. SL_MAP_NONE: none. */
int sl_map_clusters_of_labels(const float *y, uint32_t n, int dims, const uint32_t *label, uint32_t labels,
			      struct sl_map_clusters **out, struct sl_error *err);
void sl_map_clusters_free(struct sl_map_clusters *c);   /* NULL is fine */
/* The cluster at a level of a cluster of the last level; SL_MAP_NONE: none. */
uint32_t sl_map_cluster_at(const struct sl_map_clusters *c, int level, uint32_t last);

#ifdef __cplusplus
}
#endif
#endif
