/* builder.c -- from entries in any order to columns in order, within little memory.
 *
 * While reading an entry takes 12 bytes (8 without weights). finish() moves the entries
 * into column order by following the cycles of the permutation, so that no second copy
 * ever exists, then drops the column indices. The peak is 12 bytes an entry and 16 a
 * node, against 8 and 8 in the finished graph. */
#include "core/graph/builder.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/account.h"
#include "core/grow.h"

#define SMALLEST_CAPACITY 1024u
#define GRANT (1u << 20)      /* entries asked for at once */
#define ENTRY_BYTES 12u
#define SHORT_MAX 1024u
#define CACHED_ENTRIES 32768u

int sl_graph_builder_create(struct sl_graph_builder **out, enum sl_graph_symmetry symmetry,
			    bool weighted, uint64_t expected_m, struct sl_error *err)
{
	struct sl_graph_builder *b = calloc(1, sizeof *b);

	*out = NULL;
	if (!b)
		return sl_error_set(err, SL_NOMEM, "No memory for a graph builder.");
	if (symmetry == SL_SYMMETRIC && expected_m <= UINT64_MAX / 2)
		expected_m *= 2;
	/* A hint may come from a file that lies: it buys address space, not memory, and only so much. */
	b->capacity = expected_m < SMALLEST_CAPACITY ? SMALLEST_CAPACITY : expected_m;
	if (b->capacity > 1u << 26)
		b->capacity = 1u << 26;
	b->symmetry = symmetry;
	b->weighted = weighted;
	b->row = malloc(b->capacity * sizeof *b->row);
	b->column = malloc(b->capacity * sizeof *b->column);
	if (!b->row || !b->column) {
		sl_graph_builder_destroy(b);
		return sl_error_set(err, SL_NOMEM, "No memory for a graph of %llu entries.",
				    (unsigned long long)expected_m);
	}
	*out = b;
	return 0;
}

void sl_graph_builder_destroy(struct sl_graph_builder *b)
{
	if (!b)
		return;
	free(b->row);
	free(b->column);
	free(b->weight);
	free(b);
}

/* Makes room for two more entries. Pages that were never touched cost nothing, so memory is asked for as it is used. */
static int grant(struct sl_graph_builder *b)
{
	uint64_t more = b->count / 4 > GRANT ? b->count / 4 : b->count < GRANT ? b->count + 1024 : GRANT;
	int rc = sl_account_take(SL_MEMORY, more * ENTRY_BYTES, NULL);
	if (!rc)
		b->granted += more;
	return rc;
}

static int grow(struct sl_graph_builder *b)
{
	uint64_t capacity = b->capacity + b->capacity / 2;

	if (capacity > SIZE_MAX / 8)
		return SL_TOOBIG;
	if (sl_grow_array(&b->row, capacity, sizeof *b->row) || sl_grow_array(&b->column, capacity, sizeof *b->column) ||
	    (b->weight && sl_grow_array(&b->weight, capacity, sizeof *b->weight)))
		return SL_NOMEM;
	b->capacity = capacity;
	return 0;
}

/* Many weighted files hold nothing but ones: the array comes with the first other weight. */
static int start_weights(struct sl_graph_builder *b)
{
	b->weight = malloc(b->capacity * sizeof *b->weight);
	if (!b->weight)
		return SL_NOMEM;
	for (uint64_t k = 0; k < b->count; k++)
		b->weight[k] = 1;
	return 0;
}

int sl_graph_builder_add(struct sl_graph_builder *b, uint32_t row, uint32_t column, float weight)
{
	uint32_t larger = row > column ? row : column;

	if (larger >= b->n) {
		if (larger >= SL__MAX_NODES)
			return SL_TOOBIG;
		b->n = larger + 1;
	}
	if (b->count + 2 > b->granted) {
		int rc = grant(b);
		if (rc)
			return rc;
	}
	if (b->count + 2 > b->capacity) {
		int rc = grow(b);
		if (rc)
			return rc;
	}
	if (weight != 1 && !b->weight && b->weighted) {
		int rc = start_weights(b);
		if (rc)
			return rc;
	}
	uint64_t k = b->count++;
	b->listed++;
	b->row[k] = row;
	b->column[k] = column;
	if (b->weight)
		b->weight[k] = weight;
	if (b->symmetry == SL_SYMMETRIC && row != column) {
		k = b->count++;
		b->row[k] = column;
		b->column[k] = row;
		if (b->weight)
			b->weight[k] = weight;
	}
	return 0;
}

/* ---- finish: drop, order, merge ---------------------------------------- */

