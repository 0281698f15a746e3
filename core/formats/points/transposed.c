/* transposed.c -- reads a text table whose columns are points, such as genes in rows and cells in columns. The text is
 * turned in memory, and the ordinary reader reads the turned text: the header then names the points, the first column
 * titles the columns. The memory is booked: the fields, an offset for each, and the turned text. */
#include <stdlib.h>
#include <string.h>

#include "core/account.h"
#include "core/formats/points/text_internal.h"
#include "core/taken/taken.h"

struct turned {
	struct sl__text f;      /* splits lines */
	char *bytes;            /* the fields, one after the other */
	uint64_t used, room;
	uint64_t *end;          /* [fields] where each field ends */
	uint64_t fields, fields_room;
	uint64_t rows, columns; /* columns of the first row */
	bool shifted;           /* the first row has no field above the row names */
	uint64_t comments;
	char *text;             /* turned */
	uint64_t size, longest; /* of text; of its lines */
};

static int grow(struct sl_account *account, void **array, uint64_t *room, uint64_t wanted, size_t size)
{
	if (wanted <= *room)
		return 0;
	uint64_t more = *room * 2 > wanted ? *room * 2 : wanted + 4096;
	if (sl_account_take(account, SL_MEMORY, (more - *room) * size, NULL))
		return SL_NOMEM;
	void *grown = realloc(*array, more * size);
	if (!grown)
		return SL_NOMEM;
	*array = grown;
	*room = more;
	return 0;
}

static int add_field(struct turned *x, const struct sl__field *field)
{
	void *bytes = x->bytes, *end = x->end;
	int rc = grow(x->f.t->account, &bytes, &x->room, x->used + field->length, 1);
	x->bytes = bytes;
	if (!rc)
		rc = grow(x->f.t->account, &end, &x->fields_room, x->fields + 1, sizeof *x->end);
	x->end = end;
	if (rc)
		return sl__table_memory_error(x->f.t);
	if (field->length)
		memcpy(x->bytes + x->used, field->text, field->length);
	x->used += field->length;
	x->end[x->fields++] = x->used;
	return 0;
}

static int count_error(struct turned *x, uint64_t found)
{
	return sl__source_fail(x->f.t->source, SL_BADDATA, x->f.t->err, "The line has %llu fields, separated by %s; the "
			       "lines above have %llu.", (unsigned long long)found,
			       sl__source_separator(x->f.t->source, x->f.separator), (unsigned long long)x->columns);
}

/* Adds the fields of a line; below the first row a line that begins with # or % and has other fields is a comment. */
static int add_line(struct turned *x, const struct sl__line *line)
{
	struct sl__field field;
	const char *at = line->at;
	uint64_t before = x->fields, used = x->used;
	int rc = sl__text_start_line(&x->f, line);

	while (!rc && (rc = sl__text_next_field(&x->f, &at, line->end, &field)) > 0)
		rc = add_field(x, &field);
	if (rc)
		return rc;
	uint64_t found = x->fields - before;
	if (x->rows == 1 && found == x->columns + 1) {
		x->shifted = true;
		x->columns++;
	} else if (x->rows && found != x->columns) {
		if (!sl__marks_comment(line->at, line->end))
			return count_error(x, found);
		x->comments++;
		x->fields = before;
		x->used = used;
		return 0;
	}
	if (!x->rows)
		x->columns = found;
	x->rows++;
	return 0;
}

