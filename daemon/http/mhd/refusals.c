/* Replies without libmicrohttpd: to connections beyond the limit, and in place of the pages with which libmicrohttpd
 * refuses requests. Those are HTML, and the page about a wrong Content-Length has two heads (0.9.75).
 *
 * Before libmicrohttpd sends such a page, it logs status and page, but not the connection. The connection is found by
 * the part of a request that each is in. If several are in the same part, the client gets libmicrohttpd's page. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/http/http_internal.h"
#include "daemon/http/mhd/received.h"
#include "daemon/util/log.h"
#include "daemon/util/ulid.h"

#define PIPELINED_MS 100  /* a pipelined request is read within this time after the previous reply */
#define LOOKED_MOST 32    /* most sockets without a request that are tested for data, so that a flood costs little */
#define DRAINED_MOST 64   /* reads of the rest of a refused request */

/* Writes a reply; returns its length, or 0 if out of memory. */
static size_t problem_text(char text[1024], const char *id, int status, const char *words, const char *detail)
{
	char body[512], fresh[SL_ULID_BYTES];
	id = id ? id : sl_ulid_make(fresh);
	json_t *problem = sl_problem_http(status, detail);
	if (problem)
		json_object_set_new(problem, "request_id", json_string(id));
	size_t bytes = problem ? json_dumpb(problem, body, sizeof body, JSON_COMPACT) : 0;
	json_decref(problem);
	if (!bytes || bytes > sizeof body)
		return 0;
	int length = snprintf(text, 1024, "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n"
			      "Retry-After: %d\r\nX-Request-Id: %s\r\nConnection: close\r\n\r\n%.*s", status, words,
			      SL_PROBLEM_TYPE, bytes, SL__RETRY_S, id, (int)bytes, body);
	return (size_t)length;
}

void sl__send_text(int fd, const char *text, size_t bytes)
{
	if (send(fd, text, bytes, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		sl_log_debug("http", "a few bytes were not sent: %s", strerror(errno));
}

void sl__send_problem(struct sl__connection *c, int status, const char *words, const char *detail)
{
	char text[1024];
	size_t bytes = problem_text(text, c->r ? c->r->id : NULL, status, words, detail);
	if (c->session && !c->plain)
		sl__tls_send(c, text, bytes, true);
	else
		sl__send_text(c->fd, text, bytes);
}

/* Reads pending data first, since unread data would turn the close into a reset, and the client might not see the
 * reply. */
void sl__refuse_socket(const struct sl_http *h, int fd)
{
	char scratch[4096], text[1024];
	size_t bytes = problem_text(text, NULL, 503, "Service Unavailable",
				    "all connections of this server are busy (max_connections)");
	if (!h->tls)
		sl__send_text(fd, text, bytes);
	shutdown(fd, SHUT_WR);
	for (int i = 0; i < 4 && recv(fd, scratch, sizeof scratch, MSG_DONTWAIT) > 0; i++)
		;
	close(fd);
}

/* ---- instead of libmicrohttpd's pages ------------------------------------------------------- */

enum part { LINE = 1, HEADER = 2, WHOLE = 4 /* header */, BODY = 8 };

static const struct refusal {
	const char *page;  /* text of libmicrohttpd's page */
	int status;
	int parts;         /* parts of a request in which libmicrohttpd may refuse it so */
	const char *words, *detail;
} refusals[] = {
	{"wrong value for <b>Content-Length", 400, WHOLE, "Bad Request",
	 "Content-Length must be one whole number, the bytes of the body"},
	{"too large value for <b>Content-Length", 413, WHOLE, "Content Too Large",
	 "Content-Length is larger than any body may be"},
	{"header was too big", 431, WHOLE, "Request Header Fields Too Large", "the request has too many cookies"},
	{"header was too big", 431, HEADER, "Request Header Fields Too Large", "the header of the request is too large"},
	{"header was too big", 431, BODY, "Request Header Fields Too Large", "the trailer of the request is too large"},
	{"header was too big", 414, LINE, "URI Too Long", "the path and query of the request are too long"},
	{"chunked encoding was", 400, BODY, "Bad Request", "the chunks of the body are malformed"},
	{"The chunk size", 413, BODY, "Content Too Large", "a chunk is larger than any body may be"},
	{"HTTP version is", 505, LINE, "HTTP Version Not Supported", "this server speaks HTTP 1.1 and 1.0"},
	{"syntactically incorrect", 400, LINE | HEADER, "Bad Request",
	 "the request line or a line of the header is malformed"},
	{"syntactically incorrect", 400, BODY, "Bad Request", "a line of the trailer is malformed"},
};

/* True if the client may have sent the beginning of a request. */
static bool is_sending(const struct sl__connection *c)
{
	return uv_now(c->http->d->loop) - c->since_ms < PIPELINED_MS || sl__bytes_received(c->fd) != c->answered_bytes;
}

/* The part of a request that libmicrohttpd may be reading from the connection; 0: none. */
static int part_of(const struct sl__connection *c)
{
	if (c->leaving || !c->mhd)
		return 0;
	if (c->r)
		return c->r->state == SL__BODY || c->r->state == SL__DISCARD ? BODY : 0;
	if (MHD_get_connection_info(c->mhd, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE))
		return MHD_get_connection_info(c->mhd, MHD_CONNECTION_INFO_HTTP_STATUS) ? 0 : WHOLE;
	return c->encoded ? HEADER : is_sending(c) ? LINE : 0;
}

/* Reads pending data before the end, since unread data would turn it into a reset, and the client might not see the
 * reply. */
static void refuse(struct sl__connection *c, const struct refusal *how)
{
	char scratch[4096];
	sl__send_problem(c, how->status, how->words, how->detail);
	sl_metric_add(c->http->count[how->status / 100], 1);
	for (int i = 0; i < DRAINED_MOST && recv(c->fd, scratch, sizeof scratch, MSG_DONTWAIT) > 0; i++)
		;
	sl__connection_end(c);
}

void sl__refuse_parameters(struct sl__connection *c)
{
	static const struct refusal how = {.status = 414, .words = "URI Too Long",
					   .detail = "the query has too many parameters"};
	refuse(c, &how);
}

void sl__refuse_chunks(struct sl__connection *c)
{
	static const struct refusal how = {.status = 400, .words = "Bad Request",
					   .detail = "the line before a chunk of the body, or its trailer, is too long"};
	refuse(c, &how);
}

static bool refuse_one(struct sl_http *h, const struct refusal *how)
{
	struct sl__connection *only = NULL;
	int count = 0, looked = 0;
	SL_LIST_EACH_BACK(struct sl__connection, c, &h->connections, link) {
		bool between = how->parts & LINE && !c->r && !c->encoded;
		if (count > 1 || (between && ++looked > LOOKED_MOST))
			return true;
		if (part_of(c) & how->parts) {
			only = c;
			count++;
		}
	}
	if (count == 1)
		refuse(only, how);
	return count;
}

void sl__refuse_instead(struct sl_http *h, int status, const char *page)
{
	for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++)
		if (refusals[i].status == status && strstr(page, refusals[i].page) && refuse_one(h, &refusals[i]))
			return;
}
