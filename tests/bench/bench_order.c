/* bench_order [SOURCE ...] -- measures the time to find an order of the nodes, and the time of the attraction loop with
 * it. SOURCE: a graph file; an .npy of points, whose 30 nearest neighbours are found exactly; or grid:SIDE, a square
 * grid of SIDE^2 nodes with 20 neighbours each, in random order. Prints a Markdown table: time of one pass of sum_j
 * p_ij (y_i - y_j) / (1 + |y_i - y_j|^2) over P in 2-D, best of many, with y at random, on one thread; and the time to
 * find each order. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#ifdef HAVE_METIS
#include <metis.h>
#endif

#include "core/formats/numpy/npy.h"
#include "core/formats/read.h"
#include "core/graph/affinities.h"
#include "core/graph/order.h"

enum { NEIGHBOURS = 30 };

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void *allocate(size_t bytes)
{
	void *p = malloc(bytes + 1);
	if (!p) {
		fprintf(stderr, "bench_order: out of memory\n");
		exit(1);
	}
	return p;
}

static void check(int rc, const struct sl_error *err)
{
	char line[1200];
	if (!rc)
		return;
	fprintf(stderr, "bench_order: %s\n", sl_error_format(err, line, sizeof line));
	exit(1);
}

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static void shuffle(uint32_t *list, uint32_t n, uint64_t state)
{
	for (uint32_t i = 0; i < n; i++) {
		uint32_t j = (uint32_t)(next_random(&state) % (i + 1));
		list[i] = list[j];
		list[j] = i;
	}
}

/* ---- sources --------------------------------------------------------------- */

static struct sl_graph *finish(struct sl_graph_builder *b)
{
	struct sl_graph *g;
	struct sl_error err;
	check(sl_graph_builder_finish(b, 0, &g, &err), &err);
	return g;
}

static struct sl_graph *make_grid(uint32_t side)
{
	uint32_t n = side * side, *name = allocate(n * sizeof *name);
	struct sl_graph_builder *b;
	struct sl_error err;
	shuffle(name, n, 88172645463325252ull);
	check(sl_graph_builder_create(&b, SL_SYMMETRIC, false, 10ull * n, &err), &err);
	for (uint32_t v = 0; v < side; v++)
		for (uint32_t u = 0; u < side; u++)
			for (int k = 3; k < 13; k++) {  /* half of the surrounding 5 x 5 cells, without the corners */
				int du = k % 5 - 2, dv = k / 5;
				if (k == 3)
					du = 1, dv = 0;
				if (k == 4)
					du = 2, dv = 0;
				int64_t x = (int64_t)u + du, y = (int64_t)v + dv;
				if (x >= 0 && x < side && y < side)
					check(sl_graph_builder_add(b, name[v * side + u], name[y * side + x], 1), &err);
			}
	free(name);
	return finish(b);
}

static void nearest(const float *x, uint64_t n, uint64_t d, uint64_t i, float *distance, uint32_t *near)
{
	for (uint64_t j = 0; j < n; j++)
		distance[j] = 0;
	for (uint64_t k = 0; k < d; k++) {
		const float *c = x + k * n, at = c[i];
		for (uint64_t j = 0; j < n; j++)
			distance[j] += (c[j] - at) * (c[j] - at);
	}
	distance[i] = INFINITY;
	int count = 0;
	for (uint32_t j = 0; j < n; j++) {
		if (count == NEIGHBOURS && distance[j] >= distance[near[count - 1]])
			continue;
		int at = count < NEIGHBOURS ? count++ : count - 1;
		for (; at && distance[near[at - 1]] > distance[j]; at--)
			near[at] = near[at - 1];
		near[at] = j;
	}
}

static struct sl_graph *find_neighbours(struct sl_source *source)
{
	float *rows, *x;
	uint64_t n, d;
	struct sl_error err;
	struct sl_graph_builder *b;
	check(sl_npy_read(&rows, &n, &d, NULL, source, &err), &err);
	n = n < 30000 ? n : 30000;
	x = allocate(n * d * sizeof *x);
	for (uint64_t i = 0; i < n; i++)
		for (uint64_t k = 0; k < d; k++)
			x[k * n + i] = rows[i * d + k];
	uint32_t(*near)[NEIGHBOURS] = allocate(n * sizeof *near);
#pragma omp parallel
	{
		float *distance = allocate(n * sizeof *distance);
#pragma omp for schedule(dynamic, 64)
		for (uint64_t i = 0; i < n; i++)
			nearest(x, n, d, i, distance, near[i]);
		free(distance);
	}
	check(sl_graph_builder_create(&b, SL_GENERAL, false, n * NEIGHBOURS, &err), &err);
	for (uint32_t i = 0; i < n; i++)
		for (int k = 0; k < NEIGHBOURS; k++)
			check(sl_graph_builder_add(b, near[i][k], i, 1), &err);
	free(near);
	free(rows);
	free(x);
	return finish(b);
}

