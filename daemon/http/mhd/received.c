/* The kernel's count, in struct tcp_info. */
#include "daemon/http/mhd/received.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

uint64_t sl__bytes_received(int fd)
{
	struct tcp_info info = {0};
	socklen_t bytes = sizeof info;
	return getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &bytes) ? 0 : info.tcpi_bytes_received;
}
