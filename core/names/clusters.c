/* Everything but the nodes' own passes works on cells, of which there are at most 110,592. A cell's number is its place
 * in the grid; ties are broken by it, so the order of the nodes does not count. */
#include "core/names/clusters.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define OUTSIDE 0.001          /* part of the nodes beyond each side of the box that do not stretch it */
#define SAMPLE 65536           /* nodes that choose the box */
#define WIDTH 22.0f            /* cells of 256: the Gaussian of one node */
#define WIDTH_LEAST 1.5f
#define SIGNIFICANT 3.0f       /* excess of mass of a cluster, in standard deviations of Poisson's counts */
#define FEWEST 4.0f            /* nodes of excess */

static const int SIDE[4] = {0, 2048, 256, 48};
static const uint32_t MOST[SL_MAP_LEVELS] = {12, 40, SL_MAP_CLUSTERS};

struct peak {
	uint32_t cell;
	uint32_t into;             /* the peak with which it has merged; SL_MAP_NONE: none */
	float excess;
	float mass;                /* of its component so far */
	uint32_t cells;
};

struct grid {
	const float *y;
	uint32_t n, cells;
	int dims, side;
	float low[3], step[3];
	float *density, *other;    /* [cells] */
	uint32_t *node_cell;       /* [n] SL_MAP_NONE: outside */
	uint32_t *order;           /* [cells] the densest first */
	uint32_t *basin;           /* [cells] the peak that the steepest way up reaches */
	uint32_t *set;             /* [peaks] union-find, whose roots are the peaks that survive */
	struct peak *peak;
	uint32_t peaks;
	uint32_t *by_excess;       /* [peaks] */
	uint32_t *rank;            /* [peaks] */
};

static int compare_floats(const void *a, const void *b)
{
	float x = *(const float *)a, y = *(const float *)b;
	return (x > y) - (x < y);
}

static bool placed(const struct grid *g, uint32_t i)
{
	bool finite = true;
	for (int k = 0; k < g->dims; k++)
		finite &= isfinite(g->y[(size_t)i * (size_t)g->dims + (size_t)k]) != 0;
	return finite;
}

/* The box of all but a few nodes, from every stride-th one. False: no node has a position. */
static bool find_box(struct grid *g, float *sample)
{
	uint32_t stride = g->n / SAMPLE + 1, count = 0;
	for (int k = 0; k < g->dims; k++) {
		count = 0;
		for (uint32_t i = 0; i < g->n; i += stride)
			if (placed(g, i))
				sample[count++] = g->y[(size_t)i * (size_t)g->dims + (size_t)k];
		if (!count)
			return false;
		qsort(sample, count, sizeof *sample, compare_floats);
		uint32_t out = (uint32_t)(OUTSIDE * count);
		float low = sample[out], high = sample[count - 1 - out], room = (high - low) * 0.06f + 1e-20f;
		g->low[k] = low - room;
		g->step[k] = (high - low + 2 * room) / (float)g->side;
	}
	return true;
}

static void count_nodes(struct grid *g)
{
	for (uint32_t i = 0; i < g->n; i++) {
		uint32_t cell = 0, times = 1;
		bool inside = placed(g, i);
		for (int k = 0; k < g->dims && inside; k++) {
			float at = (g->y[(size_t)i * (size_t)g->dims + (size_t)k] - g->low[k]) / g->step[k];
			inside = at >= 0 && at < (float)g->side;
			cell += inside ? (uint32_t)at * times : 0;
			times *= (uint32_t)g->side;
		}
		g->node_cell[i] = inside ? cell : SL_MAP_NONE;
		if (inside)
			g->density[cell]++;
	}
}

/* Smooths along one axis from `from` to `to`; what would leave the grid is lost: the box has a margin. */
static void smooth_axis(const struct grid *g, const float *from, float *to, uint32_t stride, const float *weight,
			int reach)
{
	for (uint32_t cell = 0; cell < g->cells; cell++) {
		int place = (int)(cell / stride) % g->side;
		int low = place < reach ? -place : -reach, high = g->side - 1 - place < reach ? g->side - 1 - place : reach;
		float sum = 0;
		for (int d = low; d <= high; d++)
			sum += weight[abs(d)] * from[(int64_t)cell + (int64_t)d * (int64_t)stride];
		to[cell] = sum;
	}
}

