/* Pairs within a cut-off, beside a smooth grid (core/grid/grid.h, SL_GRID_SMOOTH), in 2-D and 3-D. The points of a
 * late layout are so few in their space that a grid fine enough for near pairs is mostly empty.
 *
 * Points are sorted into cells; the points within reach of a point are nine ranges of the sorted points (three in 2-D).
 * The sort has two levels: layers of cells along the last dimension, then the cells of each layer. Both are divided
 * among threads so that the order in a cell is that of the points' numbers. The best spacing of the grid depends on the
 * number of pairs within its cut-off, which is estimated by counting the points in the cubes of a few coarse grids. */
#include "core/cpu/cpu.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CHUNKS_MOST 256
#define SAMPLE 65536  /* points that a census counts */

/* Measured nanoseconds of one core with AVX-512: for a candidate, and in addition for a point and for a cell. */
#define CANDIDATE 0.48
static const double point[4] = {0, 0, 80, 140};
#define CELL 1.0
/* Edge, in cut-offs, of a cube that contains as many points as a point has candidates. */
static const double cube[4] = {0, 0, 2.4, 2.6};

/* ---- memory ------------------------------------------------------------------------------- */

/* Cubes a side in the finest census, a power of 2: about as many cubes as points. */
static int census_edge(uint32_t n, int dims)
{
	static const int most[4] = {0, 0, 512, 64};
	int edge = 8;
	while (edge < most[dims] && 2 * sl__power((size_t)edge, dims) < n)
		edge *= 2;
	return edge;
}

uint64_t sl__cutoff_bytes(uint32_t n, int dims)
{
	return (uint64_t)n * ((unsigned)dims * sizeof(float) + 3 * sizeof(uint32_t) + sizeof(uint16_t));
}

int sl__cutoff_init(struct sl_cutoff *s, uint32_t n, int dims, struct sl_error *err)
{
	static const size_t layers[4] = SL_CUTOFF_LAYERS;
	memset(s, 0, sizeof *s);
	s->n = n;
	s->dims = s->cells.dims = dims;
	s->chunk_points = n / CHUNKS_MOST > 1024 ? n / CHUNKS_MOST : 1024;
	s->chunks = (n + s->chunk_points - 1) / s->chunk_points;
	s->layer = malloc(sizeof *s->layer * n);
	s->order = malloc(sizeof *s->order * n);
	s->cell = malloc(sizeof *s->cell * n);
	s->cells.index = malloc(sizeof(uint32_t) * n);
	s->count = malloc(sizeof *s->count * s->chunks * layers[dims]);
	s->census = malloc(sizeof *s->census * sl__power((size_t)census_edge(n, dims), dims));
	bool whole = s->layer && s->order && s->cell && s->cells.index && s->count && s->census;
	for (int k = 0; k < dims; k++) {
		s->cells.at[k] = calloc((size_t)n + SL_CELLS_SPARE, sizeof(float));
		whole = whole && s->cells.at[k];
	}
	if (whole)
		return 0;
	sl__cutoff_finish(s);
	return sl_error_memory(err, "sorting %u points into cells", n);
}

void sl__cutoff_finish(struct sl_cutoff *s)
{
	free(s->layer);
	free(s->order);
	free(s->cell);
	free(s->count);
	free(s->census);
	free(s->cells.start);
	free(s->cells.index);
	for (int k = 0; k < 3; k++)
		free(s->cells.at[k]);
	memset(s, 0, sizeof *s);
}

/* ---- choice --------------------------------------------------------------------------------- */

static const int sides_flat[] = {64, 96, 128, 192, 256, 384, 512, 640, 768, 1024, 1280, 1536, 2048, 0},
		 sides_deep[] = {24, 32, 40, 48, 64, 80, 96, 128, 0};

static int cube_at(float at, int edge) { return at > 0 ? (at < (float)(edge - 1) ? (int)at : edge - 1) : 0; }

/* Merges the cubes of a census, e a side, into cubes of twice the edge, in place. */
static void halve(uint32_t *census, int dims, size_t e)
{
	for (size_t z = 0, to = 0; z < (dims > 2 ? e / 2 : 1); z++)
		for (size_t at_y = 0; at_y < e / 2; at_y++)
			for (size_t x = 0; x < e / 2; x++) {
				const uint32_t *c = census + (2 * z * e + 2 * at_y) * e + 2 * x;
				uint32_t all = c[0] + c[1] + c[e] + c[e + 1];
				if (dims > 2)
					all += c[e * e] + c[e * e + 1] + c[e * e + e] + c[e * e + e + 1];
				census[to++] = all;
			}
}