static void drop_loops_and_zeros(struct sl_graph_builder *b, struct sl_graph_report *report)
{
	uint64_t kept = 0, zeros = 0;

	for (uint64_t k = 0; k < b->count; k++) {
		if (b->row[k] == b->column[k]) {
			report->self_loops++;
			continue;
		}
		if (b->weight && b->weight[k] == 0) {
			zeros++;
			continue;
		}
		b->row[kept] = b->row[k];
		b->column[kept] = b->column[k];
		if (b->weight)
			b->weight[kept] = b->weight[k];
		kept++;
	}
	b->count = kept;
	report->zero_weights = b->symmetry == SL_SYMMETRIC ? zeros / 2 : zeros;
}

static bool columns_in_order(const struct sl_graph_builder *b)
{
	for (uint64_t k = 1; k < b->count; k++)
		if (b->column[k] < b->column[k - 1])
			return false;
	return true;
}

/* Every entry goes straight to its place; the one found there is carried on. head [n] is
 * the next free place of each column. */
static void permute_into_columns(struct sl_graph_builder *b, const uint64_t *start, uint64_t *head, uint32_t n)
{
	for (uint32_t j = 0; j < n; j++) {
		while (head[j] < start[j + 1]) {
			uint64_t k = head[j];
			uint32_t row = b->row[k], column = b->column[k];
			float weight = b->weight ? b->weight[k] : 1;

			while (column != j) {
				uint64_t to = head[column]++;
				uint32_t next_row = b->row[to], next_column = b->column[to];

				b->row[to] = row;
				b->column[to] = column;
				if (b->weight) {
					float next_weight = b->weight[to];
					b->weight[to] = weight;
					weight = next_weight;
				}
				row = next_row;
				column = next_column;
			}
			b->row[k] = row;
			b->column[k] = column;
			if (b->weight)
				b->weight[k] = weight;
			head[j]++;
		}
	}
}

/* Shell's sort, with Ciura's gaps: insertion sort for the short columns that most are. */
static void sort_short(uint32_t *row, float *weight, uint64_t count)
{
	static const uint32_t gaps[] = {301, 132, 57, 23, 10, 4, 1};

	for (size_t g = 0; g < sizeof gaps / sizeof *gaps; g++) {
		uint64_t gap = gaps[g];

		if (gap > 1 && gap * 4 > count)
			continue;
		for (uint64_t k = gap; k < count; k++) {
			uint32_t r = row[k];
			float w = weight ? weight[k] : 1;
			uint64_t at = k;

			for (; at >= gap && row[at - gap] > r; at -= gap) {
				row[at] = row[at - gap];
				if (weight)
					weight[at] = weight[at - gap];
			}
			row[at] = r;
			if (weight)
				weight[at] = w;
		}
	}
}

static inline void swap_entries(uint32_t *key, uint32_t *other, float *weight, uint64_t a, uint64_t b)
{
	uint32_t k = key[a];
	key[a] = key[b];
	key[b] = k;
	if (other) {
		uint32_t o = other[a];
		other[a] = other[b];
		other[b] = o;
	}
	if (weight) {
		float w = weight[a];
		weight[a] = weight[b];
		weight[b] = w;
	}
}

/* One step of a radix sort in place: by the 8 bits of key from shift on. end [256] gets the
 * end of each part. other and weight (either may be NULL) move along. */
static void part_by_digit(uint32_t *key, uint32_t *other, float *weight, uint64_t count, int shift, uint64_t *end)
{
	uint64_t head[256] = {0}, at = 0;

	for (uint64_t k = 0; k < count; k++)
		head[key[k] >> shift & 255]++;
	for (int d = 0; d < 256; d++) {
		uint64_t size = head[d];
		head[d] = at;
		at += size;
		end[d] = at;
	}
	for (unsigned d = 0; d < 256; d++)
		while (head[d] < end[d]) {
			unsigned digit = key[head[d]] >> shift & 255;

			if (digit != d)
				swap_entries(key, other, weight, head[d], head[digit]);
			head[digit]++;
		}
}

static int first_shift(uint32_t n) { return n > 1u << 24 ? 24 : n > 1u << 16 ? 16 : n > 1u << 8 ? 8 : 0; }

/* Ascending rows, from the highest byte down: linear for any input, no memory. */
static void sort_rows(uint32_t *row, float *weight, uint64_t count, int shift)
{
	uint64_t end[256], from = 0;

	if (count <= SHORT_MAX) {
		sort_short(row, weight, count);
		return;
	}
	part_by_digit(row, NULL, weight, count, shift, end);
	for (int d = 0; shift > 0 && d < 256; from = end[d++])
		if (end[d] - from > 1)
			sort_rows(row + from, weight ? weight + from : NULL, end[d] - from, shift - 8);
}

