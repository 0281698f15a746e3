/* Numbers are written with 9 digits, which give the same float when they are read. A given layout is read into memory
 * that grows with what has come, never with what a header promises. */
#include "core/formats/layout.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/account.h"
#include "core/formats/numpy/npy.h"
#include "core/formats/source/source.h"

#define COORDINATE_MOST 1e6f
#define RAW_BLOCK (1u << 20)  /* floats */

/* ---- reading ---------------------------------------------------------------------------- */

/* Reads floats to the end of the source. Memory grows with the data. */
static int read_floats(float **out, uint64_t *count, uint64_t most, struct sl_source *s, struct sl_error *err)
{
	const char *file = sl__source_name(s);
	uint64_t capacity = 0, bytes = 0;
	for (;;) {
		if (bytes == capacity * sizeof **out) {
			uint64_t more = capacity ? capacity : RAW_BLOCK;
			int rc = sl_account_take(sl__source_account(s), SL_MEMORY, more * sizeof **out, err);
			if (rc)
				return rc;
			float *grown = realloc(*out, (capacity + more) * sizeof **out);
			if (!grown)
				return sl_error_memory_at(err, file, "%llu numbers",
							  (unsigned long long)(capacity + more));
			*out = grown;
			capacity += more;
		}
		int64_t got = sl__source_read(s, (char *)*out + bytes, capacity * sizeof **out - bytes, err);
		if (got < 0)
			return (int)got;
		bytes += (uint64_t)got;
		if (most && bytes / sizeof **out > most)
			return sl_error_at(err, SL_TOOBIG, file, 0, "The layout has more than %llu numbers, the limit "
					   "of nodes (max_nodes) times dims.", (unsigned long long)most);
		if (!got)
			break;
	}
	*count = bytes / sizeof **out;
	if (bytes % sizeof **out)
		return sl_error_at(err, SL_BADDATA, file, 0, "The file has %llu bytes, which is not a whole number of "
				   "float32 values of 4 bytes.", (unsigned long long)bytes);
	return 0;
}

static int read_raw(float **y, uint64_t *n, uint64_t dims, const struct sl_read_options *options,
		    struct sl_source *source, struct sl_error *err)
{
	uint64_t count = 0;
	sl__source_set_options(source, options);
	int rc = read_floats(y, &count, options->max_nodes * dims, source, err);
	if (!rc && (!count || count % dims))
		rc = sl_error_at(err, SL_BADDATA, sl__source_name(source), 0, "The file has %llu float32 values, which is not "
				 "a multiple of the %llu dimensions.", (unsigned long long)count, (unsigned long long)dims);
	*n = count / dims;
	return rc;
}

static int check_values(const float *y, uint64_t n, uint64_t dims, const char *file, struct sl_error *err)
{
	for (uint64_t i = 0; i < n * dims; i++)
		if (!(fabsf(y[i]) <= COORDINATE_MOST))
			return sl_error_at(err, SL_BADDATA, file, 0, "Row %llu, column %llu (counted from 0) is %g; "
					   "coordinates must be from -1e6 to 1e6.", (unsigned long long)(i / dims),
					   (unsigned long long)(i % dims), (double)y[i]);
	return 0;
}

int sl_layout_read(float **y, uint32_t *n, int *dims, int raw_dims, const struct sl_read_options *options,
		   struct sl_source *source, struct sl_error *err)
{
	const char *file = sl__source_name(source);
	const unsigned char *bytes;
	uint64_t rows = 0, columns = (uint64_t)raw_dims;
	*y = NULL;
	sl__source_set_options(source, options);
	int64_t size = sl__source_peek(source, &bytes, err);
	int rc = size < 0 ? (int)size : 0;
	bool npy = size >= 6 && !memcmp(bytes, "\x93NUMPY", 6);
	if (!rc && !npy && !raw_dims)
		rc = sl_error_at(err, SL_BADFORMAT, file, 0, "This is not a NumPy array (.npy), as numpy.save writes "
				 "it; for bare little-endian float32, give the number of dimensions in dims.");
	else if (!rc && npy)
		rc = sl_npy_read(y, &rows, &columns, options, source, err);
	else if (!rc)
		rc = read_raw(y, &rows, columns, options, source, err);
	if (!rc && (columns > 3 || (raw_dims && columns != (uint64_t)raw_dims)))
		rc = sl_error_at(err, SL_BADDATA, file, 0, "The layout has %llu dimensions; it must have %s.",
				 (unsigned long long)columns, raw_dims ? "as many as dims says" : "1, 2 or 3");
	if (!rc && rows > UINT32_MAX - 16)
		rc = sl_error_at(err, SL_TOOBIG, file, 0, "The layout has %llu rows; a graph can have at most 4294967279 "
				 "nodes.", (unsigned long long)rows);
	if (!rc)
		rc = check_values(*y, rows, columns, file, err);
	if (rc) {
		free(*y);
		*y = NULL;
	}
	*n = (uint32_t)rows;
	*dims = (int)columns;
	return rc;
}

