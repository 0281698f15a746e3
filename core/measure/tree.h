/* tree.h -- the nearest nodes of a place in a layout, by a k-d tree: each split halves the number of nodes, so that
 * uneven layouts are as fast as others. Immutable once made; any number of threads may use it. */
#ifndef SL_TREE_H
#define SL_TREE_H

#include <stdint.h>

#include "core/error.h"

#ifdef __cplusplus
extern "C" {
#endif

struct sl_tree;

/* Copies y [n * dims], finite. Uses OpenMP; the result does not depend on their number. */
int sl_tree_create(struct sl_tree **out, uint32_t n, int dims, const float *y, struct sl_error *err);
void sl_tree_destroy(struct sl_tree *t);  /* NULL is fine */

/* Nodes by place in the tree: near in this order is near in space. [n] */
const uint32_t *sl_tree_order(const struct sl_tree *t);

/* The k nearest to `at`, ascending (ties: the lower number), without node `but` (n: all count), into index[k] and
 * square[k] (squared distances; may be NULL). k <= SL_TREE_MOST. Returns how many there are. Where thousands are
 * equally far, not all of them are looked at for the lowest number. */
#define SL_TREE_MOST 256
uint32_t sl_tree_nearest(const struct sl_tree *t, const float *at, uint32_t but, uint32_t k, uint32_t *index,
			 double *square);

#ifdef __cplusplus
}
#endif
#endif
