/* Names and labels are optional arrays beside the entries. A graph is immutable, so nothing here takes a lock. */
#include "core/graph/graph.h"
#include "core/taken/taken.h"

#include <stdlib.h>
#include <string.h>

void sl_graph_destroy(struct sl_graph *g)
{
	if (!g)
		return;
	free(g->start);
	free(g->node);
	free(g->weight);
	free(g->name_bytes);
	free(g->name_at);
	free(g->label);
	if (g->label_name)
		for (uint32_t k = 0; k < g->labels; k++)
			free(g->label_name[k]);
	free(g->label_name);
	sl_taken_destroy(g->taken);
	free(g);
}

uint64_t sl_graph_bytes(const struct sl_graph *g)
{
	uint64_t bytes = sizeof *g;

	bytes += ((uint64_t)g->n + 1) * sizeof *g->start + g->m * sizeof *g->node;
	if (g->weight)
		bytes += g->m * sizeof *g->weight;
	if (g->name_bytes)
		bytes += g->name_at[g->n] + ((uint64_t)g->n + 1) * sizeof *g->name_at;
	if (g->label)
		bytes += (uint64_t)g->n * sizeof *g->label;
	for (uint32_t k = 0; k < g->labels; k++)
		bytes += sizeof *g->label_name + strlen(g->label_name[k]) + 1;
	return bytes;
}

const char *sl_graph_label(const struct sl_graph *g, uint32_t i)
{
	return g->label[i] == SL_UNLABELLED ? "" : g->label_name[g->label[i]];
}

void sl_labels_settle(uint32_t **label, uint64_t n, char ***name, uint32_t *labels)
{
	uint32_t empty = 0;
	while (empty < *labels && *(*name)[empty])
		empty++;
	if (empty == *labels)
		return;
	free((*name)[empty]);
	memmove(*name + empty, *name + empty + 1, (*labels - empty - 1) * sizeof **name);
	--*labels;
	for (uint64_t i = 0; i < n; i++) {
		uint32_t *own = &(*label)[i];
		*own = *own == empty ? SL_UNLABELLED : *own > empty && *own != SL_UNLABELLED ? *own - 1 : *own;
	}
	if (*labels)
		return;
	free(*label);
	free(*name);
	*label = NULL;
	*name = NULL;
}

const char *sl_graph_name(const struct sl_graph *g, uint32_t i)
{
	return g->name_bytes && i < g->n ? g->name_bytes + g->name_at[i] : NULL;
}

void sl_graph_degrees(const struct sl_graph *g, float *out)
{
	for (uint32_t i = 0; i < g->n; i++)
		out[i] = (float)(g->start[i + 1] - g->start[i]);
}
