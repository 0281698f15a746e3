/* The engine's functions for a device of several GPUs: each runs on all ranks of the group, for their parts of the
 * graph or the embedding. Rank 0 holds the parts of all others, and is the one that core/ sees. A graph that is not
 * divided, since it is small, stays on rank 0. */
#include "gpu/engine/divided.h"

#include <stdlib.h>
#include <string.h>

#include "core/graph/affinities.h"
#include "core/graph/graph.h"
#include "gpu/affinities/affinities.h"
#include "gpu/graph/walk.h"
#include "gpu/neighbours/joint/joint.h"
#include "gpu/neighbours/joint/resident.h"

static struct sl_group *group_of(const struct sl_device_embedding *e)
{
	return e->of_rank[0] ? e->graph->device->group : NULL;
}

/* ---- graphs ------------------------------------------------------------------------------------- */

struct putting {
	struct sl_device *device[SL_RANKS_MAX];
	const struct sl_affinities *affinities;
	uint32_t parts[SL_RANKS_MAX + 1];
	struct sl_device_graph *graph[SL_RANKS_MAX];
	struct sl_device_neighbours *neighbours[SL_RANKS_MAX];
	const struct sl_neighbours *given;
	const struct sl_graph *edges;
	const struct sl_affinities_params *params;
	struct sl_affinities *summary[SL_RANKS_MAX];
};

static void list_devices(struct putting *p, struct sl_device *d)
{
	for (int r = 0; d; r++, d = d->others)
		p->device[r] = d;
}

static int put_part(void *context, int rank, struct sl_error *err)
{
	struct putting *p = context;
	return sl__graph_put(p->device[rank], p->affinities, p->parts, &p->graph[rank], err);
}

/* Hands the parts to rank 0, or drops them. A graph that turned out small is whole on each rank: rank 0 keeps it. */
static int complete(struct putting *p, int ranks, int code, struct sl_device_graph **out)
{
	bool alone = !code && !sl__is_divided(p->graph[0]);
	for (int r = 0; r < ranks; r++) {
		if ((code || (alone && r)) && p->graph[r]) {
			sl__device_enter(p->device[r], NULL);
			sl__graph_drop(p->graph[r]);
		} else if (!code && !alone) {
			p->graph[0]->of_rank[r] = p->graph[r];
		}
	}
	sl__device_enter(p->device[0], NULL);
	if (!code)
		*out = p->graph[0];
	return code;
}

/* The same where each rank has made P, and a summary of it. */
static int complete_made(struct putting *p, int ranks, int code, struct sl_affinities **summary,
			 struct sl_device_graph **out)
{
	for (int r = code ? 0 : 1; r < ranks; r++)
		sl_affinities_destroy(p->summary[r]);
	if (!code)
		*summary = p->summary[0];
	return complete(p, ranks, code, out);
}

int sl__divided_put(struct sl_device *d, const struct sl_affinities *a, struct sl_device_graph **out,
		    struct sl_error *err)
{
	struct putting p = {.affinities = a};
	SL_RETURN(sl__graph_fits(a->n, err));
	SL_RETURN(sl__device_enter(d, err));
	if (!sl__graph_divides(d, a->n))
		return sl__graph_put(d, a, NULL, out, err);
	list_devices(&p, d);
	sl__graph_divide(a->n, a->start, d->ranks, p.parts);
	int code = sl__group_run(d->group, put_part, &p, err);
	return complete(&p, d->ranks, code, out);
}

void sl__divided_drop(struct sl_device_graph *g)
{
	if (!g)
		return;
	struct sl_device *d = g->device;
	int ranks = g->of_rank[0] ? d->ranks : 1;
	for (int r = ranks - 1; r >= 0; r--) {
		struct sl_device_graph *part = r ? g->of_rank[r] : g;
		sl__device_enter(part->device, NULL);
		sl__graph_drop(part);
	}
	sl__device_enter(d, NULL);
}

static int make_part(void *context, int rank, struct sl_error *err)
{
	struct putting *p = context;
	return sl__graph_make(p->device[rank], p->edges, p->params, &p->summary[rank], &p->graph[rank], err);
}

