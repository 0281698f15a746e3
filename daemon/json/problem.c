/* Two tables: error codes of core/error.h, and statuses of HTTP that have no code. */
#include "daemon/json/problem.h"

#include "core/formats/text/fields.h"

#include <stdio.h>
#include <string.h>

static const struct {
	int status;
	const char *type, *title;
} protocol[] = {
	{400, "bad-request", "The request is malformed"},
	{401, "unauthorized", "A token is needed"},
	{403, "forbidden", "Not allowed"},
	{404, "not-found", "No such thing"},
	{405, "method-not-allowed", "The method is not possible here"},
	{408, "timeout", "The request took too long"},
	{409, "conflict", "Not possible in the present state"},
	{411, "length-required", "The length of the body is needed"},
	{412, "precondition-failed", "A condition of the request does not hold"},
	{413, "too-big", "A size limit was exceeded"},
	{414, "uri-too-long", "The address is too long"},
	{415, "unsupported-media-type", "The type of the body is not supported"},
	{416, "range-not-satisfiable", "The range is outside of what there is"},
	{417, "expectation-failed", "The expectation cannot be met"},
	{421, "misdirected-request", "The request is meant for another server"},
	{422, "idempotency-key-reused", "The idempotency key was used for another request"},
	{429, "too-many-requests", "A limit of requests was reached"},
	{431, "header-too-big", "The header is too long"},
	{500, "internal", "Internal error"},
	{501, "not-implemented", "Not possible with this server"},
	{503, "unavailable", "Not possible right now"},
	{505, "version-not-supported", "The version of HTTP is not supported"},
};

static json_t *make(const char *type, const char *title, int status, const char *detail)
{
	char urn[96];
	snprintf(urn, sizeof urn, SL_PROBLEM_URN "%s", type);
	/* The detail may quote bytes of a file that are not UTF-8, which json_pack()'s "s" would refuse. */
	json_t *text = json_string(detail);
	if (!text) {
		char clean[sizeof ((struct sl_error *)0)->detail];
		struct sl__field field = {detail, strlen(detail)};
		text = json_string(sl__field_show(&field, clean, sizeof clean));
	}
	return json_pack("{s:s, s:s, s:i, s:o}", "type", urn, "title", title, "status", status, "detail", text);
}

static void set_text(json_t *problem, const char *key, const char *value)
{
	json_t *text = value[0] ? json_string(value) : NULL;  /* a parameter may have an empty name */
	if (text)
		json_object_set_new(problem, key, text);
}

json_t *sl_problem_json(const struct sl_error *err)
{
	json_t *problem = make(sl_error_type(err->code), sl_error_title(err->code), sl_error_status(err->code),
			       err->detail);
	if (!problem)
		return NULL;
	if (err->pointer[0] == '?')
		set_text(problem, "parameter", err->pointer + 1);
	else if (err->pointer[0] == '@')
		set_text(problem, "header", err->pointer + 1);
	else if (err->pointer[0])
		set_text(problem, "pointer", err->pointer);
	if (err->file[0])
		set_text(problem, "file", err->file);
	if (err->line > 0)
		json_object_set_new(problem, "line", json_integer(err->line));
	return problem;
}

json_t *sl_problem_http(int status, const char *detail)
{
	for (size_t i = 0; i < sizeof protocol / sizeof *protocol; i++)
		if (protocol[i].status == status)
			return make(protocol[i].type, protocol[i].title, status, detail);
	return make("internal", "Internal error", status, detail);
}
