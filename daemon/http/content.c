/* Replies with bytes: a buffer or a file, or the part of it that the request asks for (RFC 9110, 13 and 14), and
 * streams, whose bytes arise over time. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/http/http_internal.h"
#include "daemon/util/buffer.h"
#include "daemon/util/pool.h"

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
	if (!sl_reply_has_header(r, "Cache-Control"))
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
	sl__reply_finish(r, status, content_type, sl__response_bytes(b->data + first, r->sent, unref, b));
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
	sl__reply_finish(r, status, content_type, sl__response_file(fd, first, bytes));
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
		sl_reply_problem(r, SL_NOMEM, SL_NO_MEMORY "a stream.");
		ops->drop(arg);
		return NULL;
	}
	*s = (struct sl_stream){.r = r, .http = h, .ops = *ops, .arg = arg};
	h->streams++;
	r->stream = s;
	r->streamed = true;
	sl_reply_header(r, "X-Accel-Buffering", "no");  /* nginx passes it on as it comes */
	sl__reply_finish(r, 200, content_type, response);
	return s;
}
