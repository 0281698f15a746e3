/* npz.c -- scipy.sparse.save_npz: a ZIP archive of NumPy arrays.
 *
 * CSR and CSC: indptr is kept in memory (8 bytes a node); indices and data are read in parallel, a block at a time,
 * directly into the builder. COO: row, col and data in parallel. A member names.npy has the names of the nodes. */
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/account.h"
#include "core/formats/graphs/readers.h"
#include "core/formats/numpy/archive.h"
#include "core/formats/points/sparse.h"
#include "core/taken/taken.h"

struct npz {
	struct sl_source *source;
	const struct sl_read_options *options;
	struct sl__archive archive;
	bool distances;          /* weights are distances: 0 is valid, and rows become columns */
	struct sl_graph_builder *builder;  /* if the file is a graph; else NULL */
	struct sl__entries *entries;       /* if it is a table of points; else NULL */
	uint64_t n, columns;               /* equal for a graph */
	struct sl__names names;            /* of a graph's nodes, if it has an array `names` */
	struct sl_error *err;
};

/* ---- members ---------------------------------------------------------------- */

static int open_needed(struct npz *f, struct sl__member *m, const char *name, const char *format)
{
	bool found;
	int rc = sl__member_open(&f->archive, m, name, &found);

	if (!rc && !found)
		rc = sl_error_at(f->err, SL_BADDATA, sl__source_name(f->source), 0, "The archive has no member %s.npy, which "
				 "the format \"%s\" needs.", name, format);
	if (!rc && m->array.dims != 1)
		rc = sl_error_at(f->err, SL_BADDATA, m->name, 0, "The array has %d dimensions; it must have one.",
				 m->array.dims);
	return rc;
}

static int open_integers(struct npz *f, struct sl__member *m, const char *name, const char *format)
{
	int rc = open_needed(f, m, name, format);

	if (!rc && (!sl__npy_is_integer(&m->array) || m->array.kind == 'b'))
		rc = sl_error_at(f->err, SL_BADFORMAT, m->name, 0, "The array's type is '%s'; it must be int32 or "
				 "int64.", m->array.descr);
	return rc;
}

static int next_integers(struct npz *f, struct sl__member *m, uint64_t count, int64_t *out)
{
	int rc = sl__member_block(&f->archive, m, count);

	if (!rc)
		sl__npy_to_i64(&m->array, m->block, count, out);
	return rc;
}

/* ---- format and shape ------------------------------------------------------------ */

static int read_format(struct npz *f, char out[16])
{
	struct sl__member m;
	bool found;
	int rc = sl__member_open(&f->archive, &m, "format", &found);

	out[0] = 0;
	if (!rc && !found)
		rc = sl_error_at(f->err, SL_BADFORMAT, sl__source_name(f->source), 0, "The archive has no member format.npy, "
				 "so it was not written by scipy.sparse.save_npz (perhaps by numpy.savez).");
	if (!rc && ((m.array.kind != 'S' && m.array.kind != 'U') || m.array.count != 1 || m.array.size > 60))
		rc = sl_error_at(f->err, SL_BADDATA, m.name, 0, "The array's type is '%s'; it must be one short string, such "
				 "as \"csr\".", m.array.descr);
	if (!rc)
		rc = sl__member_block(&f->archive, &m, 1);
	if (!rc) {
		int step = m.array.kind == 'U' ? 4 : 1, length = 0, start = step == 4 && m.array.swapped ? 3 : 0;
		for (int k = 0; k * step < m.array.size && length < 15 && m.block[k * step + start]; k++) {
			char c = (char)m.block[k * step + start];
			out[length++] = c >= 0x20 && c < 0x7f ? c : '?';
		}
		out[length] = 0;
	}
	sl__member_close(&m);
	return rc;
}

