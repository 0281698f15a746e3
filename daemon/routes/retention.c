/* /v1/retention: how long ended jobs are kept, and the confirmation of options that delete more of them. */
#include "daemon/config/daemon.h"
#include "daemon/jobs/jobs.h"
#include "daemon/routes/recorded.h"
#include "daemon/routes/routes.h"
#include "daemon/users/users.h"

void sl_route_retention_get(struct sl_request *r)
{
	sl_reply_json(r, 200, sl_jobs_retention_json(sl_request_daemon(r)->jobs));
}

static int confirm(struct sl_recorded *w, const json_t *body, struct sl_error *err)
{
	return sl_jobs_confirm_retention(w->d->jobs, body, sl_request_who(w->r)->name, sl__recorded_done, w, err);
}

static json_t *record(const struct sl_recorded *w)
{
	return sl_jobs_retention_json(w->d->jobs);
}

SL_RECORDED_ROUTE(sl_route_retention_post, 200, "retention", true, confirm, record)
