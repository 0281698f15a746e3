/* POST /v1/collection */
#include "daemon/collect/collect.h"
#include "daemon/config/daemon.h"
#include "daemon/routes/routes.h"

static void collect(struct sl_daemon *d, struct sl_request *r, const json_t *body)
{
	if (d->collect)
		sl_collect_now(d->collect, r, body);
	else
		sl_reply_status(r, 503, "the server is being stopped");
}

void sl_route_collection_post(struct sl_request *r)
{
	sl__posted(r, collect);
}
