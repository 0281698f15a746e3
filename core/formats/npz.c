/* npz.c -- scipy.sparse.save_npz: a ZIP archive of NumPy arrays.
 *
 * CSR and CSC: indptr is held (8 bytes a node), indices and data are read side by side, a
 * block at a time, straight into the builder. COO: row, col and data side by side. */
#include <errno.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <zip.h>

#include "core/formats/npy.h"
#include "core/formats/readers.h"

#define BLOCK 8192

struct member {
	zip_file_t *file;
	char name[288];          /* "graph.npz: indices.npy" */
	struct sl__npy array;
	uint64_t left;           /* elements not read yet */
	unsigned char *block;    /* [BLOCK * array.size] */
};

struct npz {
	struct sl_source *source;
	const struct sl_read_options *options;
	zip_t *zip;
	FILE *file;
	uint64_t bytes;          /* of the members opened so far, uncompressed */
	struct sl_graph_builder *builder;
	uint64_t n;
	struct sl_error *err;
};

/* ---- members ---------------------------------------------------------------- */

static int64_t read_member(void *context, void *out, uint64_t want, struct sl_error *err)
{
	struct member *m = context;
	uint64_t done = 0;

	while (done < want) {
		zip_int64_t got = zip_fread(m->file, (char *)out + done, want - done);
		if (got < 0)
			return sl_error_at(err, SL_BADDATA, m->name, 0, "The member cannot be decompressed: %s.",
					   zip_file_strerror(m->file));
		if (got == 0)
			break;
		done += (uint64_t)got;
	}
	return (int64_t)done;
}

static void close_member(struct member *m)
{
	if (m->file)
		zip_fclose(m->file);
	free(m->block);
	m->file = NULL;
	m->block = NULL;
}

static int check_stat(struct npz *f, struct member *m, const zip_stat_t *st)
{
	if (!(st->valid & ZIP_STAT_SIZE))
		return sl_error_at(f->err, SL_BADDATA, m->name, 0, "The archive does not say how long the member is.");
	if ((st->valid & ZIP_STAT_ENCRYPTION_METHOD) && st->encryption_method != ZIP_EM_NONE)
		return sl_error_at(f->err, SL_BADFORMAT, m->name, 0, "The member is encrypted.");
	if ((st->valid & ZIP_STAT_COMP_METHOD) && st->comp_method != ZIP_CM_STORE && st->comp_method != ZIP_CM_DEFLATE)
		return sl_error_at(f->err, SL_BADFORMAT, m->name, 0,
				"The member is compressed by method %d; save_npz stores or "
				   "deflates.", st->comp_method);
	if (__builtin_add_overflow(f->bytes, st->size, &f->bytes) ||
	    (f->options->max_bytes && f->bytes > f->options->max_bytes))
		return sl_error_at(f->err, SL_TOOBIG, m->name, 0,
				"More than %llu bytes with this member, the limit (max_bytes).",
				   (unsigned long long)(f->options->max_bytes ? f->options->max_bytes : UINT64_MAX));
	return 0;
}

/* Opens NAME.npy and reads its header. A missing member is no error but *found is false. */
static int open_member(struct npz *f, struct member *m, const char *name, bool *found)
{
	char path[32];
	zip_stat_t st;

	memset(m, 0, sizeof *m);
	snprintf(path, sizeof path, "%s.npy", name);
	snprintf(m->name, sizeof m->name, "%s: %s", sl__source_name(f->source), path);
	zip_stat_init(&st);
	*found = zip_stat(f->zip, path, 0, &st) == 0;
	if (!*found)
		return 0;
	int rc = check_stat(f, m, &st);
	if (rc)
		return rc;
	m->file = zip_fopen_index(f->zip, st.index, 0);
	if (!m->file)
		return sl_error_at(f->err, SL_BADDATA, m->name, 0, "The member cannot be read: %s.", zip_strerror(f->zip));
	rc = sl__npy_read_header(&m->array, read_member, m, m->name, f->err);
	if (rc)
		return rc;
	uint64_t want = m->array.count * (uint64_t)m->array.size, have = st.size - m->array.header_bytes;
	if (st.size < m->array.header_bytes || have != want)
		return sl_error_at(f->err, SL_BADDATA, m->name, 0,
				"The member holds %" PRIu64 " bytes of numbers; its header means %"
				   PRIu64 " (%" PRIu64 " of %d bytes).", st.size < m->array.header_bytes ? 0 : have, want,
				   m->array.count, m->array.size);
	m->left = m->array.count;
	m->block = malloc((size_t)BLOCK * (m->array.size > 8 ? (size_t)m->array.size : 8));
	return m->block ? 0 : sl_error_at(f->err, SL_NOMEM, m->name, 0, "No memory to read.");
}

