/* Passes bytes between a subscriber and its own XPUB socket, in both directions, a piece at a time: a side is read only
 * when the other has taken the last piece, so neither buffers more than one. What a subscriber may send is counted by
 * the tick. An end on either side ends both, once. */
#include "daemon/relay/connection.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <zmq.h>

#include "daemon/relay/address.h"
#include "daemon/util/ulid.h"

#define OUT_BYTES 262144           /* more than a local socket holds; pages are in memory only when they are used */
#define IN_BYTES 4096
#define ROUNDS 16                  /* pieces passed on before other connections have their turn */
#define MESSAGE_BYTES 1024         /* the longest message of a subscriber */
#define IN_A_TICK 65536            /* bytes that a subscriber may send; twice that with CURVE */
#define TOPICS_A_TICK 2000         /* subscriptions and their ends that a subscriber may send */
#define IDLE_BYTES 16384           /* of its subscriptions that match no job; libzmq keeps each byte in 32 */
#define HANDSHAKE_MS 10000
#define STALLED_MS 30000           /* a subscriber that receives no byte of a frame for so long is disconnected */
#define CURVE_BYTES 33             /* that encryption adds to a message */
#define GREETING_BYTES 64
#define BACKLOG 4

/* A descriptor that the loop watches. */
struct watched {
	uv_poll_t poll;
	int fd;                    /* -1: none */
	int events;                /* that it is watched for */
};

/* Bytes that were read from one side, and that the other side has not taken yet. */
struct piece {
	size_t at, left;
};

struct sl__connection {
	struct sl_link link;
	struct sl__relay *relay;
	uint64_t id, begun_ms, progress_ms;
	void *xpub, *monitor;              /* monitor: during the handshake */
	struct watched events, monitored;  /* descriptors of these two, which are libzmq's */
	struct watched outer;              /* the subscriber */
	struct watched waiting, inner;     /* until the XPUB socket has connected; its connection */
	const char *reason;                /* why its handshake failed */
	bool curve, ready, taking, paused, closing;
	bool sending;
	size_t on_the_way;                 /* bytes of the frame that are not in the kernel's buffer of `outer` */
	size_t idle_bytes;
	size_t greeted, answered;          /* bytes of its greeting, and of libzmq's and more; as far as they matter */
	long bytes_left;                   /* that may be received until the next tick */
	int topics_left;                   /* the same; less than 0: of the following ticks */
	int handles;
	struct piece to_zmq, to_subscriber;
	char in[IN_BYTES], out[OUT_BYTES];
};

/* ---- life and end ------------------------------------------------------------------------- */

static void on_handle_closed(uv_handle_t *handle)
{
	struct sl__connection *c = handle->data;
	if (--c->handles)
		return;
	c->relay->closing--;
	free(c);
}

static void unwatch(struct watched *w, bool close_fd)
{
	if (w->fd < 0)
		return;
	uv_close((uv_handle_t *)&w->poll, on_handle_closed);
	if (close_fd)
		close(w->fd);
	w->fd = -1;
}

static int open_watched(struct sl__connection *c, struct watched *w, int fd)
{
	if (fd < 0 || uv_poll_init(&c->relay->loop, &w->poll, fd))
		return -1;
	w->poll.data = c;
	w->fd = fd;
	c->handles++;
	return 0;
}

static void watch(struct watched *w, int events, uv_poll_cb ready)
{
	if (w->fd < 0 || w->events == events)
		return;
	w->events = events;
	if (events)
		uv_poll_start(&w->poll, events, ready);
	else
		uv_poll_stop(&w->poll);
}

static void close_monitor(struct sl__connection *c)
{
	if (!c->monitor)
		return;
	unwatch(&c->monitored, false);
	zmq_socket_monitor(c->xpub, NULL, 0);
	zmq_close(c->monitor);
	c->monitor = NULL;
}

void sl__connection_close(struct sl__connection *c)
{
	if (c->closing)
		return;
	c->closing = true;
	c->relay->slot[c->id % SL_RELAY_SLOTS] = NULL;
	sl_list_unlink(&c->link);
	c->relay->closing++;
	close_monitor(c);
	unwatch(&c->events, false);
	unwatch(&c->waiting, true);
	unwatch(&c->inner, true);
	if (c->xpub)
		zmq_close(c->xpub);
	unwatch(&c->outer, true);
}

