#include "daemon/graphs_internal.h"
#include "daemon/routes/routes.h"

struct wait {
	struct sl_request *r;  /* NULL: the client is gone */
	struct sl_graphs *graphs;
	char id[SL_ULID_BYTES];
};

static void gone(void *arg)
{
	((struct wait *)arg)->r = NULL;
}

static void done(void *arg, const struct sl_graph *g, const struct sl_error *err)
{
	struct wait *w = arg;
	if (w->r && !g)
		sl_reply_error(w->r, err);
	else if (w->r)
		sl_reply_json(w->r, 200, sl_graphs_json(w->graphs, w->id));
	if (g)
		sl_graphs_release(w->graphs, w->id);
	free(w);
}

/* POST /v1/graphs/{graph}/load: into memory now, so that the first job does not wait for it. */
void sl_route_graph_load(struct sl_request *r)
{
	struct sl_error err;
	struct wait *w = malloc(sizeof *w);
	if (!w) {
		sl_reply_problem(r, SL_NOMEM, "no memory for the request");
		return;
	}
	w->r = r;
	w->graphs = sl_request_daemon(r)->graphs;
	snprintf(w->id, sizeof w->id, "%.26s", sl_request_path(r, "graph"));
	if (sl_graphs_acquire(w->graphs, sl_request_path(r, "graph"), done, w, &err)) {
		sl_reply_error(r, &err);
		free(w);
		return;
	}
	sl_request_park(r, gone, w);
}