static struct sl_graph *read_source(const char *name)
{
	struct sl_source *source;
	struct sl_graph *g;
	struct sl_error err;
	if (!strncmp(name, "grid:", 5))
		return make_grid((uint32_t)atoi(name + 5));
	check(sl_source_open_path(&source, name, NULL, &err), &err);
	if (strstr(name, ".npy"))
		g = find_neighbours(source);
	else
		check(sl_graph_read(&g, NULL, source, &err), &err);
	sl_source_close(source);
	return g;
}

/* ---- orders ------------------------------------------------------------------ */

static const uint64_t *degree_start;

static int by_degree(const void *a, const void *b)
{
	uint32_t u = *(const uint32_t *)a, v = *(const uint32_t *)b;
	uint64_t du = degree_start[u + 1] - degree_start[u], dv = degree_start[v + 1] - degree_start[v];
	return du != dv ? (du > dv ? -1 : 1) : (u > v) - (u < v);
}

static bool order_degree(const struct sl_affinities *a, uint32_t *old)
{
	for (uint32_t i = 0; i < a->n; i++)
		old[i] = i;
	degree_start = a->start;
	qsort(old, a->n, sizeof *old, by_degree);
	return true;
}

static bool order_shuffled(const struct sl_affinities *a, uint32_t *old)
{
	shuffle(old, a->n, 1181783497276652981ull);
	return true;
}

static bool order_none(const struct sl_affinities *a, uint32_t *old)
{
	return !sl__order(SL_ORDER_NONE, a->n, a->start, a->node, old);
}

static bool order_bfs(const struct sl_affinities *a, uint32_t *old)
{
	return !sl__order(SL_ORDER_BFS, a->n, a->start, a->node, old);
}

static bool order_rcm(const struct sl_affinities *a, uint32_t *old)
{
	return !sl__order(SL_ORDER_RCM, a->n, a->start, a->node, old);
}

#ifdef HAVE_METIS
/* Parts of about 512 nodes by recursive bisection, with consecutive nodes in a part; or the fill-reducing order of
 * nested dissection. */
static bool order_metis(const struct sl_affinities *a, uint32_t *old, bool dissection)
{
	if (a->m > INT32_MAX)
		return false;
	idx_t n = (idx_t)a->n, one = 1, parts = n / 512 + 1, cut;
	idx_t *start = allocate(((size_t)n + 1) * sizeof *start), *node = allocate(a->m * sizeof *node);
	idx_t *part = allocate((size_t)n * sizeof *part), *inverse = allocate((size_t)n * sizeof *inverse);
	uint32_t *first = calloc((size_t)parts + 2, sizeof *first);
	int rc;
	for (idx_t i = 0; i <= n; i++)
		start[i] = (idx_t)a->start[i];
	for (uint64_t e = 0; e < a->m; e++)
		node[e] = (idx_t)a->node[e];
	if (dissection)
		rc = METIS_NodeND(&n, start, node, NULL, NULL, part, inverse);
	else
		rc = METIS_PartGraphRecursive(&n, &one, start, node, NULL, NULL, NULL, &parts, NULL, NULL, NULL, &cut, part);
	for (idx_t i = 0; !dissection && i < n; i++)
		first[part[i] + 1]++;
	for (idx_t k = 0; k < parts; k++)
		first[k + 1] += first[k];
	for (idx_t i = 0; i < n; i++)
		old[dissection ? (uint32_t)inverse[i] : first[part[i]]++] = (uint32_t)i;
	free(start);
	free(node);
	free(part);
	free(inverse);
	free(first);
	return rc == METIS_OK;
}

static bool order_dissection(const struct sl_affinities *a, uint32_t *old)
{
	return order_metis(a, old, true);
}

static bool order_parts(const struct sl_affinities *a, uint32_t *old)
{
	return order_metis(a, old, false);
}
#endif

