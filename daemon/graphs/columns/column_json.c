/* Cuts the text into tokens; jansson decodes each of them. */
#include "daemon/graphs/columns/column_json.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "core/account.h"
#include "core/formats/source/source.h"

#define BLOCK (64 << 10)
#define COPIES 4   /* of a token: here, in jansson's buffer, which doubles, and in the value */
#define FIRST 256

struct reader {
	struct sl_source *source;
	const char *file;
	unsigned char block[BLOCK];
	size_t at, end;
	int line, rc;          /* rc: of reading the source */
	char *token;
	size_t length, room;
	struct sl_error *err;
};

static int not_json(struct reader *r, const char *why)
{
	if (r->rc)
		return r->rc;
	return sl_error_at(r->err, SL_BADDATA, r->file, r->line, "The body is not JSON: %s.", why);
}

/* The next byte; -1: there is none, or reading failed. */
static int next(struct reader *r)
{
	if (r->at == r->end && !r->rc) {
		int64_t got = sl__source_read(r->source, r->block, BLOCK, r->err);
		r->rc = got < 0 ? (int)got : 0;
		r->at = 0;
		r->end = got < 0 ? 0 : (size_t)got;
	}
	return r->at < r->end ? r->block[r->at] : -1;
}

static void skip(struct reader *r)
{
	r->line += r->block[r->at++] == '\n';
}

static int next_after_space(struct reader *r)
{
	int c;
	while ((c = next(r)) == ' ' || c == '\t' || c == '\n' || c == '\r')
		skip(r);
	return c;
}

static int take(struct reader *r, char wanted)
{
	char why[40];
	if (next_after_space(r) == wanted) {
		skip(r);
		return 0;
	}
	snprintf(why, sizeof why, "'%c' is expected", wanted);
	return not_json(r, next(r) < 0 ? "premature end of input" : why);
}

/* Moves the next byte into the token. */
static int keep(struct reader *r)
{
	if (r->length == r->room) {
		size_t more = r->room ? r->room : FIRST;
		int rc = sl_account_take(sl__source_account(r->source), SL_MEMORY, COPIES * (uint64_t)more, r->err);
		char *grown = rc ? NULL : realloc(r->token, r->room + more);
		if (!grown)
			return rc ? rc : sl_error_memory(r->err, "a value of the body");
		r->token = grown;
		r->room += more;
	}
	r->token[r->length++] = (char)r->block[r->at];
	skip(r);
	return 0;
}

/* Collects a string with its quotes. */
static int string(struct reader *r)
{
	int rc = keep(r), c;
	while (!rc && (c = next(r)) >= 0 && c != '"') {
		rc = keep(r);
		if (!rc && c == '\\' && next(r) >= 0)
			rc = keep(r);
	}
	return rc ? rc : next(r) < 0 ? not_json(r, "premature end of input") : keep(r);
}

static int value(struct reader *r, json_t **out)
{
	json_error_t why = {0};
	int c = next_after_space(r), rc = 0;
	r->length = 0;
	if (c < 0)
		return not_json(r, "premature end of input");
	if (c == '"')
		rc = string(r);
	else
		while (!rc && (c = next(r)) >= 0 && (isalnum(c) || c == '-' || c == '+' || c == '.'))
			rc = keep(r);
	if (rc || r->rc)
		return rc ? rc : r->rc;
	*out = json_loadb(r->token, r->length, JSON_DECODE_ANY, &why);
	return *out ? 0 : not_json(r, r->length ? why.text : "a value is expected");
}

static int values(struct reader *r, int (*add)(void *arg, const json_t *value), void *arg)
{
	int rc = take(r, '[');
	for (size_t i = 0; !rc && next_after_space(r) != ']'; i++) {
		json_t *one = NULL;
		rc = i ? take(r, ',') : 0;
		int c = rc ? 0 : next_after_space(r);
		if (c == '[' || c == '{')
			return sl_error_field(r->err, SL_BADPARAM, "/values", "values[%zu] must be a string, a number or null", i);
		if (!rc)
			rc = value(r, &one);
		if (!rc)
			rc = add(arg, one);
		json_decref(one);
	}
	return rc ? rc : r->rc ? r->rc : take(r, ']');
}

static int read_all(struct reader *r, int (*add)(void *arg, const json_t *value), void *arg)
{
	static const char wrong[] = "the body must be {\"values\": [...]}, and nothing else";
	json_t *name = NULL;
	int rc = take(r, '{');
	int c = rc ? 0 : next_after_space(r);
	if (c == '"')
		rc = value(r, &name);
	else if (!rc && c != '}')
		rc = not_json(r, c < 0 ? "premature end of input" : "string or '}' is expected");
	bool right = json_is_string(name) && !strcmp(json_string_value(name), "values");
	json_decref(name);
	if (!rc && right)
		rc = take(r, ':');
	if (!rc && (!right || next_after_space(r) != '['))
		rc = r->rc ? r->rc : sl_error_field(r->err, SL_BADPARAM, "/values", wrong);
	if (!rc)
		rc = values(r, add, arg);
	if (!rc && next_after_space(r) == ',')
		rc = sl_error_field(r->err, SL_BADPARAM, "/values", wrong);
	if (!rc)
		rc = take(r, '}');
	if (!rc && next_after_space(r) >= 0)
		rc = not_json(r, "end of file is expected");
	return rc ? rc : r->rc;
}

int sl__column_json(struct sl_source *source, const char *file, int (*add)(void *arg, const json_t *value), void *arg,
		    struct sl_error *err)
{
	struct reader *r = calloc(1, sizeof *r);
	if (!r)
		return sl_error_memory(err, "the body");
	r->source = source;
	r->file = file;
	r->line = 1;
	r->err = err;
	int rc = read_all(r, add, arg);
	free(r->token);
	free(r);
	return rc;
}
