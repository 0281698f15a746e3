/* The connections of clients, and how each ends.
 *
 * libmicrohttpd misses the end of a client's data if it arrives together with data (its epoll is edge-triggered, and it
 * treats a short read as the last), and does not look at a suspended connection. So a separate uv_poll waits for the
 * end on each socket.
 *
 * A client that closes its sending side may still wait for the reply (shutdown(SHUT_WR)) or may be gone. TCP
 * distinguishes these only when the server sends something. So a parked request is probed with an interim "100
 * Continue", which clients ignore; if the client is gone, its kernel answers with a reset, which ends the request at
 * once. */
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "daemon/http/mhd/mhd_internal.h"
#include "daemon/http/mhd/received.h"

/* ---- the end ------------------------------------------------------------------------------- */

/* Shuts the connection down; libmicrohttpd notices that and closes it when it runs next. */
void sl__socket_end(struct sl__socket *s)
{
	if (s->leaving)
		return;
	s->leaving = true;
	s->mhd->leaving++;
	shutdown(s->fd, SHUT_RDWR);
}

bool sl__socket_leaving(const struct sl__socket *s)
{
	return s->leaving;
}

void sl__socket_gone(struct sl__socket *s)
{
	uv_poll_stop(&s->poll);
	if (s->x && (s->x->parked || s->x->flow))
		s->mhd->ops->gone(s->x->request);
	sl__socket_end(s);
}

static bool is_reset(int fd)
{
	struct pollfd p = {.fd = fd};
	return poll(&p, 1, 0) > 0 && p.revents & (POLLERR | POLLHUP);
}

/* Ends the connection if the client will send no more, all its data was read, and they contain no complete request. */
static void check_half_closed(struct sl__socket *s)
{
	char byte;
	bool whole = s->x && !s->x->reading;
	if (!whole && recv(s->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0)
		sl__socket_end(s);
}

void sl__sockets_check(struct sl__mhd *m)
{
	SL_LIST_EACH(struct sl__socket, s, &m->half_closed, half_closed)
		check_half_closed(s);
}

/* Probes the client; if it is gone, a reset will arrive soon. */
static void probe(struct sl__socket *s)
{
	static const char interim[] = "HTTP/1.1 100 Continue\r\n\r\n";
	if (s->x->head.interim && !s->probed)
		sl__send_beside(s, interim, sizeof interim - 1, false);
	s->probed = true;
}

void sl__socket_parked(struct sl__socket *s)
{
	if (s->half_closed.in)
		probe(s);
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
	struct sl__socket *s = poll->data;
	struct sl__exchange *x = s->x;
	if (sl__tls_resume(s))
		return;
	if (status < 0 || is_reset(s->fd)) {
		sl__socket_gone(s);
		return;
	}
	uv_poll_stop(poll);
	if (s->half_closed.in)  /* urgent data, which is never read */
		return;
	sl_list_append(&s->mhd->half_closed, &s->half_closed);
	sl__socket_watch(s, UV_PRIORITIZED);  /* also reported after a reset */
	if (x && x->flow)
		sl__socket_gone(s);
	else if (x && x->parked)
		probe(s);
	else
		check_half_closed(s);
}

/* ---- its life ------------------------------------------------------------------------------ */

static void closed(uv_handle_t *handle)
{
	struct sl__socket *s = handle->data;
	free(s->encoded);
	free(s);
}

static struct in6_addr address_of(struct MHD_Connection *connection)
{
	const struct sockaddr *address =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS)->client_addr;
	struct in6_addr mapped = {.s6_addr = {[10] = 0xff, [11] = 0xff}};
	if (address->sa_family == AF_INET6)
		return ((const struct sockaddr_in6 *)address)->sin6_addr;
	memcpy(&mapped.s6_addr[12], &((const struct sockaddr_in *)address)->sin_addr, 4);
	return mapped;
}

static void started(struct sl__mhd *m, struct MHD_Connection *connection, void **slot)
{
	int fd = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
	struct in6_addr client = address_of(connection);
	struct sl__socket *s = calloc(1, sizeof *s);
	void *peer = s ? m->ops->opened(m->arg, s, &client) : NULL;
	*slot = NULL;
	if (!peer) {
		shutdown(fd, SHUT_RDWR);
		free(s);
		return;
	}
	*s = (struct sl__socket){.mhd = m, .connection = connection, .peer = peer, .fd = fd, .since_ms = uv_now(m->loop)};
	if (uv_poll_init(m->loop, &s->poll, fd)) {
		m->ops->closed(peer);
		shutdown(fd, SHUT_RDWR);
		free(s);
		return;
	}
	s->poll.data = s;
	s->on_poll = on_poll;
	sl__socket_watch(s, UV_DISCONNECT);
	sl_list_append(&m->sockets, &s->link);
	if (m->tls)
		sl__tls_begin(s);
	*slot = s;
}

static void ended(struct sl__socket *s)
{
	s->mhd->leaving -= s->leaving;
	sl_list_unlink(&s->link);
	sl_list_unlink(&s->half_closed);
	sl__tls_end(s);
	s->mhd->ops->closed(s->peer);
	uv_close((uv_handle_t *)&s->poll, closed);
}

void sl__socket_notify(void *cls, struct MHD_Connection *connection, void **slot,
		       enum MHD_ConnectionNotificationCode code)
{
	if (code == MHD_CONNECTION_NOTIFY_STARTED)
		started(cls, connection, slot);
	else if (*slot)
		ended(*slot);
}

struct sl__socket *sl__socket_of(struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	return info ? info->socket_context : NULL;
}

void sl__socket_begins(struct sl__socket *s, struct sl__exchange *x)
{
	s->x = x;
	s->since_ms = uv_now(s->mhd->loop);
	free(s->encoded);
	s->encoded = NULL;
	if (!x)
		s->answered_bytes = sl__bytes_received(s->fd);
}

bool sl__socket_between(const struct sl__socket *s)
{
	return !s->x && s->answered_bytes && sl__bytes_received(s->fd) <= s->answered_bytes;
}
