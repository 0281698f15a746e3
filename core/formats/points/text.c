/* text.c -- a table of points as text: comma, tab or otherwise separated, with or without a header.
 *
 * What a column is, the first two lines tell: the second line's fields are numbers or words, and the first is a
 * header when it has a word over a number (or only numbers that count the columns, as data frames without titles
 * are written). After that every line is one pass over its bytes: numbers go straight into the table. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/formats/points/table.h"
#include "core/formats/text/fields.h"
#include "core/formats/text/names.h"

enum column_use { COORDINATE, NAME, LABEL, WORDS, IGNORED };

struct column {
	char title[64];
	enum column_use use;
	bool words;              /* no number in the first line of points */
};

/* The words of one column: each text once, and which one each row has. */
struct texts {
	struct sl__names names;
	uint32_t *value;
	uint64_t capacity;
	uint32_t column;
};

struct text {
	struct sl__table *t;
	char separator;
	uint32_t columns;
	struct column *column;   /* [columns] */
	struct texts words[2];   /* columns of words, left to right */
	int word_columns;
	char *scratch;           /* a line's quoted fields, unquoted */
	size_t scratch_bytes, scratch_used;
	bool titles;
};

/* ---- fields --------------------------------------------------------------------- */

static inline bool is_blank(char c) { return c == ' ' || c == '\t'; }

static const char *skip_blanks(const struct text *f, const char *p, const char *end)
{
	while (p < end && is_blank(*p) && !(f->separator == '\t' && *p == '\t'))
		p++;
	return p;
}

static inline bool separates(const struct text *f, char c)
{
	return f->separator == ' ' ? is_blank(c) : c == f->separator;
}

static int quote_error(struct text *f)
{
	return sl__source_fail(f->t->source, SL_BADDATA, f->t->err, "A quoted field does not end on its line, or something "
			       "other than a separator follows its closing quote.");
}

/* *at is behind the opening quote. */
static int take_quoted(struct text *f, struct sl__field *out, const char **at, const char *end)
{
	const char *p = *at;
	char *to = f->scratch + f->scratch_used;
	out->text = to;
	for (; p < end; p++) {
		if (*p == '"' && (p + 1 == end || p[1] != '"'))
			break;
		p += *p == '"';
		*to++ = *p;
	}
	if (p >= end)
		return quote_error(f);
	out->length = (size_t)(to - out->text);
	*to++ = '\n';  /* what number parsers stop at */
	f->scratch_used = (size_t)(to - f->scratch);
	*at = skip_blanks(f, p + 1, end);
	return *at < end && !separates(f, **at) && f->separator != ' ' ? quote_error(f) : 0;
}

/* The next field of the line, *at moved to the one after it (beyond end: there is none). 1: a field, 0: none. */
static int next_field(struct text *f, const char **at, const char *end, struct sl__field *out)
{
	const char *p = *at;
	if (p > end || (f->separator == ' ' && (p = skip_blanks(f, p, end)) >= end))
		return 0;
	p = skip_blanks(f, p, end);
	if (p < end && *p == '"') {
		p++;
		int rc = take_quoted(f, out, &p, end);
		if (rc)
			return rc;
	} else {
		const char *from = p;
		while (p < end && !separates(f, *p))
			p++;
		out->text = from;
		out->length = (size_t)(p - from);
		while (out->length && is_blank(out->text[out->length - 1]))
			out->length--;
	}
	*at = p + 1;
	return 1;
}

static int start_line(struct text *f, const struct sl__line *line)
{
	size_t bytes = (size_t)(line->end - line->at) + 2;
	f->scratch_used = 0;
	if (f->scratch_bytes >= 2 * bytes)
		return 0;
	char *grown = realloc(f->scratch, 2 * bytes);
	if (!grown)
		return sl__table_memory_error(f->t);
	f->scratch = grown;
	f->scratch_bytes = 2 * bytes;
	return 0;
}

/* Words that stand for a number that is not known. */
static bool is_missing(const struct sl__field *field)
{
	static const char *const words[] = {"", "na", "n/a", "nan", "null", "none", "?", "-"};
	for (size_t k = 0; k < sizeof words / sizeof *words; k++)
		if (field->length == strlen(words[k]) && !strncasecmp(field->text, words[k], field->length))
			return true;
	return false;
}

static bool is_number(const struct sl__field *field)
{
	float value;
	return is_missing(field) || sl__field_float(field, &value);
}

