/* singular.c -- a list of nouns, since messages come from many places and each counts few things. */
#include "core/singular.h"

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

static const struct {
	const char *many, *one;
} nouns[] = {
	{"entries", "entry"}, {"axes", "axis"}, {"indices", "index"}, {"categories", "category"}, {"copies", "copy"},
	{"nodes", "node"}, {"points", "point"}, {"rows", "row"}, {"columns", "column"}, {"edges", "edge"},
	{"neighbours", "neighbour"}, {"clusters", "cluster"}, {"components", "component"}, {"iterations", "iteration"},
	{"labels", "label"}, {"fields", "field"}, {"lines", "line"}, {"titles", "title"}, {"words", "word"},
	{"names", "name"}, {"values", "value"}, {"numbers", "number"}, {"dimensions", "dimension"}, {"files", "file"},
	{"members", "member"}, {"bytes", "byte"}, {"jobs", "job"}, {"graphs", "graph"}, {"users", "user"},
	{"threads", "thread"}, {"seconds", "second"}, {"coordinates", "coordinate"}, {"distances", "distance"},
	{"snapshots", "snapshot"}, {"partners", "partner"}, {"pivots", "pivot"}, {"weights", "weight"},
};

/* The noun that begins at `at`, or -1. */
static int noun_at(const char *at)
{
	for (size_t k = 0; k < sizeof nouns / sizeof *nouns; k++) {
		size_t length = strlen(nouns[k].many);
		if (!strncmp(at, nouns[k].many, length) && !isalpha((unsigned char)at[length]))
			return (int)k;
	}
	return -1;
}

/* Length of an adjective and the blank behind it: "1 new points". */
static size_t adjective_at(const char *at)
{
	static const char *const words[] = {"new ", "more ", "other ", "further ", "different ", "principal ", NULL};
	for (const char *const *word = words; *word; word++)
		if (!strncmp(at, *word, strlen(*word)))
			return strlen(*word);
	return 0;
}

/* True if the 1 at p is a number of its own: not the end of 21, 0.1 or column1. */
static bool is_one(const char *text, const char *p)
{
	char before = p > text ? p[-1] : ' ';
	return p[0] == '1' && p[1] == ' ' && !isalnum((unsigned char)before) && !strchr(".,_-/:", before);
}

void sl_singular(char *text)
{
	bool quoted = false;
	for (char *p = text; *p; p++) {
		quoted ^= *p == '"';
		if (quoted || !is_one(text, p))
			continue;
		char *noun = p + 2;
		int k = noun_at(noun);
		size_t before = k < 0 ? adjective_at(noun) : 0;
		if (before)
			k = noun_at(noun += before);
		if (k < 0)
			continue;
		size_t from = strlen(nouns[k].many), to = strlen(nouns[k].one);
		memcpy(noun, nouns[k].one, to);
		memmove(noun + to, noun + from, strlen(noun + from) + 1);
	}
}
