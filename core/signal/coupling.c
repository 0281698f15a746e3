/* The rows are made in three steps: the union of each column with its row, in the user's numbering (or P unchanged); an
 * order of the nodes; the same rows in that order. This takes the memory of the rows twice and, for a graph that is not
 * symmetric, of its transpose. */
#include "core/signal/coupling.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/graph/affinities.h"
#include "core/graph/graph.h"
#include "core/graph/order.h"

#define BLOCK_WORK 24576   /* work of a block: its entries, and ROW_WORK for each row */
#define ROW_WORK 8
#define SORT_ROWS 16384    /* rows of a neighbourhood: their values, 128 KB, fit the L2 cache */

/* Rows before the renumbering. */
struct rows {
	uint32_t n;
	uint64_t *start;   /* [n + 1] */
	uint32_t *node;
	float *weight;     /* NULL: all 1 */
	uint32_t *user;    /* [n] or NULL: row i is the user's node i */
};

static void rows_finish(struct rows *r)
{
	free(r->start);
	free(r->node);
	free(r->weight);
	free(r->user);
	memset(r, 0, sizeof *r);
}

void sl_coupling_destroy(struct sl_coupling *c)
{
	if (!c)
		return;
	free(c->start);
	free(c->node);
	free(c->weight);
	free(c->degree);
	free(c->inverse);
	free(c->user);
	free(c->place);
	free(c->block);
	free(c->block_run);
	free(c->run);
	free(c);
}

/* ---- the union of columns and rows ------------------------------------------------------- */

/* Transposes g. Columns are visited in order, so the new rows ascend. */
static int transpose(struct rows *t, const struct sl_graph *g)
{
	t->n = g->n;
	t->start = calloc((size_t)g->n + 2, sizeof *t->start);
	t->node = malloc((g->m + 1) * sizeof *t->node);
	t->weight = g->weight ? malloc((g->m + 1) * sizeof *t->weight) : NULL;
	if (!t->start || !t->node || (g->weight && !t->weight))
		return SL_NOMEM;
	uint64_t *at = t->start + 1;  /* position of a row's next entry; at the end, start of the next row */
	for (uint64_t e = 0; e < g->m; e++)
		at[g->node[e] + 1]++;
	for (uint32_t i = 0; i < g->n; i++)
		at[i + 1] += at[i];
	for (uint32_t j = 0; j < g->n; j++)
		for (uint64_t e = g->start[j]; e < g->start[j + 1]; e++) {
			uint64_t to = at[g->node[e]]++;
			t->node[to] = j;
			if (g->weight)
				t->weight[to] = g->weight[e];
		}
	return 0;
}

static float weight_at(const float *weight, uint64_t e)
{
	return weight ? weight[e] : 1;
}

/* Writes row i of the union to node and weight (each may be NULL). Returns its length. */
static uint64_t merge(const struct sl_graph *g, const struct rows *t, uint32_t i, uint32_t *node, float *weight)
{
	uint64_t a = g->start[i], a_end = g->start[i + 1], b = t->start[i], b_end = t->start[i + 1], count = 0;
	while (a < a_end || b < b_end) {
		uint32_t x = a < a_end ? g->node[a] : UINT32_MAX, y = b < b_end ? t->node[b] : UINT32_MAX;
		if (node)
			node[count] = x < y ? x : y;
		if (weight)
			weight[count] = x < y ? weight_at(g->weight, a) : y < x ? weight_at(t->weight, b) :
					fmaxf(weight_at(g->weight, a), weight_at(t->weight, b));
		a += x <= y;
		b += y <= x;
		count++;
	}
	return count;
}

static int unite(struct rows *r, const struct sl_graph *g, const struct rows *t)
{
	r->n = g->n;
	r->start = malloc(((size_t)g->n + 1) * sizeof *r->start);
	if (!r->start)
		return SL_NOMEM;
	r->start[0] = 0;
	for (uint32_t i = 0; i < g->n; i++)
		r->start[i + 1] = r->start[i] + merge(g, t, i, NULL, NULL);
	r->node = malloc((r->start[g->n] + 1) * sizeof *r->node);
	r->weight = g->weight ? malloc((r->start[g->n] + 1) * sizeof *r->weight) : NULL;
	if (!r->node || (g->weight && !r->weight))
		return SL_NOMEM;
	for (uint32_t i = 0; i < g->n; i++)
		merge(g, t, i, r->node + r->start[i], r->weight ? r->weight + r->start[i] : NULL);
	return 0;
}