int sl__divided_make(struct sl_device *d, const struct sl_graph *g, const struct sl_affinities_params *params,
		     struct sl_affinities **summary, struct sl_device_graph **out, struct sl_error *err)
{
	struct putting p = {.edges = g, .params = params};
	if (!sl__graph_divides(d, g->n))
		return sl__graph_make(d, g, params, summary, out, err);
	list_devices(&p, d);
	int code = sl__group_run(d->group, make_part, &p, err);
	return complete_made(&p, d->ranks, code, summary, out);
}

/* ---- neighbours --------------------------------------------------------------------------------- */

static int put_neighbours(void *context, int rank, struct sl_error *err)
{
	struct putting *p = context;
	return sl__neighbours_put(p->device[rank], p->given, &p->neighbours[rank], err);
}

int sl__divided_neighbours_put(struct sl_device *d, const struct sl_neighbours *nb, struct sl_device_neighbours **out,
			       struct sl_error *err)
{
	struct putting p = {.given = nb};
	if (!d->group)
		return sl__neighbours_put(d, nb, out, err);
	list_devices(&p, d);
	int code = sl__group_run(d->group, put_neighbours, &p, err);
	for (int r = 0; r < d->ranks; r++) {
		if (code)
			sl__neighbours_drop(p.neighbours[r]);
		else if (r)
			p.neighbours[r - 1]->others = p.neighbours[r];
	}
	sl__device_enter(d, NULL);
	if (!code)
		*out = p.neighbours[0];
	return code;
}

void sl__divided_neighbours_drop(struct sl_device_neighbours *nb)
{
	struct sl_device *d = nb ? nb->device : NULL;
	while (nb) {
		struct sl_device_neighbours *next = nb->others;
		sl__neighbours_drop(nb);
		nb = next;
	}
	if (d)
		sl__device_enter(d, NULL);
}

static int make_graph(void *context, int rank, struct sl_error *err)
{
	struct putting *p = context;
	return sl__neighbours_graph(p->neighbours[rank], p->params, &p->summary[rank], &p->graph[rank], err);
}

int sl__divided_neighbours_graph(struct sl_device_neighbours *nb, const struct sl_affinities_params *params,
				 struct sl_affinities **summary, struct sl_device_graph **out, struct sl_error *err)
{
	struct putting p = {.params = params};
	struct sl_device *d = nb->device;
	if (!d->group || !sl__graph_divides(d, nb->n))
		return sl__neighbours_graph(nb, params, summary, out, err);
	list_devices(&p, d);
	for (int r = 0; nb; r++, nb = nb->others)
		p.neighbours[r] = nb;
	int code = sl__group_run(d->group, make_graph, &p, err);
	return complete_made(&p, d->ranks, code, summary, out);
}

/* ---- the walk ----------------------------------------------------------------------------------- */

struct walking {
	struct sl_device_graph *graph;
	float *mass;
	uint32_t *label[SL_RANKS_MAX];
	int k, steps;
	const float *slope, *shift;
	float *before[SL_RANKS_MAX], *x[SL_RANKS_MAX];
};

static int take_mass(void *context, int rank, struct sl_error *err)
{
	struct walking *w = context;
	return sl__walk_mass(w->graph->of_rank[rank], w->mass, err);
}

int sl__divided_walk_mass(struct sl_device_graph *g, float *out, struct sl_error *err)
{
	struct walking w = {.graph = g, .mass = out};
	return g->of_rank[0] ? sl__group_run(g->device->group, take_mass, &w, err) : sl__walk_mass(g, out, err);
}

static int take_components(void *context, int rank, struct sl_error *err)
{
	struct walking *w = context;
	return sl__walk_components(w->graph->of_rank[rank], w->label[rank], err);
}

int sl__divided_walk_components(struct sl_device_graph *g, uint32_t *label, struct sl_error *err)
{
	struct walking w = {.graph = g, .label = {label}};
	int ranks = g->device->ranks, code = 0;
	if (!g->of_rank[0])
		return sl__walk_components(g, label, err);
	for (int r = 1; r < ranks; r++) {
		w.label[r] = malloc(sizeof *label * (g->share.n + 1ull));
		code = w.label[r] ? code : sl_error_memory(err, "the components of %u nodes", g->share.n);
	}
	if (!code)
		code = sl__group_run(g->device->group, take_components, &w, err);
	for (int r = 1; r < ranks; r++) {
		if (!code)
			sl__walk_join(g->share.n, label, w.label[r]);
		free(w.label[r]);
	}
	return code;
}

