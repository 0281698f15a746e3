/* text_columns.c -- for text.c: splits a line into fields, and finds the kinds of the columns. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/formats/points/text_internal.h"

#define MAX_WORD_COLUMNS 250   /* the server stores 256 columns of labels for a graph */
#define MAX_CATEGORIES 65534   /* a column with more different words contains labels only if an option says so */

/* ---- fields --------------------------------------------------------------------- */

static const char *skip_blanks(const struct sl__text *f, const char *p, const char *end)
{
	while (p < end && sl__is_blank(*p) && !(f->separator == '\t' && *p == '\t'))
		p++;
	return p;
}

static inline bool separates(const struct sl__text *f, char c)
{
	return f->separator == ' ' ? sl__is_blank(c) : c == f->separator;
}

static int quote_error(struct sl__text *f)
{
	return sl__source_fail(f->t->source, SL_BADDATA, f->t->err, "A quoted field does not end on its line, or something "
			       "other than a separator follows its closing quote.");
}

/* True if the quote at p ends its field: a separator or the end of the line follows, perhaps after blanks. */
static bool closes(const struct sl__text *f, const char *p, const char *end)
{
	const char *next = f->separator == ' ' ? p + 1 : skip_blanks(f, p + 1, end);
	return next >= end || separates(f, *next);
}

/* *at: after the opening quote; moved to the separator, or to end. A quote is doubled inside a field, or, as R's
 * write.table() writes it, follows a backslash. */
static int take_quoted(struct sl__text *f, struct sl__field *out, const char **at, const char *end)
{
	const char *p = *at;
	char *to = f->scratch + f->scratch_used;
	out->text = to;
	for (; p < end; p++) {
		bool escaped = *p == '\\' && p + 1 < end && p[1] == '"' && !closes(f, p + 1, end);
		if (*p == '"' && (p + 1 == end || p[1] != '"'))
			break;
		p += *p == '"' || escaped;
		*to++ = *p;
	}
	if (p >= end || !closes(f, p, end))
		return quote_error(f);
	out->length = (size_t)(to - out->text);
	*to++ = '\n';  /* stops the parsers of numbers */
	f->scratch_used = (size_t)(to - f->scratch);
	*at = f->separator == ' ' ? p + 1 : skip_blanks(f, p + 1, end);
	return 0;
}

/* Reads the next field of the line; moves *at to the one after it (beyond end: there is none). 1: a field, 0: none. */
int sl__text_next_field(struct sl__text *f, const char **at, const char *end, struct sl__field *out)
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
		for (; p < end && !separates(f, *p); p++)
			if (*p == '"' && f->separator == ' ')
				return sl__source_fail(f->t->source, SL_BADDATA, f->t->err, "A quote is inside a field that "
						       "does not begin with one; fields with quotes must be \"quoted\".");
		out->text = from;
		out->length = (size_t)(p - from);
		while (out->length && sl__is_blank(out->text[out->length - 1]))
			out->length--;
	}
	*at = p + 1;
	return 1;
}

int sl__text_start_line(struct sl__text *f, const struct sl__line *line)
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

/* True for words that stand for a missing number: those of R, pandas, SAS, and of spreadsheets' errors. */
bool sl__text_is_missing(const struct sl__field *field)
{
	static const char *const words[] = {
		"", "na", "n/a", "nan", "null", "none", "?", "-", ".", "<na>", "-nan", "#n/a", "#na", "#n/a n/a", "#div/0!",
		"#value!", "#ref!", "#name?", "#num!", "#null!", "1.#ind", "-1.#ind", "1.#qnan", "-1.#qnan",
	};
	if (field->length > 8 || (field->length && sl__is_digit(field->text[0]) && field->text[1] != '.'))
		return false;
	for (size_t k = 0; k < sizeof words / sizeof *words; k++)
		if (field->length == strlen(words[k]) && !strncasecmp(field->text, words[k], field->length))
			return true;
	return false;
}

bool sl__text_is_number(const struct sl__field *field)
{
	float value;
	return sl__text_is_missing(field) || sl__field_float(field, &value);
}