#define LEVELS_MOST 10  /* 512 to 1 cubes a side */

/* Estimates pairs[k], the number of pairs of points in the same cube with edge / 2^k cubes a side, pairs of a point
 * with itself included. Returns the number of levels k. */
static int take_census(struct sl_cutoff *s, const float *y, const float low[3], double extent, double *pairs)
{
	int edge = census_edge(s->n, s->dims), levels = 0;
	uint32_t step = s->n / SAMPLE + 1, seen = (s->n - 1) / step + 1;
	size_t dims = (size_t)s->dims, cubes = sl__power((size_t)edge, s->dims);
	float inverse = (float)(edge / extent);
	memset(s->census, 0, sizeof *s->census * cubes);
	for (uint32_t i = 0; i < s->n; i += step) {
		size_t place = 0;
		for (size_t k = dims; k-- > 0;)
			place = place * (size_t)edge + (size_t)cube_at((y[dims * i + k] - low[k]) * inverse, edge);
		s->census[place]++;
	}
	for (;; edge /= 2) {
		double sum = 0;
		cubes = sl__power((size_t)edge, s->dims);
		for (size_t i = 0; i < cubes; i++)
			sum += (double)s->census[i] * (double)s->census[i];
		pairs[levels++] = (sum - seen) * step * step + s->n;
		if (edge == 1)
			return levels;
		halve(s->census, s->dims, (size_t)edge);
	}
}

/* The number of pairs in cubes of this edge, relative to the extent; interpolated between levels by a power law. */
static double pairs_within(const double *pairs, int levels, int finest, double edge)
{
	double at = log2(edge * finest);
	int level = at < 0 ? 0 : (int)at;
	if (level >= levels - 1)
		return pairs[levels - 1];
	double slope = log2(pairs[level + 1] / pairs[level]);
	return pairs[level] * exp2(slope * (at - level));
}

bool sl__cutoff_choose(struct sl_cutoff *s, const float *y, const float low[3], double extent, int accuracy,
		       double most, struct sl_grid *out)
{
	static const double node[4] = SL_CPU_NODE, grid_point[4] = SL_CPU_POINT;
	static const int layers[4] = SL_CUTOFF_LAYERS;
	double pairs[LEVELS_MOST];
	if (s->dims == 2 && extent <= SL_GRID_FLAT_LEAST)
		return false;
	int dims = s->dims, levels = take_census(s, y, low, extent, pairs), finest = census_edge(s->n, dims);
	bool found = false;
	for (const int *side = dims == 2 ? sides_flat : sides_deep; *side; side++) {
		struct sl_grid g;
		sl_grid_smooth(&g, dims, accuracy, sl_grid_window(dims, accuracy), *side, extent);
		double across = ceil(extent / g.cutoff) + 1;
		double candidates = pairs_within(pairs, levels, finest, cube[dims] * g.cutoff / extent);
		double cost = node[dims] * pow(*side, dims) + (grid_point[dims] + point[dims]) * (double)s->n +
			      CANDIDATE * candidates + CELL * SL_CELLS_FINE * pow(across, dims);
		if (cost < most && across < layers[dims]) {
			most = cost;
			*out = g;
			found = true;
		}
	}
	return found;
}

/* In powers of t, coefficients for cut-offs above 1,000 are subnormal numbers, with which some processors take 20 times
 * as long. In powers of a power of two times t they are not, and the sums are the same. */
static void near_part(struct sl_near_part *out, const struct sl_grid *g)
{
	sl_grid_cutoff(&out->by, g);
	out->unit = 1;
	if (fabsf(out->by.value[SL_CUTOFF_DEGREE]) >= FLT_MIN)
		return;
	int power = 2 * ilogb(g->cutoff);
	out->unit = ldexpf(1, -power);
	for (int k = 0; k <= SL_CUTOFF_DEGREE; k++)
		out->by.value[k] = ldexpf(out->by.value[k], k * power);
	for (int k = 0; k < SL_CUTOFF_DEGREE; k++)
		out->by.slope[k] = ldexpf(out->by.slope[k], k * power);
}

