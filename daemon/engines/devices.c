/* Reports the state of devices, as JSON for requests, which wait for the answers of the devices' threads, and as
 * metrics. Loop thread. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/engines/engines_internal.h"
#include "daemon/http/http.h"
#include "daemon/stream/events.h"
#include "daemon/util/ulid.h"

struct waiter {
	struct sl_link link;                       /* in sl_engines.waiters */
	struct sl_engines *engines;
	struct sl_request *request;
	uint64_t pending[SL_DEVICES_MAX / 64];       /* a bit for each device by its number: it has not answered yet */
	int count;                                 /* of these bits */
	json_t *(*make_reply)(const struct sl_engines *all);  /* makes the reply; NULL: the reply is 204 */
};

static bool is_listed(const struct sl_server_device *d)
{
	return d->engine->offered || d->remote;
}

static json_t *page(json_t *items)
{
	return json_pack("{s:o, s:n}", "items", items, "next");
}

/* Returns "up", "down", "idle" or "unusable". problem: a sentence that says why, or "". */
static const char *condition(const struct sl_server_device *d, const char **problem)
{
	*problem = !d->engine->functions ? d->engine->reason.detail :
		   d->stage == SL_DEVICE_OPEN && d->state.problem.code ? d->state.problem.detail :
		   d->problem.code ? d->problem.detail : "";
	if (!d->engine->functions || d->problem.code)
		return "unusable";
	if (d->stage != SL_DEVICE_OPEN)
		return "idle";
	return d->state.down ? "down" : "up";
}

/* Returns why jobs run on the CPU although a GPU is preferred. */
static json_t *fallback(const struct sl_server_device *d)
{
	const struct sl_engines *all = d->engines;
	return all->fallback && d->engine == all->preferred ? json_string(all->fallback) : json_null();
}

static json_t *device_json(const struct sl_server_device *d)
{
	const struct sl_device_state *s = &d->state;
	const struct sl_device_info *info = &s->info;
	const char *engine = d->engine->name, *problem, *state = condition(d, &problem);
	char name[32];
	int running, queued;
	d->engines->listener.count(d->engines->arg, d, &running, &queued);
	snprintf(name, sizeof name, strcmp(engine, "cpu") ? "GPU %d" : "CPU", d->first_gpu);
	json_t *device = json_pack(
		"{s:s, s:s, s:s%, s:s, s:s, s:o, s:o, s:I, s:I, s:I, s:I, s:I}",
		"id", d->id, "engine", engine, "kind", engine, strcspn(engine, "-"), "name", info->name[0] ? info->name : name,
		"state", state, "problem", *problem ? json_string(problem) : json_null(), "fallback", fallback(d),
		"memory_total", (json_int_t)info->memory_total, "memory_used", (json_int_t)info->memory_used,
		"memory_budget", (json_int_t)info->memory_budget, "graph_bytes", (json_int_t)info->graph_bytes,
		"embedding_bytes", (json_int_t)info->embedding_bytes);
	json_object_update_new(device, json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:i, s:i, s:i, s:i, s:i, s:I, s:I}",
						 "plans", (json_int_t)info->plans, "plan_bytes", (json_int_t)info->plan_bytes, "plan_budget",
						 (json_int_t)info->plan_budget, "plan_hits", (json_int_t)info->plan_hits, "plan_misses",
						 (json_int_t)info->plan_misses, "plan_evictions", (json_int_t)info->plan_evictions,
						 "jobs_running", running, "jobs_queued", queued, "graphs_resident", s->graphs_resident,
						 "graphs_pinned", s->graphs_pinned, "neighbours_resident", s->neighbours_resident, "evictions",
						 (json_int_t)s->evictions, "losses", (json_int_t)s->losses));
	json_object_set_new(device, "version", json_integer(d->version));
	json_object_set_new(device, "worker", d->remote ? sl__remote_json(d->remote) : json_null());
	json_object_set_new(device, "gpu", sl__gpu_json(d->engines->gpus, d));
	return device;
}

const struct sl_server_device *sl_engines_silent(const struct sl_engines *all, double *seconds)
{
	const struct sl_server_device *found = NULL;
	*seconds = 0;
	SL_EACH_DEVICE(all, d) {
		double silent = d->port && !d->worker && d->stage == SL_DEVICE_OPEN ? sl_device_silent_s(d->port) : 0;
		if (silent <= *seconds)
			continue;
		*seconds = silent;
		found = d;
	}
	return found;
}

