/* One state machine:
 *
 *   WAITING -> RESOLVING -> CONNECTING -> SHAKING -> GREETING -> RUNNING
 *      ^___________________________________________________________|  the connection was lost, or a session has ended
 *
 * The session (its secret, its stream and the child) outlives connections. It ends when the daemon says so, when the
 * child has ended, or when the daemon was not reached within the grace. */
#include "daemon/worker/dial.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <jansson.h>
#include <sodium.h>

#include "daemon/processes/spawn.h"
#include "daemon/util/log.h"
#include "daemon/util/ulid.h"
#include "daemon/worker/dial_internal.h"
#include "daemon/network/tunnel.h"
#include "daemon/worker/worker.h"

#define TICK_MS 100
#define STEP_MS 10000          /* for each step of a connection */
#define RETRY_MS 500
#define RETRY_MAX_MS 30000
#define LASTED_MS 60000        /* a child that lived so long is followed by the next one at once */
#define HEAD_BYTES 16
#define ANSWER_BYTES 4096
#define CRASHES_BYTES 4096

enum phase { WAITING, RESOLVING, CONNECTING, SHAKING, GREETING, RUNNING };

struct dial {
	struct sl_dial_options o;
	const char *slurm_job;
	char instance[33];
	/* life */
	uv_loop_t loop;
	uv_timer_t tick;
	uv_signal_t term, interrupt, child_ended;
	uv_getaddrinfo_t lookup;
	enum phase phase;
	uint64_t since_ms, retry_ms, backoff_ms;
	int status;                   /* of the exit */
	/* a connection */
	struct addrinfo *addresses, *address;
	int fd;
	uv_poll_t *poll;              /* while it connects */
	struct sl_tls *tls;
	char *greeting;
	size_t greeting_bytes, greeted, have;
	unsigned char answer[HEAD_BYTES + ANSWER_BYTES];
	/* a session */
	char secret[80];              /* "": none */
	double grace_s;
	struct sl_tunnel *tunnel;
	uint64_t cut_ms;              /* since when it is not connected; 0: it is */
	pid_t pid;
	uint64_t started_ms;
	bool leaving;                 /* asked to end */
	uint64_t leave_ms;            /* until then */
	char why[240];                /* the last connection failed; logged once for the same reason */
};

static void connect_next(struct dial *d);
static void on_ready(void *arg);

/* ---- the end -------------------------------------------------------------------------------------------- */

static void end_child(struct dial *d)
{
	if (!d->pid)
		return;
	kill(d->pid, SIGKILL);
	while (waitpid(d->pid, NULL, 0) < 0 && errno == EINTR)
		;
	d->pid = 0;
}

static void exit_with(struct dial *d, int status)
{
	char path[PATH_MAX + 16];
	end_child(d);
	snprintf(path, sizeof path, "%s/crashes", d->o.folder);
	unlink(path);
	rmdir(d->o.folder);
	exit(status);
}

static void drop_connection(struct dial *d)
{
	if (d->poll) {
		uv_close((uv_handle_t *)d->poll, (uv_close_cb)free);
		d->poll = NULL;
		close(d->fd);
	}
	sl_tls_close(d->tls);
	d->tls = NULL;
	free(d->greeting);
	d->greeting = NULL;
	if (d->addresses)
		uv_freeaddrinfo(d->addresses);
	d->addresses = NULL;
}

static void wait_for_next(struct dial *d, uint64_t ms)
{
	drop_connection(d);
	d->phase = WAITING;
	d->retry_ms = uv_now(&d->loop) + ms;
}

static void try_later(struct dial *d, const char *why)
{
	if (strcmp(d->why, why))
		sl_log_warning("worker", "the daemon at %s port %s: %s", d->o.host, d->o.port, why);
	snprintf(d->why, sizeof d->why, "%s", why);
	wait_for_next(d, d->backoff_ms);
	d->backoff_ms = 2 * d->backoff_ms < RETRY_MAX_MS ? 2 * d->backoff_ms : RETRY_MAX_MS;
	if (d->secret[0] && d->backoff_ms > 2000)
		d->backoff_ms = 2000;  /* the session ends when the grace does */
}

