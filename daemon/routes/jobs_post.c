/* POST /v1/jobs */
#include "daemon/daemon.h"
#include "daemon/jobs/jobs.h"
#include "daemon/routes/routes.h"

void sl_route_jobs_post(struct sl_request *r)
{
	struct sl_daemon *d = sl_request_daemon(r);
	struct sl_error err;
	json_t *body = NULL;
	if (d->stopping)
		sl_reply_status(r, 503, "The server is shutting down.");
	else if (sl_request_json(r, &body, &err))
		sl_reply_error(r, &err);
	else
		sl_job_submit(d->jobs, r, body);
	json_decref(body);
}
