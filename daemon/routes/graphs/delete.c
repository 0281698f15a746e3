#include <string.h>

#include "daemon/config/daemon.h"
#include "daemon/graphs/graphs.h"
#include "daemon/jobs/jobs.h"
#include "daemon/routes/routes.h"

/* Names the jobs that hold the graph, and whose they are: its owner may not see them otherwise. */
static void name_jobs(const struct sl_daemon *d, const struct sl_graph_record *g, struct sl_error *err)
{
	size_t length = strlen(err->detail);
	if (err->code == SL_CONFLICT && g->jobs)
		sl_jobs_name_users_of(d->jobs, g->id, err->detail + length, sizeof err->detail - length);
}

/* DELETE /v1/graphs/{graph}: replies when the removal is safe on disk. */
void sl_route_graph_delete(struct sl_request *r)
{
	struct sl_error err;
	struct sl_daemon *d = sl_request_daemon(r);
	const struct sl_graph_record *g = sl__graph_of_request(r);
	struct sl_later *reply = g ? sl_later_create(r, NULL, NULL, g->id) : NULL;
	if (!reply)
		return;
	int code = sl_graphs_delete(d->graphs, g->id, sl_later_done, reply, &err);
	if (code)
		name_jobs(d, g, &err);
	sl_later_begun(reply, code, &err);
}