/* why: NULL if the subscriber has disconnected. */
static void end(struct sl__connection *c, const char *why)
{
	if (c->closing)
		return;
	sl__relay_tell(c->relay, SL_RELAY_LEFT, c->id, 0, why, why ? strlen(why) : 0);
	sl__connection_close(c);
}

/* ---- the events of libzmq ------------------------------------------------------------------- */

/* Takes the monitor's events: each is a message with its kind and value, and one with the address. */
static void take_monitored(struct sl__connection *c)
{
	zmq_msg_t m;
	zmq_msg_init(&m);
	while (c->monitor && zmq_msg_recv(&m, c->monitor, ZMQ_DONTWAIT) >= 0) {
		uint16_t event;
		uint32_t value;
		if (zmq_msg_size(&m) != sizeof event + sizeof value)
			continue;
		memcpy(&event, zmq_msg_data(&m), sizeof event);
		memcpy(&value, (char *)zmq_msg_data(&m) + sizeof event, sizeof value);
		if (event == ZMQ_EVENT_HANDSHAKE_SUCCEEDED) {
			c->ready = true;
			close_monitor(c);
		} else if (!c->reason) {
			c->reason = sl__reason(event, value);
		}
	}
	zmq_msg_close(&m);
}

static void on_monitored(uv_poll_t *poll, int status, int events)
{
	take_monitored(poll->data);
}

static void on_topic(struct sl__connection *c, const char *topic, size_t length, bool subscribed)
{
	if (--c->topics_left <= 0)
		c->paused = true;  /* until a tick */
	if (sl_ulid_begins(topic, length)) {
		sl__relay_tell(c->relay, subscribed ? SL_RELAY_TOPIC : SL_RELAY_TOPIC_END, c->id, (uint32_t)length,
			       topic, length);
		return;
	}
	if (subscribed)
		c->idle_bytes += length;
	else
		c->idle_bytes -= length < c->idle_bytes ? length : c->idle_bytes;
	if (c->idle_bytes > IDLE_BYTES)
		end(c, "it has more than 16 kB of subscriptions that match no job");
}

/* Takes the subscriptions that have arrived. To be called after each call of libzmq, since that may consume the event
 * of its descriptor. */
static void take(struct sl__connection *c)
{
	zmq_msg_t m;
	if (c->taking || c->closing)
		return;
	c->taking = true;
	zmq_msg_init(&m);
	while (!c->closing && sl__zmq_readable(c->xpub) && zmq_msg_recv(&m, c->xpub, ZMQ_DONTWAIT) >= 0) {
		const char *data = zmq_msg_data(&m);
		if (zmq_msg_size(&m) && (unsigned char)data[0] <= 1)
			on_topic(c, data + 1, zmq_msg_size(&m) - 1, data[0]);
	}
	zmq_msg_close(&m);
	c->taking = false;
}

static void watch_both(struct sl__connection *c);

static void on_events(uv_poll_t *poll, int status, int events)
{
	struct sl__connection *c = poll->data;
	take(c);
	watch_both(c);
}

/* ---- bytes ----------------------------------------------------------------------------------- */

/* Reads into buffer, unless it still has bytes. Returns false if there are none now; *ended: at the end. */
static bool fill(int fd, char *buffer, size_t room, struct piece *p, bool *ended)
{
	if (p->left)
		return true;
	ssize_t got = read(fd, buffer, room);
	*ended = got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR);
	*p = (struct piece){.left = got > 0 ? (size_t)got : 0};
	return got > 0;
}

/* Returns the number of bytes that were written; *ended: the other side is gone. */
static size_t empty(int fd, const char *buffer, struct piece *p, bool *ended)
{
	ssize_t put = send(fd, buffer + p->at, p->left, MSG_NOSIGNAL);
	*ended = put < 0 && errno != EAGAIN && errno != EINTR;
	if (put <= 0)
		return 0;
	p->at += (size_t)put;
	p->left -= (size_t)put;
	return (size_t)put;
}