int sl__cutoff_reserve(struct sl_cutoff *s, const struct sl_grid *g, const float low[3], double extent,
		     struct sl_error *err)
{
	struct sl_cells *c = &s->cells;
	c->side = (int)(extent / g->cutoff) + 1;
	c->inverse = (float)(1 / g->cutoff);
	memcpy(c->low, low, sizeof c->low);
	if (!sl_grid_equal(&s->grid, g)) {
		near_part(&s->near, g);
		s->grid = *g;
	}
	size_t need = SL_CELLS_FINE * sl__power((size_t)c->side, s->dims) + 1;
	if (need <= s->start_room)
		return 0;
	free(c->start);
	s->start_room = 0;
	c->start = malloc(sizeof *c->start * need);
	if (!c->start)
		return sl_error_memory(err, "%zu cells of a layout", need);
	s->start_room = need;
	return 0;
}

/* ---- functions of the team ------------------------------------------------------------------ */
static int layer_of(const struct sl_cells *c, float last)
{
	return cube_at((last - c->low[c->dims - 1]) * c->inverse, c->side);
}

/* Sorts the points of each chunk by layer. */
static void sort_layers(struct sl_cutoff *s, const float *y)
{
	size_t layers = (size_t)s->cells.side, dims = (size_t)s->dims;
#pragma omp for schedule(static)
	for (uint32_t b = 0; b < s->chunks; b++) {
		uint32_t *count = s->count + b * layers;
		uint32_t from = b * s->chunk_points, to = s->n - from < s->chunk_points ? s->n : from + s->chunk_points;
		memset(count, 0, sizeof *count * layers);
		for (uint32_t i = from; i < to; i++) {
			s->layer[i] = (uint16_t)layer_of(&s->cells, y[dims * i + dims - 1]);
			count[s->layer[i]]++;
		}
	}
#pragma omp single
	{
		sl__places_of_counts(s->count, s->chunks, layers, s->first);
		s->cells.start[0] = 0;
	}
#pragma omp for schedule(static)
	for (uint32_t b = 0; b < s->chunks; b++) {
		uint32_t *place = s->count + b * layers;
		uint32_t from = b * s->chunk_points, to = s->n - from < s->chunk_points ? s->n : from + s->chunk_points;
		for (uint32_t i = from; i < to; i++)
			s->order[place[s->layer[i]]++] = i;
	}
}

/* Sorts the points of a layer by cell. start[cell + 1] first counts the points of the cell, then is the place of its
 * next point, and at last its end. */
static void sort_layer(struct sl_cutoff *s, const float *y, size_t layer)
{
	struct sl_cells *c = &s->cells;
	size_t along_x = SL_CELLS_FINE * (size_t)c->side, dims = (size_t)s->dims;
	size_t cells = dims == 2 ? along_x : along_x * (size_t)c->side;
	uint32_t *end = c->start + 1 + layer * cells, from = s->first[layer], to = s->first[layer + 1], at = from;
	memset(end, 0, sizeof *end * cells);
	for (uint32_t place = from; place < to; place++) {
		const float *own = y + dims * s->order[place];
		size_t x = (size_t)cube_at(SL_CELLS_FINE * ((own[0] - c->low[0]) * c->inverse), (int)along_x), row = 0;
		if (dims > 2)
			row = (size_t)cube_at((own[1] - c->low[1]) * c->inverse, c->side);
		s->cell[place] = (uint32_t)(row * along_x + x);
		end[s->cell[place]]++;
	}
	for (size_t i = 0; i < cells; i++) {
		uint32_t here = end[i];
		end[i] = at;
		at += here;
	}
	for (uint32_t place = from; place < to; place++) {
		uint32_t i = s->order[place], sorted = end[s->cell[place]]++;
		c->index[sorted] = i;
		for (size_t k = 0; k < dims; k++)
			c->at[k][sorted] = y[dims * i + k];
	}
}

void sl__cutoff_sort(struct sl_cutoff *s, const float *y)
{
	sort_layers(s, y);
#pragma omp for schedule(dynamic, 1)
	for (int layer = 0; layer < s->cells.side; layer++)
		sort_layer(s, y, (size_t)layer);
}

double sl__cutoff_pairs(struct sl_cutoff *s, const struct sl_cpu_kernels *kernels, double *part, float *force)
{
	uint32_t blocks = (s->n + SL_BLOCK - 1) / SL_BLOCK;
#pragma omp for schedule(dynamic, 4)
	for (uint32_t b = 0; b < blocks; b++) {
		uint32_t from = b * SL_BLOCK, to = s->n - from < SL_BLOCK ? s->n : from + SL_BLOCK;
		part[b] = kernels->cutoff_pairs(&s->cells, &s->near, from, to, force);
	}
	double z = -(double)s->n * (1 - (double)s->near.by.value[0]);  /* without the pairs of points with themselves */
	for (uint32_t b = 0; b < blocks; b++)
		z += part[b];
#pragma omp barrier
	return z;
}
