/* Sends a few bytes beside libmicrohttpd: replies to connections that it does not know or is not to answer, and interim
 * replies. Nothing is kept for later: what the socket does not take at once is lost. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <gnutls/gnutls.h>
#include <jansson.h>

#include "daemon/http/mhd/mhd_internal.h"
#include "daemon/util/log.h"
#include "daemon/json/problem.h"
#include "daemon/util/ulid.h"

static void send_text(int fd, const char *text, size_t bytes)
{
	if (send(fd, text, bytes, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		sl_log_debug("http", "a few bytes were not sent: %s", strerror(errno));
}

/* If the socket took only a part of a record, GnuTLS would keep the rest and confuse it with libmicrohttpd's next
 * record. A writable socket has room for a small record. */
static void send_record(struct sl__socket *s, const char *text, size_t bytes, bool last)
{
	struct pollfd p = {.fd = s->fd, .events = POLLOUT};
	if (s->handshake.in || poll(&p, 1, 0) <= 0 || !(p.revents & POLLOUT))
		return;
	if (gnutls_record_send(s->session, text, bytes) < 0)
		sl_log_debug("http", "a few bytes were not sent");
	else if (last)
		gnutls_bye(s->session, GNUTLS_SHUT_WR);
}

void sl__send_beside(struct sl__socket *s, const char *text, size_t bytes, bool last)
{
	if (s->session && !s->plain)
		send_record(s, text, bytes, last);
	else
		send_text(s->fd, text, bytes);
}

/* Writes a reply; returns its length, or 0 if out of memory. id NULL: a new one. */
static size_t problem_text(char text[1024], const char *id, int status, const char *header, const char *detail)
{
	char body[512], fresh[SL_ULID_BYTES];
	id = id ? id : sl_ulid_make(fresh);
	json_t *problem = sl_problem_http(status, detail);
	if (problem)
		json_object_set_new(problem, "request_id", json_string(id));
	if (problem && header)
		json_object_set_new(problem, "header", json_string(header));
	size_t bytes = problem ? json_dumpb(problem, body, sizeof body, JSON_COMPACT) : 0;
	json_decref(problem);
	if (!bytes || bytes > sizeof body)
		return 0;
	int length = snprintf(text, 1024, "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n"
			      "Retry-After: %d\r\nX-Request-Id: %s\r\nConnection: close\r\n\r\n%.*s", status,
			      MHD_get_reason_phrase_for((unsigned)status), SL_PROBLEM_TYPE, bytes, SL__RETRY_S, id,
			      (int)bytes, body);
	return (size_t)length;
}

void sl__send_problem(struct sl__socket *s, const char *id, int status, const char *header, const char *detail)
{
	char text[1024];
	size_t bytes = problem_text(text, id, status, header, detail);
	sl__send_beside(s, text, bytes, true);
}

void sl__socket_problem(struct sl__socket *s, const char *id, int status, const char *detail)
{
	sl__send_problem(s, id, status, NULL, detail);
}

/* Reads pending data first, since unread data would turn the close into a reset, and the client might not see the
 * reply. */
void sl__mhd_turn_away(const struct sl__mhd *m, int fd)
{
	char scratch[4096], text[1024];
	size_t bytes = problem_text(text, NULL, 503, NULL, "all connections of this server are busy (max_connections)");
	if (!m->tls)
		send_text(fd, text, bytes);
	shutdown(fd, SHUT_WR);
	for (int i = 0; i < 4 && recv(fd, scratch, sizeof scratch, MSG_DONTWAIT) > 0; i++)
		;
	close(fd);
}
