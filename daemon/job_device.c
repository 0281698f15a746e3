/* The device as the jobs see it: which engine, how it is, what it counts. Loop thread. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/engine_fault.h"
#include "core/engine_load.h"
#include "daemon/jobs_internal.h"
#include "daemon/log.h"

#define RESTART_EVERY_S 60  /* not more often, whatever the device does */

/* ---- the engine ------------------------------------------------------------------- */

static int open_device(struct sl_jobs *j, bool patient, struct sl_error *err)
{
	const struct sl_config *c = &j->d->config;
	struct sl_device_config device = {
		.engine = j->engine, .slice_ms = c->slice_ms, .patient = patient,
		.options = {.threads = (int)c->threads, .plan_bytes = (uint64_t)c->plan_cache_bytes,
			    .memory_bytes = (uint64_t)c->device_memory_bytes},
	};
	return sl_device_thread_create(&j->device, j->d->loop, &device, sl__job_on_event, j, err);
}

/* A server that started anew because of its GPU serves, whether the GPU is there again or not. */
static int open_again(struct sl_jobs *j, struct sl_error *err)
{
	int code = sl_engine_load(j->d->config.engine, &j->engine, err);
	return code ? code : open_device(j, true, err);
}

/* The GPU's engine if it opens, else the CPU's, and why. */
static int open_automatic(struct sl_jobs *j, struct sl_error *err)
{
	struct sl_error reason;
	int code = sl_engine_open("auto", &j->engine, &reason);
	if (!code && !reason.code)
		code = open_device(j, false, &reason);
	else if (!code)
		code = open_device(j, false, err);
	if (code && strcmp(j->engine->name, "cpu")) {
		code = sl_engine_open("cpu", &j->engine, err);
		if (!code)
			code = open_device(j, false, err);
	}
	if (!code && reason.code) {
		sl_log_info("device", "The CPU engine computes: %s", reason.detail);
		j->engine_reason = strdup(reason.detail);
	}
	return code;
}

int sl__engine_open(struct sl_jobs *j, struct sl_error *err)
{
	const struct sl_config *c = &j->d->config;
	int code;
	if (c->plugin_dir[0])
		setenv("SPACELAND_PLUGINS", c->plugin_dir, 1);  /* at the start: nobody reads it at the same time */
	if (!strcmp(c->engine, "auto")) {
		code = open_automatic(j, err);
	} else if (getenv(SL_RESTARTED)) {
		code = open_again(j, err);
	} else {
		code = sl_engine_open(c->engine, &j->engine, err);
		if (!code)
			code = open_device(j, false, err);
	}
	if (code)
		return code;
	j->device_running = true;
	sl_affinity_cache_set_device(j->affinities, j->device);
	return 0;
}

/* ---- how it is -------------------------------------------------------------------------- */

/* After some failures a process never gets its GPU back (CUDA's documentation: "the process must be terminated and
 * relaunched"). All that matters is on the disk: start anew. */
static void start_anew(struct sl_jobs *j)
{
	const char *last = getenv(SL_RESTARTED);
	long long since = last ? (long long)time(NULL) - strtoll(last, NULL, 10) : RESTART_EVERY_S;
	if (j->stopping || !j->d->restart || (since >= 0 && since < RESTART_EVERY_S))
		return;
	sl_log_warning("device", "only a new process can open the device: the server starts anew");
	j->d->restart(j->d);
}

void sl__device_state(struct sl_jobs *j, const struct sl_device_state *state)
{
	bool was_down = j->device_state.down;
	j->device_state = *state;
	if (was_down && !state->down) {
		sl_log_info("jobs", "the device is back");
		sl__jobs_pump(j);
	} else if (state->restart) {
		start_anew(j);
	}
}

/* ---- what it counts ------------------------------------------------------------------------ */

struct metric {
	enum sl_metric_kind kind;
	const char *name, *help;
};

/* The device's own label is added to each. */
static const struct metric metrics[SL__DEVICE_METRICS] = {
	{SL_COUNTER, "spaceland_plan_hits_total", "Fourier plans that were found in the cache."},
	{SL_COUNTER, "spaceland_plan_misses_total", "Fourier plans that had to be made."},
	{SL_COUNTER, "spaceland_plan_evictions_total", "Fourier plans that made room for others."},
	{SL_GAUGE, "spaceland_plans", "Fourier plans in the cache."},
	{SL_GAUGE, "spaceland_plan_bytes", "Memory of the plan cache."},
	{SL_GAUGE, "spaceland_device_memory_bytes", "Memory taken on the device, all in all."},
	{SL_GAUGE, "spaceland_device_graph_bytes", "... by graphs and neighbours."},
	{SL_GAUGE, "spaceland_device_embedding_bytes", "... by embeddings."},
	{SL_GAUGE, "spaceland_device_memory_budget_bytes", "Most that may be taken on the device; 0: no budget."},
	{SL_GAUGE, "spaceland_device_graphs", "Graphs that are on the device."},
	{SL_GAUGE, "spaceland_device_graphs_pinned", "... and stay there."},
	{SL_COUNTER, "spaceland_device_evictions_total", "Graphs and neighbours that made room on the device."},
	{SL_COUNTER, "spaceland_device_losses_total", "Failures of the device."},
	{SL_GAUGE, "spaceland_device_up", "1: the device works; 0: it has failed and is tried again."},
};

void sl__device_metrics_register(struct sl_jobs *j)
{
	char label[64];
	snprintf(label, sizeof label, "device=\"%s0\"", j->engine->name);
	for (int i = 0; i < SL__DEVICE_METRICS; i++)
		j->metric_device[i] = sl_metrics_register(j->d->metrics, metrics[i].kind, metrics[i].name, label,
							  metrics[i].help);
}

void sl__device_metrics_collect(struct sl_jobs *j)
{
	const struct sl_device_state *s = &j->device_state;
	const struct sl_device_info *i = &s->info;
	const double values[SL__DEVICE_METRICS] = {
		(double)i->plan_hits, (double)i->plan_misses, (double)i->plan_evictions, (double)i->plans,
		(double)i->plan_bytes, (double)i->memory_used, (double)i->graph_bytes, (double)i->embedding_bytes,
		(double)i->memory_budget, s->graphs_resident, s->graphs_pinned, (double)s->evictions, (double)s->losses,
		s->down ? 0 : 1,
	};
	for (int k = 0; k < SL__DEVICE_METRICS; k++)
		sl_metric_set(j->metric_device[k], values[k]);
}

/* ---- graphs that stay, graphs that go ------------------------------------------------------ */

void sl_jobs_graph_pinned(struct sl_jobs *j, const char *graph, bool pinned)
{
	sl_affinity_cache_pin(j->affinities, graph, pinned);
}

void sl_jobs_graph_unloaded(struct sl_jobs *j, const char *graph)
{
	sl_affinity_cache_forget(j->affinities, graph);
}