static int read_shape(struct npz *f, const char *format)
{
	uint64_t limit = f->options->max_nodes && f->options->max_nodes < SL__MAX_NODES ? f->options->max_nodes
			: SL__MAX_NODES;
	int64_t shape[2] = {0};
	struct sl__member m;
	int rc = open_integers(f, &m, "shape", format);

	if (!rc && m.array.count != 2)
		rc = sl_error_at(f->err, SL_BADDATA, m.name, 0, "The shape has %" PRIu64 " numbers; it must have two.",
				 m.array.count);
	if (!rc)
		rc = next_integers(f, &m, 2, shape);
	f->n = (uint64_t)shape[0];
	f->columns = (uint64_t)shape[1];
	if (!rc && (shape[0] < 0 || shape[1] < 0))
		rc = sl_error_at(f->err, SL_BADDATA, m.name, 0, "The shape is (%" PRId64 ", %" PRId64 "); its numbers must not "
				 "be negative.", shape[0], shape[1]);
	else if (!rc && f->entries)
		rc = sl__entries_shape(f->entries, f->n, f->columns, 0, m.name);
	else if (!rc && shape[0] != shape[1])
		rc = sl_error_at(f->err, SL_BADGRAPH, m.name, 0, "The matrix has %" PRId64 " rows and %" PRId64 " columns; the "
				 "matrix of a graph must be square. For a table of points, say kind=points.", shape[0], shape[1]);
	else if (!rc && shape[0] == 0)
		rc = sl_error_at(f->err, SL_BADGRAPH, m.name, 0, "The matrix has no rows; a graph must have at least "
				 "one node.");
	else if (!rc && (uint64_t)shape[0] > limit)
		rc = sl_error_at(f->err, SL_TOOBIG, m.name, 0, "The matrix has %" PRId64 " nodes; the limit (max_nodes) is "
				 "%" PRIu64 ".", shape[0], limit);
	sl__member_close(&m);
	return rc;
}

static int open_data(struct npz *f, struct sl__member *m, const char *format)
{
	int rc = open_needed(f, m, "data", format);

	if (rc)
		return rc;
	if (!sl__npy_is_number(&m->array))
		return sl_error_at(f->err, SL_BADFORMAT, m->name, 0,
				"The array's type is '%s'; weights must be float32, float64, integers or "
				   "bool%s.", m->array.descr, m->array.kind == 'c' ? " (take abs() of a complex matrix)" : "");
	if (f->options->max_entries && m->array.count > f->options->max_entries)
		return sl_error_at(f->err, SL_TOOBIG, m->name, 0, "The matrix has %" PRIu64 " entries; the limit (max_entries) "
				   "is %llu.", m->array.count, (unsigned long long)f->options->max_entries);
	return f->entries ? 0 : sl__check_isolated(f->options, f->n, m->array.count, sl__source_name(f->source), f->err);
}

static int same_length(struct npz *f, const struct sl__member *a, const struct sl__member *data)
{
	if (a->array.count == data->array.count)
		return 0;
	return sl_error_at(f->err, SL_BADDATA, a->name, 0, "The array has %" PRIu64 " numbers and data.npy has "
			   "%" PRIu64 "; both must have the same number.", a->array.count, data->array.count);
}

/* ---- entries -------------------------------------------------------------------- */

static int index_error(struct npz *f, const struct sl__member *m, uint64_t entry, int64_t index, uint64_t lines)
{
	return sl_error_at(f->err, SL_BADDATA, m->name, 0,
			"Index %" PRIu64 " (counted from 0) is %" PRId64 "; in a matrix of %" PRIu64 " %s it must be "
			   "from 0 to %" PRIu64
			   ".", entry, index, lines, f->n == f->columns ? "rows" : "lines", lines - 1);
}

static int add(struct npz *f, const struct sl__member *data, uint64_t entry, int64_t row, int64_t column, double w)
{
	if (f->entries && !(fabs(w) <= (double)FLT_MAX))
		return sl_error_at(f->err, SL_BADDATA, data->name, 0, "Row %" PRId64 ", column %" PRId64 " (counted from 0) is "
				   "%g; coordinates must be finite single-precision numbers.", row, column, w);
	if (f->entries)
		return sl__entries_add(f->entries, (uint64_t)row, (uint64_t)column, w) ?
		       sl_error_memory_at(f->err, data->name, "entry %" PRIu64 " of %" PRIu64, entry,
					  data->array.count) : 0;
	if (!(w >= 0 && w <= (double)FLT_MAX))
		return sl_error_at(f->err, SL_BADGRAPH, data->name, 0, "Entry %" PRIu64 " (row %" PRId64 ", column "
				   "%" PRId64 ", counted from 0) has the weight %g, which is %s; weights must be "
				   "finite and not negative.", entry,
				   row, column, w, sl__weight_fault(w, isinf(w) ? "inf" : NULL));
	int rc = f->distances ? sl__add_distance(f->builder, (uint32_t)row, (uint32_t)column, (float)w)
			      : sl_graph_builder_add(f->builder, (uint32_t)row, (uint32_t)column, (float)w);
	return rc ? sl_error_at(f->err, rc, data->name, 0, SL_NO_MEMORY "entry %" PRIu64 " of %" PRIu64 ".", entry,
				data->array.count) : 0;
}

