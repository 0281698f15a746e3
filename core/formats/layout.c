#include "core/formats/layout.h"

#include <errno.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "core/formats/npy.h"

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

/* RFC 4180: quoted when it has to be. */
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
			write_field(file, graph->label_name[graph->label[i]]);
		}
		putc('\n', file);
	}
}

int sl_layout_write_csv(FILE *file, const struct sl_graph *graph, const float *y, uint32_t n, int dims,
			struct sl_error *err)
{
	locale_t c = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0), before;

	if (!c)
		return sl_error_set(err, SL_NOMEM, "No memory to write the layout.");
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
		return sl_error_set(err, SL_NOMEM, "No memory for a layout of %u nodes.", n);
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
		return sl_error_set(err, SL_NOMEM, "No memory for a layout of %u nodes.", n);
	rc = sl_layout_write_csv(file, graph, y, n, dims, err);
	if (fclose(file) && !rc)
		rc = sl_error_set(err, SL_NOMEM, "No memory for a layout of %u nodes.", n);
	if (rc) {
		free(*out);
		*out = NULL;
	}
	return rc;
}
