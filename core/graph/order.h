/* order.h -- numbers the nodes so that neighbours are near in memory.
 *
 * The attraction loop reads the positions of a row's neighbours. If their numbers are close, the positions are close in
 * memory, and the loop finds them in a fast cache. All orders take a symmetric pattern. They need O(n) memory, and time
 * linear in the entries, except for sorting by degree. They run on one thread and are deterministic (E. Cuthill,
 * J. McKee, Proc. 24th ACM National Conference, 1969). Internal to core/: for core/graph/ and core/signal/. */
#ifndef SL_ORDER_H
#define SL_ORDER_H

#include <stdint.h>

#include "core/graph/affinities.h"

/* old[i] becomes the old number of the node with the new number i. start[n + 1], node[start[n]]: the symmetric pattern.
 * Returns 0 or SL_NOMEM. */
int sl__order(enum sl_order order, uint32_t n, const uint64_t *start, const uint32_t *node, uint32_t *old);

/* The same before reverse Cuthill-McKee reverses its sequence; order: not AUTO. The component of the lowest node comes
 * first, and so on: gpu/affinities/ numbers the first ones, and calls this for the others. */
int sl__order_forward(enum sl_order order, uint32_t n, const uint64_t *start, const uint32_t *node, uint32_t *old);

/* The order that SL_ORDER_AUTO stands for with n nodes. */
enum sl_order sl__order_choose(uint32_t n);

#endif