static int open_needed(struct npz *f, struct member *m, const char *name, const char *format)
{
	bool found;
	int rc = open_member(f, m, name, &found);

	if (!rc && !found)
		rc = sl_error_at(f->err, SL_BADDATA, sl__source_name(f->source), 0,
				"The archive has no member %s.npy, which the "
				 "format \"%s\" needs.", name, format);
	if (!rc && m->array.dims != 1)
		rc = sl_error_at(f->err, SL_BADDATA, m->name, 0, "The array has %d dimensions; it should have one.",
				 m->array.dims);
	return rc;
}

static int open_integers(struct npz *f, struct member *m, const char *name, const char *format)
{
	int rc = open_needed(f, m, name, format);

	if (!rc && (!sl__npy_is_integer(&m->array) || m->array.kind == 'b'))
		rc = sl_error_at(f->err, SL_BADFORMAT, m->name, 0, "The array's type is '%s'; it should be integers (int32 or "
				 "int64).", m->array.descr);
	return rc;
}

/* The next count <= BLOCK elements, as stored, into m->block. */
static int next_block(struct npz *f, struct member *m, uint64_t count)
{
	uint64_t want = count * (uint64_t)m->array.size;
	int64_t got = read_member(m, m->block, want, f->err);

	if (got < 0)
		return (int)got;
	if ((uint64_t)got < want)
		return sl_error_at(f->err, SL_BADDATA, m->name, 0, "The member ends %" PRIu64 " numbers too early.",
				   m->left - (uint64_t)got / (uint64_t)m->array.size);
	m->left -= count;
	/* The checksum is compared when the end is read. */
	if (m->left == 0) {
		char extra;
		got = read_member(m, &extra, 1, f->err);
		if (got < 0)
			return (int)got;
	}
	return 0;
}

static int next_integers(struct npz *f, struct member *m, uint64_t count, int64_t *out)
{
	int rc = next_block(f, m, count);

	if (!rc)
		sl__npy_to_i64(&m->array, m->block, count, out);
	return rc;
}

/* ---- what the archive says of itself ------------------------------------------- */

static int read_format(struct npz *f, char out[16])
{
	struct member m;
	bool found;
	int rc = open_member(f, &m, "format", &found);

	out[0] = 0;
	if (!rc && !found)
		rc = sl_error_at(f->err, SL_BADFORMAT, sl__source_name(f->source), 0,
				"The archive has no member format.npy, so "
				 "scipy.sparse.save_npz did not write it (numpy.savez?).");
	if (!rc && ((m.array.kind != 'S' && m.array.kind != 'U') || m.array.count != 1 || m.array.size > 60))
		rc = sl_error_at(f->err, SL_BADDATA, m.name, 0,
				"The array's type is '%s'; it should be one short string, such as "
				 "\"csr\".", m.array.descr);
	if (!rc)
		rc = next_block(f, &m, 1);
	if (!rc) {
		int step = m.array.kind == 'U' ? 4 : 1, length = 0, start = step == 4 && m.array.swapped ? 3 : 0;
		for (int k = 0; k * step < m.array.size && length < 15 && m.block[k * step + start]; k++) {
			char c = (char)m.block[k * step + start];
			out[length++] = c >= 0x20 && c < 0x7f ? c : '?';
		}
		out[length] = 0;
	}
	close_member(&m);
	return rc;
}

