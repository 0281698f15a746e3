/* Which engines there are, how their devices are, what they count. Loop thread. */
#include "daemon/engines/engines.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/engine_fault.h"
#include "core/engine_load.h"
#include "daemon/jobs/jobs_internal.h"
#include "daemon/util/log.h"

#define RESTART_EVERY_S 60  /* not more often, whatever the device does */
#define GPUS_MAX 16         /* of a machine, that are used */
#define AGAIN_MS 10000      /* a device that did not open is not tried again before */

/* Jobs that share a device; more wait. Where small ones run side by side, there may be more. */
#define ACTIVE_MAX 32
#define ACTIVE_MAX_TOGETHER 160

static const char *const names[SL__ENGINES] = {"cuda", "hybrid", "hybrid-double", "cpu"};

_Static_assert((SL__ENGINES - 1) * GPUS_MAX + 1 <= SL_DEVICES_MAX, "every device has a number");

/* ---- opening ------------------------------------------------------------------------- */

static int device_start(struct sl_jobs_device *d, bool patient, struct sl_error *err)
{
	struct sl_jobs *j = d->jobs;
	const struct sl_config *c = &j->d->config;
	struct sl_device_config config = {
		.engine = d->engine->functions, .slice_ms = c->slice_ms, .patient = patient,
		.options = {.index = d->index, .threads = (int)c->threads, .plan_bytes = (uint64_t)c->plan_cache_bytes,
			    .memory_bytes = (uint64_t)c->device_memory_bytes},
	};
	d->tried_ms = uv_now(j->d->loop);
	int code = sl_device_thread_start(&d->thread, j->d->loop, &config, sl__job_on_event, d, err);
	if (code)
		d->thread = NULL;
	else
		d->stage = SL_DEVICE_OPENING;
	return code;
}

static void metrics_register(struct sl_jobs_device *d);

static void device_opened(struct sl_jobs_device *d)
{
	d->stage = SL_DEVICE_OPEN;
	d->problem.code = 0;
	sl_affinity_cache_set_device(d->jobs->affinities, d->number, d->thread);
	metrics_register(d);
}

static void device_failed(struct sl_jobs_device *d, const struct sl_error *err)
{
	d->problem = *err;
	if (d->thread)
		sl_device_thread_destroy(d->thread, NULL, NULL);
	d->thread = NULL;
	d->stage = SL_DEVICE_IDLE;
	sl_log_warning("device", "%s does not open: %s", d->id, err->detail);
}

/* All devices of an engine at the same time, before the loop runs. Fails when not one opens. */
static int open_all(struct sl_jobs_engine *e, bool patient, struct sl_error *err)
{
	int open = 0, code = SL_NODEVICE;
	struct sl_error why;
	for (int i = 0; i < e->devices; i++)
		if (device_start(&e->device[i], patient, &why))
			device_failed(&e->device[i], &why);
	for (int i = 0; i < e->devices; i++) {
		struct sl_jobs_device *d = &e->device[i];
		if (d->stage != SL_DEVICE_OPENING)
			continue;
		if (sl_device_thread_opened(d->thread, &why)) {
			device_failed(d, &why);
		} else {
			device_opened(d);
			open++;
		}
	}
	if (!open) {
		code = e->devices ? e->device[0].problem.code : code;
		*err = e->device[0].problem;
	}
	return open ? 0 : code;
}

/* An engine that is there has a device for each GPU; one that is not has one, to tell why. */
static void make_devices(struct sl_jobs *j, struct sl_jobs_engine *e)
{
	int count = e->functions ? sl_engine_devices(e->name) : 1;
	e->devices = count < 1 ? 1 : count < GPUS_MAX ? count : GPUS_MAX;
	e->device = j->device + j->devices;
	for (int i = 0; i < e->devices; i++) {
		struct sl_jobs_device *d = &e->device[i];
		*d = (struct sl_jobs_device){.jobs = j, .engine = e, .number = j->devices++, .index = i};
		snprintf(d->id, sizeof d->id, "%s%d", e->name, i);
	}
}

/* The engine by its functions, and its devices, none of them open. */
static int engine_load(struct sl_jobs *j, struct sl_jobs_engine *e)
{
	bool again = getenv(SL_RESTARTED) && !strcmp(j->d->config.engine, e->name);
	int code = again ? sl_engine_load(e->name, &e->functions, &e->reason) :
			   sl_engine_open(e->name, &e->functions, &e->reason);
	if (code)
		e->functions = NULL;
	make_devices(j, e);
	return code;
}

/* The GPU's engine if one opens, else the CPU's, and why. */
static int open_automatic(struct sl_jobs *j, struct sl_error *err)
{
	struct sl_jobs_engine *cuda = sl__engine_find(j, "cuda"), *cpu = sl__engine_find(j, "cpu");
	struct sl_error reason;
	if (cuda->offered) {
		j->preferred = cuda;
		int code = engine_load(j, cuda);
		reason = cuda->reason;
		if (!code && !open_all(cuda, false, &reason))
			return 0;
		sl_log_info("device", "The CPU engine computes: %s", reason.detail);
		j->engine_reason = strdup(reason.detail);
	}
	j->preferred = cpu;
	cpu->offered = true;
	engine_load(j, cpu);
	return open_all(cpu, false, err);
}