static int read_fields(struct turned *x)
{
	struct sl__line line;
	int rc;

	while ((rc = sl__source_line(x->f.t->source, &line, x->f.t->err)) > 0) {
		rc = sl__source_join(x->f.t->source, &line, x->f.t->err);
		if (rc < 0)
			return rc;
		const char *p = line.at;
		while (p < line.end && sl__is_blank(*p))
			p++;
		if (p == line.end)
			continue;
		if (!x->rows && sl__marks_comment(p, line.end)) {
			x->comments++;
			continue;
		}
		if (!x->rows) {
			x->f.separator = sl__guess_separator(line.at, line.end);
			if (x->f.separator == ',' && memchr(line.at, ';', (size_t)(line.end - line.at)))
				x->f.separator = ';';
		}
		rc = add_line(x, &line);
		if (rc)
			return rc;
	}
	if (!rc && !x->rows)
		rc = sl_error_at(x->f.t->err, SL_BADDATA, sl__source_name(x->f.t->source), 0, "The file has no point.");
	return rc;
}

static bool needs_quotes(const char *text, uint64_t length, char separator)
{
	return length && (*text == '#' || *text == '%' || *text == ' ' || text[length - 1] == ' ' ||
			  memchr(text, '"', length) || memchr(text, separator, length));
}

static char *put_field(char *to, const char *text, uint64_t length, char separator)
{
	bool quotes = needs_quotes(text, length, separator);

	if (quotes)
		*to++ = '"';
	for (uint64_t k = 0; k < length; k++) {
		if (text[k] == '"')
			*to++ = '"';
		*to++ = text[k];
	}
	if (quotes)
		*to++ = '"';
	return to;
}

/* Field `column` of row `row`; *length is 0 above the row names of a shifted table. */
static const char *field_at(const struct turned *x, uint64_t row, uint64_t column, uint64_t *length)
{
	*length = 0;
	if (x->shifted && row == 0 && column == 0)
		return "";
	uint64_t k = row * x->columns + column - x->shifted, from = k ? x->end[k - 1] : 0;
	*length = x->end[k] - from;
	return *length ? x->bytes + from : "";
}

static int write_text(struct turned *x)
{
	uint64_t most = 2 * x->used + 4 * (x->fields + 2);
	char separator = x->f.separator == ' ' ? '\t' : x->f.separator, *to;

	x->text = sl_account_alloc(x->f.t->account, most, 1);
	if (!x->text)
		return sl__table_memory_error(x->f.t);
	to = x->text;
	for (uint64_t c = 0; c < x->columns; c++) {
		char *from = to;
		for (uint64_t r = 0; r < x->rows; r++) {
			uint64_t length;
			const char *text = field_at(x, r, c, &length);
			if (r)
				*to++ = separator;
			to = put_field(to, text, length, separator);
		}
		*to++ = '\n';
		x->longest = (uint64_t)(to - from) > x->longest ? (uint64_t)(to - from) : x->longest;
	}
	x->size = (uint64_t)(to - x->text);
	return 0;
}

static int read_turned(struct turned *x, struct sl__table *t, struct sl_points **out)
{
	struct sl_source *whole = t->source, *turned = NULL;
	char name[280];
	snprintf(name, sizeof name, "%s (transposed)", sl__source_name(whole));
	int rc = sl_source_open_memory(&turned, x->text, x->size, name, t->err);
	if (rc)
		return rc;
	sl_source_set_account(turned, t->account);
	sl__source_set_options(turned, &t->options->read);
	rc = sl__source_widen(turned, x->longest + 2, t->err);
	t->source = turned;
	if (!rc)
		rc = sl__read_points_text(t, out);
	t->source = whole;
	sl_source_close(turned);
	if (!rc && (*out)->taken) {
		struct sl_taken *taken = (*out)->taken;
		taken->transposed = true;
		taken->lines = taken->header_lines = taken->blank_lines = 0;
		taken->comment_lines = x->comments;
	}
	return rc;
}

int sl__read_points_transposed(struct sl__table *t, struct sl_points **out)
{
	struct turned x = {.f = {.t = t}};
	int rc = read_fields(&x);
	if (!rc)
		rc = write_text(&x);
	free(x.bytes);
	free(x.end);
	free(x.f.scratch);
	if (!rc)
		rc = read_turned(&x, t, out);
	free(x.text);
	return rc;
}
