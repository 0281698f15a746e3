/* text_look.c -- for text.c: decides by the first lines of a table which character separates its fields, whether the
 * first line is a header, and what each column holds.
 *
 * The separator gives the first two lines as many fields, and most numbers. For the header see is_header(). A column
 * holds numbers if its first value is one. If some of its values are formatted (12%, 1,234), all must be of one form
 * (core/formats/text/formatted.h), else the column holds words. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/account.h"
#include "core/formats/points/text_internal.h"

#define YEAR_FROM 1000   /* titles that count are years or the like if they lie between these */
#define YEAR_TO 2999

static bool is_numeric(const struct sl__field *field)
{
	struct sl__formatted number;
	return !sl__text_is_missing(field) && (sl__text_is_number(field) || sl__formatted_parse(field, &number));
}

static bool is_word(const struct sl__field *field)
{
	return !sl__text_is_missing(field) && !is_numeric(field);
}

/* ---- separator -------------------------------------------------------------------- */

/* Splits a line for a look: errors are left to the reader. False: it cannot be split. */
static bool look_at(struct sl__text *f, const struct sl__line *line, struct sl__field **list, uint32_t *count)
{
	struct sl_error *err = f->t->err, ignored;
	f->t->err = &ignored;
	int rc = sl__text_split(f, line, list, count);
	f->t->err = err;
	f->no_memory |= rc == SL_NOMEM;
	return rc == 0;
}

static int count_numbers(struct sl__text *f, const struct sl__line *line)
{
	struct sl__field *list;
	uint32_t count;
	int numbers = 0;
	if (look_at(f, line, &list, &count))
		for (uint32_t c = 0; c < count; c++)
			numbers += is_numeric(&list[c]);
	free(list);
	return numbers;
}

/* True for "a 1,5 2,5 -3": all commas outside quotes are decimal commas of numbers between blanks. */
static bool has_decimal_commas(struct sl__text *f, const struct sl__line *line)
{
	struct sl__field *list;
	uint32_t count;
	int commas = 0;
	bool numbers = look_at(f, line, &list, &count) && count > 1;
	for (uint32_t c = 0; numbers && c < count; c++) {
		bool quoted = list[c].text < line->at || list[c].text > line->end;
		if (quoted || !memchr(list[c].text, ',', list[c].length))
			continue;
		numbers = is_numeric(&list[c]);
		commas++;
	}
	free(list);
	return numbers && commas;
}

/* True if the line is one number, such as "-4.618,95 EUR", or "583,0" below one title. */
static bool is_one_number(const struct sl__line *line, bool one_title)
{
	struct sl__field field = {line->at, (size_t)(line->end - line->at)};
	struct sl__formatted number;
	if (memchr(field.text, '\t', field.length) || memchr(field.text, ';', field.length) ||
	    !sl__formatted_parse(&field, &number))
		return false;
	bool marked = number.percent || number.currency[0] || (strchr(number.body, '.') && strchr(number.body, ','));
	return marked || (one_title && strchr(number.body, ','));
}

/* Excel reads and writes a first line "sep=;". */
static char told_separator(const struct sl__line *line)
{
	const char *p = line->at, *end = line->end;
	if (end - p > 2 && *p == '"' && end[-1] == '"') {
		p++;
		end--;
	}
	bool tells = end - p == 5 && !strncasecmp(p, "sep=", 4) && strchr(",;\t ", p[4]);
	return tells ? p[4] : 0;
}

/* Moves the head behind "sep=;"; the caller rewinds it before. */
static void read_marker(struct sl__text *f, struct sl__line *first)
{
	f->marker = told_separator(first);
	if (f->marker) {
		f->separator = f->marker;
		if (sl__text_next_line(f, first) <= 0)
			first->at = first->end;
	}
}

/* The fields of the first two lines if this character separates them. Returns false if they do not agree. */
static bool try_separator(struct sl__text *f, char separator, const struct sl__line *first, struct sl__line *second)
{
	size_t place = f->head.at;
	f->separator = separator;
	uint32_t count = f->expected = sl__text_count(f, first->at, first->end);
	*second = *first;
	uint32_t below = sl__text_next_line(f, second) > 0 ? sl__text_count(f, second->at, second->end) : count;
	f->head.at = place;
	return (count > 1 || below > 1) && (below == count || below == count + 1);
}