/* The next line that is neither blank nor a comment. */
static int next_content(struct text *f, struct sl__line *line)
{
	int rc;
	while ((rc = sl__source_line(f->t->source, line, f->t->err)) > 0) {
		if (sl__source_line_number(f->t->source) == 1 && line->end - line->at >= 3 &&
		    !memcmp(line->at, "\xef\xbb\xbf", 3))
			line->at += 3;
		const char *p = line->at;
		while (p < line->end && is_blank(*p))
			p++;
		if (p < line->end && *p != '#')
			return 1;
	}
	return rc;
}

/* ---- columns --------------------------------------------------------------------- */

static bool one_of(const char *title, const char *const *words)
{
	for (; *words; words++)
		if (!strcasecmp(title, *words))
			return true;
	return false;
}

/* Whether an option means column c: by its title or its number, from 1. */
static bool chosen(const struct text *f, const char *option, uint32_t c)
{
	char number[16];
	if (!option || !*option)
		return false;
	if (f->titles && !strcmp(option, f->column[c].title))
		return true;
	snprintf(number, sizeof number, "%u", c + 1);
	return !strcmp(option, number);
}

static int option_error(struct text *f, const char *name, const char *option)
{
	char pointer[40];
	snprintf(pointer, sizeof pointer, "/%s", name);
	return sl_error_field(f->t->err, SL_BADPARAM, pointer, "%s is \"%.60s\", but %s has no such column; it should be a "
			"title "
			      "of its header or a number from 1 to %u.", name, option, sl__source_name(f->t->source), f->columns);
}

/* Columns that options name. */
static int use_options(struct text *f, bool *name, bool *label)
{
	const char *names = f->t->options->name_column, *labels = f->t->options->label_column;
	for (uint32_t c = 0; c < f->columns; c++) {
		if (!*name && chosen(f, names, c)) {
			f->column[c].use = NAME;
			*name = true;
		} else if (!*label && chosen(f, labels, c)) {
			f->column[c].use = LABEL;
			*label = true;
		}
	}
	if (names && *names && !*name)
		return option_error(f, "name_column", names);
	if (labels && *labels && !*label)
		return option_error(f, "label_column", labels);
	*name |= names != NULL;
	*label |= labels != NULL;
	return 0;
}

/* Columns that ignore_columns lists; *words: all that hold words. */
static int ignore(struct text *f, bool *words)
{
	const char *at = f->t->options->ignore_columns;
	char item[80];
	*words = false;
	while (at && *at) {
		size_t length = strcspn(at, ",");
		bool found = false;
		snprintf(item, sizeof item, "%.*s", (int)length, at);
		at += length + (at[length] == ',');
		for (uint32_t c = 0; c < f->columns && !found; c++)
			if (chosen(f, item, c)) {
				found = true;
				f->column[c].use = IGNORED;
			}
		if (!found && strcmp(item, "words"))
			return option_error(f, "ignore_columns", item);
		*words |= !found;
	}
	return 0;
}

static const char *title_of(const struct text *f, uint32_t c, char out[80])
{
	if (f->titles && f->column[c].title[0])
		snprintf(out, 80, "%u (\"%s\")", c + 1, f->column[c].title);
	else
		snprintf(out, 80, "%u", c + 1);
	return out;
}

static int too_many_words(struct text *f, uint32_t c)
{
	char which[80];
	return sl__source_fail(f->t->source, SL_BADDATA, f->t->err, "Column %s holds words, which are no coordinates. One "
			       "column may name the points and one label them (name_column, label_column say which); "
			       "ignore_columns leaves others out, ignore_columns=words all of them.", title_of(f, c, which));
}

/* What each column is, as far as its title and the first line of points tell. */
static int choose_columns(struct text *f)
{
	static const char *const names[] = {"name", "names", "id", "ids", "index", NULL};
	static const char *const labels[] = {"label", "labels", "class", "target", "group", "cluster", "category", NULL};
	bool name = false, label = false, without_words = false;
	uint64_t coordinates = 0;
	int rc = ignore(f, &without_words);
	if (!rc)
		rc = use_options(f, &name, &label);
	for (uint32_t c = 0; !rc && c < f->columns; c++) {
		struct column *column = &f->column[c];
		if (column->use == COORDINATE && f->titles) {
			/* an empty title over the first column: a data frame's row names */
			if (!name && (one_of(column->title, names) || (c == 0 && !column->title[0]))) {
				column->use = NAME;
				name = true;
			} else if (!label && one_of(column->title, labels)) {
				column->use = LABEL;
				label = true;
			}
		}
		if (column->use == COORDINATE && column->words)
			column->use = without_words ? IGNORED : WORDS;
		if (column->use == IGNORED)
			continue;
		if (column->use == COORDINATE) {
			coordinates++;
			continue;
		}
		if (f->word_columns == 2)
			return too_many_words(f, c);
		sl__names_init(&f->words[f->word_columns].names);
		f->words[f->word_columns++].column = c;
	}
	if (!rc && !coordinates)
		rc = sl__source_fail(f->t->source, SL_BADDATA, f->t->err, "No column of the table holds numbers.");
	return rc ? rc : sl__table_shape(f->t, 0, coordinates, sl__source_name(f->t->source));
}

