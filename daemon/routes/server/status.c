#include <string.h>

#include "daemon/config/daemon.h"
#include "daemon/graphs/graphs.h"
#include "daemon/engines/engines.h"
#include "daemon/jobs/jobs.h"
#include "daemon/routes/routes.h"
#include "daemon/util/time_text.h"

/* The configuration's limits, by name. */
static json_t *limits(const struct sl_config *c)
{
	json_t *out = json_object();
	for (int i = 0; out && i < sl_config_count; i++) {
		const struct sl_option_info *o = &sl_config_table[i];
		const char *at = (const char *)c + o->offset;
		if (strncmp(o->name, "max_", 4))
			continue;
		json_object_set_new(out, o->name, json_integer(*(const int64_t *)at));
	}
	return out;
}

/* GET /v1/status: version, load, limits. */
void sl_route_status(struct sl_request *r)
{
	const struct sl_daemon *d = sl_request_daemon(r);
	uint64_t up_ms = uv_now(d->loop) - d->started_ms;
	char started[SL_TIME_BYTES], endpoint[SL__STREAM_BYTES];
	const char *stream = sl__stream_endpoint(r, endpoint);
	json_t *jobs = sl_jobs_counts(d->jobs);
	sl_time_text(sl_time_now_ms() - up_ms, started);
	sl_reply_json(r, 200, json_pack("{s:s, s:s, s:s, s:f, s:s, s:o, s:s?, s:i, s:o, s:o}", "name", "spaceland",
					"version", SL_VERSION, "started", started, "uptime_seconds", (double)up_ms / 1000, "engine",
					d->engines->preferred->name, "engines", sl_engines_usable(d->engines), "stream", stream,
					"graphs", sl_graphs_count(d->graphs), "jobs", jobs, "limits", limits(&d->config)));
}
