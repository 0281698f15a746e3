#include "daemon/config/daemon.h"
#include "daemon/graphs/graphs.h"
#include "daemon/engines/engines.h"
#include "daemon/routes/routes.h"

/* POST /v1/graphs/{graph}/unload: drops the graph from memory; it stays on disk. */
void sl_route_graph_unload(struct sl_request *r)
{
	struct sl_error err;
	const struct sl_graph_record *g = sl__graph_of_request(r);
	struct sl_graphs *graphs = sl_request_daemon(r)->graphs;
	if (!g)
		return;
	const char *id = g->id;
	if (sl_graphs_unload(graphs, id, &err)) {
		sl_reply_error(r, &err);
	} else {
		sl_engines_graph_forget(sl_request_daemon(r)->engines, id);
		sl_reply_json(r, 200, sl_graphs_json(graphs, id));
	}
}