static int open_preferred(struct sl_jobs *j, struct sl_error *err)
{
	const char *name = j->d->config.engine;
	struct sl_jobs_engine *e;
	if (!strcmp(name, SL__AUTO))
		return open_automatic(j, err);
	j->preferred = e = sl__engine_find(j, name);
	e->offered = true;
	if (engine_load(j, e)) {
		*err = e->reason;
		return err->code;
	}
	/* A server that started anew because of its GPU serves, whether the GPU is there again or not. */
	return open_all(e, getenv(SL_RESTARTED) != NULL, err);
}

/* Is what keeps it from being used in the log already, of another one? /v1/devices has it of each. */
static bool told(const struct sl_jobs *j, const struct sl_jobs_engine *e)
{
	if (j->engine_reason && !strcmp(j->engine_reason, e->reason.detail))
		return true;
	for (const struct sl_jobs_engine *other = j->engine; other < e; other++)
		if (!other->functions && !strcmp(other->reason.detail, e->reason.detail))
			return true;
	return false;
}

int sl__engines_open(struct sl_jobs *j, struct sl_error *err)
{
	const struct sl_config *c = &j->d->config;
	if (c->plugin_dir[0])
		setenv("SPACELAND_PLUGINS", c->plugin_dir, 1);  /* at the start: nobody reads it at the same time */
	for (int i = 0; i < SL__ENGINES; i++) {
		j->engine[i].name = names[i];
		j->engine[i].offered = sl_config_lists(c->engines, names[i]);
	}
	int code = open_preferred(j, err);
	for (int i = 0; i < SL__ENGINES && !code; i++) {
		struct sl_jobs_engine *e = &j->engine[i];
		if (!e->offered || e->devices)
			continue;
		if (engine_load(j, e) && !told(j, e))
			sl_log_info("device", "engine %s is not usable: %s", e->name, e->reason.detail);
	}
	return code;
}

/* ---- choosing --------------------------------------------------------------------------- */

struct sl_jobs_engine *sl__engine_find(struct sl_jobs *j, const char *name)
{
	if (!strcmp(name, SL__AUTO))
		return j->preferred;
	for (int i = 0; i < SL__ENGINES; i++)
		if (!strcmp(j->engine[i].name, name))
			return &j->engine[i];
	return NULL;
}

struct sl_jobs_engine *sl__engine_of_device(struct sl_jobs *j, const char *id)
{
	for (int i = 0; i < SL__ENGINES; i++) {
		size_t length = strlen(names[i]);
		if (!strncmp(id, names[i], length) && id[length] >= '0' && id[length] <= '9')
			return &j->engine[i];
	}
	return NULL;
}

/* May it be opened now? */
static bool openable(const struct sl_jobs_device *d)
{
	return d->stage == SL_DEVICE_IDLE && d->engine->functions &&
	       (!d->problem.code || uv_now(d->jobs->d->loop) - d->tried_ms >= AGAIN_MS);
}

const struct sl_error *sl__engine_problem(const struct sl_jobs_engine *e)
{
	if (!e->functions)
		return &e->reason;
	for (int i = 0; i < e->devices; i++)
		if (e->device[i].stage != SL_DEVICE_IDLE || openable(&e->device[i]))
			return NULL;
	return &e->device[0].problem;
}

/* "auto, cuda and cpu" */
static void list_usable(struct sl_jobs *j, char *out, size_t room)
{
	const char *usable[SL__ENGINES + 1] = {SL__AUTO};
	int count = 1;
	size_t used = 0;
	for (int i = 0; i < SL__ENGINES; i++)
		if (j->engine[i].offered && !sl__engine_problem(&j->engine[i]))
			usable[count++] = names[i];
	for (int i = 0; i < count && used < room; i++)
		used += (size_t)snprintf(out + used, room - used, "%s%s", !i ? "" : i == count - 1 ? " and " : ", ",
					 usable[i]);
}

int sl__engine_choose(struct sl_jobs *j, const char *name, struct sl_jobs_engine **out, struct sl_error *err)
{
	struct sl_jobs_engine *e = sl__engine_find(j, name);
	char usable[80];
	if (!e)
		return sl_error_field(err, SL_BADPARAM, "/engine", "There is no engine \"%.40s\"; auto, cuda, hybrid, "
				      "hybrid-double or cpu would be right.", name);
	const struct sl_error *problem = e->offered ? sl__engine_problem(e) : NULL;
	list_usable(j, usable, sizeof usable);
	*out = e;
	if (!e->offered)
		return sl_error_field(err, SL_CONFLICT, "/engine", "engine is %s, which this server does not offer (its option "
				      "engines). Usable here: %s.", name, usable);
	if (problem)
		return sl_error_field(err, SL_CONFLICT, "/engine", "engine is %s, which is not usable here: %.500s Usable: %s.",
				      name, problem->detail, usable);
	return 0;
}

