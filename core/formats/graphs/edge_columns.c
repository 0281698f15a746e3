/* edge_columns.c -- looks at the lines of the first 256 KiB. All decisions are made here, before the first edge is
 * read. */
#include "core/account.h"
#include "core/formats/graphs/edge_columns.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/formats/graphs/readers.h"
#include "core/formats/text/names.h"
#include "core/formats/text/numbering.h"
#include "core/meant.h"

#define SAMPLE 200          /* rows that are looked at */
#define TIME_FROM 6e8       /* the year 1989, in seconds */
#define TIME_TO 4.1e9       /* the year 2099 */
#define RATING_MOST 10      /* of ratings without titles */
#define TIME_RATIO 2.0      /* times of one file do not spread further */

/* ---- lines ------------------------------------------------------------------ */

struct look {
	struct sl__edge_columns *c;
	const struct sl_read_options *options;
	struct sl__fields fields;
	const char *at, *end;       /* the lines not looked at yet */
	bool whole;
	int64_t line;               /* number of the last line */
	const char *begin;          /* of the text */
	const char *comment, *comment_end;  /* the last comment above the edges */
	int64_t comment_line;
	double *least, *most;       /* [count] of the numbers in the rows */
	bool relation;              /* the second of three columns holds relations */
};

/* The next complete line. False: there is none. */
static bool next_line(struct look *l, struct sl__line *line)
{
	const char *at = l->at;

	if (!sl__next_record(&at, l->end, line) || (at == l->end && !l->whole))
		return false;
	l->at = at;
	l->line++;
	return true;
}

static const char *skip(const char *p, const char *end)
{
	while (p < end && (*p == ' ' || *p == '\t'))
		p++;
	return p;
}

static bool is_comment(const char *p) { return *p == '#' || *p == '%'; }

/* As sl__field_float(), for fields that may end with the bytes. */
static bool field_float(const struct sl__field *field, float *out)
{
	char text[64];
	struct sl__field copy = {text, field->length};

	if (field->length >= sizeof text)
		return false;
	memcpy(text, field->text, field->length);
	text[field->length] = '\n';
	return sl__field_float(&copy, out);
}

bool sl__edge_row(const struct sl__edge_columns *c, const struct sl__fields *in)
{
	size_t marks = 0;

	if ((uint32_t)in->count != c->count)
		return false;
	while (marks < in->field[0].length && is_comment(in->field[0].text + marks))
		marks++;
	/* "# words": with blanks as separators any comment may have as many fields */
	return c->separator != ' ' || marks < in->field[0].length;
}

/* ---- comments --------------------------------------------------------------- */

static bool begins(const char *p, const char *end, const char *word)
{
	size_t length = strlen(word);
	return (size_t)(end - p) >= length && !strncasecmp(p, word, length);
}

/* Reads "% asym weighted" (KONECT), "# Directed graph" (SNAP). */
static void read_comment(struct look *l, const char *p, const char *end)
{
	static const char *const weights[] = {"unweighted", "positive", "posweighted", "weighted", "signed", "multisigned",
					      "multiweighted", "multiposweighted", "dynamic"};
	struct sl__edge_columns *c = l->c;

	c->commented = true;
	l->comment = p;
	l->comment_end = end;
	l->comment_line = l->line;
	while (p < end && (is_comment(p) || *p == ' ' || *p == '\t'))
		p++;
	if (begins(p, end, "directed graph"))
		c->direction = SL__DIRECTED;
	else if (begins(p, end, "undirected graph"))
		c->direction = SL__UNDIRECTED;
	bool sym = begins(p, end, "sym "), asym = begins(p, end, "asym "), bip = begins(p, end, "bip ");
	if (!(sym || asym || bip))
		return;
	p = skip(p + (sym || bip ? 3 : 4), end);
	for (size_t k = 0; k < sizeof weights / sizeof *weights; k++)
		c->konect |= begins(p, end, weights[k]);
	if (!c->konect)
		return;
	c->direction = asym ? SL__DIRECTED : SL__UNDIRECTED;
	c->bipartite = bip;
}

/* "sep=;", which Excel writes and reads. */
static bool read_marker(struct look *l, const char *p, const char *end)
{
	if (end - p == 7 && *p == '"' && end[-1] == '"') {
		p++;
		end--;
	}
	if (end - p != 5 || strncasecmp(p, "sep=", 4) || !strchr(",;\t ", p[4]))
		return false;
	l->c->separator = p[4];
	l->c->marker = l->line;
	return true;
}

