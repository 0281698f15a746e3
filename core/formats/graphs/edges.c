/* edges.c -- edge lists: one edge a line, numbers or names.
 *
 * As long as all nodes are whole numbers below 2^32, the builder gets these numbers, which costs nothing per line; at
 * the end a bitmap maps them to nodes. At the first name (or larger number) the reader changes to a hash table of names
 * for the rest of the file. */
#include "core/formats/graphs/adjacency.h"
#include "core/formats/graphs/edge_columns.h"
#include "core/formats/graphs/network.h"
#include "core/formats/graphs/readers.h"
#include "core/formats/text/numbering.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct edges {
	struct sl_source *source;
	const struct sl_read_options *options;
	struct sl_graph_builder *builder;
	struct sl__edge_columns columns;
	struct sl__fields fields;   /* of the current line */
	bool weighted;              /* a column holds weights */
	bool plain;                 /* the columns are source, target and perhaps weight, without names by kind */
	bool named;                 /* the builder holds indices into names, not numbers of the file */
	bool all_numbers;           /* every node so far is a whole number */
	struct sl__names names;
	char *side_name;            /* a name behind its side, of a bipartite graph */
	size_t side_bytes;
	bool on_both_sides;         /* some name of a bipartite graph is */
	struct sl_taken *taken;
	uint64_t late_comments;     /* below the first edge */
	uint64_t told_directed, told_undirected;  /* edges, by a column */
	struct sl_error *err;
};

/* ---- nodes ----------------------------------------------------------------- */

static int memory_error(struct edges *f, int rc)
{
	return sl__source_fail(f->source, rc, f->err, rc == SL_TOOBIG ? "The file has more than %u nodes, the most "
			       "that a graph can have." :
			       SL_NO_MEMORY "more than %u nodes and the entries read so far.",
			       rc == SL_TOOBIG ? SL__MAX_NODES : f->names.n);
}

static int name_number(struct edges *f, uint32_t number, uint32_t *out)
{
	char text[16];
	int length = snprintf(text, sizeof text, "%u", number);
	int rc = sl__names_add(&f->names, text, (size_t)length, out);

	return rc ? memory_error(f, rc) : 0;
}

/* Changes from numbers to names: renumbers the nodes in the builder in order of appearance. */
static int start_names(struct edges *f)
{
	struct sl_graph_builder *b = f->builder;

	f->named = true;
	for (uint64_t k = 0; k < b->count; k++) {
		int rc = name_number(f, b->row[k], &b->row[k]);
		if (!rc)
			rc = name_number(f, b->column[k], &b->column[k]);
		if (rc)
			return rc;
	}
	b->n = f->names.n;
	return 0;
}

static int check_name(struct edges *f, const struct sl__field *field, const char *which)
{
	if (field->length == 0)
		return sl__source_fail(f->source, SL_BADDATA, f->err, "The %s node is missing; a line must have two "
				       "nodes and, if all lines do, a weight.", which);
	if (!sl__valid_utf8(field->text, field->length))
		return sl__source_fail(f->source, SL_BADDATA, f->err, "The %s node's name is not valid UTF-8; convert the file "
				       "(iconv -t UTF-8).", which);
	return 0;
}

static int add_name(struct edges *f, const char *text, size_t length, uint32_t *out)
{
	int rc = sl__names_add(&f->names, text, length, out);

	if (rc)
		return memory_error(f, rc);
	if (f->options->max_nodes && f->names.n > f->options->max_nodes)
		return sl__source_fail(f->source, SL_TOOBIG, f->err, "The file has more than %llu nodes, the limit "
				       "(max_nodes).", (unsigned long long)f->options->max_nodes);
	return 0;
}