/* The number of fields, without storing them. */
static uint32_t count_fields(const struct sl__text *f, const char *at, const char *end)
{
	uint32_t count = 0;
	for (at = skip_blanks(f, at, end); at < end || (count && f->separator != ' '); count++) {
		bool quoted = at < end && *at == '"';
		for (at += quoted; at < end && (quoted || !separates(f, *at)); at++)
			quoted ^= *at == '"';
		if (at >= end) {
			count++;
			break;
		}
		at = skip_blanks(f, at + 1, end);
	}
	return count;
}

bool sl__text_is_comment(const struct sl__text *f, const struct sl__line *line)
{
	if (!sl__marks_comment(line->at, line->end))
		return false;
	const char *mark = skip_blanks(f, line->at, line->end) + 1;
	if (!f->started || (f->separator == ' ' && (mark == line->end || sl__is_blank(*mark))))
		return true;
	/* R writes no title over the row names, so the first row may have a field more than the header */
	uint32_t count = count_fields(f, line->at, line->end);
	return !(count == f->expected || (!f->column && count == f->expected + 1));
}

int sl__text_next_line(struct sl__text *f, struct sl__line *line)
{
	int rc;
	while ((rc = sl__source_line(f->t->source, line, f->t->err)) > 0) {
		const char *p = line->at;
		while (p < line->end && sl__is_blank(*p))
			p++;
		f->blank_lines += p == line->end;
		if (p == line->end)
			continue;
		if (!sl__text_is_comment(f, line))
			return 1;
		f->comment_lines++;
		f->late_comments += f->started;
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

/* True if an option names column c, by its title or its number, from 1. */
static bool chosen(const struct sl__text *f, const char *option, uint32_t c)
{
	char number[16];
	if (!option || !*option)
		return false;
	if (f->titles && !strcmp(option, f->column[c].title))
		return true;
	snprintf(number, sizeof number, "%u", c + 1);
	return !strcmp(option, number);
}

static int option_error(struct sl__text *f, const char *name, const char *option)
{
	char pointer[40];
	snprintf(pointer, sizeof pointer, "/%s", name);
	return sl_error_field(f->t->err, SL_BADPARAM, pointer, "%s is \"%.60s\", but %s has no such column; it must be "
			      "a title of its header or a number from 1 to "
			      "%u.", name, option, sl__source_name(f->t->source), f->columns);
}

/* The column that an option names, from 1; 0: there is none. */
static uint32_t find_column(const struct sl__text *f, const char *option)
{
	for (uint32_t c = 0; c < f->columns; c++)
		if (chosen(f, option, c))
			return c + 1;
	return 0;
}

/* Marks the columns that label_column lists. If there is only one, its title may contain commas. */
static int use_labels(struct sl__text *f, const char *option)
{
	uint32_t whole = find_column(f, option);
	const char *at = option;
	char item[80];
	while (at && *at) {
		size_t length = whole ? strlen(at) : strcspn(at, ",");
		snprintf(item, sizeof item, "%.*s", (int)length, at);
		uint32_t c = whole ? whole : find_column(f, item);
		at += length + (at[length] == ',');
		if (!c || f->column[c - 1].use == SL__NAME)
			return option_error(f, "label_column", item);
		f->column[c - 1].use = SL__LABEL;
		if (!f->first_label)
			f->first_label = c;
	}
	return 0;
}

/* Marks the columns that options name. */
static int use_options(struct sl__text *f)
{
	const char *names = f->t->options->name_column, *labels = f->t->options->label_column;
	uint32_t c = names && *names ? find_column(f, names) : 0;
	if (names && *names && !c)
		return option_error(f, "name_column", names);
	if (c)
		f->column[c - 1].use = SL__NAME;
	return labels && *labels ? use_labels(f, labels) : 0;
}

/* Marks the columns that ignore_columns lists; *words: it lists all columns of words. */
static int ignore(struct sl__text *f, bool *words)
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
				f->column[c].use = SL__IGNORED;
			}
		if (!found && strcmp(item, "words"))
			return option_error(f, "ignore_columns", item);
		*words |= !found;
	}
	return 0;
}

