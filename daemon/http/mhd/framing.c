/* Checks how a request is delimited. If a proxy in front and this server read a request differently, the next request
 * begins elsewhere for each, so a client could hide a request from the proxy. A request that can be read in two ways is
 * refused.
 *
 * libmicrohttpd 0.9.75 parses some headers differently from RFC 9112, and returns only its result: a line without a
 * name ends the header, a folded line becomes part of the previous name, a zero byte ends a value or the target, and a
 * lone CR is part of a value. It takes "Content-Length : 5" for a header of another name.
 *
 * The bytes are still in the library's buffer: it has replaced each colon and each end of a line by zero bytes, and
 * changed nothing else. `method` points to the first byte, and the library reports their number. Later versions parse
 * headers as the RFC says, and need no such check; versions.c refuses those between. */
#include <string.h>
#include <strings.h>

#include "daemon/http/mhd/mhd_internal.h"

#define LINE_BYTES 1000  /* of a line that is searched */

/* ---- the bytes of the header -------------------------------------------------------------- */

static bool are_plain(const char *at, const char *end, int headers)
{
	for (; end - at > 2; headers--) {
		at += strnlen(at, (size_t)(end - at));  /* the name */
		if (at == end)
			return false;
		at++;
		size_t value = strnlen(at, (size_t)(end - at));
		if (memchr(at, '\r', value))
			return false;
		at += value;
		if (end - at < 2 || at[0] || at[1])  /* CR LF */
			return false;
		at += 2;
	}
	return end - at == 2 && !at[0] && !at[1] && !headers;
}

/* True if all servers and proxies would parse this header in the same way. */
static bool is_plain(const struct sl__socket *s, const char *method, const char *version)
{
	const union MHD_ConnectionInfo *size =
		MHD_get_connection_info(s->connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
	if (!sl__version_is_old())
		return true;
	if (!size)
		return false;
	const char *end = method + size->header_size, *lines = version + strlen(version);
	if (lines < method || end - lines < 2 || lines[0] || lines[1])
		return false;
	if ((size_t)(version - method) != strlen(method) + s->target_bytes + 2)  /* a zero byte, or more than one space */
		return false;
	return are_plain(lines + 2, end, MHD_get_connection_values(s->connection, MHD_HEADER_KIND, NULL, NULL));
}

/* ---- what the header says -------------------------------------------------------------------- */

/* Headers that are given once at most, with the sentence for a second one. */
#define ONCE(name) {name, "the header " name " was sent twice; send it once"}
static const struct {
	const char *name, *twice;
} once[] = {
	ONCE("Content-Length"), ONCE("Host"), ONCE("Transfer-Encoding"), ONCE("Authorization"), ONCE("Content-Type"),
	ONCE("Origin"),
};
#define ONCE_COUNT (sizeof once / sizeof *once)

struct seen {
	bool named;             /* the names of all headers are valid */
	int found[ONCE_COUNT];
};

static bool on_header(void *arg, const struct sl__pair *pair)
{
	static const char token[] = "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
	struct seen *seen = arg;
	if (!pair->name[0] || pair->name[strspn(pair->name, token)])
		seen->named = false;
	for (size_t i = 0; i < ONCE_COUNT; i++)
		seen->found[i] += !strcasecmp(pair->name, once[i].name);
	return true;
}

static struct sl__fault fault_of(const struct sl__exchange *x, bool plain)
{
	struct seen seen = {.named = true};
	const char *encoding = sl__exchange_header(x, "Transfer-Encoding");
	sl__exchange_headers(x, on_header, &seen);
	if (!seen.named)
		return (struct sl__fault){400, NULL, "the name of a header must be letters, digits and hyphens, right before "
					  "the colon"};
	if (!plain)
		return (struct sl__fault){400, NULL, "each line of the header must be NAME: VALUE and end with CR LF; folded "
					  "lines, a lone CR or LF, and zero bytes are refused"};
	for (size_t i = 0; i < ONCE_COUNT; i++)
		if (seen.found[i] > 1)
			return (struct sl__fault){400, once[i].name, once[i].twice};
	if (encoding && strcasecmp(encoding, "chunked"))
		return (struct sl__fault){501, "Transfer-Encoding", "the body must be chunked or have a Content-Length"};
	if (encoding && !x->head.interim)
		return (struct sl__fault){400, "Transfer-Encoding", "bodies are chunked only in HTTP/1.1; send a "
					  "Content-Length"};
	if (encoding && sl__exchange_header(x, "Content-Length"))
		return (struct sl__fault){400, "Transfer-Encoding", "Content-Length and Transfer-Encoding exclude each other"};
	return (struct sl__fault){0};
}

void sl__framing_check(struct sl__exchange *x, const char *method, const char *version)
{
	x->head.fault = fault_of(x, is_plain(x->socket, method, version));
	x->head.chunked = sl__exchange_header(x, "Transfer-Encoding") != NULL;
}

/* ---- chunks ------------------------------------------------------------------------------------ */

/* False if the line of the chunk that begins at data, or the line before, ends without CR. The line is still in the
 * buffer, if libmicrohttpd has read it together with the data; otherwise a zero byte stands there, of the end of the
 * header. It misses lines that came in an earlier packet, so no request is read after a body in chunks (exchange.c). */
static bool chunk_is_plain(const char *data)
{
	const char *at = data - 1, *least = data - LINE_BYTES;
	if (*at != '\n')
		return true;
	if (*--at != '\r')
		return false;
	while (--at > least && *at && *at != '\n')
		;
	return at == least || *at != '\n' || at[-1] == '\r';
}

const char *sl__framing_of_chunk(const struct sl__exchange *x, const char *data)
{
	if (!x->head.chunked || !sl__version_is_old() || chunk_is_plain(data))
		return NULL;
	return "the lines of a body in chunks must end with CR LF; a lone LF is refused";
}
