/* The handshakes of TLS. libmicrohttpd implements TLS, but in its epoll mode it polls a handshake that waits for the
 * client without pause, so a client that stops half way would keep the loop busy. Therefore a connection is suspended
 * after each turn of its handshake, and a uv_poll of ours resumes it when the socket can be read (or written, if GnuTLS
 * waits for that). The caller's time limit for a connection without a request ends it. */
#include <errno.h>
#include <poll.h>
#include <sys/socket.h>

#include <gnutls/abstract.h>
#include <gnutls/gnutls.h>

#include "daemon/http/mhd/mhd_internal.h"

#define HANDSHAKE 22   /* first byte of a TLS record that begins one */
#define RECEIVED 1     /* bits of finished */
#define SENT 2

static int no_certificate(gnutls_session_t session, const gnutls_datum_t *authorities, int count,
			  const gnutls_pk_algorithm_t *algorithms, int algorithm_count, gnutls_pcert_st **certificate,
			  unsigned int *length, gnutls_privkey_t *key)
{
	return -1;
}

void *sl__tls_no_certificate(void)
{
	return (void *)no_certificate;
}

/* Replies to a client that has sent plain HTTP by mistake. */
static void say_so(struct sl__socket *s)
{
	char scratch[4096];
	s->plain = true;
	sl__socket_problem(s, NULL, 400, "this port speaks TLS; use an address that begins with https://");
	shutdown(s->fd, SHUT_WR);
	for (int i = 0; i < 4 && recv(s->fd, scratch, sizeof scratch, MSG_DONTWAIT) > 0; i++)
		;
}

static ssize_t pull(gnutls_transport_ptr_t arg, void *data, size_t bytes)
{
	struct sl__socket *s = arg;
	const unsigned char *first = data;
	ssize_t n = recv(s->fd, data, bytes, MSG_DONTWAIT);
	if (n <= 0 || s->spoken)
		return n;
	s->spoken = true;
	if (*first == HANDSHAKE)
		return n;
	if (*first >= 'A' && *first <= 'Z')
		say_so(s);
	errno = ECONNABORTED;
	return -1;
}

static int pull_timeout(gnutls_transport_ptr_t arg, unsigned ms)
{
	const struct sl__socket *s = arg;
	struct pollfd p = {.fd = s->fd, .events = POLLIN};
	return poll(&p, 1, 0);  /* the loop never waits */
}

static int on_finished(gnutls_session_t session, unsigned type, unsigned when, unsigned incoming,
		       const gnutls_datum_t *message)
{
	struct sl__socket *s = gnutls_session_get_ptr(session);
	s->finished |= incoming ? RECEIVED : SENT;
	return 0;
}

void sl__tls_begin(struct sl__socket *s)
{
	gnutls_session_t session =
		MHD_get_connection_info(s->connection, MHD_CONNECTION_INFO_GNUTLS_SESSION)->tls_session;
	s->session = session;
	s->certificate = sl__certificate_begin(s->mhd->tls, session);
	gnutls_session_set_ptr(session, s);
	gnutls_transport_set_ptr2(session, s, (gnutls_transport_ptr_t)(intptr_t)s->fd);
	gnutls_transport_set_pull_function(session, pull);
	gnutls_transport_set_pull_timeout_function(session, pull_timeout);
	gnutls_handshake_set_hook_function(session, GNUTLS_HANDSHAKE_FINISHED, GNUTLS_HOOK_POST, on_finished);
	sl_list_append(&s->mhd->handshakes, &s->handshake);
}

void sl__tls_end(struct sl__socket *s)
{
	s->session = NULL;
	sl_list_unlink(&s->handshake);
	sl__certificate_end(s->certificate);
	s->certificate = NULL;
}

void sl__tls_suspend(struct sl__mhd *m)
{
	SL_LIST_EACH(struct sl__socket, s, &m->handshakes, handshake) {
		sl_list_unlink(&s->handshake);
		if (s->finished == (RECEIVED | SENT)) {
			sl__socket_watch(s, UV_DISCONNECT);
			continue;
		}
		MHD_suspend_connection(s->connection);
		sl_list_append(&m->waiting, &s->handshake);
		sl__socket_watch(s, UV_DISCONNECT |
				     (gnutls_record_get_direction(s->session) ? UV_WRITABLE : UV_READABLE));
	}
}

bool sl__tls_resume(struct sl__socket *s)
{
	if (!s->handshake.in)
		return false;
	if (s->handshake.in == &s->mhd->handshakes)
		return true;
	sl_list_unlink(&s->handshake);
	sl_list_append(&s->mhd->handshakes, &s->handshake);
	uv_poll_stop(&s->poll);
	sl__mhd_resume(s->mhd, s->connection);
	return true;
}

void sl__tls_resume_all(struct sl__mhd *m)
{
	SL_LIST_EACH(struct sl__socket, s, &m->waiting, handshake)
		sl__tls_resume(s);
}