/* Adds the name of a node of one side of a bipartite graph, behind a letter that stands for the side. */
static int add_side(struct edges *f, const struct sl__field *field, char side, const char *which, uint32_t *out)
{
	int rc = check_name(f, field, which);

	if (!rc && f->side_bytes < field->length + 1) {
		char *grown = realloc(f->side_name, 2 * field->length + 64);
		if (!grown)
			return memory_error(f, SL_NOMEM);
		f->side_name = grown;
		f->side_bytes = 2 * field->length + 64;
	}
	if (rc)
		return rc;
	f->side_name[0] = side;
	memcpy(f->side_name + 1, field->text, field->length);
	return add_name(f, f->side_name, field->length + 1, out);
}

/* A name that is on both sides is two nodes. */
static int bipartite_indices(struct edges *f, const struct sl__field *first, const struct sl__field *second,
			     uint32_t *a, uint32_t *b)
{
	f->named = true;
	f->all_numbers = false;
	int rc = add_side(f, first, 'u', "first", a);
	return rc ? rc : add_side(f, second, 'v', "second", b);
}

/* The builder's indices of two nodes. */
static int node_indices(struct edges *f, const struct sl__field *first, const struct sl__field *second,
			uint32_t *a, uint32_t *b)
{
	uint64_t x, y;
	bool numbers = sl__whole_number(first->text, first->length, &x) && sl__whole_number(second->text, second->length,
			&y);
	int rc = 0;

	if (f->columns.bipartite)
		return bipartite_indices(f, first, second, a, b);
	if (numbers && !f->named && x < SL__MAX_NODES && y < SL__MAX_NODES) {
		*a = (uint32_t)x;
		*b = (uint32_t)y;
		return 0;
	}
	if (!numbers) {
		f->all_numbers = false;
		rc = check_name(f, first, "first");
		if (!rc)
			rc = check_name(f, second, "second");
	}
	if (!rc && !f->named)
		rc = start_names(f);
	if (!rc)
		rc = add_name(f, first->text, first->length, a);
	return rc ? rc : add_name(f, second->text, second->length, b);
}

/* ---- edges ----------------------------------------------------------------- */

static int add(struct edges *f, uint32_t a, uint32_t b, float w)
{
	int rc = sl_graph_builder_add(f->builder, a, b, w);

	if (rc)
		return memory_error(f, rc);
	f->taken->rows++;
	if (f->options->max_entries && f->builder->count > f->options->max_entries)
		return sl__source_fail(f->source, SL_TOOBIG, f->err, "The file has more than %llu entries (%s), the "
				       "limit (max_entries).",
				       (unsigned long long)f->options->max_entries,
				       f->options->directed ? "edges" : "an edge is two, one for each direction");
	return 0;
}

/* Accepts "2,5", unless commas separate the fields. */
static bool weight_of(const struct edges *f, const struct sl__field *field, float *out)
{
	char text[64];

	if (sl__field_float(field, out))
		return true;
	const char *comma = memchr(field->text, ',', field->length);
	if (!comma || f->columns.separator == ',' || field->length >= sizeof text - 1)
		return false;
	memcpy(text, field->text, field->length);
	text[field->length] = '\n';
	text[comma - field->text] = '.';
	struct sl__field point = {text, field->length};
	if (!sl__field_float(&point, out))
		return false;
	sl_taken_add_note(f->taken, false, "Decimal commas were read as points");
	return true;
}

static int negative_weight(struct edges *f, const char *text)
{
	int column = f->columns.weight + 1;
	const char *title = f->columns.titled ? f->columns.title[column - 1] : "";

	return sl__source_fail(f->source, SL_BADGRAPH, f->err, "The weight %s is negative (column %d%s%s%s). In a graph a "
			       "weight says how close two nodes are, so it must not be negative. For a signed network leave "
			       "out the edges with negative signs, or read it without weights (weight= with no column).",
			       text, column, *title ? ", \"" : "", title, *title ? "\"" : "");
}