static int rows_of_graph(struct rows *r, const struct sl_graph *g)
{
	struct rows t = {.start = g->start, .node = g->node, .weight = g->weight};
	if (g->symmetric)
		return unite(r, g, &t);
	memset(&t, 0, sizeof t);
	int code = transpose(&t, g);
	if (!code)
		code = unite(r, g, &t);
	rows_finish(&t);
	return code;
}

static int rows_of_affinities(struct rows *r, const struct sl_affinities *a)
{
	r->n = a->n_user;
	r->start = malloc(((size_t)r->n + 1) * sizeof *r->start);
	r->node = malloc((a->m + 1) * sizeof *r->node);
	r->weight = malloc((a->m + 1) * sizeof *r->weight);
	r->user = malloc(((size_t)r->n + 1) * sizeof *r->user);
	uint8_t *taken = calloc((size_t)r->n + 1, 1);
	int code = r->start && r->node && r->weight && r->user && taken ? 0 : SL_NOMEM;
	if (!code) {
		uint32_t next = a->n;
		memcpy(r->start, a->start, ((size_t)a->n + 1) * sizeof *r->start);
		memcpy(r->user, a->user, a->n * sizeof *r->user);
		for (uint32_t i = 0; i < a->n; i++)
			taken[a->user[i]] = 1;
		for (uint32_t i = 0; i < r->n; i++)
			if (!taken[i])
				r->user[next++] = i;
		for (uint32_t i = a->n; i < r->n; i++)
			r->start[i + 1] = a->m;
		for (uint64_t e = 0; e < a->m; e++) {
			r->node[e] = a->node[e];
			r->weight[e] = a->p[e] * (float)a->n;
		}
	}
	free(taken);
	return code;
}

/* ---- order ------------------------------------------------------------------------------ */

static uint64_t row_length(const struct rows *r, uint32_t i)
{
	return r->start[i + 1] - r->start[i];
}

/* Sorts rows by length, longest first, stably; count is at most SORT_ROWS. */
static int sort_by_length(const struct rows *r, uint32_t *old, uint32_t count)
{
	uint64_t *key = malloc(2 * SORT_ROWS * sizeof *key), *sorted = key + SORT_ROWS;
	uint32_t *copy = malloc(SORT_ROWS * sizeof *copy);
	/* bottom-up merge sort: stable, and its time does not depend on the input */
	for (uint32_t i = 0; i < count && key; i++)
		key[i] = row_length(r, old[i]);
	for (uint32_t width = 1; width < count && key && copy; width *= 2) {
		for (uint32_t from = 0; from < count; from += 2 * width) {
			uint32_t middle = from + width < count ? from + width : count;
			uint32_t end = middle + width < count ? middle + width : count, a = from, b = middle;
			for (uint32_t to = from; to < end; to++) {
				uint32_t pick = a < middle && (b >= end || key[a] >= key[b]) ? a++ : b++;
				copy[to] = old[pick];
				sorted[to] = key[pick];
			}
		}
		memcpy(old, copy, count * sizeof *old);
		memcpy(key, sorted, count * sizeof *key);
	}
	int code = key && copy ? 0 : SL_NOMEM;
	free(key);
	free(copy);
	return code;
}

/* Fills old[new], the order of the nodes: neighbours in r close together, nodes without entries in `stored` last, and
 * by length within each SORT_ROWS rows, so that nodes of high degree share cache lines. */
static int find_order(const struct rows *r, const struct rows *stored, bool ordered, uint32_t *old)
{
	uint32_t *all = malloc(((size_t)r->n + 1) * sizeof *all), count = 0;
	if (!all)
		return SL_NOMEM;
	for (uint32_t i = 0; i < r->n; i++)
		all[i] = i;
	enum sl_order order = ordered ? SL_ORDER_NONE : sl__order_choose(r->n);
	int code = order == SL_ORDER_NONE ? 0 : sl__order(order, r->n, r->start, r->node, all);
	for (int edges = 1; edges >= 0 && !code; edges--)
		for (uint32_t i = 0; i < r->n; i++)
			if ((row_length(stored, all[i]) > 0) == edges)
				old[count++] = all[i];
	for (uint32_t from = 0; from < r->n && !code; from += SORT_ROWS)
		code = sort_by_length(stored, old + from, r->n - from < SORT_ROWS ? r->n - from : SORT_ROWS);
	free(all);
	return code;
}

/* Visits the nodes in their new order and appends each to the rows of its neighbours in `from`, which is the transpose
 * of r (r itself, if that is symmetric), so the new rows ascend. */
