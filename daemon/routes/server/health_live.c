#include "daemon/routes/routes.h"

/* GET /v1/health/live: a reply shows that the loop runs. */
void sl_route_health_live(struct sl_request *r)
{
	sl_reply_json(r, 200, json_pack("{s:s}", "status", "live"));
}
