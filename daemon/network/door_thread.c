/* The thread of the door owns its loop, strangers and sessions. A stranger becomes a session when the daemon's loop has
 * admitted it, or another connection of one when it knows its secret. */
#include "daemon/network/door_internal.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <sodium.h>

#define TICK_MS 1000
#define STRANGER_MS 10000     /* for the handshake and the greeting */
#define ANSWER_MS 10000       /* for the daemon's answer, and to send it */
#define AT_ONCE 16            /* connections accepted in a turn */
#define SPARE_DESCRIPTORS 24
#define HEAD_BYTES 16         /* of a message (wire.h) */
#define UNANSWERED_MS 15000   /* of TCP */

enum phase { SHAKING, GREETING, WAITING, ANSWERING };

struct stranger {
	struct sl_link link;
	struct sl_door *door;
	uint64_t id, since_ms;
	enum phase phase;
	char address[SL_DOOR_PLACE];
	struct sl_tls *tls;
	unsigned char got[HEAD_BYTES + SL_DOOR_GREETING];
	size_t have;
	char *answer;
	size_t answer_bytes, answered;
	struct session *session;      /* it belongs to, when the answer is sent; NULL: it is refused */
	uint64_t received;            /* by its end of the stream */
};

struct session {
	struct sl_link link;
	struct sl_door *door;
	uint64_t id;
	char secret[2 * SL__DOOR_SECRET_BYTES + 1];
	struct sl_tunnel *tunnel;
	uint64_t cut_ms;              /* since when it is away; 0: it is not */
	uint64_t grace_ms;
	bool drained;                 /* the daemon's port has closed its socket; the reason may be on its way */
	bool ending;
	char why[240];
};

/* ---- strangers --------------------------------------------------------------------------------------- */

static void listen_again(struct sl_door *d);

static void forget(struct stranger *s)
{
	struct sl_door *d = s->door;
	sl_list_unlink(&s->link);
	sl_tls_close(s->tls);
	free(s->answer);
	free(s);
	listen_again(d);
}

static void turn_away(struct stranger *s)
{
	atomic_fetch_add(&s->door->gone, 1);
	forget(s);
}

/* The message with which a stranger is answered: as in wire.h, without parts. */
static void answer(struct stranger *s, json_t *text)
{
	char *json = text ? json_dumps(text, JSON_COMPACT) : NULL;
	size_t bytes = json ? strlen(json) : 0;
	json_decref(text);
	s->answer = json ? malloc(HEAD_BYTES + bytes) : NULL;
	if (!s->answer) {
		free(json);
		turn_away(s);
		return;
	}
	memcpy(s->answer, "SLW1", 4);
	memset(s->answer + 4, 0, HEAD_BYTES - 4);
	for (int i = 0; i < 4; i++)
		s->answer[4 + i] = (char)(bytes >> 8 * i);
	memcpy(s->answer + HEAD_BYTES, json, bytes);
	free(json);
	s->answer_bytes = HEAD_BYTES + bytes;
	s->answered = 0;
	s->phase = ANSWERING;
	s->since_ms = uv_now(&s->door->loop);
	sl_tls_want(s->tls, false, true);
}

static void refuse(struct stranger *s, const char *why, bool again)
{
	answer(s, json_pack("{s:s, s:s, s:b}", "kind", "refused", "reason", why, "again", again));
}

/* The answer was sent: the connection carries the session's stream. */
static void attach(struct stranger *s)
{
	struct session *x = s->session;
	struct sl_tls *tls = s->tls;
	s->tls = NULL;
	bool was_away = x->cut_ms;
	if (sl_tunnel_attach(x->tunnel, tls, s->received)) {
		turn_away(s);
		return;
	}
	x->cut_ms = 0;
	forget(s);
	if (was_away) {
		struct sl__door_message *m = sl__door_message(AWAY, x->id);
		sl__door_tell(x->door, m);
	}
}

static void on_cut(void *arg, const char *why);

static struct session *session_named(struct sl_door *d, const char *secret)
{
	struct session *found = NULL;
	SL_LIST_EACH(struct session, x, &d->sessions, link)
		if (strlen(secret) == 2 * SL__DOOR_SECRET_BYTES && !x->ending &&
		    !sodium_memcmp(x->secret, secret, 2 * SL__DOOR_SECRET_BYTES))
			found = x;
	return found;
}

static void welcome(struct stranger *s, struct session *x)
{
	s->session = x;
	if (!x->cut_ms)
		on_cut(x, "it has connected anew");
	sl_tunnel_detach(x->tunnel);  /* so that the count in the answer stays true */
	answer(s, json_pack("{s:s, s:s, s:I, s:f}", "kind", "welcome", "session", x->secret, "received",
			    (json_int_t)sl_tunnel_received(x->tunnel), "grace_s", (double)x->grace_ms / 1e3));
}

