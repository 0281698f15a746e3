/* /v1/access/{id}: who owns and who may read a graph, a job or a batch. */
#include <stdlib.h>

#include "daemon/config/daemon.h"
#include "daemon/graphs/graphs.h"
#include "daemon/jobs/jobs.h"
#include "daemon/routes/routes.h"
#include "daemon/users/users.h"

struct wait {
	struct sl_request *r;  /* NULL: the client is gone */
	struct sl_users *users;
	char id[SL_ULID_BYTES];
};

static void done(void *arg, int status, const struct sl_error *err)
{
	struct wait *w = arg;
	if (w->r && status)
		sl_reply_error(w->r, err);
	else if (w->r)
		sl_reply_json(w->r, 200, sl_users_access_json(w->users, w->id));
	free(w);
}

/* An id that nothing has, or had: rights for what there is to come would be a trap. */
static bool exists(struct sl_request *r, const char *id)
{
	struct sl_daemon *d = sl_request_daemon(r);
	if (sl_graphs_find(d->graphs, id) || sl_jobs_have(d->jobs, id) || sl_batches_have(d->jobs, id))
		return true;
	sl_reply_problem(r, SL_NOTFOUND, "there is no graph, job or batch %.64s", id);
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
	struct sl_error err;
	json_t *body = NULL;
	if (!exists(r, id))
		return;
	struct wait *w = calloc(1, sizeof *w);
	int rc = w ? sl_request_json(r, &body, &err) : sl_error_set(&err, SL_NOMEM, "no memory for the request");
	if (!rc) {
		w->r = r;
		w->users = sl_request_daemon(r)->users;
		snprintf(w->id, sizeof w->id, "%s", id);
		rc = sl_users_share(w->users, id, body, done, w, &err);
	}
	json_decref(body);
	if (!rc) {
		sl_park(&w->r, 0);
		return;
	}
	sl_reply_error(r, &err);
	free(w);
}
