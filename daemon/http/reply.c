/* Replies. Each sl_reply_*() makes a response and leaves it in the request. calls.c sends it, at once or after the
 * request was resumed. */
#include "daemon/http/http_internal.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/upkeep/maintenance.h"
#include "daemon/json/json.h"
#include "daemon/util/log.h"
#include "daemon/json/problem.h"

void sl_reply_header(struct sl_request *r, const char *name, const char *format, ...)
{
	char text[1024];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	struct sl__header *header = calloc(1, sizeof *header);
	if (!header)
		return;
	text[strcspn(text, "\r\n")] = '\0';  /* so that input cannot begin another header */
	header->name = strdup(name);
	header->value = strdup(text);
	header->next = r->headers;
	r->headers = header;
}

bool sl_reply_has_header(const struct sl_request *r, const char *name)
{
	for (const struct sl__header *header = r->headers; header; header = header->next)
		if (header->name && !strcmp(header->name, name))
			return true;
	return false;
}

const char *sl_request_base(const struct sl_request *r)
{
	return sl__auth_base(r->http->auth)->path;
}

void sl_reply_location(struct sl_request *r, const char *format, ...)
{
	char text[512];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	sl_reply_header(r, "Location", "%s%s", sl_request_base(r), text);
}

void sl__reply_free(struct sl_request *r)
{
	for (struct sl__header *header = r->headers, *next; header; header = next) {
		next = header->next;
		free(header->name);
		free(header->value);
		free(header);
	}
	r->headers = NULL;
	sl__response_free(r->reply);
	r->reply = NULL;
}

/* Headers of all replies, unless a reply sets its own: no other site may frame or embed them, except those of
 * allowed_origins (add_sites()), and they may not run code. */
static const struct {
	const char *name, *value;
} usual[] = {
	{"Cache-Control", "no-store"},
	{"Referrer-Policy", "no-referrer"},
	{"X-Content-Type-Options", "nosniff"},
};

static void add_sites(const struct sl_request *r, struct sl__response *response)
{
	char *policy = NULL;
	bool any = sl__auth_has_origins(r->http->auth);
	if (!sl_reply_has_header(r, "Content-Security-Policy") &&
	    asprintf(&policy, "default-src 'none'; frame-ancestors %s", sl_request_ancestors(r)) > 0) {
		sl__response_header(response, "Content-Security-Policy", policy);
		free(policy);
	}
	if (!sl_reply_has_header(r, "Cross-Origin-Resource-Policy"))
		sl__response_header(response, "Cross-Origin-Resource-Policy", r->foreign ? "cross-origin" : "same-origin");
	if (!any)  /* it cannot name sites; browsers that know frame-ancestors ignore it */
		sl__response_header(response, "X-Frame-Options", "DENY");
}

const char *sl_request_ancestors(const struct sl_request *r)
{
	return sl__auth_ancestors(r->http->auth);
}

/* Takes response; NULL: no memory, and the connection is closed. */
/* The banner is for people who have a token: not for strangers and links, nor for what needs no token. */
static const char *notice_for(const struct sl_request *r)
{
	bool people = r->route && r->route->verb != SL_VERB_OPEN && r->who.role != SL_ROLE_NONE &&
		      r->who.role != SL_ROLE_LINK;
	return people ? sl_maintenance_notice(r->http->d->maintenance) : NULL;
}

void sl__reply_finish(struct sl_request *r, int status, const char *content_type, struct sl__response *response)
{
	SL_ON_LOOP(r->http->d);
	if (r->reply) {
		sl_log_error("http", "%s %s: replied twice", r->route ? r->route->method : "?", r->target);
		sl__response_free(response);
		return;
	}
	if (status < 400 && sl__rights_lost(r)) {
		sl__response_free(response);
		sl__rights_refuse(r);
		return;
	}
	if (response && content_type)
		sl__response_header(response, "Content-Type", content_type);
	for (size_t i = 0; response && i < sizeof usual / sizeof *usual; i++)
		if (!sl_reply_has_header(r, usual[i].name))
			sl__response_header(response, usual[i].name, usual[i].value);
	if (response) {
		add_sites(r, response);
		sl__response_header(response, "X-Request-Id", r->id);
	}
	const char *notice = notice_for(r);
	if (response && notice)
		sl__response_header(response, "Spaceland-Banner", notice);
	if (response && (status == 429 || status == 503) && !sl_reply_has_header(r, "Retry-After"))
		sl__response_header(response, "Retry-After", SL__TEXT(SL__RETRY_S));
	for (struct sl__header *header = r->headers; response && header; header = header->next)
		if (header->name && header->value)
			sl__response_header(response, header->name, header->value);
	r->reply = response;
	r->status = status;
	if (r->state == SL__BODY)
		r->state = SL__DISCARD;
	else
		sl__request_resume(r);
}

