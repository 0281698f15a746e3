/* pack.h -- places the components of a graph in the initial layout. */
#ifndef SL_PACK_H
#define SL_PACK_H

#include <stdint.h>

/* Centres [count][dims] for balls of the volumes given (radius: the dims-th root), descending. The first few hundred
 * touch no other, the first one is in the middle; the many small ones after them spiral outward at the golden angle, at
 * about the same density. */
void sl__pack(int dims, uint32_t count, const double *volume, double *centre);

#endif