static int filter_part(void *context, int rank, struct sl_error *err)
{
	struct walking *w = context;
	return sl__walk_filter(w->graph->of_rank[rank], w->k, w->steps, w->slope, w->shift, &w->before[rank], &w->x[rank],
			       err);
}

int sl__divided_walk_filter(struct sl_device_graph *g, int k, int steps, const float *slope, const float *shift,
			    float **before, float **x, struct sl_error *err)
{
	struct walking w = {.graph = g, .k = k, .steps = steps, .slope = slope, .shift = shift};
	if (!g->of_rank[0])
		return sl__walk_filter(g, k, steps, slope, shift, before, x, err);
	for (int r = 0; r < g->device->ranks; r++) {
		w.before[r] = *before;
		w.x[r] = *x;
	}
	int code = sl__group_run(g->device->group, filter_part, &w, err);
	*before = w.before[0];
	*x = w.x[0];
	return code;
}

/* ---- embeddings --------------------------------------------------------------------------------- */

/* The arguments of a function that runs on all ranks. Only rank 0 writes what is out. */
struct call {
	struct sl_device_embedding *e;
	struct sl_device_graph *graph;
	const struct sl_settings *settings;
	const float *y0;
	struct sl_device_embedding *made[SL_RANKS_MAX];
	const struct sl_step *step;
	int iterations, max, count[SL_RANKS_MAX];
	float factor, *y, *attraction, *repulsion;
	double *z;
	bool quantise;
	struct sl_measure measure[SL_RANKS_MAX];
	struct sl_device_snapshot **snapshot;
	struct sl_phase phase[SL_RANKS_MAX][SL_PHASES_MAX];
	const void *state;
	void *saved;
	uint64_t bytes;
};

static int create_part(void *context, int rank, struct sl_error *err)
{
	struct call *c = context;
	return sl__embedding_create(c->graph->of_rank[rank], c->settings, c->y0, &c->made[rank], err);
}

int sl__divided_create(struct sl_device_graph *g, const struct sl_settings *s, const float *y0,
		       struct sl_device_embedding **out, struct sl_error *err)
{
	if (!g->of_rank[0])
		return sl__embedding_create(g, s, y0, out, err);
	struct call c = {.graph = g, .settings = s, .y0 = y0};
	int code = sl__group_run(g->device->group, create_part, &c, err);
	for (int r = 0; r < g->device->ranks; r++) {
		if (code)
			sl__embedding_destroy(c.made[r]);
		else
			c.made[0]->of_rank[r] = c.made[r];
	}
	sl__device_enter(g->device, NULL);
	if (!code)
		*out = c.made[0];
	return code;
}

void sl__divided_destroy(struct sl_device_embedding *e)
{
	if (!e)
		return;
	struct sl_device *d = e->graph->device;
	for (int r = group_of(e) ? d->ranks - 1 : 0; r > 0; r--)
		sl__embedding_destroy(e->of_rank[r]);
	sl__embedding_destroy(e);
}

static int run_part(void *context, int rank, struct sl_error *err)
{
	struct call *c = context;
	return sl__run(c->e->of_rank[rank], c->step, c->iterations, err);
}

int sl__divided_run(struct sl_device_embedding *e, const struct sl_step *step, int iterations, struct sl_error *err)
{
	struct call c = {.e = e, .step = step, .iterations = iterations};
	return group_of(e) ? sl__group_run(group_of(e), run_part, &c, err) : sl__run(e, step, iterations, err);
}

static int measure_part(void *context, int rank, struct sl_error *err)
{
	struct call *c = context;
	return sl__embedding_measure(c->e->of_rank[rank], &c->measure[rank], err);
}

int sl__divided_measure(struct sl_device_embedding *e, struct sl_measure *out, struct sl_error *err)
{
	struct call c = {.e = e};
	if (!group_of(e))
		return sl__embedding_measure(e, out, err);
	int code = sl__group_run(group_of(e), measure_part, &c, err);
	*out = c.measure[0];
	return code;
}