static void take_greeting(struct stranger *s, size_t bytes)
{
	json_t *greeting = json_loadb((char *)s->got + HEAD_BYTES, bytes, JSON_REJECT_DUPLICATES, NULL);
	const char *kind = json_string_value(json_object_get(greeting, "kind"));
	const char *secret = json_string_value(json_object_get(greeting, "session"));
	json_int_t received = json_integer_value(json_object_get(greeting, "received"));
	sodium_memzero(s->got, sizeof s->got);
	if (!kind || strcmp(kind, "join") || received < 0) {
		json_decref(greeting);
		turn_away(s);
		return;
	}
	s->phase = WAITING;
	s->since_ms = uv_now(&s->door->loop);
	sl_tls_want(s->tls, false, false);
	if (secret) {
		struct session *x = session_named(s->door, secret);
		json_decref(greeting);
		s->received = (uint64_t)received;
		if (x)
			welcome(s, x);
		else
			refuse(s, "The session has ended. Begin a new one.", true);
		return;
	}
	struct sl__door_message *m = sl__door_message(GREETED, s->id);
	snprintf(m->address, sizeof m->address, "%s", s->address);
	m->text = greeting;
	sl__door_tell(s->door, m);
}

static size_t length_of(const unsigned char *head)
{
	size_t bytes = 0;
	for (int i = 3; i >= 0; i--)
		bytes = bytes << 8 | head[4 + i];
	for (int i = 8; i < HEAD_BYTES; i++)
		if (head[i])
			return 0;
	return memcmp(head, "SLW1", 4) || bytes > SL_DOOR_GREETING ? 0 : bytes;
}

/* Reads the greeting: false, if the stranger is gone. */
static void read_greeting(struct stranger *s)
{
	for (;;) {
		size_t bytes = s->have < HEAD_BYTES ? 0 : length_of(s->got);
		if (s->have >= HEAD_BYTES && !bytes) {
			turn_away(s);
			return;
		}
		if (s->have >= HEAD_BYTES && s->have == HEAD_BYTES + bytes) {
			take_greeting(s, bytes);
			return;
		}
		ssize_t n = sl_tls_read(s->tls, s->got + s->have, HEAD_BYTES + bytes - s->have);
		if (n == SL_TLS_AGAIN) {
			sl_tls_want(s->tls, true, false);
			return;
		}
		if (n <= 0) {
			turn_away(s);
			return;
		}
		s->have += (size_t)n;
	}
}

static void send_answer(struct stranger *s)
{
	while (s->answered < s->answer_bytes) {
		ssize_t n = sl_tls_write(s->tls, s->answer + s->answered, s->answer_bytes - s->answered);
		if (n == SL_TLS_AGAIN)
			return;
		if (n <= 0) {
			turn_away(s);
			return;
		}
		s->answered += (size_t)n;
	}
	if (s->session) {
		attach(s);
		return;
	}
	sl_tls_bye(s->tls);
	turn_away(s);
}

static void on_stranger(void *arg)
{
	struct stranger *s = arg;
	if (s->phase == SHAKING) {
		int code = sl_tls_shake(s->tls);
		if (code == SL_TLS_BROKEN)
			turn_away(s);
		if (code)
			return;
		s->phase = GREETING;
	}
	if (s->phase == GREETING)
		read_greeting(s);
	else if (s->phase == ANSWERING)
		send_answer(s);
}

/* ---- accepting ------------------------------------------------------------------------------------------ */

static void address_of(int fd, char out[SL_DOOR_PLACE])
{
	struct sockaddr_storage a = {0};
	socklen_t length = sizeof a;
	char host[INET6_ADDRSTRLEN] = "?";
	getpeername(fd, (struct sockaddr *)&a, &length);
	bool six = a.ss_family == AF_INET6;
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)&a;
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)&a;
	inet_ntop(six ? AF_INET6 : AF_INET, six ? (const void *)&v6->sin6_addr : (const void *)&v4->sin_addr, host,
		  sizeof host);
	snprintf(out, SL_DOOR_PLACE, six ? "[%s]:%u" : "%s:%u", host, ntohs(six ? v6->sin6_port : v4->sin_port));
}

static bool same_host(const struct stranger *a, const struct stranger *b)
{
	size_t length = (size_t)(strrchr(a->address, ':') - a->address);
	return !strncmp(a->address, b->address, length + 1);
}

static int from_its_host(const struct sl_door *d, const struct stranger *s)
{
	int count = 0;
	SL_LIST_EACH(const struct stranger, o, &d->strangers, link)
		count += same_host(s, o);
	return count;
}

