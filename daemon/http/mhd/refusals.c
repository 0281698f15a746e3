/* Replies in place of the pages with which libmicrohttpd refuses requests. Those are HTML, and the page about a wrong
 * Content-Length has two heads (0.9.75).
 *
 * Before libmicrohttpd sends such a page, it logs status and page, but not the connection. The connection is found by
 * the part of a request that each is in. If several are in the same part, the client gets libmicrohttpd's page. */
#include <string.h>
#include <sys/socket.h>

#include "daemon/http/mhd/mhd_internal.h"
#include "daemon/http/mhd/received.h"

#define PIPELINED_MS 100  /* a pipelined request is read within this time after the previous reply */
#define LOOKED_MOST 32    /* most sockets without a request that are tested for data, so that a flood costs little */
#define DRAINED_MOST 64   /* reads of the rest of a refused request */

enum part { LINE = 1, HEADER = 2, WHOLE = 4 /* header */, BODY = 8 };

static const struct refusal {
	const char *page;  /* text of libmicrohttpd's page */
	int status;
	int parts;         /* parts of a request in which libmicrohttpd may refuse it so */
	const char *detail;
} refusals[] = {
	{"wrong value for <b>Content-Length", 400, WHOLE, "Content-Length must be one whole number, the bytes of the body"},
	{"too large value for <b>Content-Length", 413, WHOLE, "Content-Length is larger than any body may be"},
	{"header was too big", 431, WHOLE, "the request has too many cookies"},
	{"header was too big", 431, HEADER, "the header of the request is too large"},
	{"header was too big", 431, BODY, "the trailer of the request is too large"},
	{"header was too big", 414, LINE, "the path and query of the request are too long"},
	{"chunked encoding was", 400, BODY, "the chunks of the body are malformed"},
	{"The chunk size", 413, BODY, "a chunk is larger than any body may be"},
	{"HTTP version is", 505, LINE, "this server speaks HTTP 1.1 and 1.0"},
	{"syntactically incorrect", 400, LINE | HEADER, "the request line or a line of the header is malformed"},
	{"syntactically incorrect", 400, BODY, "a line of the trailer is malformed"},
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
static void refuse(struct sl__socket *s, int status, const char *detail)
{
	char scratch[4096];
	sl__socket_problem(s, s->x ? s->x->id : NULL, status, detail);
	s->mhd->ops->refused(s->mhd->arg, status);
	for (int i = 0; i < DRAINED_MOST && recv(s->fd, scratch, sizeof scratch, MSG_DONTWAIT) > 0; i++)
		;
	sl__socket_end(s);
}

void sl__refuse_parameters(struct sl__socket *s)
{
	refuse(s, 414, "the query has too many parameters");
}

void sl__refuse_chunks(struct sl__socket *s)
{
	refuse(s, 400, "the line before a chunk of the body, or its trailer, is too long");
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
		refuse(only, how->status, how->detail);
	return count;
}

void sl__refuse_instead(struct sl__mhd *m, int status, const char *page)
{
	for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++)
		if (refusals[i].status == status && strstr(page, refusals[i].page) && refuse_one(m, &refusals[i]))
			return;
}
