/* pack.h -- places the components of a graph in the initial layout. */
#ifndef SL_PACK_H
#define SL_PACK_H

#include <stdint.h>

/* centre [count][dims]: places balls of the given volumes (radius: the dims-th root of the volume), which are in
 * descending order. The first ball is in the middle. The first few hundred touch no other ball. The many small ones
 * after them follow a spiral outward at the golden angle, at about the same density. */
void sl__pack(int dims, uint32_t count, const double *volume, double *centre);

#endif
