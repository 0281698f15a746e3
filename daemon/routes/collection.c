/* POST /v1/collection */
#include "daemon/collect/collect.h"
#include "daemon/config/daemon.h"
#include "daemon/routes/routes.h"

static void collect(struct sl_daemon *d, struct sl_request *r, const json_t *body)
{
	sl_collect_now(d->collect, r, body);
}

void sl_route_collection_post(struct sl_request *r)
{
	sl__posted(r, collect);
}
