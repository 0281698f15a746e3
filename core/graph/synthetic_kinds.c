/* Makes synthetic graphs of other kinds than clusters. Each column is drawn by itself, from random numbers that depend
 * on the seed, the node and a counter only, so any thread can make any column. Weights are all 1.
 *
 *   mesh         nodes on a torus of about square shape, each with its k nearest places
 *   random       k other nodes at random
 *   small_world  the k nearest on a ring, of which one in twenty is a random node instead (Watts and Strogatz, Nature
 *                393, 1998)
 *   attachment   k earlier nodes: half of them at random, half by copying an edge of a random node, which gives a power
 *                law of degrees as preferential attachment does (Kumar et al., FOCS 2000) */
#include "core/graph/synthetic.h"

#include <math.h>
#include <stdlib.h>

#include "core/random.h"

#define REWIRED_EVERY 20
#define DRAWS_MOST 64u  /* draws for an entry, since some are in the column already */

const char *const sl_synthetic_words[] = {"clusters", "mesh", "random", "small_world", "attachment", NULL};

struct drawing {
	enum sl_synthetic_kind kind;
	uint32_t n, k;
	uint64_t seed;
	int64_t offset[1000];  /* mesh, small_world: from a node to its k neighbours, modulo n */
};

static uint64_t bits(const struct drawing *d, uint32_t j, uint32_t draw, uint64_t salt)
{
	return sl_random_bits(d->seed ^ salt, (uint64_t)j * (DRAWS_MOST * 1000ull) + draw);
}

static uint32_t other_node(const struct drawing *d, uint32_t j, uint32_t draw)
{
	uint32_t i = (uint32_t)(bits(d, j, draw, 0x72616e64) % (d->n - 1));
	return i + (i >= j);
}

/* The chain of copied edges has two links on average. */
static uint32_t earlier_node(const struct drawing *d, uint32_t j, uint32_t draw)
{
	for (;;) {
		uint64_t b = bits(d, j, draw, 0x61747461);
		uint32_t i = (uint32_t)((b >> 1) % j);
		if (!(b & 1) || i <= d->k)
			return i;
		draw = (uint32_t)(bits(d, j, draw, 0x636f7079) % d->k);
		j = i;
	}
}

static uint32_t neighbour(const struct drawing *d, uint32_t j, uint32_t e, uint32_t draw)
{
	bool near = d->kind == SL_SYNTHETIC_MESH || d->kind == SL_SYNTHETIC_SMALL_WORLD;
	if (near && draw == e && (d->kind == SL_SYNTHETIC_MESH || bits(d, j, e, 0x77697265) % REWIRED_EVERY))
		return (uint32_t)(((int64_t)j + d->offset[e] + d->n) % d->n);
	if (d->kind == SL_SYNTHETIC_ATTACHMENT)
		return j > d->k ? earlier_node(d, j, draw) : (e < j ? e : e + 1);
	return other_node(d, j, draw);
}

static bool is_in(const uint32_t *node, uint32_t count, uint32_t x)
{
	for (uint32_t i = 0; i < count; i++)
		if (node[i] == x)
			return true;
	return false;
}

static void insert_sorted(uint32_t *node, uint32_t count, uint32_t x)
{
	while (count && node[count - 1] > x) {
		node[count] = node[count - 1];
		count--;
	}
	node[count] = x;
}

/* Draws a column, ascending; an entry that cannot be drawn otherwise is the next free node. */
static void draw_column(const struct drawing *d, uint32_t j, uint32_t *node)
{
	for (uint32_t e = 0; e < d->k; e++) {
		uint32_t x = neighbour(d, j, e, e);
		for (uint32_t again = 1; is_in(node, e, x) && again < DRAWS_MOST; again++)
			x = neighbour(d, j, e, e + again * 1000);
		while (x == j || is_in(node, e, x))
			x = x + 1 < d->n ? x + 1 : 0;
		insert_sorted(node, e, x);
	}
}

struct place {
	int64_t square, offset;
};

static int by_square(const void *a, const void *b)
{
	const struct place *x = a, *y = b;
	if (x->square != y->square)
		return x->square < y->square ? -1 : 1;
	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

/* The k places of a helix of this width that are nearest to 0. */
static int nearest_places(struct drawing *d, int64_t width)
{
	int64_t reach = (int64_t)ceil(sqrt(d->k / 3.0)) + 1, count = 0;
	struct place *p = malloc(sizeof *p * (size_t)((2 * reach + 1) * (2 * reach + 1)));
	if (!p)
		return SL_NOMEM;
	for (int64_t y = -reach; y <= reach; y++)
		for (int64_t x = -reach; x <= reach; x++)
			if (x || y)
				p[count++] = (struct place){x * x + y * y, y * width + x};
	qsort(p, (size_t)count, sizeof *p, by_square);
	for (uint32_t e = 0; e < d->k; e++)
		d->offset[e] = p[e].offset;
	free(p);
	return 0;
}

static int set_offsets(struct drawing *d)
{
	if (d->kind == SL_SYNTHETIC_MESH)
		return nearest_places(d, (int64_t)sqrt(d->n));
	for (uint32_t e = 0; e < d->k; e++)
		d->offset[e] = e % 2 ? -(int64_t)(e / 2 + 1) : (int64_t)(e / 2 + 1);
	return 0;
}

int sl_synthetic_kind(struct sl_graph **out, enum sl_synthetic_kind kind, uint32_t n, uint32_t k, uint64_t seed,
		      struct sl_error *err)
{
	if (kind == SL_SYNTHETIC_CLUSTERS)
		return sl_synthetic_graph(out, n, k, seed, err);
	int code = sl__synthetic_check(n, k, err);
	if (!code && kind == SL_SYNTHETIC_MESH && n < 16 * k)
		code = sl_error_field(err, SL_BADPARAM, "/nodes", "A mesh with %u neighbours a node needs at least %u nodes.",
				      k, 16 * k);
	if (code)
		return code;
	struct drawing d = {.kind = kind, .n = n, .k = k, .seed = seed};
	struct sl_graph *g = calloc(1, sizeof *g);
	code = g ? set_offsets(&d) : SL_NOMEM;
	if (code)
		goto out;
	code = SL_NOMEM;
	g->n = n;
	g->m = (uint64_t)n * k;
	g->report.entries_read = g->m;
	g->start = malloc(sizeof *g->start * ((size_t)n + 1));
	g->node = malloc(sizeof *g->node * g->m);
	if (!g->start || !g->node)
		goto out;
#pragma omp parallel for schedule(static)
	for (uint32_t j = 0; j < n; j++) {
		g->start[j] = (uint64_t)j * k;
		draw_column(&d, j, g->node + (uint64_t)j * k);
	}
	g->start[n] = g->m;
	code = 0;
out:
	if (code) {
		sl_graph_destroy(g);
		return sl_error_set(err, code, SL_NO_MEMORY "a graph of %u nodes with %u neighbours each.", n, k);
	}
	*out = g;
	return 0;
}
