/* The relay is a process of the same program (/proc/self/exe), so the two sides are always of one version. While there
 * is none, the loop watches the listening socket; a connection starts the relay, which accepts it. Once a second a
 * timer asks whether the relay answers. */
#include "daemon/relay/keeper.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sodium.h>

#include "daemon/relay/relay.h"
#include "daemon/util/log.h"
#include "daemon/processes/spawn.h"
#include "daemon/util/ulid.h"

#define TICK_MS 1000
#define SILENT_TICKS 30       /* then a relay that does not answer is ended */
#define CLOSE_TICKS 3         /* and one that does not end */
#define DESCRIPTORS 6         /* of a subscriber in the relay: its connection, both ends of the local one, its XPUB
				 socket; and two of the monitor during the handshake */
#define OTHER_DESCRIPTORS 64

struct sl_keeper {
	uv_loop_t *loop;
	struct sl_keeper_options options;
	uint8_t secret_key[SL_RELAY_KEY_BYTES];
	const struct sl_keeper_ops *ops;
	void *arg;
	uv_poll_t listening;
	uv_signal_t child;
	uv_timer_t tick;
	pid_t pid;                     /* of the relay; 0: there is none */
	struct sl_channel *channel;    /* NULL: none */
	uint64_t starts, frames;       /* so many relays; so many frames */
	int silent;                    /* ticks since the ping that was not answered; 0: none is on its way */
	int pause;                     /* ticks until the relay may be started */
	bool young;                    /* it was started since the last tick */
	const char *killed;            /* why we ended it */
	bool stopping;
	int handles;
	void (*closed)(void *arg);
	void *closed_arg;
};

static void tell(struct sl_keeper *k, enum sl_relay_kind kind, uint64_t id, uint32_t number, uint64_t frame)
{
	if (k->channel)
		sl_channel_send(k->channel, &(struct sl_relay_message){.kind = kind, .id = id, .number = number,
								       .frame = frame});
}

/* ---- the end of the relay ------------------------------------------------------------------- */

static void on_handle_closed(uv_handle_t *handle)
{
	struct sl_keeper *k = handle->data;
	if (--k->handles)
		return;
	void (*closed)(void *) = k->closed;
	void *arg = k->closed_arg;
	close(k->options.listening);
	sodium_memzero(k->secret_key, sizeof k->secret_key);
	free(k);
	if (closed)
		closed(arg);
}

static void close_handles(struct sl_keeper *k)
{
	uv_close((uv_handle_t *)&k->child, on_handle_closed);
	uv_close((uv_handle_t *)&k->tick, on_handle_closed);
}

static void on_connection(uv_poll_t *poll, int status, int events);

static void wait_for_connection(struct sl_keeper *k)
{
	if (!k->stopping && !k->pid && !k->pause)
		uv_poll_start(&k->listening, UV_READABLE, on_connection);
}

static void kill_relay(struct sl_keeper *k, const char *why)
{
	if (!k->pid)
		return;
	k->killed = k->killed ? k->killed : why;
	kill(k->pid, SIGKILL);
}

static void has_exited(struct sl_keeper *k, int status)
{
	char why[120];
	if (k->killed)
		snprintf(why, sizeof why, "%s", k->killed);
	else if (WIFSIGNALED(status))
		snprintf(why, sizeof why, "it was ended by signal %d (%s)", WTERMSIG(status),
			 strsignal(WTERMSIG(status)));
	else
		snprintf(why, sizeof why, "it ended with status %d", WEXITSTATUS(status));
	k->pid = 0;
	k->killed = NULL;
	k->silent = 0;
	k->pause = k->young;  /* a relay that cannot even start must not keep the loop busy */
	sl_channel_close(k->channel);
	k->channel = NULL;
	if (k->stopping) {
		close_handles(k);
		return;
	}
	k->ops->lost(k->arg, why);
	wait_for_connection(k);
}

