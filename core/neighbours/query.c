/* Finds the neighbours of points that are not in the table. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/neighbours/search.h"
#include "core/points/points.h"

static void no_direction(uint32_t row, struct sl_neighbours *nb)
{
	for (uint32_t e = 0; e < nb->k; e++) {
		nb->index[(size_t)row * nb->k + e] = e;
		nb->distance[(size_t)row * nb->k + e] = 1;
	}
}

/* Searches for SL__GROUP queries from `first` on. */
static void search_group(const struct sl__search *s, struct sl__task *t, const struct sl_points *queries,
			 uint32_t first, float *row, struct sl_neighbours *nb)
{
	uint32_t count = queries->n - first < SL__GROUP ? queries->n - first : SL__GROUP;
	bool fine[SL__GROUP] = {false};
	for (uint32_t q = 0; q < SL__GROUP; q++) {
		if (q < count)
			sl_points_rows(queries, first + q, 1, row);
		fine[q] = q < count && sl__search_prepare(s, row);
		for (uint32_t k = 0; k < s->d; k++)
			t->query[(size_t)k * SL__GROUP + q] = fine[q] ? row[k] : 0;
		sl__nearest_start(&t->list[q], fine[q] ? nb->k : 0);
	}
	s->kernels->scan(s->params->metric, (float)s->params->p, s->d, t->query, s->panel, s->panels, s->number, t->list);
	for (uint32_t q = 0; q < count; q++)
		if (fine[q])
			sl__search_emit_query(s, first + q, &t->list[q], nb);
		else
			no_direction(first + q, nb);
}

static int search_all(const struct sl__search *s, const struct sl_points *queries, struct sl_neighbours *nb)
{
	int failed = 0;
#pragma omp parallel reduction(| : failed)
	{
		struct sl__task *t = malloc(sizeof *t);
		float *row = malloc(sizeof *row * s->d);
		failed = !t || sl__task_init(t, s, nb->k) || !row;
#pragma omp for schedule(dynamic, 1)
		for (uint32_t first = 0; first < queries->n; first += SL__GROUP)
			if (!failed && !sl__search_cancelled(s))
				search_group(s, t, queries, first, row, nb);
		if (t)
			sl__task_finish(t);
		free(t);
		free(row);
	}
	return failed ? SL_NOMEM : sl__search_cancelled(s) ? SL_CANCELLED : 0;
}

/* Checks that each query has a neighbour. */
static int check_found(const struct sl_points *queries, const struct sl_neighbours *nb, struct sl_error *err)
{
	for (uint32_t i = 0; i < nb->n; i++) {
		const uint32_t *index = nb->index + (size_t)i * nb->k;
		if (nb->k && (index[0] == SL_NO_NEIGHBOUR || !isfinite(nb->distance[(size_t)i * nb->k])))
			return sl_error_set(err, SL_BADDATA, "Row %u is so far from all points that its distances "
					    "overflow; new points must have the same columns and scale.",
					    (queries->user ? queries->user[i] : i) + 1);
	}
	return 0;
}

static int check_columns(const struct sl_points *points, const struct sl_points *queries, struct sl_error *err)
{
	if (points->d == queries->d)
		return 0;
	return sl_error_set(err, SL_BADDATA, "The new points have %u column%s and the points that were laid out %u; they "
			    "must have the same columns, in the same order.", queries->d, queries->d == 1 ? "" : "s", points->d);
}

static int query(struct sl_neighbours **out, const struct sl_points *points, const struct sl_points *queries,
		 const struct sl_neighbours_params *params, struct sl_error *err)
{
	struct sl__search s = {0};
	struct sl_neighbours *nb = NULL;
	*out = NULL;
	int rc = sl_neighbours_check(points, params, err);
	if (!rc)
		rc = check_columns(points, queries, err);
	if (rc)
		return rc;
	rc = sl__search_init(&s, points, params);
	nb = rc ? NULL : calloc(1, sizeof *nb);
	if (!nb) {
		rc = SL_NOMEM;
		goto out;
	}
	nb->n = nb->n_user = queries->n;
	nb->k = params->k < points->n ? params->k : points->n;
	nb->metric = params->metric;
	nb->p = params->metric == SL_LP ? params->p : 0;
	nb->recall = 1;
	snprintf(nb->method, sizeof nb->method, "exact");
	nb->index = malloc(((size_t)nb->n * nb->k + 1) * sizeof *nb->index);
	nb->distance = malloc(((size_t)nb->n * nb->k + 1) * sizeof *nb->distance);
	rc = nb->index && nb->distance ? sl__search_pack(&s, NULL, s.n) : SL_NOMEM;
	if (!rc)
		rc = search_all(&s, queries, nb);
out:
	sl__search_finish(&s);
	if (rc == SL_CANCELLED)
		sl_error_set(err, rc, "The search for neighbours was cancelled.");
	else if (rc)
		sl_error_set(err, rc, SL_NO_MEMORY "%u neighbours of each of %u new points.", params->k, queries->n);
	else
		rc = check_found(queries, nb, err);
	if (rc) {
		sl_neighbours_destroy(nb);
		return rc;
	}
	*out = nb;
	return 0;
}

int sl_neighbours_query(struct sl_neighbours **out, const struct sl_points *points, const struct sl_points *queries,
			const struct sl_neighbours_params *params, struct sl_error *err)
{
	const struct sl_points *old = NULL, *new = NULL;
	*out = NULL;
	int rc = sl_distance_points(&old, points, params->metric, err);
	if (!rc)
		rc = sl__distance_points(&new, queries, params->metric, SL_OFFSETS_UNCHECKED, err);
	if (!rc)
		rc = query(out, old, new, params, err);
	sl_points_uncentred_end(old, points);
	sl_points_uncentred_end(new, queries);
	return rc;
}
