/* Makes synthetic graphs of neighbours. Points are drawn cell by cell, so they need no sorting. A cluster is a cube
 * with opposite faces joined. Its side^3 cells contain equal numbers of points, up to one, at random positions in the
 * cell. So all array indices are known in advance, and any thread can make any part. The candidates for a point's
 * neighbours are those of its own and the adjacent cells: with about k / 6 points a cell there are 4.5 k.
 *
 * Each point also has a random distance from this space, in a direction orthogonal to all others, as noise has in many
 * dimensions. So |x_i - x_j|^2 = |u_i - u_j|^2 + e_i + e_j, where u are the positions and e the squares of these
 * distances. Points of small e are near to many others: they become hubs (Radovanovic et al., Hubs in space, JMLR 11,
 * 2010). */
#include "core/graph/synthetic.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/random.h"

#define CLUSTERS_MAX 50
#define FAR_EVERY 20       /* every so many nodes, one has a neighbour in another cluster */
#define NOISE 0.8          /* mean of e, in units of the squared radius of the k nearest places */
#define DECAY 5.5f         /* weight exp(-DECAY (d^2 - nearest) / (farthest - nearest)): perplexity about k / 3 */

struct cluster {
	uint32_t first, size;  /* nodes */
	uint32_t side;         /* cells a side */
};

struct making {
	uint32_t n, k;
	uint64_t seed;
	struct cluster cluster[CLUSTERS_MAX];
	uint32_t clusters;
	float *place;          /* [n][4]: u in units of a cell; e */
	uint32_t room;         /* most candidates of a point */
};

struct scratch {
	uint32_t *node;        /* [room] candidates, ascending */
	float *square;         /* [room] squared distances minus the point's own e */
	uint64_t *key;         /* [room] square in the high bits, then the place in the list, so that all differ */
};

static uint32_t cells_of(const struct cluster *c) { return c->side * c->side * c->side; }

static uint32_t cell_first(const struct cluster *c, uint32_t cell)
{
	return c->first + (uint32_t)((uint64_t)c->size * cell / cells_of(c));
}

/* Draws the sizes of clusters, from the smallest to about 20 times as large, each more than k. */
static void draw_clusters(struct making *m)
{
	double weight[CLUSTERS_MAX], all = 0, before = 0;
	uint32_t most = m->n / (4 * m->k + 40), count = most > CLUSTERS_MAX ? CLUSTERS_MAX : most ? most : 1;
	uint32_t least = count > 1 ? 2 * m->k + 20 : 0, shared = m->n - count * least;
	for (uint32_t c = 0; c < count; c++)
		all += weight[c] = exp(0.8 * sl_random_normal(m->seed ^ 0x636c7573, c));
	double cell = fmax(m->k / 6.0, 2);
	for (uint32_t c = 0; c < count; c++) {
		struct cluster *k = &m->cluster[c];
		uint32_t from = (uint32_t)(shared * (before / all));
		uint32_t to = (uint32_t)(shared * ((before + weight[c]) / all));
		k->first = c * least + from;
		before += weight[c];
		k->size = (c + 1 < count ? (c + 1) * least + to : m->n) - k->first;
		k->side = (uint32_t)cbrt(k->size / cell);
		k->side += k->side == 0;
		uint32_t fullest = k->size / cells_of(k) + 1, cells = k->side < 3 ? cells_of(k) : 27;
		if (fullest * cells > m->room)
			m->room = fullest * cells;
	}
	m->clusters = count;
}

static void draw_places(struct making *m)
{
	for (uint32_t c = 0; c < m->clusters; c++) {
		const struct cluster *cluster = &m->cluster[c];
		uint32_t side = cluster->side;
		double density = (double)cluster->size / cells_of(cluster);
		double noise = NOISE * pow(m->k / (4.19 * density), 2.0 / 3);
#pragma omp parallel for schedule(static)
		for (uint32_t cell = 0; cell < cells_of(cluster); cell++) {
			const uint32_t corner[3] = {cell % side, cell / side % side, cell / side / side};
			for (uint32_t i = cell_first(cluster, cell); i < cell_first(cluster, cell + 1); i++) {
				float *place = m->place + 4 * (size_t)i;
				for (uint32_t d = 0; d < 3; d++)
					place[d] = (float)(corner[d] + sl_random_uniform(m->seed, 4 * (uint64_t)i + d));
				place[3] = (float)(-noise * log(sl_random_uniform(m->seed, 4 * (uint64_t)i + 3)));
			}
		}
	}
}

