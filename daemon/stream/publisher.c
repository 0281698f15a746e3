/* The ZeroMQ publisher. For each subscriber it writes one message at a time: first those of the protocol, then the
 * frame that has waited longest. So at most one frame is bound to a socket; newer frames can replace all others. Once a
 * second a timer closes subscribers that hang, and resumes those that had sent too many subscriptions.
 *
 * This is not based on a ZeroMQ library, because an XPUB socket sends to a topic, not to a subscriber. A frame for a
 * new subscriber would reach the others again; a full queue keeps its oldest frames and drops the newest; and memory
 * and rate of a single subscriber cannot be limited. */
#include "daemon/stream/publisher.h"

#include <stdlib.h>
#include <string.h>

#include "daemon/config/config.h"
#include "daemon/stream/endpoint.h"
#include "daemon/stream/keys.h"
#include "daemon/stream/topics.h"
#include "daemon/util/list.h"
#include "daemon/util/log.h"

#define HANDSHAKE_MS 10000
#define STALLED_MS 30000           /* a subscriber that receives no byte of a frame for so long is disconnected */
#define TICK_MS 1000
#define LINGER_MS 300
#define TOPICS_A_TICK 2000         /* subscriptions and their ends that a subscriber may send */
#define FINAL_FRAMES 1024          /* the most final frames that wait for one subscriber */
#define LINES 100                  /* about disconnected subscribers that may be logged at once, and then one a tick */
#define CONTROL_BYTES 512
#define BACKLOG 128

struct subscriber {
	struct sl_topic_owner topics;      /* first member, so that both have the same address */
	struct sl_link link;
	struct sl_publisher *publisher;
	union sl_socket socket;
	struct sl_zmtp zmtp;
	char address[64];
	uint64_t progress_ms;              /* loop time: when it connected, or its last byte was taken */
	size_t unsent;                     /* bytes in its socket's queue at the last tick */
	int topics_left;                   /* until the next tick */
	bool curve;                        /* it has connected with keys, or is about to */
	bool counted;                      /* it has subscribed, and counts as one of its user's */
	bool reading, closing;
	/* output */
	bool writing;
	uv_write_t write;
	uint8_t control[CONTROL_BYTES], sending_control[CONTROL_BYTES];
	size_t control_bytes;
	uint8_t head[SL_ZMTP_HEAD_BYTES];
	struct sl_buffer *sending;         /* a reference, or NULL */
	struct sl_buffer **waiting;        /* [room] references, oldest first */
	int count, room, finals;
};

struct sl_publisher {
	uv_loop_t *loop;
	struct sl_publisher_options options;
	union sl_socket socket;
	uv_timer_t tick;
	char endpoint[SL_ENDPOINT_BYTES];
	struct sl_topics topics;
	struct sl_list subscribers;
	sl_publisher_fn on_subscription;
	void *arg;
	char in[4096];                     /* received from a subscriber */
	int lines, unlogged;              /* ends that may be logged now; ends not logged since the last one that was */
	bool stopping;
	uint64_t stop_ms;
	int handles;                       /* number of handles that are not closed yet */
	void (*closed)(void *arg);
	void *closed_arg;
};

/* ---- the end of subscribers and of the publisher ---------------------------------------- */

static void handle_closed(struct sl_publisher *p)
{
	if (--p->handles)
		return;
	sl_topics_finish(&p->topics);
	if (p->closed)
		p->closed(p->closed_arg);
	free(p);
}

static void on_handle_closed(uv_handle_t *handle)
{
	handle_closed(handle->data);
}

static void on_subscriber_closed(uv_handle_t *handle)
{
	struct subscriber *s = handle->data;
	struct sl_publisher *p = s->publisher;
	for (int i = 0; i < s->count; i++)
		sl_buffer_unref(s->waiting[i]);
	free(s->waiting);
	sl_buffer_unref(s->sending);
	sl_zmtp_finish(&s->zmtp);
	free(s);
	handle_closed(p);
}

/* Strangers whose handshakes fail must not fill the log. */
static void log_end(struct subscriber *s, const char *why)
{
	struct sl_publisher *p = s->publisher;
	char more[40] = "";
	if (!p->lines) {
		p->unlogged++;
		return;
	}
	p->lines--;
	if (p->unlogged)
		snprintf(more, sizeof more, " (and %d others before it)", p->unlogged);
	p->unlogged = 0;
	sl_log_warning("stream", "subscriber %s is disconnected: %s%s", s->address, why, more);
}