const char *sl__text_title(const struct sl__text *f, uint32_t c, char out[80])
{
	if (f->titles && f->column[c].title[0])
		snprintf(out, 80, "%u (\"%s\")", c + 1, f->column[c].title);
	else
		snprintf(out, 80, "%u", c + 1);
	return out;
}

static int add_words(struct sl__text *f, uint32_t c)
{
	struct sl__texts *grown = NULL;
	char which[80];
	if (f->word_columns == MAX_WORD_COLUMNS)
		return sl__source_fail(f->t->source, SL_BADDATA, f->t->err, "Column %s has words, as %d columns before it; "
				       "no more can be labels. ignore_columns leaves out columns, and ignore_columns=words "
				       "all that hold words.", sl__text_title(f, c, which), MAX_WORD_COLUMNS);
	grown = realloc(f->words, ((size_t)f->word_columns + 1) * sizeof *grown);
	if (!grown)
		return sl__table_memory_error(f->t);
	f->words = grown;
	f->words[f->word_columns] = (struct sl__texts){.column = c};
	sl__names_init(&f->words[f->word_columns++].names);
	return 0;
}

/* Chooses columns of names and of labels by their titles, unless options name them. */
static void use_titles(struct sl__text *f)
{
	static const char *const names[] = {"name", "names", "id", "ids", "index", NULL};
	static const char *const labels[] = {"label", "labels", "class", "target", "group", "cluster", "category", NULL};
	bool name = f->t->options->name_column, label = f->t->options->label_column;
	for (uint32_t c = 0; f->titles && c < f->columns; c++) {
		struct sl__column *column = &f->column[c];
		if (column->use != SL__COORDINATE)
			continue;
		/* an empty title over the first column: a data frame's row names */
		if (!name && (one_of(column->title, names) || (c == 0 && !column->title[0]))) {
			column->use = SL__NAME;
			name = true;
		} else if (!label && one_of(column->title, labels)) {
			column->use = SL__LABEL;
			column->titled = label = true;
		}
	}
}

/* Determines the use of each column from options, titles and the first line of points. */
static int choose_columns(struct sl__text *f)
{
	bool without_words = false;
	uint64_t coordinates = 0;
	int rc = ignore(f, &without_words);
	if (!rc)
		rc = use_options(f);
	if (!rc)
		use_titles(f);
	for (uint32_t c = 0; !rc && c < f->columns; c++) {
		struct sl__column *column = &f->column[c];
		if (column->use == SL__COORDINATE && column->words)
			column->use = without_words ? SL__IGNORED : SL__WORDS;
		if (column->use == SL__COORDINATE)
			coordinates++;
		else if (column->use != SL__IGNORED)
			rc = add_words(f, c);
	}
	if (!rc && !coordinates)
		rc = sl__source_fail(f->t->source, SL_BADDATA, f->t->err, "No column of the table holds numbers.");
	return rc ? rc : sl__table_shape(f->t, 0, coordinates, sl__source_name(f->t->source));
}

void sl__text_settle_words(struct sl__text *f)
{
	bool name = f->t->options->name_column, listed = f->t->options->label_column;
	for (uint32_t w = 0; w < f->word_columns; w++)
		name |= f->column[f->words[w].column].use == SL__NAME;
	for (uint32_t w = 0; w < f->word_columns; w++) {
		struct sl__column *column = &f->column[f->words[w].column];
		if (column->use != SL__WORDS)
			continue;
		bool distinct = f->words[w].names.n == f->t->n;
		column->use = !name && distinct ? SL__NAME
			    : listed || f->words[w].names.n > MAX_CATEGORIES ? SL__IGNORED : SL__LABEL;
		name |= column->use == SL__NAME;
	}
}