/* Brings entries of near columns together until each part fits the cache, in which the
 * permutation then runs: its jumps are far apart otherwise. */
static void part_columns(uint32_t *column, uint32_t *row, float *weight, uint64_t count, int shift)
{
	uint64_t end[256], from = 0;

	if (count <= CACHED_ENTRIES)
		return;
	part_by_digit(column, row, weight, count, shift, end);
	for (int d = 0; shift > 0 && d < 256; from = end[d++])
		part_columns(column + from, row + from, weight ? weight + from : NULL, end[d] - from, shift - 8);
}

static void sort_columns(struct sl_graph *g)
{
	int shift = first_shift(g->n);

	for (uint32_t j = 0; j < g->n; j++) {
		uint64_t from = g->start[j], count = g->start[j + 1] - from;
		bool ordered = true;

		for (uint64_t k = 1; k < count && ordered; k++)
			ordered = g->node[from + k - 1] <= g->node[from + k];
		if (!ordered)
			sort_rows(g->node + from, g->weight ? g->weight + from : NULL, count, shift);
	}
}

static bool has_duplicates(const struct sl_graph *g)
{
	for (uint32_t j = 0; j < g->n; j++)
		for (uint64_t k = g->start[j] + 1; k < g->start[j + 1]; k++)
			if (g->node[k] == g->node[k - 1])
				return true;
	return false;
}

/* Weights that are all 1 were not stored, but their sums have to be. */
static int store_ones(struct sl_graph *g, struct sl_error *err)
{
	uint64_t m = g->start[g->n];

	g->weight = malloc((m ? m : 1) * sizeof *g->weight);
	if (!g->weight)
		return sl_error_set(err, SL_NOMEM, "No memory for a graph of %llu entries.", (unsigned long long)m);
	for (uint64_t k = 0; k < m; k++)
		g->weight[k] = 1;
	return 0;
}

/* Entries of one place become one; weights are summed in double precision. */
static int merge_duplicates(struct sl_graph *g, struct sl_error *err)
{
	uint64_t kept = 0, from = 0;
	bool ones = true;

	for (uint32_t j = 0; j < g->n; j++) {
		uint64_t to = g->start[j + 1];

		g->start[j] = kept;
		while (from < to) {
			uint32_t row = g->node[from];
			double sum = g->weight ? (double)g->weight[from] : 1;

			for (from++; from < to && g->node[from] == row; from++) {
				sum += g->weight ? (double)g->weight[from] : 0;
				g->report.duplicates++;
			}
			g->node[kept] = row;
			if (g->weight) {
				g->weight[kept] = (float)sum;
				if (!isfinite(g->weight[kept]))
					return sl_error_set(err, SL_BADGRAPH, "The weights of entry (row %u, column %u), "
							    "which is listed more than once, add up to %g, more than "
							    "single precision holds (3.4e38).", row + 1, j + 1, sum);
				ones = ones && g->weight[kept] == 1;
			}
			kept++;
		}
	}
	g->start[g->n] = g->m = kept;
	if (g->weight && ones) {
		free(g->weight);
		g->weight = NULL;
	}
	return 0;
}

/* Gives back what duplicates and growth left over. A refusal to shrink is no failure. */
static void shrink(struct sl_graph *g)
{
	uint64_t m = g->m ? g->m : 1;
	uint32_t *node = realloc(g->node, m * sizeof *node);

	if (node)
		g->node = node;
	if (g->weight) {
		float *weight = realloc(g->weight, m * sizeof *weight);
		if (weight)
			g->weight = weight;
	}
}

/* ---- finish: what kind of graph it is ---------------------------------- */

/* Walking the columns in order meets the entries of each row in order too, so that one
 * cursor a column finds every mirror image in one pass. cursor [n] is scratch. */
static bool is_symmetric(const struct sl_graph *g, uint64_t *cursor)
{
	memcpy(cursor, g->start, g->n * sizeof *cursor);
	for (uint32_t j = 0; j < g->n; j++)
		for (uint64_t k = g->start[j]; k < g->start[j + 1]; k++) {
			uint32_t i = g->node[k];
			uint64_t mirror = cursor[i]++;

			if (mirror >= g->start[i + 1] || g->node[mirror] != j)
				return false;
			if (g->weight && g->weight[mirror] != g->weight[k])
				return false;
		}
	return true;
}

static uint32_t find_root(uint32_t *parent, uint32_t i)
{
	while (parent[i] != i) {
		parent[i] = parent[parent[i]];
		i = parent[i];
	}
	return i;
}

