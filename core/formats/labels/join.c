/* join.c -- finds the node of each row of a text of labels.
 *
 * Names win over numbers, and numbers over the order of rows, since a name cannot match by chance. Numbers can: a
 * column of clusters holds numbers of nodes, too. So numbers must differ, and all be numbers of nodes. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/account.h"
#include "core/formats/labels/labels_internal.h"

/* ---- what a column looks like ------------------------------------------------------ */

static const char *text_of(const struct sl__cells *c, uint32_t column, uint32_t code)
{
	return c->text[column].bytes + c->text[column].at[code];
}

bool sl__is_number(const char *text)
{
	char *end;
	if (strspn(text, "+-.0123456789eE") != strlen(text))
		return !strcasecmp(text, "inf") || !strcasecmp(text, "-inf");
	strtod(text, &end);
	return end != text && !*end;
}

static bool is_key_title(const char *title)
{
	static const char *const titles[] = {
		"", "id", "ids", "node", "nodes", "node_id", "nodeid", "index", "idx", "name", "names", "row",
				"row_id", "rownames",
		"row.names", "number", "nr", "no", "vertex", "vertex_id", "key", "cell", "cell_id", "cellid",
				"barcode", "point",
		"sample", "sampleid", "sample_id", "unnamed: 0",
	};
	for (size_t k = 0; k < sizeof titles / sizeof *titles; k++)
		if (!strcasecmp(title + (*title == '#'), titles[k]))
			return true;
	return false;
}

/* ---- candidates -------------------------------------------------------------------- */

/* The nodes that a column names. */
struct hits {
	uint64_t rows;       /* of rows 1 and on, and of row 0 if it names a node */
	uint64_t nodes;      /* different ones */
	bool first;          /* row 0 names a node */
	uint64_t again;      /* the first row whose node an earlier row names; 0: none */
};

struct joiner {
	struct sl__join *j;
	const struct sl__cells *c;
	const struct sl__keys *keys;
	uint32_t *node;      /* [texts] of the column under consideration */
	uint64_t *seen;      /* bits of nodes */
};

static int prepare(struct joiner *r, uint32_t column)
{
	free(r->node);
	r->node = malloc(((uint64_t)r->c->text[column].n + 1) * sizeof *r->node);
	memset(r->seen, 0, ((uint64_t)r->keys->n / 64 + 1) * sizeof *r->seen);
	return r->node ? 0 : SL_NOMEM;
}

static struct hits count_hits(struct joiner *r, uint32_t column)
{
	struct hits h = {0};
	for (uint64_t i = 0; i < r->c->rows; i++) {
		uint32_t node = r->node[r->c->code[i * r->c->columns + column]];
		if (node == SL__NO_NAME)
			continue;
		h.rows++;
		h.first |= !i;
		bool seen = r->seen[node / 64] >> (node % 64) & 1;
		h.nodes += !seen;
		if (seen && !h.again)
			h.again = i;
		r->seen[node / 64] |= 1ull << (node % 64);
	}
	return h;
}

static int find_names(struct joiner *r, uint32_t column)
{
	const struct sl__names *t = &r->c->text[column];
	int rc = prepare(r, column);
	for (uint32_t k = 0; !rc && k < t->n; k++) {
		const char *text = sl__cell_text(text_of(r->c, column, k));
		r->node[k] = sl__keys_find(r->keys, text, strlen(text));
	}
	return rc;
}

/* Numbers from `base` on. */
static int find_numbers(struct joiner *r, uint32_t column, uint32_t base)
{
	const struct sl__names *t = &r->c->text[column];
	int rc = prepare(r, column);
	for (uint32_t k = 0; !rc && k < t->n; k++) {
		const char *text = text_of(r->c, column, k);
		uint64_t number;
		bool is = sl__keys_number(text, strlen(text), &number) && number >= base && number - base < r->keys->n;
		r->node[k] = is ? (uint32_t)(number - base) : SL__NO_NAME;
	}
	return rc;
}

static void choose(struct joiner *r, uint32_t column, enum sl__join_how how, const struct hits *h)
{
	r->j->how = how;
	r->j->key = column;
	r->j->hits = h->nodes;
	free(r->j->node_of_text);
	r->j->node_of_text = r->node;
	r->node = NULL;
	r->j->first_row_named = h->first;
	r->j->again = h->again;
}

static bool names_are_numbers(const struct sl__keys *keys)
{
	for (uint32_t i = 0; i < keys->names.n; i++) {
		uint64_t number;
		const char *name = keys->names.bytes + keys->names.at[i];
		if (!sl__keys_number(name, strlen(name), &number))
			return false;
	}
	return true;
}

static bool is_name_title(const struct sl__cells *c, uint32_t column)
{
	const char *title = sl__cell_text(sl__cell(c, 0, column));
	return !strcasecmp(title, "name") || !strcasecmp(title, "names");
}

/* True if a column with these hits is a better key than the present one. If nodes are called 1, 2, 3 ..., a column of
 * their numbers has as many hits: the title decides. */