static void choose_separator(struct sl__text *f, const struct sl__line *first)
{
	static const char order[] = {';', ',', ' '};
	struct sl__line second;
	int most = -1;
	char best = sl__guess_separator(first->at, first->end);
	f->started = true;
	bool tabs = try_separator(f, '\t', first, &second);
	uint32_t titles = sl__text_count(f, first->at, first->end);
	if (tabs || is_one_number(&second, second.at != first->at && titles == 1 && !memchr(first->at, ',',
			(size_t)(first->end - first->at)))) {
		f->separator = '\t';
		return;
	}
	bool semicolons = false, others = false;  /* others: semicolons or commas separate both lines alike */
	for (size_t k = 0; k < sizeof order; k++) {
		if (!try_separator(f, order[k], first, &second) || (order[k] == ' ' && others && f->expected < 2))
			continue;
		others |= f->expected > 1;
		semicolons |= order[k] == ';' && f->expected > 1;
		int numbers = count_numbers(f, &second);
		if (numbers > most || (order[k] == ' ' && !semicolons && has_decimal_commas(f, &second))) {
			most = numbers;
			best = order[k];
		}
	}
	f->separator = best;
}

/* ---- values ----------------------------------------------------------------------- */

/* The forms of a number that sl__field_float() reads. */
static uint8_t plain_forms(const struct sl__field *field)
{
	struct sl__formatted number;
	const char *point = memchr(field->text, '.', field->length);
	if (!point)
		return SL__ALL_FORMS;
	if (field->text + field->length - point != 4)
		return SL__POINT_FORMS;
	return sl__formatted_parse(field, &number) ? number.forms : SL__POINT_FORMS;
}

/* True if the value has the form of the column; narrows the forms of the column. */
static bool agrees(struct sl__column *column, const struct sl__formatted *number)
{
	if (column->values && (column->percent != number->percent || strcmp(column->currency, number->currency) != 0))
		return false;
	column->percent = number->percent;
	memcpy(column->currency, number->currency, sizeof column->currency);
	column->forms &= number->forms;
	return column->forms != 0;
}

static void see_formatted(struct sl__column *column, const struct sl__field *field, const struct sl__formatted *number)
{
	column->formatted = true;
	if (!column->example[0])
		sl__field_show(field, column->example, sizeof column->example);
	if (!column->bad[0] && !agrees(column, number))
		sl__field_show(field, column->bad, sizeof column->bad);
}

static bool begins_as_number(const struct sl__field *field)
{
	size_t at = 0;
	while (at < field->length && strchr("+-.$(", field->text[at]))
		at++;
	return at < field->length && sl__is_digit(field->text[at]);
}

static void see_value(struct sl__column *column, uint64_t row, const struct sl__field *field)
{
	struct sl__formatted number;
	double value;
	if (sl__text_is_missing(field)) {
		column->counts = false;
		return;
	}
	bool plain = sl__field_double(field, &value);
	if (!column->values)
		column->plain_first = plain;
	if (plain) {
		if (row == 0)
			column->from = value == 1;
		column->counts &= value == (double)(row + column->from);
		struct sl__formatted same = {.forms = plain_forms(field)};
		column->point |= memchr(field->text, '.', field->length) != NULL;
		if (!column->bad[0] && !agrees(column, &same))
			sl__field_show(field, column->bad, sizeof column->bad);
	} else if (sl__formatted_parse(field, &number)) {
		column->counts = false;
		see_formatted(column, field, &number);
	} else {
		column->counts = false;
		column->has_words = true;
		if (!column->bad[0])
			sl__field_show(field, column->bad, sizeof column->bad);
		if (!column->like[0]) {
			sl__field_show(field, column->like, sizeof column->like);
			if (!begins_as_number(field) && !sl__text_is_truth(column->like))
				column->like[0] = 0;
		}
		if (!column->values)
			column->words = true;
		column->values = true;
		return;
	}
	column->has_numbers = true;
	column->values = true;
}

/* Quoted fields are copied. */
static bool is_quoted(const struct sl__line *line, const struct sl__field *field)
{
	return field->text < line->at || field->text > line->end;
}

static void see_field(struct sl__column *column, const struct sl__line *line, uint64_t row,
		      const struct sl__field *field)
{
	bool quoted = is_quoted(line, field);
	column->filled |= field->length || quoted;
	column->unquoted |= field->length && !quoted;
	see_value(column, row, field);
}

