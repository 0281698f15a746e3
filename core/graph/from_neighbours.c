/* Makes P from neighbours. The probabilities p_j|i of each point become a column of a graph, and affinities.c makes P
 * from this graph as from any other, with lambda = 1: it symmetrises, scales and orders it. Memory: 8 bytes an entry
 * for the graph, in addition to that of affinities.c. Each row uses its first 3 * perplexity neighbours, so P does not
 * depend on the number of further neighbours. */
#include <math.h>
#include <float.h>
#include <stdlib.h>
#include <string.h>

#include "core/graph/affinities.h"
#include "core/graph/graph.h"
#include "core/graph/perplexity.h"
#include "core/neighbours/neighbours.h"
#include "core/params.h"
#include "core/sort.h"

/* The number of neighbours that a perplexity uses. */
static uint32_t needed(double perplexity)
{
	return (uint32_t)ceil(3 * perplexity);
}

static int check(const struct sl_neighbours *nb, const struct sl_affinities_params *params, struct sl_error *err)
{
	if (params->perplexities < 0 || params->perplexities > SL_PARAM_LIST_MAX)
		return sl_error_field(err, SL_BADPARAM, "/perplexity", "%d perplexities; there may be 1 to %d.",
				      params->perplexities, SL_PARAM_LIST_MAX);
	for (int s = 0; s < params->perplexities; s++) {
		double wanted = params->perplexity[s];
		if (!(wanted >= 1) || !isfinite(wanted))
			return sl_error_field(err, SL_BADPARAM, "/perplexity",
					      "perplexity must be a finite number, 1 or more, not %g.", wanted);
		if (3 * wanted <= nb->k)
			continue;
		if (needed(wanted) >= nb->n)
			return sl_error_field(err, SL_BADPARAM, "/perplexity", "perplexity is %g; for %u points it must be at most "
					      "%.4g, a third of the other points.", wanted, nb->n, (nb->n - 1) / 3.0);
		return sl_error_field(err, SL_BADPARAM, "/perplexity", "perplexity %g needs %.0f neighbours of each "
				      "point, and %u are known; lower it to %.4g, or search more neighbours.", wanted,
				      ceil(3 * wanted), nb->k, nb->k / 3.0);
	}
	return 0;
}

/* Determines the perplexities: the given ones, or the value of "auto" for these neighbours. */
static void settle(const struct sl_neighbours *nb, const struct sl_affinities_params *params, double *perplexity,
		   int *count)
{
	*count = params->perplexities;
	for (int s = 0; s < *count; s++)
		perplexity[s] = params->perplexity[s];
	if (*count)
		return;
	*count = 1;
	/* with so few neighbours all get the same probability */
	perplexity[0] = sl_perplexity_auto(nb->k);
}

uint32_t sl__perplexity_needs(double perplexity) { return needed(perplexity); }

int sl__perplexities_settle(const struct sl_neighbours *nb, const struct sl_affinities_params *params,
			    double *perplexity, int *count, struct sl_error *err)
{
	int rc = check(nb, params, err);
	if (!rc)
		settle(nb, params, perplexity, count);
	return rc;
}

/* Computes p of the neighbours of row i; `place`: the places of those with a probability above 0, in the order of their
 * numbers, which stand in the upper half; *reached: all perplexities were reached. */
static uint32_t make_row(const struct sl_neighbours *nb, uint32_t i, const double *perplexity, int count, double *p,
			 double *room, uint64_t *place, bool *reached)
{
	const float *distance = nb->distance + (size_t)i * nb->k;
	const uint32_t *index = nb->index + (size_t)i * nb->k;
	uint32_t have = nb->k, used = 0;
	while (have && index[have - 1] == SL_NO_NEIGHBOUR)
		have--;
	*reached = have > 0;
	memset(p, 0, have * sizeof *p);
	for (int s = 0; s < count && have; s++) {
		uint32_t k = needed(perplexity[s]) < have ? needed(perplexity[s]) : have;
		used = k > used ? k : used;
		*reached &= sl__calibrate_row(distance, k, perplexity[s], 1.0 / count, room, p);
	}
	for (uint32_t j = 0; j < used; j++)
		place[j] = (uint64_t)index[j] << 32 | j;
	sl_sort(place, used);
	return used;
}