/* Splits a line; *list grows as needed. */
int sl__text_split(struct sl__text *f, const struct sl__line *line, struct sl__field **list, uint32_t *count)
{
	const char *at = line->at;
	struct sl__field field;
	uint32_t room = 0;
	int rc = sl__text_start_line(f, line);
	*count = 0;
	*list = NULL;
	while (!rc && (rc = sl__text_next_field(f, &at, line->end, &field)) > 0) {
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

/* True for "0,1,2,3" or ",0,1,2", the titles of a data frame without titles. */
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

/* True for numbers such as "2,5". */
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

bool sl__text_is_header(const struct sl__field *first, uint32_t count, const struct sl__field *second,
		      uint32_t second_count)
{
	uint32_t shift = second_count == count + 1;  /* no title over the row names, as R writes it */
	if (counts_up(first, count))
		return true;
	for (uint32_t c = 0; c < count && c + shift < second_count; c++)
		if (!sl__text_is_number(&first[c]) && !has_decimal_comma(&first[c]) &&
		    (sl__text_is_number(&second[c + shift]) || has_decimal_comma(&second[c + shift])))
			return true;
	return false;
}

/* If semicolons and commas occur, the commas belong to numbers. */
char sl__text_guess_separator(const char *at, const char *end)
{
	bool quoted = false, semicolon = false;
	for (const char *p = at; p < end; p++) {
		quoted ^= *p == '"';
		semicolon |= !quoted && *p == ';';
	}
	char separator = sl__guess_separator(at, end);
	return separator == ',' && semicolon ? ';' : separator;
}

/* Decides on the columns that are missing in the first line of points, by the first whole line of `text` that has them.
 * Lines that are no rows are left to the reader. */
static int look_further(struct sl__text *f, const struct sl__field *fields, struct sl__line text, bool whole)
{
	bool *open = calloc((size_t)f->columns + 1, sizeof *open);
	uint32_t left = 0;
	if (!open)
		return sl__table_memory_error(f->t);
	for (uint32_t c = 0; c < f->columns; c++)
		left += open[c] = sl__text_is_missing(&fields[c]);
	char *scratch = f->scratch;  /* fields may point into it */
	size_t used = f->scratch_used, room = f->scratch_bytes;
	f->scratch = NULL;
	f->scratch_bytes = 0;
	int rc = 0;
	struct sl__line line;
	while (left && !rc && sl__next_line(&text.at, text.end, &line)) {
		struct sl__field field;
		const char *at = line.at;
		if (text.at >= text.end && !whole)
			break;  /* the line may be longer than what is known of it */
		if (sl__text_is_comment(f, &line))
			continue;
		rc = sl__text_start_line(f, &line);
		for (uint32_t c = 0; !rc && c < f->columns && sl__text_next_field(f, &at, line.end, &field) > 0; c++) {
			if (!open[c] || sl__text_is_missing(&field))
				continue;
			f->column[c].words = !sl__text_is_number(&field);
			open[c] = false;
			left--;
		}
	}
	for (uint32_t c = 0; c < f->columns; c++)
		f->column[c].missing = open[c];
	free(f->scratch);
	f->scratch = scratch;
	f->scratch_used = used;
	f->scratch_bytes = room;
	free(open);
	return rc;
}

int sl__text_make_columns(struct sl__text *f, const struct sl__field *titles, uint32_t title_count,
			  const struct sl__field *fields, uint32_t count, const struct sl__line *later, bool whole)
{
	f->columns = f->expected = count;
	f->column = calloc((size_t)count + 1, sizeof *f->column);
	if (!f->column)
		return sl__table_memory_error(f->t);
	uint32_t shift = titles && count == title_count + 1;
	f->titles = titles != NULL;
	for (uint32_t c = 0; c < count; c++) {
		char shown[48];
		f->column[c].words = !sl__text_is_number(&fields[c]);
		if (f->column[c].words && has_decimal_comma(&fields[c]))
			return sl__source_fail(f->t->source, SL_BADDATA, f->t->err, "Column %u has \"%s\"; decimals must be "
					       "written with a point.", c + 1, sl__field_show(&fields[c], shown, sizeof shown));
		if (titles && c >= shift && c - shift < title_count)
			sl__field_show(&titles[c - shift], f->column[c].title, sizeof f->column[c].title);
	}
	int rc = look_further(f, fields, *later, whole);
	struct sl__column *last = &f->column[count - 1];
	if (!rc && last->missing && !last->title[0] && !fields[count - 1].length && count > 2)
		last->use = SL__IGNORED;  /* a separator ends each line */
	return rc ? rc : choose_columns(f);
}