/* The session is over: the next connection begins another one. */
static void end_session(struct dial *d, uint64_t wait_ms)
{
	end_child(d);
	sl_tunnel_destroy(d->tunnel);
	d->tunnel = NULL;
	d->secret[0] = 0;
	d->cut_ms = 0;
	if (d->leaving)
		exit_with(d, 0);
	wait_for_next(d, wait_ms);
}

/* ---- the child ------------------------------------------------------------------------------------------- */

/* The jobs that the child computed when it crashed. */
static json_t *crashed_jobs(const struct dial *d)
{
	char path[PATH_MAX + 16], text[CRASHES_BYTES] = "";
	json_t *jobs = json_array();
	snprintf(path, sizeof path, "%s/crashes", d->o.folder);
	int fd = open(path, O_RDWR | O_CLOEXEC);
	ssize_t bytes = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
	if (fd >= 0 && ftruncate(fd, 0))
		unlink(path);
	if (fd >= 0)
		close(fd);
	char *at = bytes > 0 ? text : NULL, *word;
	while ((word = strsep(&at, " \n")))
		if (sl_ulid_valid(word) && json_array_size(jobs) < 100)
			json_array_append_new(jobs, json_string(word));
	return jobs;
}

static void child_has_ended(struct dial *d, int status)
{
	char why[160];
	bool lasted = uv_now(&d->loop) - d->started_ms > LASTED_MS;
	d->pid = 0;
	if (WIFSIGNALED(status))
		snprintf(why, sizeof why, "its process was ended by signal %d (%s)", WTERMSIG(status),
			 strsignal(WTERMSIG(status)));
	else
		snprintf(why, sizeof why, "its process ended with status %d", WEXITSTATUS(status));
	sl_log_warning("worker", "%s", why);
	d->backoff_ms = lasted ? RETRY_MS : 2 * d->backoff_ms < RETRY_MAX_MS ? 2 * d->backoff_ms : RETRY_MAX_MS;
	if (!d->tunnel)
		return;
	json_t *last = json_pack("{s:s, s:i, s:o}", "reason", why, "signal", WIFSIGNALED(status) ? WTERMSIG(status) : 0,
				 "crashed", crashed_jobs(d));
	char *text = last ? json_dumps(last, JSON_COMPACT) : NULL;
	sl_tunnel_end(d->tunnel, text ? text : "{}");
	free(text);
	json_decref(last);
}

static void on_child_ended(uv_signal_t *handle, int number)
{
	struct dial *d = handle->data;
	int status;
	if (d->pid && waitpid(d->pid, &status, WNOHANG) == d->pid)
		child_has_ended(d, status);
}

/* ---- the stream --------------------------------------------------------------------------------------------- */

static void on_note(void *arg, const char *text)
{
}

static void on_cut(void *arg, const char *why)
{
	struct dial *d = arg;
	d->cut_ms = uv_now(&d->loop);
	sl_log_warning("worker", "the connection is lost: %s; the device computes on", why);
	snprintf(d->why, sizeof d->why, "%s", why);
	d->backoff_ms = RETRY_MS;
	wait_for_next(d, 0);
}

static void on_drained(void *arg)
{
	/* the child ends: its exit status tells why */
}

/* The daemon has ended the session, or has taken what we said at its end. */
static void on_over(void *arg, const char *text)
{
	struct dial *d = arg;
	json_t *last = text[0] ? json_loads(text, 0, NULL) : NULL;
	const char *reason = json_string_value(json_object_get(last, "reason"));
	bool again = !last || !json_is_false(json_object_get(last, "again"));
	if (reason)
		sl_log_info("worker", "the daemon has ended the session: %.200s", reason);
	json_decref(last);
	if (!again)
		exit_with(d, 0);
	end_session(d, d->backoff_ms);
}

static bool start_child(struct dial *d)
{
	static const struct sl_tunnel_ops ops = {.note = on_note, .cut = on_cut, .drained = on_drained, .ended = on_over};
	int end;
	d->started_ms = uv_now(&d->loop);
	if (sl_spawn_self(SL_WORKER_ARGUMENT, SOCK_STREAM, SL_WORKER_FD, &end, &d->pid))
		return false;
	return !sl_tunnel_create(&d->tunnel, &d->loop, end, &ops, d);
}