/* Makes columns in places of `width` entries each, then closes the gaps after shorter ones. */
static int make_columns(const struct sl_neighbours *nb, const struct sl_affinities_params *params, struct sl_graph *g,
			uint32_t *missed)
{
	double perplexity[SL_PARAM_LIST_MAX];
	int count, failed = 0;
	uint32_t width = 1, unreachable = 0;
	settle(nb, params, perplexity, &count);
	for (int s = 0; s < count; s++)
		width = needed(perplexity[s]) > width ? needed(perplexity[s]) : width;
	width = width < nb->k ? width : nb->k;
	g->n = nb->n;
	g->start = malloc(((size_t)g->n + 1) * sizeof *g->start);
	g->node = malloc(((size_t)g->n * width + 1) * sizeof *g->node);
	g->weight = malloc(((size_t)g->n * width + 1) * sizeof *g->weight);
	if (!g->start || !g->node || !g->weight)
		return SL_NOMEM;
#pragma omp parallel reduction(| : failed) reduction(+ : unreachable)
	{
		double *p = malloc(((size_t)nb->k * 3 + 1) * sizeof *p);
		uint64_t *place = malloc(((size_t)nb->k + 1) * sizeof *place);
		failed = !p || !place;
#pragma omp for schedule(dynamic, 256)
		for (uint32_t i = 0; i < nb->n; i++) {
			bool reached = true;
			if (failed)
				continue;
			uint32_t used = make_row(nb, i, perplexity, count, p, p + nb->k, place, &reached);
			g->start[i + 1] = used;
			unreachable += !reached;
			for (uint32_t j = 0; j < used; j++) {
				double chance = p[(uint32_t)place[j]];
				g->node[(size_t)i * width + j] = (uint32_t)(place[j] >> 32);
				g->weight[(size_t)i * width + j] = chance > FLT_MIN ? (float)chance : FLT_MIN;
			}
		}
		free(p);
		free(place);
	}
	if (failed)
		return SL_NOMEM;
	g->start[0] = 0;
	for (uint32_t i = 0; i < g->n; i++) {
		uint64_t used = g->start[i + 1], from = (uint64_t)i * width;
		if (g->start[i] != from) {
			memmove(g->node + g->start[i], g->node + from, used * sizeof *g->node);
			memmove(g->weight + g->start[i], g->weight + from, used * sizeof *g->weight);
		}
		g->start[i + 1] = g->start[i] + used;
	}
	g->m = g->start[g->n];
	*missed = unreachable;
	return 0;
}

int sl_affinities_from_neighbours(struct sl_affinities **out, const struct sl_neighbours *nb,
				  const struct sl_affinities_params *params, struct sl_error *err)
{
	struct sl_affinities_params plain = {.lambda = 1, .order = params->order};
	struct sl_graph g = {0};
	uint32_t unreachable = 0;
	int rc = check(nb, params, err);
	if (rc)
		return rc;
	rc = make_columns(nb, params, &g, &unreachable);
	if (rc)
		sl_error_set(err, rc, SL_NO_MEMORY "the affinities of %u points with %u neighbours each.", nb->n,
			     nb->k);
	if (!rc)
		rc = sl_affinities_create(out, &g, &plain, err);
	free(g.start);
	free(g.node);
	free(g.weight);
	if (rc)
		return rc;
	(*out)->unreachable = unreachable;
	(*out)->n_user = nb->n_user;
	for (uint32_t i = 0; nb->user && i < (*out)->n; i++)
		(*out)->user[i] = nb->user[(*out)->user[i]];
	bool failed;
	(*out)->axes = sl_neighbours_axes_of_users(nb, &failed);
	if (!failed)
		return 0;
	sl_affinities_destroy(*out);
	return sl_error_memory(err, "the principal axes of %u points", nb->n);
}

void sl_affinities_params_from(struct sl_affinities_params *out, const struct sl_params *p)
{
	*out = (struct sl_affinities_params){
		.lambda = p->lambda > 0 ? p->lambda : SL_LAMBDA_DEFAULT,
		.perplexities = p->perplexity.count,
		.drop_leaf_edges = p->drop_leaf_edges,
		.order = SL_ORDER_AUTO,
	};
	_Static_assert(sizeof out->perplexity == sizeof p->perplexity.value, "SL_PERPLEXITIES_MAX is SL_PARAM_LIST_MAX");
	memcpy(out->perplexity, p->perplexity.value, sizeof out->perplexity);
}

double sl_perplexity_auto(uint32_t k)
{
	return k < 6 ? k : fmin(SL_PERPLEXITY_DEFAULT, k / 3.0);
}

uint32_t sl_affinities_neighbours_needed(const struct sl_affinities_params *params, uint32_t n)
{
	double largest = params->perplexities ? 0 : SL_PERPLEXITY_DEFAULT;
	for (int s = 0; s < params->perplexities; s++)
		largest = fmax(largest, params->perplexity[s]);
	double k = ceil(3 * largest), most = n ? n - 1.0 : 0;
	return (uint32_t)(k < most ? k : most);
}
