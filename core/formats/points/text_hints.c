/* text_hints.c -- for text.c: tells what the first rows show of columns that may be meant otherwise than they were
 * taken: classes and identifiers among the coordinates, -999 in place of a missing value, true and false. They are
 * guesses, so nothing is done but to tell. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/account.h"
#include "core/formats/points/text_internal.h"
#include "core/taken/taken.h"

#define CLASSES 100          /* different values of a column of classes, at most */
#define COLUMNS_LOOKED_AT 4096
#define ROWS_LEAST 10        /* fewer rows show nothing */
#define TOLD 3               /* columns of a kind */

struct values {
	double seen[CLASSES + 1];
	uint32_t different;      /* CLASSES + 1: or more */
	uint32_t rows, again;    /* values, and those that are in a row above (not counted beyond CLASSES) */
	bool decimals, words, ascending;
	double last;
	double least, second, most;  /* second: the least that differs from `least` */
	char least_text[16];
};

static void see(struct values *v, const struct sl__field *field)
{
	double value;
	if (sl__text_is_missing(field))
		return;
	if (!sl__field_double(field, &value)) {
		v->words = true;
		return;
	}
	v->ascending &= !v->rows || value > v->last;
	v->last = value;
	v->rows++;
	v->decimals |= value != floor(value);
	if (value < v->least) {
		v->second = v->least;
		v->least = value;
		sl__field_show(field, v->least_text, sizeof v->least_text);
	} else if (value > v->least && value < v->second) {
		v->second = value;
	}
	v->most = fmax(v->most, value);
	for (uint32_t k = 0; k < v->different && k < CLASSES; k++)
		if (v->seen[k] == value) {
			v->again++;
			return;
		}
	if (v->different <= CLASSES)
		v->seen[v->different++] = value;
}

/* Reads the rows of the head again. */
static void look(struct sl__text *f, struct values *v)
{
	struct sl_error *err = f->t->err, ignored;
	struct sl__line line;
	uint64_t skip = (uint64_t)(f->marker != 0) + f->sizes + (f->titles && !f->comment_titles);
	uint64_t blank = f->blank_lines, comments = f->comment_lines, late = f->late_comments;
	sl__text_rewind(f);
	f->only_head = true;
	f->t->err = &ignored;
	for (uint64_t k = 0; sl__text_next_line(f, &line) > 0; k++) {
		const char *at = line.at;
		struct sl__field field;
		f->started = true;
		if (k < skip || sl__text_start_line(f, &line))
			continue;
		for (uint32_t c = 0; c < f->columns && sl__text_next_field(f, &at, line.end, &field) > 0; c++)
			see(&v[c], &field);
	}
	f->t->err = err;
	f->blank_lines = blank;
	f->comment_lines = comments;
	f->late_comments = late;
}

/* True for whole numbers of which each is in three rows on average. */
static bool are_classes(const struct values *v)
{
	return v->rows >= ROWS_LEAST && !v->words && !v->decimals && v->different > 1 && v->different <= CLASSES &&
	       v->different * 3 <= v->rows;
}

/* Without titles, the first or the last column may hold classes, if others are measurements. */
static void tell_classes(const struct sl__text *f, const struct values *v)
{
	bool measured = false;
	for (uint32_t k = 0; k < 2; k++) {
		uint32_t c = k ? f->columns - 1 : 0;
		if (f->titles || f->columns < 3 || f->column[c].use != SL__COORDINATE || !are_classes(&v[c]))
			continue;
		for (uint32_t other = 0; other < f->columns; other++)
			measured |= other != c && f->column[other].use == SL__COORDINATE &&
				    (v[other].decimals || v[other].different > 2 * v[c].different);
		if (measured)
			sl_taken_add_note(f->t->taken, false, "Column %u holds %u whole numbers alone and is a coordinate; if they "
					  "are classes, label_column=%u makes them labels", c + 1, v[c].different, c + 1);
	}
}

/* True for customer_id, CustomerId and the like. */
static bool titled_id(const char *title)
{
	size_t length = strlen(title);
	const char *end = title + length - 2;
	if (length < 3 || strcasecmp(end, "id"))
		return false;
	return strchr("_ -.", end[-1]) || (*end == 'I' && end[-1] >= 'a' && end[-1] <= 'z');
}

