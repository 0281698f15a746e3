/* Recall of neighbours. A k-d tree finds the neighbours in the layout. */
#include <stdlib.h>

#include "core/measure/quality.h"
#include "core/measure/quality_internal.h"
#include "core/measure/tree.h"

_Static_assert(SL_QUALITY_MOST <= SL_TREE_MOST, "the tree finds as many as are asked for");

/* Lists the k entries of largest p in a row; of equal ones, the lower number. Returns their number. */
static uint32_t strongest(const struct sl_affinities *a, uint32_t i, uint32_t k, uint32_t *node)
{
	float p[SL_QUALITY_MOST];
	uint32_t count = 0;
	for (uint64_t e = a->start[i]; e < a->start[i + 1]; e++) {
		if (count == k && !(a->p[e] > p[k - 1]))
			continue;
		uint32_t at = count < k ? count++ : count - 1;
		for (; at && a->p[e] > p[at - 1]; at--) {
			p[at] = p[at - 1];
			node[at] = node[at - 1];
		}
		p[at] = a->p[e];
		node[at] = a->node[e];
	}
	return count;
}

struct task {
	const struct sl_affinities *a;   /* NULL if nb is given */
	const struct sl_neighbours *nb;
	const struct sl_tree *tree;
	const float *y;
	int dims;
	uint32_t k;
};

static double recall_of(const struct task *t, uint32_t i)
{
	uint32_t room[SL_QUALITY_MOST], found_ones[SL_QUALITY_MOST], count = t->k, found = 0;
	const uint32_t *true_ones = room;
	if (t->a) {
		count = strongest(t->a, i, t->k, room);
	} else {
		count = t->k < t->nb->k ? t->k : t->nb->k;
		true_ones = t->nb->index + (size_t)i * t->nb->k;
		while (count && true_ones[count - 1] == SL_NO_NEIGHBOUR)
			count--;
	}
	if (!count)
		return 1;
	uint32_t others = sl_tree_nearest(t->tree, t->y + (size_t)i * (size_t)t->dims, i, count, found_ones, NULL);
	for (uint32_t u = 0; u < count; u++)
		for (uint32_t v = 0; v < others; v++)
			found += true_ones[u] == found_ones[v];
	return (double)found / count;
}

static int measure(struct task *t, uint32_t n, const uint32_t *user, int k, uint32_t queries, double *recall,
		   uint32_t *used, struct sl_error *err)
{
	struct sl_tree *tree = NULL;
	int rc = sl__quality_check(n, user, t->dims, t->y, err);
	if (rc)
		return rc;
	if (k < 1 || k > SL_QUALITY_MOST)
		return sl_error_field(err, SL_BADPARAM, "/k", "k must be from 1 to %d, not %d.", SL_QUALITY_MOST, k);
	*recall = 1;
	*used = 0;
	if (!n)
		return 0;
	queries = queries && queries < n ? queries : n;
	double *share = malloc(queries * sizeof *share);
	rc = share ? sl_tree_create(&tree, n, t->dims, t->y, err) :
	     sl_error_memory(err, "measuring a layout of %u nodes", n);
	if (rc)
		goto out;
	t->tree = tree;
	t->k = (uint32_t)k;
#pragma omp parallel for schedule(dynamic, 64)
	for (uint32_t q = 0; q < queries; q++)
		share[q] = recall_of(t, sl__quality_query(q, queries, n));
	double sum = 0;
	for (uint32_t q = 0; q < queries; q++)
		sum += share[q];
	*recall = sum / queries;
	*used = queries;
out:
	sl_tree_destroy(tree);
	free(share);
	return rc;
}

int sl_quality_recall(const struct sl_affinities *a, int dims, const float *y, int k, uint32_t queries,
		      double *recall, uint32_t *used, struct sl_error *err)
{
	struct task t = {.a = a, .y = y, .dims = dims};
	return measure(&t, a->n, a->user, k, queries, recall, used, err);
}

int sl_quality_recall_neighbours(const struct sl_neighbours *nb, int dims, const float *y, int k, uint32_t queries,
				 double *recall, uint32_t *used, struct sl_error *err)
{
	struct task t = {.nb = nb, .y = y, .dims = dims};
	return measure(&t, nb->n, nb->user, k, queries, recall, used, err);
}
