/* Places the parts of a graph side by side. A ball around each part, half an edge wider than the part, keeps them
 * apart; the balls are packed, with the largest in the middle (core/init/pack.h). Nodes without edges are placed around
 * them, as in other layouts of graphs. */
#include <math.h>
#include <stdlib.h>

#include "core/graph/affinities.h"
#include "core/init/pack.h"
#include "core/sammon/sammon_internal.h"
#include "core/sammon/terms.h"

/* Computes the centre of the part's bounding box. Returns the part's radius about it. */
static double find_centre(const struct sl_sammon *m, const struct sl__part *p, const double *y, double centre[3])
{
	double square = 0;
	for (int q = 0; q < m->params.dims; q++) {
		const double *axis = y + (size_t)q * m->room + p->first;
		double low = axis[0], high = axis[0];
		for (uint32_t i = 1; i < p->n; i++) {
			low = fmin(low, axis[i]);
			high = fmax(high, axis[i]);
		}
		centre[q] = 0.5 * (low + high);
	}
	for (uint32_t i = 0; i < p->n; i++) {
		double distance_square = 0;
		for (int q = 0; q < m->params.dims; q++) {
			double off = y[(size_t)q * m->room + p->first + i] - centre[q];
			distance_square += off * off;
		}
		square = fmax(square, distance_square);
	}
	return sqrt(square);
}

struct ball {
	double volume, centre[3];
	uint32_t part;
};

static int by_volume(const void *a, const void *b)
{
	const struct ball *x = a, *y = b;
	if (x->volume != y->volume)
		return x->volume < y->volume ? 1 : -1;
	return x->part < y->part ? -1 : x->part > y->part;
}

/* to: [n][dims] */
static int place_parts(const struct sl_sammon *m, const double *y, float *to)
{
	const struct sl__terms *t = m->terms;
	size_t dims = (size_t)m->params.dims;
	struct ball *ball = malloc(((size_t)t->parts + 1) * sizeof *ball);
	double *volume = malloc(((size_t)t->parts + 1) * sizeof *volume);
	double *centre = malloc((dims * t->parts + 1) * sizeof *centre);
	int code = ball && volume && centre ? 0 : SL_NOMEM;
	for (uint32_t k = 0; !code && k < t->parts; k++) {
		double radius = find_centre(m, &t->part[k], y, ball[k].centre) + 0.5 * t->unit;
		ball[k].part = k;
		ball[k].volume = dims == 1 ? radius : dims == 2 ? radius * radius : radius * radius * radius;
	}
	if (!code) {
		qsort(ball, t->parts, sizeof *ball, by_volume);
		for (uint32_t k = 0; k < t->parts; k++)
			volume[k] = ball[k].volume;
		sl__pack(m->params.dims, t->parts, volume, centre);
	}
	for (uint32_t k = 0; !code && k < t->parts; k++) {
		const struct sl__part *p = &t->part[ball[k].part];
		for (uint32_t i = p->first; i < p->first + p->n; i++)
			for (size_t q = 0; q < dims; q++)
				to[i * dims + q] = (float)((y[q * m->room + i] - ball[k].centre[q] + centre[k * dims + q]) / t->scale);
	}
	free(ball);
	free(volume);
	free(centre);
	return code;
}

/* Moves the mean of the nodes to the origin. */
static void put_in_middle(float *y, uint32_t n, size_t dims)
{
	for (size_t q = 0; q < dims; q++) {
		double mean = 0;
		for (uint32_t i = 0; i < n; i++)
			mean += (double)y[i * dims + q] / n;
		for (uint32_t i = 0; i < n; i++)
			y[i * dims + q] = (float)((double)y[i * dims + q] - mean);
	}
}

int sl__terms_arrange(const struct sl_sammon *m, const double *y, float *out)
{
	const struct sl__terms *t = m->terms;
	size_t dims = (size_t)m->params.dims;
	float *to = malloc((t->n * dims + 1) * sizeof *to);
	int code = to ? place_parts(m, y, to) : SL_NOMEM;
	if (!code) {
		put_in_middle(to, t->n, dims);
		struct sl_affinities rows = {.n = t->n, .n_user = t->n_user, .user = t->user};
		sl_affinities_expand(&rows, m->params.dims, to, out);
	}
	free(to);
	return code;
}