static void reply_text(struct sl_request *r, int status, const char *content_type, char *text)
{
	r->sent = text ? strlen(text) : 0;
	sl__reply_finish(r, status, content_type, sl__response_text(text));
}

static char *text_of(const json_t *document)
{
	size_t length;
	return sl_json_text(document, &length);
}

static void reply_json_text(struct sl_request *r, int status, char *text)
{
	if (!text) {
		text = strdup("{\"type\":\"" SL_PROBLEM_URN "out-of-memory\",\"title\":\"Out of host memory\",\"status\":503,"
			      "\"detail\":\"" SL_NO_MEMORY "the reply.\"}");
		status = 503;
	}
	reply_text(r, status, status < 400 ? "application/json" : SL_PROBLEM_TYPE, text);
}

void sl_reply_text(struct sl_request *r, char *text)
{
	reply_json_text(r, 200, text);
}

void sl__reply_document(struct sl_request *r, int status, json_t *document)
{
	json_t *one;
	size_t i;
	if (document && status >= 400)
		json_object_set_new(document, "request_id", json_string(r->id));
	sl__rights_note_reply(r, status, document);
	sl_request_tell(r, document);
	json_array_foreach(json_object_get(document, "items"), i, one)
		sl_request_tell(r, one);
	char *text = text_of(document);
	json_decref(document);
	reply_json_text(r, status, text);
}

void sl_reply_json(struct sl_request *r, int status, json_t *document)
{
	if (document && status < 300) {
		sl__rights_filter(r, document);
		if (sl__rights_own(r, status, document))
			return;
	}
	sl__reply_document(r, status, document);
}

void sl_reply_empty(struct sl_request *r, int status)
{
	sl__reply_finish(r, status, NULL, sl__response_empty());
}

void sl_reply_error(struct sl_request *r, const struct sl_error *err)
{
	int status = sl_error_status(err->code);
	if (r->hit.bound > 0) {
		sl_reply_limit(r, &r->hit);
		return;
	}
	if (status >= 500) {
		char text[1024];
		sl_log_error("http", "%s (request %s): %s", r->target, r->id, sl_error_format(err, text, sizeof text));
	}
	sl_reply_json(r, status, sl_problem_json(err));
}

void sl_reply_problem(struct sl_request *r, int code, const char *format, ...)
{
	struct sl_error err;
	char text[sizeof err.detail];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	sl_error_set(&err, code, "%s", text);
	sl_reply_error(r, &err);
}

void sl_reply_status(struct sl_request *r, int status, const char *format, ...)
{
	char text[512];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	sl_reply_json(r, status, sl_problem_http(status, text));
}

void sl__reply_status_header(struct sl_request *r, int status, const char *header, const char *detail)
{
	json_t *problem = sl_problem_http(status, detail);
	if (problem && header)
		json_object_set_new(problem, "header", json_string(header));
	sl_reply_json(r, status, problem);
}

void sl_reply_limit(struct sl_request *r, const struct sl_limit_hit *hit)
{
	char text[256];
	json_t *problem = sl_problem_http(sl_limit_status(hit->limit), sl_limit_text(hit, text, sizeof text));
	if (problem)
		json_object_set_new(problem, "limit", json_pack("{s:s, s:f, s:f}", "name", sl_limit_names[hit->limit], "most",
							      hit->bound, "used", hit->used));
	if (problem && hit->project[0])
		json_object_set_new(json_object_get(problem, "limit"), "project", json_string(hit->project));
	if (hit->retry_s)
		sl_reply_header(r, "Retry-After", "%d", hit->retry_s);
	sl_reply_json(r, sl_limit_status(hit->limit), problem);
}
