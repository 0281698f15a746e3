/* Suspended connections. libmicrohttpd takes their sockets out of its epoll set, so that
 * nobody would notice a client that goes away; a uv_poll on the same socket does. */
#include "daemon/http/http_internal.h"

static void watch_closed(uv_handle_t *handle)
{
	struct sl__watch *w = handle->data;
	if (--w->handles == 0)
		free(w);
}

void sl__watch_stop(struct sl_request *r)
{
	struct sl__watch *w = r->watch;
	if (!w)
		return;
	r->watch = NULL;
	w->r = NULL;
	uv_close((uv_handle_t *)&w->timer, watch_closed);
	uv_close((uv_handle_t *)&w->poll, watch_closed);
}

/* The client is gone: tell whom it concerns, and let libmicrohttpd clean up. */
static void client_gone(struct sl_request *r)
{
	sl__watch_stop(r);
	if (r->stream) {
		sl__stream_abort(r->stream);
		return;
	}
	if (r->state != SL__PARKED)
		return;
	r->state = SL__GONE;
	if (r->gone)
		r->gone(r->arg);
	sl__http_resume(r->http, r->connection);
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
	struct sl__watch *w = poll->data;
	if (w->r && (status < 0 || events & UV_DISCONNECT))
		client_gone(w->r);
}

static void on_timer(uv_timer_t *timer)
{
	struct sl__watch *w = timer->data;
	struct sl_request *r = w->r;
	if (!r || r->state != SL__PARKED)
		return;
	if (r->timeout) {
		r->timeout(r->arg);
		return;
	}
	void (*gone)(void *) = r->gone;
	r->gone = NULL;
	if (gone)
		gone(r->arg);
	sl_reply_status(r, 503, "the reply was not ready in time; try again later");
}

/* timeout_ms 0: only the socket. */
int sl__watch_start(struct sl_request *r, uint64_t timeout_ms)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(r->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	struct sl__watch *w = info ? calloc(1, sizeof *w) : NULL;
	if (!w)
		return SL_NOMEM;
	uv_loop_t *loop = r->http->d->loop;
	if (uv_poll_init(loop, &w->poll, info->connect_fd)) {
		free(w);
		return SL_NOMEM;
	}
	uv_timer_init(loop, &w->timer);
	w->handles = 2;
	w->poll.data = w->timer.data = w;
	w->r = r;
	r->watch = w;
	uv_poll_start(&w->poll, UV_DISCONNECT, on_poll);
	if (timeout_ms)
		uv_timer_start(&w->timer, on_timer, timeout_ms, 0);
	return 0;
}

void sl_request_park_for(struct sl_request *r, uint64_t timeout_ms, void (*timeout)(void *arg),
			 void (*gone)(void *arg), void *arg)
{
	SL_ON_LOOP(r->http->d);
	r->gone = gone;
	r->timeout = timeout;
	r->arg = arg;
	if (r->state == SL__PARKED)
		sl__watch_stop(r);  /* parked again, for something else */
	else
		MHD_suspend_connection(r->connection);
	r->state = SL__PARKED;
	/* Without memory for the watch it only waits longer than it had to. */
	sl__watch_start(r, timeout_ms ? timeout_ms : (uint64_t)(r->http->d->config.request_timeout_s * 1000));
}

void sl_request_park(struct sl_request *r, void (*gone)(void *arg), void *arg)
{
	sl_request_park_for(r, 0, NULL, gone, arg);
}

static void empty_slot(void *arg)
{
	*(struct sl_request **)arg = NULL;
}

void sl_park(struct sl_request **slot, uint64_t timeout_ms)
{
	sl_request_park_for(*slot, timeout_ms, NULL, empty_slot, slot);
}

void sl__request_resume(struct sl_request *r)
{
	bool parked = r->state == SL__PARKED;
	r->state = SL__REPLIED;
	if (!parked)
		return;
	sl__watch_stop(r);
	sl__http_resume(r->http, r->connection);
}
