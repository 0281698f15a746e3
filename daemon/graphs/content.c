/* Reference counts of the parts of graphs in memory. Loop thread. */
#include <stdlib.h>
#include <string.h>

#include "daemon/graphs/graphs_internal.h"

struct sl_content *sl__content_take(struct sl_graph *graph, struct sl_points *points,
				    struct sl_neighbours *neighbours)
{
	struct sl_content *c = calloc(1, sizeof *c);
	if (!c)
		return NULL;
	c->references = 1;
	c->graph = graph;
	c->points = points;
	c->neighbours = neighbours;
	if (graph) {
		c->bytes += sl_graph_bytes(graph);
		c->nodes = (struct sl_graph){
			.n = graph->n, .name_bytes = graph->name_bytes, .name_at = graph->name_at,
			.label = graph->label, .labels = graph->labels, .label_name = graph->label_name,
		};
		memcpy(c->nodes.label_title, graph->label_title, sizeof c->nodes.label_title);
	}
	if (points) {
		c->bytes += sl_points_bytes(points);
		c->nodes = (struct sl_graph){
			.n = points->n_user, .name_bytes = points->name_bytes, .name_at = points->name_at,
			.label = points->label, .labels = points->labels, .label_name = points->label_name,
		};
		memcpy(c->nodes.label_title, points->label_title, sizeof c->nodes.label_title);
	}
	if (neighbours)
		c->bytes += sl_neighbours_bytes(neighbours);
	return c;
}

struct sl_content *sl__content_ref(struct sl_content *c)
{
	c->references++;
	return c;
}

void sl__content_unref(struct sl_content *c)
{
	if (!c || --c->references)
		return;
	sl_graph_destroy(c->graph);
	sl_points_destroy(c->points);
	sl_neighbours_destroy(c->neighbours);
	free(c);
}
