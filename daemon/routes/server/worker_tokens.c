/* /v1/workers/tokens: tokens with which workers on other machines prove themselves; and where they connect. */
#include "daemon/config/daemon.h"
#include "daemon/engines/remote.h"
#include "daemon/routes/recorded.h"
#include "daemon/routes/routes.h"
#include "daemon/worker/tokens.h"

/* Adds where workers connect; null without a port for them. */
static json_t *with_place(const struct sl_daemon *d, json_t *reply)
{
	char place[SL_REMOTE_PLACE_BYTES], pin[SL_REMOTE_PIN_BYTES];
	struct sl_error err;
	bool there = !sl_remote_place(d->engines, place, pin, &err);
	json_object_set_new(reply, "connect", there ? json_string(place) : json_null());
	json_object_set_new(reply, "pin", there ? json_string(pin) : json_null());
	return reply;
}

void sl_route_worker_tokens_get(struct sl_request *r)
{
	const struct sl_daemon *d = sl_request_daemon(r);
	json_t *reply = json_pack("{s:o, s:n}", "items", sl_worker_tokens_json(d->settings), "next");
	sl_reply_json(r, 200, with_place(d, reply));
}

static int add(struct sl_recorded *w, const json_t *body, struct sl_error *err)
{
	int rc = sl_worker_token_add(w->d->users, w->d->settings, body, &w->reply, sl__recorded_done, w, err);
	if (!rc)
		with_place(w->d, w->reply);
	return rc;
}

static int revoke_token(struct sl_recorded *w, const json_t *body, struct sl_error *err)
{
	return sl_worker_token_remove(w->d->settings, w->name, sl__recorded_done, w, err);
}

SL_RECORDED_ROUTE(sl_route_worker_tokens_post, 201, "token", true, add, NULL)
SL_RECORDED_ROUTE(sl_route_worker_token_delete, 204, "token", false, revoke_token, NULL)