static int parse_weight(struct edges *f, const struct sl__field *field, float *out)
{
	char text[64];

	if (field->length == 0)
		return sl__source_fail(f->source, SL_BADDATA, f->err, "The weight is missing, but the first edge has "
				       "one; either all edges must have weights or none.");
	if (!weight_of(f, field, out))
		return sl__source_fail(f->source, SL_BADDATA, f->err, "The weight must be a number, not \"%s\"; "
				       "weight= with no column leaves weights out.",
				       sl__field_show(field, text, sizeof text));
	if (*out < 0)
		return negative_weight(f, sl__field_show(field, text, sizeof text));
	if (!(*out >= 0 && *out <= SL__MAX_WEIGHT))
		return sl__source_fail(f->source, SL_BADGRAPH, f->err, "The weight %s is %s; weights must be finite and not "
				       "negative.", sl__field_show(field, text, sizeof text), sl__weight_fault(*out, field->text));
	return 0;
}

static int dictionary_error(struct edges *f)
{
	return sl__source_fail(f->source, SL_BADDATA, f->err, "The line has a dictionary of networkx. Write the edges with "
			       "networkx.write_edgelist(graph, file, data=[\"weight\"]), or without weights with data=False.");
}

/* A line with another number of fields than the first edge. */
static int count_error(struct edges *f)
{
	const struct sl__fields *in = &f->fields;
	uint32_t count = f->columns.count;
	const char *separator = sl__source_separator(f->source, in->separator);

	for (int k = 2; k < in->count; k++)
		if (in->field[k].length && *in->field[k].text == '{')
			return dictionary_error(f);
	if (in->count < 2)
		return sl__source_fail(f->source, SL_BADDATA, f->err, "The line has only one field, separated by %s as in the "
				       "first edge; it must have two nodes and, if all lines do, a weight.", separator);
	if (count > 3)
		return sl__source_fail(f->source, SL_BADDATA, f->err, "The line has %d fields, separated by %s; the first edge "
				       "has %u.", in->count, separator, count);
	if ((uint32_t)in->count < count)
		return sl__source_fail(f->source, SL_BADDATA, f->err, "The weight is missing, but the first edge has "
				       "one; either all edges must have weights or none.");
	return sl__source_fail(f->source, SL_BADDATA, f->err,
			"The line has more than %s fields, separated by %s; it must have two nodes and, if all "
			       "lines do, a weight.", count == 3 ? "three" : "two", separator);
}

static bool is_word(const struct sl__field *field, const char *word)
{
	return strlen(word) == field->length && !strncasecmp(field->text, word, field->length);
}

/* Gephi's column Type. */
static void count_direction(struct edges *f, const struct sl__field *field)
{
	f->told_directed += is_word(field, "directed");
	f->told_undirected += is_word(field, "undirected");
}

/* Adds the current fields as an edge. */
static int add_fields(struct edges *f)
{
	const struct sl__fields *in = &f->fields;
	uint32_t a, b;
	float w = 1;
	int rc;

	if ((uint32_t)in->count != f->columns.count || in->count < 2)
		return count_error(f);
	if (in->count == SL__FIELDS_MAX)
		return sl__source_fail(f->source, SL_BADDATA, f->err, "The line has %d fields or more; an edge list must have "
				       "fewer.", SL__FIELDS_MAX);
	if (f->columns.count > 2 && f->columns.weight != 2 && in->field[2].length > 2 && *in->field[2].text == '{')
		return dictionary_error(f);
	if (f->weighted) {
		rc = parse_weight(f, &in->field[f->columns.weight], &w);
		if (rc)
			return rc;
	}
	if (f->columns.type >= 0)
		count_direction(f, &in->field[f->columns.type]);
	rc = node_indices(f, &in->field[f->columns.source], &in->field[f->columns.target], &a, &b);
	return rc ? rc : add(f, a, b, w);
}

/* The position after a separator and following blanks; NULL: there is no separator. */
static inline const char *skip_separator(const char *p, char separator)
{
	if (*p != separator)
		return NULL;
	for (p++; *p == ' '; p++)
		;
	return p;
}

