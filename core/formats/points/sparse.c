/* sparse.c -- reads points from a sparse matrix. It projects them on principal axes without a dense table or, if the
 * user wants that and the limits allow it, makes a dense table. */
#include "core/formats/points/sparse.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/account.h"
#include "core/formats/points/table.h"
#include "core/grow.h"
#include "core/points/sparse.h"

#define ENTRY_BYTES (2 * sizeof(uint32_t) + sizeof(float))
#define MAX_COLUMNS 1000000u
#define OVERSAMPLING 16u  /* as in core/points/pca.c */
/* With more rows or columns, most of them without entries, a small file would make a large table or cost long. */
#define EMPTY_ROWS_FROM 65536u
#define EMPTY_COLUMNS_FROM 16384u
#define EMPTY_RATIO 16u

int sl__entries_shape(struct sl__entries *t, uint64_t rows, uint64_t columns, uint64_t listed, const char *file)
{
	const struct sl_read_options *o = &t->options->read;
	uint64_t limit = o->max_nodes && o->max_nodes < SL__MAX_NODES ? o->max_nodes : SL__MAX_NODES;
	uint64_t least = t->options->new_points ? 1 : 2;
	if (rows < least || !columns)
		return sl_error_at(t->err, SL_BADDATA, file, 0, "The matrix has %" PRIu64 " rows and %" PRIu64 " "
				   "columns; a table of points must have at least %" PRIu64 " row%s and 1 "
				   "column.", rows, columns, least,
				   least > 1 ? "s" : "");
	if (rows > limit)
		return sl_error_at(t->err, SL_TOOBIG, file, 0, "The matrix has %" PRIu64 " points; the limit (max_nodes) is "
				   "%" PRIu64 ".", rows, limit);
	if (columns > MAX_COLUMNS)
		return sl_error_at(t->err, SL_TOOBIG, file, 0, "The matrix has %" PRIu64 " columns; the limit is "
				   "%u.", columns, MAX_COLUMNS);
	if (o->max_entries && listed > o->max_entries)
		return sl_error_at(t->err, SL_TOOBIG, file, 0, "The matrix has %" PRIu64 " entries; the limit (max_entries) is "
				   "%" PRIu64 ".", listed, o->max_entries);
	t->n = rows;
	t->d = columns;
	return 0;
}

int sl__entries_add(struct sl__entries *t, uint64_t row, uint64_t column, float value)
{
	if (t->count == t->capacity) {
		uint64_t more = t->capacity ? t->capacity : 1u << 16, room = t->capacity + more;
		if (sl_account_take(SL_MEMORY, more * ENTRY_BYTES, NULL))
			return SL_NOMEM;
		if (sl_grow_array(&t->row, room, sizeof *t->row) || sl_grow_array(&t->column, room, sizeof *t->column) ||
		    sl_grow_array(&t->value, room, sizeof *t->value))
			return SL_NOMEM;
		t->capacity = room;
	}
	t->row[t->count] = (uint32_t)row;
	t->column[t->count] = (uint32_t)column;
	t->value[t->count++] = value;
	return 0;
}

static int check_empty(const struct sl__entries *t)
{
	const char *file = sl__source_name(t->source);
	if (t->d > EMPTY_COLUMNS_FROM && t->d / EMPTY_RATIO > t->count)
		return sl_error_at(t->err, SL_BADDATA, file, 0, "The table has %" PRIu64 " columns but only %" PRIu64 " "
				   "entries, so most columns are empty. Leave the empty columns out.", t->d, t->count);
	if (!t->options->read.few_isolated || t->n <= EMPTY_ROWS_FROM || t->n / EMPTY_RATIO <= t->count)
		return 0;
	int rc = sl_error_field(t->err, SL_BADDATA, "/isolated", "The table has %" PRIu64 " rows but only %" PRIu64 " "
				"entries, so most rows are empty. If this is intended, say isolated=true.", t->n, t->count);
	if (t->err)
		snprintf(t->err->file, sizeof t->err->file, "%s", file);
	return rc;
}

