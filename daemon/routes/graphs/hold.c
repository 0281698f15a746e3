/* PUT, DELETE /v1/graphs/{graph}/holds/{hold} */
#include "daemon/config/daemon.h"
#include "daemon/graphs/graphs.h"
#include "daemon/jobs/jobs.h"
#include "daemon/routes/routes.h"
#include "daemon/users/links.h"

static json_t *tell(void *graphs, const char *id)
{
	return sl_graphs_json(graphs, id);
}

void sl_route_graph_hold_put(struct sl_request *r)
{
	struct sl_daemon *d = sl_request_daemon(r);
	struct sl_error err;
	const struct sl_graph_record *g = sl__graph_of_request(r);
	const char *hold = sl_request_path(r, "hold");
	struct sl_later *reply = g ? sl_later_create(r, tell, d->graphs, g->id) : NULL;
	if (!reply)
		return;
	int rc = sl_hold_check(hold, NULL, &err);
	sl_later_begun(reply, rc ? rc : sl_graphs_hold(d->graphs, g->id, hold, sl_later_done, reply, &err), &err);
}

/* Replies when the change, or the removal of the graph, is safe on disk. */
void sl_route_graph_hold_delete(struct sl_request *r)
{
	struct sl_daemon *d = sl_request_daemon(r);
	struct sl_error err;
	const struct sl_graph_record *g = sl__graph_of_request(r);
	const char *hold = sl_request_path(r, "hold");
	struct sl_later *reply = g ? sl_later_create(r, NULL, NULL, g->id) : NULL;
	if (!reply)
		return;
	int rc = sl_hold_check(hold, NULL, &err);
	bool in_use = !rc && (sl_jobs_on_graph(d->jobs, g->id) || sl_users_has_link(d->users, g->id));
	sl_later_begun(reply, rc ? rc : sl_graphs_let_go(d->graphs, g->id, hold, in_use, sl_later_done, reply, &err), &err);
}