/* Looks at the rows from the place where the head stands. */
static int see_rows(struct sl__text *f)
{
	struct sl__line line;
	f->head_rows = 0;
	for (uint32_t c = 0; c < f->columns; c++) {
		struct sl__column fresh = {.forms = SL__ALL_FORMS, .counts = true};
		f->column[c] = fresh;
	}
	while (sl__text_next_line(f, &line) > 0) {
		const char *at = line.at;
		struct sl__field field;
		struct sl_error *err = f->t->err, ignored;
		int rc = sl__text_start_line(f, &line);
		if (rc)
			return rc;
		if (sl__text_count(f, line.at, line.end) != f->columns)
			continue;  /* the reader reports it */
		f->t->err = &ignored;
		for (uint32_t c = 0; c < f->columns && sl__text_next_field(f, &at, line.end, &field) > 0; c++)
			see_field(&f->column[c], &line, f->head_rows, &field);
		f->t->err = err;
		f->head_rows++;
	}
	return 0;
}

/* ---- the forms of the columns ------------------------------------------------------ */

/* Finds the decimal mark of the file, as options or its values show it. */
static void find_decimal(struct sl__text *f)
{
	bool point = false, comma = false;
	for (uint32_t c = 0; c < f->columns; c++) {
		const struct sl__column *column = &f->column[c];
		if (!column->has_numbers || column->bad[0])
			continue;
		point |= !(column->forms & SL__COMMA_FORMS);
		comma |= !(column->forms & SL__POINT_FORMS);
	}
	char told = f->t->options->decimal;
	f->commas = told ? told == ',' : comma && !point;
	/* spreadsheets separate fields by semicolons where decimals have commas */
	f->decimal = told ? told : point != comma ? (point ? '.' : ',') : f->separator == ',' ? '.'
		   : f->separator == ';' ? ',' : 0;
}

static int form_error(struct sl__text *f, uint32_t c)
{
	char which[80];
	return sl_error_at(f->t->err, SL_BADDATA, sl__source_name(f->t->source), 0, "Column %s has \"%s\", and nothing in "
			   "the file shows whether that is a decimal comma. Use decimal=point or decimal=comma.",
			   sl__text_title(f, c, which), f->column[c].example);
}

static int decimal_error(struct sl__text *f, uint32_t c)
{
	char which[80];
	bool point = f->t->options->decimal == '.';
	return sl_error_at(f->t->err, SL_BADDATA, sl__source_name(f->t->source), 0, "decimal is %s, but column %s has "
			   "numbers with a decimal %s (\"%s\").", point ? "point" : "comma", sl__text_title(f, c, which),
			   point ? "comma" : "point", f->column[c].example[0] ? f->column[c].example : "1.5");
}

/* Settles the form of one column of numbers. */
static int settle_form(struct sl__text *f, uint32_t c)
{
	struct sl__column *column = &f->column[c];
	char told = f->t->options->decimal;
	/* in a file with decimal commas, 1.234 may be 1234 */
	column->formatted |= f->commas && column->point;
	if (column->formatted && column->bad[0]) {
		column->formatted = false;
		column->words = !column->plain_first;  /* else the reader refuses the bad value */
	}
	if (!column->formatted)
		return 0;
	bool point = column->forms & SL__POINT_FORMS, comma = column->forms & SL__COMMA_FORMS;
	if (told && !(told == '.' ? point : comma))
		return decimal_error(f, c);
	column->decimal = point && comma ? f->decimal : point ? '.' : ',';
	if (!column->decimal)
		return form_error(f, c);
	column->forms &= column->decimal == '.' ? SL__POINT_FORMS : SL__COMMA_FORMS;
	if (!column->example[0] && column->decimal == '.')
		column->formatted = false;  /* plain numbers after all */
	else if (!column->example[0])
		snprintf(column->example, sizeof column->example, "1.234");
	return 0;
}

static int settle_forms(struct sl__text *f)
{
	int rc = 0;
	find_decimal(f);
	for (uint32_t c = 0; !rc && c < f->columns; c++) {
		f->column[c].missing = !f->column[c].values;
		if (!f->column[c].words)
			rc = settle_form(f, c);
	}
	return rc;
}

/* ---- header ------------------------------------------------------------------------- */

