/* Sorts points by grid strip: a counting sort in three steps. Each step works on fixed chunks of points, so the order
 * within a strip is always that of the points' numbers.
 *
 * A strip has at least as many rows as a window has taps, so points of strip s write only to strips s and s + 1. All
 * even strips can be spread at the same time, then all odd ones. */
#include "core/cpu/cpu.h"

#include <stdlib.h>
#include <string.h>

#define STRIP_ROWS 6
#define STRIPS_MAX 8192

int sl__bins_init(struct sl_bins *b, uint32_t n, int dims, struct sl_error *err)
{
	memset(b, 0, sizeof *b);
	b->n = n;
	b->dims = dims;
	b->chunk_points = n / 256 > 1024 ? n / 256 : 1024;
	b->chunks = (n + b->chunk_points - 1) / b->chunk_points;
	b->index = malloc(sizeof *b->index * n);
	b->strip = malloc(sizeof *b->strip * n);
	b->t = malloc(sizeof *b->t * n * (size_t)dims);
	if (b->index && b->strip && b->t)
		return 0;
	sl__bins_finish(b);
	return sl_error_memory(err, "sorting %u points", n);
}

void sl__bins_finish(struct sl_bins *b)
{
	free(b->index);
	free(b->strip);
	free(b->t);
	free(b->count);
	free(b->first);
	memset(b, 0, sizeof *b);
}

int sl__bins_reserve(struct sl_bins *b, const struct sl_grid *g, struct sl_error *err)
{
	b->strip_rows = g->dims == 1 ? 64 : STRIP_ROWS;  /* along x all SL_WINDOW_LANES are written */
	while (g->side / b->strip_rows >= STRIPS_MAX)
		b->strip_rows *= 2;
	b->strips = g->side / b->strip_rows + 1;
	size_t need = (size_t)b->strips * b->chunks;
	if (need > b->count_room) {
		free(b->count);
		free(b->first);
		b->count_room = 0;
		b->count = malloc(sizeof *b->count * need);
		b->first = malloc(sizeof *b->first * (need + 1));
		if (!b->count || !b->first)
			return sl_error_memory(err, "sorting %u points", b->n);
		b->count_room = need;
	}
	return 0;
}

void sl__places_of_counts(uint32_t *count, uint32_t chunks, size_t keys, uint32_t *first)
{
	uint32_t at = 0;
	for (size_t k = 0; k < keys; k++) {
		first[k] = at;
		for (uint32_t c = 0; c < chunks; c++) {
			uint32_t here = count[c * keys + k];
			count[c * keys + k] = at;
			at += here;
		}
	}
	first[keys] = at;
}

static inline float clamp(float x, float high)
{
	return x > 0 ? (x < high ? x : high) : 0;  /* NaN becomes 0 */
}

void sl__bins_fill(struct sl_bins *b, const struct sl_grid *g, const float *y, const float low[3])
{
	size_t d = (size_t)b->dims, strips = (size_t)b->strips;
	float inverse_h = (float)(1 / g->h), high = (float)(g->side - g->window - 1);
	float corner = low[d - 1];

#pragma omp for schedule(static)
	for (uint32_t c = 0; c < b->chunks; c++) {
		uint32_t *count = b->count + c * strips;
		uint32_t from = c * b->chunk_points, to = b->n - from < b->chunk_points ? b->n : from + b->chunk_points;
		memset(count, 0, sizeof *count * strips);
		for (uint32_t i = from; i < to; i++) {
			float t = clamp((y[i * d + d - 1] - corner) * inverse_h, high);
			int row = (int)t;
			row += (float)row < t;
			uint16_t strip = (uint16_t)((unsigned)row / (unsigned)b->strip_rows);
			b->strip[i] = strip;
			count[strip]++;
		}
	}

#pragma omp single
	sl__places_of_counts(b->count, b->chunks, strips, b->first);

#pragma omp for schedule(static)
	for (uint32_t c = 0; c < b->chunks; c++) {
		uint32_t *place = b->count + c * strips;
		uint32_t from = c * b->chunk_points, to = b->n - from < b->chunk_points ? b->n : from + b->chunk_points;
		for (uint32_t i = from; i < to; i++) {
			uint32_t at = place[b->strip[i]]++;
			b->index[at] = i;
			for (size_t k = 0; k < d; k++)
				b->t[at * d + k] = clamp((y[i * d + k] - low[k]) * inverse_h, high);
		}
	}
}
