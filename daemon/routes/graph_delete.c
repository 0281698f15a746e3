#include "daemon/graphs_internal.h"
#include "daemon/routes/routes.h"

struct wait {
	struct sl_request *r;  /* NULL: the client is gone */
};

static void gone(void *arg)
{
	((struct wait *)arg)->r = NULL;
}

static void done(void *arg, int status, const struct sl_error *err)
{
	struct wait *w = arg;
	if (w->r && status)
		sl_reply_error(w->r, err);
	else if (w->r)
		sl_reply_empty(w->r, 204);
	free(w);
}

/* DELETE /v1/graphs/{graph}: the reply comes when it is gone for good. */
void sl_route_graph_delete(struct sl_request *r)
{
	struct sl_error err;
	struct wait *w = malloc(sizeof *w);
	if (!w) {
		sl_reply_problem(r, SL_NOMEM, "no memory for the change");
		return;
	}
	w->r = r;
	if (sl_graphs_delete(sl_request_daemon(r)->graphs, sl_request_path(r, "graph"), done, w, &err)) {
		sl_reply_error(r, &err);
		free(w);
		return;
	}
	sl_request_park(r, gone, w);
}