/* The fast path: adds an edge of numbers without quotes. 1: done; 0: the line is of another form. */
static int add_numbers(struct edges *f, const struct sl__line *line)
{
	char separator = f->fields.separator;
	const char *p = line->at;
	uint64_t a, b;
	float w = 1;

	if (f->named || !f->plain)
		return 0;
	while (*p == ' ')
		p++;
	const char *first = p;
	if (!sl__parse_u64(&p, &a) || (*first == '0' && p - first > 1) || a >= SL__MAX_NODES)
		return 0;
	const char *second = p = skip_separator(p, separator);
	if (!p || !sl__parse_u64(&p, &b) || (*second == '0' && p - second > 1) || b >= SL__MAX_NODES)
		return 0;
	if (f->weighted) {
		p = skip_separator(p, separator);
		if (!p)
			return 0;
		if (!sl__parse_float(&p, &w) || !(w >= 0 && w <= SL__MAX_WEIGHT))
			return 0;
	}
	if (p != line->end)
		return 0;
	int rc = add(f, (uint32_t)a, (uint32_t)b, w);
	return rc ? rc : 1;
}

/* ---- lines ------------------------------------------------------------------- */

/* Splits the line into the current fields. */
static int split(struct edges *f, const struct sl__line *line)
{
	int rc = sl__fields_split(&f->fields, line->at, line->end);

	if (rc == SL_NOMEM)
		return memory_error(f, rc);
	if (rc)
		return sl__source_fail(f->source, SL_BADDATA, f->err, "A quoted field is not closed, or something other than a "
				       "separator follows its closing quote; inside quotes a quote is doubled (\"\").");
	return 0;
}

enum line_kind { LINE_BLANK, LINE_MARKED, LINE_OTHER };

static enum line_kind kind_of(const struct sl__line *line)
{
	const char *p = line->at;

	while (p < line->end && (*p == ' ' || *p == '\t'))
		p++;
	return p == line->end ? LINE_BLANK : *p == '#' || *p == '%' ? LINE_MARKED : LINE_OTHER;
}

/* A line that begins with # or %, below the first edge: a row if it has as many fields. */
static int add_marked(struct edges *f, const struct sl__line *line)
{
	if (!sl__fields_split(&f->fields, line->at, line->end) && sl__edge_row(&f->columns, &f->fields))
		return add_fields(f);
	f->taken->comment_lines++;
	f->late_comments++;
	return 0;
}

static int read_rest(struct edges *f)
{
	struct sl__line line;
	int rc;

	while ((rc = sl__source_line(f->source, &line, f->err)) > 0) {
		f->taken->lines++;
		rc = add_numbers(f, &line);
		if (rc < 0)
			return rc;
		if (rc == 1)
			continue;
		rc = sl__source_join(f->source, &line, f->err);
		if (rc < 0)
			return rc;
		rc = 0;
		enum line_kind kind = kind_of(&line);
		f->taken->blank_lines += kind == LINE_BLANK;
		if (kind == LINE_MARKED)
			rc = add_marked(f, &line);
		else if (kind == LINE_OTHER && !(rc = split(f, &line)))
			rc = add_fields(f);
		if (rc)
			return rc;
	}
	return rc;
}

/* Reads the lines above the first edge, which the look has classed: `count` of them. */
static int read_above(struct edges *f, int64_t count)
{
	struct sl__line line;
	int rc = 1;

	for (int64_t k = 1; k <= count && rc > 0; k++) {
		rc = sl__source_line(f->source, &line, f->err);
		if (rc > 0)
			rc = sl__source_join(f->source, &line, f->err);
		if (rc <= 0)
			return rc;
		f->taken->lines++;
		if (k == f->columns.header || k == f->columns.marker)
			f->taken->header_lines++;
		else if (kind_of(&line) == LINE_BLANK)
			f->taken->blank_lines++;
		else
			f->taken->comment_lines++;
	}
	return rc < 0 ? rc : 0;
}

static int no_edge(struct edges *f)
{
	if (f->columns.header)
		return sl__source_fail(f->source, SL_BADGRAPH, f->err, "The file has a header but no edge after it.");
	if (f->columns.marker)
		return sl__source_fail(f->source, SL_BADGRAPH, f->err, "The file ends after its first line, which names the "
				       "separator; the rows are missing.");
	return sl_error_at(f->err, SL_BADGRAPH, sl__source_name(f->source), 0,
			"The file %s; a line must have two nodes and, if all lines do, a weight.",
			   f->taken->comment_lines ? "has comments but no edge" : "is blank and has no edge");
}

