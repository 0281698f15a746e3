#include "daemon/config/daemon.h"
#include "daemon/graphs/graphs.h"
#include "daemon/routes/routes.h"

/* DELETE /v1/graphs/{graph}: replies when the removal is safe on disk. */
void sl_route_graph_delete(struct sl_request *r)
{
	struct sl_error err;
	const struct sl_graph_record *g = sl__graph_of_request(r);
	struct sl_later *reply = g ? sl_later_create(r, NULL, NULL, g->id) : NULL;
	if (reply)
		sl_later_begun(reply, sl_graphs_delete(sl_request_daemon(r)->graphs, g->id, sl_later_done, reply, &err), &err);
}
