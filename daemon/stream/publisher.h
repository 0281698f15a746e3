/* publisher.h -- frames over ZeroMQ.
 *
 * Subscribers connect with SUB sockets of any ZeroMQ library (zmtp.h is the protocol) and
 * subscribe to prefixes of job ids; a frame begins with its job's id. All of it runs on the
 * loop: sockets are non-blocking, and a frame goes out of the one buffer that HTTP readers
 * are given, too.
 *
 * What a subscriber gets. While one frame is on its way to it, the newest frame of each other
 * job waits, and a newer one takes its place: a slow subscriber misses frames, and what it
 * gets next is never older than that. A final frame is never dropped for want of room.
 *
 * What a subscriber can cost. Its messages are short, its subscriptions bounded in number and
 * rate, `waiting` of its frames wait at most (buffers that others share), its handshake has a
 * time limit, and so has a frame that it does not read. Who breaks a limit is disconnected,
 * which the log tells. */
#ifndef SL_PUBLISHER_H
#define SL_PUBLISHER_H

#include <stdint.h>
#include <uv.h>

#include "core/error.h"
#include "daemon/stream/frames.h"
#include "daemon/stream/zmtp.h"

#define SL_SUBSCRIPTIONS_MAX 1024  /* of one subscriber */

struct sl_publisher;
struct sl_stream_keys;

struct sl_publisher_options {
	const char *endpoint;      /* where to listen */
	int subscribers;           /* at most so many at a time */
	int waiting;               /* jobs whose newest frame waits for a subscriber, at most */
	struct sl_stream_keys *keys;  /* CURVE; NULL: anyone who connects may subscribe. Borrowed */
};

/* Somebody has subscribed to this prefix. */
typedef void (*sl_publisher_fn)(void *arg, const char *prefix, size_t length);

/* Binds; the error names the endpoint. */
int sl_publisher_create(struct sl_publisher **out, uv_loop_t *loop, const struct sl_publisher_options *options,
			sl_publisher_fn on_subscription, void *arg, struct sl_error *err);

/* As bound: "tcp://127.0.0.1:41233". */
const char *sl_publisher_endpoint(const struct sl_publisher *p);

/* Subscriptions are stamped with numbers that count up. The newest of all; the newest that wants this job (26
 * characters), 0 when nobody does. */
uint64_t sl_publisher_stamp(const struct sl_publisher *p);
uint64_t sl_publisher_wanted(const struct sl_publisher *p, const char *job);

/* To all who want its job and subscribed to it after stamp `after` (0: to all). Borrows frame. */
void sl_publisher_send(struct sl_publisher *p, struct sl_buffer *frame, uint64_t after);

/* Gives subscribers a moment to take what waits for them, then disconnects them. `closed` runs on the loop when
 * everything is freed. NULL p: closed does not run. */
void sl_publisher_destroy(struct sl_publisher *p, void (*closed)(void *arg), void *arg);

#endif
