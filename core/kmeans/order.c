/* Puts near centroids into one panel: divides the set along the line between two distant centroids, until each part
 * fits a panel. */
#include <stdlib.h>

#include "core/kmeans/kmeans_internal.h"

struct item {
	double along;
	uint32_t number;
};

static int by_place(const void *a, const void *b)
{
	const struct item *x = a, *y = b;
	return x->along != y->along ? (x->along < y->along ? -1 : 1) : x->number < y->number ? -1 : x->number > y->number;
}

static double apart(const struct sl_kmeans *m, uint32_t a, uint32_t b)
{
	const double *x = m->c + (size_t)a * m->f, *y = m->c + (size_t)b * m->f;
	double sum = 0;
	for (uint32_t k = 0; k < m->f; k++)
		sum += (x[k] - y[k]) * (x[k] - y[k]);
	return sum;
}

static uint32_t farthest(const struct sl_kmeans *m, const struct item *items, uint32_t count, uint32_t from)
{
	uint32_t best = from;
	double farthest_square = 0;
	for (uint32_t i = 0; i < count; i++) {
		double now = apart(m, from, items[i].number);
		if (now > farthest_square) {
			farthest_square = now;
			best = items[i].number;
		}
	}
	return best;
}

/* Recursion depth: at most log2(panels) + 1. */
static void split(const struct sl_kmeans *m, struct item *items, uint32_t count)
{
	if (count <= SL__KMEANS_LANES)
		return;
	uint32_t a = farthest(m, items, count, items[0].number), b = farthest(m, items, count, a);
	for (uint32_t i = 0; i < count; i++)
		items[i].along = apart(m, items[i].number, a) - apart(m, items[i].number, b);
	qsort(items, count, sizeof *items, by_place);
	uint32_t panels = (count + SL__KMEANS_LANES - 1) / SL__KMEANS_LANES, half = panels / 2 * SL__KMEANS_LANES;
	split(m, items, half);
	split(m, items + half, count - half);
}

int sl__kmeans_order(struct sl_kmeans *m, uint32_t count)
{
	struct item *items = malloc(count * sizeof *items);
	if (!items)
		return SL_NOMEM;
	for (uint32_t j = 0; j < count; j++)
		items[j] = (struct item){0, j};
	split(m, items, count);
	for (uint32_t lane = 0; lane < m->panels * SL__KMEANS_LANES; lane++) {
		m->centroid_in[lane] = lane < count ? items[lane].number : SL__KMEANS_NONE;
		if (lane < count)
			m->lane_of[items[lane].number] = lane;
	}
	free(items);
	return 0;
}