static const struct {
	const char *name;
	bool (*find)(const struct sl_affinities *a, uint32_t *old);
} orders[] = {
	{"random", order_shuffled}, {"as given", order_none}, {"by degree", order_degree},
	{"breadth-first", order_bfs}, {"reverse Cuthill-McKee", order_rcm},
#ifdef HAVE_METIS
	{"METIS, parts of 512", order_parts}, {"METIS, nested dissection", order_dissection},
#endif
};

/* a renumbered, in new memory */
static struct sl_affinities renumbered(const struct sl_affinities *a, const uint32_t *old)
{
	struct sl_affinities b = {.n = a->n, .m = a->m, .start = allocate(((size_t)a->n + 1) * 8),
				  .node = allocate(a->m * 4), .p = allocate(a->m * 4)};
	uint32_t *place = allocate((size_t)a->n * sizeof *place);
	uint64_t *cursor = allocate(((size_t)a->n + 1) * sizeof *cursor);
	b.start[0] = 0;
	for (uint32_t r = 0; r < a->n; r++) {
		place[old[r]] = r;
		b.start[r + 1] = b.start[r] + a->start[old[r] + 1] - a->start[old[r]];
	}
	memcpy(cursor, b.start, ((size_t)a->n + 1) * sizeof *cursor);
	for (uint32_t r = 0; r < a->n; r++)
		for (uint64_t e = a->start[old[r]]; e < a->start[old[r] + 1]; e++) {
			uint64_t at = cursor[place[a->node[e]]]++;
			b.node[at] = r;
			b.p[at] = a->p[e];
		}
	free(place);
	free(cursor);
	return b;
}

/* ---- the loop ------------------------------------------------------------------ */

#if defined __x86_64__ && !defined __clang__ && !defined __SANITIZE_THREAD__ && !defined __SANITIZE_ADDRESS__
__attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")))
#endif
static void attract(const struct sl_affinities *a, const float *restrict y, float *restrict force)
{
	for (uint32_t i = 0; i < a->n; i++) {
		float fx = 0, fy = 0, yx = y[2 * i], yy = y[2 * i + 1];
#pragma omp simd reduction(+ : fx, fy)
		for (uint64_t e = a->start[i]; e < a->start[i + 1]; e++) {
			size_t j = a->node[e];
			float dx = yx - y[2 * j], dy = yy - y[2 * j + 1], w = a->p[e] / (1 + dx * dx + dy * dy);
			fx += w * dx;
			fy += w * dy;
		}
		force[2 * i] = fx;
		force[2 * i + 1] = fy;
	}
}

static double time_pass(const struct sl_affinities *a, const float *y, float *force)
{
	double best = INFINITY, begin = now();
	for (int k = 0; k < 5 || (now() - begin < 0.6 && k < 2000); k++) {
		double t = now();
		attract(a, y, force);
		t = now() - t;
		best = t < best ? t : best;
	}
	return 1e3 * best;
}

static void measure(const char *name)
{
	struct sl_graph *g = read_source(name);
	struct sl_affinities_params params = {.lambda = 1, .drop_leaf_edges = false, .order = SL_ORDER_NONE};
	struct sl_affinities *a;
	struct sl_error err;
	check(sl_affinities_create(&a, g, &params, &err), &err);
	sl_graph_destroy(g);
	uint64_t state = 1234567;
	uint32_t *old = allocate((size_t)a->n * sizeof *old);
	float *y = allocate(2 * (size_t)a->n * sizeof *y), *force = allocate(2 * (size_t)a->n * sizeof *force);
	for (size_t k = 0; k < 2 * (size_t)a->n; k++)
		y[k] = (float)(next_random(&state) >> 40) * 0x1p-18f;
	const char *slash = strrchr(name, '/');
	printf("\n%s: %u nodes, %llu entries\n\n| order | a pass, ms | finding it, ms |\n"
	       "| --- | ---: | ---: |\n", slash ? slash + 1 : name, a->n, (unsigned long long)a->m);
	for (size_t k = 0; k < sizeof orders / sizeof *orders; k++) {
		double t = now();
		if (!orders[k].find(a, old))
			continue;
		t = now() - t;
		struct sl_affinities b = renumbered(a, old);
		printf("| %s | %.3f | %.1f |\n", orders[k].name, time_pass(&b, y, force), 1e3 * t);
		fflush(stdout);
		free(b.start);
		free(b.node);
		free(b.p);
	}
	free(old);
	free(y);
	free(force);
	sl_affinities_destroy(a);
}

int main(int argc, char **argv)
{
	if (argc < 2)
		measure("grid:1000");
	for (int k = 1; k < argc; k++)
		measure(argv[k]);
	return 0;
}
