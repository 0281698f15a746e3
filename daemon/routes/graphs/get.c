#include "daemon/config/daemon.h"
#include "daemon/graphs/graphs.h"
#include "daemon/routes/routes.h"
#include "daemon/store/uses.h"

/* GET /v1/graphs/{graph} */
void sl_route_graph_get(struct sl_request *r)
{
	const struct sl_graph_record *g = sl__graph_of_request(r);
	if (g)
		sl_reply_json(r, 200, sl_graphs_json(sl_request_daemon(r)->graphs, g->id));
}

const struct sl_graph_record *sl__graph_of_request(struct sl_request *r)
{
	struct sl_error err;
	struct sl_graphs *graphs = sl_request_daemon(r)->graphs;
	const struct sl_graph_record *g = sl_graphs_resolve(graphs, sl_request_path(r, "graph"), &err);
	if (!g)
		sl_reply_error(r, &err);
	else
		sl_uses_mark(sl_request_daemon(r)->uses, g->id);
	return g;
}
