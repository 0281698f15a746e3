/* text_follow.c -- for text.c: the columns of new points get the roles that those of the first table have (`taken`), so
 * that one row is read as a thousand are.
 *
 * If the new table has titles, those of names, labels and columns that are left out find their columns. Else, or if
 * that does not leave as many coordinates as the first table has, the columns of the first table are counted off from
 * the left: all of them, or those that remain without some roles (new points often have no labels). If more than one
 * such choice fits, nothing is guessed. Coordinates have to hold numbers. What fits in no way is read as any other
 * table, and refused if its number of coordinates is another. */
#include <stdlib.h>
#include <string.h>

#include "core/formats/points/text_internal.h"
#include "core/taken/taken.h"

#define NO_ROLE 255u

static enum sl__column_use use_of(uint8_t role)
{
	switch (role) {
	case SL_TAKEN_COORDINATE: return SL__COORDINATE;
	case SL_TAKEN_NAME: return SL__NAME;
	case SL_TAKEN_LABEL: return SL__LABEL;
	case SL_TAKEN_IGNORED: return SL__IGNORED;
	default: return SL__LEFT_OUT;
	}
}

/* True if the columns can have these roles: as many coordinates as the first table has, and all of them numbers. */
static bool fits(const struct sl__text *f, const uint8_t *role)
{
	const struct sl_taken *as = f->t->options->as;
	uint64_t coordinates = 0;
	for (uint32_t c = 0; c < f->columns; c++) {
		coordinates += role[c] == SL_TAKEN_COORDINATE;
		if (role[c] == NO_ROLE || (role[c] == SL_TAKEN_COORDINATE && f->column[c].words))
			return false;
	}
	return coordinates == as->by_role[SL_TAKEN_COORDINATE];
}

/* The role of the first table's column of this title that is no coordinate; COORDINATE: there is none. */
static uint8_t titled_role(const struct sl_taken *as, const struct sl__column *column, bool first)
{
	for (uint32_t k = 0; k < as->listed; k++) {
		const struct sl_taken_columns *other = &as->column[k];
		bool same = column->title[0] ? sl__is_title(column->title, other->title) :
			    first && other->first == 1 && !other->title[0];
		if (other->role != SL_TAKEN_COORDINATE && same)
			return (uint8_t)other->role;
	}
	return SL_TAKEN_COORDINATE;
}

static bool by_titles(const struct sl__text *f, uint8_t *role)
{
	const struct sl_taken *as = f->t->options->as;
	bool any = false;
	for (uint32_t k = 0; k < as->listed; k++)
		any |= as->column[k].role != SL_TAKEN_COORDINATE && as->column[k].title[0];
	for (uint32_t c = 0; f->titles && any && c < f->columns; c++)
		role[c] = titled_role(as, &f->column[c], c == 0);
	return f->titles && any && fits(f, role);
}

/* Roles of the first table's columns from the left, without those of the set `without`. False: the numbers of columns
 * differ, or not all are known. */
static bool count_off(const struct sl__text *f, unsigned without, uint8_t *role)
{
	const struct sl_taken *as = f->t->options->as;
	uint32_t at = 0, number = 1;
	for (uint32_t k = 0; k < as->listed; k++) {
		const struct sl_taken_columns *run = &as->column[k];
		if (run->first != number)
			return false;
		number = run->last + 1;
		if (without >> run->role & 1)
			continue;
		/* without a title, only words make a column labels */
		bool words = run->role == SL_TAKEN_LABEL && !run->title[0];
		for (uint32_t c = run->first; c <= run->last; c++) {
			if (at == f->columns || (words && f->column[at].has_numbers))
				return false;
			role[at++] = (uint8_t)run->role;
		}
	}
	return number == as->columns + 1 && at == f->columns;
}

static bool same_use(const struct sl__text *f, const uint8_t *a, const uint8_t *b)
{
	for (uint32_t c = 0; c < f->columns; c++)
		if ((a[c] == SL_TAKEN_COORDINATE) != (b[c] == SL_TAKEN_COORDINATE))
			return false;
	return true;
}

