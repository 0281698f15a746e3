/* Pairs within a cut-off, beside a smooth grid (core/grid/grid.h, SL_GRID_SMOOTH), in 3-D. The points of a late layout
 * are so few in their space that a grid fine enough for near pairs is mostly empty.
 *
 * Points are sorted into cells; what is within reach of one are nine ranges of the sorted points. The sort has two
 * levels, layers of cells along z and the cells of each, both of them split so that the order in a cell is the points'
 * own. How fine the grid should be depends on how many pairs there are within its cut-off, which a count of the points
 * in the cubes of a few coarse grids tells well enough. */
#include "core/cpu/cpu.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CHUNKS_MOST 256
#define SAMPLE 65536  /* points that a census looks at */

/* Nanoseconds of one core with AVX-512, by measurement: a candidate, what a point and a cell cost besides. */
#define CANDIDATE 0.48
#define POINT 140
#define CELL 1.0
/* Edge of a cube that holds as many points as a point has candidates, in cut-offs. */
#define CUBE 2.6

/* ---- memory ------------------------------------------------------------------------------- */

/* Cubes along an edge of the finest census, a power of 2: about as many cubes as points. */
static int census_edge(uint32_t n)
{
	int edge = 8;
	while (edge < 64 && 2 * (uint32_t)(edge * edge * edge) < n)
		edge *= 2;
	return edge;
}

uint64_t sl__cutoff_bytes(uint32_t n)
{
	return (uint64_t)n * (3 * sizeof(float) + 3 * sizeof(uint32_t) + sizeof(uint16_t));
}

int sl__cutoff_init(struct sl_cutoff *s, uint32_t n, struct sl_error *err)
{
	memset(s, 0, sizeof *s);
	s->n = n;
	s->chunk_points = n / CHUNKS_MOST > 1024 ? n / CHUNKS_MOST : 1024;
	s->chunks = (n + s->chunk_points - 1) / s->chunk_points;
	s->layer = malloc(sizeof *s->layer * n);
	s->order = malloc(sizeof *s->order * n);
	s->cell = malloc(sizeof *s->cell * n);
	s->cells.index = malloc(sizeof(uint32_t) * n);
	s->count = malloc(sizeof *s->count * s->chunks * SL_CUTOFF_LAYERS);
	size_t edge = (size_t)census_edge(n);
	s->census = malloc(sizeof *s->census * edge * edge * edge);
	bool whole = s->layer && s->order && s->cell && s->cells.index && s->count && s->census;
	for (int k = 0; k < 3; k++) {
		s->cells.at[k] = calloc((size_t)n + SL_CELLS_SPARE, sizeof(float));
		whole = whole && s->cells.at[k];
	}
	if (whole)
		return 0;
	sl__cutoff_finish(s);
	return sl_error_set(err, SL_NOMEM, "No memory to sort %u points into cells.", n);
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

static const int sides[] = {24, 32, 40, 48, 64, 80, 96, 128};
#define SIDES (int)(sizeof sides / sizeof *sides)

static int cube_at(float at, int edge) { return at > 0 ? (at < (float)(edge - 1) ? (int)at : edge - 1) : 0; }

/* pairs[k]: of points in the same of edge / 2^k cubes a side of the box, each point with itself included. Returns how
 * many of them there are. */
static int take_census(struct sl_cutoff *s, const float *y, const float low[3], double extent, double pairs[8])
{
	int edge = census_edge(s->n), levels = 0;
	uint32_t step = s->n / SAMPLE + 1, seen = (s->n - 1) / step + 1;
	size_t cubes = (size_t)edge * (size_t)edge * (size_t)edge;
	float inverse = (float)(edge / extent);
	memset(s->census, 0, sizeof *s->census * cubes);
	for (uint32_t i = 0; i < s->n; i += step) {
		int x[3];
		for (int k = 0; k < 3; k++)
			x[k] = cube_at((y[3 * (size_t)i + (size_t)k] - low[k]) * inverse, edge);
		s->census[((size_t)x[2] * (size_t)edge + (size_t)x[1]) * (size_t)edge + (size_t)x[0]]++;
	}
	for (;; edge /= 2) {
		double sum = 0;
		cubes = (size_t)edge * (size_t)edge * (size_t)edge;
		for (size_t i = 0; i < cubes; i++)
			sum += (double)s->census[i] * (double)s->census[i];
		pairs[levels++] = (sum - seen) * step * step + s->n;
		if (edge == 1)
			return levels;
		size_t half = (size_t)edge / 2, e = (size_t)edge;
		for (size_t z = 0, to = 0; z < half; z++)  /* in place: what is written over has been read */
			for (size_t at_y = 0; at_y < half; at_y++)
				for (size_t x = 0; x < half; x++) {
					const uint32_t *c = s->census + (2 * z * e + 2 * at_y) * e + 2 * x;
					uint32_t all = c[0] + c[1] + c[e] + c[e + 1];
					c += e * e;
					s->census[to++] = all + c[0] + c[1] + c[e] + c[e + 1];
				}
	}
}

/* Pairs in cubes of that edge, as a share of the extent: between two levels as if they grew with a power of it. */
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
	double pairs[8];
	int levels = take_census(s, y, low, extent, pairs), finest = census_edge(s->n);
	bool found = false;
	for (int i = 0; i < SIDES; i++) {
		struct sl_grid g;
		sl_grid_smooth(&g, accuracy, sl_grid_window(3, accuracy), sides[i], extent);
		double across = ceil(extent / g.cutoff) + 1;
		double candidates = pairs_within(pairs, levels, finest, CUBE * g.cutoff / extent);
		double cost = SL_CPU_NODE_3D * pow(sides[i], 3) + (SL_CPU_POINT_3D + POINT) * (double)s->n +
			      CANDIDATE * candidates + CELL * SL_CELLS_FINE * pow(across, 3);
		if (cost < most && across < SL_CUTOFF_LAYERS) {
			most = cost;
			*out = g;
			found = true;
		}
	}
	return found;
}