/* Lists x and its neighbours on a ring of `side` cells, ascending; returns the number of different ones. */
static int around(uint32_t x, uint32_t side, uint32_t out[3])
{
	if (side < 3) {
		out[0] = 0;
		out[1] = 1;
		return (int)side;
	}
	uint32_t before = x ? x - 1 : side - 1, after = x + 1 < side ? x + 1 : 0;
	out[0] = x == 0 ? 0 : after == 0 ? 0 : before;
	out[1] = x == 0 ? 1 : after == 0 ? before : x;
	out[2] = x == 0 ? before : after == 0 ? x : after;
	return 3;
}

/* Lists the nodes of this and the adjacent cells, ascending. */
static uint32_t candidates_around(const struct cluster *c, uint32_t cell, uint32_t *node)
{
	uint32_t xs[3], ys[3], zs[3], count = 0, side = c->side;
	int nx = around(cell % side, side, xs), ny = around(cell / side % side, side, ys);
	int nz = around(cell / side / side, side, zs);
	for (int z = 0; z < nz; z++)
		for (int y = 0; y < ny; y++)
			for (int x = 0; x < nx; x++) {
				uint32_t at = (zs[z] * side + ys[y]) * side + xs[x];
				for (uint32_t i = cell_first(c, at), end = cell_first(c, at + 1); i < end; i++)
					node[count++] = i;
			}
	return count;
}

/* Returns key[rank] of the sorted list (Hoare, 1961); changes the order of key. */
static uint64_t nth(uint64_t *key, uint32_t count, uint32_t rank)
{
	uint32_t low = 0, high = count - 1;
	while (low < high) {
		uint64_t pivot = key[low + (high - low) / 2];
		uint32_t i = low, j = high;
		for (;;) {
			while (key[i] < pivot)
				i++;
			while (key[j] > pivot)
				j--;
			if (i >= j)
				break;
			uint64_t swap = key[i];
			key[i++] = key[j];
			key[j--] = swap;
		}
		/* elements before i are <= pivot, those from i on >= pivot; i == j only at the pivot */
		if (rank <= j)
			high = j;
		else
			low = j + 1;
	}
	return key[rank];
}

static void distances(const struct making *m, const struct cluster *c, uint32_t i, const uint32_t *node, uint32_t count,
		      float *square)
{
	const float *own = m->place + 4 * (size_t)i;
	float side = (float)c->side, half = side / 2;
	for (uint32_t k = 0; k < count; k++) {
		const float *their = m->place + 4 * (size_t)node[k];
		float sum = their[3];
		for (int d = 0; d < 3; d++) {
			float x = fabsf(own[d] - their[d]);
			x = x > half ? side - x : x;
			sum += x * x;
		}
		square[k] = sum;
	}
}

/* Makes a column: the k nearest of the candidates, ascending by number. */
static void choose(const struct making *m, const struct cluster *c, uint32_t i, uint32_t count, struct scratch *s,
		   uint32_t *node, float *weight)
{
	uint32_t used = 0, kept = 0;
	float nearest = INFINITY, farthest = 0;
	distances(m, c, i, s->node, count, s->square);
	for (uint32_t k = 0; k < count; k++) {
		uint32_t bits;
		memcpy(&bits, &s->square[k], sizeof bits);  /* positive floats sort as integers */
		if (s->node[k] != i)
			s->key[used++] = (uint64_t)bits << 32 | k;
	}
	uint64_t limit = nth(s->key, used, m->k - 1);
	for (uint32_t k = 0; k < count; k++) {
		uint32_t bits;
		memcpy(&bits, &s->square[k], sizeof bits);
		if (s->node[k] == i || ((uint64_t)bits << 32 | k) > limit)
			continue;
		node[kept] = s->node[k];
		weight[kept++] = s->square[k];
		nearest = fminf(nearest, s->square[k]);
		farthest = fmaxf(farthest, s->square[k]);
	}
	float scale = farthest > nearest ? -DECAY / (farthest - nearest) : 0;
	for (uint32_t k = 0; k < kept; k++)
		weight[k] = expf(scale * (weight[k] - nearest));
}

