#include "daemon/config/daemon.h"
#include "daemon/routes/routes.h"
#include "daemon/users/users.h"

/* GET /v1/audit: the last events, oldest first. */
void sl_route_audit(struct sl_request *r)
{
	int64_t limit = 100;
	struct sl_error err;
	if (sl_request_query_int(r, "limit", 1, 1000, &limit, &err))
		sl_reply_error(r, &err);
	else
		sl_reply_json(r, 200, json_pack("{s:o}", "items",
						sl_users_audit_list(sl_request_daemon(r)->users, (int)limit)));
}