static int read_indptr(struct npz *f, uint64_t **out, uint64_t lines, uint64_t entries, const char *format)
{
	struct sl__member m;
	uint64_t *start = NULL, done = 0, last = 0;
	int64_t block[SL__BLOCK];
	int rc = open_integers(f, &m, "indptr", format);

	if (!rc && m.array.count != lines + 1)
		rc = sl_error_at(f->err, SL_BADDATA, m.name, 0,
				"The array has %" PRIu64 " numbers; for a matrix of %" PRIu64 " %s it must have "
				 "%" PRIu64 ".",
				 m.array.count, lines, f->n == f->columns ? "rows" : "lines", lines + 1);
	if (!rc) {
		start = sl_account_alloc(sl__source_account(f->source), lines + 1, sizeof *start);
		if (!start)
			rc = sl_error_memory_at(f->err, m.name, "%" PRIu64 " nodes", lines);
	}
	while (!rc && done <= lines) {
		uint64_t count = lines + 1 - done < SL__BLOCK ? lines + 1 - done : SL__BLOCK;

		rc = sl__source_check(f->source, f->err);
		if (!rc)
			rc = next_integers(f, &m, count, block);
		for (uint64_t k = 0; !rc && k < count; k++) {
			if (done + k == 0 && block[k] != 0)
				rc = sl_error_at(f->err, SL_BADDATA, m.name, 0, "The first number is %" PRId64 "; it must be 0.",
						 block[k]);
			else if (block[k] < (int64_t)last)
				rc = sl_error_at(f->err, SL_BADDATA, m.name, 0, "Number %" PRIu64 " (counted from 0) is %" PRId64 ", "
						 "less than the one before, %" PRIu64 "; the numbers must not decrease.", done + k, block[k],
						 last);
			else if ((uint64_t)block[k] > entries)
				rc = sl_error_at(f->err, SL_BADDATA, m.name, 0, "Number %" PRIu64 " (counted from 0) is %" PRId64
						 ", but there are only %" PRIu64 " entries.", done + k, block[k], entries);
			else
				start[done + k] = last = (uint64_t)block[k];
		}
		done += count;
	}
	sl__member_close(&m);
	if (rc)
		free(start);
	else
		*out = start;
	return rc;
}

/* Reads entries [0, start[n]) line by line; ignores surplus ones, which SciPy allows. */
static int read_lines(struct npz *f, struct sl__member *indices, struct sl__member *data, const uint64_t *start,
		      bool by_row)
{
	uint64_t done = 0, line = 0, lines = by_row ? f->n : f->columns;
	uint64_t others = by_row ? f->columns : f->n;
	int64_t index[SL__BLOCK];
	double w[SL__BLOCK];

	while (done < start[lines]) {
		uint64_t count = indices->left < SL__BLOCK ? indices->left : SL__BLOCK;
		int rc = sl__source_check(f->source, f->err);

		if (!rc)
			rc = next_integers(f, indices, count, index);
		if (!rc)
			rc = sl__member_block(&f->archive, data, count);
		if (rc)
			return rc;
		sl__npy_to_double(&data->array, data->block, count, w);
		for (uint64_t k = 0; k < count && done + k < start[lines]; k++) {
			while (start[line + 1] <= done + k)
				line++;
			if (index[k] < 0 || (uint64_t)index[k] >= others)
				return index_error(f, indices, done + k, index[k], others);
			rc = add(f, data, done + k, by_row ? (int64_t)line : index[k], by_row ? index[k] : (int64_t)line, w[k]);
			if (rc)
				return rc;
		}
		done += count;
	}
	return 0;
}

static int read_compressed(struct npz *f, const char *format)
{
	struct sl__member indices = {0}, data = {0};
	bool by_row = !strcmp(format, "csr");
	uint64_t *start = NULL;
	int rc = open_data(f, &data, format);

	if (!rc)
		rc = open_integers(f, &indices, "indices", format);
	if (!rc)
		rc = same_length(f, &indices, &data);
	if (!rc)
		rc = read_indptr(f, &start, by_row ? f->n : f->columns, data.array.count, format);
	if (!rc && !f->entries)
		rc = sl__graph_builder_create(&f->builder, SL_GENERAL, true, data.array.count, sl__source_account(f->source),
					      f->err);
	if (!rc)
		rc = read_lines(f, &indices, &data, start, by_row);
	free(start);
	sl__member_close(&indices);
	sl__member_close(&data);
	return rc;
}