int sl__cutoff_reserve(struct sl_cutoff *s, const struct sl_grid *g, const float low[3], double extent,
		     struct sl_error *err)
{
	struct sl_cells *c = &s->cells;
	c->side = (int)(extent / g->cutoff) + 1;
	c->inverse = (float)(1 / g->cutoff);
	memcpy(c->low, low, sizeof c->low);
	sl_grid_cutoff(&s->kernel, g);
	size_t need = SL_CELLS_FINE * (size_t)c->side * (size_t)c->side * (size_t)c->side + 1;
	if (need <= s->start_room)
		return 0;
	free(c->start);
	s->start_room = 0;
	c->start = malloc(sizeof *c->start * need);
	if (!c->start)
		return sl_error_set(err, SL_NOMEM, "No memory for %zu cells of a layout.", need);
	s->start_room = need;
	return 0;
}

/* ---- the team's ----------------------------------------------------------------------------- */

static int layer_of(const struct sl_cells *c, float z) { return cube_at((z - c->low[2]) * c->inverse, c->side); }

/* Points of each chunk to layers. */
static void sort_layers(struct sl_cutoff *s, const float *y)
{
	size_t layers = (size_t)s->cells.side;
#pragma omp for schedule(static)
	for (uint32_t b = 0; b < s->chunks; b++) {
		uint32_t *count = s->count + b * layers;
		uint32_t from = b * s->chunk_points, to = s->n - from < s->chunk_points ? s->n : from + s->chunk_points;
		memset(count, 0, sizeof *count * layers);
		for (uint32_t i = from; i < to; i++) {
			s->layer[i] = (uint16_t)layer_of(&s->cells, y[3 * (size_t)i + 2]);
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

/* Points of a layer to its cells: start[cell + 1] counts, is where the cell begins, and at last where it ends. */
static void sort_layer(struct sl_cutoff *s, const float *y, size_t layer)
{
	struct sl_cells *c = &s->cells;
	size_t along_x = SL_CELLS_FINE * (size_t)c->side, cells = along_x * (size_t)c->side;
	uint32_t *end = c->start + 1 + layer * cells, from = s->first[layer], to = s->first[layer + 1], at = from;
	memset(end, 0, sizeof *end * cells);
	for (uint32_t place = from; place < to; place++) {
		const float *own = y + 3 * (size_t)s->order[place];
		size_t x = (size_t)cube_at(SL_CELLS_FINE * ((own[0] - c->low[0]) * c->inverse), (int)along_x);
		s->cell[place] = (uint32_t)((size_t)cube_at((own[1] - c->low[1]) * c->inverse, c->side) * along_x + x);
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
		for (size_t k = 0; k < 3; k++)
			c->at[k][sorted] = y[3 * (size_t)i + k];
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
		part[b] = kernels->cutoff_pairs(&s->cells, &s->kernel, from, to, force);
	}
	double z = -(double)s->n * (1 - (double)s->kernel.value[0]);  /* each point met itself */
	for (uint32_t b = 0; b < blocks; b++)
		z += part[b];
#pragma omp barrier
	return z;
}