/* ---- the daemon's answer -------------------------------------------------------------------------------------- */

static void refused(struct dial *d, const json_t *answer)
{
	const char *reason = json_string_value(json_object_get(answer, "reason"));
	char why[240];
	snprintf(why, sizeof why, "it refuses this worker: %.200s", reason ? reason : "no reason");
	if (!json_is_true(json_object_get(answer, "again"))) {
		sl_log_error("worker", "the daemon at %s port %s refuses this worker: %.300s", d->o.host, d->o.port,
			     reason ? reason : "no reason");
		exit_with(d, 2);
	}
	if (d->secret[0]) {
		sl_log_warning("worker", "%s", why);
		d->backoff_ms = RETRY_MS;
		end_session(d, 0);
	} else {
		try_later(d, why);
	}
}

static void welcomed(struct dial *d, const json_t *answer)
{
	const char *secret = json_string_value(json_object_get(answer, "session"));
	json_int_t received = json_integer_value(json_object_get(answer, "received"));
	struct sl_tls *tls = d->tls;
	if (!secret || strlen(secret) >= sizeof d->secret || received < 0) {
		try_later(d, "its answer cannot be used");
		return;
	}
	if (!d->tunnel && !start_child(d)) {
		try_later(d, "the worker's process cannot be started");
		end_child(d);
		return;
	}
	snprintf(d->secret, sizeof d->secret, "%s", secret);
	d->grace_s = json_number_value(json_object_get(answer, "grace_s"));
	d->tls = NULL;
	drop_connection(d);
	if (sl_tunnel_attach(d->tunnel, tls, (uint64_t)received)) {
		sl_log_error("worker", "the daemon and this worker do not agree on what was sent");
		end_session(d, RETRY_MS);
		return;
	}
	sl_log_info("worker", d->cut_ms ? "connected again to %s port %s" : "connected to %s port %s", d->o.host,
		    d->o.port);
	d->phase = RUNNING;
	d->cut_ms = 0;
	d->why[0] = 0;
	d->backoff_ms = RETRY_MS;
}

static void take_answer(struct dial *d, size_t bytes)
{
	json_t *answer = json_loadb((char *)d->answer + HEAD_BYTES, bytes, 0, NULL);
	const char *kind = json_string_value(json_object_get(answer, "kind"));
	if (kind && !strcmp(kind, "welcome"))
		welcomed(d, answer);
	else if (kind && !strcmp(kind, "refused"))
		refused(d, answer);
	else
		try_later(d, "it does not answer as a daemon does");
	json_decref(answer);
}

static void make_greeting(struct dial *d)
{
	char host[256] = "";
	gethostname(host, sizeof host - 1);
	json_t *o = json_pack("{s:s, s:i, s:s, s:s, s:s, s:s, s:i, s:s, s:i, s:i, s:s}", "kind", "join", "protocol",
			      SL_WORKER_PROTOCOL, "version", SL_VERSION, "token", d->o.token, "name", d->o.name ? d->o.name : host,
			      "host", host, "pid", (int)getpid(), "engine", d->o.engine, "index", (int)d->o.index, "threads",
			      (int)d->o.threads, "instance", d->instance);
	if (d->slurm_job)
		json_object_set_new(o, "slurm_job", json_string(d->slurm_job));
	if (d->secret[0]) {
		json_object_del(o, "token");
		json_object_set_new(o, "session", json_string(d->secret));
		json_object_set_new(o, "received", json_integer((json_int_t)sl_tunnel_received(d->tunnel)));
	}
	char *text = json_dumps(o, JSON_COMPACT);
	size_t bytes = text ? strlen(text) : 0;
	json_decref(o);
	d->greeting = calloc(1, HEAD_BYTES + bytes);
	if (!text || !d->greeting)
		exit_with(d, 1);
	memcpy(d->greeting, "SLW1", 4);
	for (int i = 0; i < 4; i++)
		d->greeting[4 + i] = (char)(bytes >> 8 * i);
	memcpy(d->greeting + HEAD_BYTES, text, bytes);
	free(text);
	d->greeting_bytes = HEAD_BYTES + bytes;
	d->greeted = d->have = 0;
}

