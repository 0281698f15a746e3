/* GET /v1/events, GET /v1/jobs/{id}/events: server-sent events. */
#include "daemon/config/daemon.h"
#include "daemon/jobs/jobs.h"
#include "daemon/routes/routes.h"
#include "daemon/stream/events.h"

void sl_route_events(struct sl_request *r)
{
	sl_events_follow(sl_request_daemon(r)->events, r);
}

void sl_route_job_events(struct sl_request *r)
{
	if (sl_job_of_request(r))
		sl_events_follow_job(sl_request_daemon(r)->events, r, sl_request_path(r, "id"));
}