/* Replaces the last neighbour by a node of another cluster. */
static void reach_far(const struct making *m, const struct cluster *c, uint32_t i, uint32_t *node)
{
	if (m->clusters == 1 || sl_random_bits(m->seed ^ 0x666172, i) % FAR_EVERY)
		return;
	uint32_t other = (uint32_t)(sl_random_bits(m->seed ^ 0x6f74686572, i) % (m->n - c->size)), k = m->k - 1;
	if (other >= c->first) {
		node[k] = other + c->size;
		return;
	}
	memmove(node + 1, node, k * sizeof *node);
	node[0] = other;
}

static int scratch_init(struct scratch *s, uint32_t room)
{
	s->node = malloc(sizeof *s->node * room);
	s->square = malloc(sizeof *s->square * room);
	s->key = malloc(sizeof *s->key * room);
	return s->node && s->square && s->key ? 0 : SL_NOMEM;
}

static void scratch_finish(struct scratch *s)
{
	free(s->node);
	free(s->square);
	free(s->key);
}

static int draw_columns(const struct making *m, struct sl_graph *g)
{
	int code = 0;
#pragma omp parallel
	{
		struct scratch s = {0};
		int mine = scratch_init(&s, m->room);
		if (mine) {
#pragma omp atomic write
			code = mine;
		}
		for (uint32_t c = 0; c < m->clusters; c++) {
			const struct cluster *cluster = &m->cluster[c];
#pragma omp for schedule(dynamic, 64) nowait
			for (uint32_t cell = 0; cell < cells_of(cluster); cell++) {
				uint32_t count = mine ? 0 : candidates_around(cluster, cell, s.node);
				uint32_t from = cell_first(cluster, cell), to = cell_first(cluster, cell + 1);
				for (uint32_t i = from; i < to && !mine; i++) {
					uint64_t at = (uint64_t)i * m->k;
					choose(m, cluster, i, count, &s, g->node + at, g->weight + at);
					reach_far(m, cluster, i, g->node + at);
				}
			}
		}
		scratch_finish(&s);
	}
	return code;
}

int sl__synthetic_check(uint32_t n, uint32_t k, struct sl_error *err)
{
	if (k < 2 || k > 1000)
		return sl_error_field(err, SL_BADPARAM, "/neighbours", "The number of neighbours must be from 2 to "
				      "1000, not %u.", k);
	if (n <= k || n > 0xfffffff0u)
		return sl_error_field(err, SL_BADPARAM, "/nodes", "There are %u nodes with %u neighbours each; there "
				      "must be more than %u and at most 4294967280 nodes.", n, k, k);
	return 0;
}

int sl_synthetic_graph(struct sl_graph **out, uint32_t n, uint32_t k, uint64_t seed, struct sl_error *err)
{
	int bad = sl__synthetic_check(n, k, err);
	if (bad)
		return bad;
	struct making m = {.n = n, .k = k, .seed = seed};
	struct sl_graph *g = calloc(1, sizeof *g);
	int code = SL_NOMEM;
	if (!g)
		goto out;
	g->n = n;
	g->m = (uint64_t)n * k;
	g->start = malloc(sizeof *g->start * ((size_t)n + 1));
	g->node = malloc(sizeof *g->node * g->m);
	g->weight = malloc(sizeof *g->weight * g->m);
	m.place = malloc(sizeof *m.place * 4 * n);
	if (!g->start || !g->node || !g->weight || !m.place)
		goto out;
	for (size_t i = 0; i <= n; i++)
		g->start[i] = i * k;
	draw_clusters(&m);
	draw_places(&m);
	code = draw_columns(&m, g);
	g->report.entries_read = g->m;
out:
	free(m.place);
	if (code) {
		sl_graph_destroy(g);
		return sl_error_set(err, code, SL_NO_MEMORY "a graph of %u nodes with %u neighbours each.", n, k);
	}
	*out = g;
	return 0;
}
