/* content.c -- recognises formats by their first bytes, and knows those of other programs. */
#include "core/formats/content.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/formats/source/container.h"
#include "core/formats/source/source.h"
#include "core/meant.h"

static const char *const names[] = {"npy", "npz", "mtx", "csv"};

const char *sl__content_name(enum sl__content content) { return names[content]; }

static bool starts(const unsigned char *bytes, int64_t size, const char *with, size_t length)
{
	return size >= (int64_t)length && !memcmp(bytes, with, length);
}

#define R_DATA "This is an R data file; in R write a table with write.csv(x, \"file.csv\"), or a sparse matrix with " \
	"Matrix::writeMM(x, \"file.mtx\")."
#define ARROW "This is an Arrow (Feather) file. Upload it with Python: spaceland.submit(pandas.read_feather(...)), " \
	"or save it as .csv."
#define MATLAB "This is a MATLAB file; write the matrix with mmwrite, as MatrixMarket, or with writematrix, as .csv."
#define GRAPHVIZ "This is a Graphviz file; export the graph as an edge list or MatrixMarket."
#define PICTURE "This is a picture; save its pixels, or features of many pictures, as .npy, a row for each point."
#define FCS "This is a file of flow cytometry (FCS); write its events as .csv, in R with " \
	"write.csv(exprs(read.FCS(file)))."
#define UCINET "This is a file of UCINET (DL); save its edges as a list."
#define PICKLE "This is a Python pickle, which is a program and is not run; save the array with numpy.save, a sparse " \
	"matrix with scipy.sparse.save_npz, or upload the object with spaceland.submit(...)."

/* R's text form of its data: A, the format, the versions of R that wrote it and that can read it. */
static bool is_r_text(const unsigned char *bytes, int64_t size)
{
	char head[64];
	int format, wrote, reads;
	snprintf(head, sizeof head, "%.*s", (int)(size < 63 ? size : 63), (const char *)bytes);
	return sscanf(head, "A\n%d\n%d\n%d\n", &format, &wrote, &reads) == 3 && (format == 2 || format == 3) &&
	       wrote >= 0x20000 && reads >= 0x20000;
}

/* True for the first bytes of binary files that a table of text may begin with, too, as titles of columns. */
static bool may_be_title(const char *magic)
{
	static const char *const words[] = {"PAR1", "ARROW1", "FEA1", "ORC", "BZh", "$FL2", "$FL3", "MATLAB 5.0",
					    "MATLAB 7.3", "FCS2.0", "FCS3.", "GIF8", NULL};
	return sl_word_in(words, magic);
}

/* The first line that is not blank and does not begin with the mark of a comment, or an empty one. */
static struct sl__line first_line(const unsigned char *bytes, int64_t size, char mark)
{
	const char *at = (const char *)bytes, *end = at + size;
	struct sl__line line = {at, at};
	while (sl__next_line(&at, end, &line) && (line.at == line.end || *line.at == mark))
		;
	return line.at < line.end && *line.at != mark ? line : (struct sl__line){at, at};
}

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* "-1 3:0.5 7:1.25", perhaps "2 qid:7 1:0.5": a label, then columns and values. */
static bool is_svmlight(const unsigned char *bytes, int64_t size)
{
	struct sl__line line = first_line(bytes, size, '#');
	int words = 0, pairs = 0;
	for (const char *p = line.at; p < line.end && *p != '#'; words++) {
		const char *from = p, *colon = NULL;
		bool number = true;
		for (; p < line.end && *p != ' ' && *p != '\t'; p++) {
			if (*p == ':' && !colon)
				colon = p;
			else if (!strchr("+-.,eE", *p) && !is_digit(*p))
				number = false;
		}
		bool pair = colon && ((number && is_digit(*from)) || !strncmp(from, "qid:", 4));
		if (words ? !pair : colon || !number)
			return false;
		pairs += pair;
		while (p < line.end && (*p == ' ' || *p == '\t'))
			p++;
	}
	return pairs > 0;
}

