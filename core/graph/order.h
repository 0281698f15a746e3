/* order.h -- numbering the nodes so that neighbours are near in memory.
 *
 * The attraction loop reads the positions of a row's neighbours; when those are close in
 * number they are close in memory, and the loop finds them in a fast cache. All orders here
 * take a symmetric pattern, need O(n) memory and time linear in the entries but for sorting
 * by degree, run on one thread and are deterministic. Internal to core/: for core/graph/ and core/signal/. */
#ifndef SL_ORDER_H
#define SL_ORDER_H

#include <stdint.h>

#include "core/graph/affinities.h"

/* old[new]: a permutation of 0 .. n-1. start[n + 1], node[start[n]]: the symmetric pattern.
 * Returns 0 or SL_NOMEM. */
int sl__order(enum sl_order order, uint32_t n, const uint64_t *start, const uint32_t *node, uint32_t *old);

/* What SL_ORDER_AUTO stands for at n nodes. */
enum sl_order sl__order_choose(uint32_t n);

#endif
