/* The table of error codes is made from SL_ERRORS (error.h); code -i is its entry i. A message that is too long is
 * cut. */
#include "core/error.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

static const struct {
	const char *name, *type, *title;
	int status;
} errors[] = {
	{"OK", "about:blank", "OK", 200},
#define X(name, status, type, title) {#name, type, title, status},
	SL_ERRORS(X)
#undef X
};

static int ordinal(int code)
{
	int count = (int)(sizeof errors / sizeof *errors);
	return code <= 0 && -code < count ? -code : SL_ERROR_INTERNAL_;
}

const char *sl_error_name(int code) { return errors[ordinal(code)].name; }
const char *sl_error_type(int code) { return errors[ordinal(code)].type; }
const char *sl_error_title(int code) { return errors[ordinal(code)].title; }
int sl_error_status(int code) { return errors[ordinal(code)].status; }

/* ---- the singular ----------------------------------------------------------------- */

/* A list of nouns, since messages come from many places and each counts few things. */
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

/* ---- errors ------------------------------------------------------------------------ */

static int fill(struct sl_error *err, int code, const char *file, int64_t line, const char *pointer,
		const char *format, va_list args)
{
	if (!err)
		return code;
	memset(err, 0, sizeof *err);
	err->code = code;
	err->line = line;
	snprintf(err->file, sizeof err->file, "%s", file ? file : "");
	snprintf(err->pointer, sizeof err->pointer, "%s", pointer ? pointer : "");
	vsnprintf(err->detail, sizeof err->detail, format, args);
	sl_singular(err->detail);
	return code;
}

int sl_error_set(struct sl_error *err, int code, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	fill(err, code, NULL, 0, NULL, format, args);
	va_end(args);
	return code;
}

static int memory(struct sl_error *err, const char *file, const char *what, va_list args)
{
	char format[256];
	snprintf(format, sizeof format, SL_NO_MEMORY "%s.", what);
	return fill(err, SL_NOMEM, file, 0, NULL, format, args);
}

int sl_error_memory(struct sl_error *err, const char *what, ...)
{
	va_list args;
	va_start(args, what);
	memory(err, NULL, what, args);
	va_end(args);
	return SL_NOMEM;
}

int sl_error_memory_at(struct sl_error *err, const char *file, const char *what, ...)
{
	va_list args;
	va_start(args, what);
	memory(err, file, what, args);
	va_end(args);
	return SL_NOMEM;
}

int sl_error_at(struct sl_error *err, int code, const char *file, int64_t line, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	fill(err, code, file, line, NULL, format, args);
	va_end(args);
	return code;
}

int sl_error_field(struct sl_error *err, int code, const char *pointer, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	fill(err, code, NULL, 0, pointer, format, args);
	va_end(args);
	return code;
}

char *sl_error_format(const struct sl_error *err, char *out, int bytes)
{
	if (err->file[0] && err->line > 0)
		snprintf(out, (size_t)bytes, "%s:%lld: %s", err->file, (long long)err->line, err->detail);
	else if (err->file[0])
		snprintf(out, (size_t)bytes, "%s: %s", err->file, err->detail);
	else if (err->pointer[0])
		snprintf(out, (size_t)bytes, "%s: %s", err->pointer, err->detail);
	else
		snprintf(out, (size_t)bytes, "%s", err->detail);
	return out;
}