static bool is_arff(const unsigned char *bytes, int64_t size)
{
	struct sl__line line = first_line(bytes, size, '%');
	return line.end - line.at > 9 && !strncasecmp(line.at, "@relation", 9);
}

/* ">name", and letters alone below it. */
static bool is_fasta(const unsigned char *bytes, int64_t size)
{
	const char *at = (const char *)bytes, *end = at + size;
	struct sl__line line;
	if (!size || *at != '>' || !sl__next_line(&at, end, &line) || !sl__next_line(&at, end, &line) ||
	    line.at == line.end)
		return false;
	for (const char *p = line.at; p < line.end; p++)
		if (!((*p | 32) >= 'a' && (*p | 32) <= 'z') && *p != '-' && *p != '*')
			return false;
	return true;
}

/* MNIST's own files: two zeros, a type, and the number of dimensions. */
static bool is_idx(const unsigned char *bytes, int64_t size)
{
	return size > 8 && !bytes[0] && !bytes[1] && bytes[2] >= 8 && bytes[2] <= 14 && bytes[3] >= 1 && bytes[3] <= 4 &&
	       size >= 4 + 4 * bytes[3];
}

/* The numbers of a line behind its first word; -1: they are none. */
static int numbers_behind(const struct sl__line *line)
{
	const char *p = line->at;
	int count = -1;
	while (p < line->end) {
		char *stop, text[40];
		size_t length = 0;
		while (p < line->end && (*p == ' ' || *p == '\t'))
			p++;
		for (; p < line->end && *p != ' ' && *p != '\t'; p++)
			if (length < sizeof text - 1)
				text[length++] = *p;
		text[length] = 0;
		if (!length)
			break;
		strtod(text, &stop);
		if ((count >= 0) != !*stop)
			return -1;
		count++;
	}
	return count;
}

/* "5", and below it five names, each with five distances, or with those to the names above it. */
static bool is_phylip(const unsigned char *bytes, int64_t size)
{
	const char *at = (const char *)bytes, *end = at + size;
	struct sl__line line, first, second;
	char *stop, text[24];
	if (!sl__next_line(&at, end, &line) || line.end - line.at >= (ptrdiff_t)sizeof text)
		return false;
	snprintf(text, sizeof text, "%.*s", (int)(line.end - line.at), line.at);
	long n = strtol(text, &stop, 10);
	while (*stop == ' ' || *stop == '\t')
		stop++;
	if (n < 3 || *stop || !sl__next_line(&at, end, &first) || !sl__next_line(&at, end, &second))
		return false;
	int a = numbers_behind(&first), b = numbers_behind(&second);
	return (a == n && b == n) || (a == 0 && b == 1);
}

/* A text that begins with { or [. */
static const char *json(const unsigned char *bytes, int64_t size)
{
	const char *text = (const char *)bytes, *end = memchr(text, '\n', (size_t)size);
	bool nodes = memmem(text, (size_t)size, "\"nodes\"", 7);
	while (size && strchr(" \t\r\n", *text))
		text++, size--;
	const char *inside = text + 1;
	while (inside < text + size && strchr(" \t\r\n", *inside))
		inside++;
	if (*text == '{' && (nodes || memmem(text, (size_t)size, "\"links\"", 7)))
		return "This is JSON of nodes and links; in Python, "
		       "spaceland.submit(networkx.node_link_graph(json.load(open(file)))), or write its links as an edge list.";
	if (*text == '{' && end && end + 1 < text + size && end[1] == '{')
		return "This is JSON, a record in each line; in Python, pandas.read_json(file, "
		       "lines=True).to_csv(\"table.csv\", index=False).";
	if (*text == '[' && inside < text + size && *inside == '{')
		return "This is JSON, a list of records; in Python, pandas.read_json(file).to_csv(\"table.csv\", "
		       "index=False).";
	if (*text == '[' && inside < text + size && *inside == '[')
		return "This is JSON, a list of lists; in Python, numpy.save(\"table.npy\", json.load(open(file))).";
	return "This looks like JSON; write points as .csv with one point a line or as .npy, and a graph as an edge list "
	       "(one \"a,b\" or \"a,b,weight\" a line) or MatrixMarket.";
}