/* Drops the oldest stranger of the address with the most of them. Those that wait for our answer stay. */
static bool make_room(struct sl_door *d)
{
	struct stranger *worst = NULL;
	int most = 0;
	SL_LIST_EACH(struct stranger, s, &d->strangers, link) {
		int count = s->phase == WAITING ? 0 : from_its_host(d, s);
		if (count > most) {
			most = count;
			worst = s;
		}
	}
	if (!worst)
		return false;
	atomic_fetch_add(&d->crowded, 1);
	turn_away(worst);
	return true;
}

static bool is_among_the_last(int fd)
{
	struct rlimit limit;
	return !getrlimit(RLIMIT_NOFILE, &limit) && (rlim_t)fd + SPARE_DESCRIPTORS >= limit.rlim_cur;
}

static void set_options(int fd)
{
	static const struct { int level, option, value; } options[] = {
		{SOL_SOCKET, SO_KEEPALIVE, 1}, {IPPROTO_TCP, TCP_NODELAY, 1},
		{IPPROTO_TCP, TCP_USER_TIMEOUT, UNANSWERED_MS}};
	for (size_t i = 0; i < sizeof options / sizeof *options; i++)
		setsockopt(fd, options[i].level, options[i].option, &options[i].value, sizeof options[i].value);
}

static void begin(struct sl_door *d, int fd)
{
	struct stranger *s = calloc(1, sizeof *s);
	if (!s) {
		close(fd);
		return;
	}
	atomic_fetch_add(&d->connections, 1);
	set_options(fd);
	s->door = d;
	s->id = ++d->strangers_made;
	s->since_ms = uv_now(&d->loop);
	address_of(fd, s->address);
	if (sl_tls_open(&s->tls, &d->loop, fd, d->keys, NULL, on_stranger, s)) {
		free(s);
		return;
	}
	sl_list_append(&d->strangers, &s->link);
	on_stranger(s);
}

static void on_connection(uv_poll_t *poll, int status, int events)
{
	struct sl_door *d = poll->data;
	for (int i = 0; i < AT_ONCE; i++) {
		if (d->strangers.count >= SL_DOOR_STRANGERS && !make_room(d))
			break;
		int fd = accept4(d->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd >= 0 && is_among_the_last(fd)) {
			close(fd);
			break;
		}
		if (fd < 0 && errno == EAGAIN)
			return;
		if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS))
			break;
		if (fd >= 0)
			begin(d, fd);
		if (i == AT_ONCE - 1)
			return;
	}
	d->full = true;  /* until somebody has gone, or for a second */
	uv_poll_stop(&d->listening);
}

static void listen_again(struct sl_door *d)
{
	if (!d->full || d->stopping)
		return;
	d->full = false;
	uv_poll_start(&d->listening, UV_READABLE, on_connection);
}

/* ---- sessions ------------------------------------------------------------------------------------------- */

static void session_over(struct session *x, const char *why, const char *last)
{
	struct sl__door_message *m = sl__door_message(ENDED, x->id);
	snprintf(m->why, sizeof m->why, "%s", why);
	m->text = last && last[0] ? json_loads(last, JSON_REJECT_DUPLICATES, NULL) : NULL;
	sl_list_unlink(&x->link);
	sl_tunnel_destroy(x->tunnel);
	SL_LIST_EACH(struct stranger, s, &x->door->strangers, link)
		if (s->session == x)
			turn_away(s);
	sl__door_tell(x->door, m);
	free(x);
}

static void on_note(void *arg, const char *text)
{
	struct session *x = arg;
	struct sl__door_message *m = sl__door_message(NOTE, x->id);
	m->text = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
	if (json_is_object(m->text))
		sl__door_tell(x->door, m);
	else
		sl__door_message_free(m);
}

static void on_cut(void *arg, const char *why)
{
	struct session *x = arg;
	struct sl__door_message *m = sl__door_message(AWAY, x->id);
	x->cut_ms = uv_now(&x->door->loop);
	snprintf(x->why, sizeof x->why, "%s", why);
	snprintf(m->why, sizeof m->why, "%s", why);
	m->flag = true;
	sl__door_tell(x->door, m);
}

/* The daemon's port has closed its socket. If it has told why, that message is in the mailbox already. */
static void on_drained(void *arg)
{
	struct session *x = arg;
	x->drained = true;
	uv_async_send(&x->door->called);
}

static void end_drained(struct session *x)
{
	x->ending = true;
	sl_tunnel_end(x->tunnel, "{\"reason\":\"The daemon has ended the session.\",\"again\":true}");
}

static void on_ended(void *arg, const char *text)
{
	struct session *x = arg;
	session_over(x, x->ending ? "it was ended" : "", text);
}