static void smooth(struct grid *g)
{
	float weight[256], sum = 0, width = WIDTH * (float)g->side / 256 * powf((float)g->n, -1.0f / 6);
	if (width < WIDTH_LEAST)
		width = WIDTH_LEAST;
	int reach = (int)ceilf(3 * width) < 255 ? (int)ceilf(3 * width) : 255;
	for (int d = 0; d <= reach; d++) {
		weight[d] = expf(-0.5f * (float)(d * d) / (width * width));
		sum += d ? 2 * weight[d] : weight[d];
	}
	for (int d = 0; d <= reach; d++)
		weight[d] /= sum;
	uint32_t stride = 1;
	for (int k = 0; k < g->dims; k++, stride *= (uint32_t)g->side) {
		float *made = g->other;
		smooth_axis(g, g->density, made, stride, weight, reach);
		g->other = g->density;
		g->density = made;
	}
}

/* ---- the tree of peaks ---------------------------------------------------------------------------- */

static int by_density(const void *a, const void *b, void *arg)
{
	const float *density = arg;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return density[x] != density[y] ? (density[x] < density[y]) - (density[x] > density[y]) : (x > y) - (x < y);
}

static uint32_t root(struct grid *g, uint32_t p)
{
	while (g->set[p] != p)
		p = g->set[p] = g->set[g->set[p]];
	return p;
}

/* Two components meet at a density: the one with less excess of mass ends. */
static uint32_t merge(struct grid *g, uint32_t a, uint32_t b, float level)
{
	struct peak *x = &g->peak[a], *y = &g->peak[b];
	float of_x = x->mass - level * (float)x->cells, of_y = y->mass - level * (float)y->cells;
	bool first = of_x != of_y ? of_x > of_y : a < b;
	struct peak *stays = first ? x : y, *ends = first ? y : x;
	uint32_t winner = first ? a : b, loser = first ? b : a;
	ends->excess = first ? of_y : of_x;
	/* what is left of the mass after the noise of its counts */
	if (ends->excess < SIGNIFICANT * sqrtf(ends->mass) || ends->excess < FEWEST)
		ends->excess = 0;
	ends->into = winner;
	stays->mass += ends->mass;
	stays->cells += ends->cells;
	g->set[loser] = winner;
	return winner;
}

/* Calls for each neighbour of a cell that is denser, as far as it has been visited. */
static void visit(struct grid *g, uint32_t cell)
{
	int place[3], around = 1;
	uint32_t rest = cell, best = SL_MAP_NONE, own = SL_MAP_NONE;
	for (int k = 0; k < g->dims; k++, rest /= (uint32_t)g->side, around *= 3)
		place[k] = (int)(rest % (uint32_t)g->side);
	uint32_t seen[27];
	int count = 0;
	for (int a = 0; a < around; a++) {
		int64_t other = 0, times = 1;
		bool inside = true;
		for (int k = 0, b = a; k < g->dims; k++, b /= 3, times *= g->side) {
			int at = place[k] + b % 3 - 1;
			inside &= at >= 0 && at < g->side;
			other += at * times;
		}
		if (!inside || other == (int64_t)cell || g->basin[other] == SL_MAP_NONE)
			continue;
		seen[count++] = (uint32_t)other;
		if (best == SL_MAP_NONE || by_density(&(uint32_t){(uint32_t)other}, &best, g->density) < 0)
			best = (uint32_t)other;
	}
	if (best == SL_MAP_NONE) {
		own = g->peaks++;
		g->peak[own] = (struct peak){.cell = cell, .into = SL_MAP_NONE};
		g->set[own] = own;
		g->basin[cell] = own;
	} else {
		g->basin[cell] = g->basin[best];
		own = root(g, g->basin[best]);
		for (int k = 0; k < count; k++) {
			uint32_t theirs = root(g, g->basin[seen[k]]);
			if (theirs != own)
				own = merge(g, own, theirs, g->density[cell]);
		}
	}
	g->peak[own].mass += g->density[cell];
	g->peak[own].cells++;
}

