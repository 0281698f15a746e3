/* The thread sleeps in zmq_poll on two descriptors: the socket (subscriptions come in)
 * and an eventfd (frames come from the loop). ZeroMQ's own threads do the sending.
 *
 * Which frames were dropped for want of room is not something ZeroMQ tells, but with
 * ZMQ_XPUB_NODROP set a send is refused when any matching subscriber has none. So a final
 * frame is tried that way first; when refused it is sent the dropping way, to all who
 * have room, and tried again RESEND_MS later, at growing intervals, until nobody is full
 * or RESENDS are used up by someone who never reads. */
#include "daemon/stream/publisher.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>
#include <zmq.h>

#include "daemon/util/log.h"
#include "daemon/util/mailbox.h"

#define RESEND_MS 50
#define RESENDS 9          /* the interval doubles: the last one is 25 s after the first */
#define LINGER_MS 300
#define PREFIX_BYTES 27

struct outgoing {
	struct sl_message message;
	struct sl_buffer *frame;  /* NULL: stop */
	int tries;
	int64_t due_ms;
};

struct subscription {
	struct sl_message message;
	char prefix[PREFIX_BYTES];
	bool subscribed;
};

struct sl_publisher {
	struct sl_mailbox frames, subscriptions;
	uv_async_t async;
	int wake;                 /* eventfd: there are frames */
	pthread_t thread;
	char endpoint[256];
	sl_publisher_fn on_subscription;
	void *arg;
	void (*closed)(void *arg);
	void *closed_arg;
	/* the thread's, once it runs */
	void *context, *socket;
	struct outgoing *again;   /* final frames to be sent again, by due_ms */
	bool stop;
};

static int64_t now_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* ZeroMQ is done with the frame; on one of its threads. */
static void release(void *data, void *hint)
{
	sl_buffer_unref(hint);
}

/* 0, or -1: refused. Borrows frame. */
static int send_frame(struct sl_publisher *p, struct sl_buffer *frame, int no_drop)
{
	zmq_msg_t m;
	sl_buffer_ref(frame);
	if (zmq_msg_init_data(&m, frame->data, frame->bytes, release, frame)) {
		sl_buffer_unref(frame);
		return -1;
	}
	zmq_setsockopt(p->socket, ZMQ_XPUB_NODROP, &no_drop, sizeof no_drop);
	if (zmq_msg_send(&m, p->socket, ZMQ_DONTWAIT) < 0) {
		zmq_msg_close(&m);
		return -1;
	}
	return 0;
}

static void outgoing_destroy(struct outgoing *o)
{
	sl_buffer_unref(o->frame);
	free(o);
}

static void send_final(struct sl_publisher *p, struct outgoing *o)
{
	if (!send_frame(p, o->frame, 1) || o->tries >= RESENDS) {
		outgoing_destroy(o);
		return;
	}
	send_frame(p, o->frame, 0);
	o->due_ms = now_ms() + (RESEND_MS << o->tries++);
	struct outgoing **at = &p->again;
	while (*at && (*at)->due_ms <= o->due_ms)
		at = (struct outgoing **)&(*at)->message.next;
	o->message.next = *at ? &(*at)->message : NULL;
	*at = o;
}

static void take_frames(struct sl_publisher *p)
{
	uint64_t count;
	while (read(p->wake, &count, sizeof count) > 0)
		;
	struct sl_message *m = sl_mailbox_take(&p->frames);
	while (m) {
		struct outgoing *o = (struct outgoing *)m;
		m = m->next;
		if (!o->frame) {
			p->stop = true;
			free(o);
		} else if (sl_frame_header_of(o->frame)->flags & SL_FRAME_FINAL) {
			send_final(p, o);
		} else {
			send_frame(p, o->frame, 0);
			outgoing_destroy(o);
		}
	}
}

static void send_again(struct sl_publisher *p)
{
	int64_t now = now_ms();
	while (p->again && p->again->due_ms <= now) {
		struct outgoing *o = p->again;
		p->again = (struct outgoing *)o->message.next;
		send_final(p, o);
	}
}

/* A message that comes in is 1 or 0 (subscribe, unsubscribe) and the prefix; anything else
 * a client sends is no business of ours. */
static void take_subscriptions(struct sl_publisher *p)
{
	zmq_msg_t m;
	zmq_msg_init(&m);
	while (zmq_msg_recv(&m, p->socket, ZMQ_DONTWAIT) >= 0) {
		size_t bytes = zmq_msg_size(&m);
		const unsigned char *data = zmq_msg_data(&m);
		if (bytes < 1 || data[0] > 1 || bytes > PREFIX_BYTES || memchr(data + 1, 0, bytes - 1))
			continue;
		struct subscription *s = calloc(1, sizeof *s);
		if (!s)
			continue;
		memcpy(s->prefix, data + 1, bytes - 1);
		s->subscribed = data[0] == 1;
		sl_mailbox_put(&p->subscriptions, &s->message);
		uv_async_send(&p->async);
	}
	zmq_msg_close(&m);
}

static void *thread_main(void *arg)
{
	struct sl_publisher *p = arg;
	pthread_setname_np(pthread_self(), "publisher");
	while (!p->stop) {
		zmq_pollitem_t items[] = {{p->socket, 0, ZMQ_POLLIN, 0}, {NULL, p->wake, ZMQ_POLLIN, 0}};
		long timeout = -1;
		if (p->again) {
			int64_t wait = p->again->due_ms - now_ms();
			timeout = wait > 0 ? (long)wait : 0;
		}
		if (zmq_poll(items, 2, timeout) < 0 && errno != EINTR)
			break;
		take_subscriptions(p);
		take_frames(p);
		send_again(p);
	}
	while (p->again) {
		struct outgoing *o = p->again;
		p->again = (struct outgoing *)o->message.next;
		outgoing_destroy(o);
	}
	zmq_close(p->socket);
	zmq_ctx_term(p->context);  /* waits for LINGER_MS at most */
	uv_async_send(&p->async);
	return NULL;
}

