/* /v1/retention: how long ended jobs are kept, how large the state folder may be, and the confirmation of options that
 * delete more. POST /v1/collection. */
#include "daemon/collect/collect.h"
#include "daemon/config/daemon.h"
#include "daemon/jobs/jobs.h"
#include "daemon/routes/recorded.h"
#include "daemon/routes/routes.h"
#include "daemon/users/users.h"

static json_t *retention(const struct sl_daemon *d)
{
	json_t *o = sl_jobs_retention_json(d->jobs);
	json_object_set_new(o, "state", sl_collect_retention_json(d->collect));
	return o;
}

void sl_route_retention_get(struct sl_request *r)
{
	struct sl_daemon *d = sl_request_daemon(r);
	if (d->collect)
		sl_reply_json(r, 200, retention(d));
	else  /* it is closed first when the server is stopped, while requests are still answered */
		sl_reply_status(r, 503, "the server is being stopped");
}

static int confirm(struct sl_recorded *w, const json_t *body, struct sl_error *err)
{
	const char *who = sl_principal_called(sl_request_who(w->r));
	if (!w->d->collect)
		return sl_error_set(err, SL_CONFLICT, "The server is being stopped.");
	return json_object_get(body, "max_state_bytes") ?
	       sl_collect_confirm(w->d->collect, body, who, sl__recorded_done, w, err) :
	       sl_jobs_confirm_retention(w->d->jobs, body, who, sl__recorded_done, w, err);
}

static json_t *record(const struct sl_recorded *w)
{
	return w->d->collect ? retention(w->d) : NULL;
}

SL_RECORDED_ROUTE(sl_route_retention_post, 200, "retention", true, confirm, record)

static void collect(struct sl_daemon *d, struct sl_request *r, const json_t *body)
{
	if (d->collect)
		sl_collect_now(d->collect, r, body);
	else
		sl_reply_status(r, 503, "the server is being stopped");
}

void sl_route_collection_post(struct sl_request *r)
{
	sl__posted(r, collect);
}