static void on_child(uv_signal_t *handle, int number)
{
	struct sl_keeper *k = handle->data;
	int status;
	if (k->pid && waitpid(k->pid, &status, WNOHANG) == k->pid)
		has_exited(k, status);
}

/* ---- messages --------------------------------------------------------------------------------- */

static void on_ended(void *arg)
{
	struct sl_keeper *k = arg;
	sl_channel_close(k->channel);
	k->channel = NULL;
	if (k->pid)
		kill(k->pid, SIGKILL);  /* its exit status tells why */
}

static void on_message(void *arg, const struct sl_relay_message *m, int fd)
{
	struct sl_keeper *k = arg;
	bool topic = m->kind == SL_RELAY_TOPIC || m->kind == SL_RELAY_TOPIC_END;
	if (fd >= 0)
		close(fd);
	if (topic && (m->number > SL_RELAY_TOPIC_BYTES || !sl_ulid_begins(m->text, m->number))) {
		kill_relay(k, "it has sent what is no subscription");
		return;
	}
	switch ((enum sl_relay_kind)m->kind) {
	case SL_RELAY_JOINED: k->ops->joined(k->arg, m->id, m->text, m->number); break;
	case SL_RELAY_KEY:
		tell(k, SL_RELAY_ANSWER, m->id, k->ops->key(k->arg, m->id, (const uint8_t *)m->text), 0);
		break;
	case SL_RELAY_TOPIC:
	case SL_RELAY_TOPIC_END: k->ops->topic(k->arg, m->id, m->text, m->number, m->kind == SL_RELAY_TOPIC); break;
	case SL_RELAY_SENT: k->ops->sent(k->arg, m->id); break;
	case SL_RELAY_LEFT: k->ops->left(k->arg, m->id, m->text[0] ? m->text : NULL); break;
	case SL_RELAY_REFUSED: k->ops->refused(k->arg, m->text); break;
	case SL_RELAY_PONG: k->silent = 0; break;
	default: kill_relay(k, "it has sent an unknown message");
	}
}

/* ---- the start of the relay --------------------------------------------------------------------- */

static int start(struct sl_keeper *k)
{
	static const struct sl_channel_ops ops = {.message = on_message, .ended = on_ended};
	struct sl_relay_message m = {.kind = SL_RELAY_LISTEN, .number = (uint32_t)k->options.subscribers};
	int end, code = sl_spawn_self(SL_RELAY_ARGUMENT, SOCK_SEQPACKET | SOCK_NONBLOCK, SL_RELAY_FD, &end, &k->pid);
	if (code)
		return code;
	if (sl_channel_open(&k->channel, k->loop, end, &ops, k)) {
		kill_relay(k, "there is no memory for its channel");
		return 0;
	}
	k->young = true;
	k->starts++;
	memcpy(m.text, k->secret_key, sizeof k->secret_key);
	tell(k, SL_RELAY_CURVE, 0, k->options.curve, 0);
	sl_channel_send_fd(k->channel, &m, k->options.listening);
	sodium_memzero(&m, sizeof m);
	return 0;
}

static void on_connection(uv_poll_t *poll, int status, int events)
{
	struct sl_keeper *k = poll->data;
	uv_poll_stop(poll);
	int code = start(k);
	if (!code)
		return;
	k->pause = 1;
	k->ops->refused(k->arg, strerror(code));
}

static void on_tick(uv_timer_t *timer)
{
	struct sl_keeper *k = timer->data;
	if (k->stopping) {
		if (k->silent++ == CLOSE_TICKS) {
			sl_log_warning("stream", "the relay of ZeroMQ subscribers does not end by itself");
			kill_relay(k, "the server stops");
		}
		return;
	}
	k->young = false;
	if (k->pause && !--k->pause)
		wait_for_connection(k);
	if (!k->channel)
		return;
	if (!k->silent++)
		tell(k, SL_RELAY_PING, 0, 0, 0);
	else if (k->silent > SILENT_TICKS)
		kill_relay(k, "it has not answered for 30 s");
}

/* ---- frames ------------------------------------------------------------------------------------- */

