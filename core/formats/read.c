#include "core/formats/read.h"

#include <math.h>
#include <string.h>
#include <strings.h>

#include "core/formats/graphs/readers.h"
#include "core/taken/taken.h"

static const char *const format_names[] = {"auto", "mtx", "edges", "npz"};

const char *sl_graph_format_name(enum sl_graph_format format) { return format_names[format]; }

int sl_graph_format_parse(const char *name, enum sl_graph_format *out, struct sl_error *err)
{
	for (int k = 0; k < 4; k++)
		if (!strcmp(name, format_names[k])) {
			*out = (enum sl_graph_format)k;
			return 0;
		}
	return sl_error_field(err, SL_BADPARAM, "/format", "There is no graph format \"%.40s\"; it should be mtx, edges, "
			      "npz or auto.", name);
}

const char *sl__weight_fault(double w, const char *text)
{
	if (isnan(w))
		return "not a number";
	if (w < 0)
		return "negative";
	if (text && *text == '+')
		text++;
	return text && (*text == 'i' || *text == 'I') ? "infinite" : "too large for single precision (3.4e38)";
}

int sl__finish_graph(struct sl_graph_builder *b, uint32_t n, struct sl_source *source, struct sl_graph **out,
		     struct sl_error *err)
{
	int rc = sl_graph_builder_finish(b, n, out, err);

	if (rc && err)
		snprintf(err->file, sizeof err->file, "%s", sl__source_name(source));
	return rc;
}

/* With more nodes, most of them without entries, a small file would make a large graph. */
#define ISOLATED_FROM 65536u
#define ISOLATED_RATIO 16u

int sl__check_isolated(const struct sl_read_options *options, uint64_t n, uint64_t entries, const char *file,
		       struct sl_error *err)
{
	if (!options->few_isolated || n <= ISOLATED_FROM || n / ISOLATED_RATIO <= entries)
		return 0;
	int rc = sl_error_field(err, SL_BADGRAPH, "/isolated", "The graph has %llu nodes but only %llu entries, so "
				"most nodes have no edge. If this is intended, say "
				"isolated=true.", (unsigned long long)n, (unsigned long long)entries);
	if (err)
		snprintf(err->file, sizeof err->file, "%s", file);
	return rc;
}

/* ---- recognition ---------------------------------------------------------- */

bool sl__name_ends_in(const char *name, const char *ending)
{
	size_t length = strlen(name), want = strlen(ending);

	if (length > 3 && !strcasecmp(name + length - 3, ".gz"))
		length -= 3;
	else if (length > 4 && !strcasecmp(name + length - 4, ".zst"))
		length -= 4;
	return length > want && !strncasecmp(name + length - want, ending, want);
}

static bool starts(const unsigned char *bytes, int64_t size, const char *with, size_t length)
{
	return size >= (int64_t)length && !memcmp(bytes, with, length);
}

#define R_DATA "This is an R data file; in R write a table with write.csv(x, \"file.csv\"), or a sparse matrix with " \
	"Matrix::writeMM(x, \"file.mtx\")."
#define PICKLE "This is a Python pickle, which is a program and is not run; save the array with numpy.save, a sparse " \
	"matrix with scipy.sparse.save_npz, or upload the object with spaceland.submit(...)."