/* True for "0,1,2,3" or ",0,1,2", the titles of a data frame without titles. "0,1" may as well be a row; then the
 * columns below hold whole numbers. */
static bool counts_up(const struct sl__text *f, const struct sl__field *list, uint32_t count)
{
	uint32_t first = list[0].length == 0;
	uint64_t number;
	if (count - first < 2 || (count == 2 && f->columns == 2 && !f->column[0].point && !f->column[1].point))
		return false;
	for (uint32_t c = first; c < count; c++)
		if (!sl__field_is_whole(&list[c], &number) || number != c - first)
			return false;
	return true;
}

/* True for "name,2019,2020,2021" or "2019,2020,2021". */
static bool are_years(const struct sl__field *list, uint32_t count)
{
	uint64_t first, number;
	uint32_t from = sl__field_is_whole(&list[0], &first) ? 0 : 1;
	if (count - from < (from ? 2 : 3) || !sl__field_is_whole(&list[from], &first))
		return false;
	for (uint32_t c = from; c < count; c++)
		if (!sl__field_is_whole(&list[c], &number) || number != first + c - from)
			return false;
	return first >= YEAR_FROM && first + count <= YEAR_TO;
}

/* True if words of the first line occur nowhere below, in columns whose words do. Titles do so. */
static bool words_stand_alone(struct sl__text *f, const struct sl__field *list, uint32_t count)
{
	struct sl__line line;
	struct sl__field *row, *second = NULL;
	uint32_t fields, alone = 0;
	size_t place = f->head.at, bytes = 0;
	bool recurs = false, *repeats = sl_account_zeros(f->t->account, (size_t)count + 1, sizeof *repeats);
	char *kept = NULL;  /* the fields of the second line, each with its end */
	f->no_memory |= !repeats;
	while (repeats && sl__text_next_line(f, &line) > 0) {
		bool fine = look_at(f, &line, &row, &fields) && fields == count && f->columns == count;
		if (fine && !kept) {
			kept = malloc((size_t)(line.end - line.at) + count + 1);
			second = kept ? sl_account_zeros(f->t->account, count, sizeof *second) : NULL;
			f->no_memory |= !second;
			for (uint32_t c = 0; second && c < count; c++) {
				memcpy(kept + bytes, row[c].text, row[c].length);
				second[c] = (struct sl__field){kept + bytes, row[c].length};
				bytes += row[c].length;
			}
		} else if (fine && second) {
			for (uint32_t c = 0; c < count; c++)
				repeats[c] |= row[c].length && row[c].length == second[c].length &&
					      !memcmp(row[c].text, second[c].text, row[c].length);
		}
		for (uint32_t c = 0; fine && c < count; c++)
			recurs |= f->column[c].words && row[c].length == list[c].length &&
				  !memcmp(row[c].text, list[c].text, row[c].length);
		free(row);
	}
	for (uint32_t c = 0; repeats && c < count && c < f->columns; c++)
		alone += f->column[c].words && repeats[c] && is_word(&list[c]);
	free(repeats);
	free(second);
	free(kept);
	f->head.at = place;
	return alone && !recurs;
}

/* list: the fields of the first line; the columns describe the rows below. shift: R writes no title over the row
 * names. */
static bool is_header(struct sl__text *f, const struct sl__line *first, const struct sl__field *list, uint32_t count,
		      uint32_t shift)
{
	bool quoted = true, unquoted = false;  /* R quotes words and titles only */
	for (uint32_t c = 0; c < count; c++)
		quoted &= is_quoted(first, &list[c]);
	bool above = false, decimal = false, counts = counts_up(f, list, count), years = are_years(list, count);
	uint32_t words = 0, numeric = 0, empty = 0, wholes = 0, points = 0;  /* wholes: like years */
	for (uint32_t c = 0; c < count && c + shift < f->columns; c++) {
		const struct sl__column *column = &f->column[c + shift];
		uint64_t whole;
		words += column->words;
		unquoted |= column->has_numbers && column->unquoted;
		if (column->words || !column->values)
			continue;
		numeric += list[c].length > 0;
		empty += list[c].length == 0;
		wholes += sl__field_is_whole(&list[c], &whole) && whole >= YEAR_FROM && whole <= YEAR_TO;
		points += column->point || !(column->forms & SL__POINT_FORMS);
		above |= is_word(&list[c]);
		decimal |= is_numeric(&list[c]) && !sl__field_is_whole(&list[c], &whole);
	}
	years |= !above && wholes + empty > 0 && wholes == numeric &&
		 ((wholes && points == wholes + empty) || (words && words_stand_alone(f, list, count)));
	f->guessed_titles = counts || years || (above && decimal);
	f->guessed_row = wholes + empty > 0 && wholes == numeric;
	return counts || years || (above && !decimal) || (quoted && unquoted && !decimal) || sl__text_usual_name(&list[0]);
}

