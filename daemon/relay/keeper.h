/* keeper.h -- the daemon's side of the relay (relay.h): starts it when the first subscriber connects, passes frames to
 * it, and tells who has connected and what they subscribe to.
 *
 * If the relay ends, or does not answer for 30 s and is ended, all subscribers are lost; the next one that connects
 * starts it anew. Until then connections wait in the queue of the listening socket, which stays open. A subscriber is
 * known by its id, which is never used again. What the relay sends is checked: a relay that an attacker has taken over
 * can lie about subscribers, but not harm the daemon. Loop thread. */
#ifndef SL_KEEPER_H
#define SL_KEEPER_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "core/error.h"
#include "daemon/relay/channel.h"

struct sl_keeper;

struct sl_keeper_ops {
	/* A connection; curve: it must prove that it holds a key. */
	void (*joined)(void *arg, uint64_t id, const char *address, bool curve);
	/* It has proved that it holds this key. Returns true if it may subscribe. */
	bool (*key)(void *arg, uint64_t id, const uint8_t key[SL_RELAY_KEY_BYTES]);
	/* A subscription to a prefix that can match jobs, or its end. */
	void (*topic)(void *arg, uint64_t id, const char *prefix, size_t length, bool subscribed);
	/* The last byte of its frame is in the kernel. */
	void (*sent)(void *arg, uint64_t id);
	/* Its connection has ended. why: NULL if the subscriber has disconnected. */
	void (*left)(void *arg, uint64_t id, const char *why);
	/* No connection can be accepted for a second. */
	void (*refused)(void *arg, const char *why);
	/* The relay has ended, and with it all connections. */
	void (*lost)(void *arg, const char *why);
};

struct sl_keeper_options {
	int listening;              /* the listening socket. Owned from sl_keeper_create() on, also after an error */
	int subscribers;            /* the most at a time */
	const uint8_t *secret_key;  /* of the server, for CURVE; SL_RELAY_KEY_BYTES bytes, copied */
	bool curve;                 /* new subscribers need keys */
};

/* The most subscribers, at most `wanted`, for whom the relay has descriptors. */
int sl_keeper_most(int wanted);

int sl_keeper_create(struct sl_keeper **out, uv_loop_t *loop, const struct sl_keeper_options *options,
		     const struct sl_keeper_ops *ops, void *arg, struct sl_error *err);
/* Ends all connections. `closed` runs on the loop when the relay has ended and all memory is freed. */
void sl_keeper_destroy(struct sl_keeper *k, void (*closed)(void *arg), void *arg);

/* Whether those that connect from now on need keys. */
void sl_keeper_curve(struct sl_keeper *k, bool curve);
/* Disconnects a subscriber; nothing more is reported of it. */
void sl_keeper_end(struct sl_keeper *k, uint64_t id);

/* A frame for subscribers, with a number of references. The relay gets its bytes once, when the first subscriber gets
 * it, and keeps them as long as there are references. */
struct sl_keeper_frame {
	struct sl_keeper *keeper;
	struct sl_buffer *buffer;   /* a reference */
	int references;
	uint64_t number;
	uint64_t start;             /* that of the relay that has it; 0: none */
};

struct sl_keeper_frame *sl_keeper_frame_create(struct sl_keeper *k, struct sl_buffer *buffer);  /* NULL: no memory */
struct sl_keeper_frame *sl_keeper_frame_ref(struct sl_keeper_frame *f);
void sl_keeper_frame_unref(struct sl_keeper_frame *f);  /* NULL is fine */
/* Sends it to a subscriber. The next one may be sent when sent() has been called. */
void sl_keeper_send(struct sl_keeper *k, uint64_t id, struct sl_keeper_frame *f);

#endif