/* Splits a whole line; *list is grown as needed. */
static int split_line(struct text *f, const struct sl__line *line, struct sl__field **list, uint32_t *count)
{
	const char *at = line->at;
	struct sl__field field;
	uint32_t room = 0;
	int rc = start_line(f, line);
	*count = 0;
	*list = NULL;
	while (!rc && (rc = next_field(f, &at, line->end, &field)) > 0) {
		rc = 0;
		if (*count == room) {
			room = room * 2 + 64;
			struct sl__field *grown = realloc(*list, room * sizeof **list);
			if (!grown)
				return sl__table_memory_error(f->t);
			*list = grown;
		}
		(*list)[(*count)++] = field;
	}
	return rc;
}

/* "0,1,2,3", or ",0,1,2": titles that a data frame without any gets. */
static bool counts_up(const struct sl__field *list, uint32_t count)
{
	uint32_t first = list[0].length == 0;
	if (count - first < 2)
		return false;
	for (uint32_t c = first; c < count; c++) {
		char number[16];
		int length = snprintf(number, sizeof number, "%u", c - first);
		if (list[c].length != (size_t)length || memcmp(list[c].text, number, (size_t)length))
			return false;
	}
	return true;
}

static bool is_header(const struct sl__field *first, uint32_t count, const struct sl__field *second,
		      uint32_t second_count)
{
	uint32_t shift = second_count == count + 1;  /* no title over the row names, as R writes it */
	if (counts_up(first, count))
		return true;
	for (uint32_t c = 0; c < count && c + shift < second_count; c++)
		if (!is_number(&first[c]) && is_number(&second[c + shift]))
			return true;
	return false;
}

/* "2,5" */
static bool has_decimal_comma(const struct sl__field *field)
{
	int commas = 0;
	for (size_t i = 0; i < field->length; i++) {
		char c = field->text[i];
		commas += c == ',';
		if (c != ',' && c != '-' && c != '+' && (c < '0' || c > '9'))
			return false;
	}
	return commas == 1 && field->length > 2;
}

/* Semicolons before commas: where both occur, the commas belong to numbers. */
static char guess_separator(const char *at, const char *end)
{
	bool quoted = false, semicolon = false;
	for (const char *p = at; p < end; p++) {
		quoted ^= *p == '"';
		semicolon |= !quoted && *p == ';';
	}
	char separator = sl__guess_separator(at, end);
	return separator == ',' && semicolon ? ';' : separator;
}

static int make_columns(struct text *f, const struct sl__field *titles, uint32_t title_count,
			const struct sl__field *fields, uint32_t count)
{
	f->columns = count;
	f->column = calloc((size_t)count + 1, sizeof *f->column);
	if (!f->column)
		return sl__table_memory_error(f->t);
	uint32_t shift = titles && count == title_count + 1;
	f->titles = titles != NULL;
	for (uint32_t c = 0; c < count; c++) {
		char shown[48];
		f->column[c].words = !is_number(&fields[c]);
		if (f->column[c].words && has_decimal_comma(&fields[c]))
			return sl__source_fail(f->t->source, SL_BADDATA, f->t->err, "Column %u has \"%s\"; decimals are written "
					       "with a point.", c + 1, sl__field_show(&fields[c], shown, sizeof shown));
		if (titles && c >= shift && c - shift < title_count)
			sl__field_show(&titles[c - shift], f->column[c].title, sizeof f->column[c].title);
	}
	return choose_columns(f);
}

/* ---- rows ------------------------------------------------------------------------ */

