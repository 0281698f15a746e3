/* Checks the header of a request as it was sent.
 *
 * libmicrohttpd 0.9.75 parses some headers differently from RFC 9112, and returns only its result: a line without a
 * name ends the header, a folded line becomes part of the previous name, a zero byte ends a value or the target, and a
 * lone CR is part of a value. A proxy in front would see the next request begin elsewhere, so a client could hide a
 * request from it.
 *
 * The bytes are still in the library's buffer: it has replaced each colon and each end of a line by zero bytes, and
 * changed nothing else. `method` points to the first byte, and the library reports their number. Later versions parse
 * headers as the RFC says, and need no such check. */
#include <string.h>

#include "daemon/http/http_internal.h"

static bool is_plain(const char *at, const char *end, int headers)
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

#define LINE_BYTES 1000  /* of a line that is searched */

/* The line is still in the buffer, if libmicrohttpd has read it together with the data; otherwise a zero byte stands
 * there, of the end of the header. */
bool sl__chunk_is_plain(const char *data)
{
	const char *at = data - 1, *least = data - LINE_BYTES;
	if (strcmp(MHD_get_version(), "0.9.75") || *at != '\n')
		return true;
	if (*--at != '\r')
		return false;
	while (--at > least && *at && *at != '\n')
		;
	return at == least || *at != '\n' || at[-1] == '\r';
}

bool sl__header_is_plain(struct MHD_Connection *connection, const char *method, size_t target,
			 const char *version)
{
	const union MHD_ConnectionInfo *size =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
	if (strcmp(MHD_get_version(), "0.9.75"))
		return true;
	if (!size)
		return false;
	const char *end = method + size->header_size, *lines = version + strlen(version);
	if (lines < method || end - lines < 2 || lines[0] || lines[1])
		return false;
	if ((size_t)(version - method) != strlen(method) + target + 2)  /* a zero byte, or more than one space */
		return false;
	return is_plain(lines + 2, end, MHD_get_connection_values(connection, MHD_HEADER_KIND, NULL, NULL));
}