static int read_triples(struct npz *f, struct sl__member *row, struct sl__member *column, struct sl__member *data)
{
	uint64_t done = 0;
	int64_t i[SL__BLOCK], j[SL__BLOCK];
	double w[SL__BLOCK];

	while (data->left > 0) {
		uint64_t count = data->left < SL__BLOCK ? data->left : SL__BLOCK;
		int rc = sl__source_check(f->source, f->err);

		if (!rc)
			rc = next_integers(f, row, count, i);
		if (!rc)
			rc = next_integers(f, column, count, j);
		if (!rc)
			rc = sl__member_block(&f->archive, data, count);
		if (rc)
			return rc;
		sl__npy_to_double(&data->array, data->block, count, w);
		for (uint64_t k = 0; k < count; k++) {
			if (i[k] < 0 || (uint64_t)i[k] >= f->n)
				return index_error(f, row, done + k, i[k], f->n);
			if (j[k] < 0 || (uint64_t)j[k] >= f->columns)
				return index_error(f, column, done + k, j[k], f->columns);
			rc = add(f, data, done + k, i[k], j[k], w[k]);
			if (rc)
				return rc;
		}
		done += count;
	}
	return 0;
}

static int read_coordinates(struct npz *f)
{
	struct sl__member row = {0}, column = {0}, data = {0};
	int rc = open_data(f, &data, "coo");

	if (!rc)
		rc = open_integers(f, &row, "row", "coo");
	if (!rc)
		rc = same_length(f, &row, &data);
	if (!rc)
		rc = open_integers(f, &column, "col", "coo");
	if (!rc)
		rc = same_length(f, &column, &data);
	if (!rc && !f->entries)
		rc = sl__graph_builder_create(&f->builder, SL_GENERAL, true, data.array.count, sl__source_account(f->source),
					      f->err);
	if (!rc)
		rc = read_triples(f, &row, &column, &data);
	sl__member_close(&row);
	sl__member_close(&column);
	sl__member_close(&data);
	return rc;
}

static int read_all(struct npz *f)
{
	char format[16];
	int rc = sl__archive_open(&f->archive, f->source, f->options->max_bytes, f->err);

	if (!rc)
		rc = read_format(f, format);
	if (!rc)
		rc = read_shape(f, format);
	if (!rc && (!strcmp(format, "csr") || !strcmp(format, "csc")))
		rc = read_compressed(f, format);
	else if (!rc && !strcmp(format, "coo"))
		rc = read_coordinates(f);
	else if (!rc)
		rc = sl_error_at(f->err, SL_BADFORMAT, sl__source_name(f->source), 0, "The sparse format is \"%s\"; it "
				 "must be csr, csc or coo (save matrix.tocsr()).", format);
	if (!rc && !f->entries && !f->distances && sl__archive_has(&f->archive, "names"))
		rc = sl__archive_texts(&f->archive, "names", f->n, "nodes", &f->names, NULL);
	sl__archive_close(&f->archive);
	return rc;
}

/* Says what was taken of the matrix of a graph: entry (i, j) is an edge from node i to node j. */
static int tell(const struct npz *f, struct sl_graph *g)
{
	struct sl_taken *t = g->taken = sl_taken_create();

	if (!t)
		return sl_error_memory(f->err, "reading %s", sl__source_name(f->source));
	t->rows = g->report.entries_read;
	t->rows_left_out = g->report.self_loops + g->report.zero_weights;
	t->rows_used = t->rows - t->rows_left_out;
	if (f->distances)
		return 0;
	t->directed = !g->symmetric;
	snprintf(t->sign, sizeof t->sign, "a sparse matrix with as many rows as columns");
	return 0;
}

int sl__read_npz(struct sl_graph **out, const struct sl_read_options *options, bool distances, struct sl_source *source,
		 struct sl_error *err)
{
	struct npz f = {.source = source, .options = options, .distances = distances, .err = err};
	sl__names_init(&f.names, sl__source_account(source));
	int rc = read_all(&f);

	if (rc)
		sl_graph_builder_destroy(f.builder);
	else
		rc = sl__finish_graph(f.builder, (uint32_t)f.n, source, out, err);
	if (!rc && f.names.n)
		sl__names_give(&f.names, &(*out)->name_bytes, &(*out)->name_at);
	sl__names_finish(&f.names);
	if (!rc && (rc = tell(&f, *out))) {
		sl_graph_destroy(*out);
		*out = NULL;
	}
	return rc;
}

int sl__read_npz_entries(struct sl__entries *t)
{
	struct npz f = {.source = t->source, .options = &t->options->read, .entries = t, .err = t->err};
	return read_all(&f);
}
