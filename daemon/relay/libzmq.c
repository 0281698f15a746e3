/* Options of sockets of libzmq that several files read and set. */
#include <zmq.h>

#include "daemon/relay/relay_internal.h"

void sl__zmq_set(void *socket, int option, int value)
{
	zmq_setsockopt(socket, option, &value, sizeof value);
}

int sl__zmq_fd(void *socket)
{
	int fd = -1;
	size_t size = sizeof fd;
	return zmq_getsockopt(socket, ZMQ_FD, &fd, &size) ? -1 : fd;
}

bool sl__zmq_readable(void *socket)
{
	int events = 0;
	size_t size = sizeof events;
	return !zmq_getsockopt(socket, ZMQ_EVENTS, &events, &size) && events & ZMQ_POLLIN;
}
