/* Accepts connections. Without a place or descriptors for them, they wait in the listening socket's queue until the
 * next second. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/relay/connection.h"

/* The most unsent bytes that wait in the kernel. A small value lets a slow reader get a newer frame sooner. Bytes that
 * were sent but not acknowledged do not count; the reader's window limits those. */
#define UNSENT_BYTES 16384
#define IDLE_S 60                 /* idle time before the kernel probes the peer */
#define PROBE_S 1                 /* between its probes */
#define PROBES 10
#define UNANSWERED_MS 60000
#define SPARE_DESCRIPTORS 24      /* for frames, and the connections that were accepted just before */
#define AT_ONCE 16                /* connections accepted before other events have their turn */

static void set_options(int fd)
{
	static const struct { int level, option, value; } options[] = {
		{SOL_SOCKET, SO_KEEPALIVE, 1}, {IPPROTO_TCP, TCP_NODELAY, 1}, {IPPROTO_TCP, TCP_KEEPIDLE, IDLE_S},
		{IPPROTO_TCP, TCP_KEEPINTVL, PROBE_S}, {IPPROTO_TCP, TCP_KEEPCNT, PROBES},
		{IPPROTO_TCP, TCP_NOTSENT_LOWAT, UNSENT_BYTES}, {IPPROTO_TCP, TCP_USER_TIMEOUT, UNANSWERED_MS}};
	for (size_t i = 0; i < sizeof options / sizeof *options; i++)  /* of a local socket, most have no effect */
		setsockopt(fd, options[i].level, options[i].option, &options[i].value, sizeof options[i].value);
}

/* Frames need a descriptor, too, on their way; so newcomers leave some. The kernel gives the lowest free number. */
static bool is_among_the_last(int fd)
{
	struct rlimit limit;
	return !getrlimit(RLIMIT_NOFILE, &limit) && (rlim_t)fd + SPARE_DESCRIPTORS >= limit.rlim_cur;
}

/* Those that wait are accepted in the next second, if there are descriptors then. */
static void refuse(struct sl__relay *r, const char *why)
{
	sl__relay_tell(r, SL_RELAY_REFUSED, 0, 0, why, strlen(why));
	uv_poll_stop(&r->listening);
}

static void on_connection(uv_poll_t *poll, int status, int events)
{
	struct sl__relay *r = poll->data;
	for (int i = 0; i < AT_ONCE; i++) {
		if (r->connections.count + r->closing >= r->most || !sl__relay_heard(r)) {
			uv_poll_stop(poll);
			return;
		}
		int fd = accept4(r->listening_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd >= 0 && is_among_the_last(fd)) {
			close(fd);
			refuse(r, strerror(EMFILE));
			return;
		} else if (fd >= 0) {
			set_options(fd);
			if (sl__connection_create(r, fd)) {
				refuse(r, strerror(ENOMEM));
				return;
			}
		} else if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
			refuse(r, strerror(errno));
			return;
		} else if (errno == EAGAIN) {
			return;
		}
	}
}

void sl__accept_resume(struct sl__relay *r)
{
	if (r->listening_fd >= 0)
		uv_poll_start(&r->listening, UV_READABLE, on_connection);
}

void sl__accept_start(struct sl__relay *r, int fd)
{
	r->listening_fd = fd;
	uv_poll_init(&r->loop, &r->listening, fd);
	r->listening.data = r;
	sl__accept_resume(r);
}
