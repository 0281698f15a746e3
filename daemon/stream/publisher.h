/* publisher.h -- frames over ZeroMQ.
 *
 * Subscribers connect with SUB sockets of any ZeroMQ library and subscribe to prefixes of job
 * ids; a frame begins with its job's id. The relay (daemon/relay/relay.h), a process of its own,
 * has the connections and speaks ZMTP and CURVE by libzmq. The publisher decides, on the loop:
 * who may subscribe, who gets which frame, and when. Frames are the same bytes as those to HTTP readers.
 *
 * Slow subscribers. While one frame is being sent to a subscriber, the newest frame of each
 * job waits, and is replaced by a newer one. So a slow subscriber misses frames, but each
 * frame that it gets is the newest. A final frame is never dropped for lack of room.
 *
 * Limits of a subscriber. Its messages must be short. Its subscriptions are limited in number
 * and rate. At most `waiting` of its frames wait (in shared buffers). Its handshake has a
 * time limit, and so has a frame that it does not read. A subscriber that exceeds a limit is
 * disconnected, and the log says so. If the relay ends, all subscribers are disconnected, and
 * their libraries connect again. */
#ifndef SL_PUBLISHER_H
#define SL_PUBLISHER_H

#include <stdint.h>
#include <uv.h>

#include "core/error.h"
#include "daemon/stream/frames.h"

#define SL_SUBSCRIPTIONS_MAX 1024  /* of one subscriber */

struct sl_config;
struct sl_publisher;
struct sl_stream_keys;

struct sl_publisher_options {
	const char *endpoint;      /* the address to listen on */
	int subscribers;           /* the most subscribers at a time */
	int waiting;               /* the most frames that wait for one subscriber */
	struct sl_stream_keys *keys;  /* for CURVE. Borrowed */
	/* Borrowed; as long as it has a token_file, subscribers need keys, else anyone who connects may subscribe. When a
	 * reload changes that, those that have connected the other way are disconnected. */
	const struct sl_config *config;
};

/* Called when a client has subscribed to this prefix. */
typedef void (*sl_publisher_fn)(void *arg, const char *prefix, size_t length);

/* Binds; the error names the endpoint. */
int sl_publisher_create(struct sl_publisher **out, uv_loop_t *loop, const struct sl_publisher_options *options,
			sl_publisher_fn on_subscription, void *arg, struct sl_error *err);

/* The endpoint with the port that was bound: "tcp://127.0.0.1:41233". */
const char *sl_publisher_endpoint(const struct sl_publisher *p);

/* Subscriptions get increasing numbers (stamps). _stamp(): that of the newest subscription; _wanted(): that of the
 * newest subscription that matches this job (26 characters), 0: none. */
uint64_t sl_publisher_stamp(const struct sl_publisher *p);
uint64_t sl_publisher_wanted(const struct sl_publisher *p, const char *job);

/* Sends a frame to all subscribers whose subscription matches its job and has a stamp above `after` (0: any). Borrows
 * frame. */
void sl_publisher_send(struct sl_publisher *p, struct sl_buffer *frame, uint64_t after);

/* Gives subscribers a short time to receive waiting frames, then disconnects them. `closed` runs on the loop when all
 * memory is freed. NULL p: closed does not run. */
void sl_publisher_destroy(struct sl_publisher *p, void (*closed)(void *arg), void *arg);

#endif