/* libzmq would take ZMTP 1 and 2, too, which have no handshake; so the relay looks at the beginning of the greeting:
 * 0xff, eight bytes, 0x7f, the version. */
static bool greets(struct sl__connection *c)
{
	const unsigned char *in = (const unsigned char *)c->in;
	for (size_t i = 0; i < c->to_zmq.left && c->greeted < GREETING_BYTES; i++, c->greeted++)
		if ((c->greeted == 0 && in[i] != 0xff) || (c->greeted == 9 && !(in[i] & 1)) ||
		    (c->greeted == 10 && in[i] < 3))
			return false;
	return true;
}

/* Without CURVE, libzmq answers a greeting with its READY, and refuses messages that arrive before it is sent. So what
 * a subscriber sends without waiting for it is read later. */
static bool waits_for_ready(const struct sl__connection *c)
{
	return !c->curve && c->greeted == GREETING_BYTES && c->answered <= GREETING_BYTES;
}

static bool may_read(const struct sl__connection *c)
{
	return !c->paused && !waits_for_ready(c) && sl__relay_heard(c->relay);
}

/* The subscriber has disconnected, perhaps since its handshake failed. */
static void on_outer_end(struct sl__connection *c)
{
	take_monitored(c);
	end(c, c->reason);
}

/* libzmq has closed its side. Monitors do not report all reasons. */
static void on_inner_end(struct sl__connection *c)
{
	take_monitored(c);
	end(c, c->reason ? c->reason : c->ready ? "it does not keep to ZMTP, or its message is longer than 1024 bytes" :
				       sl__reason_of_metadata);
}

static void pass_to_zmq(struct sl__connection *c)
{
	bool gone = false, refused = false;
	for (int i = 0; i < ROUNDS && !refused && (c->to_zmq.left || may_read(c)); i++) {
		bool fresh = !c->to_zmq.left;
		size_t room = c->greeted < GREETING_BYTES ? GREETING_BYTES - c->greeted : sizeof c->in;
		if (!fill(c->outer.fd, c->in, room, &c->to_zmq, &gone))
			break;
		c->bytes_left -= fresh ? (long)c->to_zmq.left : 0;
		if (c->bytes_left <= 0)
			c->paused = true;
		if (fresh && !greets(c)) {
			end(c, "it does not speak ZMTP 3");
			return;
		}
		empty(c->inner.fd, c->in, &c->to_zmq, &refused);
		if (c->to_zmq.left)
			break;
	}
	if (gone)
		on_outer_end(c);
	if (refused)
		on_inner_end(c);
}

static void count_sent(struct sl__connection *c, size_t bytes)
{
	c->progress_ms = uv_now(&c->relay->loop);
	c->on_the_way -= bytes < c->on_the_way ? bytes : c->on_the_way;
	if (c->sending && !c->on_the_way) {
		c->sending = false;
		sl__relay_tell(c->relay, SL_RELAY_SENT, c->id, 0, NULL, 0);
	}
}

static void pass_to_subscriber(struct sl__connection *c)
{
	bool ended = false;
	for (int i = 0; i < ROUNDS; i++) {
		if (!fill(c->inner.fd, c->out, sizeof c->out, &c->to_subscriber, &ended)) {
			if (ended)
				on_inner_end(c);
			return;
		}
		c->answered += c->answered <= GREETING_BYTES ? c->to_subscriber.left : 0;
		size_t bytes = empty(c->outer.fd, c->out, &c->to_subscriber, &ended);
		if (ended)
			on_outer_end(c);
		if (bytes && !ended)
			count_sent(c, bytes);
		if (c->to_subscriber.left || ended)
			return;
	}
}

static void on_outer(uv_poll_t *poll, int status, int events)
{
	struct sl__connection *c = poll->data;
	if (status < 0)
		on_outer_end(c);
	if (!c->closing && events & UV_WRITABLE)
		pass_to_subscriber(c);
	if (!c->closing && events & UV_READABLE)
		pass_to_zmq(c);
	watch_both(c);
}

