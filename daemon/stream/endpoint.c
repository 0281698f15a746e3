/* Sockets are opened non-blocking and handed to libuv. A socket file of ipc that nobody listens on is removed; one
 * that answers is somebody's, and an error. */
#include "daemon/stream/endpoint.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define BACKLOG 128

/* Splits "host:port" of an endpoint; the host loses its brackets, and * stays *. */
static int split(const char *endpoint, char host[128], char port[8])
{
	const char *at = strstr(endpoint, "//") + 2, *colon = strrchr(at, ':');
	if (!colon || colon == at || strlen(colon + 1) >= 8 || !colon[1])
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

static int taken(const char *endpoint, struct sl_error *err)
{
	return sl_error_field(err, SL_IO, "/zmq", "The frame publisher cannot listen at %s: %s.", endpoint,
			      strerror(errno));
}

static int get_name(int fd, char bound[SL_ENDPOINT_BYTES])
{
	struct sockaddr_storage name;
	socklen_t length = sizeof name;
	char host[INET6_ADDRSTRLEN];
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)&name;
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)&name;
	if (getsockname(fd, (struct sockaddr *)&name, &length))
		return -1;
	if (name.ss_family == AF_INET6)
		snprintf(bound, SL_ENDPOINT_BYTES, "tcp://[%s]:%d",
			 inet_ntop(AF_INET6, &v6->sin6_addr, host, sizeof host), ntohs(v6->sin6_port));
	else
		snprintf(bound, SL_ENDPOINT_BYTES, "tcp://%s:%d",
			 inet_ntop(AF_INET, &v4->sin_addr, host, sizeof host), ntohs(v4->sin_port));
	return 0;
}

static int listen_tcp(const char *endpoint, int *fd, char bound[SL_ENDPOINT_BYTES], struct sl_error *err)
{
	struct addrinfo *found = NULL;
	int on = 1;
	if (resolve(endpoint, &found))
		return wrong(endpoint, err);
	*fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	bool failed = *fd < 0 || setsockopt(*fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) ||
		      bind(*fd, found->ai_addr, found->ai_addrlen) || listen(*fd, BACKLOG) || get_name(*fd, bound);
	int code = failed ? taken(endpoint, err) : 0;
	freeaddrinfo(found);
	return code;
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

static int listen_locally(const char *endpoint, int *fd, char bound[SL_ENDPOINT_BYTES], struct sl_error *err)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	const char *path = endpoint + 6;
	if (strlen(path) >= sizeof address.sun_path) {
		errno = ENAMETOOLONG;
		return taken(endpoint, err);
	}
	strcpy(address.sun_path, path);
	snprintf(bound, SL_ENDPOINT_BYTES, "%s", endpoint);
	remove_stale(path);
	*fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (*fd < 0 || bind(*fd, (struct sockaddr *)&address, sizeof address) || listen(*fd, BACKLOG))
		return taken(endpoint, err);
	return 0;
}

int sl_endpoint_listen(const char *endpoint, int *fd, char bound[SL_ENDPOINT_BYTES], struct sl_error *err)
{
	int code;
	*fd = -1;
	if (!strncmp(endpoint, "tcp://", 6))
		code = listen_tcp(endpoint, fd, bound, err);
	else if (!strncmp(endpoint, "ipc:///", 7))
		code = listen_locally(endpoint, fd, bound, err);
	else
		return wrong(endpoint, err);
	if (code && *fd >= 0) {
		close(*fd);
		*fd = -1;
	}
	return code;
}

void sl_endpoint_remove(const char *bound)
{
	if (!strncmp(bound, "ipc://", 6))
		unlink(bound + 6);
}
