/* The listening socket: inherited from the previous process, passed by systemd, or new. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <systemd/sd-daemon.h>

#include "daemon/http/http_internal.h"

#define ACTIVATED "SPACELAND_LISTEN_ACTIVATED"  /* environment variable for the program that this one executes */

/* The address on which a socket listens. */
static bool place_of(int fd, char *host, size_t bytes, uint16_t *port)
{
	struct sockaddr_storage address;
	socklen_t length = sizeof address;
	if (getsockname(fd, (struct sockaddr *)&address, &length) ||
	    (address.ss_family != AF_INET && address.ss_family != AF_INET6))
		return false;
	bool v6 = address.ss_family == AF_INET6;
	const void *number = v6 ? (const void *)&((struct sockaddr_in6 *)&address)->sin6_addr
				: (const void *)&((struct sockaddr_in *)&address)->sin_addr;
	*port = ntohs(v6 ? ((struct sockaddr_in6 *)&address)->sin6_port : ((struct sockaddr_in *)&address)->sin_port);
	return inet_ntop(address.ss_family, number, host, (socklen_t)bytes) != NULL;
}

/* The socket on which this program listened before it executed itself again, if there is one. */
static int inherited(char *host, size_t bytes, uint16_t *port)
{
	const char *text = getenv(SL_LISTEN_FD);
	char name[64];
	uint16_t bound;
	int fd = text ? atoi(text) : -1;
	unsetenv(SL_LISTEN_FD);
	if (fd < 0 || !place_of(fd, name, sizeof name, &bound))
		return -1;
	if (!getenv(ACTIVATED) && (strcmp(name, host) || (*port && *port != bound))) {
		close(fd);
		return -1;
	}
	fcntl(fd, F_SETFD, FD_CLOEXEC);
	snprintf(host, bytes, "%s", name);
	*port = bound;
	return fd;
}

/* *out: the socket that systemd has opened (spacelandd.socket), which replaces `listen`; -1: none. */
static int activated(const struct sl_config *c, char *host, size_t bytes, uint16_t *port, int *out,
		     struct sl_error *err)
{
	int count = sd_listen_fds(1);
	*out = -1;
	if (count <= 0)
		return 0;
	/* leaves a descriptor that is no such socket open: if LISTEN_FDS is wrong, it is a file of this program */
	int fd = SD_LISTEN_FDS_START;
	if (count > 1 || sd_is_socket(fd, AF_UNSPEC, SOCK_STREAM, 1) <= 0 || !place_of(fd, host, bytes, port))
		return sl_error_field(err, SL_BADPARAM, "/listen", "%d socket%s came from systemd; it must be one "
				      "listening TCP socket (ListenStream=127.0.0.1:7070)", count, count > 1 ? "s" : "");
	if (!sl_config_loopback(host) && !c->token_file[0]) {
		close(fd);
		return sl_error_field(err, SL_BADPARAM, "/token_file", "the socket from systemd, %s port %u, can be "
				      "reached from other machines, so token_file must be set (or "
				      "ListenStream=127.0.0.1:7070)", host, *port);
	}
	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
	setenv(ACTIVATED, "1", 1);
	*out = fd;
	return 0;
}

/* Makes a listening socket; *port becomes the port that was bound. */
static int listen_on(const char *host, uint16_t *port, int *out, struct sl_error *err)
{
	struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons(*port)};
	struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons(*port)};
	bool v6 = inet_pton(AF_INET6, host, &six.sin6_addr) == 1;
	if (!v6)
		inet_pton(AF_INET, host, &four.sin_addr);
	struct sockaddr *address = v6 ? (struct sockaddr *)&six : (struct sockaddr *)&four;
	socklen_t bytes = v6 ? sizeof six : sizeof four;
	int one = 1, fd = socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return sl_error_field(err, errno == EAFNOSUPPORT ? SL_BADPARAM : SL_IO, "/listen", "cannot listen on "
				      "%s: no socket: %s", host, strerror(errno));
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
	if (bind(fd, address, bytes) || listen(fd, 511) || getsockname(fd, address, &bytes)) {
		int why = errno;
		close(fd);
		return sl_error_field(err, why == EACCES || why == EADDRNOTAVAIL || why == EAFNOSUPPORT ? SL_BADPARAM : SL_IO,
				      "/listen", "cannot listen on %s port %u: %s.%s", host, *port, strerror(why),
				      why == EACCES ? " Ports below 1024 are root's; use a proxy, or "
				      "AmbientCapabilities=CAP_NET_BIND_SERVICE in the unit." :
				      why == EADDRNOTAVAIL ? " No network interface of this machine has this address; `ip address` "
				      "lists them." : "");
	}
	*port = ntohs(v6 ? six.sin6_port : four.sin_port);
	*out = fd;
	return 0;
}

int sl__listen(const struct sl_config *c, char *host, size_t bytes, uint16_t *port, int *out, struct sl_error *err)
{
	int rc = 0;
	*out = inherited(host, bytes, port);
	if (*out < 0)
		rc = activated(c, host, bytes, port, out, err);
	return rc || *out >= 0 ? rc : listen_on(host, port, out, err);
}
