/* text.c -- reads a table of points from text, separated by commas, tabs or other characters, with or without a header.
 *
 * The first lines determine the separator, the header and the use of each column (text_look.c, text_columns.c). Then
 * the reader visits each line once and writes numbers directly to the table. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/account.h"
#include "core/formats/points/text_internal.h"
#include "core/taken/taken.h"

/* ---- rows ------------------------------------------------------------------------ */

static int add_text(struct sl__text *f, struct sl__texts *w, const struct sl__field *field)
{
	uint64_t row = f->t->n;
	if (!sl__valid_utf8(field->text, field->length))
		return sl__source_fail(f->t->source, SL_BADDATA, f->t->err, "Column %u is not valid UTF-8; convert the file "
				       "(iconv -t UTF-8).", w->column + 1);
	if (row == w->capacity) {
		uint64_t room = w->capacity * 2 + 1024;
		bool fits = !sl_account_take(f->t->account, SL_MEMORY, (room - w->capacity) * sizeof *w->value, NULL);
		uint32_t *grown = fits ? realloc(w->value, room * sizeof *grown) : NULL;
		if (!grown)
			return sl__table_memory_error(f->t);
		w->value = grown;
		w->capacity = room;
	}
	return sl__names_add(&w->names, field->text, field->length, &w->value[row]) ? sl__table_memory_error(f->t) : 0;
}

/* Reads a number in the form of the column. False: the field has none. */
static bool read_number(struct sl__text *f, struct sl__column *column, const struct sl__field *field, double *out)
{
	struct sl__formatted number;
	if (!column->formatted && sl__field_double(field, out))
		return true;
	if (!sl__formatted_parse(field, &number))
		return column->formatted && sl__field_double(field, out);  /* nan, inf */
	uint8_t forms = column->formatted ? column->forms : f->decimal == '.' ? SL__POINT_FORMS
		      : f->decimal == ',' ? SL__COMMA_FORMS : 0;
	bool same = column->formatted ? number.percent == column->percent && !strcmp(number.currency, column->currency)
				      : !number.percent && !number.currency[0] && column->plain_first && !column->bad[0];
	if (!same || !(number.forms & forms))
		return false;
	column->forms &= column->formatted ? number.forms : SL__ALL_FORMS;
	f->late_forms |= !column->formatted;
	*out = sl__formatted_value(&number, column->formatted ? column->decimal : f->decimal);
	return true;
}

static int no_number(struct sl__text *f, uint32_t c, const struct sl__field *field)
{
	const struct sl__column *column = &f->column[c];
	char which[80], shown[48], form[96] = "a number";
	if (column->formatted)
		snprintf(form, sizeof form, "a number like \"%s\"", column->example);
	return sl__source_fail(f->t->source, SL_BADDATA, f->t->err, "Column %s has \"%s\"; it must be %s, as in the lines "
			       "above.%s", sl__text_title(f, c, which), sl__field_show(field, shown, sizeof shown), form,
			       c == 0 && sl__marks_comment(field->text, field->text + field->length) ?
			       " Lines that begin with # are comments only above the first row." : "");
}

static int add_number(struct sl__text *f, uint32_t c, const struct sl__field *field, double *out)
{
	char which[80], shown[48], hint[96];
	int rc;
	if (sl__text_is_missing(field))
		*out = NAN;
	else if (!read_number(f, &f->column[c], field, out))
		return no_number(f, c, field);
	bool fits = isfinite((float)*out);
	if (fits || sl__table_drop(f->t, f->t->n, &rc))
		return fits ? 0 : rc;
	if (f->column[c].missing)
		snprintf(hint, sizeof hint, " The first points have nothing in it; ignore_columns=%u leaves it out.", c + 1);
	return sl__source_fail(f->t->source, SL_BADDATA, f->t->err, "Column %s is %s; coordinates must be finite "
			       "single-precision numbers.%s", sl__text_title(f, c, which),
			       !field->length ? "empty" : sl__field_show(field, shown, sizeof shown),
			       f->column[c].missing ? hint : sl__table_drop_hint(f->t, "points", hint, sizeof hint));
}

