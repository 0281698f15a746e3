/* The ZeroMQ publisher. For each subscriber it sends one frame at a time, that which has waited longest; the next one
 * when the relay has put its last byte into the kernel. So at most one frame is bound to a subscriber; newer frames can
 * replace all others. */
#include "daemon/stream/publisher.h"

#include <stdlib.h>
#include <string.h>

#include "daemon/config/config.h"
#include "daemon/relay/keeper.h"
#include "daemon/stream/endpoint.h"
#include "daemon/stream/keys.h"
#include "daemon/stream/topics.h"
#include "daemon/util/list.h"
#include "daemon/util/log.h"

#define TICK_MS 1000
#define LINGER_MS 300
#define FINAL_FRAMES 1024          /* the most final frames that wait for one subscriber */
#define LINES 100                  /* about disconnected subscribers that may be logged at once, and then one a tick */
#define BUCKETS 256

struct subscriber {
	struct sl_topic_owner topics;      /* first member, so that both have the same address */
	struct sl_link link, same_bucket;
	struct sl_publisher *publisher;
	uint64_t id;                       /* in the relay */
	char address[64];
	bool curve;                        /* it has connected with keys, or is about to */
	bool counted;                      /* it has subscribed, and counts as one of its user's */
	uint8_t key[SL_RELAY_KEY_BYTES];   /* CURVE: its public key; valid when it subscribes */
	struct sl_keeper_frame **waiting;  /* [room] references, oldest first */
	int count, room, finals;
	struct sl_keeper_frame *sent;      /* a reference to the frame on its way, or NULL */
};

struct sl_publisher {
	uv_loop_t *loop;
	struct sl_publisher_options options;
	struct sl_keeper *keeper;
	uv_timer_t tick;
	char endpoint[SL_ENDPOINT_BYTES];
	struct sl_topics topics;
	struct sl_list subscribers;
	struct sl_list by_id[BUCKETS];
	sl_publisher_fn on_subscription;
	void *arg;
	int lines, unlogged;              /* ends that may be logged now; ends not logged since the last one that was */
	bool stopping;
	uint64_t stop_ms;
	int handles;                       /* the timer and the keeper, if they are not closed yet */
	void (*closed)(void *arg);
	void *closed_arg;
};

/* ---- the end of subscribers and of the publisher ---------------------------------------- */

static void handle_closed(struct sl_publisher *p)
{
	if (--p->handles)
		return;
	sl_endpoint_remove(p->endpoint);
	sl_topics_finish(&p->topics);
	if (p->closed)
		p->closed(p->closed_arg);
	free(p);
}

static void on_handle_closed(uv_handle_t *handle)
{
	handle_closed(handle->data);
}

static void on_keeper_closed(void *arg)
{
	handle_closed(arg);
}