const char *sl__foreign(const unsigned char *bytes, int64_t size)
{
	static const struct {
		const char *magic;
		size_t length;
		const char *advice;
	} kinds[] = {
		{"\x93NUMPY", 6, "This is a NumPy array (.npy), not a graph; save a sparse matrix with scipy.sparse.save_npz."},
		{"\x89HDF\r\n", 6, "This is an HDF5 file. Upload AnnData (.h5ad) with Python: "
			"spaceland.submit(\"cells.h5ad\"). From other files save the matrix with scipy.sparse.save_npz "
			"or numpy.save."},
		{"PAR1", 4, "This is a Parquet file. Upload it with Python: spaceland.submit(\"table.parquet\"), or "
			"save it as .csv."},
		{"ARROW1", 6, "This is an Arrow (Feather) file. Upload it with Python: "
			"spaceland.submit(pandas.read_feather(...)), or save it as .csv."},
		{"X\n\0\0\0", 5, R_DATA}, {"RDX2\n", 5, R_DATA}, {"RDX3\n", 5, R_DATA}, {"RDA3\n", 5, R_DATA},
		{"A\n3\n", 4, R_DATA},
		{"A\n2\n", 4, R_DATA}, {"\x80\x02", 2, PICKLE}, {"\x80\x03", 2, PICKLE}, {"\x80\x04", 2, PICKLE},
		{"\x80\x05", 2, PICKLE}, {"cnumpy", 6, PICKLE}, {"ccopy_reg", 9, PICKLE},
		{"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", 8, "This is an old Office file (.xls?); save its sheet as .csv."},
		{"7z\xbc\xaf\x27\x1c", 6, "This is a 7z archive; unpack it first."},
		{"Rar!\x1a\x07", 6, "This is a RAR archive; unpack it first."},
		{"\x04\x22\x4d\x18", 4, "This is an lz4 file; compress with gzip or zstd instead."},
		{"SQLite format 3", 16, "This is an SQLite data base; export the table as .csv."},
		{"<stata_dta>", 11, "This is a Stata file; export it as .csv (export delimited)."},
		{"$FL2", 4, "This is an SPSS file; save it as .csv."},
		{"*Vertices", 9, "This is a Pajek network; export its edges as a list (one \"a,b\" or \"a,b,weight\" a line)."},
		{"*Network", 8, "This is a Pajek network; export its edges as a list (one \"a,b\" or \"a,b,weight\" a line)."},
		{"Creator \"", 9, "This is GML; export the graph as an edge list or MatrixMarket."},
		{"digraph ", 8, "This is a Graphviz file; export the graph as an edge list or MatrixMarket."},
		{"MATLAB 5.0", 10, "This is a MATLAB file; write the matrix with mmwrite, as MatrixMarket."},
		{"BZh", 3, "This is a bzip2 file; compress with gzip or zstd instead."},
		{"\xfd" "7zXZ", 5, "This is an xz file; compress with gzip or zstd instead."},
		{"<?xml", 5, "This is an XML file (GraphML, GEXF?); export the graph as an edge list or MatrixMarket."},
		{"<graphml", 8, "This is GraphML; export the graph as an edge list or MatrixMarket."},
		{"<!DOCTYPE", 9, "This is a web page; the download may have been refused."},
		{"<html", 5, "This is a web page; the download may have been refused."},
		{"graph [", 7, "This is GML; export the graph as an edge list or MatrixMarket."},
		{"%PDF", 4, "This is a PDF document."},
		{"\x7f" "ELF", 4, "This is a program."},
	};

	for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
		if (starts(bytes, size, kinds[k].magic, kinds[k].length))
			return kinds[k].advice;
	int64_t at = 0;
	while (at < size && (bytes[at] == ' ' || bytes[at] == '\t' || bytes[at] == '\r' || bytes[at] == '\n'))
		at++;
	if (at < size && (bytes[at] == '{' || bytes[at] == '['))
		return "This looks like JSON; export the graph as an edge list (one \"a,b\" or \"a,b,weight\" a line) or "
		       "MatrixMarket.";
	return NULL;
}

void sl__tell_container(const struct sl_source *source, struct sl_taken *taken)
{
	if (taken && *sl__source_note(source))
		sl_taken_add_note(taken, false, "%s", sl__source_note(source));
}

static int recognise(struct sl_source *source, enum sl_graph_format *format, struct sl_error *err)
{
	static const char formats[] = "MatrixMarket (.mtx), edge list (.tsv, .csv, .txt) or SciPy sparse (.npz)";
	const char *name = sl__source_name(source), *advice;
	const unsigned char *bytes;
	int64_t size = sl__source_peek_text(source, &bytes, err);

	if (size < 0)
		return (int)size;
	if (size == 0)
		return sl_error_at(err, SL_BADDATA, name, 0, "The file is empty; a graph must be one of %s.", formats);
	if (size >= 14 && !strncasecmp((const char *)bytes, "%%MatrixMarket", 14)) {
		*format = SL_FORMAT_MTX;
		return 0;
	}
	if (starts(bytes, size, "PK\003\004", 4) || starts(bytes, size, "PK\005\006", 4)) {
		*format = SL_FORMAT_NPZ;
		return 0;
	}
	advice = sl__foreign(bytes, size);
	if (advice)
		return sl_error_at(err, SL_BADFORMAT, name, 0, "%s", advice);
	if (memchr(bytes, 0, (size_t)size))
		return sl_error_at(err, SL_BADFORMAT, name, 0, "This is a binary file of an unknown format; a graph "
				   "must be one of %s.", formats);
	if (sl__name_ends_in(name, ".npz"))
		return sl_error_at(err, SL_BADFORMAT, name, 0, "The name ends in .npz, but the file is not a ZIP "
				   "archive, which save_npz writes.");
	*format = sl__name_ends_in(name, ".mtx") || sl__name_ends_in(name, ".mm") ? SL_FORMAT_MTX : SL_FORMAT_EDGES;
	return 0;
}

int sl_graph_read(struct sl_graph **out, const struct sl_read_options *options, struct sl_source *source,
		  struct sl_error *err)
{
	static const struct sl_read_options none;
	enum sl_graph_format format;
	int rc = 0;

	*out = NULL;
	if (!options)
		options = &none;
	sl__source_set_options(source, options);
	format = options->format;
	if (format == SL_FORMAT_AUTO) {
		rc = recognise(source, &format, err);
	} else {
		const unsigned char *bytes;
		int64_t size = sl__source_peek_text(source, &bytes, err);
		rc = size < 0 ? (int)size : 0;
	}
	if (rc)
		return rc;
	sl__source_set_format(source, format);
	rc = format == SL_FORMAT_MTX ? sl__read_mtx(out, options, false, source, err)
	   : format == SL_FORMAT_NPZ ? sl__read_npz(out, options, false, source, err)
				     : sl__read_edges(out, options, source, err);
	if (!rc)
		sl__tell_container(source, (*out)->taken);
	return rc;
}