struct sl_keeper_frame *sl_keeper_frame_create(struct sl_keeper *k, struct sl_buffer *buffer)
{
	struct sl_keeper_frame *f = calloc(1, sizeof *f);
	if (!f)
		return NULL;
	*f = (struct sl_keeper_frame){.keeper = k, .buffer = sl_buffer_ref(buffer), .references = 1,
				      .number = ++k->frames};
	return f;
}

struct sl_keeper_frame *sl_keeper_frame_ref(struct sl_keeper_frame *f)
{
	f->references++;
	return f;
}

void sl_keeper_frame_unref(struct sl_keeper_frame *f)
{
	if (!f || --f->references)
		return;
	if (f->start == f->keeper->starts)
		tell(f->keeper, SL_RELAY_DROP, 0, 0, f->number);
	sl_buffer_unref(f->buffer);
	free(f);
}

void sl_keeper_send(struct sl_keeper *k, uint64_t id, struct sl_keeper_frame *f)
{
	if (!k->channel)
		return;
	if (f->start != k->starts) {
		f->start = k->starts;
		sl_channel_send_bytes(k->channel, &(struct sl_relay_message){
			.kind = SL_RELAY_FRAME, .frame = f->number, .number = (uint32_t)f->buffer->bytes}, f->buffer);
	}
	tell(k, SL_RELAY_SEND, id, 0, f->number);
}

void sl_keeper_end(struct sl_keeper *k, uint64_t id)
{
	tell(k, SL_RELAY_END, id, 0, 0);
}

void sl_keeper_curve(struct sl_keeper *k, bool curve)
{
	if (k->options.curve == curve)
		return;
	k->options.curve = curve;
	tell(k, SL_RELAY_CURVE, 0, curve, 0);
}

/* ---- life ----------------------------------------------------------------------------------------- */

int sl_keeper_most(int wanted)
{
	struct rlimit limit;
	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur == RLIM_INFINITY)
		return wanted;
	rlim_t most = limit.rlim_cur > OTHER_DESCRIPTORS + DESCRIPTORS ?
		      (limit.rlim_cur - OTHER_DESCRIPTORS) / DESCRIPTORS : 1;
	if (most >= (rlim_t)wanted)
		return wanted;
	sl_log_warning("stream", "%d subscribers at most, not %d (max_subscribers): the process may have only %llu "
		       "descriptors", (int)most, wanted, (unsigned long long)limit.rlim_cur);
	return (int)most;
}

int sl_keeper_create(struct sl_keeper **out, uv_loop_t *loop, const struct sl_keeper_options *options,
		     const struct sl_keeper_ops *ops, void *arg, struct sl_error *err)
{
	struct sl_keeper *k = calloc(1, sizeof *k);
	if (!k || uv_poll_init(loop, &k->listening, options->listening)) {
		free(k);
		close(options->listening);
		return sl_error_memory(err, "the frame publisher");
	}
	k->loop = loop;
	k->options = *options;
	k->options.secret_key = NULL;
	memcpy(k->secret_key, options->secret_key, sizeof k->secret_key);
	k->ops = ops;
	k->arg = arg;
	uv_signal_init(loop, &k->child);
	uv_timer_init(loop, &k->tick);
	k->listening.data = k->child.data = k->tick.data = k;
	k->handles = 3;
	uv_signal_start(&k->child, on_child, SIGCHLD);
	uv_timer_start(&k->tick, on_tick, TICK_MS, TICK_MS);
	wait_for_connection(k);
	*out = k;
	return 0;
}

void sl_keeper_destroy(struct sl_keeper *k, void (*closed)(void *arg), void *arg)
{
	k->closed = closed;
	k->closed_arg = arg;
	k->stopping = true;
	k->silent = 0;
	uv_close((uv_handle_t *)&k->listening, on_handle_closed);
	sl_channel_close(k->channel);  /* at its end, the relay exits */
	k->channel = NULL;
	if (!k->pid)
		close_handles(k);
}
