#include "daemon/daemon.h"
#include "daemon/routes/routes.h"

/* GET /v1/health/ready: new work is taken; 503 while starting and stopping. */
void sl_route_health_ready(struct sl_request *r)
{
	const struct sl_daemon *d = sl_request_daemon(r);
	if (d->ready)
		sl_reply_json(r, 200, json_pack("{s:s}", "status", "ready"));
	else
		sl_reply_status(r, 503, d->stopping ? "the server is being stopped" : "the server is starting");
}
