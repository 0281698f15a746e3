/* records.c -- quoted fields that hold line breaks, as spreadsheets and pandas write remarks and addresses.
 *
 * A quote opens a field at the beginning of a line or behind a separator, unless a separator follows it: in files of
 * words a quote may be a word. The lines that follow belong to the field if a quote closes it within RECORD_LINES
 * lines, with a separator or the end of a line behind it. Otherwise the line stays alone, and its reader refuses it. */
#include <string.h>

#include "core/formats/source/source_internal.h"

#define RECORD_LINES 1000

static bool separates(char c) { return c == ',' || c == ';' || c == '\t'; }

static const char *skip_blanks(const char *p, const char *end)
{
	while (p < end && *p == ' ')
		p++;
	return p;
}

/* p: behind an opening quote. The closing one; `end`: there is none. */
static const char *closing(const char *p, const char *end)
{
	for (; p < end; p++) {
		if (*p == '\\' && p + 2 < end && p[1] == '"' && !separates(p[2]) && p[2] != '\n' && p[2] != '\r')
			p++;  /* R's \" */
		else if (*p == '"' && (p + 1 == end || p[1] != '"'))
			return p;
		else if (*p == '"')
			p++;
	}
	return end;
}

/* The end of the line at `at`, or of the lines that a quoted field joins; `end`: it does not end before. NULL: it
 * cannot be joined. *breaks: line breaks inside. */
static const char *record_end(const char *at, const char *end, int *breaks)
{
	bool begins = true;  /* a field may begin here */
	*breaks = 0;
	for (const char *p = at; p < end; p++) {
		if (*p == '\n' || *p == '\r')
			return p;
		if (*p == '"' && begins && (p + 1 == end || !separates(p[1]))) {
			const char *close = closing(p + 1, end), *inside = p;
			while ((inside = memchr(inside, '\n', (size_t)(close - inside)))) {
				++*breaks;
				inside++;
			}
			const char *next = close < end ? skip_blanks(close + 1, end) : end;
			if (close == end || *breaks > RECORD_LINES ||
			    (*breaks && next < end && !separates(*next) && *next != '\n' && *next != '\r'))
				return NULL;
			p = close;
			begins = false;
			continue;
		}
		begins = separates(*p) || (begins && *p == ' ');
	}
	return end;
}

bool sl__next_record(const char **at, const char *end, struct sl__line *line)
{
	int breaks;
	if (!sl__next_line(at, end, line))
		return false;
	if (!memchr(line->at, '"', (size_t)(line->end - line->at)))
		return true;
	const char *stop = record_end(line->at, end, &breaks);
	if (!stop || !breaks)
		return true;
	*at = line->end = stop;
	if (stop < end)
		*at = stop + 1 + (*stop == '\r' && stop + 1 < end && stop[1] == '\n');
	return true;
}

int sl__source_join(struct sl_source *s, struct sl__line *line, struct sl_error *err)
{
	int breaks, rc = 0;
	if (!memchr(line->at, '"', (size_t)(line->end - line->at)))
		return 1;
	const char *stop = record_end(line->at, line->end, &breaks);
	if (stop)
		return 1;
	int64_t number = s->line;
	s->at = (size_t)(line->at - s->buffer);
	while (!rc && !s->eof && (s->at || s->end < s->room))
		rc = sl__source_fill(s, err);
	if (rc)
		return rc;
	char *at = s->buffer + s->at, *end = s->buffer + s->end;
	const char *next = at;
	stop = record_end(at, end, &breaks);
	if (stop == end && !s->eof)
		stop = NULL;
	if (!stop || !breaks) {  /* as it was */
		s->line = number - 1;
		return sl__source_line(s, line, err);
	}
	sl__next_record(&next, end, line);
	s->at = (size_t)(next - s->buffer);
	*(char *)line->end = '\n';
	for (char *p = at; p < line->end; p++)
		*p = *p == '\n' || *p == '\r' ? ' ' : *p;
	s->line = number + breaks;
	if (!s->joined)
		s->first_joined = number;
	s->joined += (uint64_t)breaks;
	return 1;
}

uint64_t sl__source_joined(const struct sl_source *s, int64_t *first)
{
	*first = s->first_joined;
	return s->joined;
}
