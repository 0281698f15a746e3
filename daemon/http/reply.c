/* Replies. Each sl_reply_*() makes a response and leaves it in the request. calls.c sends it, at once or after the
 * request was resumed. */
#include "daemon/http/http_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/util/buffer.h"
#include "daemon/util/json.h"
#include "daemon/util/log.h"
#include "daemon/util/pool.h"
#include "daemon/util/problem.h"

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

static bool has_header(const struct sl_request *r, const char *name)
{
	for (const struct sl__header *header = r->headers; header; header = header->next)
		if (header->name && !strcmp(header->name, name))
			return true;
	return false;
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
	if (!has_header(r, "Content-Security-Policy") &&
	    asprintf(&policy, "default-src 'none'; frame-ancestors %s", sl_request_ancestors(r)) > 0) {
		sl__response_header(response, "Content-Security-Policy", policy);
		free(policy);
	}
	if (!has_header(r, "Cross-Origin-Resource-Policy"))
		sl__response_header(response, "Cross-Origin-Resource-Policy", r->foreign ? "cross-origin" : "same-origin");
	if (!any)  /* it cannot name sites; browsers that know frame-ancestors ignore it */
		sl__response_header(response, "X-Frame-Options", "DENY");
}

const char *sl_request_ancestors(const struct sl_request *r)
{
	return sl__auth_ancestors(r->http->auth);
}

/* Takes response; NULL: no memory, and the connection is closed. */
static void finish(struct sl_request *r, int status, const char *content_type, struct sl__response *response)
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
		if (!has_header(r, usual[i].name))
			sl__response_header(response, usual[i].name, usual[i].value);
	if (response) {
		add_sites(r, response);
		sl__response_header(response, "X-Request-Id", r->id);
	}
	if (response && (status == 429 || status == 503) && !has_header(r, "Retry-After"))
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
	finish(r, status, content_type, sl__response_text(text));
}

char *sl_reply_text_of(const json_t *document)
{
	size_t length;
	return sl_json_text(document, &length);
}

