/* Lists of the nearest points so far; selects the variant of tile.c for this processor. */
#include <math.h>

#include "core/neighbours/tile.h"
#include "core/sort.h"
#include "core/variants.h"

SL_PICK_VARIANT(struct sl__tile_kernels, sl__tile_kernels, sl__tile);

void sl__nearest_start(struct sl__nearest *list, uint32_t k)
{
	list->k = k;
	list->count = 0;
	list->bound = k ? INFINITY : -INFINITY;
}

static inline void swap(uint64_t *a, uint64_t *b)
{
	uint64_t c = *a;
	*a = *b;
	*b = c;
}

/* Moves the `want` smallest of x[n] to the front (Hoare's selection, the middle of three as the pivot). */
static void select_smallest(uint64_t *x, uint32_t n, uint32_t want)
{
	int64_t low = 0, high = (int64_t)n - 1, at = (int64_t)want - 1;
	while (low < high) {
		int64_t middle = low + (high - low) / 2, i = low, j = high;
		if (x[middle] < x[low])
			swap(&x[middle], &x[low]);
		if (x[high] < x[low])
			swap(&x[high], &x[low]);
		if (x[high] < x[middle])
			swap(&x[high], &x[middle]);
		uint64_t pivot = x[middle];
		while (i <= j) {
			while (x[i] < pivot)
				i++;
			while (x[j] > pivot)
				j--;
			if (i <= j)
				swap(&x[i++], &x[j--]);
		}
		if (at <= j)
			high = j;
		else if (at >= i)
			low = i;
		else
			break;
	}
}

void sl__nearest_shrink(struct sl__nearest *list)
{
	if (list->count < list->k || !list->k)
		return;
	select_smallest(list->entry, list->count, list->k);
	list->count = list->k;
	list->bound = sl__entry_key(list->entry[list->k - 1]);
}

uint32_t sl__nearest_sort(struct sl__nearest *list)
{
	sl__nearest_shrink(list);
	sl_sort(list->entry, list->count);
	return list->count;
}
