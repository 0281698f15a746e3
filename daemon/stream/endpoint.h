/* endpoint.h -- the sockets of ZeroMQ endpoints: "tcp://127.0.0.1:7071", "tcp://[::1]:*",
 * "ipc:///run/spaceland/frames". Loop thread. */
#ifndef SL_ENDPOINT_H
#define SL_ENDPOINT_H

#include <stdbool.h>
#include <uv.h>

#include "core/error.h"

#define SL_ENDPOINT_BYTES 256

/* A connection, or a listening socket. */
union sl_socket {
	uv_handle_t handle;
	uv_stream_t stream;
	uv_tcp_t tcp;
	uv_pipe_t pipe;
};

/* Initialises s, binds it to endpoint, and writes the endpoint with the real port to bound. If *opened, the caller
 * closes s, also after an error. Port *: any free one; host *: all addresses of IPv4. The error's pointer is /zmq. */
int sl_endpoint_bind(uv_loop_t *loop, const char *endpoint, union sl_socket *s, bool *opened,
		     char bound[SL_ENDPOINT_BYTES], struct sl_error *err);

/* Accepts a connection: initialises `to`, which the caller closes, also after an error. */
int sl_endpoint_accept(union sl_socket *listening, union sl_socket *to);

/* The address of the peer, for the log. */
void sl_endpoint_peer(union sl_socket *s, char out[64]);

#endif
