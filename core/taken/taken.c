/* taken.c -- counts, and the line that users read. Runs of like columns are merged, so that a table of a thousand
 * coordinates takes one entry of the list. */
#include "core/taken/taken.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/meant.h"

struct sl_taken *sl_taken_create(void)
{
	return calloc(1, sizeof(struct sl_taken));
}

void sl_taken_destroy(struct sl_taken *t)
{
	free(t);
}

struct sl_taken *sl_taken_copy(const struct sl_taken *t)
{
	struct sl_taken *copy = t ? malloc(sizeof *copy) : NULL;
	if (copy)
		*copy = *t;
	return copy;
}

static const char *const role_names[] = {
#define X(role, name) name,
	SL_TAKEN_ROLES(X)
#undef X
};

const char *sl_taken_role_name(enum sl_taken_role role)
{
	return role_names[role];
}

bool sl_taken_role_parse(const char *name, enum sl_taken_role *out)
{
	int k = sl_word_index(role_names, SL_TAKEN_ROLE_COUNT, name);
	if (k >= 0)
		*out = (enum sl_taken_role)k;
	return k >= 0;
}

/* Copies as much UTF-8 as fits, cut between characters. */
static void copy_text(char *out, size_t size, const char *text)
{
	size_t length = strlen(text);
	if (length >= size) {
		length = size - 1;
		while (length && ((unsigned char)text[length] & 0xc0) == 0x80)
			length--;
	}
	memcpy(out, text, length);
	out[length] = 0;
}

/* ---- adding --------------------------------------------------------------------- */

/* FNV-1a. */
static void add_title(struct sl_taken *t, const char *title)
{
	uint64_t hash = 0xcbf29ce484222325u;
	for (; *title; title++)
		hash = (hash ^ (unsigned char)*title) * 0x100000001b3u;
	hash ^= hash >> 29;
	t->titles = (t->titles + 1) * 0x9e3779b97f4a7c15u + hash;
	t->titles_any += hash * hash | 1;
}

void sl_taken_add_columns(struct sl_taken *t, uint32_t number, uint32_t count, enum sl_taken_role role,
			  const char *title, const char *why)
{
	if (!count)
		return;
	t->columns += count;
	t->by_role[role] += count;
	if (role == SL_TAKEN_COORDINATE && title && *title)
		add_title(t, title);
	struct sl_taken_columns *last = t->listed ? &t->column[t->listed - 1] : NULL;
	/* The titles of coordinates are not listed one by one; those of other columns are what users look for. */
	if (last && last->role == role && role == SL_TAKEN_COORDINATE && last->last + 1 == number &&
	    !strcmp(last->why, why ? why : "")) {
		last->last += count;
		return;
	}
	if (t->listed == SL_TAKEN_LISTED)
		return;
	struct sl_taken_columns *c = &t->column[t->listed++];
	c->first = number;
	c->last = number + count - 1;
	c->role = role;
	copy_text(c->title, sizeof c->title, title ? title : "");
	copy_text(c->why, sizeof c->why, why ? why : "");
}

void sl_taken_add_note(struct sl_taken *t, bool changes, const char *format, ...)
{
	char text[sizeof t->note->text];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	sl_singular(text);
	for (uint32_t k = 0; k < t->notes; k++)
		if (!strcmp(t->note[k].text, text))
			return;
	if (t->notes == SL_TAKEN_NOTES) {
		t->notes_lost++;
		return;
	}
	t->note[t->notes].changes = changes;
	memcpy(t->note[t->notes++].text, text, sizeof text);
}

bool sl_taken_is_plain(const struct sl_taken *t)
{
	return !t->lines && !t->notes && !t->rows_left_out && !t->transposed && t->columns &&
	       t->by_role[SL_TAKEN_COORDINATE] == t->columns;
}

bool sl_taken_adds_up(const struct sl_taken *t)
{
	uint64_t columns = 0;
	for (int k = 0; k < SL_TAKEN_ROLE_COUNT; k++)
		columns += t->by_role[k];
	bool lines = !t->lines || t->lines == t->header_lines + t->blank_lines + t->comment_lines + t->rows;
	return lines && columns == t->columns && t->rows == t->rows_used + t->rows_left_out;
}

/* ---- the line ------------------------------------------------------------------- */

/* A text that is built piece by piece; what does not fit is cut. */
struct writer {
	char *at;
	size_t left;
};

static void put(struct writer *w, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void put(struct writer *w, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	int length = vsnprintf(w->at, w->left, format, args);
	va_end(args);
	size_t used = length < 0 ? 0 : (size_t)length < w->left ? (size_t)length : w->left - 1;
	w->at += used;
	w->left -= used;
}

static const char *plural(uint64_t count)
{
	return count == 1 ? "" : "s";
}

static void put_columns(struct writer *w, const struct sl_taken *t)
{
	const char *separator = ": ";
	for (int role = 0; role < SL_TAKEN_ROLE_COUNT; role++) {
		uint64_t count = t->by_role[role], shown = 0;
		bool many = role == SL_TAKEN_COORDINATE || role == SL_TAKEN_NEIGHBOUR || role == SL_TAKEN_DISTANCE;
		bool counted = many || role == SL_TAKEN_NAME || role == SL_TAKEN_LABEL;
		if (!count)
			continue;
		put(w, "%s%llu %s%s", separator, (unsigned long long)count, role_names[role],
		    counted ? plural(count) : "");
		separator = ", ";
		if (many)
			continue;
		for (uint32_t k = 0; k < t->listed && shown < 4; k++) {
			const struct sl_taken_columns *c = &t->column[k];
			if (c->role != (enum sl_taken_role)role)
				continue;
			put(w, "%s", shown++ ? ", " : " (");
			if (c->title[0])
				put(w, "\"%s\"", c->title);
			else
				put(w, "column %u", c->first);
			if (c->why[0])
				put(w, ": %s", c->why);
		}
		if (shown)
			put(w, "%s)", count > shown ? ", ..." : "");
	}
}

char *sl_taken_text(const struct sl_taken *t, char *out, size_t size)
{
	struct writer w = {out, size};
	out[0] = 0;
	put(&w, "%llu row%s", (unsigned long long)t->rows, plural(t->rows));
	if (t->columns)
		put(&w, " of %llu column%s", (unsigned long long)t->columns, plural(t->columns));
	put_columns(&w, t);
	if (t->rows_left_out)
		put(&w, "; %llu row%s left out", (unsigned long long)t->rows_left_out, plural(t->rows_left_out));
	if (t->comment_lines)
		put(&w, "; %llu comment line%s", (unsigned long long)t->comment_lines, plural(t->comment_lines));
	if (t->transposed)
		put(&w, "; transposed");
	return out;
}
