/* GET /v1/devices, GET and DELETE /v1/plans: the device thread is asked, and the request waits for what it
 * tells. */
#include <stdlib.h>

#include "daemon/jobs_internal.h"
#include "daemon/routes/routes.h"

struct sl_device_waiter {
	struct sl_device_waiter *next;
	struct sl_jobs *jobs;
	struct sl_request *request;
	json_t *(*tell)(const struct sl_jobs *j);  /* NULL: 204 */
};

static json_t *page(json_t *items)
{
	return json_pack("{s:o, s:n}", "items", items, "next");
}

static json_t *device_id(const struct sl_jobs *j)
{
	return json_sprintf("%s0", j->engine->name);
}

static json_t *devices_json(const struct sl_jobs *j)
{
	const struct sl_device_state *s = &j->device_state;
	const struct sl_device_info *info = &s->info;
	json_t *items = json_array(), *device = json_pack(
		"{s:o, s:s, s:s, s:s, s:o, s:o, s:I, s:I, s:I, s:I, s:I}",
		"id", device_id(j), "kind", info->kind, "name", info->name, "state", s->down ? "down" : "up",
		"problem", s->problem.code ? json_string(s->problem.detail) : json_null(),
		"fallback", j->engine_reason ? json_string(j->engine_reason) : json_null(),
		"memory_total", (json_int_t)info->memory_total, "memory_used", (json_int_t)info->memory_used,
		"memory_budget", (json_int_t)info->memory_budget, "graph_bytes", (json_int_t)info->graph_bytes,
		"embedding_bytes", (json_int_t)info->embedding_bytes);
	json_object_update_new(device, json_pack(
		"{s:I, s:I, s:I, s:I, s:I, s:I, s:i, s:i, s:i, s:i, s:i, s:I, s:I}",
		"plans", (json_int_t)info->plans, "plan_bytes", (json_int_t)info->plan_bytes,
		"plan_budget", (json_int_t)info->plan_budget, "plan_hits", (json_int_t)info->plan_hits,
		"plan_misses", (json_int_t)info->plan_misses, "plan_evictions", (json_int_t)info->plan_evictions,
		"jobs_running", j->count[SL_JOB_RUNNING], "jobs_queued", j->count[SL_JOB_QUEUED],
		"graphs_resident", s->graphs_resident, "graphs_pinned", s->graphs_pinned,
		"neighbours_resident", s->neighbours_resident,
		"evictions", (json_int_t)s->evictions, "losses", (json_int_t)s->losses));
	json_array_append_new(items, device);
	return page(items);
}

static json_t *plans_json(const struct sl_jobs *j)
{
	json_t *items = json_array();
	for (int i = 0; i < j->device_state.plan_count; i++) {
		const struct sl_plan_info *p = &j->device_state.plan[i];
		json_array_append_new(items, json_pack("{s:o, s:i, s:i, s:f, s:i, s:I, s:I}", "device", device_id(j),
						       "dims", p->dims, "side", p->side, "h", p->h, "window", p->window,
						       "bytes", (json_int_t)p->bytes, "uses", (json_int_t)p->uses));
	}
	return page(items);
}

static void take_out(struct sl_device_waiter *w)
{
	struct sl_device_waiter **at = &w->jobs->device_waiters;
	while (*at != w)
		at = &(*at)->next;
	*at = w->next;
	free(w);
}

static void gone(void *arg)
{
	take_out(arg);
}

void sl__device_told(struct sl_jobs *j)
{
	while (j->device_waiters) {
		struct sl_device_waiter *w = j->device_waiters;
		struct sl_request *r = w->request;
		json_t *(*tell)(const struct sl_jobs *j) = w->tell;
		take_out(w);
		if (tell)
			sl_reply_json(r, 200, tell(j));
		else
			sl_reply_empty(r, 204);
	}
}

static void ask(struct sl_request *r, int (*question)(struct sl_device_thread *t),
		json_t *(*tell)(const struct sl_jobs *j))
{
	struct sl_jobs *j = sl_request_daemon(r)->jobs;
	struct sl_device_waiter *w = calloc(1, sizeof *w);
	if (!w || question(j->device)) {
		free(w);
		sl_reply_problem(r, SL_NOMEM, "Out of memory for a question to the device.");
		return;
	}
	*w = (struct sl_device_waiter){.next = j->device_waiters, .jobs = j, .request = r, .tell = tell};
	j->device_waiters = w;
	sl_request_park(r, gone, w);
}

void sl_route_devices_get(struct sl_request *r)
{
	ask(r, sl_device_ask_state, devices_json);
}

void sl_route_plans_get(struct sl_request *r)
{
	ask(r, sl_device_ask_state, plans_json);
}

void sl_route_plans_delete(struct sl_request *r)
{
	ask(r, sl_device_plans_clear, NULL);
}