/* The first line with content; reads the comments above. False: there is none. */
static bool first_content(struct look *l, struct sl__line *line)
{
	while (next_line(l, line)) {
		const char *p = skip(line->at, line->end);
		if (p == line->end)
			continue;
		if (is_comment(p))
			read_comment(l, p, line->end);
		else if (l->line > 1 || !read_marker(l, p, line->end))
			return true;
	}
	return false;
}

/* ---- fields ----------------------------------------------------------------- */

static int split(struct look *l, const struct sl__line *line)
{
	return sl__fields_split(&l->fields, line->at, line->end);
}

/* The next row; lines that cannot be split are left to the reader. columns: of the rows, or 0. */
static bool next_row(struct look *l, struct sl__line *line)
{
	while (next_line(l, line)) {
		const char *p = skip(line->at, line->end);
		if (p == line->end || split(l, line))
			continue;
		if (!is_comment(p) || sl__edge_row(l->c, &l->fields))
			return true;
	}
	return false;
}

static bool is_whole(const struct sl__field *field)
{
	uint64_t number;
	return sl__whole_number(field->text, field->length, &number);
}

static bool has_decimal_comma(const struct sl__field *field)
{
	int commas = 0;

	for (size_t k = 0; k < field->length; k++) {
		commas += field->text[k] == ',';
		if (field->text[k] != ',' && field->text[k] != '-' && !isdigit((unsigned char)field->text[k]))
			return false;
	}
	return commas == 1 && field->length > 2;
}

static bool is_number(const struct sl__field *field)
{
	float value;
	return field_float(field, &value) || has_decimal_comma(field);
}

/* The number of fields of the line and those below with this separator; 0: it is less than two, or not the same. */
static int fields_of_all(const struct look *l, const struct sl__line *line, char separator)
{
	enum { LINES = 10 };
	struct look behind = *l;
	struct sl__line later = *line;
	bool same = true;
	int count = 0;

	behind.fields = (struct sl__fields){.separator = separator};
	for (int k = 0; k < LINES && same && (k == 0 || next_line(&behind, &later)); k++) {
		const char *p = skip(later.at, later.end);
		if (p == later.end || (is_comment(p) && k))
			continue;
		same = !split(&behind, &later) && behind.fields.count >= 2 && (!count || behind.fields.count == count);
		count = behind.fields.count;
	}
	sl__fields_finish(&behind.fields);
	return same ? count : 0;
}

/* True for a line like "1,5;2,5". */
static bool has_commas_in_numbers(const struct sl__line *line)
{
	struct sl__fields fields = {.separator = ';'};
	bool found = false;

	if (!sl__fields_split(&fields, line->at, line->end))
		for (int k = 0; k < fields.count; k++)
			found |= has_decimal_comma(&fields.field[k]);
	sl__fields_finish(&fields);
	return found;
}

/* Of tabs, commas and semicolons the one that the line has. If it has commas and semicolons, those that give all lines
 * as many fields, and more than the others; rather semicolons, since commas are also in numbers and names. */
static char guess_separator(const struct look *l, const struct sl__line *line)
{
	char separator = sl__guess_separator(line->at, line->end);
	bool quoted = false;

	for (const char *p = line->at; separator == ',' && p < line->end; p++) {
		quoted ^= *p == '"';
		if (!quoted && *p == ';')
			return has_commas_in_numbers(line) ||
			       fields_of_all(l, line, ';') >= fields_of_all(l, line, ',') ? ';' : ',';
	}
	return separator;
}

/* ---- titles ----------------------------------------------------------------- */

static bool titled_one_of(const struct sl__edge_columns *c, int column, const char *const *words)
{
	struct sl__field field = {c->title[column], strlen(c->title[column])};
	char title[40];

	sl__plain_title(&field, title);
	return c->titled && sl_word_in(words, title);
}

static const char *const weights[] = {"weight", "weights", "w", "wt", "edgeweight", NULL};
static const char *const strengths[] = {"value", "values", "count", "counts", "score", "combinedscore", "strength",
					"similarity", "correlation", "confidence", "frequency", "freq", "n", "rating", "ratings",
					"stars", "plays", "listens", NULL};
static const char *const times[] = {"time", "times", "timestamp", "timestamps", "date", "datetime", "unixts",
				    "unixtime", "ts", "year", "epoch", NULL};
static const char *const keys[] = {"id", "ids", "edgeid", "eid", "key", "index", "type", "kind", "label", "name",
				   "relation", "interaction", NULL};