static int read_shape(struct npz *f, const char *format)
{
	uint64_t limit = f->options->max_nodes && f->options->max_nodes < SL__MAX_NODES ? f->options->max_nodes
			: SL__MAX_NODES;
	int64_t shape[2] = {0};
	struct member m;
	int rc = open_integers(f, &m, "shape", format);

	if (!rc && m.array.count != 2)
		rc = sl_error_at(f->err, SL_BADDATA, m.name, 0, "The shape has %" PRIu64 " numbers; it should have two.",
				 m.array.count);
	if (!rc)
		rc = next_integers(f, &m, 2, shape);
	if (!rc && (shape[0] < 0 || shape[1] < 0))
		rc = sl_error_at(f->err, SL_BADDATA, m.name, 0,
				"The shape is (%" PRId64 ", %" PRId64 "); it cannot be negative.",
				 shape[0], shape[1]);
	else if (!rc && shape[0] != shape[1])
		rc = sl_error_at(f->err, SL_BADGRAPH, m.name, 0,
				"The matrix has %" PRId64 " rows and %" PRId64 " columns; the matrix "
				 "of a graph is square.", shape[0], shape[1]);
	else if (!rc && shape[0] == 0)
		rc = sl_error_at(f->err, SL_BADGRAPH, m.name, 0, "The matrix has no rows; a graph has at least one node.");
	else if (!rc && (uint64_t)shape[0] > limit)
		rc = sl_error_at(f->err, SL_TOOBIG, m.name, 0, "%" PRId64 " nodes; the limit (max_nodes) is %" PRIu64 ".",
				shape[0],
				 limit);
	f->n = (uint64_t)shape[0];
	close_member(&m);
	return rc;
}

static int open_data(struct npz *f, struct member *m, const char *format)
{
	int rc = open_needed(f, m, "data", format);

	if (rc)
		return rc;
	if (!sl__npy_is_number(&m->array))
		return sl_error_at(f->err, SL_BADFORMAT, m->name, 0,
				"The array's type is '%s'; weights are float32, float64, integers "
				   "or bool%s.", m->array.descr, m->array.kind == 'c' ? " (take abs() of a complex matrix)" : "");
	if (f->options->max_entries && m->array.count > f->options->max_entries)
		return sl_error_at(f->err, SL_TOOBIG, m->name, 0, "%" PRIu64 " entries; the limit (max_entries) is %llu.",
				   m->array.count, (unsigned long long)f->options->max_entries);
	return 0;
}

static int same_length(struct npz *f, const struct member *a, const struct member *data)
{
	if (a->array.count == data->array.count)
		return 0;
	return sl_error_at(f->err, SL_BADDATA, a->name, 0,
			"%" PRIu64 " numbers, but data.npy has %" PRIu64 "; there should be as many.",
			   a->array.count, data->array.count);
}

/* ---- entries -------------------------------------------------------------------- */

static int index_error(struct npz *f, const struct member *m, uint64_t entry, int64_t index)
{
	return sl_error_at(f->err, SL_BADDATA, m->name, 0,
			"Index %" PRIu64 " (counted from 0) is %" PRId64 "; a matrix of %" PRIu64
			   " rows allows 0 to %" PRIu64 ".", entry, index, f->n, f->n - 1);
}

static int add(struct npz *f, const struct member *data, uint64_t entry, int64_t row, int64_t column, double w)
{
	if (!(w >= 0 && w <= (double)FLT_MAX))
		return sl_error_at(f->err, SL_BADGRAPH, data->name, 0, "Entry %" PRIu64 " (row %" PRId64 ", column %" PRId64
				   ", counted from 0) has the weight %g, which is %s; weights are finite and not negative.", entry,
				   row, column, w, sl__weight_fault(w, isinf(w) ? "inf" : NULL));
	int rc = sl_graph_builder_add(f->builder, (uint32_t)row, (uint32_t)column, (float)w);
	return rc ? sl_error_at(f->err, rc, data->name, 0, "No memory for entry %" PRIu64 " of %" PRIu64 ".", entry,
				data->array.count) : 0;
}

