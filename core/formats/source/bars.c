/* bars.c -- texts whose fields are separated by "|" or "::", as those of MovieLens and of data bases are.
 *
 * No reader knows these separators: if the first lines show one, the source replaces it by a tab before anybody reads a
 * line. "::" becomes a blank and a tab, since blanks before a tab are no part of a field.
 *
 * The separator must occur in all lines equally often, and neither tabs nor commas nor semicolons may do so. Names with
 * bars, such as "sp|P02769|ALBU", may also stand in lines that blanks separate; then numbers decide: those that stand
 * between bars are counted, and those that stand between blanks. "::" is also in names of C++ ("std::sort"), so the
 * first fields must be whole numbers, except in a header. */
#include <stdlib.h>
#include <string.h>

#include "core/formats/source/source_internal.h"
#include "core/formats/text/fields.h"

#define LINES 50   /* that are looked at */

static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_blank(char c) { return c == ' ' || c == '\t'; }

/* True if a number is all there is, apart from blanks. */
static bool is_number(const char *at, const char *end)
{
	char text[40], *stop;
	while (at < end && is_blank(*at))
		at++;
	while (at < end && is_blank(end[-1]))
		end--;
	if (at == end || end - at >= (ptrdiff_t)sizeof text || !(is_digit(*at) || strchr("+-.", *at)))
		return false;
	memcpy(text, at, (size_t)(end - at));
	text[end - at] = 0;
	strtod(text, &stop);
	return !*stop;
}

/* The number of separators in a line outside quotes; *numbers: fields between them that are numbers. */
static int count(const struct sl__line *line, char separator, int *numbers)
{
	const char *from = line->at;
	bool quoted = false;
	int found = 0;
	for (const char *p = line->at; p <= line->end; p++) {
		bool ends = p == line->end || (!quoted && (separator == ' ' ? is_blank(*p) : *p == separator));
		if (separator == ':' && p < line->end)
			ends = *p == ':' && p + 1 < line->end && p[1] == ':';
		else if (p < line->end)
			quoted ^= *p == '"';
		if (!ends)
			continue;
		*numbers += is_number(from, p);
		found += p < line->end && (separator != ' ' || (p > from && p + 1 < line->end));
		p += separator == ':' && p < line->end;
		from = p + 1;
	}
	return found;
}

static bool begins_with_number(const struct sl__line *line)
{
	const char *p = line->at;
	while (p < line->end && is_digit(*p))
		p++;
	return p > line->at && line->end - p > 1 && p[0] == ':' && p[1] == ':';
}

/* Counts the separators of each of the lines. False: it is not the same in all, or there is none. */
static bool in_all(const struct sl__line *line, int lines, char separator, int *numbers)
{
	int first = 0;
	for (int k = 0; k < lines; k++) {
		int found = count(&line[k], separator, numbers);
		if (!found || (k && found != first))
			return false;
		first = found;
	}
	return lines > 0;
}

static bool separates_bars(const struct sl__line *line, int lines)
{
	int numbers = 0, others = 0;
	if (!in_all(line, lines, '|', &numbers))
		return false;
	for (const char *other = "\t,;"; *other; other++)
		if (in_all(line, lines, *other, &others))
			return false;
	bool alone = false;
	for (const char *p = line->at; p + 2 < line->end; p++)
		alone |= p[0] == ' ' && p[1] == '|' && p[2] == ' ';
	others = 0;
	return alone || !in_all(line, lines, ' ', &others) || numbers > others || !others;
}

static bool separates_colons(const struct sl__line *line, int lines)
{
	int numbers = 0;
	bool numbered = lines > 0 && (lines == 1 ? begins_with_number(line) : true);
	for (int k = 1; k < lines; k++)
		numbered &= begins_with_number(&line[k]);
	if (!numbered || !in_all(line, lines, ':', &numbers))
		return false;
	for (const char *other = "\t,;"; *other; other++)
		if (in_all(line, lines, *other, &numbers))
			return false;
	return true;
}

/* The first lines that are neither blank nor comments. */
static int take_lines(const char *at, const char *end, bool whole, struct sl__line *line)
{
	int lines = 0;
	while (lines < LINES && sl__next_line(&at, end, &line[lines]) && (whole || at < end))
		lines += line[lines].at < line[lines].end && !strchr("#%!", *line[lines].at);
	return lines;
}

void sl__source_find_bars(struct sl_source *s)
{
	struct sl__line line[LINES];
	const char *at = s->buffer + s->at, *end = s->buffer + s->end;
	if (s->looked_for_bars)
		return;
	s->looked_for_bars = true;
	size_t size = (size_t)(end - at);
	if (!size || strchr("[{<", *at) || memchr(at, 0, size) || (!memchr(at, '|', size) && !memmem(at, size, "::", 2)))
		return;
	int lines = take_lines(at, end, s->eof, line);
	s->bars = separates_bars(line, lines) ? '|' : separates_colons(line, lines) ? ':' : 0;
	if (s->bars)
		sl__source_replace_bars(s, s->at);
}

void sl__source_replace_bars(struct sl_source *s, size_t from)
{
	char *at = s->buffer + from, *end = s->buffer + s->end;
	if (s->bars == ':') {
		at -= from > s->at && at[-1] == ':';  /* its second half may have come now */
		while ((at = memmem(at, (size_t)(end - at), "::", 2))) {
			memcpy(at, " \t", 2);
			at += 2;
		}
		return;
	}
	for (; at < end; at++) {
		if (*at == '"')
			s->in_quotes ^= s->in_quotes || s->field_begins;
		else if (*at == '\t' && !s->in_quotes)
			*at = ' ';
		else if (*at == '|' && !s->in_quotes)
			*at = '\t';
		s->field_begins = *at == '\t' || *at == '\n' || *at == '\r' || (s->field_begins && *at == ' ');
	}
}

const char *sl__source_separator(const struct sl_source *s, char separator)
{
	return s->bars == '|' ? "bars" : s->bars ? "double colons" : sl__separator_name(separator);
}
