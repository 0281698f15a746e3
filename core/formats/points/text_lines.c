/* text_lines.c -- for text.c: the lines of a table of text, and their fields.
 *
 * The first lines are kept in memory, because they decide what the columns are, before the first row is read. Then they
 * are read again, and the others as they come from the source. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/account.h"
#include "core/formats/points/text_internal.h"

#define HEAD_BYTES (256u << 10)  /* first lines: at least so many bytes ... */
#define HEAD_LINES 64            /* and lines, unless the text is shorter */

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

static int quote_error(struct sl__text *f, bool open)
{
	return sl__source_fail(f->t->source, SL_BADDATA, f->t->err, open ?
			       "A quoted field is not closed; close it by a quote that a separator or the end of the line "
			       "follows." :
			       "Something other than a separator follows the closing quote of a field; inside quotes a quote is "
			       "doubled (\"\").");
}

/* A quote that begins a field. Between blanks a quote alone is a word, as in files of words. */
static bool opens_quote(const struct sl__text *f, const char *p, const char *end)
{
	return *p == '"' && !(f->separator == ' ' && p + 1 < end && sl__is_blank(p[1]) &&
			      !memchr(p + 1, '"', (size_t)(end - p - 1)));
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
		return quote_error(f, p >= end);
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
	if (p < end && opens_quote(f, p, end)) {
		p++;
		int rc = take_quoted(f, out, &p, end);
		if (rc)
			return rc;
	} else {
		const char *from = p;
		for (; p < end && !separates(f, *p); p++)
			if (*p == '"' && f->separator == ' ' && p > from)
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
		"\\n", "..", "--", "(null)", "nat", "missing",
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
uint32_t sl__text_count(const struct sl__text *f, const char *at, const char *end)
{
	uint32_t count = 0;
	for (at = skip_blanks(f, at, end); at < end || (count && f->separator != ' '); count++) {
		bool opened = at < end && opens_quote(f, at, end), quoted = opened;
		for (at += quoted; at < end && (quoted || !separates(f, *at)); at++)
			quoted ^= opened && *at == '"';
		if (at >= end) {
			count++;
			break;
		}
		at = skip_blanks(f, at + 1, end);
	}
	return count;
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
			uint32_t more = room + 64;
			bool fits = !sl_account_take(f->t->account, SL_MEMORY, more * sizeof **list, NULL);
			struct sl__field *grown = fits ? realloc(*list, ((size_t)room + more) * sizeof **list) : NULL;
			if (!grown)
				return sl__table_memory_error(f->t);
			room += more;
			*list = grown;
		}
		(*list)[(*count)++] = field;
	}
	return rc;
}

/* ---- lines ----------------------------------------------------------------------- */

/* "# 0.5 1.5": the word #, in a table whose first column holds words. */
static bool is_word_row(const struct sl__text *f, const char *at, const char *end)
{
	double value;
	if (!f->column || !f->column[0].words || sl__text_count(f, at, end) != f->expected)
		return false;
	at = skip_blanks(f, at, end) + 1;
	for (at = skip_blanks(f, at, end); at < end; at = skip_blanks(f, at, end)) {
		struct sl__field field = {at, 0};
		while (at < end && !sl__is_blank(*at))
			at++;
		field.length = (size_t)(at - field.text);
		if (!sl__field_double(&field, &value))
			return false;
	}
	return true;
}

static bool marks_comment(const struct sl__text *f, const struct sl__line *line)
{
	return sl__marks_comment(line->at, line->end) || (f->bang && line->at < line->end && *line->at == '!');
}

/* True for a line that begins with # or %, above the first row or with another number of fields than the rows; between
 * fields that spaces separate, also for one with a blank after the mark. */
static bool is_comment(const struct sl__text *f, const struct sl__line *line)
{
	if (!marks_comment(f, line))
		return false;
	if (f->begin && sl__source_line_number(f->t->source) >= f->begin)
		return false;
	const char *mark = skip_blanks(f, line->at, line->end) + 1;
	if (!f->started || (f->separator == ' ' && (mark == line->end || sl__is_blank(*mark)) &&
			    !is_word_row(f, line->at, line->end)))
		return true;
	/* R writes no title over the row names, so the first row may have a field more than the header */
	uint32_t count = sl__text_count(f, line->at, line->end);
	return !(count == f->expected || (!f->column && count == f->expected + 1));
}

