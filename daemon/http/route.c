/* Finds the route of a request (routes/routes.h), and checks its query parameters. */
#include <string.h>

#include "daemon/http/http_internal.h"

static int hex(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : -1;
}

/* The next character of a path as it was sent, decoded, and its encoded length. */
static char decoded(const char *path, size_t *length)
{
	bool escape = path[0] == '%' && hex(path[1]) >= 0 && hex(path[2]) >= 0;
	*length = escape ? 3 : 1;
	return escape ? (char)(hex(path[1]) * 16 + hex(path[2])) : path[0];
}

/* Compares a pattern with a path as it was sent; keeps the path parameters in r. A slash in a parameter is %2F. */
static bool match(struct sl_request *r, const char *pattern, const char *path)
{
	size_t length;
	r->paths = 0;
	while (*pattern && *path) {
		if (*pattern != '{') {
			if (decoded(path, &length) != *pattern || (*pattern == '/' && length > 1))
				return false;
			pattern++;
			path += length;
			continue;
		}
		size_t name = strcspn(++pattern, "}"), value = strcspn(path, "/");
		if (!value || r->paths == SL__PATH_PARAMETERS)
			return false;
		snprintf(r->path[r->paths].name, sizeof r->path[0].name, "%.*s", (int)name, pattern);
		r->path[r->paths++].value = (char *)path;
		pattern += name + 1;
		path += value;
	}
	return !*pattern && !*path;
}

/* Replaces the values, which point into the path, by decoded copies. False: no memory. */
static bool keep_path(struct sl_request *r)
{
	bool kept = true;
	size_t length;
	for (int i = 0; i < r->paths; i++) {
		char *value = strndup(r->path[i].value, strcspn(r->path[i].value, "/")), *to = value;
		for (const char *from = value; from && *from; from += length)
			*to++ = decoded(from, &length);
		if (value)
			*to = '\0';
		r->path[i].value = value;
		kept = kept && value;
	}
	return kept;
}

static void add_method(char *list, size_t bytes, const char *method)
{
	size_t used = strlen(list);
	snprintf(list + used, bytes - used, "%s%s%s", used ? ", " : "", method, !strcmp(method, "GET") ? ", HEAD" : "");
}

bool sl__route_find(struct sl_request *r, const char *method)
{
	r->head = !strcmp(method, "HEAD");
	if (r->head)
		method = "GET";
	for (int i = 0; i < sl_routes_count; i++) {
		if (strcmp(sl_routes[i].method, method) || !match(r, sl_routes[i].pattern, r->encoded))
			continue;
		r->route = &sl_routes[i];
		if (keep_path(r))
			return true;
		sl_reply_problem(r, SL_NOMEM, SL_NO_MEMORY "a path.");
		return false;
	}
	r->paths = 0;
	return true;
}

void sl__route_missing(struct sl_request *r, const char *method)
{
	char allowed[128] = "";
	for (int i = 0; i < sl_routes_count; i++)
		if (match(r, sl_routes[i].pattern, r->encoded))
			add_method(allowed, sizeof allowed, sl_routes[i].method);
	r->paths = 0;
	if (!allowed[0]) {
		sl_reply_status(r, 404, "there is nothing at %.200s; /v1/openapi.yaml lists all paths", r->target);
		return;
	}
	sl_reply_header(r, "Allow", "%s", allowed);
	sl_reply_status(r, 405, "%.16s is not possible here; allowed: %s", method, allowed);
}

/* ---- queries ------------------------------------------------------------------------ */

struct query_check {
	struct sl_request *r;
	struct sl_error err;
};

static bool word_in(const char *list, const char *word)
{
	size_t length = strlen(word);
	while (list && *list) {
		size_t n = strcspn(list, " ");
		if (n == length && !memcmp(list, word, n))
			return true;
		list += n;
		list += strspn(list, " ");
	}
	return false;
}

static bool on_argument(void *arg, const struct sl__pair *pair)
{
	struct query_check *check = arg;
	const char *key = pair->name, *value = pair->value;
	const char *known = check->r->route->query;
	char pointer[96];
	snprintf(pointer, sizeof pointer, "?%s", key);
	if (!word_in(known, key) && strcmp(key, "link")) {  /* any request may have `link`; sender.c */
		if (known)
			sl_error_field(&check->err, SL_BADPARAM, pointer, "unknown query parameter '%.64s'; known ones: %s", key,
				       known);
		else
			sl_error_field(&check->err, SL_BADPARAM, pointer, "unknown query parameter '%.64s'; there are none here",
				       key);
		return false;
	}
	if (memchr(key, 0, pair->name_bytes) || (value && memchr(value, 0, pair->value_bytes))) {
		sl_error_field(&check->err, SL_BADPARAM, pointer, "a zero byte is not allowed in a query parameter");
		return false;
	}
	if (value && sl_request_query(check->r, key) != value) {
		sl_error_field(&check->err, SL_BADPARAM, pointer, "the query parameter '%.64s' is given twice; give it "
			       "once",
			       key);
		return false;
	}
	return true;
}

bool sl__route_query(struct sl_request *r)
{
	struct query_check check = {.r = r};
	sl__exchange_queries(r->x, on_argument, &check);
	if (check.err.code)
		sl_reply_error(r, &check.err);
	return !check.err.code;
}
