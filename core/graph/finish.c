/* finish.c -- sorts the entries of a graph by column, in place.
 *
 * Entries move to their columns along the cycles of the permutation, so no second copy exists; then the column indices
 * are dropped. The peak is 12 bytes an entry and 16 a node; the finished graph takes 8 and 8. */
#include "core/graph/builder.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/account.h"

#define SHORT_MAX 1024u
#define CACHED_ENTRIES 32768u

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

/* Moves each entry to its final place, and continues with the entry found there. head [n]: the next free place of each
 * column. */
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

/* Shell's sort, with Ciura's gaps; an insertion sort for short columns, which are the most frequent. */
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

/* One step of a radix sort in place, by the 8 bits of key from bit `shift` on. end [256] gets the end of each part.
 * other and weight (each may be NULL) move along. */
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

/* Radix sort of rows, highest byte first: linear time for any input, in place. */
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

/* Sorts entries by the high bytes of their columns until each part fits the cache. Otherwise nearly every access of the
 * permutation would miss it. */
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

/* Stores weights of 1, which the builder omitted, because duplicates add up to other weights. */
static int store_ones(struct sl_graph *g, struct sl_error *err)
{
	uint64_t m = g->start[g->n];

	g->weight = malloc((m ? m : 1) * sizeof *g->weight);
	if (!g->weight)
		return sl_error_memory(err, "a graph of %llu entries", (unsigned long long)m);
	for (uint64_t k = 0; k < m; k++)
		g->weight[k] = 1;
	return 0;
}

/* Merges entries with the same position; adds weights in double precision. */
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

/* Frees memory left over by duplicates and growth. If realloc() fails, the larger array is kept. */
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

int sl_graph_builder_finish(struct sl_graph_builder *b, uint32_t n, struct sl_graph **out, struct sl_error *err)
{
	struct sl_graph *g = calloc(1, sizeof *g);
	struct sl_account *account = b->account;
	uint64_t *scratch = NULL, over = 0;  /* bytes that only this function needed */
	int rc = 0;

	*out = NULL;
	if (!g) {
		rc = sl_error_memory(err, "a graph");
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
	rc = sl_account_take(account, SL_MEMORY, 2 * bytes, err);
	if (rc)
		goto out;
	g->start = calloc((uint64_t)g->n + 1, sizeof *g->start);
	scratch = malloc((uint64_t)g->n * sizeof *scratch);
	if (!g->start || !scratch) {
		rc = sl_error_memory(err, "a graph of %u nodes", g->n);
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
	sl__graph_examine(g, b->symmetry, scratch);
	over = bytes + b->granted * (SL__ENTRY_BYTES - sizeof *b->row);
out:
	free(scratch);
	sl_graph_builder_destroy(b);
	sl_account_give(account, SL_MEMORY, over);
	if (rc)
		sl_graph_destroy(g);
	else
		*out = g;
	return rc;
}