static int read_indptr(struct npz *f, uint64_t **out, uint64_t entries, const char *format)
{
	struct member m;
	uint64_t *start = NULL, done = 0, last = 0;
	int64_t block[BLOCK];
	int rc = open_integers(f, &m, "indptr", format);

	if (!rc && m.array.count != f->n + 1)
		rc = sl_error_at(f->err, SL_BADDATA, m.name, 0,
				"%" PRIu64 " numbers; a matrix of %" PRIu64 " rows needs %" PRIu64 ".",
				 m.array.count, f->n, f->n + 1);
	if (!rc) {
		start = malloc((f->n + 1) * sizeof *start);
		if (!start)
			rc = sl_error_at(f->err, SL_NOMEM, m.name, 0, "No memory for %" PRIu64 " nodes.", f->n);
	}
	while (!rc && done <= f->n) {
		uint64_t count = f->n + 1 - done < BLOCK ? f->n + 1 - done : BLOCK;

		rc = sl__source_check(f->source, f->err);
		if (!rc)
			rc = next_integers(f, &m, count, block);
		for (uint64_t k = 0; !rc && k < count; k++) {
			if (done + k == 0 && block[k] != 0)
				rc = sl_error_at(f->err, SL_BADDATA, m.name, 0, "The first number is %" PRId64 "; it should be 0.",
						 block[k]);
			else if (block[k] < (int64_t)last)
				rc = sl_error_at(f->err, SL_BADDATA, m.name, 0, "Number %" PRIu64 " (counted from 0) is %" PRId64
						 ", less than the one before, %" PRIu64 "; they should never fall.", done + k,
						 block[k], last);
			else if ((uint64_t)block[k] > entries)
				rc = sl_error_at(f->err, SL_BADDATA, m.name, 0, "Number %" PRIu64 " (counted from 0) is %" PRId64
						 ", but there are only %" PRIu64 " entries.", done + k, block[k], entries);
			else
				start[done + k] = last = (uint64_t)block[k];
		}
		done += count;
	}
	close_member(&m);
	if (rc)
		free(start);
	else
		*out = start;
	return rc;
}

