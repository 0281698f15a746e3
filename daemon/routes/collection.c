/* POST /v1/collection */
#include "daemon/collect/collect.h"
#include "daemon/config/daemon.h"
#include "daemon/routes/routes.h"

void sl_route_collection_post(struct sl_request *r)
{
	const struct sl_daemon *d = sl_request_daemon(r);
	struct sl_error err;
	json_t *body = NULL;
	if (d->stopping)
		sl_reply_status(r, 503, "The server is shutting down.");
	else if (sl_request_json(r, &body, &err))
		sl_reply_error(r, &err);
	else
		sl_collect_now(d->collect, r, body);
	json_decref(body);
}
