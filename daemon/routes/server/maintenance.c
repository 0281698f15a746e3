/* /v1/maintenance: drains and undrains the server, sets the banner, and tells both. */
#include "daemon/jobs/jobs.h"
#include "daemon/routes/recorded.h"
#include "daemon/routes/routes.h"
#include "daemon/upkeep/maintenance.h"
#include "daemon/users/users.h"

void sl_route_maintenance_get(struct sl_request *r)
{
	sl_reply_json(r, 200, sl_maintenance_json(sl_request_daemon(r)->maintenance));
}

static json_t *record(const struct sl_recorded *w)
{
	return sl_maintenance_json(w->d->maintenance);
}

static int change_drain(struct sl_recorded *w, const json_t *body, struct sl_error *err)
{
	const char *who = sl_principal_called(sl_request_who(w->r));
	int rc = sl_maintenance_drain(w->d->maintenance, w->kind->body ? body : NULL, who, sl__recorded_done, w, err);
	if (!rc)
		sl_jobs_drain_changed(w->d->jobs);
	return rc;
}

static int change_banner(struct sl_recorded *w, const json_t *body, struct sl_error *err)
{
	const char *who = sl_principal_called(sl_request_who(w->r));
	return sl_maintenance_banner(w->d->maintenance, w->kind->body ? body : NULL, who, sl__recorded_done, w, err);
}

SL_RECORDED_ROUTE(sl_route_drain_put, 200, "maintenance", true, change_drain, record)
SL_RECORDED_ROUTE(sl_route_drain_delete, 200, "maintenance", false, change_drain, record)
SL_RECORDED_ROUTE(sl_route_banner_put, 200, "maintenance", true, change_banner, record)
SL_RECORDED_ROUTE(sl_route_banner_delete, 200, "maintenance", false, change_banner, record)