/* ---- writing ---------------------------------------------------------------------------- */

static int write_error(struct sl_error *err)
{
	return sl_error_set(err, SL_IO, "Writing the layout failed: %s.", strerror(errno));
}

int sl_layout_write_npy(FILE *file, const float *y, uint32_t n, int dims, struct sl_error *err)
{
	char header[SL_NPY_HEADER_BYTES];
	size_t count = (size_t)n * (size_t)dims;

	sl_npy_header(header, n, (uint64_t)dims);
	if (fwrite(header, 1, sizeof header, file) != sizeof header || fwrite(y, sizeof *y, count, file) != count ||
	    fflush(file))
		return write_error(err);
	return 0;
}

/* Writes a field of a CSV, with quotes if RFC 4180 requires them. */
static void write_field(FILE *file, const char *text)
{
	if (!strpbrk(text, "\",\r\n") && *text != ' ' && *text != '#') {
		fputs(text, file);
		return;
	}
	putc('"', file);
	for (; *text; text++) {
		if (*text == '"')
			putc('"', file);
		putc(*text, file);
	}
	putc('"', file);
}

static void write_rows(FILE *file, const struct sl_graph *graph, const float *y, uint32_t n, int dims)
{
	static const char *const axis[] = {",x", ",y", ",z"};
	bool labels = graph && graph->label;

	fputs("node", file);
	for (int k = 0; k < dims && k < 3; k++)
		fputs(axis[k], file);
	fputs(labels ? ",label\n" : "\n", file);
	for (uint32_t i = 0; i < n && !ferror(file); i++) {
		const char *name = graph ? sl_graph_name(graph, i) : NULL;

		if (name)
			write_field(file, name);
		else
			fprintf(file, "%u", i);
		for (int k = 0; k < dims; k++)
			fprintf(file, ",%.9g", (double)y[(size_t)i * (size_t)dims + (size_t)k]);
		if (labels) {
			putc(',', file);
			write_field(file, sl_graph_label(graph, i));
		}
		putc('\n', file);
	}
}

int sl_layout_write_csv(FILE *file, const struct sl_graph *graph, const float *y, uint32_t n, int dims,
			struct sl_error *err)
{
	locale_t c = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0), before;

	if (!c)
		return sl_error_memory(err, "writing the layout");
	before = uselocale(c);
	flockfile(file);
	write_rows(file, graph, y, n, dims);
	funlockfile(file);
	uselocale(before);
	freelocale(c);
	return ferror(file) || fflush(file) ? write_error(err) : 0;
}

int sl_layout_npy(void **out, size_t *bytes, const float *y, uint32_t n, int dims, struct sl_error *err)
{
	size_t body = (size_t)n * (size_t)dims * sizeof *y;
	char *file = malloc(SL_NPY_HEADER_BYTES + body);

	*out = NULL;
	if (!file)
		return sl_error_memory(err, "a layout of %u nodes", n);
	sl_npy_header(file, n, (uint64_t)dims);
	memcpy(file + SL_NPY_HEADER_BYTES, y, body);
	*out = file;
	*bytes = SL_NPY_HEADER_BYTES + body;
	return 0;
}

int sl_layout_csv(char **out, size_t *bytes, const struct sl_graph *graph, const float *y, uint32_t n, int dims,
		  struct sl_error *err)
{
	FILE *file;
	int rc;

	*out = NULL;
	file = open_memstream(out, bytes);
	if (!file)
		return sl_error_memory(err, "a layout of %u nodes", n);
	rc = sl_layout_write_csv(file, graph, y, n, dims, err);
	if (fclose(file) && !rc)
		rc = sl_error_memory(err, "a layout of %u nodes", n);
	if (rc) {
		free(*out);
		*out = NULL;
	}
	return rc;
}