/* The error of reading a line that does not fit the buffer. */
static int too_long(struct edges *f)
{
	struct sl__line line;
	int rc = sl__source_line(f->source, &line, f->err);

	return rc < 0 ? rc : no_edge(f);
}

/* Determines separator, header and columns; reads the lines above the first edge. */
static int read_start(struct edges *f)
{
	struct sl__edge_columns *c = &f->columns;
	int rc;

	for (;;) {
		const unsigned char *bytes;
		int64_t size = sl__source_peek(f->source, &bytes, f->err);
		if (size < 0)
			return (int)size;
		bool whole = size < SL__LINE_BUFFER;
		sl__edge_columns_finish(c);
		rc = sl__edge_columns_find(c, bytes, (size_t)size, whole, f->options, sl__source_name(f->source),
					   sl__source_account(f->source), f->err);
		if (rc)
			return rc;
		if (c->count) {
			rc = read_above(f, c->first ? c->first - 1 : c->header);
			if (!rc && c->bad_title)
				return sl_error_at(f->err, SL_BADDATA, sl__source_name(f->source), c->header, "The title of column %d "
						   "is not valid UTF-8; convert the file (iconv -t UTF-8).", c->bad_title);
			return rc || c->first || !whole ? rc : no_edge(f);
		}
		/* comments alone: their lines are passed, except one that may be cut */
		rc = read_above(f, c->lines);
		if (!rc && !c->lines && !whole)
			rc = too_long(f);
		if (!rc && whole)
			rc = no_edge(f);
		if (rc)
			return rc;
	}
}

static int start_edges(struct edges *f)
{
	const struct sl__edge_columns *c = &f->columns;

	f->fields.separator = c->separator;
	f->weighted = c->weight >= 0;
	f->plain = c->source == 0 && c->target == 1 && !c->bipartite &&
		   (f->weighted ? c->weight == 2 && c->count == 3 : c->count == 2);
	return sl__graph_builder_create(&f->builder, f->options->directed ? SL_GENERAL : SL_SYMMETRIC, f->weighted, 0,
				   sl__source_account(f->source),
			f->err);
}

/* ---- the end: numbers of nodes ------------------------------------------------ */

static int check_nodes(struct edges *f, uint32_t n)
{
	if (f->options->max_nodes && n > f->options->max_nodes)
		return sl_error_at(f->err, SL_TOOBIG, sl__source_name(f->source), 0, "The file has %u nodes; the limit "
				   "(max_nodes) is %llu.", n, (unsigned long long)f->options->max_nodes);
	return 0;
}

/* Gives the nodes their final numbers. If the bitmap of numbers would be much larger than the edges, names replace the
 * numbers. */
static int settle(struct edges *f)
{
	int rc = 0;

	if (!f->named && f->builder->n / 32 <= f->builder->count + (1u << 20)) {
		rc = sl__numbering_close_gaps(f->builder, &f->names);
		if (rc)
			return memory_error(f, rc);
		return check_nodes(f, f->builder->n);
	}
	if (!f->named)
		rc = start_names(f);
	if (!rc)
		rc = check_nodes(f, f->names.n);
	if (!rc && f->all_numbers && (rc = sl__numbering_sort(f->builder, &f->names)))
		rc = memory_error(f, rc);
	return rc;
}

/* ---- telling ------------------------------------------------------------------- */

/* True if the nodes of the first edge are in no other: the line may be a header. */
static bool first_stands_alone(const struct edges *f)
{
	const struct sl_graph_builder *b = f->builder;
	uint64_t own = f->options->directed ? 1 : 2;

	if (!f->named || f->all_numbers || f->columns.header || f->columns.titled || f->names.n < 4 || f->taken->rows < 3)
		return false;
	for (uint64_t k = 0; k < b->count; k++)
		if (k < own ? b->row[k] + b->column[k] != 1 : b->row[k] < 2 || b->column[k] < 2)
			return false;
	return true;
}

