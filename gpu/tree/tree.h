/* tree.h -- repulsion by Barnes and Hut's approximation, on the device.
 *
 *   tree.c    lays out the tree's arrays in device memory
 *   order.cu  sorts the points in the order of Hilbert's curve
 *   cells.cu  makes the cells above them
 *   sums.cu   computes forces and Z: sums over far cells and near points
 *
 * The approximation is that of core/cpu/tree.h, with the same rule for far cells, but on another tree. Points are
 * sorted along a space-filling curve. SL_TREE_LEAF successive points form a cell of level 0, and four successive cells
 * form a cell of the next level, up to a level of at most SL_TREE_TOP cells. So the number of cells and their places
 * follow from n alone: nothing is allocated, and no layout makes the tree deep. A cell is the box around its points.
 * Points near each other on Hilbert's curve are near each other in the layout, so these boxes are nearly as small as
 * the cells of a quadtree. On MNIST a group of points uses half as many cells and points as in Morton order.
 *
 * Each launcher queues its kernels on a stream and returns the launch's error. None waits or allocates. Sums have a
 * fixed order: equal input gives equal bytes. Tests: tests/gpu/test_tree.c. */
#ifndef SL_GPU_TREE_H
#define SL_GPU_TREE_H

#include <cuda_runtime_api.h>
#include <stdint.h>

#include "gpu/state/control.h"
#include "gpu/state/particles.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SL_TREE_LEAF 8      /* points of a cell of level 0 */
#define SL_TREE_GROUP 32    /* points that walk through the tree together: those of a cell of level 1 */
#define SL_TREE_TOP 64      /* cells of the highest level, at most */
#define SL_TREE_LEVELS 14   /* enough for 2^32 points */
#define SL_TREE_DIGITS 256  /* values of a digit of the sort */
#define SL_TREE_PASSES 4

/* The box around a cell's points, and the sum of their positions. */
struct sl_tree_box {
	float low[3], high[3], sum[3];
};

struct sl_tree_memory {
	uint32_t n;
	int dims;
	int warps;                /* warps of a group: 1 or 4 */
	float inverse_theta2;     /* 1 / theta^2; INFINITY: only cells without width are far */
	int levels;
	uint32_t first[SL_TREE_LEVELS + 1];  /* cell of each level */
	int tile_bits;            /* a block of the sort has 2^tile_bits points */
	uint32_t *key[2];         /* [n] place along the curve; the sort alternates between the two arrays */
	uint32_t *index[2];       /* [n] the point at each place; index[0] after the sort */
	uint32_t *count;          /* [SL_TREE_PASSES][tiles][SL_TREE_DIGITS] */
	float *at;                /* [n * stride] the points' positions, by place */
	float4 *cell;             /* [first[levels]] centre; w: squared distance beyond which it is far; 0: always */
	struct sl_tree_box *box;  /* of the cells of level 3 and above, from first[3] on */
	double *part;             /* [groups] partial sums of Z */
};

/* Fills t, and takes its arrays from *at on, as sl__carve() does. */
void sl__tree_lay_out(struct sl_tree_memory *t, uint32_t n, int dims, double theta, char **at);

/* Makes the tree of the present layout, whose bounds are in the report. */
cudaError_t sl__tree_make(const struct sl_tree_memory *t, const struct sl_particles *p, struct sl_report *report,
			  cudaStream_t stream);
/* After sl__tree_make(): force [n * stride], not yet divided by Z, and report->level_z[0]. The kernel is
 * (1 + r^2)^-nu. */
cudaError_t sl__tree_sums(const struct sl_tree_memory *t, float nu, float *force, struct sl_report *report,
			  cudaStream_t stream);

/* ---- steps of sl__tree_make() ---- */

cudaError_t sl__tree_order(const struct sl_tree_memory *t, const struct sl_particles *p, const struct sl_report *report,
			   cudaStream_t stream);
cudaError_t sl__tree_cells(const struct sl_tree_memory *t, const struct sl_particles *p, struct sl_report *report,
			   cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
