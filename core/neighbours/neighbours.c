/* Names of metrics, and the arrays of a result: index and distance [n][k], each row ascending by distance, then by
 * index. */
#include "core/neighbours/neighbours.h"
#include "core/points/points.h"
#include "core/taken/taken.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const metric_names[SL_DISTANCES] = {
	"euclidean", "cosine", "inner_product", "l1", "lp", "linf", "correlation", "hamming", "jaccard",
};

const char *sl_distance_name(int metric)
{
	return (unsigned)metric < SL_DISTANCES ? metric_names[metric] : "unknown";
}

/* The names of metrics in scikit-learn and SciPy. */
static const struct {
	const char *name;
	int metric;
} aliases[] = {
	{"l2", SL_EUCLIDEAN}, {"manhattan", SL_L1}, {"cityblock", SL_L1}, {"chebyshev", SL_LINF}, {"infinity", SL_LINF},
	{"minkowski", SL_LP}, {"p", SL_LP},
};

int sl_distance_parse(const char *name, int *out, struct sl_error *err)
{
	for (size_t k = 0; k < sizeof aliases / sizeof *aliases; k++)
		if (!strcmp(name, aliases[k].name)) {
			*out = aliases[k].metric;
			return 0;
		}
	for (int k = 0; k < SL_DISTANCES; k++)
		if (!strcmp(name, metric_names[k])) {
			*out = k;
			return 0;
		}
	return sl_error_field(err, SL_BADPARAM, "/metric", "There is no metric \"%.40s\"; it must be one of euclidean, "
			      "cosine, inner_product, l1, lp, linf, correlation, hamming, jaccard (or l2, manhattan, "
			      "cityblock, chebyshev, minkowski).", name);
}

void sl_neighbours_destroy(struct sl_neighbours *nb)
{
	if (!nb)
		return;
	free(nb->user);
	free(nb->index);
	free(nb->distance);
	free(nb->axes);
	sl_taken_destroy(nb->taken);
	free(nb);
}

uint64_t sl_neighbours_bytes(const struct sl_neighbours *nb)
{
	return sizeof *nb + (uint64_t)nb->n * nb->k * (sizeof *nb->index + sizeof *nb->distance) +
	       (nb->user ? (uint64_t)nb->n * sizeof *nb->user : 0) +
	       (nb->axes ? (uint64_t)nb->n * SL_AXES * sizeof *nb->axes : 0);
}

int sl_neighbours_axes(struct sl_neighbours *nb, const struct sl_points *p, const int *cancel, struct sl_error *err)
{
	nb->axes = malloc(((size_t)nb->n + 1) * SL_AXES * sizeof *nb->axes);
	if (!nb->axes)
		return sl_error_memory(err, "the principal axes of %u points", nb->n);
	return sl_points_axes(nb->axes, SL_AXES, p, cancel, err);
}

float *sl_neighbours_axes_of_users(const struct sl_neighbours *nb, bool *failed)
{
	float *out = nb->axes ? calloc((size_t)nb->n_user + 1, SL_AXES * sizeof *out) : NULL;
	*failed = nb->axes && !out;
	for (uint32_t i = 0; out && i < nb->n; i++)
		memcpy(out + (size_t)(nb->user ? nb->user[i] : i) * SL_AXES, nb->axes + (size_t)i * SL_AXES,
		       SL_AXES * sizeof *out);
	return out;
}

void sl_neighbours_degrees(const struct sl_neighbours *nb, float *out)
{
	for (uint32_t i = 0; i < nb->n_user; i++)
		out[i] = nb->user ? NAN : 0;
	for (uint32_t i = 0; nb->user && i < nb->n; i++)
		out[nb->user[i]] = 0;
	for (size_t e = 0; e < (size_t)nb->n * nb->k; e++)
		if (nb->index[e] != SL_NO_NEIGHBOUR)
			out[nb->user ? nb->user[nb->index[e]] : nb->index[e]]++;
}
