/* GET /v1/devices, GET and DELETE /v1/plans. The threads of all open devices answer. */
#include "daemon/config/daemon.h"
#include "daemon/engines/engines.h"
#include "daemon/routes/routes.h"

void sl_route_devices_get(struct sl_request *r)
{
	sl_engines_reply_devices(sl_request_daemon(r)->engines, r);
}

void sl_route_plans_get(struct sl_request *r)
{
	sl_engines_reply_plans(sl_request_daemon(r)->engines, r);
}

void sl_route_plans_delete(struct sl_request *r)
{
	sl_engines_clear_plans(sl_request_daemon(r)->engines, r);
}
