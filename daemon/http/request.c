/* Reads a request's path, query and headers. */
#include "daemon/http/http_internal.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/param_table.h"

struct sl_daemon *sl_request_daemon(const struct sl_request *r)
{
	return r->http->d;
}

const char *sl_request_path(const struct sl_request *r, const char *name)
{
	for (int i = 0; i < r->paths; i++)
		if (!strcmp(r->path[i].name, name))
			return r->path[i].value;
	return NULL;
}

struct lookup {
	const char *name, *value;
};

static bool on_argument(void *arg, const struct sl__pair *pair)
{
	struct lookup *lookup = arg;
	bool found = !strcmp(pair->name, lookup->name);
	if (found)
		lookup->value = pair->value ? pair->value : "";
	return !found;
}

const char *sl_request_query(const struct sl_request *r, const char *name)
{
	struct lookup lookup = {name, NULL};
	sl__exchange_queries(r->x, on_argument, &lookup);
	return lookup.value;
}

const char *sl_request_header(const struct sl_request *r, const char *name)
{
	return sl__exchange_header(r->x, name);
}

static int query_error(const char *name, const char *text, const char *expected, struct sl_error *err)
{
	char pointer[96];
	snprintf(pointer, sizeof pointer, "?%s", name);
	return sl_error_field(err, SL_BADPARAM, pointer, "%s must be %s, not '%.64s'", name, expected, text);
}

int sl_request_query_int(const struct sl_request *r, const char *name, int64_t min, int64_t max, int64_t *out,
			 struct sl_error *err)
{
	const char *text = sl_request_query(r, name);
	if (!text)
		return 0;
	char *end, expected[96];
	errno = 0;
	long long value = strtoll(text, &end, 10);
	snprintf(expected, sizeof expected, "an integer from %lld to %lld", (long long)min, (long long)max);
	if (end == text || *end || errno || value < min || value > max || text[0] == ' ' || text[0] == '+')
		return query_error(name, text, expected, err);
	*out = value;
	return 0;
}

int sl_request_query_double(const struct sl_request *r, const char *name, double min, double max, double *out,
			    struct sl_error *err)
{
	const char *text = sl_request_query(r, name);
	if (!text)
		return 0;
	char *end, expected[96];
	double value = sl_decimal(text, &end);
	snprintf(expected, sizeof expected, "a number from %.15g to %.15g", min, max);
	if (end == text || *end || !isfinite(value) || value < min || value > max)
		return query_error(name, text, expected, err);
	*out = value;
	return 0;
}

int sl_request_query_bool(const struct sl_request *r, const char *name, bool *out, struct sl_error *err)
{
	const char *text = sl_request_query(r, name);
	if (!text)
		return 0;
	bool yes = !strcmp(text, "true") || !strcmp(text, "1");
	if (!yes && strcmp(text, "false") && strcmp(text, "0"))
		return query_error(name, text, "true or false", err);
	*out = yes;
	return 0;
}

int sl_request_query_params(const struct sl_request *r, const struct sl_param_table *table, void *record,
			    struct sl_error *err)
{
	for (int i = 0; i < table->count; i++) {
		const struct sl_param_info *info = &table->param[i];
		const char *text = sl_request_query(r, info->name);
		if (text && info->type == SL_TYPE_BOOL && (!strcmp(text, "1") || !strcmp(text, "0")))
			text = *text == '1' ? "true" : "false";
		if (text && sl_param_set(table, record, info->name, text, err)) {
			err->pointer[0] = '?';
			return err->code;
		}
	}
	return 0;
}
