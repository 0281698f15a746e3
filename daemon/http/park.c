/* Requests that wait for their reply: the time limits, and what their callers learn of the end. */
#include "daemon/http/http_internal.h"

/* Called when the client has disconnected: runs gone(), and lets the connection end. */
void sl__request_gone(void *request)
{
	struct sl_request *r = request;
	if (r->stream) {
		sl__exchange_abort(r->x);
		return;
	}
	if (r->state != SL__PARKED)
		return;
	r->state = SL__GONE;
	uv_timer_stop(&r->peer->timer);
	if (r->gone)
		r->gone(r->arg);
	sl__exchange_resume(r->x);
}

void sl__request_forget(struct sl_request *r)
{
	void (*gone)(void *) = r->gone;
	r->gone = NULL;
	if (gone)
		gone(r->arg);
}

void sl__request_refuse(struct sl_request *r)
{
	sl__request_forget(r);
	sl__rights_refuse(r);
}

static void on_timer(uv_timer_t *timer)
{
	struct sl__connection *c = timer->data;
	struct sl_request *r = c->r;
	if (!r || r->state != SL__PARKED)
		return;
	if (r->timeout) {
		r->timeout(r->arg);
		return;
	}
	sl__request_forget(r);
	sl_reply_status(r, 503, "the reply was not ready in time; try again later");
}

void sl_request_park_for(struct sl_request *r, uint64_t timeout_ms, void (*timeout)(void *arg),
			 void (*gone)(void *arg), void *arg)
{
	SL_ON_LOOP(r->http->d);
	r->gone = gone;
	r->timeout = timeout;
	r->arg = arg;
	r->state = SL__PARKED;
	uv_timer_start(&r->peer->timer, on_timer,
		       timeout_ms ? timeout_ms : (uint64_t)(r->http->d->config.request_timeout_s * 1000), 0);
	sl__exchange_park(r->x);
}

/* Sends a delayed reply. */
static void delay_over(void *arg)
{
	struct sl_request *r = arg;
	sl_list_unlink(&r->delayed);
	sl__request_resume(r);
}

void sl__request_delay(struct sl_request *r, uint64_t ms)
{
	sl_request_park_for(r, ms, delay_over, NULL, r);
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
	uv_timer_stop(&r->peer->timer);
	sl__exchange_resume(r->x);
}