static int add_joined(struct sl__text *f, int64_t breaks)
{
	struct sl__head *h = &f->head;
	if (h->joins % 64 == 0) {
		int rc = sl_account_take(f->t->account, SL_MEMORY, 64 * sizeof *h->joined, f->t->err);
		struct sl__joined *grown = rc ? NULL : realloc(h->joined, (h->joins + 64) * sizeof *grown);
		if (!grown)
			return rc ? rc : sl__table_memory_error(f->t);
		h->joined = grown;
	}
	h->joined[h->joins++] = (struct sl__joined){h->size, breaks};
	return 0;
}

/* Line breaks inside the line at this place of the head. */
static int64_t breaks_at(const struct sl__head *h, size_t at)
{
	size_t low = 0, high = h->joins;
	while (low < high) {
		size_t middle = (low + high) / 2;
		if (h->joined[middle].at < at)
			low = middle + 1;
		else
			high = middle;
	}
	return low < h->joins && h->joined[low].at == at ? h->joined[low].breaks : 0;
}

static int add_to_head(struct sl__text *f, const struct sl__line *line)
{
	struct sl__head *h = &f->head;
	size_t length = (size_t)(line->end - line->at);
	if (h->size + length + 2 > h->room) {
		size_t room = h->room * 2 + length + (64u << 10);
		int rc = sl_account_take(f->t->account, SL_MEMORY, room - h->room, f->t->err);
		char *grown = rc ? NULL : realloc(h->bytes, room);
		if (!grown)
			return rc ? rc : sl__table_memory_error(f->t);
		h->bytes = grown;
		h->room = room;
	}
	memcpy(h->bytes + h->size, line->at, length);
	h->size += length;
	h->bytes[h->size++] = '\n';
	h->lines++;
	return 0;
}

int sl__text_read_head(struct sl__text *f)
{
	struct sl__head *h = &f->head;
	struct sl__line line;
	int64_t before = sl__source_line_number(f->t->source);
	int rc;
	while ((rc = sl__source_line(f->t->source, &line, f->t->err)) > 0) {
		int64_t number = sl__source_line_number(f->t->source);
		rc = sl__source_join(f->t->source, &line, f->t->err);
		int64_t breaks = sl__source_line_number(f->t->source) - number;
		if (rc > 0)
			rc = breaks ? add_joined(f, breaks) : 0;
		if (!rc)
			rc = add_to_head(f, &line);
		if (rc)
			return rc;
		if (h->size >= HEAD_BYTES && h->lines >= HEAD_LINES)
			break;
	}
	h->whole = rc == 0;
	h->number = before;
	sl__source_set_line_number(f->t->source, before);
	return rc < 0 ? rc : 0;
}

void sl__text_rewind(struct sl__text *f)
{
	f->head.at = 0;
	f->started = false;
	f->blank_lines = f->comment_lines = f->late_comments = 0;
	sl__source_set_line_number(f->t->source, f->head.number);
}

/* The next line of the head or, behind it, of the source. */
static int any_line(struct sl__text *f, struct sl__line *line)
{
	struct sl__head *h = &f->head;
	const char *at = h->bytes + h->at;
	if (h->at == h->size) {
		int rc = f->only_head ? 0 : sl__source_line(f->t->source, line, f->t->err);
		return rc <= 0 ? rc : sl__source_join(f->t->source, line, f->t->err);
	}
	int64_t breaks = breaks_at(h, h->at);
	line->at = at;
	line->end = memchr(at, '\n', h->size - h->at);
	h->at = (size_t)(line->end + 1 - h->bytes);
	sl__source_set_line_number(f->t->source, sl__source_line_number(f->t->source) + 1 + breaks);
	return 1;
}

int sl__text_next_line(struct sl__text *f, struct sl__line *line)
{
	int rc;
	while ((rc = any_line(f, line)) > 0) {
		const char *p = line->at;
		while (p < line->end && sl__is_blank(*p))
			p++;
		f->blank_lines += p == line->end;
		if (p == line->end)
			continue;
		if (!is_comment(f, line))
			return 1;
		f->comment_lines++;
		f->late_comments += f->started;
	}
	return rc;
}
