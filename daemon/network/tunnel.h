/* tunnel.h -- a stream of bytes between two machines that outlives the connections which carry it.
 *
 * At each end is a local socket; what is written into the one comes out of the other, in both directions, in order and
 * once. In between are connections of TLS, one at a time. When one breaks, the owner attaches another one, and the
 * stream goes on where it was: each end keeps what the other has not acknowledged, at most SL_TUNNEL_KEPT bytes; beyond
 * that, the local socket is not read, so its writer waits. What uses the local sockets notices a pause and nothing
 * else.
 *
 * Frames within TLS (proto/worker.md): 4 bytes length, little-endian, 1 byte kind, 3 bytes 0, the content. An end tells
 * once a second what it has received, so that silence means loss. Belongs to the thread of its loop. */
#ifndef SL_TUNNEL_H
#define SL_TUNNEL_H

#include <stdint.h>

#include "daemon/network/tls.h"

#define SL_TUNNEL_KEPT (4u << 20)
#define SL_TUNNEL_TEXT 4096    /* most bytes of a note, or of the text at the end */
#define SL_TUNNEL_SILENT_MS 10000  /* a connection on which nothing has come for so long is given up */

struct sl_tunnel;

/* They run from the loop or from sl_tunnel_tick(), never from within other functions. */
struct sl_tunnel_ops {
	/* A text of the other end's owner. */
	void (*note)(void *arg, const char *text);
	/* The connection was lost; sl_tunnel_attach() goes on. */
	void (*cut)(void *arg, const char *why);
	/* The local socket was closed by its other end: sl_tunnel_end() follows. */
	void (*drained)(void *arg);
	/* It is over: the other end's owner has ended it, with this text; or, after sl_tunnel_end(), "". All bytes of the
	 * other end have come out of the local socket, which is closed. The owner destroys it. */
	void (*ended)(void *arg, const char *text);
};

/* Takes over fd, also after an error (SL_NOMEM). */
int sl_tunnel_create(struct sl_tunnel **out, uv_loop_t *loop, int fd, const struct sl_tunnel_ops *ops, void *arg);
void sl_tunnel_destroy(struct sl_tunnel *t);  /* NULL is fine; no further callbacks */
/* Takes the connection, whose handshake is over, in place of an earlier one. received: what the other end has received.
 * SL_BADDATA: the streams do not fit; the connection is closed. */
int sl_tunnel_attach(struct sl_tunnel *t, struct sl_tls *tls, uint64_t received);
/* Closes the connection without a callback: another one will be attached. */
void sl_tunnel_detach(struct sl_tunnel *t);
uint64_t sl_tunnel_received(const struct sl_tunnel *t);
/* For the owner of the other end; the newest text is sent again with each connection. It is copied. */
void sl_tunnel_note(struct sl_tunnel *t, const char *text);
/* Sends what is left, then this text. ended() follows, at the latest after some seconds of connection. */
void sl_tunnel_end(struct sl_tunnel *t, const char *text);
void sl_tunnel_tick(struct sl_tunnel *t);  /* once a second */

#endif