/* ---- the header ------------------------------------------------------------- */

static bool named_by_option(const struct sl__fields *fields, const char *option)
{
	for (int k = 0; option && *option && k < fields->count; k++)
		if (strlen(option) == fields->field[k].length && !is_whole(&fields->field[k]) &&
		    !memcmp(option, fields->field[k].text, fields->field[k].length))
			return true;
	return false;
}

/* True if all rows from the present ones on have whole numbers in columns k and k + 1. */
static bool all_numbers(const struct look *l, int k)
{
	struct look behind = *l;
	struct sl__line line;
	bool numbers = true;

	behind.fields.scratch = NULL;
	behind.fields.scratch_bytes = 0;
	for (int rows = 0; numbers && rows < SAMPLE; rows++) {
		const struct sl__field *field = behind.fields.field + k;
		numbers = k + 1 < behind.fields.count && is_whole(&field[0]) && is_whole(&field[1]);
		if (!next_row(&behind, &line))
			break;
	}
	sl__fields_finish(&behind.fields);
	return numbers;
}

/* Decides whether the first line is a header. first: its fields; l->fields: those of the second line, if there is
 * one. */
static bool is_header(const struct look *l, const struct sl__fields *first, bool second)
{
	const struct sl__fields *in = &l->fields;
	int source, target, shift = second && in->count == first->count + 1;

	if (first->count < 2 || is_whole(&first->field[0]))
		return false;
	if (sl__edge_titles(first, &source, &target) || sl__kinds_of_titles(first, &source, &target))
		return true;
	if (named_by_option(first, l->options->source_column) || named_by_option(first, l->options->target_column) ||
	    named_by_option(first, l->options->weight_column))
		return true;
	if (!second || is_whole(&first->field[1]) || in->count < 2)
		return false;
	if (all_numbers(l, shift))
		return true;
	for (int k = 2; k < first->count && k + shift < in->count; k++)
		if (first->field[k].length && !is_number(&first->field[k]) && is_number(&in->field[k + shift]))
			return true;
	bool words = !first->field[0].length && first->count > 2;
	for (int k = 1; k < first->count && words; k++)
		words = first->field[k].length && !is_number(&first->field[k]);
	return words;
}

static int make_columns(struct sl__edge_columns *c, uint32_t count)
{
	c->count = count;
	c->title = sl_account_zeros(c->account, (size_t)count + 1, sizeof *c->title);
	c->seen = sl_account_zeros(c->account, (size_t)count + 1, 1);
	return c->title && c->seen ? 0 : SL_NOMEM;
}

static void take_titles(struct sl__edge_columns *c, const struct sl__fields *titles)
{
	for (int k = 0; k < titles->count && (uint32_t)k + c->shifted < c->count; k++)
		if (!*sl__field_title(&titles->field[k], c->title[k + c->shifted], sizeof *c->title) && titles->field[k].length)
			c->bad_title = k + 1;
	c->titled = true;
}

/* Takes the titles from the last comment, such as "# FromNodeId ToNodeId". */
static void titles_of_comment(struct look *l)
{
	struct sl__edge_columns *c = l->c;
	struct sl__line line = {l->comment, l->comment_end};
	int source, target;

	if (!line.at || c->header)
		return;
	while (line.at < line.end && (is_comment(line.at) || *line.at == ' '))
		line.at++;
	for (int blanks = 0; blanks < 2; blanks++) {
		char separator = l->fields.separator;
		l->fields.separator = blanks ? ' ' : separator;
		bool fine = !split(l, &line) && (uint32_t)l->fields.count == c->count &&
			    sl__edge_titles(&l->fields, &source, &target);
		l->fields.separator = separator;
		if (fine) {
			c->comment_header = l->comment_line;
			take_titles(c, &l->fields);
			return;
		}
	}
}

/* Counts the comments above that look like edges: "#art,ann", but not "# two, words". */
static void count_comment_rows(struct look *l, int64_t lines)
{
	struct sl__edge_columns *c = l->c;
	const char *at = l->begin;
	struct sl__line line;

	for (int64_t k = 1; k < lines && sl__next_record(&at, l->end, &line); k++) {
		const char *p = skip(line.at, line.end);
		if (line.end - p < 2 || !is_comment(p) || p[1] == ' ' || p[1] == '\t' || is_comment(p + 1) ||
		    k == c->comment_header || split(l, &line) || (uint32_t)l->fields.count != c->count)
			continue;
		c->comment_rows += c->weight < 0 || is_number(&l->fields.field[c->weight]);
	}
}

