/* channel.h -- messages between the daemon and its relay (relay.h), over a pair of local sockets.
 *
 * A message is a packet of fixed size. It may carry a file descriptor, or the bytes of a buffer: these arrive as the
 * descriptor of shared memory that holds them, so a frame is copied once, whatever the number of its subscribers.
 * Messages arrive in the order in which they were sent. What the other side does not take yet waits in a queue; senders
 * bound its length, as sl_channel_waiting() tells it. Loop thread. */
#ifndef SL_CHANNEL_H
#define SL_CHANNEL_H

#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "daemon/util/buffer.h"

#define SL_RELAY_TEXT_BYTES 96
#define SL_RELAY_KEY_BYTES 32
#define SL_RELAY_TOPIC_BYTES 26   /* of the longest prefix that matches a job */

enum sl_relay_kind {
	/* From the daemon. */
	SL_RELAY_LISTEN = 1,   /* begin: listening socket (descriptor), the server's secret key (text), the most
				  subscribers (number) */
	SL_RELAY_CURVE,        /* new subscribers need keys (number 1) or none (0); before LISTEN, and when it changes */
	SL_RELAY_ANSWER,       /* the holder of the key may subscribe (number 1) or not (0) */
	SL_RELAY_END,          /* disconnect this subscriber */
	SL_RELAY_FRAME,        /* the bytes of a frame (descriptor, number of bytes) */
	SL_RELAY_SEND,         /* send the frame to the subscriber; the previous one must have been sent */
	SL_RELAY_DROP,         /* no further subscriber gets this frame */
	SL_RELAY_PING,
	/* From the relay. */
	SL_RELAY_JOINED,       /* a connection: its address (text), with keys (number 1) or without (0) */
	SL_RELAY_KEY,          /* a subscriber has proved that it holds this key (text): may it subscribe? */
	SL_RELAY_TOPIC,        /* a subscription: its prefix (text, number of bytes) */
	SL_RELAY_TOPIC_END,    /* the same, of its end */
	SL_RELAY_SENT,         /* the last byte of the subscriber's frame is in the kernel */
	SL_RELAY_LEFT,         /* the connection has ended: why (text); empty: the subscriber has disconnected */
	SL_RELAY_REFUSED,      /* the relay cannot accept connections now: why (text) */
	SL_RELAY_PONG,
	SL_RELAY_KINDS
};

struct sl_relay_message {
	uint32_t kind;         /* enum sl_relay_kind */
	uint32_t number;
	uint64_t id;           /* of the subscriber */
	uint64_t frame;        /* of the frame */
	char text[SL_RELAY_TEXT_BYTES];
};

struct sl_channel;

struct sl_channel_ops {
	/* fd: the descriptor that came with it, which now belongs to the callback; -1: none, or there was none left. */
	void (*message)(void *arg, const struct sl_relay_message *m, int fd);
	/* The other side has ended, or has sent what is no message. Called once; the caller closes the channel. */
	void (*ended)(void *arg);
};

/* Takes over fd, a socket of type SOCK_SEQPACKET; also after an error. */
int sl_channel_open(struct sl_channel **out, uv_loop_t *loop, int fd, const struct sl_channel_ops *ops, void *arg);
/* No further callbacks run; the memory is freed by the loop. NULL is fine. */
void sl_channel_close(struct sl_channel *c);

/* Sends a message. Without memory the channel ends. */
void sl_channel_send(struct sl_channel *c, const struct sl_relay_message *m);
/* fd: borrowed; it must stay open as long as the channel. */
void sl_channel_send_fd(struct sl_channel *c, const struct sl_relay_message *m, int fd);
/* Refers to the buffer until it is sent. Without memory or descriptors the message arrives with none. */
void sl_channel_send_bytes(struct sl_channel *c, const struct sl_relay_message *m, struct sl_buffer *bytes);
/* The number of messages that wait because the other side does not take them. */
size_t sl_channel_waiting(const struct sl_channel *c);

#endif