static struct subscriber *find(struct sl_publisher *p, uint64_t id)
{
	return SL_LIST_FIND(struct subscriber, s, &p->by_id[id % BUCKETS], same_bucket, s->id == id);
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

static void forget(struct subscriber *s)
{
	sl_topics_drop(&s->publisher->topics, &s->topics);
	sl_list_unlink(&s->link);
	sl_list_unlink(&s->same_bucket);
	for (int i = 0; i < s->count; i++)
		sl_keeper_frame_unref(s->waiting[i]);
	free(s->waiting);
	sl_keeper_frame_unref(s->sent);
	free(s);
}

/* why: for the log; NULL: nothing is logged. */
static void disconnect(struct subscriber *s, const char *why)
{
	if (why)
		log_end(s, why);
	sl_keeper_end(s->publisher->keeper, s->id);
	forget(s);
}

/* ---- sending ------------------------------------------------------------------------------ */

static bool is_final(const struct sl_keeper_frame *frame)
{
	return sl_frame_header_of(frame->buffer)->flags & SL_FRAME_FINAL;
}

static void pump(struct subscriber *s)
{
	if (s->sent || !s->count)
		return;
	s->sent = s->waiting[0];
	memmove(s->waiting, s->waiting + 1, (size_t)--s->count * sizeof *s->waiting);
	s->finals -= is_final(s->sent);
	sl_keeper_send(s->publisher->keeper, s->id, s->sent);
}

static void on_sent(void *arg, uint64_t id)
{
	struct subscriber *s = find(arg, id);
	if (!s)
		return;
	sl_keeper_frame_unref(s->sent);
	s->sent = NULL;
	pump(s);
}

static void drop_waiting(struct subscriber *s, int i)
{
	s->finals -= is_final(s->waiting[i]);
	sl_keeper_frame_unref(s->waiting[i]);
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

/* A frame on its way to subscribers. */
struct letter {
	struct sl_publisher *publisher;
	struct sl_buffer *buffer;
	struct sl_keeper_frame *frame;     /* made for the first subscriber */
};

static bool may_read(struct subscriber *s, const char *job)
{
	struct sl_publisher *p = s->publisher;
	return s->curve == needs_keys(p) &&
	       (!s->curve || sl_stream_keys_may(p->options.keys, s->key, SL_TOPIC_JOB_FRAME, job));
}

/* Returns false without memory. */
static bool append(struct subscriber *s, struct sl_keeper_frame *frame)
{
	if (s->count == s->room) {
		int room = s->room ? 2 * s->room : 4;
		struct sl_keeper_frame **grown = realloc(s->waiting, (size_t)room * sizeof *grown);
		if (!grown)
			return false;
		s->waiting = grown;
		s->room = room;
	}
	s->waiting[s->count++] = sl_keeper_frame_ref(frame);
	s->finals += is_final(frame);
	return true;
}

static void give(void *arg, struct sl_topic_owner *owner)
{
	struct subscriber *s = (struct subscriber *)owner;
	struct letter *l = arg;
	const char *job = sl_frame_header_of(l->buffer)->job;
	if (!may_read(s, job))
		return;
	if (!l->frame && !(l->frame = sl_keeper_frame_create(l->publisher->keeper, l->buffer))) {
		disconnect(s, "there is no memory for its frame");
		return;
	}
	for (int i = 0; i < s->count; i++)
		if (!memcmp(sl_frame_header_of(s->waiting[i]->buffer)->job, job, SL_TOPIC_BYTES)) {
			s->finals += is_final(l->frame) - is_final(s->waiting[i]);
			sl_keeper_frame_unref(s->waiting[i]);
			s->waiting[i] = sl_keeper_frame_ref(l->frame);
			return;
		}
	make_room(s, is_final(l->frame));
	if (append(s, l->frame))
		pump(s);
	else
		disconnect(s, "there is no memory for its frames");
}

void sl_publisher_send(struct sl_publisher *p, struct sl_buffer *frame, uint64_t after)
{
	struct letter l = {.publisher = p, .buffer = frame};
	sl_topics_match(&p->topics, sl_frame_header_of(frame)->job, after, give, &l);
	sl_keeper_frame_unref(l.frame);
}

/* ---- what the relay reports ----------------------------------------------------------------- */

/* True if the user of the new subscriber has all the places that one user may have: a quarter. */
static bool has_its_part(struct subscriber *s)
{
	struct sl_publisher *p = s->publisher;
	struct sl_stream_keys *keys = p->options.keys;
	const char *account = s->curve ? sl_stream_keys_account(keys, s->key) : NULL;
	int64_t part = account ? sl_stream_keys_part(keys, account, p->options.subscribers) : p->options.subscribers;
	if (part == p->options.subscribers)
		return false;
	SL_LIST_EACH(struct subscriber, o, &p->subscribers, link) {
		const char *other = o != s && o->counted ? sl_stream_keys_account(keys, o->key) : NULL;
		part -= other && !strcmp(other, account);
	}
	return part <= 0;
}

/* Returns NULL, or why the subscriber must go. */
static const char *subscribe(struct subscriber *s, const char *prefix, size_t length)
{
	struct sl_publisher *p = s->publisher;
	if (s->topics.subscriptions.count >= SL_SUBSCRIPTIONS_MAX)
		return "it has more than 1024 subscriptions; an empty one covers all jobs";
	if (sl_topics_add(&p->topics, &s->topics, prefix, length))
		return "there is no memory for its subscription";
	p->on_subscription(p->arg, prefix, length);
	return NULL;
}

static void on_topic(void *arg, uint64_t id, const char *prefix, size_t length, bool subscribed)
{
	struct sl_publisher *p = arg;
	struct subscriber *s = find(p, id);
	const char *why = NULL;
	if (!s || p->stopping)
		return;
	if (!s->counted && has_its_part(s)) {
		disconnect(s, "its user has a quarter of max_subscribers");
		return;
	}
	s->counted = true;
	if (!subscribed)
		sl_topics_remove(&p->topics, &s->topics, prefix, length);
	else
		why = subscribe(s, prefix, length);
	if (why && (s = find(p, id)))  /* sending the first frame may have ended it */
		disconnect(s, why);
}

static bool on_key(void *arg, uint64_t id, const uint8_t key[SL_RELAY_KEY_BYTES])
{
	struct sl_publisher *p = arg;
	struct subscriber *s = find(p, id);
	if (!s || s->counted || !sl_stream_keys_account(p->options.keys, key))
		return false;
	memcpy(s->key, key, sizeof s->key);
	return true;
}

static void on_left(void *arg, uint64_t id, const char *why)
{
	struct subscriber *s = find(arg, id);
	if (!s)
		return;
	if (why)
		log_end(s, why);
	else
		sl_log_debug("stream", "subscriber %s has gone", s->address);
	forget(s);
}

static void on_refused(void *arg, const char *why)
{
	struct sl_publisher *p = arg;
	if (p->lines && p->lines--)
		sl_log_warning("stream", "ZeroMQ subscribers wait for a second: %s", why);
}

static void on_lost(void *arg, const char *why)
{
	struct sl_publisher *p = arg;
	sl_log_warning("stream", "the relay of ZeroMQ subscribers has ended: %s. Its %zu subscribers connect again; "
		       "nothing else is affected", why, p->subscribers.count);
	SL_LIST_EACH(struct subscriber, s, &p->subscribers, link)
		forget(s);
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

static void on_joined(void *arg, uint64_t id, const char *address, bool curve)
{
	struct sl_publisher *p = arg;
	bool full = !p->stopping && p->subscribers.count >= (size_t)p->options.subscribers;
	if (full && p->lines && p->lines--)
		sl_log_warning("stream", "there are %d subscribers; more are refused (max_subscribers)",
			       p->options.subscribers);
	struct subscriber *s = p->stopping || find(p, id) || (full && !make_place(p)) ? NULL : calloc(1, sizeof *s);
	if (!s) {
		sl_keeper_end(p->keeper, id);
		return;
	}
	s->publisher = p;
	s->id = id;
	s->curve = curve;
	snprintf(s->address, sizeof s->address, "%s", address);
	sl_list_append(&p->subscribers, &s->link);
	sl_list_append(&p->by_id[id % BUCKETS], &s->same_bucket);
}

static const struct sl_keeper_ops keeper_ops = {.joined = on_joined, .key = on_key, .topic = on_topic, .sent = on_sent,
						.left = on_left, .refused = on_refused, .lost = on_lost};

/* ---- once a second -------------------------------------------------------------------------- */

static void close_all(struct sl_publisher *p)
{
	SL_LIST_EACH(struct subscriber, s, &p->subscribers, link)
		forget(s);
	sl_keeper_destroy(p->keeper, on_keeper_closed, p);
	uv_close((uv_handle_t *)&p->tick, on_handle_closed);
}

static bool all_written(struct sl_publisher *p)
{
	SL_LIST_EACH(struct subscriber, s, &p->subscribers, link)
		if (s->sent || s->count)
			return false;
	return true;
}

static void on_tick(uv_timer_t *timer)
{
	struct sl_publisher *p = timer->data;
	uint64_t now = uv_now(p->loop);
	if (p->stopping) {
		if (now >= p->stop_ms || all_written(p))
			close_all(p);
		return;
	}
	p->lines += p->lines < LINES;
	bool curve = needs_keys(p);
	sl_keeper_curve(p->keeper, curve);
	SL_LIST_EACH(struct subscriber, s, &p->subscribers, link)
		if (s->curve != curve)
			disconnect(s, s->curve ? "keys are no longer needed" : "keys are needed now");
}

/* ---- life -------------------------------------------------------------------------------------- */

int sl_publisher_create(struct sl_publisher **out, uv_loop_t *loop, const struct sl_publisher_options *options,
			sl_publisher_fn on_subscription, void *arg, struct sl_error *err)
{
	struct sl_publisher *p = calloc(1, sizeof *p);
	if (!p)
		return sl_error_memory(err, "the frame publisher");
	struct sl_keeper_options o = {.subscribers = sl_keeper_most(options->subscribers),
				      .secret_key = sl_stream_keys_secret(options->keys)};
	p->loop = loop;
	p->options = *options;
	p->options.subscribers = o.subscribers;
	p->lines = LINES;
	p->on_subscription = on_subscription;
	p->arg = arg;
	sl_topics_init(&p->topics);
	o.curve = needs_keys(p);
	int code = sl_endpoint_listen(options->endpoint, &o.listening, p->endpoint, err);
	if (!code && (code = sl_keeper_create(&p->keeper, loop, &o, &keeper_ops, p, err)))
		sl_endpoint_remove(p->endpoint);
	if (code) {
		free(p);
		return code;
	}
	p->options.endpoint = p->endpoint;
	uv_timer_init(loop, &p->tick);
	p->tick.data = p;
	p->handles = 2;
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
	uv_timer_start(&p->tick, on_tick, 0, 10);
}
