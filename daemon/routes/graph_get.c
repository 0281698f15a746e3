#include "daemon/graphs/graphs_internal.h"
#include "daemon/routes/routes.h"

/* GET /v1/graphs/{graph} */
void sl_route_graph_get(struct sl_request *r)
{
	const char *id = sl_request_path(r, "graph");
	struct sl_graphs *graphs = sl_request_daemon(r)->graphs;
	if (!sl_graphs_find(graphs, id))
		sl_reply_problem(r, SL_NOTFOUND, "there is no graph %.64s", id);
	else
		sl_reply_json(r, 200, sl_graphs_json(graphs, id));
}
