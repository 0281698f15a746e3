/* tree.h -- repulsion by Barnes and Hut's approximation, for the CPU engine's own files.
 *
 * A tree of square cells (1-D: intervals, 3-D: cubes) is built on the layout in every iteration. To a group of points
 * that is far from a cell, the cell's points act as if they stood at their centre. Far: the distance from the box
 * around the group to the centre is at least 1 / theta times the longest side of the box around the cell's points.
 *
 * J. Barnes, P. Hut: A hierarchical O(N log N) force-calculation algorithm. Nature 324, 446 (1986). For t-SNE: L. van
 * der Maaten: Accelerating t-SNE using tree-based algorithms. JMLR 15, 3221 (2014). There each point asks by itself
 * and the side is the whole cell's; a group asks once for all of its points, by its nearest corner, and so never takes
 * a cell that theta forbids for one of them. */
#ifndef SL_CPU_TREE_H
#define SL_CPU_TREE_H

#include <stdint.h>

#include "core/cpu/kernels.h"
#include "core/error.h"

struct sl_tree_node {
	float at[3];        /* the centre of its points */
	float mass;         /* their number */
	float open;         /* square of the distance below which its children, or points, are looked at; 0: never */
	uint32_t from, to;  /* places of its points */
	uint32_t next;      /* the node behind the last of its descendants; a leaf has none */
};

/* Points that ask together: those of a leaf. */
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
/* Outside a team. y [n * dims], finite; threads: to sort it. */
int sl__tree_build(struct sl_tree *t, const float *y, int threads, struct sl_error *err);
/* Team. force[i * dims + k] = sum_j (y_i - y_j) (1 + |y_i - y_j|^2)^-(nu + 1), approximately; returns Z. */
double sl__tree_repel(struct sl_tree *t, const struct sl_cpu_kernels *kernels, double nu, float *force);

#endif