static size_t answer_length(const struct dial *d)
{
	size_t bytes = 0;
	for (int i = 3; i >= 0; i--)
		bytes = bytes << 8 | d->answer[4 + i];
	return memcmp(d->answer, "SLW1", 4) || bytes > ANSWER_BYTES ? 0 : bytes;
}

/* Returns true when the whole answer is there; *why: the connection is broken. */
static bool read_answer(struct dial *d, size_t *bytes, const char **why)
{
	for (;;) {
		*bytes = d->have < HEAD_BYTES ? 0 : answer_length(d);
		if (d->have >= HEAD_BYTES && !*bytes) {
			*why = "it does not answer as a daemon does";
			return false;
		}
		if (d->have >= HEAD_BYTES && d->have == HEAD_BYTES + *bytes)
			return true;
		ssize_t n = sl_tls_read(d->tls, d->answer + d->have, HEAD_BYTES + *bytes - d->have);
		if (n == SL_TLS_AGAIN)
			return false;
		if (n <= 0) {
			*why = n ? sl_tls_why(d->tls) : "it has closed the connection";
			return false;
		}
		d->have += (size_t)n;
	}
}

static void converse(struct dial *d)
{
	const char *why = NULL;
	size_t bytes;
	while (d->greeted < d->greeting_bytes) {
		ssize_t n = sl_tls_write(d->tls, d->greeting + d->greeted, d->greeting_bytes - d->greeted);
		if (n == SL_TLS_AGAIN) {
			sl_tls_want(d->tls, false, true);
			return;
		}
		if (n <= 0) {
			try_later(d, sl_tls_why(d->tls));
			return;
		}
		d->greeted += (size_t)n;
	}
	sl_tls_want(d->tls, true, false);
	if (read_answer(d, &bytes, &why))
		take_answer(d, bytes);
	else if (why)
		try_later(d, why);
}

/* ---- connecting ------------------------------------------------------------------------------------------------- */

static void on_ready(void *arg)
{
	struct dial *d = arg;
	if (d->phase == SHAKING) {
		int code = sl_tls_shake(d->tls);
		if (code == SL_TLS_BROKEN)
			try_later(d, sl_tls_why(d->tls));
		if (code)
			return;
		d->phase = GREETING;
		d->since_ms = uv_now(&d->loop);
		make_greeting(d);
	}
	if (d->phase == GREETING)
		converse(d);
}

