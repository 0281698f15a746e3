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
#include "core/points/center.h"
#include "core/points/sparse.h"
#include "core/taken/taken.h"

#define ENTRY_BYTES (2 * sizeof(uint32_t) + sizeof(float))
#define WIDE_ENTRY_BYTES (2 * sizeof(uint32_t) + sizeof(double))
#define MAX_COLUMNS 1000000u
#define FEWEST_STEPS 128.0      /* of single precision in the spread of a column */
#define CENTERS_TOLD 4
#define OVERSAMPLING 16u  /* as in core/points/pca.c */
/* With more rows or columns, most of them without entries, a small file would make a large table or cost long. */
#define EMPTY_ROWS_FROM 65536u
#define EMPTY_COLUMNS_FROM 16384u
#define EMPTY_RATIO 16u

int sl__entries_shape(struct sl__entries *t, uint64_t rows, uint64_t columns, uint64_t listed, const char *file)
{
	const struct sl_read_options *o = &t->options->read;
	uint64_t limit = o->max_nodes && o->max_nodes < SL__MAX_NODES ? o->max_nodes : SL__MAX_NODES;
	uint64_t least = t->options->new_points ? 1 : 2, turned = rows;
	t->transposed = t->options->transpose == SL_TRANSPOSE_YES ||
			(t->options->transpose == SL_TRANSPOSE_AUTO && t->cell_ranger);
	if (t->transposed) {
		rows = columns;
		columns = turned;
	}
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

/* True if the table stays sparse and is projected. */
static bool stays_sparse(const struct sl__entries *t)
{
	return t->options->pca && !t->options->new_points;
}

/* The values so far are floats; those to come need more. */
static int widen(struct sl__entries *t)
{
	if (sl_account_take(t->account, SL_MEMORY, t->capacity * sizeof *t->wide, NULL) ||
	    sl_grow_array(&t->wide, t->capacity, sizeof *t->wide))
		return SL_NOMEM;
	for (uint64_t e = 0; e < t->count; e++)
		t->wide[e] = (double)t->value[e];
	free(t->value);
	t->value = NULL;
	sl_account_give(t->account, SL_MEMORY, t->capacity * sizeof *t->value);
	return 0;
}

int sl__entries_add(struct sl__entries *t, uint64_t row, uint64_t column, double value)
{
	bool rounded = (double)(float)value != value, sparse = stays_sparse(t) && !t->wide;
	if (sparse && rounded && t->capacity) {
		if (widen(t))
			return SL_NOMEM;
		sparse = false;
	}
	sparse &= !rounded;
	if (t->count == t->capacity) {
		uint64_t more = t->capacity ? t->capacity : 1u << 16, room = t->capacity + more;
		if (sl_account_take(t->account, SL_MEMORY, more * (sparse ? ENTRY_BYTES : WIDE_ENTRY_BYTES), NULL))
			return SL_NOMEM;
		if (sl_grow_array(&t->row, room, sizeof *t->row) || sl_grow_array(&t->column, room, sizeof *t->column) ||
		    (sparse ? sl_grow_array(&t->value, room, sizeof *t->value) :
			      sl_grow_array(&t->wide, room, sizeof *t->wide)))
			return SL_NOMEM;
		t->capacity = room;
	}
	t->row[t->count] = (uint32_t)(t->transposed ? column : row);
	t->column[t->count] = (uint32_t)(t->transposed ? row : column);
	if (sparse)
		t->value[t->count++] = (float)value;
	else
		t->wide[t->count++] = value;
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
	return sl_error_memory_at(t->err, sl__source_name(t->source),
				  "a table of %" PRIu64 " rows and " "%" PRIu64 " columns", t->n, t->d);
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
	uint64_t bytes = t->n * axes * sizeof(float) + d * columns * 3 * sizeof(double);
	int rc = sl_account_take(t->account, SL_MEMORY, bytes, t->err);
	if (!rc)
		rc = sl_sparse_pca(out, s, t->options->pca, kept, t->options->read.cancel, t->err);
	if (rc == SL_BADDATA && t->err)
		snprintf(t->err->file, sizeof t->err->file, "%s", sl__source_name(t->source));
	return rc;
}

/* Orders the entries by rows, in each row as they come: start[n + 1], entry[count]. */
static void order_rows(const struct sl__entries *t, uint64_t *start, uint64_t *entry)
{
	for (uint64_t e = 0; e < t->count; e++)
		start[t->row[e] + 1]++;
	for (uint64_t i = 0; i < t->n; i++)
		start[i + 1] += start[i];
	for (uint64_t e = 0; e < t->count; e++)
		entry[start[t->row[e]]++] = e;
	for (uint64_t i = t->n; i > 0; i--)
		start[i] = start[i - 1];
	start[0] = 0;
}

static int sum_error(const struct sl__entries *t, uint64_t row, uint64_t column, double value)
{
	return sl_error_at(t->err, SL_BADDATA, sl__source_name(t->source), 0, "The entries of row %" PRIu64 ", column "
			   "%" PRIu64 " (counted from 0) add up to %g.", row, column, value);
}

/* Writes the rows to a table. Values with the same row and column are added, in their order. row: room [d]. */
static int put_rows(struct sl__table *table, const struct sl__entries *t, const uint64_t *start, const uint64_t *entry,
		    double *row)
{
	int rc = 0;
	for (uint64_t i = 0; !rc && i < t->n; i++) {
		memset(row, 0, t->d * sizeof *row);
		for (uint64_t e = start[i]; e < start[i + 1]; e++)
			row[t->column[entry[e]]] += t->wide[entry[e]];
		for (uint64_t e = start[i]; !rc && e < start[i + 1]; e++)
			if (!isfinite((float)row[t->column[entry[e]]]))
				rc = sum_error(t, i, t->column[entry[e]], (double)(float)row[t->column[entry[e]]]);
		if (!rc)
			rc = sl__table_put(table, i * t->d, t->d, row);
	}
	return rc;
}

/* What was taken of the matrix; NULL: no memory. */
static struct sl_taken *describe(const struct sl__entries *t)
{
	struct sl_taken *taken = sl_taken_create();
	if (!taken)
		return NULL;
	taken->rows = taken->rows_used = t->n;
	taken->comment_lines = t->comments;
	taken->transposed = t->transposed;
	if (t->options->kind == SL_INPUT_AUTO)
		snprintf(taken->sign, sizeof taken->sign, "a sparse matrix with another number of rows than columns");
	sl_taken_add_columns(taken, 1, (uint32_t)t->d, SL_TAKEN_COORDINATE, NULL, NULL);
	if (t->cell_ranger && t->transposed && t->options->transpose == SL_TRANSPOSE_AUTO)
		sl_taken_add_note(taken, false, "Cell Ranger wrote the matrix, so its columns (cells) are the points; "
				  "transpose=false takes its rows (genes)");
	else if (t->cell_ranger && !t->transposed)
		sl_taken_add_note(taken, false, "The rows of Cell Ranger's matrix are genes; transpose=true takes the cells");
	return taken;
}

static int make_dense(struct sl_points **out, const struct sl__entries *t)
{
	struct sl__table table;
	sl__table_init(&table, t->options, t->source, t->err);
	int rc = sl__table_shape(&table, t->n, t->d, sl__source_name(t->source));
	if (!rc)
		rc = sl__table_reserve(&table, t->n * t->d, t->n * t->d);
	if (rc) {
		if (t->err && !t->options->new_points && rc != SL_BADDATA)
			sl_error_at(t->err, rc, sl__source_name(t->source), 0, "A sparse table of %" PRIu64 " rows and "
				    "%" PRIu64 " columns takes %" PRIu64 " MiB when it is made dense, which is too much. With "
				    "pca=50 it is projected on principal axes and need not be dense.", t->n, t->d,
				    t->n * t->d * sizeof(float) >> 20);
		sl__table_finish(&table);
		return rc;
	}
	uint64_t room = t->n + 1 + t->count;
	rc = sl_account_take(t->account, SL_MEMORY, room * sizeof(uint64_t), t->err);
	uint64_t *start = rc ? NULL : calloc(room, sizeof *start);
	double *row = malloc(t->d * sizeof *row);
	if (!rc && (!start || !row))
		rc = memory_error(t);
	if (!rc) {
		order_rows(t, start, start + t->n + 1);
		rc = put_rows(&table, t, start, start + t->n + 1, row);
	}
	free(start);
	free(row);
	sl_account_give(t->account, SL_MEMORY, rc ? 0 : room * sizeof(uint64_t));
	table.n = t->n;
	if (!rc && !(table.taken = describe(t)))
		rc = memory_error(t);
	if (!rc)
		rc = sl__table_points(&table, out);
	sl__table_finish(&table);
	return rc;
}

/* ---- columns far from 0 of a table that stays sparse ------------------------------- */

/* Columns of which more than half are filled; the medians of the others are 0. */
struct filled {
	uint32_t count, most;    /* columns; values of each sample, at most */
	uint64_t *seen;          /* [d] entries of each column */
	uint32_t *place;         /* [d] of a column among the filled ones; UINT32_MAX: it is not */
	uint32_t *taken;         /* [d] values in its sample */
	double *value;           /* [count][most] */
};

static int find_filled(struct filled *f, const struct sl__entries *t)
{
	f->most = t->n < SL__SPREAD_SAMPLE ? (uint32_t)t->n : SL__SPREAD_SAMPLE;
	f->seen = sl_account_zeros(t->account, t->d, sizeof *f->seen);
	f->place = sl_account_alloc(t->account, t->d, sizeof *f->place);
	f->taken = sl_account_zeros(t->account, t->d, sizeof *f->taken);
	if (!f->seen || !f->place || !f->taken)
		return SL_NOMEM;
	for (uint64_t e = 0; e < t->count; e++)
		f->seen[t->column[e]]++;
	for (uint64_t k = 0; k < t->d; k++)
		f->place[k] = f->seen[k] * 2 > t->n ? f->count++ : UINT32_MAX;
	f->value = sl_account_alloc(t->account, (uint64_t)f->count * f->most + 1, sizeof *f->value);
	return f->value ? 0 : SL_NOMEM;
}

/* Rows are taken in steps. Of several entries at one place each counts. */
static void take_sample(struct filled *f, const struct sl__entries *t)
{
	uint64_t step = (t->n + f->most - 1) / f->most;
	for (uint64_t e = 0; e < t->count; e++) {
		uint32_t k = t->column[e];
		if (t->row[e] % step == 0 && f->place[k] != UINT32_MAX && f->taken[k] < f->most)
			f->value[(size_t)f->place[k] * f->most + f->taken[k]++] = t->wide[e];
	}
}

/* Finds the medians of the columns that lie so far from 0 that single precision has too few steps in their spread;
 * place[] numbers them. Returns how many. */
static uint32_t find_far(struct filled *f, const struct sl__entries *t, double *center)
{
	uint32_t far = 0;
	for (uint64_t k = 0; k < t->d; k++) {
		double median = 0, spread = 0;
		if (f->place[k] == UINT32_MAX)
			continue;
		if (f->taken[k])
			spread = sl__spread(f->value + (size_t)f->place[k] * f->most, f->taken[k], &median);
		bool needed = f->taken[k] && fabs(median) * FEWEST_STEPS * 0x1p-23 > spread;
		f->place[k] = needed ? far++ : UINT32_MAX;
		center[k] = needed ? median : 0;
	}
	return far;
}

static void append(struct sl__entries *t, uint32_t row, uint32_t column, double value)
{
	t->row[t->count] = row;
	t->column[t->count] = column;
	t->wide[t->count++] = value;
}

/* Subtracts the medians of far columns, in double precision. Their zeros become entries, at most as many as they have
 * already. */
static int subtract(struct sl__entries *t, const struct filled *f, uint32_t far, const double *center)
{
	uint64_t room = t->count + t->n * far, bits = t->n * far / 8 + 1;
	uint64_t more = room > t->capacity ? room - t->capacity : 0;
	uint8_t *there = sl_account_zeros(t->account, bits, 1);
	int rc = !there || sl_account_take(t->account, SL_MEMORY, more * WIDE_ENTRY_BYTES, NULL) ? SL_NOMEM : 0;
	if (!rc && more && (sl_grow_array(&t->row, room, sizeof *t->row) ||
			    sl_grow_array(&t->column, room, sizeof *t->column) ||
			    sl_grow_array(&t->wide, room, sizeof *t->wide)))
		rc = SL_NOMEM;
	for (uint64_t e = 0; !rc && e < t->count; e++) {
		uint32_t place = f->place[t->column[e]];
		uint64_t bit = place == UINT32_MAX ? 0 : (uint64_t)place * t->n + t->row[e];
		if (place == UINT32_MAX || there[bit / 8] >> (bit % 8) & 1)
			continue;
		there[bit / 8] |= (uint8_t)(1u << (bit % 8));
		t->wide[e] -= center[t->column[e]];
	}
	for (uint32_t k = 0; !rc && k < t->d; k++)
		for (uint64_t i = 0; f->place[k] != UINT32_MAX && i < t->n; i++) {
			uint64_t bit = (uint64_t)f->place[k] * t->n + i;
			if (!(there[bit / 8] >> (bit % 8) & 1))
				append(t, (uint32_t)i, k, -center[k]);
		}
	sl_account_give(t->account, SL_MEMORY, there ? bits : 0);
	free(there);
	return rc;
}

/* In place: the floats take the first half of the memory of the doubles. */
static void make_floats(struct sl__entries *t)
{
	char *bytes = (char *)t->wide;
	for (uint64_t e = 0; e < t->count; e++) {
		double wide;
		memcpy(&wide, bytes + e * sizeof wide, sizeof wide);
		float value = (float)wide;
		memcpy(bytes + e * sizeof value, &value, sizeof value);
	}
	float *shorter = realloc(t->wide, (t->count + 1) * sizeof *shorter);
	t->value = shorter ? shorter : (float *)(void *)bytes;
	t->wide = NULL;
}

/* Values become floats; those of columns far from 0 after their median has been subtracted. *center [d], or NULL:
 * nothing was. */
static int settle_values(struct sl__entries *t, double **center)
{
	struct filled f = {0};
	*center = NULL;
	if (!t->wide)
		return 0;
	double *medians = sl_account_zeros(t->account, t->d + 1, sizeof *medians);
	int rc = !medians || find_filled(&f, t) ? SL_NOMEM : 0;
	if (!rc)
		take_sample(&f, t);
	uint32_t far = rc ? 0 : find_far(&f, t, medians);
	if (far)
		rc = subtract(t, &f, far, medians);
	if (!rc)
		make_floats(t);
	free(f.seen);
	free(f.place);
	free(f.taken);
	free(f.value);
	if (rc || !far)
		free(medians);
	else
		*center = medians;
	return rc ? memory_error(t) : 0;
}

static void tell_centers(struct sl_taken *taken, const double *center, uint64_t d)
{
	uint32_t told = 0;
	for (uint64_t k = 0; center && k < d; k++)
		if (center[k] != 0 && told++ < CENTERS_TOLD)
			sl_taken_add_note(taken, false, "Column %" PRIu64 " lies far from 0: %.15g was subtracted from it in "
					  "double precision", k + 1, center[k]);
	if (told > CENTERS_TOLD)
		sl_taken_add_note(taken, false, "Far from 0, too, and treated so: %u more columns", told - CENTERS_TOLD);
}

static int make_projected(struct sl_points **out, struct sl__entries *t, double *kept)
{
	struct sl_sparse *s = NULL;
	double *center;
	int rc = settle_values(t, &center);
	if (rc)
		return rc;
	int code = sl_sparse_create(&s, (uint32_t)t->n, (uint32_t)t->d, t->count, t->row, t->column, t->value, t->account);
	t->row = t->column = NULL;
	t->value = NULL;
	rc = code ? memory_error(t) : check_values(t, s);
	if (!rc)
		rc = project(out, t, s, kept);
	sl_sparse_destroy(s);
	if (!rc && !((*out)->taken = describe(t))) {
		sl_points_destroy(*out);
		*out = NULL;
		rc = memory_error(t);
	}
	if (rc) {
		free(center);
		return rc;
	}
	tell_centers((*out)->taken, center, t->d);
	(*out)->center = center;
	(*out)->center_columns = center ? (uint32_t)t->d : 0;
	return 0;
}

int sl__read_points_sparse(struct sl_points **out, bool mtx, double *kept, const struct sl_input_options *options,
			   struct sl_source *source, struct sl_error *err)
{
	struct sl__entries t = {.options = options, .source = source, .account = sl__source_account(source), .err = err};
	int rc = mtx ? sl__read_mtx_entries(&t) : sl__read_npz_entries(&t);
	if (!rc)
		rc = check_empty(&t);
	if (!rc)
		rc = stays_sparse(&t) ? make_projected(out, &t, kept) : make_dense(out, &t);
	if (!rc && !stays_sparse(&t) && !options->new_points)
		sl__tell_square(*out);
	free(t.row);
	free(t.column);
	free(t.value);
	free(t.wide);
	return rc;
}
