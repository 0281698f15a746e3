/* Replies in place of the pages with which libmicrohttpd refuses requests. Those are HTML, and the page about a wrong
 * Content-Length has two heads (0.9.75). Some requests it (1.0.1) ends without a page.
 *
 * Before libmicrohttpd sends such a page, or closes the connection, it logs why, but not which connection. The
 * connection is found by the part of a request that each is in. If several are in the same part, the client gets
 * libmicrohttpd's page. */
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "daemon/http/mhd/mhd_internal.h"
#include "daemon/http/mhd/received.h"

#define PIPELINED_MS 100  /* a pipelined request is read within this time after the previous reply */
#define LOOKED_MOST 32    /* most sockets without a request that are tested for data, so that a flood costs little */
#define DRAINED_MOST 64   /* reads of the rest of a refused request */

enum part { LINE = 1, HEADER = 2, WHOLE = 4 /* header */, BODY = 8 };

#define ANY (LINE | HEADER | WHOLE | BODY)
#define LINES "each line of the header must be NAME: VALUE and end with CR LF; folded lines, a lone CR or LF, and " \
	      "zero bytes are refused"
#define NAMES "the name of a header must be letters, digits and hyphens, right before the colon"
#define TARGET "the first line of the request must be a method, a path and a version, with one space between, and " \
	       "end with CR LF; zero bytes are refused"
#define TRAILER "a line of the trailer is malformed; it must be NAME: VALUE and end with CR LF"

static const struct refusal {
	const char *page;    /* text of libmicrohttpd's page, or of the line in its log */
	int theirs;          /* its status; 0: it closes the connection without a page */
	int parts;           /* parts of a request in which libmicrohttpd may refuse it so */
	int status;          /* of our reply */
	const char *header;  /* in the problem, or NULL */
	const char *detail;
} refusals[] = {
	/* both versions */
	{"wrong value for <b>Content-Length", 400, WHOLE, 400, "Content-Length",
	 "Content-Length must be one whole number, the bytes of the body"},
	{"too large value for <b>Content-Length", 413, WHOLE, 413, "Content-Length",
	 "Content-Length is larger than any body may be"},
	{"chunked encoding", 400, BODY, 400, NULL, "the chunks of the body are malformed; their lines must end with CR LF"},
	{"The chunk size", 413, BODY, 413, NULL, "a chunk is larger than any body may be"},
	{"HTTP version is", 505, LINE, 505, NULL, "this server speaks HTTP 1.1 and 1.0"},
	/* 0.9.75 */
	{"header was too big", 431, WHOLE, 431, NULL, "the request has too many cookies"},
	{"header was too big", 431, HEADER, 431, NULL, "the header of the request is too large"},
	{"header was too big", 431, BODY, 431, NULL, "the trailer of the request is too large"},
	{"header was too big", 414, LINE, 414, NULL, "the path and query of the request are too long"},
	{"syntactically incorrect", 400, LINE | HEADER, 400, NULL,
	 "the request line or a line of the header is malformed"},
	{"syntactically incorrect", 400, BODY, 400, NULL, TRAILER},
	/* 1.0.1 */
	{"header is too big", 414, LINE, 414, NULL, "the path and query of the request are too long"},
	{"of the request headers", 414, LINE | HEADER, 414, NULL, "the path and query of the request are too long"},
	{"<b>Cookie", 431, WHOLE, 431, NULL, "the request has too many cookies"},
	{"chunked trailer", 431, BODY, 431, NULL, "the trailer of the request is too large"},
	{"chunk size line", 413, BODY, 400, NULL, "the line before a chunk of the body is too long"},
	{"chunk size line", 431, BODY, 400, NULL, "the line before a chunk of the body is too long"},
	{"of the request headers", 431, HEADER | WHOLE, 431, NULL, "the header of the request is too large"},
	{"footer", 400, BODY, 400, NULL, TRAILER},
	{"first colon in header", 400, HEADER, 400, NULL, NAMES},
	{"empty header name", 400, HEADER, 400, NULL, NAMES},
	{"no colon character", 400, HEADER, 400, NULL, LINES},
	{"bare CR character", 400, LINE | HEADER, 400, NULL, LINES},
	{"bare LF character", 400, LINE | HEADER, 400, NULL, LINES},
	{"line folding", 400, HEADER, 400, NULL, LINES},
	{"before the first header", 400, HEADER, 400, NULL, LINES},
	{"between the request line", 400, HEADER, 400, NULL, LINES},
	{"invalid character in header", 400, HEADER, 400, NULL, LINES},
	{"two whitespaces", 400, LINE, 400, NULL, TARGET},
	{"in the request-target", 400, LINE, 400, NULL, TARGET},
	{"the request line", 0, LINE, 400, NULL, TARGET},
	{"The request line", 0, LINE, 400, NULL, TARGET},
	{"is in the URI", 0, LINE | HEADER, 400, NULL, TARGET},
	{"&quot;Host:&quot;", 400, WHOLE, 400, "Host", "the header Host is missing; HTTP/1.1 requires it"},
	{"Transfer-Encoding used", 400, WHOLE, 501, "Transfer-Encoding",
	 "the body must be chunked or have a Content-Length"},
	{"both Transfer-Encoding", 400, WHOLE, 400, "Transfer-Encoding",
	 "Content-Length and Transfer-Encoding exclude each other"},
};