static void connected(struct dial *d)
{
	int one = 1, ms = 15000;
	setsockopt(d->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	setsockopt(d->fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof one);
	setsockopt(d->fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &ms, sizeof ms);
	d->phase = SHAKING;
	d->since_ms = uv_now(&d->loop);
	if (sl_tls_open(&d->tls, &d->loop, d->fd, d->o.keys, d->o.host, on_ready, d))
		try_later(d, "there is no memory for the connection");
	else
		on_ready(d);
}

static void poll_closed(uv_handle_t *handle)
{
	free(handle);
}

static void on_connect(uv_poll_t *poll, int status, int events)
{
	struct dial *d = poll->data;
	int error = 0;
	socklen_t bytes = sizeof error;
	getsockopt(d->fd, SOL_SOCKET, SO_ERROR, &error, &bytes);
	uv_close((uv_handle_t *)poll, poll_closed);
	d->poll = NULL;
	if (!error) {
		connected(d);
		return;
	}
	close(d->fd);
	d->address = d->address->ai_next;
	errno = error;
	connect_next(d);
}

/* Tries the addresses of the name one after the other. */
static void connect_next(struct dial *d)
{
	int error = errno;
	for (; d->address; d->address = d->address->ai_next) {
		d->fd = socket(d->address->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
		if (d->fd < 0) {
			error = errno;
			continue;
		}
		if (!connect(d->fd, d->address->ai_addr, d->address->ai_addrlen) || errno == EINPROGRESS)
			break;
		error = errno;
		close(d->fd);
	}
	if (!d->address) {
		try_later(d, strerror(error));
		return;
	}
	d->phase = CONNECTING;
	d->since_ms = uv_now(&d->loop);
	d->poll = calloc(1, sizeof *d->poll);
	if (!d->poll || uv_poll_init(&d->loop, d->poll, d->fd))
		exit_with(d, 1);
	d->poll->data = d;
	uv_poll_start(d->poll, UV_WRITABLE, on_connect);
}

static void on_resolved(uv_getaddrinfo_t *lookup, int status, struct addrinfo *found)
{
	struct dial *d = lookup->data;
	if (d->phase != RESOLVING) {
		uv_freeaddrinfo(found);
		return;
	}
	if (status) {
		try_later(d, uv_strerror(status));
		return;
	}
	d->addresses = d->address = found;
	errno = 0;
	connect_next(d);
}

static void dial(struct dial *d)
{
	const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_family = AF_UNSPEC};
	d->phase = RESOLVING;
	d->since_ms = uv_now(&d->loop);
	d->lookup.data = d;
	int code = uv_getaddrinfo(&d->loop, &d->lookup, on_resolved, d->o.host, d->o.port, &hints);
	if (code)
		try_later(d, uv_strerror(code));
}

/* ---- signals and time -------------------------------------------------------------------------------------------- */

static void on_term(uv_signal_t *handle, int number)
{
	struct dial *d = handle->data;
	char note[64];
	if (d->leaving || !d->tunnel) {
		sl_log_info("worker", "signal %d: ending at once", number);
		exit_with(d, 0);
	}
	sl_log_info("worker", "signal %d: the jobs leave, within %.10g s", number, d->o.leave_s);
	d->leaving = true;
	d->leave_ms = uv_now(&d->loop) + (uint64_t)(d->o.leave_s * 1e3) + 2000;
	snprintf(note, sizeof note, "{\"kind\":\"leave\",\"seconds\":%.10g}", d->o.leave_s);
	sl_tunnel_note(d->tunnel, note);
}

static void on_tick(uv_timer_t *timer)
{
	struct dial *d = timer->data;
	static int ticks;
	uint64_t now = uv_now(&d->loop);
	if (d->leaving && now >= d->leave_ms) {
		sl_log_warning("worker", "the time to leave is over: ending");
		exit_with(d, 0);
	}
	if (d->phase == WAITING && now >= d->retry_ms) {
		dial(d);
	} else if (d->phase > RESOLVING && d->phase < RUNNING && now - d->since_ms > STEP_MS) {
		try_later(d, "it does not answer");
	}
	if (d->cut_ms && d->grace_s > 0 && (double)(now - d->cut_ms) > d->grace_s * 1e3) {
		sl_log_warning("worker", "the daemon was not reached for %.10g s: its jobs are given up", d->grace_s);
		d->backoff_ms = RETRY_MS;
		end_session(d, 0);
	}
	if (++ticks % (1000 / TICK_MS) == 0 && d->tunnel)
		sl_tunnel_tick(d->tunnel);
}

int sl_dial_main(int argc, char **argv)
{
	static struct dial d;
	unsigned char random[16];
	sl_log_init(SL_LOG_INFO);
	prctl(PR_SET_NAME, "spaceland-dial");
	if (sodium_init() < 0)
		return 1;
	int status = sl__dial_options(&d.o, argc, argv);
	if (status >= 0)
		return status;
	signal(SIGPIPE, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	randombytes_buf(random, sizeof random);
	sodium_bin2hex(d.instance, sizeof d.instance, random, sizeof random);
	d.slurm_job = getenv("SLURM_JOB_ID");
	d.backoff_ms = RETRY_MS;
	if (uv_loop_init(&d.loop))
		return 1;
	uv_timer_init(&d.loop, &d.tick);
	uv_signal_init(&d.loop, &d.term);
	uv_signal_init(&d.loop, &d.interrupt);
	uv_signal_init(&d.loop, &d.child_ended);
	d.tick.data = d.term.data = d.interrupt.data = d.child_ended.data = &d;
	uv_signal_start(&d.term, on_term, SIGTERM);
	uv_signal_start(&d.interrupt, on_term, SIGINT);
	uv_signal_start(&d.child_ended, on_child_ended, SIGCHLD);
	uv_timer_start(&d.tick, on_tick, 0, TICK_MS);
	return uv_run(&d.loop, UV_RUN_DEFAULT);
}