/* ---- the loop's side ------------------------------------------------------- */

static void on_async(uv_async_t *async)
{
	struct sl_publisher *p = async->data;
	struct sl_message *m = sl_mailbox_take(&p->subscriptions);
	while (m) {
		struct subscription *s = (struct subscription *)m;
		m = m->next;
		p->on_subscription(p->arg, s->prefix, s->subscribed);
		free(s);
	}
}

static void drain(struct sl_mailbox *box)
{
	for (struct sl_message *m = sl_mailbox_take(box), *next; m; m = next) {
		next = m->next;
		free(m);
	}
}

static void on_closed(uv_handle_t *handle)
{
	struct sl_publisher *p = handle->data;
	void (*closed)(void *) = p->closed;
	void *arg = p->closed_arg;
	for (struct sl_message *m = sl_mailbox_take(&p->frames), *next; m; m = next) {
		next = m->next;
		outgoing_destroy((struct outgoing *)m);
	}
	drain(&p->subscriptions);
	sl_mailbox_finish(&p->frames);
	sl_mailbox_finish(&p->subscriptions);
	close(p->wake);
	free(p);
	if (closed)
		closed(arg);
}

static int bind_socket(struct sl_publisher *p, const char *endpoint, int high_water_mark, struct sl_error *err)
{
	int on = 1, linger = LINGER_MS;
	int64_t most_in = 4096;  /* subscriptions are short; longer messages end the connection */
	p->context = zmq_ctx_new();
	p->socket = p->context ? zmq_socket(p->context, ZMQ_XPUB) : NULL;
	if (!p->socket)
		return sl_error_set(err, SL_NOMEM, "A ZeroMQ socket could not be made: %s.", zmq_strerror(errno));
	zmq_setsockopt(p->socket, ZMQ_XPUB_VERBOSE, &on, sizeof on);
	zmq_setsockopt(p->socket, ZMQ_SNDHWM, &high_water_mark, sizeof high_water_mark);
	zmq_setsockopt(p->socket, ZMQ_LINGER, &linger, sizeof linger);
	zmq_setsockopt(p->socket, ZMQ_MAXMSGSIZE, &most_in, sizeof most_in);
	if (strchr(endpoint, '['))  /* else the endpoint told would be [::ffff:127.0.0.1] */
		zmq_setsockopt(p->socket, ZMQ_IPV6, &on, sizeof on);
	size_t bytes = sizeof p->endpoint;
	if (zmq_bind(p->socket, endpoint) ||
	    zmq_getsockopt(p->socket, ZMQ_LAST_ENDPOINT, p->endpoint, &bytes))
		return sl_error_field(err, SL_IO, "/zmq", "The frame publisher cannot listen at %s: %s.", endpoint,
				      zmq_strerror(errno));
	return 0;
}

int sl_publisher_create(struct sl_publisher **out, uv_loop_t *loop, const char *endpoint, int high_water_mark,
			sl_publisher_fn on_subscription, void *arg, struct sl_error *err)
{
	struct sl_publisher *p = calloc(1, sizeof *p);
	if (!p)
		return sl_error_set(err, SL_NOMEM, "Out of memory for the frame publisher.");
	p->on_subscription = on_subscription;
	p->arg = arg;
	p->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	sl_mailbox_init(&p->frames);
	sl_mailbox_init(&p->subscriptions);
	int code = p->wake < 0 ? sl_error_set(err, SL_INTERNAL, "eventfd: %s.", strerror(errno))
			       : bind_socket(p, endpoint, high_water_mark, err);
	if (code)
		goto out;
	if (uv_async_init(loop, &p->async, on_async)) {
		code = sl_error_set(err, SL_INTERNAL, "The frame publisher's wake-up could not be made.");
		goto out;
	}
	p->async.data = p;
	if (!pthread_create(&p->thread, NULL, thread_main, p)) {
		*out = p;
		return 0;
	}
	code = sl_error_set(err, SL_NOMEM, "The frame publisher's thread could not be started.");
	zmq_close(p->socket);
	zmq_ctx_term(p->context);
	uv_close((uv_handle_t *)&p->async, on_closed);
	return code;
out:
	if (p->socket)
		zmq_close(p->socket);
	if (p->context)
		zmq_ctx_term(p->context);
	if (p->wake >= 0)
		close(p->wake);
	sl_mailbox_finish(&p->frames);
	sl_mailbox_finish(&p->subscriptions);
	free(p);
	return code;
}

const char *sl_publisher_endpoint(const struct sl_publisher *p)
{
	return p->endpoint;
}

static void put(struct sl_publisher *p, struct sl_buffer *frame)
{
	struct outgoing *o = calloc(1, sizeof *o);
	if (!o) {
		sl_buffer_unref(frame);  /* a frame lost, as for a slow reader */
		return;
	}
	o->frame = frame;
	sl_mailbox_put(&p->frames, &o->message);
	uint64_t one = 1;
	if (write(p->wake, &one, sizeof one) < 0 && errno != EAGAIN)
		sl_log_warning("publisher", "wake-up failed: %s", strerror(errno));
}

void sl_publisher_send(struct sl_publisher *p, struct sl_buffer *frame)
{
	put(p, frame);
}

void sl_publisher_destroy(struct sl_publisher *p, void (*closed)(void *arg), void *arg)
{
	if (!p)
		return;
	p->closed = closed;
	p->closed_arg = arg;
	put(p, NULL);
	pthread_join(p->thread, NULL);
	uv_close((uv_handle_t *)&p->async, on_closed);
}