/* ---- rows ------------------------------------------------------------------- */

/* Notes what a row has in each column. */
static void see_row(struct look *l)
{
	struct sl__edge_columns *c = l->c;

	for (uint32_t k = 0; k < c->count && k < (uint32_t)l->fields.count; k++) {
		const struct sl__field *field = &l->fields.field[k];
		float value;
		if (!field->length)
			continue;
		c->seen[k] |= SL__SEEN;
		if (*field->text == '{')
			c->seen[k] |= SL__SEEN_DICT;
		if (field_float(field, &value)) {
			c->seen[k] |= SL__SEEN_NUMBER;
			l->least[k] = fmin(l->least[k], (double)value);
			l->most[k] = fmax(l->most[k], (double)value);
		} else {
			c->seen[k] |= has_decimal_comma(field) ? SL__SEEN_COMMA : SL__SEEN_WORD;
		}
	}
}

/* A column of words between two of nodes; the ends are both words or both numbers. */
static bool may_relate(const struct sl__edge_columns *c)
{
	if (c->count < 3)
		return false;
	uint8_t ends = (c->seen[0] ^ c->seen[2]) & (SL__SEEN_WORD | SL__SEEN_NUMBER | SL__SEEN_COMMA);

	return (c->seen[1] & ~SL__SEEN) == SL__SEEN_WORD && !ends;
}

static void find_times(const struct look *l)
{
	for (uint32_t k = 0; k < l->c->count; k++) {
		double least = l->least[k], most = l->most[k];
		bool seconds = least >= TIME_FROM && most <= TIME_TO;
		bool milliseconds = least >= TIME_FROM * 1000 && most <= TIME_TO * 1000;
		bool numbers = (l->c->seen[k] & ~(SL__SEEN | SL__SEEN_NUMBER)) == 0;
		if (numbers && (seconds || milliseconds) && most <= least * TIME_RATIO)
			l->c->seen[k] |= SL__SEEN_TIME;
	}
}

/* ---- roles ------------------------------------------------------------------ */

/* The column that an option names, by title or number. -1: there is none. */
static int find_column(const struct sl__edge_columns *c, const char *option)
{
	char number[16];

	for (uint32_t k = 0; c->titled && k < c->count; k++)
		if (sl__is_title(c->title[k], option))
			return (int)k;
	for (uint32_t k = 0; k < c->count; k++) {
		snprintf(number, sizeof number, "%u", k + 1);
		if (!strcmp(option, number))
			return (int)k;
	}
	for (uint32_t k = 0; c->titled && k < c->count; k++)
		if (!strcasecmp(option, c->title[k]))
			return (int)k;
	return -1;
}

static int use_option(const struct sl__edge_columns *c, const char *name, const char *option, int *column,
		      const char *file, struct sl_error *err)
{
	char pointer[16];

	if (!option || !*option)
		return 0;
	*column = find_column(c, option);
	if (*column >= 0)
		return 0;
	snprintf(pointer, sizeof pointer, "/%s", name);
	return sl_error_field(err, SL_BADPARAM, pointer, "%s is \"%.60s\", but %s has no such column; it must be a title "
			      "of its header or a number from 1 to %u.", name, option, file, c->count);
}

/* True if the third column, without a title that says so, may hold weights. */
static bool may_weigh(const struct sl__edge_columns *c, uint32_t column)
{
	return !titled_one_of(c, (int)column, times) && !titled_one_of(c, (int)column, keys) &&
	       !(c->seen[column] & (SL__SEEN_DICT | SL__SEEN_TIME)) && c->seen[column] & (SL__SEEN_NUMBER | SL__SEEN_COMMA);
}

static void find_weight(struct sl__edge_columns *c)
{
	static const char *const *const lists[] = {weights, strengths};

	for (int list = 0; list < 2; list++)
		for (uint32_t k = 0; c->titled && k < c->count && c->weight < 0; k++)
			if ((int)k != c->source && (int)k != c->target && titled_one_of(c, (int)k, lists[list]) &&
			    (list == 0 || may_weigh(c, k)))
				c->weight = (int)k;
	uint32_t third = (uint32_t)(c->source > c->target ? c->source : c->target) + 1;
	bool beside = abs(c->source - c->target) == 1;
	if (c->weight < 0 && beside && third < c->count && may_weigh(c, third))
		c->weight = (int)third;
}