/* ---- event streams: the last known state of a device ---------------------------- */

static json_t *event_record(void *arg, const char *id)
{
	const struct sl_engines *all = arg;
	SL_EACH_DEVICE(all, d)
		if (!strcmp(d->id, id))
			return is_listed(d) ? device_json(d) : NULL;
	return NULL;
}

static void event_each(void *arg, void (*add)(void *to, const char *id), void *to)
{
	const struct sl_engines *all = arg;
	SL_EACH_DEVICE(all, d)
		if (is_listed(d))
			add(to, d->id);
}

static void event_stamp(void *arg, const char *id, int64_t version)
{
	struct sl_engines *all = arg;
	SL_EACH_DEVICE(all, d)
		if (!strcmp(d->id, id))
			d->version = version;
}

static const struct sl_event_source event_source = {
	.record = event_record, .each = event_each, .stamp = event_stamp,
};

void sl__devices_be_followed(struct sl_engines *all)
{
	SL_EACH_DEVICE(all, d)
		d->version = sl_version_next();
	sl_events_source(all->d->events, SL_EVENTS_DEVICE, &event_source, all);
}

static void add_devices(json_t *items, const struct sl_server_engine *e)
{
	for (int i = 0; i < e->devices; i++)
		if (e->device[i].stage != SL_DEVICE_GONE && is_listed(&e->device[i]))
			json_array_append_new(items, device_json(&e->device[i]));
}

/* Lists first the devices that jobs get if they do not choose an engine. */
static json_t *devices_json(const struct sl_engines *all)
{
	json_t *items = json_array();
	add_devices(items, all->preferred);
	for (int i = 0; i < SL_ENGINES_COUNT; i++)
		if (&all->engine[i] != all->preferred)
			add_devices(items, &all->engine[i]);
	return page(items);
}

static json_t *plans_json(const struct sl_engines *all)
{
	json_t *items = json_array();
	SL_EACH_DEVICE(all, d)
		for (int i = 0; i < d->state.plan_count; i++) {
			const struct sl_plan_info *p = &d->state.plan[i];
			json_array_append_new(items, json_pack("{s:s, s:i, s:i, s:f, s:i, s:I, s:I}", "device", d->id,
							       "dims", p->dims, "side", p->side, "h", p->h, "window", p->window,
							       "bytes", (json_int_t)p->bytes, "uses", (json_int_t)p->uses));
		}
	return page(items);
}

static void take_out(struct waiter *w)
{
	sl_list_unlink(&w->link);
	free(w);
}

static void gone(void *arg)
{
	take_out(arg);
}

static void answer(struct waiter *w)
{
	const struct sl_engines *all = w->engines;
	struct sl_request *r = w->request;
	json_t *(*make_reply)(const struct sl_engines *all) = w->make_reply;
	take_out(w);
	if (make_reply)
		sl_reply_json(r, 200, make_reply(all));
	else
		sl_reply_empty(r, 204);
}

void sl__device_answered(struct sl_server_device *d)
{
	SL_LIST_EACH(struct waiter, w, &d->engines->waiters, link) {
		uint64_t *word = &w->pending[d->number / 64], bit = 1ull << d->number % 64;
		w->count -= (*word & bit) != 0;
		*word &= ~bit;
		if (!w->count)
			answer(w);
	}
}

static void ask(struct sl_engines *all, struct sl_request *r, int (*question)(struct sl_device_port *t),
		json_t *(*make_reply)(const struct sl_engines *all))
{
	struct waiter *w = calloc(1, sizeof *w);
	for (struct sl_server_device *d = w ? sl_engines_next(all, NULL) : NULL; d; d = sl_engines_next(all, d))
		if (d->stage == SL_DEVICE_OPEN && !question(d->port)) {
			w->pending[d->number / 64] |= 1ull << d->number % 64;
			w->count++;
		}
	if (!w) {
		sl_reply_problem(r, SL_NOMEM, SL_NO_MEMORY "a question to the device.");
		return;
	}
	if (!w->count) {  /* none is open */
		free(w);
		if (make_reply)
			sl_reply_json(r, 200, make_reply(all));
		else
			sl_reply_empty(r, 204);
		return;
	}
	w->engines = all;
	w->request = r;
	w->make_reply = make_reply;
	sl_list_append(&all->waiters, &w->link);
	sl_request_park(r, gone, w);
}

