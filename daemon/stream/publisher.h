/* publisher.h -- frames over ZeroMQ.
 *
 * One thread owns an XPUB socket. The loop gives it finished frames (counted buffers) to
 * send; it tells the loop about subscriptions, so that nothing is taken off a device while
 * nobody listens and a new subscriber gets the newest frame at once. Frames are one-part
 * messages that start with the job's id, so a subscription is a prefix of ids.
 *
 * A subscriber that does not read loses frames once `high_water_mark` of them wait for it;
 * nobody else notices. A final frame that some subscriber had no room for is sent again
 * later, a few times (readers tell by the sequence number). */
#ifndef SL_PUBLISHER_H
#define SL_PUBLISHER_H

#include <stdbool.h>
#include <uv.h>

#include "core/error.h"
#include "daemon/stream/frames.h"

struct sl_publisher;

/* Somebody subscribed to prefix (zero-terminated, at most 26 characters; longer ones can
 * match nothing and are not told), or the last subscriber of it went. Runs on the loop. */
typedef void (*sl_publisher_fn)(void *arg, const char *prefix, bool subscribed);

/* Binds; the error names the endpoint. */
int sl_publisher_create(struct sl_publisher **out, uv_loop_t *loop, const char *endpoint, int high_water_mark,
			sl_publisher_fn on_subscription, void *arg, struct sl_error *err);

/* As bound: "tcp://127.0.0.1:41233". */
const char *sl_publisher_endpoint(const struct sl_publisher *p);

/* Loop thread. Takes one reference of frame. */
void sl_publisher_send(struct sl_publisher *p, struct sl_buffer *frame);

/* Sends what is waiting, gives subscribers a moment to take it, ends the thread. `closed`
 * runs on the loop when everything is freed. NULL p: closed does not run. */
void sl_publisher_destroy(struct sl_publisher *p, void (*closed)(void *arg), void *arg);

#endif