/* Not one device of it is there, or will be: those who wait are told. */
static void turn_away(struct sl_jobs_engine *e, const struct sl_error *why)
{
	for (int i = 0; i < e->devices; i++)
		if (e->device[i].stage != SL_DEVICE_IDLE)
			return;
	while (e->backlog.first) {
		struct sl_job *job = sl__job_of_waiting(e->backlog.first);
		sl_backlog_remove(&e->backlog, &job->waiting);
		sl__job_engine_gone(job, why);
	}
}

struct sl_jobs_device *sl__engine_first(struct sl_jobs_engine *e)
{
	for (int i = 0; i < e->devices; i++)
		if (e->device[i].stage == SL_DEVICE_OPEN)
			return &e->device[i];
	return e->device;
}

/* Room for one more? */
static bool has_room(const struct sl_jobs_device *d)
{
	int most = d->engine->functions->run_many ? ACTIVE_MAX_TOGETHER : ACTIVE_MAX;
	return d->stage == SL_DEVICE_OPEN && !d->state.down && d->active < most;
}

struct sl_jobs_device *sl__engine_best(struct sl_jobs_engine *e, const struct sl_job *job)
{
	struct sl_jobs_device *best = NULL;
	bool best_has = false;
	for (int i = 0; i < e->devices; i++) {
		struct sl_jobs_device *d = &e->device[i];
		if (!has_room(d))
			continue;
		bool has = job && e->devices > 1 &&
			   sl_affinity_resident(e->device->jobs->affinities, d->number, job->graph, &job->params);
		if (!best || d->active < best->active || (d->active == best->active && has && !best_has)) {
			best = d;
			best_has = has;
		}
	}
	return best;
}

struct sl_jobs_device *sl__engine_room(struct sl_jobs_engine *e)
{
	struct sl_error err;
	if (!e->backlog.first)
		return NULL;
	for (int i = 0; i < e->devices; i++)
		if (openable(&e->device[i]) && device_start(&e->device[i], false, &err)) {
			device_failed(&e->device[i], &err);
			turn_away(e, &err);
		}
	return sl__engine_best(e, NULL);
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

void sl__device_state(struct sl_jobs_device *d, const struct sl_device_state *state)
{
	bool was_down = d->state.down;
	d->state = *state;
	if (d->stage == SL_DEVICE_OPENING) {
		device_opened(d);
		sl_log_info("device", "%s is open: %s", d->id, state->info.name);
		sl__jobs_pump(d->jobs);
	} else if (was_down && !state->down) {
		sl_log_info("jobs", "the device is back");
		sl__jobs_pump(d->jobs);
	} else if (state->restart) {
		start_anew(d->jobs);
	}
}

void sl__device_stopped(struct sl_jobs_device *d, const struct sl_error *err)
{
	struct sl_jobs *j = d->jobs;
	sl__device_silent(d);
	if (d->stage == SL_DEVICE_OPENING && !j->stopping) {
		device_failed(d, err);
		turn_away(d->engine, err);
		return;
	}
	d->stage = SL_DEVICE_STOPPED;
	sl__jobs_shutdown_step(j);
}

const char *sl__device_condition(const struct sl_jobs_device *d, const char **problem)
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
	{SL_GAUGE, "spaceland_device_jobs", "Jobs that have a place on the device and are not paused."},
	{SL_COUNTER, "spaceland_device_iterations_total", "Iterations on the device."},
	{SL_COUNTER, "spaceland_device_slices_total", "Slices that jobs have had of the device."},
	{SL_COUNTER, "spaceland_device_slice_seconds_total", "Time that those slices took."},
};

static void metrics_register(struct sl_jobs_device *d)
{
	char label[64];
	if (d->counted)
		return;
	d->counted = true;
	snprintf(label, sizeof label, "device=\"%s\"", d->id);
	for (int i = 0; i < SL__DEVICE_METRICS; i++)
		d->metric[i] = sl_metrics_register(d->jobs->d->metrics, metrics[i].kind, metrics[i].name, label,
						   metrics[i].help);
}

static void collect(struct sl_jobs_device *d)
{
	const struct sl_device_state *s = &d->state;
	const struct sl_device_info *i = &s->info;
	const double values[SL__DEVICE_METRICS] = {
		(double)i->plan_hits, (double)i->plan_misses, (double)i->plan_evictions, (double)i->plans,
		(double)i->plan_bytes, (double)i->memory_used, (double)i->graph_bytes, (double)i->embedding_bytes,
		(double)i->memory_budget, s->graphs_resident, s->graphs_pinned, (double)s->evictions, (double)s->losses,
		s->down || d->stage != SL_DEVICE_OPEN ? 0 : 1, d->active, d->iterations, d->slices, d->slice_seconds,
	};
	for (int k = 0; k < SL__DEVICE_METRICS; k++)
		sl_metric_set(d->metric[k], values[k]);
}

void sl__engines_collect(struct sl_jobs *j)
{
	for (int i = 0; i < j->devices; i++)
		if (j->device[i].counted)
			collect(&j->device[i]);
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