static int by_excess(const void *a, const void *b, void *arg)
{
	const struct peak *peak = arg;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return peak[x].excess != peak[y].excess ? (peak[x].excess < peak[y].excess) - (peak[x].excess > peak[y].excess)
						: (x > y) - (x < y);
}

static int grow_tree(struct grid *g)
{
	uint32_t used = 0;
	for (uint32_t cell = 0; cell < g->cells; cell++) {
		g->basin[cell] = SL_MAP_NONE;
		if (g->density[cell] > 1e-6f)
			g->order[used++] = cell;
	}
	qsort_r(g->order, used, sizeof *g->order, by_density, g->density);
	g->peak = malloc((used + 1ull) * sizeof *g->peak);
	g->set = malloc((used + 1ull) * sizeof *g->set);
	g->by_excess = malloc((used + 1ull) * sizeof *g->by_excess);
	g->rank = malloc((used + 1ull) * sizeof *g->rank);
	if (!g->peak || !g->set || !g->by_excess || !g->rank)
		return SL_NOMEM;
	for (uint32_t k = 0; k < used; k++)
		visit(g, g->order[k]);
	for (uint32_t p = 0; p < g->peaks; p++) {
		struct peak *one = &g->peak[p];
		if (one->into == SL_MAP_NONE)
			one->excess = one->mass < FEWEST ? 0 : one->mass;
		g->by_excess[p] = p;
	}
	qsort_r(g->by_excess, g->peaks, sizeof *g->by_excess, by_excess, g->peak);
	for (uint32_t k = 0; k < g->peaks; k++)
		g->rank[g->by_excess[k]] = k;
	return 0;
}

/* ---- levels ------------------------------------------------------------------------------------------ */

/* The peak among the `most` first ones to which a peak's nodes belong; SL_MAP_NONE: none. A peak has less excess than
 * the one into which it merges, which may have none of its own, so this climbs until it meets one. */
static uint32_t kept_peak(const struct grid *g, uint32_t p, uint32_t most)
{
	while (p != SL_MAP_NONE && g->rank[p] >= most)
		p = g->peak[p].into;
	return p;
}

struct summing {
	double sum[3], spread;
	uint32_t nodes;
	double best;               /* squared distance of the node that is nearest to the peak, then of the best cell */
	uint32_t peak;
	float densest;
};

static void cell_centre(const struct grid *g, uint32_t cell, float out[3])
{
	for (int k = 0; k < g->dims; k++, cell /= (uint32_t)g->side)
		out[k] = g->low[k] + g->step[k] * ((float)(cell % (uint32_t)g->side) + 0.5f);
}

static double apart(const struct grid *g, const float *a, const float *b)
{
	double sum = 0;
	for (int k = 0; k < g->dims; k++)
		sum += ((double)a[k] - (double)b[k]) * ((double)a[k] - (double)b[k]);
	return sum;
}