static void on_inner(uv_poll_t *poll, int status, int events)
{
	struct sl__connection *c = poll->data;
	if (!c->closing && events & UV_WRITABLE)
		pass_to_zmq(c);
	if (!c->closing && (status < 0 || events & UV_READABLE))
		pass_to_subscriber(c);
	watch_both(c);
}

/* Watches each side for what can be done there. */
static void watch_both(struct sl__connection *c)
{
	if (c->closing || c->inner.fd < 0)
		return;
	watch(&c->outer, (!c->to_zmq.left && may_read(c) ? UV_READABLE : 0) | (c->to_subscriber.left ? UV_WRITABLE : 0),
	      on_outer);
	watch(&c->inner, (c->to_zmq.left ? UV_WRITABLE : 0) | (c->to_subscriber.left ? 0 : UV_READABLE), on_inner);
}

void sl__connection_send(struct sl__connection *c, uint64_t frame)
{
	size_t bytes = 0;
	if (c->sending)
		return;
	int code = sl__frames_send(c->relay->frames, frame, c->xpub, &bytes);
	if (code < 0) {
		end(c, "there is no memory or no descriptor for its frame");
		return;
	}
	bytes += c->curve ? CURVE_BYTES : 0;
	c->sending = true;
	c->on_the_way = code ? 0 : bytes + (bytes < 256 ? 2 : 9);
	count_sent(c, 0);
	take(c);
	watch_both(c);
}

/* ---- the local connection to the XPUB socket --------------------------------------------------- */

/* Our XPUB socket has connected; anybody else who connects is sent away. */
static void on_waiting(uv_poll_t *poll, int status, int events)
{
	struct sl__connection *c = poll->data;
	struct ucred who = {.pid = 0};
	socklen_t size = sizeof who;
	int fd = accept4(c->waiting.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd < 0) {
		if (errno != EAGAIN && errno != EINTR)
			end(c, "there is no descriptor left for it");
		return;
	}
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) || who.pid != getpid()) {
		close(fd);
		return;
	}
	unwatch(&c->waiting, true);
	if (open_watched(c, &c->inner, fd)) {
		close(fd);
		end(c, "there is no memory for it");
		return;
	}
	watch_both(c);
}

/* A socket at a free abstract address, which the kernel chooses. The relay listens and libzmq connects, since libzmq
 * 4.3.4 ends the process if it has no descriptor for a local connection that it accepts (ipc_listener.cpp:325). */
static int listen_locally(char endpoint[64])
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	socklen_t size = sizeof a;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -1;
	if (bind(fd, (struct sockaddr *)&a, sizeof a.sun_family) || listen(fd, BACKLOG) ||
	    getsockname(fd, (struct sockaddr *)&a, &size)) {
		close(fd);
		return -1;
	}
	int length = (int)(size - offsetof(struct sockaddr_un, sun_path)) - 1;
	snprintf(endpoint, 64, "ipc://@%.*s", length < 50 ? length : 50, a.sun_path + 1);
	return fd;
}

static int open_xpub(struct sl__connection *c)
{
	int64_t most = MESSAGE_BYTES;
	char domain[24];
	int length = snprintf(domain, sizeof domain, "%llu", (unsigned long long)c->id);
	if (!(c->xpub = zmq_socket(c->relay->context, ZMQ_XPUB)))
		return -1;
	sl__zmq_set(c->xpub, ZMQ_XPUB_VERBOSER, 1);
	sl__zmq_set(c->xpub, ZMQ_LINGER, 0);
	sl__zmq_set(c->xpub, ZMQ_RECONNECT_IVL, -1);
	sl__zmq_set(c->xpub, ZMQ_RCVHWM, 64);
	sl__zmq_set(c->xpub, ZMQ_HANDSHAKE_IVL, 0);  /* the relay's own limit */
	if (zmq_setsockopt(c->xpub, ZMQ_MAXMSGSIZE, &most, sizeof most))
		return -1;
	if (!c->curve)
		return 0;
	sl__zmq_set(c->xpub, ZMQ_CURVE_SERVER, 1);
	return zmq_setsockopt(c->xpub, ZMQ_ZAP_DOMAIN, domain, (size_t)length) ||
	       zmq_setsockopt(c->xpub, ZMQ_CURVE_SECRETKEY, c->relay->secret_key, sizeof c->relay->secret_key);
}