static const char *structured(const unsigned char *bytes, int64_t size)
{
	if (is_idx(bytes, size))
		return "This is an IDX file, as MNIST's; in Python, x = numpy.frombuffer(open(file, \"rb\").read(), \"uint8\")"
		       "[16:].reshape(-1, 784), then numpy.save.";
	if (is_svmlight(bytes, size))
		return "This is an svmlight file; in Python, x, label = sklearn.datasets.load_svmlight_file(file), then "
		       "scipy.sparse.save_npz, and the labels by numpy.save.";
	if (is_arff(bytes, size))
		return "This is an ARFF file of Weka; save it as .csv there, or in Python by "
		       "pandas.DataFrame(scipy.io.arff.loadarff(file)[0]).to_csv.";
	if (is_fasta(bytes, size))
		return "This is a FASTA file of sequences; write features of them as a table, or their neighbours.";
	if (is_phylip(bytes, size))
		return "This is a PHYLIP matrix of distances; in Python, x = numpy.loadtxt(file, skiprows=1, "
		       "usecols=range(1, n + 1)), then spaceland.embed(x, metric=\"precomputed\"), which takes the nearest of "
		       "each row.";
	return NULL;
}

static const char *foreign(const unsigned char *bytes, int64_t size)
{
	static const struct {
		const char *magic;
		size_t length;
		const char *advice;
	} kinds[] = {
		{"\x89HDF\r\n", 6, "This is an HDF5 file. Upload AnnData (.h5ad) with Python: "
			"spaceland.submit(\"cells.h5ad\"). From other files save the matrix with scipy.sparse.save_npz "
			"or numpy.save."},
		{"PAR1", 4, "This is a Parquet file. Upload it with Python: spaceland.submit(\"table.parquet\"), or "
			"save it as .csv."},
		{"ARROW1", 6, ARROW},
		{"X\n\0\0\0", 5, R_DATA}, {"RDX2\n", 5, R_DATA}, {"RDX3\n", 5, R_DATA}, {"RDA3\n", 5, R_DATA},
		{"\x80\x02", 2, PICKLE}, {"\x80\x03", 2, PICKLE}, {"\x80\x04", 2, PICKLE}, {"\x80\x05", 2, PICKLE},
		{"cnumpy", 6, PICKLE}, {"ccopy_reg", 9, PICKLE},
		{"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", 8, "This is an old Office file (.xls?); save its sheet as .csv."},
		{"7z\xbc\xaf\x27\x1c", 6, "This is a 7z archive; unpack it first."},
		{"Rar!\x1a\x07", 6, "This is a RAR archive; unpack it first."},
		{"\x04\x22\x4d\x18", 4, "This is an lz4 file; unpack it first (lz4 -d), or compress it with gzip or zstd."},
		{"SQLite format 3", 16, "This is an SQLite data base; export the table as .csv."},
		{"<stata_dta>", 11, "This is a Stata file; export it as .csv (export delimited)."},
		{"$FL2", 4, "This is an SPSS file; save it as .csv."}, {"$FL3", 4, "This is an SPSS file; save it as .csv."},
		{"FEA1", 4, ARROW}, {"ORC", 3, "This is an ORC file; save it as .csv or Parquet."},
		{"Obj\1", 4, "This is an Avro file; save it as .csv or Parquet."},
		{"Creator \"", 9, "This is GML; export the graph as an edge list or MatrixMarket."},
		{"digraph ", 8, GRAPHVIZ}, {"strict digraph ", 15, GRAPHVIZ}, {"strict graph ", 13, GRAPHVIZ},
		{"graph {", 7, GRAPHVIZ}, {"graph G", 7, GRAPHVIZ}, {"dl n", 4, UCINET}, {"DL N", 4, UCINET},
		{"MATLAB 5.0", 10, MATLAB}, {"MATLAB 7.3", 10, MATLAB},
		{"BZh", 3, "This is a bzip2 file; unpack it first (bunzip2), or compress it with gzip or zstd."},
		{"\xfd" "7zXZ", 5, "This is an xz file; unpack it first (unxz), or compress it with gzip or zstd."},
		{"<?xml", 5, "This is an XML file (GraphML, GEXF?); export the graph as an edge list or MatrixMarket."},
		{"<graphml", 8, "This is GraphML; export the graph as an edge list or MatrixMarket."},
		{"<!DOCTYPE", 9, "This is a web page; the download may have been refused."},
		{"<html", 5, "This is a web page; the download may have been refused."},
		{"graph [", 7, "This is GML; export the graph as an edge list or MatrixMarket."},
		{"FCS2.0", 6, FCS}, {"FCS3.", 5, FCS},
		{"SIMPLE  =", 9, "This is a FITS file; write its table as .csv or .npy (astropy.table.Table.read)."},
		{"##fileformat=VCF", 16, "This is a VCF file of variants; write the genotypes as numbers, as plink --recode A "
			"does."},
		{"%PDF", 4, "This is a PDF document."}, {"\x89PNG", 4, PICTURE}, {"\xff\xd8\xff", 3, PICTURE},
		{"GIF8", 4, PICTURE},
		{"\x7f" "ELF", 4, "This is a program."},
	};

	bool binary = memchr(bytes, 0, (size_t)size) != NULL;
	if (is_r_text(bytes, size))
		return R_DATA;
	for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
		if (starts(bytes, size, kinds[k].magic, kinds[k].length) && (binary || !may_be_title(kinds[k].magic)))
			return kinds[k].advice;
	int64_t at = 0;
	while (at < size && (bytes[at] == ' ' || bytes[at] == '\t' || bytes[at] == '\r' || bytes[at] == '\n'))
		at++;
	if (at < size && (bytes[at] == '{' || bytes[at] == '['))
		return json(bytes, size);
	return structured(bytes, size);
}