static int add_text(struct text *f, struct texts *w, const struct sl__field *field)
{
	uint64_t row = f->t->n;
	if (!sl__valid_utf8(field->text, field->length))
		return sl__source_fail(f->t->source, SL_BADDATA, f->t->err, "Column %u is not valid UTF-8; convert the file "
				       "(iconv -t UTF-8).", w->column + 1);
	if (row == w->capacity) {
		uint64_t room = w->capacity * 2 + 1024;
		uint32_t *grown = realloc(w->value, room * sizeof *grown);
		if (!grown)
			return sl__table_memory_error(f->t);
		w->value = grown;
		w->capacity = room;
	}
	return sl__names_add(&w->names, field->text, field->length, &w->value[row]) ? sl__table_memory_error(f->t) : 0;
}

static int add_number(struct text *f, uint32_t c, const struct sl__field *field, float *out)
{
	char which[80], shown[48], hint[80];
	int rc;
	if (!sl__field_float(field, out)) {
		if (!is_missing(field))
			return sl__source_fail(f->t->source, SL_BADDATA, f->t->err, "Column %s has \"%s\"; it should be a number, "
					       "as above.", title_of(f, c, which), sl__field_show(field, shown, sizeof shown));
		*out = NAN;
	}
	if (isfinite(*out) || sl__table_drop(f->t, f->t->n, &rc))
		return isfinite(*out) ? 0 : rc;
	return sl__source_fail(f->t->source, SL_BADDATA, f->t->err, "Column %s is %s; coordinates are finite "
			       "single-precision numbers.%s", title_of(f, c, which),
			       !field->length ? "empty" : sl__field_show(field, shown, sizeof shown),
			       sl__table_drop_hint(f->t, "points", hint, sizeof hint));
}

static int count_error(struct text *f, uint32_t found)
{
	return sl__source_fail(f->t->source, SL_BADDATA, f->t->err, "%u %s, separated by %s; the lines above have %u.",
			found,
			       found == 1 ? "field" : "fields", sl__separator_name(f->separator), f->columns);
}

static int add_row(struct text *f, const struct sl__line *line)
{
	struct sl__table *t = f->t;
	struct sl__field field;
	const char *at = line->at;
	uint32_t c = 0;
	int rc = start_line(f, line), word = 0;
	if (!rc && t->n + 1 > (t->options->read.max_nodes ? t->options->read.max_nodes : UINT32_MAX - 16))
		rc = sl__table_shape(t, t->n + 1, t->d, sl__source_name(t->source));
	if (!rc && t->options->read.max_entries)
		rc = sl__table_shape(t, t->n + 1, t->d, sl__source_name(t->source));
	if (!rc)
		rc = sl__table_reserve(t, (t->n + 1) * t->d, 0);
	if (rc)
		return rc;
	float *to = (float *)t->value + t->n * t->d;
	while ((rc = next_field(f, &at, line->end, &field)) > 0) {
		if (c >= f->columns) {
			c++;
			continue;
		}
		if (f->column[c].use == IGNORED)
			rc = 0;
		else if (f->column[c].use == COORDINATE)
			rc = add_number(f, c, &field, to++);
		else
			rc = add_text(f, &f->words[word++], &field);
		if (rc)
			return rc;
		c++;
	}
	if (!rc && c != f->columns)
		return count_error(f, c);
	t->n += !rc;
	return rc;
}

/* The first line, and whether the second shows it to be a header. */
static int read_start(struct text *f)
{
	struct sl__line line, kept;
	struct sl__field *first = NULL, *second = NULL;
	uint32_t count = 0, second_count = 0;
	char *copy = NULL, *unquoted = NULL;
	int rc = next_content(f, &line);
	if (rc <= 0)
		return rc ? rc : sl_error_at(f->t->err, SL_BADDATA, sl__source_name(f->t->source), 0,
					     "There is no point in the file; a line holds the numbers of one.");
	int64_t number = sl__source_line_number(f->t->source);
	size_t length = (size_t)(line.end - line.at);
	copy = malloc(length + 1);  /* the line buffer moves on */
	if (!copy)
		return sl__table_memory_error(f->t);
	memcpy(copy, line.at, length);
	copy[length] = '\n';
	kept = (struct sl__line){copy, copy + length};
	f->separator = guess_separator(kept.at, kept.end);
	rc = split_line(f, &kept, &first, &count);
	unquoted = f->scratch;  /* first points into it */
	f->scratch = NULL;
	f->scratch_bytes = 0;
	if (!rc)
		rc = next_content(f, &line);
	bool more = rc > 0, header = false;
	if (more) {
		rc = split_line(f, &line, &second, &second_count);
		header = !rc && is_header(first, count, second, second_count);
	}
	bool numbers = false;
	for (uint32_t c = 0; c < count; c++)
		numbers |= is_number(&first[c]);
	if (!rc && !more && !numbers)
		rc = sl__source_fail(f->t->source, SL_BADDATA, f->t->err, "There is a header but no point after it.");
	if (!rc)
		rc = make_columns(f, header ? first : NULL, count, header ? second : first, header ? second_count : count);
	if (!rc && !header) {
		int64_t now = sl__source_line_number(f->t->source);
		sl__source_set_line_number(f->t->source, number);
		rc = add_row(f, &kept);
		sl__source_set_line_number(f->t->source, now);
	}
	if (!rc && more)
		rc = add_row(f, &line);
	free(first);
	free(second);
	free(copy);
	free(unquoted);
	return rc;
}