static bool is_better(const struct joiner *r, uint32_t column, const struct hits *h)
{
	const struct sl__join *j = r->j;
	return h->nodes > j->hits || (h->nodes == j->hits && j->how == SL__JOIN_NAMES && is_name_title(r->c, column) &&
				      !is_name_title(r->c, j->key));
}

static int try_names(struct joiner *r)
{
	const struct sl__cells *c = r->c;
	for (uint32_t k = 0; k < c->columns; k++) {
		int rc = find_names(r, k);
		if (rc)
			return rc;
		struct hits h = count_hits(r, k);
		uint64_t rows = c->rows - (h.first || c->rows < 2 ? 0 : 1);
		bool many = 2 * h.rows >= rows || 2 * h.nodes >= r->keys->n;
		/* clusters 1, 2, 3 ... are also names, if nodes are called so */
		bool clusters = h.again && c->rows - !h.first <= (uint64_t)r->keys->n && names_are_numbers(r->keys);
		if (h.rows && many && 2 * h.nodes > h.rows && !clusters && is_better(r, k, &h))
			choose(r, k, SL__JOIN_NAMES, &h);
	}
	return 0;
}

static int try_numbers(struct joiner *r)
{
	const struct sl__cells *c = r->c;
	for (uint32_t k = 0; k < c->columns && r->j->how == SL__JOIN_ROWS; k++) {
		if (k && !is_key_title(sl__cell_text(sl__cell(c, 0, k))))
			continue;
		for (uint32_t base = 0; base < 2 && r->j->how == SL__JOIN_ROWS; base++) {
			int rc = find_numbers(r, k, base);
			if (rc)
				return rc;
			struct hits h = count_hits(r, k);
			bool title = !h.first && !sl__is_number(sl__cell(c, 0, k));
			uint64_t rows = c->rows - title, n = r->keys->n;
			bool complete = h.nodes == n, exact = complete && rows == n;
			if (!h.again && h.nodes && (r->keys->named || base ? exact : complete || h.nodes == rows))
				choose(r, k, base ? SL__JOIN_FROM_ONE : SL__JOIN_NUMBERS, &h);
		}
	}
	return 0;
}

/* ---- the header --------------------------------------------------------------------- */

static bool numbers_below(const struct sl__cells *c, uint32_t column)
{
	uint64_t numbers = 0;
	for (uint64_t i = 1; i < c->rows; i++) {
		const char *text = sl__cell(c, i, column);
		if (!sl__cell_is_missing(text) && !sl__is_number(text))
			return false;
		numbers += !sl__cell_is_missing(text);
	}
	return numbers > 0;
}

/* Whether the text of row 0 also stands below it. */
static bool occurs_below(const struct sl__cells *c, uint32_t column)
{
	uint32_t code = c->code[column];
	for (uint64_t i = 1; i < c->rows; i++)
		if (c->code[i * c->columns + column] == code)
			return true;
	return false;
}

/* Whether row 0 may be a header: none of its words stands below, and not all of its cells are numbers. */
static bool may_be_header(const struct sl__cells *c)
{
	bool words = false;
	if (c->short_header)
		return true;
	for (uint32_t k = 0; k < c->columns; k++) {
		const char *text = sl__cell(c, 0, k);
		if (*text && !sl__is_number(text) && !sl__cell_is_missing(text)) {
			words = true;
			if (occurs_below(c, k))
				return false;
		}
	}
	return words;
}

/* Whether row 0 must be one: a word above numbers, or words that are usual titles. */
static bool must_be_header(const struct sl__cells *c)
{
	if (c->short_header)
		return true;
	for (uint32_t k = 0; k < c->columns && may_be_header(c); k++) {
		const char *text = sl__cell(c, 0, k);
		if (sl__cell_is_missing(text) || sl__is_number(text))
			continue;
		if (numbers_below(c, k) || (c->columns > 1 && (is_key_title(text) || sl__is_label_title(text))))
			return true;
	}
	return false;
}

/* Few different labels, or numbers: then a word above them is a title. */
static bool below_is_regular(const struct sl__cells *c)
{
	return c->separator != '\n' || numbers_below(c, 0) || 2 * (uint64_t)(c->text[0].n - 1) <= c->rows;
}

/* ---- joining ------------------------------------------------------------------------- */

static void describe(const struct sl__cells *c, bool header, char *out, size_t size)
{
	size_t used = 0;
	out[0] = 0;
	if (c->separator == '\n') {
		snprintf(out, size, "one column");
		return;
	}
	used = (size_t)snprintf(out, size, "%u columns", c->columns);
	for (uint32_t k = 0; header && k < c->columns && k < 4 && used < size; k++)
		used += (size_t)snprintf(out + used, size - used, "%s\"%.24s\"", k ? ", " : ": ",
					 sl__cell_text(sl__cell(c, 0, k)));
	if (header && c->columns > 4 && used < size)
		snprintf(out + used, size - used, ", ...");
}

