/* One pass over a line. A plain field points into the line, a quoted one into scratch memory, which serves the next
 * line again. */
#include "core/formats/text/fields.h"

#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/formats/text/names.h"
#include "core/formats/text/number.h"

void sl__fields_init(struct sl__fields *fields)
{
	memset(fields, 0, sizeof *fields);
	fields->separator = ' ';
}

void sl__fields_finish(struct sl__fields *fields)
{
	free(fields->scratch);
	fields->scratch = NULL;
}

char sl__guess_separator(const char *at, const char *end)
{
	bool quoted = false, comma = false, semicolon = false;

	for (; at < end; at++) {
		if (*at == '"')
			quoted = !quoted;
		else if (quoted)
			continue;
		else if (*at == '\t')
			return '\t';
		comma = comma || (!quoted && *at == ',');
		semicolon = semicolon || (!quoted && *at == ';');
	}
	return comma ? ',' : semicolon ? ';' : ' ';
}

const char *sl__separator_name(char separator)
{
	switch (separator) {
	case '\t':
		return "tabs";
	case ',':
		return "commas";
	case ';':
		return "semicolons";
	default:
		return "spaces";
	}
}

static inline bool is_blank(char c) { return c == ' ' || c == '\t'; }

static inline bool separates(const struct sl__fields *f, char c)
{
	return f->separator == ' ' ? is_blank(c) : c == f->separator;
}

/* Skips blanks around a field; a tab that is the separator is no blank. */
static const char *skip_blanks(const struct sl__fields *f, const char *p, const char *end)
{
	while (p < end && is_blank(*p) && !(f->separator == '\t' && *p == '\t'))
		p++;
	return p;
}

/* *at: after the opening quote; moved to after the closing one. *used: bytes of scratch in use. */
static int take_quoted(struct sl__fields *f, struct sl__field *out, const char **at, const char *end, size_t *used,
		       size_t line_bytes)
{
	const char *from = *at, *p = from;
	bool doubled = false;

	for (; p < end; p++) {
		if (*p != '"')
			continue;
		if (p + 1 == end || p[1] != '"')
			break;
		doubled = true;
		p++;
	}
	if (p >= end)
		return SL_BADDATA;
	*at = p + 1;
	out->text = from;
	out->length = (size_t)(p - from);
	if (!doubled)
		return 0;
	if (f->scratch_bytes < line_bytes + SL__FIELDS_MAX) {
		/* it grows only before its first use on a line, so no field of the line loses its text */
		char *scratch = realloc(f->scratch, line_bytes + SL__FIELDS_MAX);
		if (!scratch)
			return SL_NOMEM;
		f->scratch = scratch;
		f->scratch_bytes = line_bytes + SL__FIELDS_MAX;
	}
	char *to = f->scratch + *used;
	out->text = to;
	for (; from < p; from++) {
		*to++ = *from;
		if (*from == '"')
			from++;
	}
	out->length = (size_t)(to - out->text);
	*to++ = '\n';  /* stops the parsers of numbers */
	*used = (size_t)(to - f->scratch);
	return 0;
}

static void take_plain(struct sl__fields *f, struct sl__field *out, const char **at, const char *end)
{
	const char *p = *at;

	while (p < end && !separates(f, *p))
		p++;
	out->text = *at;
	*at = p;
	while (p > out->text && is_blank(p[-1]))
		p--;
	out->length = (size_t)(p - out->text);
}

int sl__fields_split(struct sl__fields *f, const char *at, const char *end)
{
	size_t used = 0, line_bytes = (size_t)(end - at);
	const char *p = skip_blanks(f, at, end);

	f->count = 0;
	while (p < end || (f->count > 0 && f->separator != ' ')) {
		struct sl__field *out = &f->field[f->count];

		if (p < end && *p == '"') {
			p++;
			int rc = take_quoted(f, out, &p, end, &used, line_bytes);
			if (rc)
				return rc;
			p = skip_blanks(f, p, end);
			if (p < end && !separates(f, *p) && !(f->separator == ' ' && p[-1] != '"'))
				return SL_BADDATA;
		} else {
			take_plain(f, out, &p, end);
		}
		if (++f->count == SL__FIELDS_MAX)
			break;
		if (f->separator != ' ') {
			if (p >= end)
				break;
			p++;  /* the separator; an empty field may follow, also at the end */
		}
		p = skip_blanks(f, p, end);
	}
	return 0;
}

bool sl__marks_comment(const char *at, const char *end)
{
	while (at < end && *at == ' ')  /* a tab may stand behind an empty field */
		at++;
	return at < end && (*at == '#' || *at == '%');
}

bool sl__field_float(const struct sl__field *field, float *out)
{
	const char *p = field->text;

	return field->length && sl__parse_float(&p, out) && p == field->text + field->length;
}

bool sl__field_double(const struct sl__field *field, double *out)
{
	const char *p = field->text;

	return field->length && sl__parse_double(&p, out) && p == field->text + field->length;
}

/* Bytes of the UTF-8 character at text; 0: there is none. */
static size_t character(const char *text, size_t left)
{
	unsigned char c = (unsigned char)text[0];
	size_t length = c < 0x80 ? 1 : c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc2 ? 2 : 0;

	return length <= left && length && sl__valid_utf8(text, length) ? length : 0;
}

const char *sl__field_show(const struct sl__field *field, char *out, size_t size)
{
	size_t at = 0, length = 0;

	while (at < field->length) {
		size_t step = character(field->text + at, field->length - at);
		unsigned char c = (unsigned char)field->text[at];
		if (length + (step ? step : 1) + 3 >= size)
			break;
		if (!step || c < 0x20 || c == 0x7f)
			out[length++] = '?';
		else
			memcpy(out + length, field->text + at, step);
		length += step && c >= 0x20 && c != 0x7f ? step : 0;
		at += step ? step : 1;
	}
	if (at < field->length) {
		memcpy(out + length, "...", 3);
		length += 3;
	}
	out[length] = 0;
	return out;
}

const char *sl__field_title(const struct sl__field *field, char *out, size_t size)
{
	size_t length = field->length;

	out[0] = 0;
	if (!sl__valid_utf8(field->text, length))
		return out;
	if (length >= size) {
		length = size - 1;
		while (length && ((unsigned char)field->text[length] & 0xc0) == 0x80)
			length--;
	}
	for (size_t k = 0; k < length; k++)
		out[k] = (unsigned char)field->text[k] < 0x20 || field->text[k] == 0x7f ? ' ' : field->text[k];
	out[length] = 0;
	return out;
}

bool sl__is_title(const char *title, const char *text)
{
	char cut[SL__TITLE_BYTES];
	struct sl__field field = {text, strlen(text)};

	return !strcmp(title, field.length < sizeof cut ? text : sl__field_title(&field, cut, sizeof cut));
}

bool sl__field_is_whole(const struct sl__field *field, uint64_t *out)
{
	*out = 0;
	for (size_t i = 0; i < field->length; i++) {
		if (field->text[i] < '0' || field->text[i] > '9' || i > 9)
			return false;
		*out = *out * 10 + (uint64_t)(field->text[i] - '0');
	}
	return field->length > 0;
}