/* Entries [0, start[n]) line by line; surplus ones, which scipy allows, are left. */
static int read_lines(struct npz *f, struct member *indices, struct member *data, const uint64_t *start, bool by_row)
{
	uint64_t done = 0, line = 0;
	int64_t index[BLOCK];
	double w[BLOCK];

	while (done < start[f->n]) {
		uint64_t count = indices->left < BLOCK ? indices->left : BLOCK;
		int rc = sl__source_check(f->source, f->err);

		if (!rc)
			rc = next_integers(f, indices, count, index);
		if (!rc)
			rc = next_block(f, data, count);
		if (rc)
			return rc;
		sl__npy_to_double(&data->array, data->block, count, w);
		for (uint64_t k = 0; k < count && done + k < start[f->n]; k++) {
			while (start[line + 1] <= done + k)
				line++;
			if (index[k] < 0 || (uint64_t)index[k] >= f->n)
				return index_error(f, indices, done + k, index[k]);
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
	struct member indices = {0}, data = {0};
	uint64_t *start = NULL;
	int rc = open_data(f, &data, format);

	if (!rc)
		rc = open_integers(f, &indices, "indices", format);
	if (!rc)
		rc = same_length(f, &indices, &data);
	if (!rc)
		rc = read_indptr(f, &start, data.array.count, format);
	if (!rc)
		rc = sl_graph_builder_create(&f->builder, SL_GENERAL, true, data.array.count, f->err);
	if (!rc)
		rc = read_lines(f, &indices, &data, start, !strcmp(format, "csr"));
	free(start);
	close_member(&indices);
	close_member(&data);
	return rc;
}

static int read_triples(struct npz *f, struct member *row, struct member *column, struct member *data)
{
	uint64_t done = 0;
	int64_t i[BLOCK], j[BLOCK];
	double w[BLOCK];

	while (data->left > 0) {
		uint64_t count = data->left < BLOCK ? data->left : BLOCK;
		int rc = sl__source_check(f->source, f->err);

		if (!rc)
			rc = next_integers(f, row, count, i);
		if (!rc)
			rc = next_integers(f, column, count, j);
		if (!rc)
			rc = next_block(f, data, count);
		if (rc)
			return rc;
		sl__npy_to_double(&data->array, data->block, count, w);
		for (uint64_t k = 0; k < count; k++) {
			if (i[k] < 0 || (uint64_t)i[k] >= f->n)
				return index_error(f, row, done + k, i[k]);
			if (j[k] < 0 || (uint64_t)j[k] >= f->n)
				return index_error(f, column, done + k, j[k]);
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
	struct member row = {0}, column = {0}, data = {0};
	int rc = open_data(f, &data, "coo");

	if (!rc)
		rc = open_integers(f, &row, "row", "coo");
	if (!rc)
		rc = same_length(f, &row, &data);
	if (!rc)
		rc = open_integers(f, &column, "col", "coo");
	if (!rc)
		rc = same_length(f, &column, &data);
	if (!rc)
		rc = sl_graph_builder_create(&f->builder, SL_GENERAL, true, data.array.count, f->err);
	if (!rc)
		rc = read_triples(f, &row, &column, &data);
	close_member(&row);
	close_member(&column);
	close_member(&data);
	return rc;
}

/* ---- archive ---------------------------------------------------------------------- */

static int open_archive(struct npz *f)
{
	const char *name = sl__source_name(f->source);
	const void *bytes;
	uint64_t size;
	zip_source_t *zs;
	zip_error_t error;
	int rc = sl__source_random(f->source, &bytes, &size, &f->file, f->err);

	if (rc)
		return rc;
	zip_error_init(&error);
	zs = f->file ? zip_source_filep_create(f->file, 0, -1, &error) : zip_source_buffer_create(bytes, size, 0, &error);
	if (!zs) {
		if (f->file)
			fclose(f->file);
	} else {
		/* From here on the source closes the file. */
		f->zip = zip_open_from_source(zs, ZIP_RDONLY, &error);
		if (!f->zip)
			zip_source_free(zs);
	}
	if (!f->zip)
		rc = sl_error_at(f->err, zip_error_code_zip(&error) == ZIP_ER_MEMORY ? SL_NOMEM : SL_BADDATA, name, 0,
				 "The ZIP archive cannot be opened: %s.", zip_error_strerror(&error));
	zip_error_fini(&error);
	return rc;
}

int sl__read_npz(struct sl_graph **out, const struct sl_read_options *options, struct sl_source *source,
		 struct sl_error *err)
{
	struct npz f = {.source = source, .options = options, .err = err};
	char format[16];
	int rc = open_archive(&f);

	if (!rc)
		rc = read_format(&f, format);
	if (!rc)
		rc = read_shape(&f, format);
	if (!rc && (!strcmp(format, "csr") || !strcmp(format, "csc")))
		rc = read_compressed(&f, format);
	else if (!rc && !strcmp(format, "coo"))
		rc = read_coordinates(&f);
	else if (!rc)
		rc = sl_error_at(err, SL_BADFORMAT, sl__source_name(source), 0,
				"The sparse format is \"%s\"; csr, csc and coo are "
				 "read (save matrix.tocsr()).", format);
	if (f.zip)
		zip_discard(f.zip);
	if (rc) {
		sl_graph_builder_destroy(f.builder);
		return rc;
	}
	return sl__finish_graph(f.builder, (uint32_t)f.n, source, out, err);
}