static int find_roles(struct look *l, const char *file, struct sl_error *err)
{
	struct sl__edge_columns *c = l->c;
	static const char *const types[] = {"type", NULL};
	struct sl__fields titles = {.count = (int)c->count};
	int source = -1, target = -1;

	for (uint32_t k = 0; k < c->count; k++)
		titles.field[k] = (struct sl__field){c->title[k], strlen(c->title[k])};
	c->pair = c->titled && (sl__edge_titles(&titles, &source, &target) || sl__kinds_of_titles(&titles, &source,
			&target));
	int rc = use_option(c, "source", l->options->source_column, &c->source, file, err);
	if (!rc)
		rc = use_option(c, "target", l->options->target_column, &c->target, file, err);
	if (rc)
		return rc;
	c->chosen = c->source >= 0 || c->target >= 0;
	/* a first column without a title holds row names, as pandas and R write them */
	int from = c->count > 2 && c->titled && !c->title[0][0] && c->title[1][0];
	c->relation = !c->titled && c->count == 3 && !c->chosen && l->relation;
	if (!c->pair) {
		source = from;
		target = from + 1 + c->relation;
	}
	if (c->source < 0)
		c->source = c->target == source ? target : source;
	if (c->target < 0)
		c->target = c->source == target ? source : target;
	if (c->source == c->target)
		return sl_error_field(err, SL_BADPARAM, "/target", "source and target are the same column of %s.", file);
	sl__edge_sides(c, l->options);
	rc = use_option(c, "weight", l->options->weight_column, &c->weight, file, err);
	if (!rc && c->weight >= 0 && (c->weight == c->source || c->weight == c->target))
		rc = sl_error_field(err, SL_BADPARAM, "/weight", "weight is the column of the %s, too.",
				    c->weight == c->source ? "source" : "target");
	if (!l->options->weight_column)
		find_weight(c);
	for (uint32_t k = 0; k < c->count && c->type < 0; k++)
		if (titled_one_of(c, (int)k, types) && (int)k != c->source && (int)k != c->target && (int)k != c->weight)
			c->type = (int)k;
	return rc;
}

/* ---- the whole -------------------------------------------------------------- */

/* Looks at the rows from the present line on; those of l->fields are the first one's. */
static int see_rows(struct look *l, const struct sl__line *first)
{
	struct sl__edge_columns *c = l->c;
	struct sl__line line = *first;

	l->least = malloc(((size_t)c->count + 1) * sizeof *l->least);
	l->most = malloc(((size_t)c->count + 1) * sizeof *l->most);
	if (!l->least || !l->most)
		return SL_NOMEM;
	for (uint32_t k = 0; k < c->count; k++) {
		l->least[k] = INFINITY;
		l->most[k] = -INFINITY;
	}
	struct sl__triples triples;
	int rows = 0, rc = 0;
	sl__triples_init(&triples, c->account);
	bool more = !split(l, &line) || next_row(l, &line);
	for (; !rc && more && rows < SAMPLE; rows++, more = next_row(l, &line)) {
		see_row(l);
		if (c->count == 3 && !c->titled && l->fields.count == 3)
			rc = sl__triples_add(&triples, &l->fields);
	}
	find_times(l);
	c->ratings = c->count == 4 && !c->titled && c->seen[3] & SL__SEEN_TIME && l->least[2] >= 0 &&
		     l->most[2] <= RATING_MOST && l->most[2] > l->least[2] &&
		     !((c->seen[0] | c->seen[1]) & SL__SEEN_WORD);
	l->relation = !rc && may_relate(c) && sl__triples_have_relations(&triples);
	if (l->relation) {
		const char *word = triples.words[1].bytes;
		sl__field_show(&(struct sl__field){word, strlen(word)}, c->example, sizeof c->example);
	}
	sl__triples_finish(&triples);
	return rc;
}

