/* Looks at the header of a request as it was sent.
 *
 * libmicrohttpd 0.9.75 reads some headers in another way than RFC 9112 says, and tells us only its result: a line
 * without a name ends the header, a folded line becomes part of the name before it, a zero byte ends a value, and a
 * lone CR is part of it. To a proxy in front the next request would begin elsewhere, so that a client could hide one
 * from it.
 *
 * The bytes are still in the library's buffer: it has put zero bytes in place of each colon and each end of a line, and
 * changed nothing else. `method` is the first of them, and the library tells their number. Later versions read a header
 * as the RFC says, and need no second look. */
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

bool sl__header_is_plain(struct MHD_Connection *connection, const char *method, const char *version)
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
	return is_plain(lines + 2, end, MHD_get_connection_values(connection, MHD_HEADER_KIND, NULL, NULL));
}
