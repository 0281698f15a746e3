#include <stdlib.h>

#include "daemon/config/daemon.h"
#include "daemon/graphs/graphs.h"
#include "daemon/routes/routes.h"

/* DELETE /v1/graphs/{graph}: the reply comes when it is gone for good. */
void sl_route_graph_delete(struct sl_request *r)
{
	struct sl_error err;
	const struct sl_graph_record *g = sl__graph_of_request(r);
	if (!g)
		return;
	struct sl__deletion *d = sl__deletion_create(r);
	if (!d) {
		sl_reply_problem(r, SL_NOMEM, "no memory for the change");
		return;
	}
	if (sl_graphs_delete(sl_request_daemon(r)->graphs, g->id, sl__deletion_done, d, &err)) {
		free(d);
		sl_reply_error(r, &err);
		return;
	}
	sl__deletion_wait(d);
}