static int renumber(struct sl_coupling *c, const struct rows *r, const struct rows *from, const uint32_t *old)
{
	uint64_t *at = malloc(((size_t)c->n + 1) * sizeof *at);
	if (!at)
		return SL_NOMEM;
	c->start[0] = 0;
	for (uint32_t i = 0; i < c->n; i++)
		c->start[i + 1] = c->start[i] + row_length(r, old[i]);
	memcpy(at, c->start, ((size_t)c->n + 1) * sizeof *at);
	uint32_t *row_of = c->place;  /* by old number, until place gets its final values */
	for (uint32_t i = 0; i < c->n; i++)
		row_of[old[i]] = i;
	for (uint32_t i = 0; i < c->n; i++)
		for (uint64_t e = from->start[old[i]]; e < from->start[old[i] + 1]; e++) {
			uint64_t to = at[row_of[from->node[e]]]++;
			c->node[to] = i;
			if (c->weight)
				c->weight[to] = from->weight[e];
		}
	for (uint32_t i = 0; i < c->n; i++)
		c->user[i] = r->user ? r->user[old[i]] : old[i];
	for (uint32_t i = 0; i < c->n; i++)
		c->place[c->user[i]] = i;
	free(at);
	return 0;
}

/* Sums each node's row of r; old: its number there. */
static void find_degrees(struct sl_coupling *c, const struct rows *r, const uint32_t *old)
{
	for (uint32_t i = 0; i < c->n; i++) {
		c->degree[i] = 0;
		if (c->directed)
			for (uint64_t e = r->start[old[i]]; e < r->start[old[i] + 1]; e++)
				c->degree[i] += (double)weight_at(r->weight, e);
		else
			for (uint64_t e = c->start[i]; e < c->start[i + 1]; e++)
				c->degree[i] += (double)weight_at(c->weight, e);
		c->inverse[i] = c->degree[i] > 0 ? 1 / c->degree[i] : 0;
	}
	c->bound = 0;
	for (uint32_t i = 0; i < c->n; i++)
		for (uint64_t e = c->start[i]; e < c->start[i + 1]; e++)
			c->bound = fmax(c->bound, c->degree[i] + c->degree[c->node[e]]);
}

/* Divides the rows into blocks. */
static int cut(struct sl_coupling *c)
{
	uint64_t room = (c->m + (uint64_t)ROW_WORK * c->n) / BLOCK_WORK + c->n / SL_COUPLING_ROWS + 4, work = 0;
	uint32_t first = 0;
	c->block = malloc(2 * room * sizeof *c->block);
	if (!c->block)
		return SL_NOMEM;
	c->block[0] = 0;
	for (c->linked = 0; c->linked < c->n && c->start[c->linked] < c->m;)
		c->linked++;
	for (uint32_t i = 0; i < c->n; i++) {
		work += c->start[i + 1] - c->start[i] + ROW_WORK;
		if (work >= BLOCK_WORK || i + 1 - first == SL_COUPLING_ROWS || i + 1 == c->linked || i + 1 == c->n) {
			c->block[++c->blocks] = first = i + 1;
			work = 0;
		}
	}
	return 0;
}

static uint32_t run_length(const struct sl_coupling *c, uint32_t row)
{
	uint64_t length = c->start[row + 1] - c->start[row];
	return length <= SL_COUPLING_SHORT ? (uint32_t)length : SL_COUPLING_SHORT + 1;
}

/* Counts the runs, then writes them. */
static int find_runs(struct sl_coupling *c)
{
	c->block_run = malloc(((size_t)c->blocks + 1) * sizeof *c->block_run);
	if (!c->block_run)
		return SL_NOMEM;
	for (int write = 0; write < 2; write++) {
		uint32_t count = 0;
		for (uint32_t b = 0; b < c->blocks; b++) {
			c->block_run[b] = count;
			for (uint32_t i = c->block[b]; i < c->block[b + 1]; i++) {
				if (i > c->block[b] && run_length(c, i) == run_length(c, i - 1))
					continue;
				if (write)
					c->run[count] = (struct sl_coupling_run){i, run_length(c, i)};
				count++;
			}
		}
		c->block_run[c->blocks] = count;
		if (write)
			c->run[count] = (struct sl_coupling_run){.first = c->n};
		else if (!(c->run = malloc(((size_t)count + 1) * sizeof *c->run)))
			return SL_NOMEM;
	}
	return 0;
}

