#include "daemon/jobs/jobs.h"
#include "daemon/routes/routes.h"

/* GET /v1/methods: the methods that jobs can have, with their parameters. */
void sl_route_methods(struct sl_request *r)
{
	sl_reply_json(r, 200, sl_methods_json());
}