/* Tries the whole table first, then with fewer roles; two different results are none. */
static bool by_place(const struct sl__text *f, uint8_t *role, uint8_t *other)
{
	static const unsigned without[] = {
		1u << SL_TAKEN_LABEL,
		1u << SL_TAKEN_NAME | 1u << SL_TAKEN_NUMBERING,
		1u << SL_TAKEN_IGNORED | 1u << SL_TAKEN_LEFT_OUT,
		1u << SL_TAKEN_LABEL | 1u << SL_TAKEN_NAME | 1u << SL_TAKEN_NUMBERING,
		1u << SL_TAKEN_LABEL | 1u << SL_TAKEN_IGNORED | 1u << SL_TAKEN_LEFT_OUT,
		~(1u << SL_TAKEN_COORDINATE),
	};
	bool found = false;
	if (count_off(f, 0, role))
		return fits(f, role);
	for (size_t k = 0; k < sizeof without / sizeof *without; k++) {
		if (!count_off(f, without[k], other) || !fits(f, other))
			continue;
		if (found && !same_use(f, role, other))
			return false;
		memcpy(role, other, f->columns);
		found = true;
	}
	return found;
}

/* All are coordinates: the first table was an array, or had more runs of columns than `taken` lists. */
static bool all_coordinates(const struct sl__text *f, uint8_t *role)
{
	memset(role, SL_TAKEN_COORDINATE, f->columns);
	return fits(f, role);
}

int sl__text_follow(struct sl__text *f, bool *followed)
{
	const struct sl_input_options *o = f->t->options;
	*followed = false;
	if (!o->as || !o->as->by_role[SL_TAKEN_COORDINATE] || o->as->transposed || o->transpose == SL_TRANSPOSE_YES ||
	    o->name_column || o->label_column || o->ignore_columns || o->keep_columns)
		return 0;
	uint8_t *role = malloc(2 * (size_t)f->columns + 1);
	if (!role)
		return sl__table_memory_error(f->t);
	memset(role, NO_ROLE, 2 * (size_t)f->columns);
	*followed = by_titles(f, role) || by_place(f, role, role + f->columns) || all_coordinates(f, role);
	for (uint32_t c = 0; *followed && c < f->columns; c++) {
		struct sl__column *column = &f->column[c];
		column->use = use_of(role[c]);
		column->why = role[c] == SL_TAKEN_NUMBERING ? "a numbering of the first table" :
			      role[c] == SL_TAKEN_LEFT_OUT ? "left out of the first table" : NULL;
	}
	free(role);
	return 0;
}

/* As many coordinates as the first table, or as the axes on which that was projected. */
static int check_count(const struct sl__text *f)
{
	const struct sl_taken *as = f->t->options->as, *t = f->t->taken;
	uint64_t found = t->by_role[SL_TAKEN_COORDINATE], wanted = as->by_role[SL_TAKEN_COORDINATE];
	char here[400], there[400];
	if (found == wanted || found == f->t->options->axes || !wanted)
		return 0;
	return sl_error_at(f->t->err, SL_BADDATA, sl__source_name(f->t->source), 0, "It has %llu coordinate%s, the first "
			   "table has %llu. Taken here: %s. Taken there: %s. Give the columns the same titles or the same "
			   "order, or leave some out, such as ignore_columns=1.", (unsigned long long)found, found == 1 ? "" : "s",
			   (unsigned long long)wanted, sl_taken_text(t, here, sizeof here),
			   sl_taken_text(as, there, sizeof there));
}

int sl__text_compare(const struct sl__text *f)
{
	const struct sl_taken *as = f->t->options->as, *t = f->t->taken;
	if (!as)
		return 0;
	int rc = check_count(f);
	if (rc || !as->titles || !t->titles || as->titles == t->titles ||
	    as->by_role[SL_TAKEN_COORDINATE] != t->by_role[SL_TAKEN_COORDINATE])
		return rc;
	if (as->titles_any == t->titles_any)
		return sl_error_at(f->t->err, SL_BADDATA, sl__source_name(f->t->source), 0, "Its coordinates have the titles "
				   "of the first table in another order. Put the columns into that order.");
	sl_taken_add_note(f->t->taken, true, "The titles of the coordinates are not those of the first table; they are "
			  "compared in their order from the left");
	return 0;
}