/* r: the rows to store. from: its transpose, or r. near: the rows by which nodes are ordered. */
static int make(struct sl_coupling **out, const struct rows *r, const struct rows *from, const struct rows *near,
		bool ordered)
{
	struct sl_coupling *c = calloc(1, sizeof *c);
	size_t n = (size_t)r->n + 1;
	uint32_t *old = malloc(n * sizeof *old);
	int code = SL_NOMEM;
	if (!c || !old)
		goto out;
	c->n = r->n;
	c->directed = from != r;
	c->m = r->start[r->n];
	c->start = malloc(n * sizeof *c->start);
	c->node = malloc((c->m + 1) * sizeof *c->node);
	c->weight = r->weight ? malloc((c->m + 1) * sizeof *c->weight) : NULL;
	c->degree = malloc(n * sizeof *c->degree);
	c->inverse = malloc(n * sizeof *c->inverse);
	c->user = malloc(n * sizeof *c->user);
	c->place = malloc(n * sizeof *c->place);
	if (!c->start || !c->node || (r->weight && !c->weight) || !c->degree || !c->inverse || !c->user || !c->place)
		goto out;
	code = find_order(near, r, ordered, old);
	if (!code)
		code = renumber(c, r, from, old);
	if (!code) {
		find_degrees(c, from, old);
		code = cut(c);
	}
	if (!code) {
		code = find_runs(c);
	}
out:
	free(old);
	if (code)
		sl_coupling_destroy(c);
	else
		*out = c;
	return code;
}

static int no_memory(uint32_t n, uint64_t m, struct sl_error *err)
{
	return sl_error_memory(err, "the weights of %u nodes and %llu entries", n, (unsigned long long)m);
}

int sl_coupling_of_graph(struct sl_coupling **out, const struct sl_graph *g, struct sl_error *err)
{
	struct rows r = {0};
	int code = rows_of_graph(&r, g);
	if (!code)
		code = make(out, &r, &r, &r, false);
	rows_finish(&r);
	return code ? no_memory(g->n, g->m, err) : 0;
}

int sl_coupling_of_directed(struct sl_coupling **out, const struct sl_graph *g, bool rows, struct sl_error *err)
{
	/* columns[j]: the rows of column j; lines[i]: the columns of row i */
	const struct rows columns = {.n = g->n, .start = g->start, .node = g->node, .weight = g->weight};
	struct rows lines = {0}, near = {0};
	int code = transpose(&lines, g);
	if (!code)
		code = unite(&near, g, &lines);
	if (!code)
		code = rows ? make(out, &columns, &lines, &near, false) : make(out, &lines, &columns, &near, false);
	rows_finish(&lines);
	rows_finish(&near);
	return code ? no_memory(g->n, g->m, err) : 0;
}

int sl_coupling_of_affinities(struct sl_coupling **out, const struct sl_affinities *a, struct sl_error *err)
{
	struct rows r = {0};
	int code = rows_of_affinities(&r, a);
	if (!code)
		code = make(out, &r, &r, &r, true);
	rows_finish(&r);
	return code ? no_memory(a->n_user, a->m, err) : 0;
}

/* ---- use -------------------------------------------------------------------------------- */

/* Marks by looking at all entries for each hop, since a directed coupling has no list of the edges that leave a
 * node. */
static int mark_directed(const struct sl_coupling *c, int hops, uint8_t *marked)
{
	uint8_t *next = malloc((size_t)c->n + 1);
	if (!next)
		return SL_NOMEM;
	for (bool more = true; hops > 0 && more; hops--) {
		more = false;
		memcpy(next, marked, c->n);
		for (uint32_t i = 0; i < c->n; i++)
			for (uint64_t e = c->start[i]; e < c->start[i + 1]; e++)
				if (marked[i] != marked[c->node[e]]) {
					next[i] = next[c->node[e]] = 1;
					more = true;
				}
		memcpy(marked, next, c->n);
	}
	free(next);
	return 0;
}

int sl_coupling_mark(const struct sl_coupling *c, const uint32_t *node, int count, int hops, uint8_t *marked)
{
	uint32_t *queue = malloc(((size_t)c->n + 1) * sizeof *queue), from = 0, to = 0;
	if (!queue)
		return SL_NOMEM;
	for (int k = 0; k < count; k++)
		if (!marked[node[k]]) {
			marked[node[k]] = 1;
			queue[to++] = node[k];
		}
	if (c->directed) {
		free(queue);
		return mark_directed(c, hops, marked);
	}
	for (int hop = 0; hop < hops; hop++) {
		uint32_t end = to;
		for (; from < end; from++)
			for (uint64_t e = c->start[queue[from]]; e < c->start[queue[from] + 1]; e++)
				if (!marked[c->node[e]]) {
					marked[c->node[e]] = 1;
					queue[to++] = c->node[e];
				}
	}
	free(queue);
	return 0;
}
