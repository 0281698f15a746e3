/* sort.h -- sorts whole numbers in place, ascending. qsort() calls a function for each comparison, and most of them
 * mispredict a branch. */
#ifndef SL_SORT_H
#define SL_SORT_H

#include <stdint.h>

void sl_sort(uint64_t *x, uint32_t n);

/* For qsort(): ascending. */
int sl_by_double(const void *a, const void *b);
int sl_by_float(const void *a, const void *b);

#endif
