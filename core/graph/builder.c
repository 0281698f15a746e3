/* builder.c -- takes entries in any order, of 12 bytes each, or 8 without weights. finish.c sorts them. */
#include "core/graph/builder.h"

#include <stdlib.h>

#include "core/account.h"
#include "core/grow.h"

#define SMALLEST_CAPACITY 1024u
#define GRANT (1u << 20)      /* entries for which memory is reserved at a time */

int sl__graph_builder_create(struct sl_graph_builder **out, enum sl_graph_symmetry symmetry, bool weighted,
			     uint64_t expected_m, struct sl_account *account, struct sl_error *err)
{
	struct sl_graph_builder *b = calloc(1, sizeof *b);

	*out = NULL;
	if (!b)
		return sl_error_memory(err, "a graph builder");
	if (symmetry == SL_SYMMETRIC && expected_m <= UINT64_MAX / 2)
		expected_m *= 2;
	/* the hint may come from a wrong file: it reserves address space, not memory, and only up to a limit */
	b->capacity = expected_m < SMALLEST_CAPACITY ? SMALLEST_CAPACITY : expected_m;
	if (b->capacity > 1u << 26)
		b->capacity = 1u << 26;
	b->account = account;
	b->symmetry = symmetry;
	b->weighted = weighted;
	b->row = malloc(b->capacity * sizeof *b->row);
	b->column = malloc(b->capacity * sizeof *b->column);
	if (!b->row || !b->column) {
		sl_graph_builder_destroy(b);
		return sl_error_memory(err, "a graph of %llu entries", (unsigned long long)expected_m);
	}
	*out = b;
	return 0;
}

int sl_graph_builder_create(struct sl_graph_builder **out, enum sl_graph_symmetry symmetry,
			    bool weighted, uint64_t expected_m, struct sl_error *err)
{
	return sl__graph_builder_create(out, symmetry, weighted, expected_m, NULL, err);
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

/* Reserves memory for two more entries. Untouched pages cost nothing, so the account grows with use. */
static int grant(struct sl_graph_builder *b)
{
	uint64_t more = b->count / 4 > GRANT ? b->count / 4 : b->count < GRANT ? b->count + 1024 : GRANT;
	int rc = sl_account_take(b->account, SL_MEMORY, more * SL__ENTRY_BYTES, NULL);
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

/* Many weighted files contain only ones, so the array of weights is made at the first other weight. */
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
