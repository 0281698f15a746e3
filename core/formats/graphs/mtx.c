/* mtx.c -- MatrixMarket coordinate files (Boisvert, Pozo, Remington, NISTIR 5935).
 *
 * The reader accepts more than the specification: comments and blank lines anywhere, and entries of the upper triangle
 * in a symmetric file. There, an entry and its mirror image are duplicates of each other. */
#include "core/formats/graphs/readers.h"
#include "core/formats/points/sparse.h"
#include "core/taken/taken.h"

#include <ctype.h>
#include <math.h>
#include <string.h>
#include <strings.h>

struct mtx {
	struct sl_source *source;
	const struct sl_read_options *options;
	struct sl_graph_builder *builder;  /* if the file is a graph; else NULL */
	struct sl__entries *entries;       /* if it is a table of points; else NULL */
	bool pattern, integer, symmetric;
	bool distances;      /* see readers.h */
	bool sized;          /* the size line was read */
	uint64_t lines, comments, blanks;  /* after the banner */
	uint64_t n, columns, listed;  /* from the size line; for a graph columns is n */
	struct sl_error *err;
};

static inline const char *skip_blanks(const char *p)
{
	while (*p == ' ' || *p == '\t')
		p++;
	return p;
}

static inline bool ends_field(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

/* The field at p for messages: shortened, with unprintable bytes as '?'. */
static const char *show(const char *p, const char *end, char out[40])
{
	int length = 0;

	while (p < end && !ends_field(*p) && length < 36) {
		out[length++] = isprint((unsigned char)*p) ? *p : '?';
		p++;
	}
	if (p < end && !ends_field(*p))
		length += (int)strlen(strcpy(out + length, "..."));
	out[length] = 0;
	return out;
}

static int field_error(struct mtx *f, const struct sl__line *line, const char *p, const char *wanted)
{
	char text[40];

	show(p, line->end, text);
	if (!text[0])
		return sl__source_fail(f->source, SL_BADDATA, f->err, "The line ends where %s is expected.", wanted);
	return sl__source_fail(f->source, SL_BADDATA, f->err, "\"%s\" was found where %s is expected.", text, wanted);
}

/* ---- banner and size ------------------------------------------------------ */

static int next_word(const char **at, const char *end, char *out, size_t size)
{
	const char *p = *at;
	size_t length = 0;

	while (p < end && isspace((unsigned char)*p))
		p++;
	while (p < end && !isspace((unsigned char)*p)) {
		if (length + 1 < size)
			out[length++] = (char)tolower((unsigned char)*p);
		p++;
	}
	out[length] = 0;
	*at = p;
	return (int)length;
}

static int check_kind(struct mtx *f, const char *object, const char *layout, const char *field)
{
	if (strcmp(object, "matrix"))
		return sl__source_fail(f->source, SL_BADFORMAT, f->err, "The object is \"%s\"; it must be \"matrix\".", object);
	if (!strcmp(layout, "array"))
		return sl__source_fail(f->source, SL_BADFORMAT, f->err, "\"array\" is a dense matrix; write a graph as "
				       "\"%%%%MatrixMarket matrix coordinate ...\", one entry a line, and points as .npy or "
				       ".csv.");
	if (strcmp(layout, "coordinate"))
		return sl__source_fail(f->source, SL_BADFORMAT, f->err, "The layout is \"%s\"; it must be \"coordinate\".",
				       layout);
	if (!strcmp(field, "complex"))
		return sl__source_fail(f->source, SL_BADFORMAT, f->err, "Weights must not be complex; write their "
				       "absolute values as \"real\", or the entries alone as \"pattern\".");
	if (!strcmp(field, "pattern"))
		f->pattern = true;
	else if (!strcmp(field, "integer") || !strcmp(field, "unsigned-integer"))
		f->integer = true;
	else if (strcmp(field, "real") && strcmp(field, "double"))
		return sl__source_fail(f->source, SL_BADFORMAT, f->err, "The field is \"%s\"; it must be real, integer "
				       "or pattern.", field);
	return 0;
}

static int read_banner(struct mtx *f)
{
	char banner[32], object[32], layout[32], field[32], symmetry[32], extra[32];
	struct sl__line line;
	int rc = sl__source_line(f->source, &line, f->err);

	if (rc < 0)
		return rc;
	if (rc == 0)
		return sl_error_at(f->err, SL_BADDATA, sl__source_name(f->source), 0, "The file is empty.");
	const char *p = line.at;
	next_word(&p, line.end, banner, sizeof banner);
	if (strcmp(banner, "%%matrixmarket"))
		return sl__source_fail(f->source, SL_BADFORMAT, f->err, "The first line must be like "
				       "\"%%%%MatrixMarket matrix coordinate real general\".");
	if (!next_word(&p, line.end, object, sizeof object) || !next_word(&p, line.end, layout, sizeof layout) ||
	    !next_word(&p, line.end, field, sizeof field) || !next_word(&p, line.end, symmetry, sizeof symmetry))
		return sl__source_fail(f->source, SL_BADFORMAT, f->err, "The first line is incomplete; it needs five words, "
				       "such as \"%%%%MatrixMarket matrix coordinate real general\".");
	if (next_word(&p, line.end, extra, sizeof extra))
		return sl__source_fail(f->source, SL_BADFORMAT, f->err, "The first line has more than five words: \"%s\" "
				       "is left over.", extra);
	rc = check_kind(f, object, layout, field);
	if (rc)
		return rc;
	if (!strcmp(symmetry, "symmetric"))
		f->symmetric = true;
	else if (!strcmp(symmetry, "skew-symmetric"))
		return sl__source_fail(f->source, SL_BADFORMAT, f->err, "A skew-symmetric matrix has negative weights, "
				       "which a graph must not have; write absolute values and \"symmetric\".");
	else if (!strcmp(symmetry, "hermitian"))
		return sl__source_fail(f->source, SL_BADFORMAT, f->err, "A hermitian matrix has complex weights, which "
				       "a graph must not have; write absolute values and \"real symmetric\".");
	else if (strcmp(symmetry, "general"))
		return sl__source_fail(f->source, SL_BADFORMAT, f->err, "The symmetry is \"%s\"; it must be general or "
				       "symmetric.", symmetry);
	return 0;
}

bool sl__is_cell_ranger(const char *line)
{
	return !strncmp(line, "%metadata_json", 14) && strstr(line, "Cell Ranger");
}

static void look_for_cell_ranger(struct mtx *f, const struct sl__line *line)
{
	char text[200];

	snprintf(text, sizeof text, "%.*s", (int)(line->end - line->at), line->at);
	f->entries->cell_ranger |= sl__is_cell_ranger(text);
}

/* 1: a line with content, whose first character *p is; 0: end of file */
static int next_content(struct mtx *f, struct sl__line *line, const char **p)
{
	for (;;) {
		int rc = sl__source_line(f->source, line, f->err);
		if (rc <= 0)
			return rc;
		f->lines++;
		*p = skip_blanks(line->at);
		if (*p < line->end && **p != '%')
			return 1;
		f->comments += *p < line->end;
		f->blanks += *p == line->end;
		if (f->entries && !f->sized)
			look_for_cell_ranger(f, line);
	}
}

static int read_size(struct mtx *f)
{
	static const char *const wanted[] = {"the number of rows", "the number of columns", "the number of entries"};
	uint64_t value[3], limit = f->options->max_nodes;
	struct sl__line line;
	const char *p;
	int rc = next_content(f, &line, &p);

	if (rc < 0)
		return rc;
	if (rc == 0)
		return sl__source_fail(f->source, SL_BADDATA, f->err, "The file ends before the size line "
				       "\"rows columns entries\".");
	for (int k = 0; k < 3; k++) {
		const char *from = p;
		if (!sl__parse_u64(&p, &value[k]) || !ends_field(*p))
			return field_error(f, &line, from, wanted[k]);
		p = skip_blanks(p);
	}
	if (p < line.end)
		return field_error(f, &line, p, "the end of the size line (\"rows columns entries\")");
	f->sized = true;
	f->n = value[0];
	f->columns = value[1];
	f->listed = value[2];
	if (f->entries && f->symmetric && f->n != f->columns)
		return sl__source_fail(f->source, SL_BADDATA, f->err, "A symmetric matrix must have as many columns as rows.");
	if (f->entries)
		return sl__entries_shape(f->entries, f->n, f->columns, f->listed, sl__source_name(f->source));
	if (value[0] != value[1])
		return sl__source_fail(f->source, SL_BADGRAPH, f->err, "The matrix has %llu rows and %llu columns; the matrix "
				       "of a graph must be square. For a table of points, say kind=points.",
				       (unsigned long long)value[0], (unsigned long long)value[1]);
	if (value[0] == 0)
		return sl__source_fail(f->source, SL_BADGRAPH, f->err,
				"The matrix has no rows; a graph must have at least one node.");
	if (!limit || limit > SL__MAX_NODES)
		limit = SL__MAX_NODES;
	if (f->n > limit)
		return sl__source_fail(f->source, SL_TOOBIG, f->err, "The matrix has %llu nodes; the limit (max_nodes) is "
				       "%llu.", (unsigned long long)f->n, (unsigned long long)limit);
	limit = f->options->max_entries;
	if (f->symmetric)
		limit /= 2;
	if (f->options->max_entries && f->listed > limit)
		return sl__source_fail(f->source, SL_TOOBIG, f->err, "The matrix has %llu %sentries; the limit "
				       "(max_entries) is %llu%s.",
				       (unsigned long long)f->listed, f->symmetric ? "symmetric " : "",
				       (unsigned long long)f->options->max_entries,
				       f->symmetric ? ", both directions counted" : "");
	return sl__check_isolated(f->options, f->n, f->listed, sl__source_name(f->source), f->err);
}

/* ---- entries -------------------------------------------------------------- */

static int index_error(struct mtx *f, const struct sl__line *line, const char *from, const char *what, uint64_t value,
		       bool parsed)
{
	unsigned long long most = *what == 'r' ? f->n : f->columns;
	char wanted[64];

	snprintf(wanted, sizeof wanted, "a %s number from 1 to %llu", what, most);
	if (!parsed)
		return field_error(f, line, from, wanted);
	if (value == 0)
		return sl__source_fail(f->source, SL_BADDATA, f->err, "The %s number is 0; it must be from 1 to %llu, since "
				       "MatrixMarket counts from 1.", what, most);
	return sl__source_fail(f->source, SL_BADDATA, f->err, "The %s number is %llu; by the size line it must be from 1 "
			       "to %llu.", what, (unsigned long long)value, most);
}

static int weight_error(struct mtx *f, const struct sl__line *line, const char *from, uint64_t i, uint64_t j, float w)
{
	char text[40];

	return sl__source_fail(f->source, SL_BADGRAPH, f->err, "Entry (row %llu, column %llu) has the weight %s, which is "
			       "%s; weights must be finite and not negative.", (unsigned long long)i, (unsigned long long)j,
			       show(from, line->end, text), sl__weight_fault(w, from));
}

static int add_entry(struct mtx *f, uint64_t row, uint64_t column, double value)
{
	int rc = sl__entries_add(f->entries, row, column, value);
	return rc || !f->symmetric || row == column ? rc : sl__entries_add(f->entries, column, row, value);
}

static int read_entry(struct mtx *f, const struct sl__line *line, const char *p)
{
	uint64_t i = 0, j = 0;
	float w = 1;
	double wide = 1;
	const char *from = p;
	bool ok = sl__parse_u64(&p, &i);

	if (!ok || !ends_field(*p) || i - 1 >= f->n)
		return index_error(f, line, from, "row", i, ok && ends_field(*p));
	from = p = skip_blanks(p);
	ok = sl__parse_u64(&p, &j);
	if (!ok || !ends_field(*p) || j - 1 >= f->columns)
		return index_error(f, line, from, "column", j, ok && ends_field(*p));
	p = skip_blanks(p);
	if (!f->pattern) {
		from = p;
		bool number = f->entries ? sl__parse_double(&p, &wide) : sl__parse_float(&p, &w);
		if (!number || !ends_field(*p))
			return field_error(f, line, from, "a weight");
		if (f->entries)
			w = (float)wide;
		if (f->entries && !(fabsf(w) <= SL__MAX_WEIGHT))
			return sl__source_fail(f->source, SL_BADDATA, f->err, "Row %llu, column %llu is not a finite "
					       "single-precision number.", (unsigned long long)i, (unsigned long long)j);
		if (!f->entries && !(w >= 0 && w <= SL__MAX_WEIGHT))
			return weight_error(f, line, from, i, j, w);
		if (f->integer && w != rintf(w))
			return field_error(f, line, from, "a whole number (the first line says \"integer\")");
		p = skip_blanks(p);
	}
	if (p < line->end)
		return field_error(f, line, p, f->pattern ? "the end of the line (a pattern has row and column only)" :
				   "the end of the line (row, column, weight)");
	int rc = f->entries ? add_entry(f, i - 1, j - 1, wide)
	       : f->distances ? sl__add_distance(f->builder, (uint32_t)(i - 1), (uint32_t)(j - 1), w)
			      : sl_graph_builder_add(f->builder, (uint32_t)(i - 1), (uint32_t)(j - 1), w);
	return rc ? sl__source_fail(f->source, rc, f->err, SL_NO_MEMORY "entry %llu of %llu.",
				    (unsigned long long)(f->entries ? f->entries->count : f->builder->listed),
				    (unsigned long long)f->listed) : 0;
}

static int read_entries(struct mtx *f)
{
	uint64_t count = 0;
	struct sl__line line;
	const char *p;
	int rc;

	while ((rc = next_content(f, &line, &p)) > 0) {
		if (count == f->listed)
			return sl__source_fail(f->source, SL_BADDATA, f->err, "The size line promises %llu entries; "
					       "this is one more.", (unsigned long long)f->listed);
		rc = read_entry(f, &line, p);
		if (rc)
			return rc;
		count++;
	}
	if (rc < 0)
		return rc;
	if (count < f->listed)
		return sl__source_fail(f->source, SL_BADDATA, f->err, "The size line promises %llu entries, but the file ends "
				       "after %llu.", (unsigned long long)f->listed, (unsigned long long)count);
	return 0;
}

/* Says what was taken of the matrix: entry (i, j) is an edge from node i to node j of a graph, or the distance from
 * point i to point j. */
static int tell(const struct mtx *f, struct sl_graph *g)
{
	struct sl_taken *t = g->taken = sl_taken_create();

	if (!t)
		return sl_error_memory(f->err, "reading %s", sl__source_name(f->source));
	t->lines = f->lines + 1;
	t->header_lines = 2;
	t->comment_lines = f->comments;
	t->blank_lines = f->blanks;
	t->rows = f->listed;
	t->rows_left_out = g->report.self_loops + g->report.zero_weights;
	t->rows_used = t->rows - t->rows_left_out;
	sl_taken_add_columns(t, 1, 1, SL_TAKEN_SOURCE, "row", NULL);
	if (f->distances) {
		sl_taken_add_columns(t, 2, 1, SL_TAKEN_NEIGHBOUR, "column", NULL);
		sl_taken_add_columns(t, 3, 1, SL_TAKEN_DISTANCE, "value", NULL);
		return 0;
	}
	sl_taken_add_columns(t, 2, 1, SL_TAKEN_TARGET, "column", NULL);
	if (!f->pattern)
		sl_taken_add_columns(t, 3, 1, SL_TAKEN_WEIGHT, "value", NULL);
	t->directed = !f->symmetric && !g->symmetric;
	snprintf(t->sign, sizeof t->sign, "a matrix with as many rows as columns");
	return 0;
}

int sl__read_mtx(struct sl_graph **out, const struct sl_read_options *options, bool distances, struct sl_source *source,
		 struct sl_error *err)
{
	struct mtx f = {.source = source, .options = options, .distances = distances, .err = err};
	int rc = read_banner(&f);

	if (!rc && distances && f.pattern)
		rc = sl__source_fail(source, SL_BADDATA, err, "The matrix is a \"pattern\" and has no values; a matrix "
				     "of distances must be \"real\" or \"integer\".");

	if (!rc)
		rc = read_size(&f);
	if (!rc)
		rc = sl__graph_builder_create(&f.builder, f.symmetric ? SL_SYMMETRIC : SL_GENERAL, !f.pattern,
					     f.listed, sl__source_account(source), err);
	if (!rc)
		rc = read_entries(&f);
	if (rc) {
		sl_graph_builder_destroy(f.builder);
		return rc;
	}
	rc = sl__finish_graph(f.builder, (uint32_t)f.n, source, out, err);
	if (!rc && (rc = tell(&f, *out))) {
		sl_graph_destroy(*out);
		*out = NULL;
	}
	return rc;
}

int sl__read_mtx_entries(struct sl__entries *t)
{
	struct mtx f = {.source = t->source, .options = &t->options->read, .entries = t, .err = t->err};
	int rc = read_banner(&f);

	if (!rc)
		rc = read_size(&f);
	if (!rc)
		rc = read_entries(&f);
	t->comments = f.comments;
	return rc;
}
