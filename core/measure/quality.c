/* What is given decides what is measured: each measure has a function here. Beyond the limits below, sums over pairs
 * are sampled, or taken for fewer nodes; the rules depend on sizes alone, so a repeated measurement has the same
 * result. */
#include "core/measure/quality.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/measure/quality_internal.h"

#define EXACT_NODES 100000       /* Z is exact up to here */
#define EXACT_HEAVY_NODES 20000  /* with other degrees of freedom, whose kernel takes ten times as long */
#define DISTANCES 4e9
#define HEAVY_DISTANCES 3e8
#define COMPARISONS 3e10         /* most comparisons in the tree and between lists of neighbours */

/* The rows user [n] of y; user NULL: all rows. The caller frees *copy. */
static const float *pick(const float *y, int dims, uint32_t n, const uint32_t *user, float **copy)
{
	size_t d = (size_t)dims;
	*copy = NULL;
	if (!user)
		return y;
	*copy = malloc(sizeof *y * n * d + 1);
	for (uint32_t i = 0; i < n && *copy; i++)
		memcpy(*copy + i * d, y + user[i] * d, sizeof *y * d);
	return *copy;
}

static int no_memory(const struct sl_quality_input *in, struct sl_error *err)
{
	return sl_error_memory(err, "measuring a layout of %u nodes", in->n_user);
}

/* All nodes or, if k is large, as many as take a minute at most. */
static uint32_t recall_queries(int k, uint32_t n)
{
	return (uint32_t)fmin(fmax(COMPARISONS / (k * (k + 100.0)), 64), n);
}

static int against_affinities(const struct sl_quality_input *in, struct sl_quality *out, struct sl_error *err)
{
	const struct sl_affinities *a = in->a;
	double dof = in->dof > 0 ? in->dof : 1;
	bool plain = dof == 1;
	uint32_t most = plain ? EXACT_NODES : EXACT_HEAVY_NODES;
	uint32_t samples = a->n > most ? (uint32_t)fmax((plain ? DISTANCES : HEAVY_DISTANCES) / a->n, 1) : 0;
	float *y = malloc(sizeof *y * a->n * (size_t)in->dims + 1);
	if (!y)
		return no_memory(in, err);
	sl_affinities_gather(a, in->dims, in->y, y);
	int rc = sl_quality_divergence(a, in->dims, dof, y, samples, &out->kl, &out->z, &out->kl_error, err);
	if (!rc && !in->neighbours)
		rc = sl_quality_recall(a, in->dims, y, out->k, recall_queries(out->k, a->n), &out->recall,
				       &out->recall_queries, err);
	if (!rc && !in->neighbours)
		out->recall_k = out->k;
	free(y);
	return rc;
}

static int against_neighbours(const struct sl_quality_input *in, struct sl_quality *out, struct sl_error *err)
{
	float *own;
	const struct sl_neighbours *nb = in->neighbours;
	const float *y = pick(in->y, in->dims, nb->n, nb->user, &own);
	if (!y)
		return no_memory(in, err);
	int rc = sl_quality_recall_neighbours(nb, in->dims, y, out->k, recall_queries(out->k, nb->n), &out->recall,
					      &out->recall_queries, err);
	if (!rc)
		out->recall_k = (uint32_t)out->k < nb->k ? out->k : (int)nb->k;
	free(own);
	return rc;
}

static int against_points(const struct sl_quality_input *in, struct sl_quality *out, struct sl_error *err)
{
	float *own;
	const float *y = pick(in->y, in->dims, in->points->n, in->points->user, &own);
	if (!y)
		return no_memory(in, err);
	int rc = sl_quality_trust(in->points, in->metric, in->p, in->dims, y, out->k, 0, &out->trustworthiness,
				  &out->trust_queries, err);
	if (!rc)
		out->trust_k = sl_quality_trust_k(in->points->n, out->k);
	free(own);
	return rc;
}

/* Only nodes that were embedded count; the positions of the others have no meaning. */
static int against_labels(const struct sl_quality_input *in, struct sl_quality *out, struct sl_error *err)
{
	const uint32_t *user = in->a ? in->a->user : in->points ? in->points->user :
			       in->neighbours ? in->neighbours->user : NULL;
	uint32_t n = in->a ? in->a->n : in->points ? in->points->n : in->neighbours ? in->neighbours->n : in->n_user;
	float *own;
	const float *y = pick(in->y, in->dims, n, user, &own);
	uint32_t *label = malloc(sizeof *label * n + 1);
	int rc = y && label ? 0 : no_memory(in, err);
	for (uint32_t i = 0; i < n && !rc; i++)
		label[i] = in->label[user ? user[i] : i];
	if (!rc)
		rc = sl_quality_silhouette(n, in->dims, y, label, in->labels, 0, &out->silhouette,
					   &out->silhouette_queries, err);
	free(label);
	free(own);
	return rc;
}

static int belongs(const struct sl_quality_input *in, const char *what, uint32_t n, struct sl_error *err)
{
	return n == in->n_user ? 0 :
	       sl_error_set(err, SL_BADPARAM, "The layout has %u rows and the %s %u; both must have the same number.",
			    in->n_user, what, n);
}

static int cancelled(const struct sl_quality_input *in, struct sl_error *err)
{
	if (!in->cancel || !__atomic_load_n(in->cancel, __ATOMIC_RELAXED))
		return 0;
	return sl_error_set(err, SL_CANCELLED, "The measurement was cancelled.");
}

int sl_quality_measure(const struct sl_quality_input *in, struct sl_quality *out, struct sl_error *err)
{
	*out = (struct sl_quality){
		.nodes = in->n_user, .k = in->k ? in->k : 10, .kl = NAN, .kl_error = NAN, .z = NAN, .recall = NAN,
		.trustworthiness = NAN, .silhouette = NAN,
	};
	int rc = sl__quality_check(in->n_user, NULL, in->dims, in->y, err);
	if (!rc && (out->k < 1 || out->k > SL_QUALITY_MOST))
		rc = sl_error_field(err, SL_BADPARAM, "/k", "k must be from 1 to %d, not %d.", SL_QUALITY_MOST, out->k);
	if (!rc && in->points)
		rc = belongs(in, "points", in->points->n_user, err);
	if (!rc && in->neighbours)
		rc = belongs(in, "neighbours", in->neighbours->n_user, err);
	if (!rc && in->a)
		rc = belongs(in, "graph", in->a->n_user, err);
	const struct {
		const char *name;
		bool wanted;
		int (*measure)(const struct sl_quality_input *in, struct sl_quality *out, struct sl_error *err);
	} measures[] = {
		{"KL divergence", in->a != NULL, against_affinities},
		{"recall", in->neighbours != NULL, against_neighbours},
		{"trustworthiness", in->points != NULL, against_points},
		{"silhouette", in->label != NULL, against_labels},
	};
	int done = 0, of = (in->a != NULL) + (in->neighbours != NULL) + (in->points != NULL) + (in->label != NULL);
	for (int i = 0; !rc && i < 4; i++) {
		if (!measures[i].wanted)
			continue;
		rc = cancelled(in, err);
		if (!rc && in->progress)
			in->progress(in->arg, measures[i].name, done++, of);
		if (!rc)
			rc = measures[i].measure(in, out, err);
	}
	return rc;
}