/* ---- the end ---------------------------------------------------------------------- */

/* Columns of words without a telling title: the first names the points if all its words differ, the last labels. */
static int settle_words(struct text *f)
{
	bool name = f->t->options->name_column, label = f->t->options->label_column;
	for (int w = 0; w < f->word_columns; w++) {
		name |= f->column[f->words[w].column].use == NAME;
		label |= f->column[f->words[w].column].use == LABEL;
	}
	for (int w = 0; w < f->word_columns; w++) {
		struct column *column = &f->column[f->words[w].column];
		if (column->use != WORDS)
			continue;
		if (!name && f->words[w].names.n == f->t->n) {
			column->use = NAME;
			name = true;
		} else if (!label) {
			column->use = LABEL;
			label = true;
		} else {
			return too_many_words(f, f->words[w].column);
		}
	}
	return 0;
}

static int give_names(struct text *f, struct texts *w)
{
	struct sl__table *t = f->t;
	if (w->names.n == t->n) {
		sl__names_give(&w->names, &t->name_bytes, &t->name_at);
		return 0;
	}
	struct sl__names all;  /* some names are those of several points */
	int rc = 0;
	sl__names_init(&all);
	for (uint64_t i = 0; !rc && i < t->n; i++) {
		const char *name = w->names.bytes + w->names.at[w->value[i]];
		rc = sl__names_append(&all, name, strlen(name));
	}
	if (!rc)
		sl__names_give(&all, &t->name_bytes, &t->name_at);
	sl__names_finish(&all);
	return rc ? sl__table_memory_error(t) : 0;
}

static int give_words(struct text *f)
{
	int rc = settle_words(f);
	for (int w = 0; !rc && w < f->word_columns; w++) {
		if (f->column[f->words[w].column].use == NAME) {
			rc = give_names(f, &f->words[w]);
		} else {
			rc = sl__table_take_labels(f->t, &f->words[w].names, f->words[w].value);
			if (!rc)
				f->words[w].value = NULL;
		}
	}
	return rc;
}

int sl__read_points_text(struct sl__table *t, struct sl_points **out)
{
	struct text f = {.t = t};
	struct sl__line line;
	int rc;

	t->type = SL_POINTS_F32;
	rc = read_start(&f);
	while (!rc && (rc = next_content(&f, &line)) > 0)
		rc = add_row(&f, &line);
	if (!rc)
		rc = give_words(&f);
	for (int w = 0; w < f.word_columns; w++) {
		sl__names_finish(&f.words[w].names);
		free(f.words[w].value);
	}
	free(f.column);
	free(f.scratch);
	return rc ? rc : sl__table_points(t, out);
}

/* ---- recognition -------------------------------------------------------------------- */

bool sl__looks_like_points(const unsigned char *bytes, int64_t size)
{
	const char *at = (const char *)bytes, *end = at + size;
	struct sl__fields fields;
	bool points = false;
	int lines = 0;

	sl__fields_init(&fields);
	while (at < end && lines < 2 && !points) {
		const char *stop = memchr(at, '\n', (size_t)(end - at));
		/* a line that does not end in sight is longer than any edge */
		if (!stop)
			stop = end;
		const char *p = at;
		at = stop + 1;
		while (p < stop && (is_blank(*p) || *p == '\r'))
			p++;
		if (p == stop || *p == '#' || *p == '%')
			continue;
		if (lines++ == 0)
			fields.separator = sl__guess_separator(p, stop);
		if (sl__fields_split(&fields, p, stop[-1] == '\r' ? stop - 1 : stop))
			break;
		points = fields.count >= 4;
		for (int k = 0; k < 2 && k < fields.count && !points; k++) {
			float value;
			points = memchr(fields.field[k].text, '.', fields.field[k].length) && stop < end &&
				 sl__field_float(&fields.field[k], &value);
		}
	}
	sl__fields_finish(&fields);
	return points;
}