void sl_engines_reply_devices(struct sl_engines *all, struct sl_request *r)
{
	ask(all, r, sl_device_ask_state, devices_json);
}

void sl_engines_reply_plans(struct sl_engines *all, struct sl_request *r)
{
	ask(all, r, sl_device_ask_state, plans_json);
}

void sl_engines_clear_plans(struct sl_engines *all, struct sl_request *r)
{
	ask(all, r, sl_device_plans_clear, NULL);
}

/* ---- metrics ------------------------------------------------------------------------------- */

struct metric {
	enum sl_metric_kind kind;
	const char *name, *help;
};

/* The device's own label is added to each. */
static const struct metric metrics[SL_DEVICE_METRICS] = {
	{SL_COUNTER, "spaceland_plan_hits_total", "Fourier plans found in the cache."},
	{SL_COUNTER, "spaceland_plan_misses_total", "Fourier plans made because the cache lacked them."},
	{SL_COUNTER, "spaceland_plan_evictions_total", "Fourier plans removed from the cache to make room."},
	{SL_GAUGE, "spaceland_plans", "Fourier plans in the cache."},
	{SL_GAUGE, "spaceland_plan_bytes", "Memory of the plan cache."},
	{SL_GAUGE, "spaceland_device_memory_bytes", "Device memory in use."},
	{SL_GAUGE, "spaceland_device_graph_bytes", "Device memory used by graphs and neighbours."},
	{SL_GAUGE, "spaceland_device_embedding_bytes", "Device memory used by embeddings."},
	{SL_GAUGE, "spaceland_device_memory_budget_bytes", "Limit of device memory in use; 0: no limit."},
	{SL_GAUGE, "spaceland_device_graphs", "Graphs on the device."},
	{SL_GAUGE, "spaceland_device_graphs_pinned", "Pinned graphs on the device."},
	{SL_COUNTER, "spaceland_device_evictions_total", "Graphs and neighbours removed from the device to make room."},
	{SL_COUNTER, "spaceland_device_losses_total", "Failures of the device."},
	{SL_GAUGE, "spaceland_device_up", "1: the device works; 0: it has failed and is being reopened."},
	{SL_GAUGE, "spaceland_device_jobs", "Jobs that have a place on the device and are not paused."},
	{SL_COUNTER, "spaceland_device_iterations_total", "Iterations on the device."},
	{SL_COUNTER, "spaceland_device_slices_total", "Slices that jobs have run."},
	{SL_COUNTER, "spaceland_device_slice_seconds_total", "Total time of these slices."},
};

void sl__device_register_metrics(struct sl_server_device *d)
{
	char label[64];
	if (d->counted)
		return;
	d->counted = true;
	snprintf(label, sizeof label, "device=\"%s\"", d->id);
	for (int i = 0; i < SL_DEVICE_METRICS; i++)
		d->metric[i] = sl_metrics_register(d->engines->d->metrics, metrics[i].kind, metrics[i].name, label,
						   metrics[i].help);
}

static void collect(struct sl_server_device *d)
{
	const struct sl_device_state *s = &d->state;
	const struct sl_device_info *i = &s->info;
	const double values[SL_DEVICE_METRICS] = {
		(double)i->plan_hits, (double)i->plan_misses, (double)i->plan_evictions, (double)i->plans,
		(double)i->plan_bytes, (double)i->memory_used, (double)i->graph_bytes, (double)i->embedding_bytes,
		(double)i->memory_budget, s->graphs_resident, s->graphs_pinned, (double)s->evictions, (double)s->losses,
		s->down || d->stage != SL_DEVICE_OPEN ? 0 : 1, d->active[0] + d->active[1], d->iterations, d->slices,
			d->slice_seconds,
	};
	for (int k = 0; k < SL_DEVICE_METRICS; k++)
		sl_metric_set(d->metric[k], d->stage == SL_DEVICE_GONE ? NAN : values[k]);
}

void sl__devices_collect(void *engines)
{
	struct sl_engines *all = engines;
	for (int i = 0; i < SL_ENGINES_COUNT; i++)
		for (int k = 0; k < all->engine[i].devices; k++)
			if (all->engine[i].device[k].counted)
				collect(&all->engine[i].device[k]);
	sl__gpus_collect(all->gpus);
}