/* A separator ends each line: the last column has neither title nor values. */
static bool ends_in_separator(const struct sl__text *f)
{
	return f->columns > 2 && !f->column[f->columns - 1].filled && f->separator != ' ';
}

/* True for a line with the mark of a comment that has the fields of a row: "#art,0.5,2" above "art,1.5,3". No blank
 * follows the mark. */
static bool is_row(struct sl__text *f, const struct sl__line *line)
{
	struct sl__field *list;
	uint32_t count, numbers = 0;
	const char *mark = line->at;
	while (mark < line->end && strchr(" #%", *mark))
		mark++;
	if (mark == line->end || sl__is_blank(mark[-1]))
		return false;
	bool fits = look_at(f, line, &list, &count) && count == f->columns && count > 1;
	for (uint32_t c = 0; fits && c < count; c++) {
		bool numeric = f->column[c].has_numbers && !f->column[c].words;
		numbers += numeric && is_numeric(&list[c]);
		fits = !numeric || is_numeric(&list[c]) || sl__text_is_missing(&list[c]);
	}
	free(list);
	return fits && numbers;
}

/* Where the comments begin that stand right above the first row and are rows themselves; first: its line, if none. */
static const char *first_row(struct sl__text *f, const struct sl__line *first, int64_t *number)
{
	const char *begin = first->at;
	while (begin > f->head.bytes) {
		const char *from = begin - 1;
		while (from > f->head.bytes && from[-1] != '\n')
			from--;
		struct sl__line line = {from, begin - 1};
		if (!sl__marks_comment(line.at, line.end) || !is_row(f, &line))
			break;
		begin = from;
		--*number;
	}
	return begin;
}

/* Titles in the comment right above the first row: "# x y z", as numpy.savetxt() writes them, or "#x,y,z". */
static int titles_of_comment(struct sl__text *f, const char *row)
{
	const char *from = row - 1;
	struct sl__field *list = NULL;
	uint32_t count = 0;
	if (row == f->head.bytes)
		return 0;
	while (from > f->head.bytes && from[-1] != '\n')
		from--;
	struct sl__line line = {from, row - 1};
	if (!sl__marks_comment(line.at, line.end))
		return 0;
	while (line.at < line.end && strchr("#% \t", *line.at) && !(f->separator == '\t' && *line.at == '\t'))
		line.at++;
	bool titles = look_at(f, &line, &list, &count) && count == f->columns && count > 1;
	uint32_t above = 0;  /* words above numbers */
	uint64_t whole;
	for (uint32_t c = 0; titles && c < count; c++) {
		above += is_word(&list[c]) && f->column[c].has_numbers;
		titles = (is_word(&list[c]) || sl__field_is_whole(&list[c], &whole)) &&
			 (f->separator != ' ' || !f->column[c].words);
	}
	titles = titles && above;
	for (uint32_t c = 0; titles && c < count; c++)
		sl__field_title(&list[c], f->column[c].title, sizeof f->column[c].title);
	f->titles = f->comment_titles = titles;
	free(list);
	return 0;
}

static int take_titles(struct sl__text *f, const struct sl__field *list, uint32_t count, uint32_t shift)
{
	/* a separator ends the header, or the rows */
	bool spare = count == f->columns + 1 ? !list[count - 1].length : count + 1 == f->columns && ends_in_separator(f);
	f->titles = true;
	if (count + shift != f->columns && !spare) {
		if (f->separator != ' ')
			return sl__source_fail(f->t->source, SL_BADDATA, f->t->err, "The header has %u titles, separated by %s, "
					       "but the line below has %u fields.", count, sl__source_separator(f->t->source, f->separator),
					       f->columns);
		f->lost_titles = count;
		return 0;
	}
	for (uint32_t c = 0; c < count && c + shift < f->columns; c++)
		if (!*sl__field_title(&list[c], f->column[c + shift].title, sizeof f->column[c].title) && list[c].length)
			return sl__source_fail(f->t->source, SL_BADDATA, f->t->err, "The title of column %u is not valid UTF-8; "
					       "convert the file (iconv -t UTF-8).", c + shift + 1);
	return 0;
}