static int no_match(struct joiner *r, bool header, struct sl_source *source, struct sl_error *err)
{
	const struct sl__cells *c = r->c;
	uint64_t rows = c->rows - header;
	uint32_t n = r->keys->n;
	char columns[160];
	const char *example = r->keys->named ? r->keys->names.bytes : "0, 1, 2";
	if (c->separator == '\n')
		return sl_error_at(err, SL_BADDATA, sl__source_name(source), 0,
				   "The file has %llu line%s%s, but the graph has %u node%s; there must be one for each node.",
				   (unsigned long long)rows, rows == 1 ? "" : "s", header ? " below its header" : "", n,
				   n == 1 ? "" : "s");
	describe(c, header, columns, sizeof columns);
	return sl_error_at(err, SL_BADDATA, sl__source_name(source), 0,
			   "The file has %llu row%s of %s, but the graph has %u node%s, and no column holds their %s (%.40s%s). "
			   "There must be a column of them, or one row for each node.", (unsigned long long)rows,
			   rows == 1 ? "" : "s", columns, n, n == 1 ? "" : "s", r->keys->named ? "names" : "numbers",
					example,
			   n > 1 || !r->keys->named ? ", ..." : "");
}

/* Blank lines at the end of a file of lines count only if nodes are left for them; lines with # at its beginning are
 * comments if there are too many lines. */
static void trim_lines(struct sl__cells *c, uint32_t n)
{
	uint64_t comments = 0;
	if (c->separator != '\n')
		return;
	while (c->rows > n && *sl__cell(c, c->rows - 1, 0) == SL__CELL_MISSING && !sl__cell(c, c->rows - 1, 0)[1]) {
		c->rows--;
		c->blank_lines++;
	}
	while (comments < c->rows && *sl__cell(c, comments, 0) == '#')
		comments++;
	if (!comments || c->rows <= n || (c->rows - comments != n && c->rows - comments != (uint64_t)n + 1))
		return;
	memmove(c->code, c->code + comments, (c->rows - comments) * sizeof *c->code);
	memmove(c->line, c->line + comments, (c->rows - comments) * sizeof *c->line);
	c->rows -= comments;
	c->comment_lines += comments;
}

static int join_rows(struct joiner *r, struct sl_source *source, struct sl_error *err)
{
	struct sl__cells *c = (struct sl__cells *)(uintptr_t)r->c;
	uint32_t n = r->keys->n;
	trim_lines(c, n);
	bool header = c->rows == (uint64_t)n + 1 && may_be_header(c) && below_is_regular(c);
	r->j->header = header;
	if (c->rows - header != n)
		return no_match(r, c->separator != '\n' && c->rows > 1 && may_be_header(c), source, err);
	if (!header && n > 1 && must_be_header(c))
		return sl_error_at(err, SL_BADDATA, sl__source_name(source), 1, "The line is a header (\"%.40s\"), so there "
				   "are labels for %u nodes, but the graph has %u.",
				   sl__cell_text(sl__cell(c, 0, c->columns - 1)), n - 1, n);
	return 0;
}

static int join_keys(struct joiner *r, struct sl_source *source, struct sl_error *err)
{
	const struct sl__cells *c = r->c;
	struct sl__join *j = r->j;
	bool number = sl__is_number(sl__cell(c, 0, j->key)) && (j->how != SL__JOIN_NAMES || names_are_numbers(r->keys));
	j->header = !j->first_row_named && !number && (c->short_header || is_key_title(sl__cell(c, 0, j->key)) ||
			may_be_header(c));
	if (!j->again)
		return 0;
	return sl_error_at(err, SL_BADDATA, sl__source_name(source), c->line[j->again],
			   "The node \"%.60s\" already has a label, from a line above.",
			   sl__cell_text(sl__cell(c, j->again, j->key)));
}

int sl__join(struct sl__join *j, struct sl__cells *c, const struct sl__keys *keys, struct sl_source *source,
	     struct sl_error *err)
{
	struct joiner r = {.j = j, .c = c, .keys = keys};
	*j = (struct sl__join){.how = SL__JOIN_ROWS};
	r.seen = sl_account_alloc(sl__source_account(source), (uint64_t)keys->n / 64 + 1, sizeof *r.seen);
	int rc = r.seen ? 0 : SL_NOMEM;
	if (!rc && c->columns > 1 && c->rows && keys->named)
		rc = try_names(&r);
	if (!rc && c->columns > 1 && c->rows && j->how == SL__JOIN_ROWS)
		rc = try_numbers(&r);
	if (rc)
		rc = sl_error_at(err, rc, sl__source_name(source), 0, SL_NO_MEMORY "the labels.");
	else
		rc = j->how == SL__JOIN_ROWS ? join_rows(&r, source, err) : join_keys(&r, source, err);
	free(r.node);
	free(r.seen);
	return rc;
}

uint32_t sl__join_node(const struct sl__join *j, const struct sl__cells *c, uint64_t row)
{
	if (row < j->header)
		return SL__NO_NAME;
	return j->how == SL__JOIN_ROWS ? (uint32_t)(row - j->header) : j->node_of_text[c->code[row * c->columns + j->key]];
}

void sl__join_finish(struct sl__join *j)
{
	free(j->node_of_text);
	j->node_of_text = NULL;
}
