#include "daemon/config/daemon.h"
#include "daemon/graphs/graphs.h"
#include "daemon/routes/routes.h"

/* POST /v1/graphs/dry-run: previews how the beginning of a file would be read. */
void sl_route_graphs_dry_run(struct sl_request *r)
{
	sl_graphs_preview(sl_request_daemon(r)->graphs, r);
}

/* POST /v1/graphs: replies when the graph is checked and safe on disk. */
void sl_route_graphs_post(struct sl_request *r)
{
	const struct sl_daemon *d = sl_request_daemon(r);
	if (d->stopping)
		sl_reply_status(r, 503, "the server is being stopped");
	else
		sl_graphs_upload(d->graphs, r);
}