/* The column counts the first rows; it must count all of them. */
static int check_count(struct sl__text *f, uint32_t c, const struct sl__field *field)
{
	char which[80], shown[48];
	double value;
	if (sl__field_double(field, &value) && value == (double)(f->t->n + f->column[c].from))
		return 0;
	return sl__source_fail(f->t->source, SL_BADDATA, f->t->err, "Column %s counts the rows above, but has \"%s\" here. "
			       "Use name_column=%u, ignore_columns=%u or keep_columns=%u to say whether it names the points, "
			       "is left out, or is a coordinate.", sl__text_title(f, c, which),
			       sl__field_show(field, shown, sizeof shown), c + 1, c + 1, c + 1);
}

static int count_error(struct sl__text *f, uint32_t found)
{
	return sl__source_fail(f->t->source, SL_BADDATA, f->t->err, "The line has %u %s, separated by %s; the lines "
			       "above have %u.%s", found, found == 1 ? "field" : "fields",
			       sl__source_separator(f->t->source, f->separator), f->columns, f->t->n < 2 ?
			       " The first lines decide the columns; leave out titles and remarks above the header." : "");
}

static int add_row(struct sl__text *f, const struct sl__line *line)
{
	struct sl__table *t = f->t;
	struct sl__field field;
	const char *at = line->at;
	uint32_t c = 0;
	uint32_t word = 0;
	int rc = sl__text_start_line(f, line);
	if (!rc && t->n + 1 > (t->options->read.max_nodes ? t->options->read.max_nodes : UINT32_MAX - 16))
		rc = sl__table_shape(t, t->n + 1, t->d, sl__source_name(t->source));
	if (!rc && t->options->read.max_entries)
		rc = sl__table_shape(t, t->n + 1, t->d, sl__source_name(t->source));
	if (!rc)
		rc = sl__table_reserve(t, (t->n + 1) * t->d, 0);
	if (!rc && !f->row && !(f->row = malloc(t->d * sizeof *f->row)))
		rc = sl__table_memory_error(t);
	if (rc)
		return rc;
	double *to = f->row;
	while ((rc = sl__text_next_field(f, &at, line->end, &field)) > 0) {
		if (c >= f->columns) {
			c++;
			continue;
		}
		if (f->column[c].use == SL__COORDINATE)
			rc = add_number(f, c, &field, to++);
		else if (f->column[c].use <= SL__WORDS)
			rc = add_text(f, &f->words[word++], &field);
		else
			rc = f->column[c].use == SL__NUMBERING ? check_count(f, c, &field) : 0;
		if (rc)
			return rc;
		c++;
	}
	if (!rc && c != f->columns)
		return count_error(f, c);
	if (!rc)
		rc = sl__table_put(t, t->n * t->d, t->d, f->row);
	t->n += !rc;
	return rc;
}

/* ---- the end ---------------------------------------------------------------------- */

static int give_names(struct sl__text *f, struct sl__texts *w)
{
	struct sl__table *t = f->t;
	if (w->names.n == t->n) {
		sl__names_give(&w->names, &t->name_bytes, &t->name_at);
		return 0;
	}
	struct sl__names all;  /* one for each point; w->names has each distinct name once */
	int rc = 0;
	sl__names_init(&all, f->t->account);
	for (uint64_t i = 0; !rc && i < t->n; i++) {
		const char *name = w->names.bytes + w->names.at[w->value[i]];
		rc = sl__names_append(&all, name, strlen(name));
	}
	if (!rc)
		sl__names_give(&all, &t->name_bytes, &t->name_at);
	sl__names_finish(&all);
	return rc ? sl__table_memory_error(t) : 0;
}

/* The numbers of the rows, as the column that counts them has them. */
static int give_numbers(struct sl__text *f)
{
	struct sl__names all;
	uint32_t c = 0;
	int rc = 0;
	while (f->column[c].use != SL__NAME)
		c++;
	sl__names_init(&all, f->t->account);
	for (uint64_t i = 0; !rc && i < f->t->n; i++) {
		char number[24];
		int length = snprintf(number, sizeof number, "%llu", (unsigned long long)i + f->column[c].from);
		rc = sl__names_append(&all, number, (size_t)length);
	}
	if (!rc)
		sl__names_give(&all, &f->t->name_bytes, &f->t->name_at);
	sl__names_finish(&all);
	return rc ? sl__table_memory_error(f->t) : 0;
}