/* Places the names of `count` clusters: cell_of[cells] and code[n] are clusters; NULL: the cell of the mean. */
static void describe(const struct grid *g, const uint32_t *cell_of, const uint32_t *code, uint32_t count,
		     struct sl_map_cluster *out, struct summing *s)
{
	float at[3];
	for (uint32_t c = 0; c < count; c++)
		s[c] = (struct summing){.best = INFINITY, .peak = SL_MAP_NONE};
	for (uint32_t i = 0; i < g->n; i++) {
		if (code[i] == SL_MAP_NONE)
			continue;
		struct summing *t = &s[code[i]];
		t->nodes++;
		for (int k = 0; k < g->dims; k++)
			t->sum[k] += (double)g->y[(size_t)i * (size_t)g->dims + (size_t)k];
	}
	for (uint32_t cell = 0; cell < g->cells; cell++)
		if (cell_of[cell] != SL_MAP_NONE && g->density[cell] > s[cell_of[cell]].densest)
			s[cell_of[cell]].densest = g->density[cell];
	for (uint32_t c = 0; c < count; c++)
		for (int k = 0; k < g->dims && s[c].nodes; k++)
			out[c].at[k] = (float)(s[c].sum[k] / s[c].nodes);   /* if it has no cell of its own */
	/* the cell nearest to the centre that has at least half of the highest density */
	for (uint32_t cell = 0; cell < g->cells; cell++) {
		uint32_t c = cell_of[cell];
		float mean[3];
		if (c == SL_MAP_NONE || !s[c].nodes || g->density[cell] < 0.5f * s[c].densest)
			continue;
		for (int k = 0; k < g->dims; k++)
			mean[k] = (float)(s[c].sum[k] / s[c].nodes);
		cell_centre(g, cell, at);
		double distance = apart(g, at, mean);
		if (distance < s[c].best) {
			s[c].best = distance;
			memcpy(out[c].at, at, sizeof at);
		}
	}
	for (uint32_t c = 0; c < count; c++)
		s[c].best = INFINITY;
	for (uint32_t i = 0; i < g->n; i++) {
		uint32_t c = code[i];
		if (c == SL_MAP_NONE)
			continue;
		double distance = apart(g, &g->y[(size_t)i * (size_t)g->dims], out[c].at);
		s[c].spread += distance;
		if (distance < s[c].best) {
			s[c].best = distance;
			s[c].peak = i;
		}
	}
	for (uint32_t c = 0; c < count; c++) {
		out[c].nodes = s[c].nodes;
		out[c].peak = s[c].peak;
		out[c].radius = s[c].nodes ? (float)sqrt(s[c].spread / s[c].nodes) : 0;
		out[c].parent = SL_MAP_NONE;
	}
}

struct sorting {
	const struct sl_map_cluster *cluster;
};

static int by_nodes(const void *a, const void *b, void *arg)
{
	const struct sl_map_cluster *cluster = ((struct sorting *)arg)->cluster;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return cluster[x].nodes != cluster[y].nodes ? (cluster[x].nodes < cluster[y].nodes) - (cluster[x].nodes >
			cluster[y].nodes) : (x > y) - (x < y);
}

/* Puts the clusters of a level into the order of their size, and leaves out those without nodes. moved[count]: the new
 * number of each. */
static void sort_level(struct sl_map_level *level, struct sl_map_cluster *raw, uint32_t count, uint32_t *order,
		       uint32_t *moved)
{
	for (uint32_t c = 0; c < count; c++)
		order[c] = c;
	qsort_r(order, count, sizeof *order, by_nodes, &(struct sorting){raw});
	level->count = 0;
	for (uint32_t k = 0; k < count; k++) {
		moved[order[k]] = raw[order[k]].nodes ? level->count : SL_MAP_NONE;
		if (raw[order[k]].nodes)
			level->cluster[level->count++] = raw[order[k]];
	}
}

/* One level: of the `most` first peaks. before: the level before, or NULL; before_of[peaks]: its clusters by peak. */
static int make_level(struct grid *g, struct sl_map_clusters *out, uint32_t most, uint32_t *before_of)
{
	struct sl_map_level *level = &out->level[out->levels];
	bool first = !out->levels;
	uint32_t *of_peak = malloc((g->peaks + 1ull) * sizeof *of_peak), *cell_of = g->order;
	struct sl_map_cluster raw[SL_MAP_CLUSTERS];
	struct summing sums[SL_MAP_CLUSTERS];
	uint32_t order[SL_MAP_CLUSTERS], moved[SL_MAP_CLUSTERS];
	level->cluster = calloc(most + 1ull, sizeof *level->cluster);
	if (!of_peak || !level->cluster) {
		free(of_peak);
		return SL_NOMEM;
	}
	for (uint32_t p = 0; p < g->peaks; p++) {
		uint32_t kept = kept_peak(g, p, most);
		of_peak[p] = kept == SL_MAP_NONE ? SL_MAP_NONE : g->rank[kept];
	}
	for (uint32_t cell = 0; cell < g->cells; cell++)
		cell_of[cell] = g->basin[cell] == SL_MAP_NONE ? SL_MAP_NONE : of_peak[g->basin[cell]];
	for (uint32_t i = 0; i < g->n; i++)
		out->code[i] = g->node_cell[i] == SL_MAP_NONE ? SL_MAP_NONE : cell_of[g->node_cell[i]];
	memset(raw, 0, sizeof raw);
	describe(g, cell_of, out->code, most, raw, sums);
	for (uint32_t c = 0; c < most && !first; c++)
		raw[c].parent = before_of[g->by_excess[c]];
	sort_level(level, raw, most, order, moved);
	for (uint32_t i = 0; i < g->n; i++)
		if (out->code[i] != SL_MAP_NONE)
			out->code[i] = moved[out->code[i]];
	for (uint32_t p = 0; p < g->peaks; p++)
		before_of[p] = of_peak[p] == SL_MAP_NONE ? SL_MAP_NONE : moved[of_peak[p]];
	free(of_peak);
	out->levels++;
	return 0;
}