static int look(struct sl__text *f, const struct sl__line *first, int64_t number)
{
	struct sl__line second = *first;
	struct sl__field *list = NULL;
	size_t place = f->head.at;
	uint32_t count = f->expected = sl__text_count(f, first->at, first->end);
	bool more = sl__text_next_line(f, &second) > 0;
	f->columns = more ? sl__text_count(f, second.at, second.end) : count;
	f->column = sl_account_zeros(f->t->account, (size_t)f->columns + 1, sizeof *f->column);
	if (!f->column)
		return sl__table_memory_error(f->t);
	f->expected = f->columns;
	f->head.at = place;
	int rc = see_rows(f);
	uint32_t shift = f->columns == count + 1 && !ends_in_separator(f);
	sl__source_set_line_number(f->t->source, number);
	if (!rc)
		rc = sl__text_split(f, first, &list, &count);
	char *scratch = f->scratch;  /* the fields of the list may point into it */
	f->scratch = NULL;
	f->scratch_bytes = 0;
	f->head.at = place;
	bool header = !rc && count && is_header(f, first, list, count, shift);
	bool words = !rc;
	for (uint32_t c = 0; words && c < count; c++)
		words = !is_numeric(&list[c]);
	if (!rc && !more && words)
		rc = sl__source_fail(f->t->source, SL_BADDATA, f->t->err, "The file has a header but no point after it.");
	if (!rc && header && more) {
		rc = settle_forms(f);
		if (!rc)
			rc = take_titles(f, list, count, shift);
	} else if (!rc) {
		f->head.at = (size_t)(first->at - f->head.bytes);
		f->columns = f->expected = count;
		free(f->column);
		f->column = sl_account_zeros(f->t->account, (size_t)count + 1, sizeof *f->column);
		f->started = true;
		rc = f->column ? see_rows(f) : sl__table_memory_error(f->t);
		const char *begin = rc ? first->at : first_row(f, first, &number);
		if (!rc && begin != first->at) {  /* comments are rows */
			f->begin = number;
			f->head.at = (size_t)(begin - f->head.bytes);
			rc = see_rows(f);
		}
		if (!rc)
			rc = titles_of_comment(f, begin);
		if (!rc)
			rc = settle_forms(f);
	}
	if (!rc && ends_in_separator(f) && !f->column[f->columns - 1].title[0])
		f->column[f->columns - 1].use = SL__EMPTY;
	free(list);
	free(scratch);
	return rc;
}

/* Moves the head behind the line of sizes. */
static void read_sizes(struct sl__text *f, struct sl__line *first)
{
	f->sizes = sl__text_sizes(first->at, f->head.bytes + f->head.size, f->told);
	if (f->sizes && sl__text_next_line(f, first) <= 0)
		first->at = first->end;
}

int sl__text_look(struct sl__text *f)
{
	struct sl__line first;
	f->only_head = true;
	f->bang = f->head.size && *f->head.bytes == '!';
	int rc = sl__text_next_line(f, &first);
	if (rc <= 0)
		return rc ? rc : sl_error_at(f->t->err, SL_BADDATA, sl__source_name(f->t->source), 0,
					     "The file has no point; a line must have the numbers of one point.");
	read_marker(f, &first);
	read_sizes(f, &first);
	if (first.at == first.end)
		return sl_error_at(f->t->err, SL_BADDATA, sl__source_name(f->t->source), 0,
				   "The file has no point after its first line, which names the separator.");
	f->started = true;
	int64_t number = sl__source_line_number(f->t->source);
	if (!f->marker)
		choose_separator(f, &first);
	rc = look(f, &first, number);
	if (!rc && f->sizes && f->columns == f->told[1] + 2)  /* GCT's descriptions, which may all be "na" */
		f->column[1].words = true;
	sl__source_set_line_number(f->t->source, number);
	if (!rc)
		rc = sl__text_choose_columns(f);
	f->only_head = false;
	sl__text_rewind(f);
	return f->no_memory ? sl__table_memory_error(f->t) : rc;
}