static void admit(struct sl_door *d, struct sl__door_message *m)
{
	static const struct sl_tunnel_ops ops = {.note = on_note, .cut = on_cut, .drained = on_drained, .ended = on_ended};
	struct stranger *s = SL_LIST_FIND(struct stranger, s, &d->strangers, link, s->id == m->id);
	struct session *x = calloc(1, sizeof *x);
	if (!x)
		abort();
	x->door = d;
	x->id = m->session;
	x->grace_ms = (uint64_t)(m->grace_s * 1e3);
	memcpy(x->secret, m->secret, sizeof x->secret);
	int code = sl_tunnel_create(&x->tunnel, &d->loop, m->fd, &ops, x);
	m->fd = -1;
	if (code || !s) {
		struct sl__door_message *end = sl__door_message(ENDED, x->id);
		snprintf(end->why, sizeof end->why, "%s", code ? "there is no memory for its connection" :
			 "it has gone before it was admitted");
		if (!code)
			sl_tunnel_destroy(x->tunnel);
		free(x);
		sl__door_tell(d, end);
		return;
	}
	sl_list_append(&d->sessions, &x->link);
	x->cut_ms = uv_now(&d->loop);
	snprintf(x->why, sizeof x->why, "it has not taken its welcome");
	welcome(s, x);
}

static void end_session(struct sl_door *d, const struct sl__door_message *m)
{
	struct session *x = SL_LIST_FIND(struct session, x, &d->sessions, link, x->id == m->id);
	if (!x || x->ending)
		return;
	json_t *text = json_pack("{s:s, s:b}", "reason", m->why, "again", m->flag);
	char *json = text ? json_dumps(text, JSON_COMPACT) : NULL;
	x->ending = true;
	sl_tunnel_end(x->tunnel, json ? json : "{}");
	free(json);
	json_decref(text);
}

static void stop(struct sl_door *d)
{
	d->stopping = true;
	uv_poll_stop(&d->listening);
	SL_LIST_EACH(struct stranger, s, &d->strangers, link)
		forget(s);
	SL_LIST_EACH(struct session, x, &d->sessions, link) {
		sl_list_unlink(&x->link);
		sl_tunnel_destroy(x->tunnel);
		free(x);
	}
	uv_close((uv_handle_t *)&d->called, NULL);
	uv_close((uv_handle_t *)&d->tick, NULL);
	uv_close((uv_handle_t *)&d->listening, NULL);
}

static void on_tick(uv_timer_t *timer)
{
	struct sl_door *d = timer->data;
	uint64_t now = uv_now(&d->loop);
	char why[300];
	SL_LIST_EACH(struct stranger, s, &d->strangers, link)
		if (now - s->since_ms > (s->phase < WAITING ? STRANGER_MS : ANSWER_MS))
			turn_away(s);
	SL_LIST_EACH(struct session, x, &d->sessions, link) {
		if (x->cut_ms && !x->ending && now - x->cut_ms > x->grace_ms) {
			snprintf(why, sizeof why, "it has not come back for %.10g s (%s)", (double)x->grace_ms / 1e3, x->why);
			session_over(x, why, NULL);
		} else {
			sl_tunnel_tick(x->tunnel);
		}
	}
	listen_again(d);
}

static void on_called(uv_async_t *async)
{
	struct sl_door *d = async->data;
	for (struct sl_message *next, *m = sl_mailbox_take(&d->to_thread); m; m = next) {
		struct sl__door_message *c = (struct sl__door_message *)m;
		struct stranger *s;
		next = m->next;
		if (d->stopping) {
			sl__door_message_free(c);
			continue;
		}
		switch (c->what) {
		case ADMIT: admit(d, c); break;
		case END: end_session(d, c); break;
		case STOP: stop(d); break;
		case REFUSE:
			s = SL_LIST_FIND(struct stranger, s, &d->strangers, link, s->id == c->id);
			if (s)
				refuse(s, c->why, c->flag);
			break;
		default: break;
		}
		sl__door_message_free(c);
	}
	SL_LIST_EACH(struct session, x, &d->sessions, link)
		if (x->drained && !x->ending && !d->stopping)
			end_drained(x);
}

static void *run(void *arg)
{
	struct sl_door *d = arg;
	sigset_t all;
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, NULL);
	prctl(PR_SET_NAME, "door");
	uv_run(&d->loop, UV_RUN_DEFAULT);
	uv_loop_close(&d->loop);
	sl__door_tell(d, sl__door_message(STOPPED, 0));
	return NULL;
}

bool sl__door_thread_start(struct sl_door *d)
{
	if (uv_loop_init(&d->loop))
		return false;
	uv_async_init(&d->loop, &d->called, on_called);
	uv_timer_init(&d->loop, &d->tick);
	uv_poll_init(&d->loop, &d->listening, d->fd);
	d->called.data = d->tick.data = d->listening.data = d;
	uv_timer_start(&d->tick, on_tick, TICK_MS, TICK_MS);
	uv_poll_start(&d->listening, UV_READABLE, on_connection);
	return !pthread_create(&d->thread, NULL, run, d);
}
