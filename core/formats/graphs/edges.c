/* edges.c -- edge lists: one edge a line, numbers or names.
 *
 * As long as all nodes are whole numbers below 2^32, the builder gets these numbers, which costs nothing per line; at
 * the end a bitmap maps them to nodes. At the first name (or larger number) the reader changes to a hash table of names
 * for the rest of the file. */
#include "core/formats/graphs/readers.h"
#include "core/formats/text/fields.h"
#include "core/formats/text/numbering.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct edges {
	struct sl_source *source;
	const struct sl_read_options *options;
	struct sl_graph_builder *builder;
	struct sl__fields fields;   /* of the current line */
	bool weighted;              /* the first edge had a weight */
	bool named;                 /* the builder holds indices into names, not numbers of the file */
	bool all_numbers;           /* every node so far is a whole number */
	struct sl__names names;
	struct sl_error *err;
};

/* ---- nodes ----------------------------------------------------------------- */

static int memory_error(struct edges *f, int rc)
{
	return sl__source_fail(f->source, rc, f->err, rc == SL_TOOBIG ? "The file has more than %u nodes, the most "
			       "that a graph can have." :
			       "No memory for more than %u nodes and the entries read so far.",
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

static int add_name(struct edges *f, const struct sl__field *field, uint32_t *out)
{
	int rc = sl__names_add(&f->names, field->text, field->length, out);

	if (rc)
		return memory_error(f, rc);
	if (f->options->max_nodes && f->names.n > f->options->max_nodes)
		return sl__source_fail(f->source, SL_TOOBIG, f->err, "The file has more than %llu nodes, the limit "
				       "(max_nodes).", (unsigned long long)f->options->max_nodes);
	return 0;
}

/* The builder's indices of the two nodes of the line. */
static int node_indices(struct edges *f, uint32_t *a, uint32_t *b)
{
	const struct sl__field *first = &f->fields.field[0], *second = &f->fields.field[1];
	uint64_t x, y;
	bool numbers = sl__whole_number(first->text, first->length, &x) && sl__whole_number(second->text, second->length,
			&y);
	int rc = 0;

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
		rc = add_name(f, first, a);
	return rc ? rc : add_name(f, second, b);
}

/* ---- edges ----------------------------------------------------------------- */

static int add(struct edges *f, uint32_t a, uint32_t b, float w)
{
	int rc = sl_graph_builder_add(f->builder, a, b, w);

	if (rc)
		return memory_error(f, rc);
	if (f->options->max_entries && f->builder->count > f->options->max_entries)
		return sl__source_fail(f->source, SL_TOOBIG, f->err, "The file has more than %llu entries (%s), the "
				       "limit (max_entries).",
				       (unsigned long long)f->options->max_entries,
				       f->options->directed ? "edges" : "an edge is two, one for each direction");
	return 0;
}

static int parse_weight(struct edges *f, const struct sl__field *field, float *out)
{
	char text[64];

	if (field->length == 0)
		return sl__source_fail(f->source, SL_BADDATA, f->err, "The weight is missing, but the first edge has "
				       "one; either all edges must have weights or none.");
	if (!sl__field_float(field, out))
		return sl__source_fail(f->source, SL_BADDATA, f->err, "The weight must be a number, not \"%s\".",
				       sl__field_show(field, text, sizeof text));
	if (!(*out >= 0 && *out <= SL__MAX_WEIGHT))
		return sl__source_fail(f->source, SL_BADGRAPH, f->err, "The weight %s is %s; weights must be finite and not "
				       "negative.", sl__field_show(field, text, sizeof text), sl__weight_fault(*out, field->text));
	return 0;
}

/* Adds the current fields as an edge. */
static int add_fields(struct edges *f)
{
	const struct sl__fields *in = &f->fields;
	uint32_t a, b;
	float w = 1;
	int rc;

	if (in->count < 2)
		return sl__source_fail(f->source, SL_BADDATA, f->err,
				"The line has only one field, separated by %s as in the first edge; it must have two "
				       "nodes and, if all lines do, a weight.", sl__separator_name(in->separator));
	if (in->count > 3 || (in->count == 3 && !f->weighted))
		return sl__source_fail(f->source, SL_BADDATA, f->err,
				"The line has more than %s fields, separated by %s; it must have two nodes and, if all "
				       "lines do, a weight.", f->weighted ? "three" : "two",
				       sl__separator_name(in->separator));
	if (f->weighted && in->count < 3)
		return sl__source_fail(f->source, SL_BADDATA, f->err, "The weight is missing, but the first edge has "
				       "one; either all edges must have weights or none.");
	if (f->weighted) {
		rc = parse_weight(f, &in->field[2], &w);
		if (rc)
			return rc;
	}
	rc = node_indices(f, &a, &b);
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

	if (f->named)
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

/* ---- the first lines -------------------------------------------------------- */

/* 1: a line with content, 0: end */
static int next_content(struct edges *f, struct sl__line *line)
{
	for (;;) {
		int rc = sl__source_line(f->source, line, f->err);
		if (rc <= 0)
			return rc;
		const char *p = line->at;
		while (p < line->end && (*p == ' ' || *p == '\t'))
			p++;
		if (p < line->end && *p != '#' && *p != '%')
			return 1;
	}
}

static bool is_word(const struct sl__field *field, const char *word)
{
	return strlen(word) == field->length && !strncasecmp(field->text, word, field->length);
}

/* True if the fields are usual column names, not nodes. */
static bool usual_header(const struct sl__fields *in)
{
	static const char *const pairs[][2] = {
		{"source", "target"}, {"src", "dst"}, {"src", "dest"}, {"source", "destination"}, {"source", "dest"},
		{"from", "to"}, {"from_id", "to_id"}, {"fromnodeid", "tonodeid"}, {"from_node", "to_node"},
		{"source_id", "target_id"}, {"start", "end"}, {"tail", "head"}, {"head", "tail"}, {"row", "col"},
		{"row", "column"}, {"node1", "node2"}, {"node_1", "node_2"}, {"node_a", "node_b"}, {"nodea", "nodeb"},
		{"id1", "id2"}, {"id_1", "id_2"}, {"vertex1", "vertex2"},
		{"protein1", "protein2"}, {"gene1", "gene2"}, {"user1", "user2"}, {"follower", "followee"},
	};

	for (size_t k = 0; k < sizeof pairs / sizeof *pairs; k++)
		if (is_word(&in->field[0], pairs[k][0]) && is_word(&in->field[1], pairs[k][1]))
			return true;
	return false;
}

static int count_numbers(const struct sl__fields *in)
{
	uint64_t number;

	return sl__whole_number(in->field[0].text, in->field[0].length, &number) +
	       sl__whole_number(in->field[1].text, in->field[1].length, &number);
}

/* Splits the line into the current fields. */
static int split(struct edges *f, const struct sl__line *line)
{
	int rc = sl__fields_split(&f->fields, line->at, line->end);

	if (rc == SL_NOMEM)
		return memory_error(f, rc);
	if (rc)
		return sl__source_fail(f->source, SL_BADDATA, f->err, "A quoted field does not end on its line, or something "
				       "other than a separator follows its closing quote; inside quotes a quote is doubled (\"\").");
	return 0;
}

static int start_edges(struct edges *f)
{
	f->weighted = f->fields.count >= 3;
	return sl_graph_builder_create(&f->builder, f->options->directed ? SL_GENERAL : SL_SYMMETRIC, f->weighted, 0,
			f->err);
}

/* Decides by the second line whether the first one is a header. Copies the first one, since the line buffer moves on.
 * 1: both lines were processed. */
static int decide_by_second(struct edges *f, const struct sl__line *first, int64_t first_number)
{
	size_t length = (size_t)(first->end - first->at);
	char *copy = malloc(length + 1);
	struct sl__line kept, line;
	int rc;

	if (!copy)
		return memory_error(f, SL_NOMEM);
	memcpy(copy, first->at, length);
	copy[length] = '\n';
	kept = (struct sl__line){copy, copy + length};
	rc = next_content(f, &line);
	bool second = rc > 0, header = false;
	if (second) {
		rc = split(f, &line);
		header = !rc && f->fields.count >= 2 && count_numbers(&f->fields) == 2;
	}
	if (rc >= 0 && !header) {
		/* so that an error in the first line has its number */
		int64_t now = sl__source_line_number(f->source);
		sl__source_set_line_number(f->source, first_number);
		rc = split(f, &kept);
		if (!rc)
			rc = start_edges(f);
		if (!rc)
			rc = add_fields(f);
		sl__source_set_line_number(f->source, now);
	} else if (rc >= 0) {
		rc = start_edges(f);
	}
	if (!rc && second) {
		rc = split(f, &line);
		if (!rc)
			rc = add_fields(f);
	}
	free(copy);
	return rc;
}

/* Determines separator, header and number of columns; adds the edges of the lines it has read. */
static int read_start(struct edges *f)
{
	struct sl__line line;
	int rc = next_content(f, &line);
	float w;

	if (rc < 0)
		return rc;
	if (rc == 0)
		return sl_error_at(f->err, SL_BADGRAPH, sl__source_name(f->source), 0,
				"The file has no edge; a line must have two nodes and, if all lines do, a weight.");
	f->fields.separator = sl__guess_separator(line.at, line.end);
	rc = split(f, &line);
	if (rc)
		return rc;
	bool header = f->fields.count >= 2 && usual_header(&f->fields);
	if (f->fields.count == 3 && !sl__field_float(&f->fields.field[2], &w) && count_numbers(&f->fields) == 0)
		header = true;
	if (header) {
		rc = next_content(f, &line);
		if (rc == 0)
			return sl__source_fail(f->source, SL_BADGRAPH, f->err, "The file has a header but no edge after it.");
		if (rc < 0 || (rc = split(f, &line)))
			return rc;
	} else if (f->fields.count >= 2 && count_numbers(&f->fields) == 0) {
		return decide_by_second(f, &line, sl__source_line_number(f->source));
	}
	rc = start_edges(f);
	return rc ? rc : add_fields(f);
}

static int read_rest(struct edges *f)
{
	struct sl__line line;
	int rc;

	while ((rc = next_content(f, &line)) > 0) {
		rc = add_numbers(f, &line);
		if (rc < 0)
			return rc;
		if (rc == 1)
			continue;
		rc = split(f, &line);
		if (!rc)
			rc = add_fields(f);
		if (rc)
			return rc;
	}
	return rc;
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

int sl__read_edges(struct sl_graph **out, const struct sl_read_options *options, struct sl_source *source,
		   struct sl_error *err)
{
	struct edges f = {.source = source, .options = options, .all_numbers = true, .err = err};
	int rc;

	sl__names_init(&f.names);
	sl__fields_init(&f.fields);
	rc = read_start(&f);
	if (!rc)
		rc = read_rest(&f);
	if (!rc)
		rc = settle(&f);
	if (!rc) {
		rc = sl__finish_graph(f.builder, 0, source, out, err);
		f.builder = NULL;
	}
	if (!rc && f.names.n)
		sl__names_give(&f.names, &(*out)->name_bytes, &(*out)->name_at);
	sl_graph_builder_destroy(f.builder);
	sl__fields_finish(&f.fields);
	sl__names_finish(&f.names);
	return rc;
}