static int make_levels(struct grid *g, struct sl_map_clusters *out)
{
	uint32_t known = 0, had = 0;
	uint32_t *before_of = malloc((g->peaks + 1ull) * sizeof *before_of);
	int rc = before_of ? 0 : SL_NOMEM;
	while (known < g->peaks && g->peak[g->by_excess[known]].excess > 0)
		known++;
	for (int k = 0; k < SL_MAP_LEVELS && !rc; k++) {
		uint32_t most = known < MOST[k] ? known : MOST[k];
		if (most <= had)
			continue;   /* it would be the level before again */
		rc = make_level(g, out, most, before_of);
		had = most;
	}
	free(before_of);
	return rc;
}

/* ---- life ------------------------------------------------------------------------------------------------ */

static struct sl_map_clusters *create(uint32_t n, int dims)
{
	struct sl_map_clusters *c = calloc(1, sizeof *c);
	if (c && !(c->code = malloc((n + 1ull) * sizeof *c->code))) {
		free(c);
		return NULL;
	}
	if (c) {
		c->n = n;
		c->dims = dims;
		for (uint32_t i = 0; i < n; i++)
			c->code[i] = SL_MAP_NONE;
	}
	return c;
}

void sl_map_clusters_free(struct sl_map_clusters *c)
{
	if (!c)
		return;
	for (int k = 0; k < SL_MAP_LEVELS; k++)
		free(c->level[k].cluster);
	free(c->code);
	free(c);
}

uint32_t sl_map_cluster_at(const struct sl_map_clusters *c, int level, uint32_t last)
{
	for (int k = c->levels - 1; k > level && last != SL_MAP_NONE; k--)
		last = c->level[k].cluster[last].parent;
	return last;
}

static void grid_finish(struct grid *g)
{
	free(g->density);
	free(g->other);
	free(g->node_cell);
	free(g->order);
	free(g->basin);
	free(g->set);
	free(g->peak);
	free(g->by_excess);
	free(g->rank);
}

/* Counts and smooths. *empty: no node has a position. */
static int grid_init(struct grid *g, const float *y, uint32_t n, int dims, bool *empty)
{
	*g = (struct grid){.y = y, .n = n, .dims = dims, .side = SIDE[dims], .cells = 1};
	for (int k = 0; k < dims; k++)
		g->cells *= (uint32_t)g->side;
	float *sample = malloc((SAMPLE + 2ull) * sizeof *sample);
	g->density = calloc(g->cells, sizeof *g->density);
	g->other = calloc(g->cells, sizeof *g->other);
	g->node_cell = malloc((n + 1ull) * sizeof *g->node_cell);
	g->order = malloc(g->cells * sizeof *g->order);
	g->basin = malloc(g->cells * sizeof *g->basin);
	bool fine = sample && g->density && g->other && g->node_cell && g->order && g->basin;
	*empty = fine && !find_box(g, sample);
	free(sample);
	if (fine && !*empty) {
		count_nodes(g);
		smooth(g);
	}
	return fine ? 0 : SL_NOMEM;
}