/* why: NULL if the subscriber has disconnected by itself. */
static void disconnect(struct subscriber *s, const char *why)
{
	if (s->closing)
		return;
	s->closing = true;
	if (why)
		log_end(s, why);
	else
		sl_log_debug("stream", "subscriber %s has gone", s->address);
	sl_topics_drop(&s->publisher->topics, &s->topics);
	sl_list_unlink(&s->link);
	uv_close(&s->socket.handle, on_subscriber_closed);
}

/* ---- sending ------------------------------------------------------------------------------ */

static bool is_final(const struct sl_buffer *frame)
{
	return sl_frame_header_of(frame)->flags & SL_FRAME_FINAL;
}

static void pump(struct subscriber *s);

static void on_written(uv_write_t *write, int status)
{
	struct subscriber *s = write->data;
	s->writing = false;
	sl_buffer_unref(s->sending);
	s->sending = NULL;
	if (status) {
		disconnect(s, NULL);
		return;
	}
	s->progress_ms = uv_now(s->publisher->loop);
	pump(s);
}

static void begin_write(struct subscriber *s, uv_buf_t *parts, unsigned count)
{
	s->write.data = s;
	s->writing = true;
	s->progress_ms = uv_now(s->publisher->loop);
	if (uv_write(&s->write, &s->socket.stream, parts, count, on_written)) {
		s->writing = false;
		disconnect(s, NULL);
	}
}

static void begin_frame(struct subscriber *s)
{
	struct sl_buffer *frame = s->waiting[0];
	size_t head;
	memmove(s->waiting, s->waiting + 1, (size_t)--s->count * sizeof *s->waiting);
	s->finals -= is_final(frame);
	s->sending = sl_zmtp_wrap(&s->zmtp, frame, s->head, &head);
	sl_buffer_unref(frame);
	if (!s->sending) {
		disconnect(s, "there is no memory for its frame");
		return;
	}
	uv_buf_t parts[] = {uv_buf_init((char *)s->head, (unsigned)head),
			    uv_buf_init((char *)s->sending->data, (unsigned)s->sending->bytes)};
	begin_write(s, parts, 2);
}

static void pump(struct subscriber *s)
{
	if (s->writing || s->closing)
		return;
	if (s->control_bytes) {
		memcpy(s->sending_control, s->control, s->control_bytes);
		uv_buf_t part = uv_buf_init((char *)s->sending_control, (unsigned)s->control_bytes);
		s->control_bytes = 0;
		begin_write(s, &part, 1);
	} else if (s->count) {
		begin_frame(s);
	}
}

/* Sends bytes of the protocol. An answer to a heartbeat is dropped if there is no room, since others are waiting. */
static void send_control(void *arg, const void *data, size_t bytes)
{
	struct subscriber *s = arg;
	uv_buf_t part = uv_buf_init((char *)(uintptr_t)data, (unsigned)bytes);
	if (!s->writing && !s->control_bytes) {
		int sent = uv_try_write(&s->socket.stream, &part, 1);
		if (sent > 0) {
			data = (const char *)data + sent;
			bytes -= (size_t)sent;
		}
	}
	if (bytes > sizeof s->control - s->control_bytes)
		return;
	memcpy(s->control + s->control_bytes, data, bytes);
	s->control_bytes += bytes;
	pump(s);
}

static void drop_waiting(struct subscriber *s, int i)
{
	s->finals -= is_final(s->waiting[i]);
	sl_buffer_unref(s->waiting[i]);
	memmove(s->waiting + i, s->waiting + i + 1, (size_t)(--s->count - i) * sizeof *s->waiting);
}

static bool needs_keys(const struct sl_publisher *p)
{
	return p->options.config->token_file[0] != '\0';
}

/* Makes room by dropping the oldest frame that may be dropped. */
static void make_room(struct subscriber *s, bool final)
{
	bool full = final ? s->finals >= FINAL_FRAMES : s->count - s->finals >= s->publisher->options.waiting;
	for (int i = 0; full && i < s->count; i++)
		if (is_final(s->waiting[i]) == final) {
			drop_waiting(s, i);
			return;
		}
}

static void give(void *arg, struct sl_topic_owner *owner)
{
	struct subscriber *s = (struct subscriber *)owner;
	struct sl_buffer *frame = arg;
	const struct sl_frame_header *h = sl_frame_header_of(frame);
	if (s->curve != needs_keys(s->publisher) ||
	    (s->curve && !sl_stream_keys_may(s->publisher->options.keys, s->zmtp.client_key, SL_TOPIC_JOB_FRAME, h->job)))
		return;
	for (int i = 0; i < s->count; i++)
		if (!memcmp(sl_frame_header_of(s->waiting[i])->job, h->job, sizeof h->job)) {
			s->finals += is_final(frame) - is_final(s->waiting[i]);
			sl_buffer_unref(s->waiting[i]);
			s->waiting[i] = sl_buffer_ref(frame);
			return;
		}
	make_room(s, is_final(frame));
	if (s->count == s->room) {
		int room = s->room ? 2 * s->room : 4;
		struct sl_buffer **grown = realloc(s->waiting, (size_t)room * sizeof *grown);
		if (!grown) {
			disconnect(s, "there is no memory for its frames");
			return;
		}
		s->waiting = grown;
		s->room = room;
	}
	s->waiting[s->count++] = sl_buffer_ref(frame);
	s->finals += is_final(frame);
	pump(s);
}