/* True if a guessed title is also the name of a node. */
static bool header_is_a_node(const struct edges *f)
{
	const struct sl__edge_columns *c = &f->columns;
	const char *a = c->title[c->source], *b = c->title[c->target];

	return c->header && !c->chosen && (sl__names_find(&f->names, a, strlen(a)) != SL__NO_NAME ||
					   sl__names_find(&f->names, b, strlen(b)) != SL__NO_NAME);
}

static void tell_direction(const struct edges *f)
{
	bool by_column = f->told_directed + f->told_undirected;
	bool directed = by_column ? f->told_directed > 0 : f->columns.direction == SL__DIRECTED;
	struct sl_taken *t = f->taken;

	if (!by_column && f->columns.direction == SL__DIRECTION_UNKNOWN)
		return;
	if (f->told_directed && f->told_undirected)
		sl_taken_add_note(t, true,
			"By column %d there are %llu directed and %llu undirected edges; all were read as %s",
				  f->columns.type + 1, (unsigned long long)f->told_directed,
				  (unsigned long long)f->told_undirected, f->options->directed ? "directed" : "undirected");
	else if (directed != f->options->directed)
		sl_taken_add_note(t, true, "The file says that its edges are %s; they were read as %s. directed=%s changes "
				  "that",
				  directed ? "directed" : "undirected", directed ? "undirected" : "directed",
				  directed ? "true" : "false");
	else
		sl_taken_add_note(t, false, "The edges are %s, as the file says", directed ? "directed" : "undirected");
}

/* Numbers in two columns whose titles name no ends of edges, or beside ratings, may number things of two kinds. */
static bool may_have_sides(const struct edges *f)
{
	const struct sl__edge_columns *c = &f->columns;
	bool titles = c->titled && !c->pair && *c->title[c->source] && *c->title[c->target];
	return f->options->bipartite == SL_SIDES_AUTO && f->all_numbers && (titles || (c->ratings && !c->konect));
}

static void tell_sides(const struct edges *f)
{
	const struct sl__edge_columns *c = &f->columns;
	bool asked = f->options->bipartite == SL_SIDES_TWO;

	if (c->bipartite && f->on_both_sides)
		sl_taken_add_note(f->taken, !asked && !c->konect, "The graph is bipartite: nodes of column %d are named %s1, "
				  "..., those of column %d %s1, ...%s", c->source + 1, c->side[0], c->target + 1, c->side[1],
				  asked ? "" : "; bipartite=false makes equal names one node");
	else if (c->bipartite)
		sl_taken_add_note(f->taken, false, "The graph is bipartite: no name is in both columns of nodes");
	else if (may_have_sides(f))
		sl_taken_add_note(f->taken, true, "Equal numbers in columns %d and %d are one node; if the columns number two "
				  "kinds of things, bipartite=true keeps them apart", c->source + 1, c->target + 1);
}

