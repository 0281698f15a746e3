/* tree.h -- repulsion by Barnes and Hut's approximation. Internal to core/cpu/.
 *
 * Every iteration builds a tree of square cells (1-D: intervals, 3-D: cubes) on the layout. For a group of points that
 * is far from a cell, all points of the cell are replaced by their centre. A cell is far if the distance from the
 * group's bounding box to the centre is at least 1 / theta times the longest side of the bounding box of the cell's
 * points.
 *
 * J. Barnes, P. Hut: A hierarchical O(N log N) force-calculation algorithm. Nature 324, 446 (1986). For t-SNE: L. van
 * der Maaten: Accelerating t-SNE using tree-based algorithms. JMLR 15, 3221 (2014). There each point walks through the
 * tree by itself, and the side is that of the whole cell. Here a group of points walks once, with the distance of its
 * nearest corner, so it never uses a cell that theta forbids for one of its points. */
#ifndef SL_CPU_TREE_H
#define SL_CPU_TREE_H

#include <stdint.h>

#include "core/cpu/kernels.h"
#include "core/error.h"

struct sl_tree_node {
	float at[3];        /* the centre of its points */
	float mass;         /* their number */
	float open;         /* squared distance below which the walk enters its children, or its points; 0: never */
	uint32_t from, to;  /* places of its points */
	uint32_t next;      /* the node after the last of its descendants; a leaf has none */
};

/* The points of a leaf, which walk through the tree together. */
struct sl_tree_group {
	uint32_t from, to;  /* places */
};

struct sl_tree {
	uint32_t n;
	int dims;
	double theta;
	uint64_t *key, *other_key;     /* [n] Morton order, and what it is sorted into */
	uint32_t *index, *other_index; /* [n] the point at each place */
	uint32_t *count;               /* [chunks][digits], then places */
	uint32_t chunks, chunk_points;
	float *at[3];                  /* [n] coordinates by place */
	struct sl_tree_node *node;     /* depth first */
	struct sl_tree_group *group;
	double *part;                  /* [groups] of Z */
	uint32_t nodes, groups, room;  /* room: of all three */
};

uint64_t sl__tree_bytes(uint32_t n, int dims);
int sl__tree_init(struct sl_tree *t, uint32_t n, int dims, double theta, struct sl_error *err);
void sl__tree_finish(struct sl_tree *t);
/* Outside a team. y [n * dims], finite; threads: the number of threads that sort it. */
int sl__tree_build(struct sl_tree *t, const float *y, int threads, struct sl_error *err);
/* Team. force[i * dims + k] = sum_j (y_i - y_j) (1 + |y_i - y_j|^2)^-(nu + 1), approximately; returns Z. */
double sl__tree_repel(struct sl_tree *t, const struct sl_cpu_kernels *kernels, double nu, float *force);

#endif