static void reply_json_text(struct sl_request *r, int status, char *text)
{
	if (!text) {
		text = strdup("{\"type\":\"" SL_PROBLEM_URN "out-of-memory\",\"title\":\"Out of host memory\",\"status\":503,"
			      "\"detail\":\"no memory for the reply\"}");
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
	sl_request_tell(r, document);
	json_array_foreach(json_object_get(document, "items"), i, one)
		sl_request_tell(r, one);
	char *text = sl_reply_text_of(document);
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
	finish(r, status, NULL, sl__response_empty());
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

/* ---- conditions and ranges ------------------------------------------------------------- */

/* True if the list of tags ("a", W/"b", or *) contains the tag. */
static bool tag_in(const char *list, const char *tag)
{
	size_t length = strlen(tag);
	if (!strcmp(list, "*"))
		return true;
	for (const char *at = strchr(list, '"'); at; at = strchr(at, '"')) {
		const char *end = strchr(++at, '"');
		if (!end)
			return false;
		if ((size_t)(end - at) == length && !memcmp(at, tag, length))
			return true;
		at = end + 1;
	}
	return false;
}

/* Parses "bytes=first-last". 0: no valid range; 1: a range; -1: it lies outside. */
static int parse_range(const char *text, uint64_t bytes, uint64_t *first, uint64_t *last)
{
	if (!text || strncmp(text, "bytes=", 6) || strchr(text, ','))
		return 0;
	text += 6;
	char *end;
	if (*text == '-') {
		if (text[1] < '0' || text[1] > '9')
			return 0;
		uint64_t tail = strtoull(text + 1, &end, 10);
		if (*end)
			return 0;
		if (!tail || !bytes)
			return -1;
		*first = tail < bytes ? bytes - tail : 0;
		*last = bytes - 1;
		return 1;
	}
	if (*text < '0' || *text > '9')
		return 0;
	*first = strtoull(text, &end, 10);
	if (*end != '-')
		return 0;
	text = end + 1;
	*last = UINT64_MAX;
	if (*text) {
		if (*text < '0' || *text > '9')
			return 0;
		*last = strtoull(text, &end, 10);
		if (*end || *last < *first)
			return 0;
	}
	if (*first >= bytes)
		return -1;
	if (*last >= bytes)
		*last = bytes - 1;
	return 1;
}

/* Determines which part of `bytes` the request asks for: 200, 206 (first, last), or 0 if the reply was made already. */
static int select_part(struct sl_request *r, const char *etag, uint64_t bytes, uint64_t *first, uint64_t *last)
{
	const char *none = sl_request_header(r, "If-None-Match"), *same = sl_request_header(r, "If-Range");
	*first = 0;
	*last = bytes ? bytes - 1 : 0;
	if (!etag)  /* without a tag, parts from two replies might not match */
		return 200;
	sl_reply_header(r, "Accept-Ranges", "bytes");
	sl_reply_header(r, "ETag", "\"%s\"", etag);
	sl_reply_header(r, "Cache-Control", "no-cache");
	if (none && tag_in(none, etag)) {
		sl_reply_empty(r, 304);
		return 0;
	}
	size_t length = strlen(etag);
	bool fits = !same || (same[0] == '"' && !strncmp(same + 1, etag, length) && !strcmp(same + 1 + length, "\""));
	if (!fits)
		return 200;  /* If-Range needs one strong tag: RFC 9110, 13.1.5 */
	int range = parse_range(sl_request_header(r, "Range"), bytes, first, last);
	if (range < 0) {
		sl_reply_header(r, "Content-Range", "bytes */%llu", (unsigned long long)bytes);
		sl_reply_status(r, 416, "the range is outside the %llu bytes of this resource", (unsigned long long)bytes);
		return 0;
	}
	if (!range) {
		*first = 0;
		*last = bytes ? bytes - 1 : 0;
		return 200;
	}
	sl_reply_header(r, "Content-Range", "bytes %llu-%llu/%llu", (unsigned long long)*first,
			(unsigned long long)*last, (unsigned long long)bytes);
	return 206;
}

static void unref(void *cls)
{
	sl_buffer_unref(cls);
}

void sl_reply_buffer(struct sl_request *r, const char *content_type, const char *etag, struct sl_buffer *b)
{
	uint64_t first, last;
	int status = sl__limits_reply(r, b) ? select_part(r, etag, b->bytes, &first, &last) : 0;
	if (!status) {
		sl_buffer_unref(b);
		return;
	}
	r->booked = b->booked;
	r->sent = b->bytes ? last - first + 1 : 0;
	finish(r, status, content_type, sl__response_bytes(b->data + first, r->sent, unref, b));
}

/* ---- files ------------------------------------------------------------------------ */

/* sendfile() of a file that is not in the page cache would block the loop, so the thread pool first reads large
 * files. */
#define WARM_BYTES (1 << 20)

struct warm {
	struct sl_request *r;  /* NULL: the client is gone */
	int fd, status;
	uint64_t first, bytes;
	char content_type[128];
};

static void send_file(struct sl_request *r, int status, const char *content_type, int fd, uint64_t first,
		      uint64_t bytes)
{
	r->sent = bytes;
	finish(r, status, content_type, sl__response_file(fd, first, bytes));
}

static void warm_work(void *arg)
{
	struct warm *w = arg;
	char *scratch = malloc(WARM_BYTES);
	for (uint64_t at = 0; scratch && at < w->bytes; at += WARM_BYTES)
		if (pread(w->fd, scratch, WARM_BYTES, (off_t)(w->first + at)) <= 0)
			break;
	free(scratch);
}

static void warm_done(void *arg)
{
	struct warm *w = arg;
	if (w->r)
		send_file(w->r, w->status, w->content_type, w->fd, w->first, w->bytes);
	else
		close(w->fd);
	free(w);
}

void sl_reply_file(struct sl_request *r, const char *content_type, const char *etag, int fd, uint64_t size)
{
	uint64_t first, last;
	int status = select_part(r, etag, size, &first, &last);
	if (!status) {
		close(fd);
		return;
	}
	uint64_t bytes = size ? last - first + 1 : 0;
	struct warm *w = bytes > WARM_BYTES ? calloc(1, sizeof *w) : NULL;
	if (!w) {
		send_file(r, status, content_type, fd, first, bytes);
		return;
	}
	*w = (struct warm){.r = r, .fd = fd, .status = status, .first = first, .bytes = bytes};
	snprintf(w->content_type, sizeof w->content_type, "%s", content_type);
	sl_park(&w->r, 0);
	sl_pool_run(r->http->d->loop, warm_work, warm_done, w);
}

/* ---- streams ----------------------------------------------------------------------- */

struct sl_stream {
	struct sl_request *r;        /* NULL once the request is over */
	struct sl_http *http;
	struct sl_stream_ops ops;
	void *arg;
};

static ssize_t on_read(void *arg, char *out, size_t max)
{
	struct sl_stream *s = arg;
	ssize_t n = s->ops.read(s->arg, out, max);
	if (s->r && n > 0)
		s->r->sent += (uint64_t)n;
	return n < 0 ? SL__STREAM_END : n;
}

static void on_drop(void *arg)
{
	struct sl_stream *s = arg;
	if (s->r)
		s->r->stream = NULL;
	s->http->streams--;
	s->ops.drop(s->arg);
	free(s);
}

void sl_stream_wake(struct sl_stream *s)
{
	if (s->r)
		sl__exchange_wake(s->r->x);
}

void sl__stream_detach(struct sl_stream *s)
{
	s->r = NULL;
}

struct sl_stream *sl_reply_stream(struct sl_request *r, const char *content_type, const struct sl_stream_ops *ops,
				  void *arg)
{
	struct sl_http *h = r->http;
	if (!sl__limits_stream(r)) {
		ops->drop(arg);
		return NULL;
	}
	struct sl_stream *s = calloc(1, sizeof *s);
	struct sl__response *response = s ? sl__response_stream(r->x, on_read, on_drop, s) : NULL;
	if (!response) {
		free(s);
		sl_reply_problem(r, SL_NOMEM, "no memory for a stream");
		ops->drop(arg);
		return NULL;
	}
	*s = (struct sl_stream){.r = r, .http = h, .ops = *ops, .arg = arg};
	h->streams++;
	r->stream = s;
	r->streamed = true;
	finish(r, 200, content_type, response);
	return s;
}
