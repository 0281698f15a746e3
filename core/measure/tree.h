/* tree.h -- a k-d tree that finds the nodes nearest to a position in a layout (Friedman, Bentley, Finkel, ACM TOMS 3,
 * 1977). Each split halves the number of nodes, so uneven layouts are as fast as even ones. A tree is immutable; any
 * number of threads may use it. */
#ifndef SL_TREE_H
#define SL_TREE_H

#include <stdint.h>

#include "core/error.h"

#ifdef __cplusplus
extern "C" {
#endif

struct sl_tree;

/* Copies y [n * dims], which is finite. Uses OpenMP; the result does not depend on the number of threads. */
int sl_tree_create(struct sl_tree **out, uint32_t n, int dims, const float *y, struct sl_error *err);
void sl_tree_destroy(struct sl_tree *t);  /* NULL is fine */

/* The nodes [n] in the tree's order: nodes that are near in this order are near in space. */
const uint32_t *sl_tree_order(const struct sl_tree *t);

/* The k nearest to `at`, ascending (ties: the lower number), without node `excluded` (n: none), into index[k] and
 * square[k] (squared distances; may be NULL). k <= SL_TREE_MOST. Returns how many there are. If thousands of nodes are
 * equally far, not all of them are compared, so the lower number may lose the tie. */
#define SL_TREE_MOST 256
uint32_t sl_tree_nearest(const struct sl_tree *t, const float *at, uint32_t excluded, uint32_t k, uint32_t *index,
			 double *square);

#ifdef __cplusplus
}
#endif
#endif
