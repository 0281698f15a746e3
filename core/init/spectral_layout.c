/* spectral_layout.c -- computes coordinates from the vectors: standardises each component and places components side by
 * side. */
#include <math.h>
#include <stdlib.h>

#include "core/init/pack.h"
#include "core/init/spectral_internal.h"
#include "core/random.h"

#define SQUASH 3.0        /* largest coordinate, in standard deviations */

/* Computes coordinate k of a component, with mean 0, root mean square 1 and a sign that does not depend on the start.
 * Outliers are pulled in: a mode may belong to a few nodes only, which would leave no space for the rest. */
static void standardise(const struct sl__component *c, const uint32_t *order, int dims, int k, float *y)
{
	double mean = 0, square = 0, cube = 0;
	size_t d = (size_t)dims;
	const uint32_t *node = order + c->first;
	for (uint32_t i = 0; i < c->count; i++)
		mean += (double)y[node[i] * d + (size_t)k] / c->count;
	for (uint32_t i = 0; i < c->count; i++) {
		double x = (double)y[node[i] * d + (size_t)k] - mean;
		square += x * x / c->count;
		cube += x * x * x;
	}
	double scale = square > 0 ? (cube < 0 ? -1 : 1) / sqrt(square) : 0;
#pragma omp parallel for schedule(static) if (c->count > ROWS)
	for (uint32_t i = 0; i < c->count; i++) {
		float *at = &y[node[i] * d + (size_t)k];
		*at = (float)(SQUASH * tanh(((double)*at - mean) * scale / SQUASH));
	}
}

static void coordinates(struct sl_spectral *s, uint32_t number, const double *centre, float *y)
{
	const struct sl__component *c = &s->component[number];
	size_t d = (size_t)s->dims;
	bool has_coordinates = number < s->large;
	for (uint32_t i = c->first; i < c->first + c->count; i++) {
		uint32_t node = s->order[i];
		for (size_t k = 0; k < d; k++)
			y[node * d + k] = has_coordinates ? s->x[(size_t)node * COLUMNS + k] :
					  (float)sl_random_normal(s->seed, (uint64_t)s->user[node] * 3 + k);
	}
	for (int k = 0; k < s->dims && has_coordinates; k++)
		standardise(c, s->order, s->dims, k, y);
	/* in an evenly filled ball the deviation along each axis is about half the radius */
	double half = 0.5 * pow(c->count, 1 / (double)s->dims);
	for (uint32_t i = c->first; i < c->first + c->count; i++)
		for (size_t k = 0; k < d; k++) {
			float *at = &y[s->order[i] * d + k];
			*at = (float)(centre[number * d + k] + half * (double)*at);
		}
}

int sl_spectral_layout(struct sl_spectral *s, float *y, struct sl_error *err)
{
	double *volume = malloc(sizeof *volume * (s->components ? s->components : 1));
	double *centre = malloc(sizeof *centre * (s->components ? s->components : 1) * (size_t)s->dims);
	if (!volume || !centre) {
		free(volume);
		free(centre);
		return sl_error_memory(err, "placing %u components", s->components);
	}
	for (uint32_t i = 0; i < s->components; i++)
		volume[i] = s->component[i].count;
	sl__pack(s->dims, s->components, volume, centre);
	uint32_t c = 0;
	for (; c < s->components && s->component[c].count > ROWS; c++)  /* one after the other, each by all threads */
		coordinates(s, c, centre, y);
#pragma omp parallel for schedule(dynamic, 16)
	for (uint32_t small = c; small < s->components; small++)
		coordinates(s, small, centre, y);
	free(volume);
	free(centre);
	return 0;
}
