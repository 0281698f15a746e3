/* lines.c -- finds the ends of lines. */
#include <string.h>

#include "core/formats/source/source_internal.h"

#define WINDOW 1024  /* bytes that are searched for one byte after the other */

char *sl__line_end(char *at, char *end, bool whole, char **next)
{
	for (; at < end; at += WINDOW) {
		size_t size = end - at < WINDOW ? (size_t)(end - at) : WINDOW;
		char *feed = memchr(at, '\n', size);
		char *stop = memchr(at, '\r', feed ? (size_t)(feed - at) : size);
		if (!stop && !feed)
			continue;
		if (!stop)
			stop = feed;
		else if (stop + 1 == end && !whole)
			return NULL;
		*next = stop + 1 + (*stop == '\r' && stop + 1 < end && stop[1] == '\n');
		return stop;
	}
	return NULL;
}

bool sl__next_line(const char **at, const char *end, struct sl__line *line)
{
	char *next = NULL, *from = (char *)*at;
	if (from >= end)
		return false;
	char *stop = sl__line_end(from, (char *)end, true, &next);
	*line = (struct sl__line){from, stop ? stop : end};
	*at = stop ? next : end;
	return true;
}