void sl_publisher_send(struct sl_publisher *p, struct sl_buffer *frame, uint64_t after)
{
	sl_topics_match(&p->topics, sl_frame_header_of(frame)->job, after, give, frame);
}

/* ---- receiving ----------------------------------------------------------------------------- */

/* True if the user of the new subscriber has all the places that one user may have: a quarter. */
static bool has_its_part(struct subscriber *s)
{
	struct sl_publisher *p = s->publisher;
	struct sl_stream_keys *keys = p->options.keys;
	const char *account = s->curve ? sl_stream_keys_account(keys, s->zmtp.client_key) : NULL;
	int64_t part = account ? sl_stream_keys_part(keys, account, p->options.subscribers) : p->options.subscribers;
	if (part == p->options.subscribers)
		return false;
	SL_LIST_EACH(struct subscriber, o, &p->subscribers, link) {
		const char *other = o != s && o->counted ? sl_stream_keys_account(keys, o->zmtp.client_key) : NULL;
		part -= other && !strcmp(other, account);
	}
	return part <= 0;
}

static const char *on_topic(void *arg, const char *prefix, size_t length, bool subscribed)
{
	struct subscriber *s = arg;
	struct sl_publisher *p = s->publisher;
	s->topics_left--;
	if (!sl_topics_possible(prefix, length))
		return NULL;
	if (!s->counted && has_its_part(s))
		return "its user has a quarter of max_subscribers";
	s->counted = true;
	if (!subscribed) {
		sl_topics_remove(&p->topics, &s->topics, prefix, length);
		return NULL;
	}
	if (s->topics.subscriptions.count >= SL_SUBSCRIPTIONS_MAX)
		return "it has more than 1024 subscriptions; an empty one covers all jobs";
	if (sl_topics_add(&p->topics, &s->topics, prefix, length))
		return "there is no memory for its subscription";
	p->on_subscription(p->arg, prefix, length);
	return NULL;
}

static const struct sl_zmtp_ops zmtp_ops = {.send = send_control, .topic = on_topic};

static void give_buffer(uv_handle_t *handle, size_t suggested, uv_buf_t *out)
{
	struct subscriber *s = handle->data;
	*out = uv_buf_init(s->publisher->in, sizeof s->publisher->in);
}

static void on_read(uv_stream_t *stream, ssize_t bytes, const uv_buf_t *in)
{
	struct subscriber *s = stream->data;
	if (bytes < 0) {
		disconnect(s, NULL);
		return;
	}
	const char *why = sl_zmtp_feed(&s->zmtp, in->base, (size_t)bytes);
	if (why) {
		disconnect(s, why);
	} else if (s->topics_left <= 0 && s->reading && !s->closing) {
		uv_read_stop(stream);
		s->reading = false;  /* until the next tick */
	}
}

static void start_reading(struct subscriber *s)
{
	s->topics_left = TOPICS_A_TICK;
	if (s->reading || s->closing)
		return;
	s->reading = true;
	if (uv_read_start(&s->socket.stream, give_buffer, on_read))
		disconnect(s, NULL);
}

/* Makes room for a new connection by ending the oldest one that has not subscribed yet: such connections may come from
 * anybody, and must not keep subscribers out. */
static bool make_place(struct sl_publisher *p)
{
	struct subscriber *oldest = SL_LIST_FIND(struct subscriber, s, &p->subscribers, link, !s->counted);
	if (oldest)
		disconnect(oldest, NULL);
	return oldest;
}