static int open_monitor(struct sl__connection *c)
{
	char endpoint[48];
	snprintf(endpoint, sizeof endpoint, "inproc://monitor-%llu", (unsigned long long)c->id);
	if (zmq_socket_monitor(c->xpub, endpoint, ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL |
			       ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL | ZMQ_EVENT_HANDSHAKE_FAILED_AUTH))
		return -1;
	if (!(c->monitor = zmq_socket(c->relay->context, ZMQ_PAIR)) || zmq_connect(c->monitor, endpoint) ||
	    open_watched(c, &c->monitored, sl__zmq_fd(c->monitor)))
		return -1;
	sl__zmq_set(c->monitor, ZMQ_LINGER, 0);
	watch(&c->monitored, UV_READABLE, on_monitored);
	return 0;
}

static int open_inside(struct sl__connection *c)
{
	char endpoint[64];
	if (open_xpub(c) || open_watched(c, &c->events, sl__zmq_fd(c->xpub)) || open_monitor(c))
		return -1;
	int fd = listen_locally(endpoint);
	if (fd < 0 || open_watched(c, &c->waiting, fd)) {
		if (fd >= 0)
			close(fd);
		return -1;
	}
	watch(&c->events, UV_READABLE, on_events);
	watch(&c->waiting, UV_READABLE, on_waiting);
	if (zmq_connect(c->xpub, endpoint))
		return -1;
	take(c);
	take_monitored(c);  /* libzmq signals only after a receive has found nothing */
	return 0;
}

static uint64_t next_id(struct sl__relay *r)
{
	uint64_t slot = 0;
	while (r->slot[slot])  /* there are fewer connections than slots */
		slot++;
	return ++r->next_id * SL_RELAY_SLOTS + slot;
}

int sl__connection_create(struct sl__relay *r, int fd)
{
	struct sl__connection *c = calloc(1, sizeof *c);
	char address[SL_RELAY_TEXT_BYTES];
	if (!c) {
		close(fd);
		return -1;
	}
	c->relay = r;
	c->id = next_id(r);
	c->begun_ms = c->progress_ms = uv_now(&r->loop);
	c->curve = r->curve;
	c->outer.fd = c->inner.fd = c->waiting.fd = c->events.fd = c->monitored.fd = -1;
	c->bytes_left = c->curve ? 2 * IN_A_TICK : IN_A_TICK;
	c->topics_left = TOPICS_A_TICK;
	if (open_watched(c, &c->outer, fd)) {
		close(fd);
		free(c);
		return -1;
	}
	r->slot[c->id % SL_RELAY_SLOTS] = c;
	sl_list_append(&r->connections, &c->link);
	sl__address_of(fd, address);
	sl__relay_tell(r, SL_RELAY_JOINED, c->id, c->curve, address, strlen(address));
	if (open_inside(c))
		end(c, "there is no descriptor left for it");
	return 0;
}

struct sl__connection *sl__connection_find(struct sl__relay *r, uint64_t id)
{
	struct sl__connection *c = r->slot[id % SL_RELAY_SLOTS];
	return c && c->id == id ? c : NULL;
}

/* ---- once a second ------------------------------------------------------------------------------- */

void sl__connections_tick(struct sl__relay *r)
{
	uint64_t now = uv_now(&r->loop);
	SL_LIST_EACH(struct sl__connection, c, &r->connections, link) {
		if (!c->ready && now - c->begun_ms > HANDSHAKE_MS) {
			end(c, "its handshake took more than 10 s");
			continue;
		}
		if (c->sending && now - c->progress_ms > STALLED_MS) {
			end(c, "it has read nothing for 30 s");
			continue;
		}
		/* Those that were on their way when it paused count for this tick. */
		c->topics_left = c->topics_left < 0 ? c->topics_left + TOPICS_A_TICK : TOPICS_A_TICK;
		c->bytes_left = c->curve ? 2 * IN_A_TICK : IN_A_TICK;
		c->paused = c->topics_left <= 0;
		watch_both(c);
	}
}
