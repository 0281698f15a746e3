/* text_columns.c -- for text.c: chooses what the columns of a table of text are used for: by options, then by titles,
 * then by what the first rows hold. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/formats/points/text_internal.h"
#include "core/taken/taken.h"

#define MAX_WORD_COLUMNS 250   /* the server stores 256 columns of labels for a graph */
#define MAX_CATEGORIES 65534   /* a column with more different words contains labels only if an option says so */
#define NUMBERING_ROWS 3       /* fewer rows count up by chance */

static const char *const usual_names[] = {"name", "names", "id", "ids", "index", "unnamed: 0", NULL};
static const char *const usual_labels[] = {"label", "labels", "class", "target", "group", "cluster", "category", NULL};

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
	if (f->titles && sl__is_title(f->column[c].title, option))
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

/* Tells if another column has the title, too. */
static void tell_others(struct sl__text *f, const char *option, uint32_t c)
{
	for (uint32_t other = c + 1; other < f->columns; other++)
		if (chosen(f, option, other)) {
			sl_taken_add_note(f->t->taken, true, "Columns %u and %u have the title \"%.60s\"; it stands for column %u. "
					  "Use their numbers", c + 1, other + 1, option, c + 1);
			return;
		}
}

/* The column that an option names, from 1; 0: there is none. */
static uint32_t find_column(struct sl__text *f, const char *option)
{
	for (uint32_t c = 0; c < f->columns; c++)
		if (chosen(f, option, c)) {
			tell_others(f, option, c);
			return c + 1;
		}
	return 0;
}

