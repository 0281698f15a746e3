/* resident_engine.h -- the CPU engine with copies of neighbours as "resident" ones, and with P made "on the device", of
 * graphs, too, if SPACELAND_TEST_MAKES=LEAST is set (from LEAST entries on; "full" after it: never enough memory):
 * stands for a device in tests of the code above. */
#ifndef RESIDENT_ENGINE_H
#define RESIDENT_ENGINE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/engine/engine.h"
#include "core/graph/affinities.h"
#include "core/neighbours/neighbours.h"

struct sl_device_neighbours {
	struct sl_device *device;
	struct sl_neighbours *nb;
};

/* Counters over all devices, each of which has its own thread. room: number of tables that fit. */
static struct {
	_Atomic int puts, drops, graphs, residents, room;
} resident = {.room = 1000};

/* Owns the P that the CPU engine borrows for its graphs. */
struct resident_graph {
	struct resident_graph *next;
	struct sl_device_graph *graph;
	struct sl_affinities *affinities;
};
static _Thread_local struct resident_graph *resident_graphs;  /* of this device */

static struct sl_neighbours *resident_copy(const struct sl_neighbours *nb)
{
	struct sl_neighbours *copy = malloc(sizeof *copy);
	size_t m = (size_t)nb->n * nb->k;
	*copy = *nb;
	copy->index = malloc(m * sizeof *nb->index);
	copy->distance = malloc(m * sizeof *nb->distance);
	copy->user = nb->user ? malloc(nb->n * sizeof *nb->user) : NULL;
	memcpy(copy->index, nb->index, m * sizeof *nb->index);
	memcpy(copy->distance, nb->distance, m * sizeof *nb->distance);
	if (nb->user)
		memcpy(copy->user, nb->user, nb->n * sizeof *nb->user);
	copy->taken = NULL;
	copy->axes = nb->axes ? malloc(nb->n * SL_AXES * sizeof *nb->axes) : NULL;
	if (nb->axes)
		memcpy(copy->axes, nb->axes, nb->n * SL_AXES * sizeof *nb->axes);
	return copy;
}

static int resident_put(struct sl_device *device, const struct sl_neighbours *nb, struct sl_device_neighbours **out,
			struct sl_error *err)
{
	resident.puts++;
	if (resident.residents >= resident.room)
		return sl_error_set(err, SL_DEVMEM, "no room");
	*out = malloc(sizeof **out);
	**out = (struct sl_device_neighbours){.device = device, .nb = resident_copy(nb)};
	resident.residents++;
	return 0;
}

static void resident_drop(struct sl_device_neighbours *d)
{
	resident.drops++;
	resident.residents--;
	sl_neighbours_destroy(d->nb);
	free(d);
}

/* Takes a. */
static int resident_keep(struct sl_device *device, struct sl_affinities *a, struct sl_affinities **summary,
			 struct sl_device_graph **out, struct sl_error *err)
{
	resident.graphs++;
	int code = sl_engine_cpu()->graph_put(device, a, out, err);
	if (code) {
		sl_affinities_destroy(a);
		return code;
	}
	struct resident_graph *g = malloc(sizeof *g);
	*g = (struct resident_graph){resident_graphs, *out, a};
	resident_graphs = g;
	struct sl_affinities *s = malloc(sizeof *s);
	*s = *a;
	s->start = NULL;
	s->node = NULL;
	s->p = NULL;
	s->user = malloc(a->n * sizeof *s->user);
	memcpy(s->user, a->user, a->n * sizeof *s->user);
	s->axes = a->axes ? malloc(a->n_user * SL_AXES * sizeof *s->axes) : NULL;
	if (a->axes)
		memcpy(s->axes, a->axes, (size_t)a->n_user * SL_AXES * sizeof *s->axes);
	*summary = s;
	return 0;
}

static int resident_graph(struct sl_device_neighbours *d, const struct sl_affinities_params *params,
			  struct sl_affinities **summary, struct sl_device_graph **out, struct sl_error *err)
{
	struct sl_affinities *a;
	int code = sl_affinities_from_neighbours(&a, d->nb, params, err);
	return code ? code : resident_keep(d->device, a, summary, out, err);
}

static int resident_make(struct sl_device *device, const struct sl_graph *g, const struct sl_affinities_params *params,
			 struct sl_affinities **summary, struct sl_device_graph **out, struct sl_error *err)
{
	struct sl_affinities *a;
	if (strstr(getenv("SPACELAND_TEST_MAKES"), "full"))
		return sl_error_set(err, SL_DEVMEM, "no room for making P");
	int code = sl_affinities_create(&a, g, params, err);
	return code ? code : resident_keep(device, a, summary, out, err);
}

static void resident_graph_drop(struct sl_device_graph *graph)
{
	sl_engine_cpu()->graph_drop(graph);
	for (struct resident_graph **at = &resident_graphs; *at; at = &(*at)->next)
		if ((*at)->graph == graph) {
			struct resident_graph *g = *at;
			*at = g->next;
			sl_affinities_destroy(g->affinities);
			free(g);
			return;
		}
}

static struct sl_engine resident_engine(void)
{
	struct sl_engine engine = *sl_engine_cpu();
	engine.neighbours_put = resident_put;
	engine.neighbours_drop = resident_drop;
	engine.neighbours_graph = resident_graph;
	engine.graph_drop = resident_graph_drop;
	const char *makes = getenv("SPACELAND_TEST_MAKES");
	engine.graph_make = makes ? resident_make : NULL;
	engine.graph_make_least = makes ? strtoull(makes, NULL, 10) : 0;
	return engine;
}

#endif
