/* text_tell.c -- for text.c: what was taken of a table of text, for its users. */
#include <stdio.h>
#include <string.h>

#include "core/formats/points/text_internal.h"
#include "core/taken/taken.h"

#define TOLD 4   /* columns of a kind that are told one by one */

static void tell_columns(const struct sl__text *f)
{
	static const enum sl_taken_role roles[] = {
		[SL__COORDINATE] = SL_TAKEN_COORDINATE, [SL__NAME] = SL_TAKEN_NAME, [SL__LABEL] = SL_TAKEN_LABEL,
		[SL__WORDS] = SL_TAKEN_LABEL, [SL__NUMBERING] = SL_TAKEN_NUMBERING, [SL__IGNORED] = SL_TAKEN_IGNORED,
		[SL__LEFT_OUT] = SL_TAKEN_LEFT_OUT, [SL__EMPTY] = SL_TAKEN_LEFT_OUT,
	};
	for (uint32_t c = 0; c < f->columns; c++) {
		const struct sl__column *column = &f->column[c];
		const char *why = column->use == SL__EMPTY ? "empty" : column->use == SL__LEFT_OUT || column->use == SL__NAME ?
				  column->why : NULL;
		bool title = f->titles && sl__valid_utf8(column->title, strlen(column->title));
		sl_taken_add_columns(f->t->taken, c + 1, 1, roles[column->use], title ? column->title : NULL, why);
	}
}

static void tell_numberings(const struct sl__text *f)
{
	char which[80];
	uint32_t told = 0;
	for (uint32_t c = 0; c < f->columns; c++) {
		const struct sl__column *column = &f->column[c];
		bool named = column->use == SL__NAME && column->why;
		if ((column->use == SL__NUMBERING || named) && told++ < TOLD)
			sl_taken_add_note(f->t->taken, true, "Column %s counts the rows, so it is no coordinate%s; keep_columns=%u "
					  "makes it one", sl__text_title(f, c, which), named ? " but their names" : "", c + 1);
	}
}

/* Columns of words that have numbers, or look as if they had. */
static void tell_words(const struct sl__text *f)
{
	char which[80];
	uint32_t told = 0;
	for (uint32_t c = 0; c < f->columns; c++) {
		const struct sl__column *column = &f->column[c];
		bool used = column->use == SL__NAME || column->use == SL__LABEL || column->use == SL__WORDS;
		bool like = column->has_numbers || sl__is_digit(column->bad[0]) ||
			    (strchr("-+.$", column->bad[0]) && sl__is_digit(column->bad[1]));
		if (used && column->words && column->bad[0] && like && told++ < TOLD)
			sl_taken_add_note(f->t->taken, true, "Column %s is no coordinate: \"%s\" is %s",
					  sl__text_title(f, c, which), column->bad,
					  column->has_words ? "no number" : "another kind of number than those above");
	}
	if (told > TOLD)
		sl_taken_add_note(f->t->taken, true, "No coordinates for the same reason: %u more columns",
				  told - TOLD);
}

static void tell_forms(const struct sl__text *f)
{
	char which[80];
	uint32_t told = 0;
	for (uint32_t c = 0; c < f->columns; c++) {
		const struct sl__column *column = &f->column[c];
		struct sl__formatted number;
		char line[sizeof column->example + 1];
		if (column->use != SL__COORDINATE || !column->formatted || told++ >= TOLD)
			continue;
		int length = snprintf(line, sizeof line, "%s", column->example);
		struct sl__field field = {line, (size_t)length};
		line[length] = '\n';
		if (sl__formatted_parse(&field, &number))
			sl_taken_add_note(f->t->taken, false, "Column %s: \"%s\" is read as %.7g", sl__text_title(f, c, which),
					  column->example, sl__formatted_value(&number, column->decimal));
		else
			sl_taken_add_note(f->t->taken, false, "Column %s has formatted numbers", sl__text_title(f, c, which));
	}
	if (told > TOLD)
		sl_taken_add_note(f->t->taken, false, "Formatted numbers, too: %u more columns", told - TOLD);
	if (f->late_forms)
		sl_taken_add_note(f->t->taken, false, "Formatted numbers far down in columns of plain ones were read as well");
}

static void tell_lines(const struct sl__text *f)
{
	struct sl_taken *t = f->t->taken;
	if (f->guessed_titles && f->titles)
		sl_taken_add_note(t, true, "The first line is taken for titles, though it has numbers");
	if (f->guessed_row && !f->titles)
		sl_taken_add_note(t, false, "The first line is taken for a row, though its numbers may be titles");
	if (f->begin)
		sl_taken_add_note(t, true, "Line %lld begins with # or %% and has the fields of a row, so it is taken for a "
				  "row", (long long)f->begin);
	if (f->sizes && f->told[0] != f->t->n)
		sl_taken_add_note(t, true, "The first line says that the file has %llu rows; it has %llu",
				  (unsigned long long)f->told[0], (unsigned long long)f->t->n);
	else if (f->sizes)
		sl_taken_add_note(t, false, "The first line has the numbers of rows and of columns");
	if (f->comment_titles)
		sl_taken_add_note(t, false, "The titles are from the comment above the first row");
	if (f->lost_titles)
		sl_taken_add_note(t, false, "The header has %u words, the rows have %u fields, so the columns have no titles",
				  f->lost_titles, f->columns);
	if (f->late_comments)
		sl_taken_add_note(t, true, "%llu line%s below the header or the first row begin%s with %s and %s not the "
				  "fields of a row, so %s left out", (unsigned long long)f->late_comments,
				  f->late_comments == 1 ? "" : "s", f->late_comments == 1 ? "s" : "",
				  f->bang ? "#, % or !" : "# or %",
				  f->late_comments == 1 ? "has" : "have", f->late_comments == 1 ? "it is" : "they are");
}

void sl__text_tell(const struct sl__text *f)
{
	struct sl_taken *t = f->t->taken;
	t->rows = f->t->n;
	t->header_lines = (f->marker != 0) + f->sizes + f->titles;
	t->blank_lines = f->blank_lines;
	t->comment_lines = f->comment_lines - f->comment_titles;
	t->lines = t->header_lines + f->blank_lines + t->comment_lines + f->t->n;
	tell_columns(f);
	tell_numberings(f);
	tell_words(f);
	tell_lines(f);
	tell_forms(f);
}