/* True if the client may have sent the beginning of a request. */
static bool is_sending(const struct sl__socket *s)
{
	return uv_now(s->mhd->loop) - s->since_ms < PIPELINED_MS || sl__bytes_received(s->fd) != s->answered_bytes;
}

/* The part of a request that libmicrohttpd may be reading from the connection; 0: none. */
static int part_of(const struct sl__socket *s)
{
	if (s->leaving)
		return 0;
	if (s->x)
		return s->x->reading ? BODY : 0;
	if (MHD_get_connection_info(s->connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE))
		return MHD_get_connection_info(s->connection, MHD_CONNECTION_INFO_HTTP_STATUS) ? 0 : WHOLE;
	return s->encoded ? HEADER : is_sending(s) ? LINE : 0;
}

/* Reads pending data before the end, since unread data would turn it into a reset, and the client might not see the
 * reply. */
static void refuse(struct sl__socket *s, int status, const char *header, const char *detail)
{
	char scratch[4096];
	sl__send_problem(s, s->x ? s->x->id : NULL, status, header, detail);
	s->mhd->ops->refused(s->mhd->arg, status);
	for (int i = 0; i < DRAINED_MOST && recv(s->fd, scratch, sizeof scratch, MSG_DONTWAIT) > 0; i++)
		;
	sl__socket_end(s);
}

void sl__refuse_parameters(struct sl__socket *s)
{
	refuse(s, 414, NULL, "the query has too many parameters");
}

void sl__refuse_chunks(struct sl__socket *s)
{
	refuse(s, 400, NULL, "the line before a chunk of the body, or its trailer, is too long");
}

static bool refuse_one(struct sl__mhd *m, const struct refusal *how)
{
	struct sl__socket *only = NULL;
	int count = 0, looked = 0;
	SL_LIST_EACH_BACK(struct sl__socket, s, &m->sockets, link) {
		bool between = how->parts & LINE && !s->x && !s->encoded;
		if (count > 1 || (between && ++looked > LOOKED_MOST))
			return true;
		if (part_of(s) & how->parts) {
			only = s;
			count++;
		}
	}
	if (count == 1)
		refuse(only, how->status, how->header, how->detail);
	return count;
}

void sl__refuse_instead(struct sl__mhd *m, const char *text)
{
	int status = 0;
	bool page = sscanf(text, "Error processing request (HTTP response code is %d", &status) == 1;
	for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++)
		if (refusals[i].theirs == status && strstr(text, refusals[i].page) && refuse_one(m, &refusals[i]))
			return;
	struct refusal unknown = {.parts = ANY, .status = status, .detail = "the request is malformed, or too large"};
	if (page && status >= 400 && status < 500)
		refuse_one(m, &unknown);
}
