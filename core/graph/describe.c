/* describe.c -- describes a finished graph: whether it is symmetric, its components and leaves. */
#include <string.h>

#include "core/graph/builder.h"

/* Visiting the columns in order visits the entries of each row in order, too, so a cursor for each column finds all
 * mirror images in one pass. cursor [n]: scratch. */
static bool is_symmetric(const struct sl_graph *g, uint64_t *cursor)
{
	memcpy(cursor, g->start, g->n * sizeof *cursor);
	for (uint32_t j = 0; j < g->n; j++)
		for (uint64_t k = g->start[j]; k < g->start[j + 1]; k++) {
			uint32_t i = g->node[k];
			uint64_t mirror = cursor[i]++;

			if (mirror >= g->start[i + 1] || g->node[mirror] != j)
				return false;
			if (g->weight && g->weight[mirror] != g->weight[k])
				return false;
		}
	return true;
}

uint32_t sl__find_root(uint32_t *parent, uint32_t i)
{
	while (parent[i] != i) {
		parent[i] = parent[parent[i]];
		i = parent[i];
	}
	return i;
}

/* Counts neighbours and components, regardless of directions. scratch [2 n]. */
static void count_nodes(struct sl_graph *g, uint32_t *scratch)
{
	enum { NONE = -1, MANY = -2 };
	uint32_t *parent = scratch, *only = scratch + g->n, none = (uint32_t)NONE, many = (uint32_t)MANY;

	for (uint32_t i = 0; i < g->n; i++) {
		parent[i] = i;
		only[i] = none;
	}
	for (uint32_t j = 0; j < g->n; j++)
		for (uint64_t k = g->start[j]; k < g->start[j + 1]; k++) {
			uint32_t i = g->node[k], a, b;

			if (g->symmetric && i > j)  /* the mirror image is visited, too */
				break;
			a = sl__find_root(parent, i);
			b = sl__find_root(parent, j);
			only[i] = only[i] == none || only[i] == j ? j : many;
			only[j] = only[j] == none || only[j] == i ? i : many;
			if (a < b)
				parent[b] = a;
			else
				parent[a] = b;
		}
	for (uint32_t i = 0; i < g->n; i++) {
		g->report.isolated += only[i] == none;
		g->report.leaves += only[i] != none && only[i] != many;
	}
	/* the second half counts the nodes of each root now */
	memset(only, 0, g->n * sizeof *only);
	for (uint32_t i = 0; i < g->n; i++)
		only[sl__find_root(parent, i)]++;
	g->report.largest_component = 0;
	for (uint32_t i = 0; i < g->n; i++)
		if (only[i] > 1) {
			g->report.components++;
			if (only[i] > g->report.largest_component)
				g->report.largest_component = only[i];
		}
}

/* scratch: the cursor of is_symmetric(), then the two arrays of count_nodes(). */
void sl__graph_examine(struct sl_graph *g, enum sl_graph_symmetry symmetry, uint64_t *scratch)
{
	g->symmetric = symmetry == SL_SYMMETRIC || is_symmetric(g, scratch);
	if (symmetry == SL_SYMMETRIC)
		g->report.duplicates /= 2;
	count_nodes(g, (uint32_t *)(void *)scratch);
}