static int look_at(struct look *l, const char *file, struct sl_error *err)
{
	struct sl__edge_columns *c = l->c;
	struct sl__fields first = {0};
	struct sl__line line, later;
	int rc = 0;

	if (!first_content(l, &line)) {
		c->lines = l->line;
		return 0;
	}
	int64_t number = l->line;
	if (!c->marker)
		c->separator = guess_separator(l, &line);
	l->fields.separator = first.separator = c->separator;
	bool readable = !sl__fields_split(&first, line.at, line.end);
	c->count = (uint32_t)first.count;  /* for rows that begin with # */
	struct look behind = *l;
	bool second = next_row(l, &later);
	bool header = readable && is_header(l, &first, second);
	c->shifted = header && second && l->fields.count == first.count + 1;
	rc = make_columns(c, (uint32_t)first.count + c->shifted);
	if (!rc && header) {
		c->header = number;
		take_titles(c, &first);
		c->first = second ? l->line : 0;
		rc = second ? see_rows(l, &later) : 0;
	} else if (!rc) {
		c->first = number;
		behind.fields = l->fields;
		*l = behind;
		rc = see_rows(l, &line);
		if (!rc)
			titles_of_comment(l);
	}
	free(first.scratch);
	if (rc)
		return sl_error_at(err, rc, file, 0, SL_NO_MEMORY "reading.");
	rc = c->count < 2 ? 0 : find_roles(l, file, err);
	if (!rc && c->count >= 2 && c->commented && !c->konect)
		count_comment_rows(l, number);
	return rc;
}

int sl__edge_columns_find(struct sl__edge_columns *c, const unsigned char *bytes, size_t size, bool whole,
			  const struct sl_read_options *options, const char *file, struct sl_account *account,
			  struct sl_error *err)
{
	struct look l = {.c = c, .options = options, .at = (const char *)bytes,
			 .begin = (const char *)bytes, .end = (const char *)bytes + size,
			 .whole = whole};

	*c = (struct sl__edge_columns){.separator = ' ', .source = -1, .target = -1, .weight = -1, .type = -1,
				       .account = account};
	sl__fields_init(&l.fields);
	int rc = look_at(&l, file, err);
	sl__fields_finish(&l.fields);
	free(l.least);
	free(l.most);
	return rc;
}

void sl__edge_columns_finish(struct sl__edge_columns *c)
{
	free(c->title);
	free(c->seen);
	c->title = NULL;
	c->seen = NULL;
}

/* ---- telling ---------------------------------------------------------------- */

static const char *why_left_out(const struct sl__edge_columns *c, int k)
{
	static const char *const signs[] = {"sign", NULL};

	if (k == c->type)
		return "the direction";
	if (k == 1 && c->relation)
		return "relations";
	if (k == 0 && (c->shifted || (c->titled && !c->title[0][0])))
		return "row names";
	if (!(c->seen[k] & SL__SEEN))
		return "empty";
	if (titled_one_of(c, k, times) || c->seen[k] & SL__SEEN_TIME)
		return "time";
	if (titled_one_of(c, k, signs))
		return "a sign, not used";
	if (c->seen[k] & (SL__SEEN_WORD | SL__SEEN_DICT))
		return "words";
	return titled_one_of(c, k, keys) ? "identifiers" : "numbers, not used";
}

void sl__edge_columns_tell(const struct sl__edge_columns *c, const struct sl_read_options *options,
			   struct sl_taken *taken)
{
	for (int k = 0; k < (int)c->count; k++) {
		enum sl_taken_role role = k == c->source ? SL_TAKEN_SOURCE : k == c->target ? SL_TAKEN_TARGET :
					  k == c->weight ? SL_TAKEN_WEIGHT : SL_TAKEN_LEFT_OUT;
		bool unasked = role == SL_TAKEN_LEFT_OUT && !strncmp(why_left_out(c, k), "numbers", 7);
		sl_taken_add_columns(taken, (uint32_t)k + 1, 1, role, c->titled ? c->title[k] : NULL,
				     role == SL_TAKEN_LEFT_OUT ? why_left_out(c, k) : NULL);
		if (unasked && c->weight < 0 && !options->weight_column)
			sl_taken_add_note(taken, true, "Column %d holds numbers, which are left out; weight=%d takes them as "
					  "weights", k + 1, k + 1);
	}
	if (c->relation)
		sl_taken_add_note(taken, true, "Column 2 holds relations, such as \"%s\", so the edges join columns 1 and 3; "
				  "target=2 joins columns 1 and 2", c->example);
	else if (c->count == 3 && !c->titled && !c->chosen && c->seen[1] & SL__SEEN_WORD && c->seen[2] & SL__SEEN_WORD)
		sl_taken_add_note(taken, false, "Column 3 holds words, which are left out; target=3 joins columns 1 and 3");
	if (c->weight < 0 && c->count > 2 && c->seen[2] & SL__SEEN_TIME && !options->weight_column)
		sl_taken_add_note(taken, true, "Column 3 looks like times (seconds since 1970) and is left out; weight=3 takes "
				  "it as weights");
}