/* Marks the columns that label_column lists. If there is only one, its title may contain commas. */
static int use_labels(struct sl__text *f, const char *option)
{
	uint32_t whole = find_column(f, option);
	const char *at = option;
	char item[256];
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
	char item[256];
	*words = false;
	while (at && *at) {
		size_t length = strcspn(at, ",");
		bool found = false;
		snprintf(item, sizeof item, "%.*s", (int)length, at);
		at += length + (at[length] == ',');
		for (uint32_t c = 0; c < f->columns && !found; c++)
			if (chosen(f, item, c)) {
				tell_others(f, item, c);
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
	sl__names_init(&f->words[f->word_columns++].names, f->t->account);
	return 0;
}

/* Chooses columns of names and of labels by their titles, unless options name them. */
static void use_titles(struct sl__text *f)
{
	bool name = f->t->options->name_column, label = f->t->options->label_column;
	for (uint32_t c = 0; f->titles && c < f->columns; c++) {
		struct sl__column *column = &f->column[c];
		if (column->use != SL__COORDINATE || column->kept)
			continue;
		/* an empty title over the first column: a data frame's row names */
		if (!name && (one_of(column->title, usual_names) || (c == 0 && !column->title[0] && !f->lost_titles))) {
			column->use = SL__NAME;
			name = true;
		} else if (!label && one_of(column->title, usual_labels)) {
			column->use = SL__LABEL;
			column->titled = label = true;
		}
	}
}

bool sl__text_usual_name(const struct sl__field *title)
{
	char text[24];
	snprintf(text, sizeof text, "%.*s", (int)(title->length < 23 ? title->length : 23), title->text);
	return title->length && one_of(text, usual_names);
}

/* Marks the columns that keep_columns lists; "all": all that hold numbers. */
static int keep(struct sl__text *f)
{
	const char *at = f->t->options->keep_columns;
	char item[256], which[80];
	while (at && *at) {
		size_t length = strcspn(at, ",");
		snprintf(item, sizeof item, "%.*s", (int)length, at);
		at += length + (at[length] == ',');
		uint32_t c = find_column(f, item);
		if (!c && strcmp(item, "all") != 0)
			return option_error(f, "keep_columns", item);
		if (c && (f->column[c - 1].words || f->column[c - 1].use != SL__COORDINATE))
			return sl_error_field(f->t->err, SL_BADPARAM, "/keep_columns", "keep_columns has \"%.60s\", but column %s "
					      "of %s %s.", item, sl__text_title(f, c - 1, which), sl__source_name(f->t->source),
					      f->column[c - 1].words ? "holds words" : "is used by another option");
		for (uint32_t k = 0; k < f->columns; k++)
			f->column[k].kept |= c ? k + 1 == c : f->column[k].use == SL__COORDINATE && !f->column[k].words;
	}
	return 0;
}

/* True if the first rows show that column c counts the rows. */
static bool counts(const struct sl__text *f, uint32_t c)
{
	const struct sl__column *column = &f->column[c];
	return f->head_rows >= NUMBERING_ROWS && column->counts && column->has_numbers && !column->formatted;
}

/* Columns that count the rows are no coordinates, unless there are no others. */
static void find_numberings(struct sl__text *f)
{
	uint32_t others = 0;
	for (uint32_t c = 0; c < f->columns; c++)
		others += f->column[c].use == SL__COORDINATE && !f->column[c].words && (f->column[c].kept || !counts(f, c));
	for (uint32_t c = 0; others && c < f->columns; c++)
		if (f->column[c].use == SL__COORDINATE && !f->column[c].kept && counts(f, c))
			f->column[c].use = SL__NUMBERING;
}

/* By options, titles and the first rows. */
static int recognise(struct sl__text *f, bool *without_words)
{
	int rc = ignore(f, without_words);
	if (!rc)
		rc = use_options(f);
	if (!rc)
		rc = keep(f);
	if (!rc)
		use_titles(f);
	if (!rc)
		find_numberings(f);
	return rc;
}

/* Names the column that most likely should hold numbers: one with numbers further down, or that begins with a digit. */
static int no_numbers(struct sl__text *f)
{
	uint32_t best = 0;
	int most = -1;
	char which[80];
	for (uint32_t c = 0; c < f->columns; c++) {
		const struct sl__column *column = &f->column[c];
		int rank = !column->words || column->use > SL__WORDS ? -1 : column->has_numbers ? 3 :
			   column->like[0] ? 1 + sl__is_digit(column->like[strcspn(column->like, "0123456789")]) : 0;
		if (rank > most) {
			most = rank;
			best = c;
		}
	}
	const char *remedy = most == 3 ? " above its numbers; a table must have one header line, right above the "
			     "first row" :
			     most == 1 ? "; write 1 and 0" : "";
	if (most < 0)
		return sl__source_fail(f->t->source, SL_BADDATA, f->t->err, "No column of the table holds numbers.");
	return sl__source_fail(f->t->source, SL_BADDATA, f->t->err, "No column of the table holds numbers: column %s has "
			       "\"%s\"%s.", sl__text_title(f, best, which),
			       most == 1 || most == 2 ? f->column[best].like : f->column[best].bad, remedy);
}

int sl__text_choose_columns(struct sl__text *f)
{
	bool without_words = false, followed;
	uint64_t coordinates = 0;
	int rc = sl__text_follow(f, &followed);
	if (!rc && !followed)
		rc = recognise(f, &without_words);
	for (uint32_t c = 0; !rc && c < f->columns; c++) {
		struct sl__column *column = &f->column[c];
		if (column->use == SL__COORDINATE && column->words)
			column->use = without_words ? SL__IGNORED : SL__WORDS;
		if (column->use == SL__COORDINATE)
			coordinates++;
		else if (column->use <= SL__WORDS)
			rc = add_words(f, c);
	}
	if (!rc && !coordinates)
		rc = no_numbers(f);
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
		bool many = f->words[w].names.n > MAX_CATEGORIES;
		column->use = !name && distinct ? SL__NAME : listed || many ? SL__LEFT_OUT : SL__LABEL;
		if (column->use == SL__LEFT_OUT)
			column->why = many ? "more than 65,534 different words" : "label_column names others";
		name |= column->use == SL__NAME;
	}
	/* a column that counts the rows names the points if no other does */
	for (uint32_t c = 0; !name && !f->t->options->name_column && c < f->columns; c++) {
		struct sl__column *column = &f->column[c];
		if (column->use != SL__NUMBERING)
			continue;
		column->use = SL__NAME;
		column->why = "counts the rows";
		name = f->numbered = true;
	}
}
