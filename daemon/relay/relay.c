/* The relay's process: it obeys the daemon's messages, and has a timer for the limits of its connections. */
#include "daemon/relay/relay.h"

#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>
#include <zmq.h>

#include "daemon/relay/connection.h"

#define TICK_MS 1000
#define WAITING_MOST 10000  /* messages to a daemon that takes none; then nothing is read from subscribers */
#define TRIMS 3             /* ticks after the end of a connection in which freed memory is given back to the system */
#define IO_THREADS 2        /* of libzmq; they encrypt */
#define SPARE 16            /* connections beyond the most subscribers, whose places the daemon is about to give away */
#define SOCKETS 8           /* of libzmq, for each subscriber: three during the handshake; closed ones take a moment */
#define SOCKETS_MOST 65000

void sl__relay_tell(struct sl__relay *r, enum sl_relay_kind kind, uint64_t id, uint32_t number, const void *text,
		    size_t bytes)
{
	struct sl_relay_message m = {.kind = kind, .id = id, .number = number};
	memcpy(m.text, text ? text : "", bytes < sizeof m.text ? bytes : sizeof m.text - 1);
	sl_channel_send(r->channel, &m);
}

bool sl__relay_heard(const struct sl__relay *r)
{
	return sl_channel_waiting(r->channel) < WAITING_MOST;
}

static void on_listen(struct sl__relay *r, const struct sl_relay_message *m, int fd)
{
	int sockets = SOCKETS_MOST;
	if (r->listening_fd >= 0 || fd < 0)
		_exit(1);
	memcpy(r->secret_key, m->text, sizeof r->secret_key);
	r->most = m->number + SPARE;
	if (r->most > SL_RELAY_SLOTS / 2)
		r->most = SL_RELAY_SLOTS / 2;
	if (r->most < SOCKETS_MOST / SOCKETS)
		sockets = (int)r->most * SOCKETS;
	zmq_ctx_set(r->context, ZMQ_MAX_SOCKETS, sockets);
	if (sl__zap_open(r))
		_exit(1);
	sl__accept_start(r, fd);
}

static void on_message(void *arg, const struct sl_relay_message *m, int fd)
{
	struct sl__relay *r = arg;
	struct sl__connection *c = sl__connection_find(r, m->id);
	switch ((enum sl_relay_kind)m->kind) {
	case SL_RELAY_LISTEN: on_listen(r, m, fd); return;
	case SL_RELAY_CURVE: r->curve = m->number; break;
	case SL_RELAY_ANSWER: sl__zap_answer(r, m->id, m->number); break;
	case SL_RELAY_FRAME: sl__frames_add(r->frames, m->frame, m->number, fd); return;
	case SL_RELAY_DROP: sl__frames_drop(r->frames, m->frame); break;
	case SL_RELAY_PING: sl__relay_tell(r, SL_RELAY_PONG, 0, 0, NULL, 0); break;
	case SL_RELAY_SEND:
		if (c)
			sl__connection_send(c, m->frame);
		break;
	case SL_RELAY_END:
		if (c)
			sl__connection_close(c);
		break;
	default: break;
	}
	if (fd >= 0)
		close(fd);
}

/* Nothing here must be saved, and the kernel closes the connections. */
static void on_ended(void *arg)
{
	_exit(0);
}

/* The topics of connections that have gone are many small pieces, which libzmq frees in the next moments. */
static void give_memory_back(struct sl__relay *r)
{
	if (r->connections.count < r->count_before)
		r->trims = TRIMS;
	r->count_before = r->connections.count;
	if (r->trims) {
		r->trims--;
		malloc_trim(0);
	}
}

static void on_tick(uv_timer_t *timer)
{
	struct sl__relay *r = timer->data;
	sl__connections_tick(r);
	sl__accept_resume(r);
	give_memory_back(r);
}

/* The daemon stops the relay by closing the channel; signals to the whole group or unit are meant for the daemon. */
static void leave_signals_to_the_daemon(void)
{
	signal(SIGPIPE, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	signal(SIGINT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
}

int sl_relay_main(void)
{
	static const struct sl_channel_ops ops = {.message = on_message, .ended = on_ended};
	static struct sl__relay relay = {.listening_fd = -1};
	static uv_timer_t tick;
	struct sl__relay *r = &relay;
	prctl(PR_SET_NAME, "spaceland-relay");
	leave_signals_to_the_daemon();
	close_range(SL_RELAY_FD + 1, ~0u, 0);
	if (fcntl(SL_RELAY_FD, F_SETFD, FD_CLOEXEC)) {
		fputs("spacelandd: only spacelandd itself uses " SL_RELAY_ARGUMENT "\n", stderr);
		return 2;
	}
	if (!(r->context = zmq_ctx_new()) ||
	    zmq_ctx_set(r->context, ZMQ_IO_THREADS, IO_THREADS) ||
	    !(r->frames = sl__frames_create()) || uv_loop_init(&r->loop) ||
	    sl_channel_open(&r->channel, &r->loop, SL_RELAY_FD, &ops, r))
		return 1;
	uv_timer_init(&r->loop, &tick);
	tick.data = r;
	uv_timer_start(&tick, on_tick, TICK_MS, TICK_MS);
	return uv_run(&r->loop, UV_RUN_DEFAULT);
}
