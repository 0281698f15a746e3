#include "daemon/stream/endpoint.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* The most unsent bytes that wait in the kernel. A small value lets a slow reader get a newer frame sooner. Bytes that
 * were sent but not acknowledged do not count; the reader's window limits those. */
#define UNSENT_BYTES 16384
#define IDLE_S 60                 /* idle time before the kernel probes the peer */
#define UNANSWERED_MS 60000u

/* Splits "host:port" of an endpoint; the host loses its brackets, and * stays *. */
static int split(const char *endpoint, char host[128], char port[8])
{
	const char *at = endpoint + 6, *colon = strrchr(at, ':');
	if (strncmp(endpoint, "tcp://", 6) || !colon || colon == at || strlen(colon + 1) >= 8 || !colon[1])
		return -1;
	size_t length = (size_t)(colon - at);
	if (*at == '[' && length > 2 && colon[-1] == ']') {
		at++;
		length -= 2;
	}
	if (length >= 128)
		return -1;
	memcpy(host, at, length);
	host[length] = '\0';
	strcpy(port, strcmp(colon + 1, "*") ? colon + 1 : "0");
	return port[strspn(port, "0123456789")] ? -1 : 0;
}

static int resolve(const char *endpoint, struct addrinfo **found)
{
	char host[128], port[8];
	struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM,
				 .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
	if (split(endpoint, host, port))
		return EAI_SERVICE;
	return getaddrinfo(strcmp(host, "*") ? host : "0.0.0.0", port, &hints, found);
}

static int wrong(const char *endpoint, struct sl_error *err)
{
	return sl_error_field(err, SL_BADPARAM, "/zmq", "zmq = %s is not an address of this machine; it must be like "
			      "tcp://127.0.0.1:7071 or ipc:///run/spaceland/frames", endpoint);
}

static int taken(const char *endpoint, int code, struct sl_error *err)
{
	return sl_error_field(err, SL_IO, "/zmq", "The frame publisher cannot listen at %s: %s.", endpoint,
			      uv_strerror(code));
}

static int bind_tcp(const char *endpoint, union sl_socket *s, char bound[SL_ENDPOINT_BYTES], struct sl_error *err)
{
	struct addrinfo *found = NULL;
	struct sockaddr_storage name;
	int length = sizeof name;
	if (resolve(endpoint, &found))
		return wrong(endpoint, err);
	int code = uv_tcp_bind(&s->tcp, found->ai_addr, 0);
	freeaddrinfo(found);
	if (!code)
		code = uv_tcp_getsockname(&s->tcp, (struct sockaddr *)&name, &length);
	if (code)
		return taken(endpoint, code, err);
	char host[INET6_ADDRSTRLEN];
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)&name;
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)&name;
	if (name.ss_family == AF_INET6)
		snprintf(bound, SL_ENDPOINT_BYTES, "tcp://[%s]:%d",
			 inet_ntop(AF_INET6, &v6->sin6_addr, host, sizeof host), ntohs(v6->sin6_port));
	else
		snprintf(bound, SL_ENDPOINT_BYTES, "tcp://%s:%d",
			 inet_ntop(AF_INET, &v4->sin_addr, host, sizeof host), ntohs(v4->sin_port));
	return 0;
}

/* Removes a socket that a killed process has left, unless a process listens on it. */
static void remove_stale(const char *path)
{
	struct stat st;
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	if (lstat(path, &st) || !S_ISSOCK(st.st_mode) || strlen(path) >= sizeof address.sun_path)
		return;
	strcpy(address.sun_path, path);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address))
		unlink(path);
	if (fd >= 0)
		close(fd);
}

int sl_endpoint_bind(uv_loop_t *loop, const char *endpoint, union sl_socket *s, bool *opened,
		     char bound[SL_ENDPOINT_BYTES], struct sl_error *err)
{
	*opened = false;
	if (!strncmp(endpoint, "tcp://", 6)) {
		if (uv_tcp_init(loop, &s->tcp))
			return sl_error_set(err, SL_NOMEM, "Out of memory for the frame publisher.");
		*opened = true;
		return bind_tcp(endpoint, s, bound, err);
	}
	if (strncmp(endpoint, "ipc://", 6) || endpoint[6] != '/')
		return wrong(endpoint, err);
	if (uv_pipe_init(loop, &s->pipe, 0))
		return sl_error_set(err, SL_NOMEM, "Out of memory for the frame publisher.");
	*opened = true;
	remove_stale(endpoint + 6);
	snprintf(bound, SL_ENDPOINT_BYTES, "%s", endpoint);
	int code = uv_pipe_bind(&s->pipe, endpoint + 6);
	return code ? taken(endpoint, code, err) : 0;
}

int sl_endpoint_accept(union sl_socket *listening, union sl_socket *to)
{
	uv_loop_t *loop = listening->handle.loop;
	if (listening->handle.type != UV_TCP) {
		uv_pipe_init(loop, &to->pipe, 0);
		return uv_accept(&listening->stream, &to->stream);
	}
	uv_tcp_init(loop, &to->tcp);
	int code = uv_accept(&listening->stream, &to->stream), fd;
	if (!code && !uv_fileno(&to->handle, &fd)) {
		int unsent = UNSENT_BYTES;
		unsigned unanswered = UNANSWERED_MS;
		uv_tcp_nodelay(&to->tcp, 1);
		uv_tcp_keepalive(&to->tcp, 1, IDLE_S);
		setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent, sizeof unsent);
		setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &unanswered, sizeof unanswered);
	}
	return code;
}

void sl_endpoint_peer(union sl_socket *s, char out[64])
{
	struct sockaddr_storage name;
	int length = sizeof name;
	char host[INET6_ADDRSTRLEN] = "?";
	if (s->handle.type != UV_TCP || uv_tcp_getpeername(&s->tcp, (struct sockaddr *)&name, &length)) {
		snprintf(out, 64, "a local process");
		return;
	}
	bool v6 = name.ss_family == AF_INET6;
	const struct sockaddr_in *a = (const struct sockaddr_in *)&name;
	const struct sockaddr_in6 *b = (const struct sockaddr_in6 *)&name;
	inet_ntop(name.ss_family, v6 ? (const void *)&b->sin6_addr : &a->sin_addr, host, sizeof host);
	snprintf(out, 64, v6 ? "[%s]:%d" : "%s:%d", host, ntohs(v6 ? b->sin6_port : a->sin_port));
}