static void tell_identifiers(const struct sl__text *f, const struct values *v)
{
	char which[80];
	uint32_t told = 0;
	for (uint32_t c = 0; c < f->columns; c++) {
		const struct sl__column *column = &f->column[c];
		bool all_differ = v[c].rows >= ROWS_LEAST && !v[c].decimals && !v[c].words && !v[c].again &&
				  (v[c].different == v[c].rows || v[c].ascending);
		bool like = f->titles ? titled_id(column->title) : c == 0 && f->columns > 2 && v[c].most >= 1000;
		bool measured = f->titles;
		for (uint32_t other = 1; other < f->columns; other++)
			measured |= f->column[other].use == SL__COORDINATE && v[other].decimals;
		if (column->use == SL__COORDINATE && !column->kept && all_differ && like && measured && told++ < TOLD)
			sl_taken_add_note(f->t->taken, true, "Column %s has another whole number in each row and is a coordinate; "
					  "if they are identifiers, name_column=%u makes them names", sl__text_title(f, c, which), c + 1);
	}
}

/* -999 and the like, far below all other values. */
static void tell_missing(const struct sl__text *f, const struct values *v)
{
	char which[80];
	uint32_t told = 0;
	for (uint32_t c = 0; c < f->columns; c++) {
		double least = v[c].least;
		bool code = least == -99 || least == -999 || least == -9999 || least == -99999 || least == -999999;
		if (f->column[c].use == SL__COORDINATE && code && v[c].rows >= ROWS_LEAST && isfinite(v[c].second) &&
		    v[c].second > least / 2 && v[c].second - least > v[c].most - v[c].second && told++ < TOLD)
			sl_taken_add_note(f->t->taken, true, "Column %s has %s far below its other values; if that stands for a "
					  "missing value, write NA instead", sl__text_title(f, c, which), v[c].least_text);
	}
}

/* True for whole numbers such as 20240131. */
static bool are_dates(const struct values *v)
{
	if (v->rows < ROWS_LEAST || v->decimals || v->words || v->least < 19000101 || v->most > 21001231)
		return false;
	for (uint32_t k = 0; k < v->different && k < CLASSES; k++) {
		unsigned date = (unsigned)v->seen[k], month = date / 100 % 100, day = date % 100;
		if (month < 1 || month > 12 || day < 1 || day > 31)
			return false;
	}
	return true;
}

static void tell_dates(const struct sl__text *f, const struct values *v)
{
	char which[80];
	uint32_t told = 0;
	for (uint32_t c = 0; c < f->columns; c++)
		if (f->column[c].use == SL__COORDINATE && are_dates(&v[c]) && told++ < TOLD)
			sl_taken_add_note(f->t->taken, true, "Column %s holds dates such as %s as whole numbers and is a "
					  "coordinate; ignore_columns=%u leaves it out", sl__text_title(f, c, which),
					  v[c].least_text, c + 1);
}

/* Without titles, two columns of words that repeat may be the ends of edges. */
static void tell_ends(const struct sl__text *f)
{
	if (!f->titles && f->columns > 3 && f->column[0].use == SL__LABEL && f->column[1].use == SL__LABEL)
		sl_taken_add_note(f->t->taken, false, "Columns 1 and 2 hold words; if they are the ends of edges, kind=graph "
				  "reads them so");
}

static void tell_truths(const struct sl__text *f)
{
	char which[80];
	uint32_t told = 0;
	for (uint32_t c = 0; c < f->columns; c++) {
		const struct sl__column *column = &f->column[c];
		bool used = column->use == SL__LABEL || column->use == SL__WORDS;
		if (used && !column->titled && !f->first_label && sl__text_is_truth(column->bad) && told++ < TOLD)
			sl_taken_add_note(f->t->taken, true, "Column %s holds words such as \"%s\" and is no coordinate; write 1 "
					  "and 0 to make it one", sl__text_title(f, c, which), column->bad);
	}
}

bool sl__text_is_truth(const char *word)
{
	static const char *const words[] = {"true", "false", "yes", "no", "t", "f", "y", "n"};
	for (size_t k = 0; k < sizeof words / sizeof *words; k++)
		if (!strcasecmp(word, words[k]))
			return true;
	return false;
}

int sl__text_hint(struct sl__text *f)
{
	if (f->columns > COLUMNS_LOOKED_AT || f->t->options->new_points)
		return 0;
	struct values *v = sl_account_alloc(f->t->account, f->columns, sizeof *v);
	if (!v)
		return sl__table_memory_error(f->t);
	for (uint32_t c = 0; c < f->columns; c++) {
		v[c] = (struct values){.ascending = true};
		v[c].least = v[c].second = INFINITY;
		v[c].most = -INFINITY;
	}
	look(f, v);
	tell_classes(f, v);
	tell_identifiers(f, v);
	tell_missing(f, v);
	tell_dates(f, v);
	tell_ends(f);
	tell_truths(f);
	free(v);
	sl_account_give(f->t->account, SL_MEMORY, f->columns * sizeof *v);
	return 0;
}
