/* POST /v1/graphs/{graph}/load and /unload */
#include <string.h>

#include "daemon/config/daemon.h"
#include "daemon/engines/engines.h"
#include "daemon/graphs/graphs.h"
#include "daemon/routes/routes.h"

struct wait {
	struct sl_request *r;  /* NULL: the client is gone */
	struct sl_graphs *graphs;
	char id[SL_ULID_BYTES];
};

static void done(void *arg, struct sl_content *c, const struct sl_error *err)
{
	struct wait *w = arg;
	if (w->r && !c)
		sl_reply_error(w->r, err);
	else if (w->r)
		sl_reply_json(w->r, 200, sl_graphs_json(w->graphs, w->id));
	sl_graphs_release(w->graphs, c);
	free(w);
}

/* POST /v1/graphs/{graph}/load: loads the graph into memory, so that the first job does not wait for it. */
void sl_route_graph_load(struct sl_request *r)
{
	struct sl_error err;
	const struct sl_graph_record *g = sl__graph_of_request(r);
	if (!g)
		return;
	struct wait *w = malloc(sizeof *w);
	if (!w) {
		sl_reply_problem(r, SL_NOMEM, SL_NO_MEMORY "the request.");
		return;
	}
	w->r = r;
	w->graphs = sl_request_daemon(r)->graphs;
	memcpy(w->id, g->id, sizeof w->id);
	/* the part that a job needs first: for points their neighbours, if they have been found */
	enum sl_content_part part = g->k ? SL_PART_NEIGHBOURS : SL_PART_DATA;
	if (sl_graphs_acquire(w->graphs, w->id, part, done, w, &err)) {
		sl_reply_error(r, &err);
		free(w);
		return;
	}
	sl_park(&w->r, 0);
}

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