int sl__content_of(const unsigned char *bytes, int64_t size, const char *name, enum sl__content *out,
		   struct sl_error *err)
{
	const char *advice;

	*out = SL__TEXT;
	if (size == 0)
		return sl_error_at(err, SL_BADDATA, name, 0, "The file is empty.");
	if (starts(bytes, size, "\x93NUMPY", 6))
		*out = SL__ARRAY;
	else if (starts(bytes, size, "PK\003\004", 4) || starts(bytes, size, "PK\005\006", 4))
		*out = SL__ARCHIVE;
	else if (size >= 14 && !strncasecmp((const char *)bytes, "%%MatrixMarket", 14))
		*out = SL__MATRIX;
	else if ((advice = foreign(bytes, size)))
		return sl_error_at(err, SL_BADFORMAT, name, 0, "%s", advice);
	else if (memchr(bytes, 0, (size_t)size))
		return sl_error_at(err, SL_BADFORMAT, name, 0, "This is a binary file of an unknown format. Points "
				   "must be a NumPy array (.npy, .npz) or a text of numbers (.csv, .tsv); a graph must be "
				   "MatrixMarket (.mtx), SciPy sparse (.npz) or an edge list (.tsv, .csv, .txt).");
	else if (sl__name_ends_in(name, ".npz") || sl__name_ends_in(name, ".npy"))
		return sl_error_at(err, SL_BADFORMAT, name, 0, "The name is that of a NumPy file, but the file is a text.");
	return 0;
}

int sl__content_find(struct sl_source *source, enum sl__content *out, struct sl_error *err)
{
	const unsigned char *bytes;
	int64_t size = sl__source_peek_text(source, &bytes, err);
	int rc = size < 0 ? (int)size : sl__content_of(bytes, size, sl__source_name(source), out, err);
	if (!rc && *out == SL__TEXT)
		sl__source_find_bars(source);
	return rc;
}
