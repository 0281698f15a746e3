/* GET /v1/graphs/{graph}/names, /nodes, /neighbours, /edges */
#include "daemon/config/daemon.h"
#include "daemon/graphs/nodes.h"
#include "daemon/routes/routes.h"

#define FOUND 20          /* default number of nodes that a search returns */
#define FOUND_MAX 1000
#define PAIRS_MAX 100000

typedef void ask_fn(struct sl_graphs *s, const char *id, const struct sl_nodes_query *q, struct sl_request *r);

static void ask(struct sl_request *r, int rc, const struct sl_error *err, const struct sl_nodes_query *q, ask_fn *fn)
{
	const struct sl_graph_record *g = sl__graph_of_request(r);
	if (g && rc)
		sl_reply_error(r, err);
	else if (g)
		fn(sl_request_daemon(r)->graphs, g->id, q, r);
}

int sl__read_page(const struct sl_request *r, struct sl_nodes_query *q, struct sl_error *err)
{
	int64_t from = 0, count = SL_NODES_COUNT;
	int rc = sl_request_query_int(r, "from", 0, UINT32_MAX, &from, err);
	if (!rc)
		rc = sl_request_query_int(r, "count", 1, UINT32_MAX, &count, err);
	q->from = (uint64_t)from;
	q->count = (uint64_t)count;
	return rc;
}

void sl_route_graph_names(struct sl_request *r)
{
	struct sl_nodes_query q = {0};
	struct sl_error err;
	ask(r, sl__read_page(r, &q, &err), &err, &q, sl_nodes_names);
}

int sl__read_search(const struct sl_request *r, struct sl_nodes_query *q, struct sl_error *err)
{
	int64_t limit = FOUND;
	int rc = sl_request_query_int(r, "limit", 1, FOUND_MAX, &limit, err);
	q->text = sl_request_query(r, "search");
	if (!rc && (!q->text || !*q->text))
		rc = sl_error_field(err, SL_BADPARAM, "?search", "search is missing; it must be a part of a node's "
				    "name");
	q->count = (uint64_t)limit;
	return rc;
}

void sl_route_graph_nodes(struct sl_request *r)
{
	struct sl_nodes_query q = {0};
	struct sl_error err;
	ask(r, sl__read_search(r, &q, &err), &err, &q, sl_nodes_search);
}

static int read_node(const struct sl_request *r, struct sl_nodes_query *q, struct sl_error *err)
{
	int64_t node = -1, count = PAIRS_MAX;
	int rc = sl_request_query_int(r, "node", 0, UINT32_MAX, &node, err);
	if (!rc)
		rc = sl_request_query_int(r, "count", 1, PAIRS_MAX, &count, err);
	if (!rc && node < 0)
		rc = sl_error_field(err, SL_BADPARAM, "?node", "node is missing; it must be a node's number, counted "
				    "from 0");
	q->node = (uint32_t)node;
	q->count = (uint64_t)count;
	return rc;
}

void sl_route_graph_neighbours(struct sl_request *r)
{
	struct sl_nodes_query q = {0};
	struct sl_error err;
	ask(r, read_node(r, &q, &err), &err, &q, sl_nodes_neighbours);
}

static int read_strongest(const struct sl_request *r, struct sl_nodes_query *q, struct sl_error *err)
{
	int64_t count = 0;
	int rc = sl_request_query_int(r, "strongest", 1, PAIRS_MAX, &count, err);
	if (!rc && (sl_request_query(r, "node") || sl_request_query(r, "count")))
		rc = sl_error_field(err, SL_BADPARAM, "?strongest", "strongest is the number of edges of the whole graph; it "
				    "goes without node and count");
	q->strongest = true;
	q->count = (uint64_t)count;
	return rc;
}

void sl_route_graph_edges(struct sl_request *r)
{
	struct sl_nodes_query q = {0};
	struct sl_error err;
	if (sl_request_query(r, "strongest")) {
		ask(r, read_strongest(r, &q, &err), &err, &q, sl_nodes_edges);
		return;
	}
	ask(r, read_node(r, &q, &err), &err, &q, sl_nodes_edges);
}
