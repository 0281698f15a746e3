/* endpoint.h -- the listening sockets of ZeroMQ endpoints: "tcp://127.0.0.1:7071", "tcp://[::1]:*",
 * "ipc:///run/spaceland/frames". Any thread. */
#ifndef SL_ENDPOINT_H
#define SL_ENDPOINT_H

#include "core/error.h"

#define SL_ENDPOINT_BYTES 256

/* Makes a socket that listens at endpoint, without blocking, and writes the endpoint with the real port to bound. Port
 * *: any free one; host *: all addresses of IPv4. The caller closes *fd. The error's pointer is /zmq. */
int sl_endpoint_listen(const char *endpoint, int *fd, char bound[SL_ENDPOINT_BYTES], struct sl_error *err);

/* Removes the file of a local socket. */
void sl_endpoint_remove(const char *bound);

#endif