int sl_map_clusters_make(const float *y, uint32_t n, int dims, struct sl_map_clusters **out, struct sl_error *err)
{
	struct grid g;
	bool empty = false;
	if (dims < 1 || dims > 3)
		return sl_error_set(err, SL_BADPARAM, "A layout has 1 to 3 dimensions, not %d.", dims);
	struct sl_map_clusters *c = create(n, dims);
	int rc = grid_init(&g, y, n, dims, &empty);
	if (!c)
		rc = SL_NOMEM;
	if (!rc && !empty)
		rc = grow_tree(&g);
	if (!rc && !empty)
		rc = make_levels(&g, c);
	grid_finish(&g);
	if (rc) {
		sl_map_clusters_free(c);
		return sl_error_memory(err, "the clusters of a layout");
	}
	*out = c;
	return 0;
}

/* The labels with the most nodes, at most SL_MAP_CLUSTERS; to[labels]: their places, SL_MAP_NONE: others. */
static uint32_t largest(const uint32_t *label, uint32_t n, uint32_t labels, uint32_t *to, struct sl_map_cluster *count,
			uint32_t *order)
{
	for (uint32_t i = 0; i < n; i++)
		if (label[i] < labels)
			count[label[i]].nodes++;
	for (uint32_t l = 0; l < labels; l++)
		order[l] = l;
	qsort_r(order, labels, sizeof *order, by_nodes, &(struct sorting){count});
	uint32_t most = labels < SL_MAP_CLUSTERS ? labels : SL_MAP_CLUSTERS;
	for (uint32_t l = 0; l < labels; l++)
		to[order[l]] = l < most ? l : SL_MAP_NONE;
	return most;
}

/* A cell belongs to the label of its first node. Only the place of the name depends on it. */
static int place_labels(struct grid *g, struct sl_map_clusters *c, uint32_t most)
{
	struct sl_map_cluster raw[SL_MAP_CLUSTERS];
	struct summing sums[SL_MAP_CLUSTERS];
	uint32_t order[SL_MAP_CLUSTERS], moved[SL_MAP_CLUSTERS];
	c->level[0].cluster = calloc(most + 1ull, sizeof *c->level[0].cluster);
	if (!c->level[0].cluster)
		return SL_NOMEM;
	for (uint32_t cell = 0; cell < g->cells; cell++)
		g->order[cell] = SL_MAP_NONE;
	for (uint32_t i = 0; i < g->n; i++) {
		if (g->node_cell[i] == SL_MAP_NONE)
			c->code[i] = SL_MAP_NONE;
		else if (g->order[g->node_cell[i]] == SL_MAP_NONE)
			g->order[g->node_cell[i]] = c->code[i];
	}
	memset(raw, 0, sizeof raw);
	describe(g, g->order, c->code, most, raw, sums);
	sort_level(&c->level[0], raw, most, order, moved);
	for (uint32_t i = 0; i < g->n; i++)
		if (c->code[i] != SL_MAP_NONE)
			c->code[i] = moved[c->code[i]];
	c->levels = 1;
	return 0;
}

int sl_map_clusters_of_labels(const float *y, uint32_t n, int dims, const uint32_t *label, uint32_t labels,
			      struct sl_map_clusters **out, struct sl_error *err)
{
	struct grid g;
	bool empty = false;
	if (dims < 1 || dims > 3)
		return sl_error_set(err, SL_BADPARAM, "A layout has 1 to 3 dimensions, not %d.", dims);
	struct sl_map_clusters *c = create(n, dims);
	uint32_t *to = malloc((labels + 1ull) * sizeof *to), *order = malloc((labels + 1ull) * sizeof *order);
	struct sl_map_cluster *count = calloc(labels + 1ull, sizeof *count);
	int rc = c && to && order && count ? 0 : SL_NOMEM;
	int grid = grid_init(&g, y, n, dims, &empty);
	rc = rc ? rc : grid;
	if (!rc && !empty) {
		uint32_t most = largest(label, n, labels, to, count, order);
		for (uint32_t i = 0; i < n; i++)
			c->code[i] = label[i] < labels ? to[label[i]] : SL_MAP_NONE;
		rc = place_labels(&g, c, most);
	}
	grid_finish(&g);
	free(to);
	free(order);
	free(count);
	if (rc) {
		sl_map_clusters_free(c);
		return sl_error_memory(err, "the clusters of a layout");
	}
	*out = c;
	return 0;
}
