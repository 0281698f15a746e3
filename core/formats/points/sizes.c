/* sizes.c -- a first line that has the numbers of rows and of columns, as word2vec and GCT write it. */
#include <string.h>

#include "core/formats/points/text_internal.h"

/* Whole numbers of a line of two. */
static bool two_numbers(const struct sl__line *line, uint64_t out[2])
{
	const char *p = line->at;
	for (int k = 0; k < 2; k++) {
		struct sl__field field;
		while (p < line->end && sl__is_blank(*p))
			p++;
		field.text = p;
		while (p < line->end && !sl__is_blank(*p))
			p++;
		field.length = (size_t)(p - field.text);
		if (!sl__field_is_whole(&field, &out[k]))
			return false;
	}
	while (p < line->end && sl__is_blank(*p))
		p++;
	return p == line->end;
}

/* The text may end with the bytes. */
static bool is_plain_number(const char *from, const char *to)
{
	char text[64];
	struct sl__field field = {text, (size_t)(to - from)};
	if (field.length >= sizeof text)
		return false;
	memcpy(text, from, field.length);
	text[field.length] = '\n';
	return sl__text_is_number(&field);
}

bool sl__text_sizes(const char *at, const char *end, uint64_t told[2])
{
	struct sl__line line, second;
	if (!sl__next_line(&at, end, &line) || !two_numbers(&line, told) || !told[0] || !told[1] ||
	    !sl__next_line(&at, end, &second) || second.at == second.end)
		return false;
	bool tabs = memchr(second.at, '\t', (size_t)(second.end - second.at)) != NULL;
	const char *p = second.at, *stop = second.end;
	uint64_t fields = 0;
	double value;
	struct sl__field first = {p, 0};
	uint64_t numbers = 0;  /* the last fields that are numbers */
	for (; p < stop; fields++) {
		const char *from = p;
		while (p < stop && !(tabs ? *p == '\t' : sl__is_blank(*p)))
			p++;
		if (!fields)
			first.length = (size_t)(p - second.at);
		numbers = is_plain_number(from, p) ? numbers + 1 : 0;
		if (tabs)
			p += p < stop;  /* one tab: fields may be empty */
		while (!tabs && p < stop && sl__is_blank(*p))
			p++;
	}
	bool word = first.length && !sl__field_double(&first, &value);
	return word && ((fields == told[1] + 1 && (tabs || numbers == told[1])) || (tabs && fields == told[1] + 2));
}
