/* zmtp.h -- the publisher's side of a ZeroMQ connection to a subscriber: ZMTP 3.0 and 3.1.
 *
 * There is one struct sl_zmtp for each connection. The caller feeds it the bytes that arrive;
 * it answers greeting, handshake and heartbeats, and reports subscriptions. A connection has
 * a greeting (64 bytes each way), a handshake of the mechanism, then frames. The mechanism is
 * NULL, or CURVE when keys are given: then the subscriber proves that it holds a key that the
 * server has handed out, and everything is encrypted. Specifications: rfc.zeromq.org, 23
 * (ZMTP 3.0), 37 (3.1) and 26 (CURVE).
 *
 * Memory is bounded: frames that a subscriber sends are short (a subscription, a command), and
 * one above SL_ZMTP_INPUT_BYTES ends the connection. No sockets, no threads; loop thread. */
#ifndef SL_ZMTP_H
#define SL_ZMTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/util/buffer.h"

#define SL_ZMTP_INPUT_BYTES 1024
#define SL_ZMTP_KEY_BYTES 32
#define SL_ZMTP_HEAD_BYTES 9      /* the longest head of a frame */

/* The server's key pair, and who may subscribe. */
struct sl_zmtp_keys {
	uint8_t public_key[SL_ZMTP_KEY_BYTES], secret_key[SL_ZMTP_KEY_BYTES];
	bool (*allowed)(void *arg, const uint8_t client_key[SL_ZMTP_KEY_BYTES]);
	void *arg;
};

struct sl_zmtp_ops {
	/* Sends bytes before any further frame; the callback copies them. */
	void (*send)(void *arg, const void *data, size_t bytes);
	/* Reports a subscription, or its end. Returns NULL, or why the connection must end. */
	const char *(*topic)(void *arg, const char *prefix, size_t length, bool subscribed);
};

enum sl_zmtp_stage { SL_ZMTP_GREETING, SL_ZMTP_HELLO, SL_ZMTP_INITIATE, SL_ZMTP_METADATA, SL_ZMTP_READY };

struct sl_zmtp_curve;  /* zmtp_curve.c: keys of one connection */

struct sl_zmtp {
	const struct sl_zmtp_ops *ops;
	void *arg;
	const struct sl_zmtp_keys *keys;  /* NULL: mechanism NULL; borrowed */
	struct sl_zmtp_curve *curve;
	uint8_t client_key[SL_ZMTP_KEY_BYTES];  /* CURVE: the client's public key; valid when ready */
	enum sl_zmtp_stage stage;
	uint8_t in[SL_ZMTP_INPUT_BYTES];
	size_t have, need;                /* of the greeting, or of the frame with its head */
	size_t head;                      /* bytes of the frame's head; 0: not known yet */
};

/* Sends the greeting. */
void sl_zmtp_init(struct sl_zmtp *z, const struct sl_zmtp_ops *ops, void *arg, const struct sl_zmtp_keys *keys);
void sl_zmtp_finish(struct sl_zmtp *z);

/* Processes received bytes. Returns NULL, or why the connection must end, in words for the log. */
const char *sl_zmtp_feed(struct sl_zmtp *z, const void *data, size_t bytes);

static inline bool sl_zmtp_ready(const struct sl_zmtp *z)
{
	return z->stage == SL_ZMTP_READY;
}

/* Prepares a message for sending on a connection that is ready: writes its head, and returns a new reference to the
 * body, which is `message` itself or an encrypted copy. NULL: out of memory. */
struct sl_buffer *sl_zmtp_wrap(struct sl_zmtp *z, struct sl_buffer *message, uint8_t head[SL_ZMTP_HEAD_BYTES],
			       size_t *head_bytes);

#endif
