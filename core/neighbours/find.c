/* Chooses the kind of search, runs it, and makes its result. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/neighbours/search.h"
#include "core/points/points.h"

#define LARGEST_POWER 16
#define EXACT_OPERATIONS 3e10  /* up to here all pairs are compared, for any recall: half a second */
#define EXACT_BYTES 6e12       /* the same for bytes: ten seconds; cells would take as long */

int sl_neighbours_check(const struct sl_points *p, const struct sl_neighbours_params *params, struct sl_error *err)
{
	if (p->n < 2)
		return sl_error_set(err, SL_BADDATA, "There %s %u usable %s; neighbours need at least 2.", 
				    p->n == 1 ? "is" : "are",
				    p->n, p->n == 1 ? "point" : "points");
	if (!p->d)
		return sl_error_set(err, SL_BADDATA, "The points have no columns.");
	if (!params->k)
		return sl_error_field(err, SL_BADPARAM, "/neighbours", "neighbours must be 1 or more, not 0.");
	if ((unsigned)params->metric >= SL_DISTANCES)
		return sl_error_field(err, SL_BADPARAM, "/metric", "There is no metric with the number %d.", params->metric);
	if (params->metric == SL_LP && !(params->p >= 1 && params->p <= LARGEST_POWER))
		return sl_error_field(err, SL_BADPARAM, "/p", "p is %g; the exponent of metric lp must be from 1 to %d "
				      "(or use linf, its limit).", params->p, LARGEST_POWER);
	if (!(params->recall > 0 && params->recall <= 1))
		return sl_error_field(err, SL_BADPARAM, "/recall", "recall must be greater than 0 and at most 1, not %g.",
				      params->recall);
	return 0;
}

int sl__distance_points(const struct sl_points **view, const struct sl_points *p, int metric, unsigned flags,
			struct sl_error *err)
{
	*view = p;
	if (metric == SL_COSINE || metric == SL_INNER_PRODUCT)
		return sl_points_uncentred(view, p, SL_OFFSETS_VALUES | flags, sl_distance_name(metric), err);
	if (metric == SL_CORRELATION)
		return sl_points_uncentred(view, p, SL_OFFSETS_ROWS | flags, sl_distance_name(metric), err);
	if (metric == SL_JACCARD)
		return sl_points_uncentred(view, p, SL_OFFSETS_ZEROS | flags, sl_distance_name(metric), err);
	return 0;
}

int sl_distance_points(const struct sl_points **view, const struct sl_points *p, int metric, struct sl_error *err)
{
	return sl__distance_points(view, p, metric, 0, err);
}

static int create(struct sl_neighbours **out, const struct sl_points *p, const struct sl_neighbours_params *params,
		  uint32_t k)
{
	struct sl_neighbours *nb = calloc(1, sizeof *nb);
	if (!nb)
		return SL_NOMEM;
	*out = nb;
	nb->n = p->n;
	nb->n_user = p->n_user;
	nb->k = k;
	nb->metric = params->metric;
	nb->p = params->metric == SL_LP ? params->p : 0;
	nb->recall = 1;
	nb->index = malloc(((size_t)nb->n * k + 1) * sizeof *nb->index);
	nb->distance = malloc(((size_t)nb->n * k + 1) * sizeof *nb->distance);
	nb->user = p->user ? malloc(((size_t)nb->n + 1) * sizeof *nb->user) : NULL;
	if (!nb->index || !nb->distance || (p->user && !nb->user))
		return SL_NOMEM;
	if (p->user)
		memcpy(nb->user, p->user, (size_t)nb->n * sizeof *nb->user);
	return 0;
}

static int search(struct sl__search *s, struct sl_neighbours *nb)
{
	double pairs = (double)s->n * s->n * s->d;
	bool found = false;
	int rc = 0;
	bool bytes = sl__search_knows_bytes(s->points, s->params->metric);
	if (s->params->recall < 1 && s->params->metric <= SL_LINF && pairs > (bytes ? EXACT_BYTES : EXACT_OPERATIONS))
		rc = sl__search_inverted(s, nb, &found);
	if (!rc && !found)
		rc = bytes ? sl__search_bytes(s, nb) : sl__search_all_pairs(s, nb);
	snprintf(nb->method, sizeof nb->method, found ? "ivf" : "exact");
	return rc;
}

int sl_neighbours_find(struct sl_neighbours **out, const struct sl_points *given,
		       const struct sl_neighbours_params *params, struct sl_error *err)
{
	struct sl_neighbours *nb = NULL;
	struct sl__search s = {0};
	const struct sl_points *p = given;
	int rc = sl_neighbours_check(given, params, err);
	*out = NULL;
	if (!rc)
		rc = sl_distance_points(&p, given, params->metric, err);
	if (rc)
		return rc;
	rc = sl__search_init(&s, p, params);
	if (!rc)
		rc = create(&nb, p, params, s.k);
	if (!rc)
		rc = search(&s, nb);
	if (!rc)
		sl__search_add_zero_rows(&s, nb);
	sl__search_finish(&s);
	sl_points_uncentred_end(p, given);
	if (!rc) {
		*out = nb;
		return 0;
	}
	sl_neighbours_destroy(nb);
	if (rc == SL_CANCELLED)
		return sl_error_set(err, rc, "The search for neighbours was cancelled.");
	return sl_error_set(err, rc, SL_NO_MEMORY "%u neighbours of each of %u points.", params->k, given->n);
}
