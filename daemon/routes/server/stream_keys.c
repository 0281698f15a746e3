/* POST /v1/stream/keys: keys for a ZeroMQ subscriber, on servers that need tokens; and where subscribers connect. */
#include <stdio.h>
#include <string.h>

#include "daemon/config/daemon.h"
#include "daemon/jobs/jobs.h"
#include "daemon/routes/routes.h"

const char *sl__stream_endpoint(const struct sl_request *r, char out[SL__STREAM_BYTES])
{
	const struct sl_daemon *d = sl_request_daemon(r);
	const char *bound = sl_jobs_stream_endpoint(d->jobs), *host = sl_request_header(r, "Host");
	if (!bound || !host || (strncmp(bound, "tcp://0.0.0.0:", 14) && strncmp(bound, "tcp://[::]:", 11)))
		return bound;
	size_t length = *host == '[' ? strcspn(host, "]") + 1 : strcspn(host, ":");
	snprintf(out, SL__STREAM_BYTES, "tcp://%.*s%s", (int)length, host, strrchr(bound, ':'));
	return out;
}

void sl_route_stream_keys(struct sl_request *r)
{
	struct sl_daemon *d = sl_request_daemon(r);
	char endpoint[SL__STREAM_BYTES];
	json_t *keys = sl_jobs_stream_key(d->jobs, sl_request_who(r));
	if (!keys) {
		sl_reply_problem(r, SL_CONFLICT, "Subscribers need no keys: this server asks for no tokens, or publishes no "
				 "frames over ZeroMQ.");
		return;
	}
	json_object_set_new(keys, "endpoint", json_string(sl__stream_endpoint(r, endpoint)));
	sl_reply_header(r, "Cache-Control", "no-store");
	sl_reply_json(r, 201, keys);
}