static int memory_error(const struct sl__entries *t)
{
	return sl_error_at(t->err, SL_NOMEM, sl__source_name(t->source), 0, "No memory for a table of %" PRIu64 " rows and "
			   "%" PRIu64 " columns.", t->n, t->d);
}

/* Checks that the values are finite; sums of duplicates may overflow. */
static int check_values(const struct sl__entries *t, const struct sl_sparse *s)
{
	for (uint32_t i = 0; i < s->n; i++)
		for (uint64_t e = s->start[i]; e < s->start[i + 1]; e++)
			if (!isfinite(s->value[e]))
				return sl_error_at(t->err, SL_BADDATA, sl__source_name(t->source), 0, "The entries of row %u, column "
						   "%u (counted from 0) add up to %g.", i, s->column[e], (double)s->value[e]);
	return 0;
}

static int project(struct sl_points **out, const struct sl__entries *t, const struct sl_sparse *s, double *kept)
{
	uint64_t axes = t->options->pca, columns = axes + OVERSAMPLING, entries = s->start[s->n];
	uint64_t used = entries > axes ? entries : axes;  /* columns with weights at most; sl_sparse_pca() */
	uint64_t d = used < t->d / 2 ? used : t->d;
	int rc = sl_account_take(SL_MEMORY, t->n * axes * sizeof(float) + d * columns * 3 * sizeof(double), t->err);
	if (!rc)
		rc = sl_sparse_pca(out, s, t->options->pca, kept, t->options->read.cancel, t->err);
	if (rc == SL_BADDATA && t->err)
		snprintf(t->err->file, sizeof t->err->file, "%s", sl__source_name(t->source));
	return rc;
}

static int make_dense(struct sl_points **out, const struct sl__entries *t, const struct sl_sparse *s)
{
	struct sl__table table;
	sl__table_init(&table, t->options, t->source, t->err);
	int rc = sl__table_shape(&table, s->n, s->d, sl__source_name(t->source));
	if (!rc)
		rc = sl__table_reserve(&table, (uint64_t)s->n * s->d, (uint64_t)s->n * s->d);
	if (rc) {
		if (t->err && !t->options->new_points && rc != SL_BADDATA)
			sl_error_at(t->err, rc, sl__source_name(t->source), 0, "A sparse table of %u rows and %u columns takes "
				    "%" PRIu64 " MiB when it is made dense, which is too much. With pca=50 it is projected on "
				    "principal axes and need not be dense.", s->n, s->d, (uint64_t)s->n * s->d * sizeof(float) >> 20);
		sl__table_finish(&table);
		return rc;
	}
	float *value = table.value;
	memset(value, 0, (size_t)s->n * s->d * sizeof *value);
	for (uint32_t i = 0; i < s->n; i++)
		for (uint64_t e = s->start[i]; e < s->start[i + 1]; e++)
			value[(size_t)i * s->d + s->column[e]] = s->value[e];
	table.n = s->n;
	rc = sl__table_points(&table, out);
	sl__table_finish(&table);
	return rc;
}

int sl__read_points_sparse(struct sl_points **out, bool mtx, double *kept, const struct sl_input_options *options,
			   struct sl_source *source, struct sl_error *err)
{
	struct sl__entries t = {.options = options, .source = source, .err = err};
	struct sl_sparse *s = NULL;
	int rc = mtx ? sl__read_mtx_entries(&t) : sl__read_npz_entries(&t);
	if (!rc)
		rc = check_empty(&t);
	if (rc) {
		free(t.row);
		free(t.column);
		free(t.value);
		return rc;
	}
	if (sl_sparse_create(&s, (uint32_t)t.n, (uint32_t)t.d, t.count, t.row, t.column, t.value))
		return memory_error(&t);
	rc = check_values(&t, s);
	if (!rc)
		rc = options->pca && !options->new_points ? project(out, &t, s, kept) : make_dense(out, &t, s);
	sl_sparse_destroy(s);
	return rc;
}
