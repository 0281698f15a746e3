/* endpoint.h -- where subscribers connect: "tcp://127.0.0.1:7071", "tcp://[::1]:*", "ipc:///run/spaceland/frames". Loop
 * thread. */
#ifndef SL_ENDPOINT_H
#define SL_ENDPOINT_H

#include <stdbool.h>
#include <uv.h>

#include "core/error.h"

#define SL_ENDPOINT_BYTES 256

/* A connection, or the socket that waits for them. */
union sl_socket {
	uv_handle_t handle;
	uv_stream_t stream;
	uv_tcp_t tcp;
	uv_pipe_t pipe;
};

/* Binds s (initialised here: on an error, too, it has to be closed if *opened) to endpoint and writes the endpoint with
 * the real port to bound. A port of * is any free one, a host of * all addresses of IPv4. The error names /zmq. */
int sl_endpoint_bind(uv_loop_t *loop, const char *endpoint, union sl_socket *s, bool *opened,
		     char bound[SL_ENDPOINT_BYTES], struct sl_error *err);

/* Takes a connection from the socket into `to`, which is initialised here and has to be closed, also after an error. */
int sl_endpoint_accept(union sl_socket *listening, union sl_socket *to);

/* Who is at the other end, for the log. */
void sl_endpoint_peer(union sl_socket *s, char out[64]);

/* True if nobody on another machine can connect to it. */
bool sl_endpoint_local(const char *endpoint);

#endif
