/* A new phase of a run, and what is forgotten when centroids change other than by an iteration. */
#include <string.h>

#include "core/kmeans/kmeans_internal.h"

void sl__kmeans_forget(struct sl_kmeans *m)
{
	m->forget = m->blocks;
	memset(m->drift, 0, m->k * sizeof *m->drift);
	memset(m->group_drift, 0, m->panels * sizeof *m->group_drift);
}

void sl__kmeans_enter(struct sl_kmeans *m, enum sl__kmeans_phase phase)
{
	m->phase = phase;
	m->passed = m->moved = m->fill = 0;
}

void sl__kmeans_ready(struct sl_kmeans *m)
{
	sl__kmeans_forget(m);
	m->packed = m->ordered = false;
}
