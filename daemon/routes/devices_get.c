/* GET /v1/devices, GET and DELETE /v1/plans: the threads of all devices that are open are asked, and the request waits
 * for what they tell. */
#include <stdlib.h>
#include <string.h>

#include "daemon/jobs/jobs_internal.h"
#include "daemon/routes/routes.h"

struct sl_device_waiter {
	struct sl_device_waiter *next;
	struct sl_jobs *jobs;
	struct sl_request *request;
	uint64_t asked;                            /* bit k: device k has not answered yet */
	json_t *(*tell)(const struct sl_jobs *j);  /* NULL: 204 */
};

_Static_assert(SL_DEVICES_MAX <= 64, "a bit for each device");

static json_t *page(json_t *items)
{
	return json_pack("{s:o, s:n}", "items", items, "next");
}

/* Jobs of this engine that wait for a place, or are made ready for this device. */
static int queued(const struct sl_jobs_device *d)
{
	int count = 0;
	for (const struct sl_job *job = d->jobs->newest; job; job = job->older)
		if (job->state == SL_JOB_QUEUED && (job->device ? job->device == d : job->engine == d->engine))
			count++;
	return count;
}

static int running(const struct sl_jobs_device *d)
{
	int count = 0;
	for (const struct sl_job *job = d->jobs->on_device; job; job = job->next_on_device)
		count += job->device == d && job->state == SL_JOB_RUNNING;
	return count;
}

/* Why jobs are on the CPU where a GPU would be preferred. */
static json_t *fallback(const struct sl_jobs_device *d)
{
	const struct sl_jobs *j = d->jobs;
	return j->engine_reason && d->engine == j->preferred ? json_string(j->engine_reason) : json_null();
}

static json_t *device_json(const struct sl_jobs_device *d)
{
	const struct sl_device_state *s = &d->state;
	const struct sl_device_info *info = &s->info;
	const char *engine = d->engine->name, *problem, *state = sl__device_condition(d, &problem);
	char name[32];
	snprintf(name, sizeof name, strcmp(engine, "cpu") ? "GPU %d" : "CPU", d->index);
	json_t *device = json_pack(
		"{s:s, s:s, s:s%, s:s, s:s, s:o, s:o, s:I, s:I, s:I, s:I, s:I}",
		"id", d->id, "engine", engine, "kind", engine, strcspn(engine, "-"), "name", info->name[0] ? info->name : name,
		"state", state, "problem", *problem ? json_string(problem) : json_null(), "fallback", fallback(d),
		"memory_total", (json_int_t)info->memory_total, "memory_used", (json_int_t)info->memory_used,
		"memory_budget", (json_int_t)info->memory_budget, "graph_bytes", (json_int_t)info->graph_bytes,
		"embedding_bytes", (json_int_t)info->embedding_bytes);
	json_object_update_new(device, json_pack(
		"{s:I, s:I, s:I, s:I, s:I, s:I, s:i, s:i, s:i, s:i, s:i, s:I, s:I}",
		"plans", (json_int_t)info->plans, "plan_bytes", (json_int_t)info->plan_bytes,
		"plan_budget", (json_int_t)info->plan_budget, "plan_hits", (json_int_t)info->plan_hits,
		"plan_misses", (json_int_t)info->plan_misses, "plan_evictions", (json_int_t)info->plan_evictions,
		"jobs_running", running(d), "jobs_queued", queued(d),
		"graphs_resident", s->graphs_resident, "graphs_pinned", s->graphs_pinned,
		"neighbours_resident", s->neighbours_resident,
		"evictions", (json_int_t)s->evictions, "losses", (json_int_t)s->losses));
	return device;
}

static void add_devices(json_t *items, const struct sl_jobs_engine *e)
{
	for (int i = 0; e->offered && i < e->devices; i++)
		json_array_append_new(items, device_json(&e->device[i]));
}

/* Those that jobs get when they do not say otherwise come first. */
static json_t *devices_json(const struct sl_jobs *j)
{
	json_t *items = json_array();
	add_devices(items, j->preferred);
	for (int i = 0; i < SL__ENGINES; i++)
		if (&j->engine[i] != j->preferred)
			add_devices(items, &j->engine[i]);
	return page(items);
}

static json_t *plans_json(const struct sl_jobs *j)
{
	json_t *items = json_array();
	for (int k = 0; k < j->devices; k++)
		for (int i = 0; i < j->device[k].state.plan_count; i++) {
			const struct sl_plan_info *p = &j->device[k].state.plan[i];
			json_array_append_new(items, json_pack("{s:s, s:i, s:i, s:f, s:i, s:I, s:I}", "device", j->device[k].id,
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

static void answer(struct sl_device_waiter *w)
{
	const struct sl_jobs *j = w->jobs;
	struct sl_request *r = w->request;
	json_t *(*tell)(const struct sl_jobs *j) = w->tell;
	take_out(w);
	if (tell)
		sl_reply_json(r, 200, tell(j));
	else
		sl_reply_empty(r, 204);
}

void sl__device_silent(struct sl_jobs_device *d)
{
	for (struct sl_device_waiter *w = d->jobs->device_waiters, *next; w; w = next) {
		next = w->next;
		w->asked &= ~(1ull << d->number);
		if (!w->asked)
			answer(w);
	}
}

void sl__device_told(struct sl_jobs_device *d)
{
	sl__device_silent(d);
}

static void ask(struct sl_request *r, int (*question)(struct sl_device_thread *t),
		json_t *(*tell)(const struct sl_jobs *j))
{
	struct sl_jobs *j = sl_request_daemon(r)->jobs;
	struct sl_device_waiter *w = calloc(1, sizeof *w);
	uint64_t asked = 0;
	for (int i = 0; w && i < j->devices; i++)
		if (j->device[i].stage == SL_DEVICE_OPEN && !question(j->device[i].thread))
			asked |= 1ull << i;
	if (!w || !asked) {
		free(w);
		sl_reply_problem(r, SL_NOMEM, "Out of memory for a question to the device.");
		return;
	}
	*w = (struct sl_device_waiter){.next = j->device_waiters, .jobs = j, .request = r, .asked = asked, .tell = tell};
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
