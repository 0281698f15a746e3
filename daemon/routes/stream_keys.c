/* POST /v1/stream/keys: keys for a ZeroMQ subscriber, on servers that need tokens. */
#include "daemon/config/daemon.h"
#include "daemon/jobs/jobs.h"
#include "daemon/routes/routes.h"

void sl_route_stream_keys(struct sl_request *r)
{
	struct sl_daemon *d = sl_request_daemon(r);
	json_t *keys = sl_jobs_stream_key(d->jobs, sl_request_who(r));
	if (!keys) {
		sl_reply_problem(r, SL_CONFLICT, "Subscribers need no keys: this server asks for no tokens, or publishes no "
				 "frames over ZeroMQ.");
		return;
	}
	json_object_set_new(keys, "endpoint", json_string(sl_jobs_stream_endpoint(d->jobs)));
	sl_reply_header(r, "Cache-Control", "no-store");
	sl_reply_json(r, 201, keys);
}
