/* Quicksort whose partition has no branch that depends on the numbers; lists that divide badly, such as those of many
 * equal numbers, are left to qsort(). */
#include "core/sort.h"

#include <stdlib.h>

#define SHORT 20  /* sorted by insertion */

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return x < y ? -1 : x > y;
}

int sl_by_double(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

int sl_by_float(const void *a, const void *b)
{
	float x = *(const float *)a, y = *(const float *)b;
	return (x > y) - (x < y);
}

static void insert(uint64_t *x, uint32_t n)
{
	for (uint32_t i = 1; i < n; i++) {
		uint64_t moved = x[i];
		uint32_t at = i;
		for (; at > 0 && x[at - 1] > moved; at--)
			x[at] = x[at - 1];
		x[at] = moved;
	}
}

static uint64_t middle_of(uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t low = a < b ? a : b, high = a < b ? b : a;
	return c < low ? low : c > high ? high : c;
}

/* Moves the numbers below the pivot to the front; returns how many there are. */
static uint32_t divide(uint64_t *x, uint32_t n, uint64_t pivot)
{
	uint32_t below = 0;
	for (uint32_t i = 0; i < n; i++) {
		uint64_t now = x[i];
		x[i] = x[below];
		x[below] = now;
		below += now < pivot;
	}
	return below;
}

static void sort(uint64_t *x, uint32_t n, int depth)
{
	while (n > SHORT) {
		if (!depth--) {
			qsort(x, n, sizeof *x, by_value);
			return;
		}
		uint32_t below = divide(x, n, middle_of(x[n / 4], x[n / 2], x[n / 4 * 3]));
		if (below < n / 2) {
			sort(x, below, depth);
			x += below;
			n -= below;
		} else {
			sort(x + below, n - below, depth);
			n = below;
		}
	}
	insert(x, n);
}

void sl_sort(uint64_t *x, uint32_t n)
{
	int depth = 8;
	for (uint32_t left = n; left; left /= 2)
		depth += 2;
	sort(x, n, depth);
}