static void on_connection(uv_stream_t *stream, int status)
{
	struct sl_publisher *p = stream->data;
	struct subscriber *s = status ? NULL : calloc(1, sizeof *s);
	if (!s)
		return;
	s->publisher = p;
	s->progress_ms = uv_now(p->loop);
	int code = sl_endpoint_accept(&p->socket, &s->socket);
	s->socket.handle.data = s;
	p->handles++;
	bool full = !code && !p->stopping && p->subscribers.count >= (size_t)p->options.subscribers;
	if (full && p->lines && p->lines--)
		sl_log_warning("stream", "there are %d subscribers; more are refused (max_subscribers)",
			       p->options.subscribers);
	if (code || p->stopping || (full && !make_place(p))) {
		s->closing = true;
		uv_close(&s->socket.handle, on_subscriber_closed);
		return;
	}
	sl_list_append(&p->subscribers, &s->link);
	sl_endpoint_peer(&s->socket, s->address);
	s->curve = needs_keys(p);
	sl_zmtp_init(&s->zmtp, &zmtp_ops, s, s->curve ? sl_stream_keys_zmtp(p->options.keys) : NULL);
	start_reading(s);
}

/* ---- once a second -------------------------------------------------------------------------- */

static void look_after(struct subscriber *s, uint64_t now)
{
	size_t unsent = uv_stream_get_write_queue_size(&s->socket.stream);
	if (unsent < s->unsent)
		s->progress_ms = now;
	s->unsent = unsent;
	if (!sl_zmtp_ready(&s->zmtp) && now - s->progress_ms > HANDSHAKE_MS)
		disconnect(s, "its handshake took more than 10 s");
	else if (s->curve != needs_keys(s->publisher))
		disconnect(s, s->curve ? "keys are no longer needed" : "keys are needed now");
	else if (s->writing && now - s->progress_ms > STALLED_MS)
		disconnect(s, "it has read nothing for 30 s");
	else
		start_reading(s);
}

static void close_handles(struct sl_publisher *p)
{
	SL_LIST_EACH(struct subscriber, s, &p->subscribers, link)
		disconnect(s, NULL);
	uv_close((uv_handle_t *)&p->tick, on_handle_closed);
}

static bool all_written(struct sl_publisher *p)
{
	SL_LIST_EACH(struct subscriber, s, &p->subscribers, link)
		if (s->writing || s->count)
			return false;
	return true;
}

static void on_tick(uv_timer_t *timer)
{
	struct sl_publisher *p = timer->data;
	uint64_t now = uv_now(p->loop);
	if (p->stopping) {
		if (now >= p->stop_ms || all_written(p))
			close_handles(p);
		return;
	}
	p->lines += p->lines < LINES;
	SL_LIST_EACH(struct subscriber, s, &p->subscribers, link)
		look_after(s, now);
}

/* ---- life -------------------------------------------------------------------------------------- */

int sl_publisher_create(struct sl_publisher **out, uv_loop_t *loop, const struct sl_publisher_options *options,
			sl_publisher_fn on_subscription, void *arg, struct sl_error *err)
{
	struct sl_publisher *p = calloc(1, sizeof *p);
	if (!p)
		return sl_error_set(err, SL_NOMEM, "Out of memory for the frame publisher.");
	bool opened;
	p->loop = loop;
	p->options = *options;
	p->lines = LINES;
	p->on_subscription = on_subscription;
	p->arg = arg;
	sl_topics_init(&p->topics);
	int code = sl_endpoint_bind(loop, options->endpoint, &p->socket, &opened, p->endpoint, err);
	p->options.endpoint = p->endpoint;
	if (!opened) {
		free(p);
		return code;
	}
	uv_timer_init(loop, &p->tick);
	p->socket.handle.data = p->tick.data = p;
	p->handles = 2;
	int listening = code ? 0 : uv_listen(&p->socket.stream, BACKLOG, on_connection);
	if (listening)
		code = sl_error_field(err, SL_IO, "/zmq", "The frame publisher cannot listen at %s: %s.",
				      options->endpoint, uv_strerror(listening));
	if (code) {
		uv_close(&p->socket.handle, on_handle_closed);
		uv_close((uv_handle_t *)&p->tick, on_handle_closed);
		return code;
	}
	uv_timer_start(&p->tick, on_tick, TICK_MS, TICK_MS);
	*out = p;
	return 0;
}

const char *sl_publisher_endpoint(const struct sl_publisher *p)
{
	return p->endpoint;
}

uint64_t sl_publisher_stamp(const struct sl_publisher *p)
{
	return p->topics.stamp;
}

uint64_t sl_publisher_wanted(const struct sl_publisher *p, const char *job)
{
	return sl_topics_newest(&p->topics, job);
}

void sl_publisher_destroy(struct sl_publisher *p, void (*closed)(void *arg), void *arg)
{
	if (!p)
		return;
	p->closed = closed;
	p->closed_arg = arg;
	p->stopping = true;
	p->stop_ms = uv_now(p->loop) + LINGER_MS;
	uv_close(&p->socket.handle, on_handle_closed);
	uv_timer_start(&p->tick, on_tick, 0, 10);
}
