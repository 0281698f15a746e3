/* Frees a run, in whatever state it is: arrays that do not exist yet are NULL. */
#include <stdlib.h>

#include "core/sammon/sammon_internal.h"
#include "core/sammon/terms.h"

void sl__terms_destroy(struct sl__terms *t)
{
	if (!t)
		return;
	sl_sammon_destroy(t->anchors);
	for (int k = 0; t->search && k < t->threads; k++)
		sl__search_destroy(t->search[k]);
	void *owned[] = {t->user, t->start, t->node, t->length, t->part, t->pivot, t->distance, t->weight, t->near_distance,
			 t->near_weight, t->slice, t->search, t->closest, t->owner, t->in_pivot, t->out_pivot, t->share, t->sum,
			 t->total, t->mean_node, t->mean_pivot, t->mean_part, t->pivot_vector, t->node_vector, t->move,
			 t->residual, t->direction, t->product, t->square, t->target};
	for (size_t k = 0; k < sizeof owned / sizeof *owned; k++)
		free(owned[k]);
	free(t);
}

static void place_free(struct sl__sammon_place *p)
{
	free(p->y);
	free(p->force);
	free(p->curve);
}

void sl_sammon_destroy(struct sl_sammon *m)
{
	if (!m)
		return;
	if (m->passes.arg)
		m->passes.close(m->passes.arg);
	free(m->partner);
	sl__terms_destroy(m->terms);
	place_free(&m->best);
	place_free(&m->trial);
	free(m->place);
	free(m->turn);
	free(m->keyed);
	free(m->panel);
	free(m->norm);
	free(m->mass);
	free(m->kept);
	free(m->known);
	free(m->tile_sum);
	free(m->rounded);
	free(m->weight);
	free(m);
}