/* Neighbour and component counts, directions ignored. scratch [2 n]. */
static void count_nodes(struct sl_graph *g, uint32_t *scratch)
{
	enum { NONE = -1, MANY = -2 };
	uint32_t *parent = scratch, *only = scratch + g->n, none = (uint32_t)NONE, many = (uint32_t)MANY;

	for (uint32_t i = 0; i < g->n; i++) {
		parent[i] = i;
		only[i] = none;
	}
	for (uint32_t j = 0; j < g->n; j++)
		for (uint64_t k = g->start[j]; k < g->start[j + 1]; k++) {
			uint32_t i = g->node[k], a, b;

			if (g->symmetric && i > j)  /* its mirror image has been seen, or will be */
				break;
			a = find_root(parent, i);
			b = find_root(parent, j);
			only[i] = only[i] == none || only[i] == j ? j : many;
			only[j] = only[j] == none || only[j] == i ? i : many;
			if (a < b)
				parent[b] = a;
			else
				parent[a] = b;
		}
	for (uint32_t i = 0; i < g->n; i++) {
		g->report.isolated += only[i] == none;
		g->report.leaves += only[i] != none && only[i] != many;
	}
	/* The second half now counts the nodes under each root. */
	memset(only, 0, g->n * sizeof *only);
	for (uint32_t i = 0; i < g->n; i++)
		only[find_root(parent, i)]++;
	g->report.largest_component = 0;
	for (uint32_t i = 0; i < g->n; i++)
		if (only[i] > 1) {
			g->report.components++;
			if (only[i] > g->report.largest_component)
				g->report.largest_component = only[i];
		}
}

/* scratch [n] is the cursor of is_symmetric and the two arrays of count_nodes in turn. */
static void describe(struct sl_graph *g, enum sl_graph_symmetry symmetry, uint64_t *scratch)
{
	g->symmetric = symmetry == SL_SYMMETRIC || is_symmetric(g, scratch);
	if (symmetry == SL_SYMMETRIC)
		g->report.duplicates /= 2;
	count_nodes(g, (uint32_t *)(void *)scratch);
}

int sl_graph_builder_finish(struct sl_graph_builder *b, uint32_t n, struct sl_graph **out, struct sl_error *err)
{
	struct sl_graph *g = calloc(1, sizeof *g);
	uint64_t *scratch = NULL;
	int rc = 0;

	*out = NULL;
	if (!g) {
		rc = sl_error_set(err, SL_NOMEM, "No memory for a graph.");
		goto out;
	}
	g->n = n > b->n ? n : b->n;
	if (g->n == 0 || g->n > SL__MAX_NODES) {
		rc = sl_error_set(err, g->n ? SL_TOOBIG : SL_BADGRAPH, g->n ? "A graph has at most %u nodes." :
				  "The graph has no node; it needs at least one (at most %u).", SL__MAX_NODES);
		goto out;
	}
	g->report.entries_read = b->listed;
	drop_loops_and_zeros(b, &g->report);

	uint64_t bytes = ((uint64_t)g->n + 1) * sizeof *g->start;
	rc = sl_account_take(SL_MEMORY, 2 * bytes, err);
	if (rc)
		goto out;
	g->start = calloc((uint64_t)g->n + 1, sizeof *g->start);
	scratch = malloc((uint64_t)g->n * sizeof *scratch);
	if (!g->start || !scratch) {
		rc = sl_error_set(err, SL_NOMEM, "No memory for a graph of %u nodes.", g->n);
		goto out;
	}
	for (uint64_t k = 0; k < b->count; k++)
		g->start[b->column[k] + 1]++;
	for (uint32_t j = 0; j < g->n; j++)
		g->start[j + 1] += g->start[j];
	if (!columns_in_order(b)) {
		part_columns(b->column, b->row, b->weight, b->count, first_shift(g->n));
		memcpy(scratch, g->start, g->n * sizeof *scratch);
		permute_into_columns(b, g->start, scratch, g->n);
	}
	free(b->column);
	b->column = NULL;
	g->node = b->row;
	g->weight = b->weight;
	b->row = NULL;
	b->weight = NULL;

	sort_columns(g);
	if (b->weighted && !g->weight && has_duplicates(g))
		rc = store_ones(g, err);
	if (!rc)
		rc = merge_duplicates(g, err);
	if (rc)
		goto out;
	shrink(g);
	describe(g, b->symmetry, scratch);
	sl_account_give(SL_MEMORY, bytes + b->granted * (ENTRY_BYTES - sizeof *b->row));
out:
	free(scratch);
	sl_graph_builder_destroy(b);
	if (rc)
		sl_graph_destroy(g);
	else
		*out = g;
	return rc;
}
