/* /v1/access/{id}: who owns and who may read a graph, a job, a batch or an uploaded layout. */

#include "daemon/config/daemon.h"
#include "daemon/graphs/graphs.h"
#include "daemon/jobs/jobs.h"
#include "daemon/layouts/layouts.h"
#include "daemon/routes/routes.h"
#include "daemon/stream/events.h"
#include "daemon/users/users.h"

static json_t *tell(void *users, const char *id)
{
	return sl_users_access_json(users, id);
}

/* Returns true if something has the id. Otherwise rights could be set for a thing that is made later. */
static bool exists(struct sl_request *r, const char *id)
{
	struct sl_daemon *d = sl_request_daemon(r);
	if (sl_graphs_find(d->graphs, id) || sl_jobs_have(d->jobs, id) || sl_batches_have(d->jobs, id) ||
	    sl_layouts_find(d->layouts, id))
		return true;
	sl_reply_problem(r, SL_NOTFOUND, "there is no graph, job, batch or uploaded layout %.64s", id);
	return false;
}

void sl_route_access_get(struct sl_request *r)
{
	const char *id = sl_request_path(r, "id");
	if (exists(r, id))
		sl_reply_json(r, 200, sl_users_access_json(sl_request_daemon(r)->users, id));
}

void sl_route_access_put(struct sl_request *r)
{
	const char *id = sl_request_path(r, "id");
	struct sl_users *users = sl_request_daemon(r)->users;
	struct sl_jobs *jobs = sl_request_daemon(r)->jobs;
	struct sl_events *events = sl_request_daemon(r)->events;
	struct sl_error err;
	json_t *body = NULL;
	if (!exists(r, id))
		return;
	struct sl_later *reply = sl_later_create(r, tell, users, id);
	if (!reply)
		return;
	int rc = sl_request_json(r, &body, &err);
	bool batch = sl_batches_have(jobs, id);
	sl_events_rights_before(events, id);
	if (!rc)
		rc = batch ? sl_batch_share(jobs, id, body, sl_later_done, reply, &err) :
		     sl_users_share(users, id, body, sl_later_done, reply, &err);
	json_decref(body);
	if (!rc)  /* the jobs of a batch may have had other rights than the batch */
		sl_events_rights_changed(events, batch ? NULL : id);
	sl_later_begun(reply, rc, &err);
}