/* The column of the main labels: the first one of label_column, else one with a usual title, else the last column of
 * labels. f->word_columns: there is none. */
uint32_t sl__text_main_labels(const struct sl__text *f)
{
	uint32_t best = f->word_columns;
	int best_rank = 0;
	for (uint32_t w = 0; w < f->word_columns; w++) {
		const struct sl__column *column = &f->column[f->words[w].column];
		int rank = column->use != SL__LABEL ? 0 : f->words[w].column + 1 == f->first_label ? 3 : column->titled ? 2 : 1;
		if (rank && rank >= best_rank) {
			best_rank = rank;
			best = w;
		}
	}
	return best;
}

/* The title of column c, or "" if it has none in valid UTF-8. */
static const char *title_of(const struct sl__text *f, uint32_t c)
{
	const char *title = f->titles ? f->column[c].title : "";
	return sl__valid_utf8(title, strlen(title)) ? title : "";
}

/* A unique title for column c. main_title: title of the main labels. */
static void label_title(const struct sl__text *f, const char *main_title, uint32_t c, char out[64])
{
	const char *title = title_of(f, c);
	bool taken = !*title || !strcmp(title, *main_title ? main_title : "label");
	for (uint32_t k = 0; k < f->t->more_count; k++)
		taken |= !strcmp(f->t->more[k].title, title);
	if (taken)
		snprintf(out, 64, "column %u", c + 1);
	else
		snprintf(out, 64, "%s", title);
}

static int give_words(struct sl__text *f)
{
	char title[64];
	int rc = 0;
	uint32_t main = sl__text_main_labels(f);
	const char *main_title = main < f->word_columns ? title_of(f, f->words[main].column) : "";
	for (uint32_t w = 0; !rc && w < f->word_columns; w++) {
		struct sl__texts *words = &f->words[w];
		if (f->column[words->column].use == SL__NAME)
			rc = give_names(f, words);
		if (f->column[words->column].use != SL__LABEL)
			continue;
		label_title(f, main_title, words->column, title);
		rc = w == main ? sl__table_take_labels(f->t, main_title, &words->names, words->value)
			       : sl__table_add_labels(f->t, title, &words->names, words->value);
		if (!rc)
			words->value = NULL;
	}
	return rc || !f->numbered ? rc : give_numbers(f);
}

int sl__text_read(struct sl__text *f)
{
	struct sl__line line;
	f->t->type = SL_POINTS_F32;
	f->t->taken = sl_taken_create();
	int rc = f->t->taken ? sl__text_read_head(f) : sl__table_memory_error(f->t);
	if (!rc)
		rc = sl__text_look(f);
	for (uint64_t k = 0; !rc && (rc = sl__text_next_line(f, &line)) > 0; k++) {
		bool header = k < (uint64_t)(f->marker != 0) + f->sizes + (f->titles && !f->comment_titles);
		f->started = k || !(f->marker || f->sizes);
		rc = header ? 0 : add_row(f, &line);
	}
	if (!rc)
		sl__text_settle_words(f);
	return rc;
}

void sl__text_finish(struct sl__text *f)
{
	for (uint32_t w = 0; w < f->word_columns; w++) {
		sl__names_finish(&f->words[w].names);
		free(f->words[w].value);
	}
	free(f->words);
	free(f->column);
	free(f->row);
	free(f->scratch);
	free(f->head.joined);
	free(f->head.bytes);
}

int sl__read_points_text(struct sl__table *t, struct sl_points **out)
{
	struct sl__text f = {.t = t};
	int rc = sl__text_read(&f);
	if (!rc)
		rc = give_words(&f);
	if (!rc)
		sl__text_tell(&f);
	if (!rc)
		rc = sl__text_compare(&f);
	if (!rc)
		rc = sl__text_hint(&f);
	sl__text_finish(&f);
	return rc ? rc : sl__table_points(t, out);
}
