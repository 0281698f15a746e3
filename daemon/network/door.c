/* The side of the daemon's loop: it takes what the thread tells, and tells it what was decided. */
#include "daemon/network/door_internal.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <sodium.h>

/* ---- messages ------------------------------------------------------------------------------------- */

struct sl__door_message *sl__door_message(enum sl__door_what what, uint64_t id)
{
	struct sl__door_message *m = calloc(1, sizeof *m);
	if (!m)
		abort();  /* some hundred bytes; the malloc of a process that has none ends it elsewhere, too */
	m->what = what;
	m->id = id;
	m->fd = -1;
	return m;
}

void sl__door_message_free(struct sl__door_message *m)
{
	json_decref(m->text);
	if (m->fd >= 0)
		close(m->fd);
	free(m);
}

void sl__door_tell(struct sl_door *d, struct sl__door_message *m)
{
	sl_mailbox_put(&d->to_loop, &m->message);
	uv_async_send(&d->wake);
}

static void call(struct sl_door *d, struct sl__door_message *m)
{
	sl_mailbox_put(&d->to_thread, &m->message);
	uv_async_send(&d->called);
}

/* ---- the daemon's loop ----------------------------------------------------------------------------------- */

static void on_closed(uv_handle_t *handle)
{
	struct sl_door *d = handle->data;
	void (*closed)(void *) = d->closed;
	void *arg = d->closed_arg;
	for (struct sl_message *next, *m = sl_mailbox_take(&d->to_thread); m; m = next) {
		next = m->next;
		sl__door_message_free((struct sl__door_message *)m);
	}
	sl_mailbox_finish(&d->to_thread);
	sl_mailbox_finish(&d->to_loop);
	sl_tls_keys_destroy(d->keys);
	close(d->fd);
	free(d);
	if (closed)
		closed(arg);
}

static void on_wake(uv_async_t *async)
{
	struct sl_door *d = async->data;
	bool stopped = false;
	for (struct sl_message *next, *m = sl_mailbox_take(&d->to_loop); m; m = next) {
		struct sl__door_message *e = (struct sl__door_message *)m;
		next = m->next;
		switch (e->what) {
		case GREETED: d->closed ? (void)0 : d->ops->greeted(d->arg, e->id, e->address, e->text); break;
		case AWAY: d->closed ? (void)0 : d->ops->away(d->arg, e->id, e->flag, e->why); break;
		case NOTE: d->closed ? (void)0 : d->ops->note(d->arg, e->id, e->text); break;
		case ENDED: d->closed ? (void)0 : d->ops->ended(d->arg, e->id, e->why, e->text); break;
		case STOPPED: stopped = true; break;
		default: break;
		}
		sl__door_message_free(e);
	}
	if (!stopped)
		return;
	pthread_join(d->thread, NULL);
	uv_close((uv_handle_t *)&d->wake, on_closed);
}

static int listen_on(const struct sl_door_options *o, uint16_t *port, int *out, struct sl_error *err)
{
	struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons(o->port)};
	struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons(o->port)};
	bool v6 = inet_pton(AF_INET6, o->host, &six.sin6_addr) == 1;
	if (!v6)
		inet_pton(AF_INET, o->host, &four.sin_addr);
	struct sockaddr *address = v6 ? (struct sockaddr *)&six : (struct sockaddr *)&four;
	socklen_t bytes = v6 ? sizeof six : sizeof four;
	int one = 1, fd = socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd >= 0)
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
	if (fd < 0 || bind(fd, address, bytes) || listen(fd, 511) || getsockname(fd, address, &bytes)) {
		int why = errno;
		if (fd >= 0)
			close(fd);
		return sl_error_field(err, SL_IO, "/worker_listen", "cannot listen on %s port %u: %s.", o->host, o->port,
				      strerror(why));
	}
	*port = ntohs(v6 ? six.sin6_port : four.sin_port);
	*out = fd;
	return 0;
}

int sl_door_create(struct sl_door **out, uv_loop_t *loop, const struct sl_door_options *options,
		   const struct sl_door_ops *ops, void *arg, uint16_t *port, char *pin, struct sl_error *err)
{
	struct sl_door *d = calloc(1, sizeof *d);
	if (!d)
		return sl_error_memory(err, "the port for workers");
	d->ops = ops;
	d->arg = arg;
	int rc = sl_tls_keys_server(&d->keys, options->certificate, options->key, pin, err);
	if (!rc)
		rc = listen_on(options, port, &d->fd, err);
	if (rc) {
		sl_tls_keys_destroy(d->keys);
		free(d);
		return rc;
	}
	sl_mailbox_init(&d->to_thread);
	sl_mailbox_init(&d->to_loop);
	uv_async_init(loop, &d->wake, on_wake);
	d->wake.data = d;
	if (!sl__door_thread_start(d)) {
		uv_close((uv_handle_t *)&d->wake, on_closed);
		return sl_error_set(err, SL_NOMEM, "The thread of the port for workers could not be started.");
	}
	*out = d;
	return 0;
}

static void nothing(void *arg)
{
}

void sl_door_close(struct sl_door *d, void (*closed)(void *arg), void *arg)
{
	d->closed = closed ? closed : nothing;
	d->closed_arg = arg;
	call(d, sl__door_message(STOP, 0));
}

int sl_door_admit(struct sl_door *d, uint64_t stranger, double grace_s, uint64_t *session)
{
	unsigned char secret[SL__DOOR_SECRET_BYTES];
	int ends[2];
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends))
		return -1;
	struct sl__door_message *m = sl__door_message(ADMIT, stranger);
	randombytes_buf(secret, sizeof secret);
	sodium_bin2hex(m->secret, sizeof m->secret, secret, sizeof secret);
	m->session = *session = ++d->sessions_made;
	m->fd = ends[1];
	m->grace_s = grace_s;
	call(d, m);
	return ends[0];
}

void sl_door_refuse(struct sl_door *d, uint64_t stranger, const char *why, bool again)
{
	struct sl__door_message *m = sl__door_message(REFUSE, stranger);
	snprintf(m->why, sizeof m->why, "%s", why);
	m->flag = again;
	call(d, m);
}

void sl_door_end(struct sl_door *d, uint64_t session, const char *why, bool again)
{
	struct sl__door_message *m = sl__door_message(END, session);
	snprintf(m->why, sizeof m->why, "%s", why);
	m->flag = again;
	call(d, m);
}

struct sl_door_counts sl_door_counts(const struct sl_door *d)
{
	return (struct sl_door_counts){.connections = atomic_load(&d->connections), .strangers = atomic_load(&d->gone),
				       .crowded = atomic_load(&d->crowded)};
}