static void tell(const struct edges *f)
{
	const struct sl__edge_columns *c = &f->columns;
	struct sl_taken *t = f->taken;

	t->directed = f->options->directed;
	t->rows_used = t->rows;
	sl__edge_columns_tell(c, f->options, t);
	if (c->pair)
		snprintf(t->sign, sizeof t->sign, "titles \"%s\" and \"%s\"", c->title[c->source], c->title[c->target]);
	else if (c->konect)
		snprintf(t->sign, sizeof t->sign, "KONECT's first line");
	if (c->comment_header)
		sl_taken_add_note(t, false, "The titles are from the comment in line %lld", (long long)c->comment_header);
	if (c->marker)
		sl_taken_add_note(t, false, "The line \"sep=...\" of Excel gives the separator, %s",
				  sl__separator_name(c->separator));
	if (f->late_comments)
		sl_taken_add_note(t, false, "%llu %s below the first edge with # or %% and another number of fields: comments",
				  (unsigned long long)f->late_comments, f->late_comments == 1 ? "line begins" : "lines begin");
	if (c->comment_rows)
		sl_taken_add_note(t, true, "%lld %s above the first edge with # or %% and as many fields as the edges: taken "
				  "for comments. Put such nodes in quotes, or a header above them, to make edges of them",
				  (long long)c->comment_rows, c->comment_rows == 1 ? "line begins" : "lines begin");
	if (header_is_a_node(f))
		sl_taken_add_note(t, true, "The first line was taken for a header, but its words are also nodes");
	tell_sides(f);
	if (first_stands_alone(f))
		sl_taken_add_note(t, true, "The first line was read as the edge \"%.40s\", \"%.40s\", whose nodes are in no "
				  "other edge. If it is a header, name its columns: source=%.30s, target=%.30s",
				  f->names.bytes + f->names.at[0], f->names.bytes + f->names.at[1],
				  f->names.bytes + f->names.at[0], f->names.bytes + f->names.at[1]);
	tell_direction(f);
}

/* Rows that the graph does not keep. */
static void tell_dropped(const struct sl_graph *g, struct sl_taken *t)
{
	t->rows_left_out = g->report.self_loops + g->report.zero_weights;
	t->rows_used = t->rows - t->rows_left_out;
	if (g->report.self_loops)
		sl_taken_add_note(t, false, "Left out: %llu edges from a node to itself",
				  (unsigned long long)g->report.self_loops);
	if (g->report.zero_weights)
		sl_taken_add_note(t, false, "Left out: %llu edges of weight 0", (unsigned long long)g->report.zero_weights);
}

int sl__read_edges(struct sl_graph **out, const struct sl_read_options *options, struct sl_source *source,
		   struct sl_error *err)
{
	struct edges f = {.source = source, .options = options, .all_numbers = true, .err = err};
	const unsigned char *bytes;
	int64_t size = sl__source_peek(source, &bytes, err);
	bool chosen = options->source_column || options->target_column || options->bipartite == SL_SIDES_TWO;
	enum sl__network network = size < 0 || chosen ? SL__NO_NETWORK :
				   sl__network_of(bytes, (size_t)size, size < SL__LINE_BUFFER, sl__source_name(source));
	int rc;

	if (size < 0 || network != SL__NO_NETWORK)
		return size < 0 ? (int)size : sl__read_network(out, network, options, source, err);
	enum sl__adjacency adjacency = chosen ? SL__NO_ADJACENCY :
		sl__adjacency_of(bytes, (size_t)size, size < SL__LINE_BUFFER, sl__source_name(source));
	if (adjacency != SL__NO_ADJACENCY)
		return sl__read_adjacency(out, adjacency, options, source, err);
	f.taken = sl_taken_create();
	if (!f.taken)
		return sl_error_memory(err, "reading %s", sl__source_name(source));
	sl__names_init(&f.names, sl__source_account(source));
	sl__fields_init(&f.fields);
	rc = read_start(&f);
	if (!rc)
		rc = start_edges(&f);
	if (!rc)
		rc = read_rest(&f);
	if (!rc && f.columns.bipartite &&
	    (rc = sl__sides_name(&f.names, f.columns.side, f.columns.konect, &f.on_both_sides)))
		rc = memory_error(&f, rc);
	if (!rc) {
		tell(&f);
		rc = settle(&f);
	}
	if (!rc) {
		rc = sl__finish_graph(f.builder, 0, source, out, err);
		f.builder = NULL;
	}
	if (!rc && f.names.n)
		sl__names_give(&f.names, &(*out)->name_bytes, &(*out)->name_at);
	if (!rc) {
		tell_dropped(*out, f.taken);
		(*out)->taken = f.taken;
		f.taken = NULL;
	}
	sl_graph_builder_destroy(f.builder);
	sl__fields_finish(&f.fields);
	sl__names_finish(&f.names);
	free(f.side_name);
	sl__edge_columns_finish(&f.columns);
	sl_taken_destroy(f.taken);
	return rc;
}
