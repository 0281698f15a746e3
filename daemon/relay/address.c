/* Asks the kernel for the peer of a connected socket. */
#include "daemon/relay/address.h"

#include <arpa/inet.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/socket.h>

void sl__address_of(int fd, char out[SL_RELAY_TEXT_BYTES])
{
	struct sockaddr_storage name;
	socklen_t length = sizeof name;
	char host[INET6_ADDRSTRLEN] = "?";
	const struct sockaddr_in *a = (const struct sockaddr_in *)&name;
	const struct sockaddr_in6 *b = (const struct sockaddr_in6 *)&name;
	if (getpeername(fd, (struct sockaddr *)&name, &length) || name.ss_family == AF_UNIX) {
		snprintf(out, SL_RELAY_TEXT_BYTES, "a local process");
		return;
	}
	bool v6 = name.ss_family == AF_INET6;
	inet_ntop(name.ss_family, v6 ? (const void *)&b->sin6_addr : &a->sin_addr, host, sizeof host);
	snprintf(out, SL_RELAY_TEXT_BYTES, v6 ? "[%s]:%d" : "%s:%d", host, ntohs(v6 ? b->sin6_port : a->sin_port));
}