static int snapshot_part(void *context, int rank, struct sl_error *err)
{
	struct call *c = context;
	return sl__embedding_snapshot(c->e->of_rank[rank], rank ? NULL : c->y, err);
}

int sl__divided_snapshot(struct sl_device_embedding *e, float *y, struct sl_error *err)
{
	struct call c = {.e = e, .y = y};
	return group_of(e) ? sl__group_run(group_of(e), snapshot_part, &c, err) : sl__embedding_snapshot(e, y, err);
}

static int start_part(void *context, int rank, struct sl_error *err)
{
	struct call *c = context;
	return sl__embedding_snapshot_start(c->e->of_rank[rank], c->quantise, rank ? NULL : c->snapshot, err);
}

int sl__divided_snapshot_start(struct sl_device_embedding *e, bool quantise, struct sl_device_snapshot **out,
			       struct sl_error *err)
{
	struct call c = {.e = e, .quantise = quantise, .snapshot = out};
	return group_of(e) ? sl__group_run(group_of(e), start_part, &c, err) :
			     sl__embedding_snapshot_start(e, quantise, out, err);
}

static int rescale_part(void *context, int rank, struct sl_error *err)
{
	struct call *c = context;
	return sl__rescale(c->e->of_rank[rank], c->factor, err);
}

int sl__divided_rescale(struct sl_device_embedding *e, float factor, struct sl_error *err)
{
	struct call c = {.e = e, .factor = factor};
	return group_of(e) ? sl__group_run(group_of(e), rescale_part, &c, err) : sl__rescale(e, factor, err);
}

static int save_part(void *context, int rank, struct sl_error *err)
{
	struct call *c = context;
	return sl__state_save(c->e->of_rank[rank], rank ? NULL : c->saved, err);
}

int sl__divided_state_save(struct sl_device_embedding *e, void *out, struct sl_error *err)
{
	struct call c = {.e = e, .saved = out};
	return group_of(e) ? sl__group_run(group_of(e), save_part, &c, err) : sl__state_save(e, out, err);
}

static int load_part(void *context, int rank, struct sl_error *err)
{
	struct call *c = context;
	return sl__state_load(c->e->of_rank[rank], c->state, c->bytes, err);
}

int sl__divided_state_load(struct sl_device_embedding *e, const void *state, uint64_t bytes, struct sl_error *err)
{
	struct call c = {.e = e, .state = state, .bytes = bytes};
	return group_of(e) ? sl__group_run(group_of(e), load_part, &c, err) : sl__state_load(e, state, bytes, err);
}

static int forces_part(void *context, int rank, struct sl_error *err)
{
	struct call *c = context;
	return rank ? sl__embedding_forces(c->e->of_rank[rank], NULL, NULL, NULL, err) :
		      sl__embedding_forces(c->e, c->attraction, c->repulsion, c->z, err);
}

int sl__divided_forces(struct sl_device_embedding *e, float *attraction, float *repulsion, double *z,
		       struct sl_error *err)
{
	struct call c = {.e = e, .attraction = attraction, .repulsion = repulsion, .z = z};
	return group_of(e) ? sl__group_run(group_of(e), forces_part, &c, err) :
			     sl__embedding_forces(e, attraction, repulsion, z, err);
}

static int phases_part(void *context, int rank, struct sl_error *err)
{
	struct call *c = context;
	c->count[rank] = sl__embedding_phases(c->e->of_rank[rank], c->phase[rank], SL_PHASES_MAX, err);
	return c->count[rank] < 0 ? c->count[rank] : 0;
}

int sl__divided_phases(struct sl_device_embedding *e, struct sl_phase *out, int max, struct sl_error *err)
{
	struct call *c;
	if (!group_of(e))
		return sl__embedding_phases(e, out, max, err);
	c = calloc(1, sizeof *c);
	if (!c)
		return sl_error_memory(err, "the phases of an iteration");
	c->e = e;
	int code = sl__group_run(group_of(e), phases_part, c, err), count = c->count[0];
	for (int i = 0; i < count && i < max; i++)
		out[i] = c->phase[0][i];
	free(c);
	return code ? code : count;
}
