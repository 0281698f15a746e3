/* Frees a run, or a part of it that is no longer needed. Arrays that do not exist are NULL. */
#include <stdlib.h>

#include "core/kmeans/kmeans_internal.h"

void sl__kmeans_drop_axes(struct sl_kmeans *m)
{
	free(m->outline);
	free(m->outline_length);
	free(m->outline_centroid);
	free(m->margin);
	free(m->strayed);
	free(m->outlined);
	m->outline = NULL;
	m->outline_length = m->outline_centroid = m->margin = m->strayed = NULL;
	m->outlined = NULL;
	m->axes = NULL;
	m->f = m->d;
	m->y = m->x;
	m->c = m->centroid;
	m->length = m->norm;
	m->packed = false;
}

void sl__kmeans_drop_over(struct sl_kmeans *m)
{
	if (!m->over)
		return;
	free(m->over->row);
	free(m->over->weight);
	free(m->over->square);
	free(m->over->seed);
	free(m->over->label);
	free(m->over->fetched);
	free(m->over);
	m->over = NULL;
}

void sl__kmeans_drop_part(struct sl_kmeans *m)
{
	if (m->part && m->found && !m->part->axes) {  /* they save too little and were dropped */
		if (m->axes)
			sl__kmeans_drop_axes(m);
		sl__kmeans_axes_destroy(m->found);
		m->found = NULL;
	}
	sl_kmeans_destroy(m->part);
	free(m->rows);
	m->part = NULL;
	m->rows = NULL;
}

void sl_kmeans_destroy(struct sl_kmeans *m)
{
	if (!m)
		return;
	if (m->passes.arg)
		m->passes.close(m->passes.arg);
	sl__kmeans_drop_part(m);
	sl__kmeans_drop_over(m);
	sl__kmeans_drop_axes(m);
	sl__kmeans_axes_destroy(m->found);
	free(m->copy);
	free(m->start);
	free(m->norm);
	free(m->centroid);
	free(m->sum);
	free(m->count);
	free(m->label);
	free(m->lane_of);
	free(m->centroid_in);
	free(m->panel);
	free(m->half);
	free(m->drift);
	free(m->group_drift);
	free(m->upper);
	free(m->lower);
	free(m->before);
	free(m->block_sum);
	free(m->column_sum);
	free(m->best_centroid);
	free(m->best_label);
	free(m->taken);
	free(m);
}
