/* What the server is and does: GET /v1/status, /v1/methods, /metrics, /v1/devices; GET, DELETE /v1/plans, for which the
 * threads of all open devices answer. */
#include <string.h>

#include "daemon/config/daemon.h"
#include "daemon/engines/engines.h"
#include "daemon/graphs/graphs.h"
#include "daemon/jobs/jobs.h"
#include "daemon/routes/routes.h"
#include "daemon/util/buffer.h"
#include "daemon/util/metrics.h"
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

/* GET /v1/methods: the methods that jobs can have, with their parameters. */
void sl_route_methods(struct sl_request *r)
{
	sl_reply_json(r, 200, sl_methods_json());
}

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

/* GET /metrics: Prometheus' text format. */
void sl_route_metrics(struct sl_request *r)
{
	uint64_t bytes;
	char *text = sl_metrics_print(sl_request_daemon(r)->metrics, &bytes);
	struct sl_buffer *b = text ? sl_buffer_create(bytes) : NULL;
	if (b) {
		memcpy(b->data, text, bytes);
		sl_reply_buffer(r, "text/plain; version=0.0.4; charset=utf-8", NULL, b);
	} else {
		sl_reply_problem(r, SL_NOMEM, SL_NO_MEMORY "the metrics.");
	}
	free(text);
}
