/* The engines of the server: opens and chooses them, and receives the events of their devices. Loop thread. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <systemd/sd-daemon.h>

#include "core/engine/fault.h"
#include "daemon/engines/engines_internal.h"
#include "daemon/stream/events.h"
#include "daemon/util/log.h"
#include "daemon/worker/tokens.h"
#include "daemon/worker/worker.h"

#define RESTART_EVERY_S 60  /* shortest time between two restarts of the server */
#define PATIENCE_S 1200     /* time limit of a slice in a worker without systemd's watchdog */
#define AGAIN_MS 10000      /* least time between two attempts to open a device */

_Static_assert(SL_ENGINES_COUNT * SL_ENGINE_DEVICES_MAX <= SL_DEVICES_MAX, "every device has a number");

static void on_event(void *arg, struct sl_device_event *event);

/* ---- opening ------------------------------------------------------------------------- */

/* The time limit of a slice in a worker: half of systemd's watchdog, which would end the whole server. */
static double patience_s(void)
{
	uint64_t usec = 0;
	return sd_watchdog_enabled(0, &usec) > 0 ? (double)usec * 0.5e-6 : PATIENCE_S;
}

static int device_start(struct sl_server_device *d, bool patient, struct sl_error *err)
{
	struct sl_engines *all = d->engines;
	const struct sl_config *c = &all->d->config;
	struct sl_device_config config = {
		.engine = d->engine->functions, .slice_ms = c->slice_ms, .patient = patient,
		.options = {.index = d->first_gpu, .gpus = d->gpus, .divide_nodes = (uint32_t)c->divide_nodes,
			    .threads = (int)c->threads, .plan_bytes = (uint64_t)c->plan_cache_bytes,
			    .memory_bytes = (uint64_t)c->device_memory_bytes},
	};
	d->tried_ms = uv_now(all->d->loop);
	const struct sl_worker_options options = {.id = d->id, .state_dir = all->d->state_dir,
						  .input_bytes = (uint64_t)c->graph_memory_bytes,
						  .patience_s = patience_s()};
	d->worker = !strcmp(c->workers, "all") || (!strcmp(c->workers, "gpus") && strcmp(d->engine->name, "cpu") != 0);
	int code = d->worker ?
		   sl_worker_start(&d->port, all->d->loop, &config, &options, on_event, d, err) :
		   sl_device_thread_start(&d->port, all->d->loop, &config, on_event, d, err);
	if (code)
		d->port = NULL;
	else
		d->stage = SL_DEVICE_OPENING;
	return code;
}

static void device_opened(struct sl_server_device *d)
{
	d->stage = SL_DEVICE_OPEN;
	d->problem.code = 0;
	sl_affinity_cache_set_device(d->engines->affinities, d->number, d->port);
	sl__device_register_metrics(d);
}

static void device_failed(struct sl_server_device *d, const struct sl_error *err)
{
	d->problem = *err;
	if (d->port)
		sl_device_destroy(d->port, NULL, NULL);
	d->port = NULL;
	d->stage = SL_DEVICE_IDLE;
	sl_log_warning("device", "%s does not open: %s", d->id, err->detail);
}

/* Opens all devices of an engine at the same time, before the loop runs. Fails if none opens. */
static int open_all(struct sl_server_engine *e, bool patient, struct sl_error *err)
{
	int open = 0, code = SL_NODEVICE;
	struct sl_error why;
	for (int i = 0; i < e->devices; i++)
		if (device_start(&e->device[i], patient, &why))
			device_failed(&e->device[i], &why);
	for (int i = 0; i < e->devices; i++) {
		struct sl_server_device *d = &e->device[i];
		if (d->stage != SL_DEVICE_OPENING)
			continue;
		if (sl_device_opened(d->port, &why)) {
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

static struct sl_server_device *block_of(struct sl_engines *all, const struct sl_server_engine *e)
{
	return all->device + (e - all->engine) * SL_ENGINE_DEVICES_MAX;
}

struct sl_server_device *sl_engines_next(const struct sl_engines *all, const struct sl_server_device *d)
{
	int at = d ? (int)(d - all->device) + 1 : 0;
	for (; at < SL_ENGINES_COUNT * SL_ENGINE_DEVICES_MAX; at++) {
		const struct sl_server_engine *e = &all->engine[at / SL_ENGINE_DEVICES_MAX];
		if (at % SL_ENGINE_DEVICES_MAX >= e->devices)
			at += SL_ENGINE_DEVICES_MAX - 1 - at % SL_ENGINE_DEVICES_MAX;
		else if (all->device[at].stage != SL_DEVICE_GONE)
			return (struct sl_server_device *)&all->device[at];
	}
	return NULL;
}

int sl_server_engine_width(const struct sl_server_engine *e)
{
	int count = 0;
	for (int i = 0; i < e->devices; i++)
		count += e->device[i].stage != SL_DEVICE_GONE;
	return count ? count : 1;
}

/* True if this machine has no devices of its own. */
static bool only_remote(const struct sl_engines *all)
{
	return !strcmp(all->d->config.workers, "remote");
}

/* True if workers of other machines may bring devices of the engine. */
static bool is_awaited(const struct sl_engines *all, const struct sl_server_engine *e)
{
	return all->d->config.worker_listen[0] &&
	       (only_remote(all) || !strcmp(all->d->config.engine, e->name) ||
		sl_worker_tokens_know(all->d->settings, e->name));
}

/* Makes a record for each GPU of a loaded engine, or for so many together as the configuration says; one record for an
 * engine that did not load, to report why. */
static void make_devices(struct sl_engines *all, struct sl_server_engine *e)
{
	int gpus = e->functions && !only_remote(all) ? sl_engine_devices(e->name) : 1;
	int each = strcmp(e->name, "cuda") ? 1 : (int)all->d->config.gpus_per_device, count = (gpus + each - 1) / each;
	e->devices = count < 1 ? 1 : count < SL_GPUS_MAX ? count : SL_GPUS_MAX;
	e->device = block_of(all, e);
	for (int i = 0; i < e->devices; i++) {
		struct sl_server_device *d = &e->device[i];
		*d = (struct sl_server_device){.engines = all, .engine = e, .number = all->numbers++, .index = i,
						.first_gpu = i * each,
						.gpus = gpus - i * each < each ? gpus - i * each : each, .gpu = -1};
		snprintf(d->id, sizeof d->id, "%s%d", e->name, i);
		if (e->awaited)
			d->stage = SL_DEVICE_GONE;
	}
}

/* Engine slurm has the functions of the engine with which its workers compute, and no devices before they come. What
 * stands at the place of its first device names it to jobs that wait. */
static int slurm_load(struct sl_engines *all, struct sl_server_engine *e)
{
	e->elsewhere = true;
	e->device = block_of(all, e);
	*e->device = (struct sl_server_device){.engines = all, .engine = e, .stage = SL_DEVICE_GONE, .gpu = -1,
					       .id = "slurm0"};
	int code = sl_engine_load(all->d->config.slurm_engine, &e->functions, &e->reason);
	if (code)
		e->functions = NULL;
	return code;
}

/* Loads the engine's functions and makes its devices; opens none of them. */
static int engine_load(struct sl_engines *all, struct sl_server_engine *e)
{
	if (!strcmp(e->name, SL_ENGINE_SLURM))
		return slurm_load(all, e);
	bool again = getenv(SL_RESTARTED) && !strcmp(all->d->config.engine, e->name);
	int code = again ? sl_engine_load(e->name, &e->functions, &e->reason) :
			   sl_engine_open(e->name, &e->functions, &e->reason);
	if (only_remote(all) || (code && is_awaited(all, e)))
		code = sl_engine_load(e->name, &e->functions, &e->reason);
	if (code)
		e->functions = NULL;
	e->awaited = !code && is_awaited(all, e) && (only_remote(all) || !sl_engine_devices(e->name));
	make_devices(all, e);
	return code;
}

/* Opens the GPU's engine; if no GPU opens, the CPU's engine, and keeps the reason in all->fallback. */
static int open_automatic(struct sl_engines *all, struct sl_error *err)
{
	struct sl_server_engine *cuda = sl_engines_find(all, "cuda"), *cpu = sl_engines_find(all, "cpu");
	struct sl_error reason;
	if (cuda->offered) {
		all->preferred = cuda;
		int code = engine_load(all, cuda);
		reason = cuda->reason;
		if (!code && (only_remote(all) || (!cuda->awaited && !open_all(cuda, false, &reason))))
			return 0;
		sl_log_info("device", "The CPU engine computes: %s", reason.detail);
		all->fallback = strdup(reason.detail);
	}
	all->preferred = cpu;
	cpu->offered = true;
	engine_load(all, cpu);
	if (cpu->awaited)
		return 0;
	return open_all(cpu, false, err);
}

static int open_preferred(struct sl_engines *all, struct sl_error *err)
{
	const char *name = all->d->config.engine;
	struct sl_server_engine *e;
	if (!strcmp(name, SL_ENGINE_AUTO))
		return open_automatic(all, err);
	all->preferred = e = sl_engines_find(all, name);
	e->offered = true;
	if (engine_load(all, e)) {
		*err = e->reason;
		return err->code;
	}
	if (e->elsewhere || e->awaited)
		return 0;
	/* A server that restarted because of a lost GPU starts even if the GPU does not open. */
	return open_all(e, getenv(SL_RESTARTED) != NULL, err);
}

/* Returns true if the engine's reason was logged for another engine. /v1/devices shows the reason for each. */
static bool told(const struct sl_engines *all, const struct sl_server_engine *e)
{
	if (all->fallback && !strcmp(all->fallback, e->reason.detail))
		return true;
	for (const struct sl_server_engine *other = all->engine; other < e; other++)
		if (!other->functions && !strcmp(other->reason.detail, e->reason.detail))
			return true;
	return false;
}

static int open_engines(struct sl_engines *all, struct sl_error *err)
{
	const struct sl_config *c = &all->d->config;
	if (c->plugin_dir[0])
		setenv("SPACELAND_PLUGINS", c->plugin_dir, 1);  /* safe, since no other thread runs yet */
	for (int i = 0; i < SL_ENGINES_COUNT; i++) {
		all->engine[i].name = sl_engine_words[i + 1];
		all->engine[i].offered = sl_config_lists(c->engines, all->engine[i].name) &&
					 (c->slurm_max_workers || strcmp(all->engine[i].name, SL_ENGINE_SLURM));
	}
	int code = open_preferred(all, err);
	for (int i = 0; i < SL_ENGINES_COUNT && !code; i++) {
		struct sl_server_engine *e = &all->engine[i];
		if (!e->offered || e->devices || e->elsewhere)
			continue;
		if (engine_load(all, e) && !told(all, e))
			sl_log_info("device", "engine %s is not usable: %s", e->name, e->reason.detail);
	}
	return code;
}

/* ---- choosing --------------------------------------------------------------------------- */

struct sl_server_engine *sl_engines_find(struct sl_engines *all, const char *name)
{
	if (!strcmp(name, SL_ENGINE_AUTO))
		return all->preferred;
	for (int i = 0; i < SL_ENGINES_COUNT; i++)
		if (!strcmp(all->engine[i].name, name))
			return &all->engine[i];
	return NULL;
}

struct sl_server_engine *sl_engines_of_device(struct sl_engines *all, const char *id)
{
	for (int i = 0; i < SL_ENGINES_COUNT; i++) {
		size_t length = strlen(all->engine[i].name);
		if (!strncmp(id, all->engine[i].name, length) && id[length] >= '0' && id[length] <= '9')
			return &all->engine[i];
	}
	return NULL;
}

/* Returns true if a job may open the device now. */
static bool openable(const struct sl_server_device *d)
{
	return d->stage == SL_DEVICE_IDLE && d->engine->functions &&
	       (!d->problem.code || uv_now(d->engines->d->loop) - d->tried_ms >= AGAIN_MS);
}

const struct sl_error *sl_server_engine_problem(const struct sl_server_engine *e)
{
	if (!e->functions)
		return &e->reason;
	if (e->elsewhere || e->awaited)
		return NULL;
	for (int i = 0; i < e->devices; i++)
		if ((e->device[i].stage != SL_DEVICE_IDLE && e->device[i].stage != SL_DEVICE_GONE) ||
		    openable(&e->device[i]))
			return NULL;
	return &e->device[0].problem;
}

/* Writes the names of usable engines, such as "auto, cuda and cpu". */
static void list_usable(struct sl_engines *all, char *out, size_t room)
{
	const char *usable[SL_ENGINES_COUNT + 1] = {SL_ENGINE_AUTO};
	int count = 1;
	size_t used = 0;
	for (int i = 0; i < SL_ENGINES_COUNT; i++)
		if (all->engine[i].offered && !sl_server_engine_problem(&all->engine[i]))
			usable[count++] = all->engine[i].name;
	for (int i = 0; i < count && used < room; i++)
		used += (size_t)snprintf(out + used, room - used, "%s%s", !i ? "" : i == count - 1 ? " and " : ", ",
					 usable[i]);
}

json_t *sl_engines_usable(const struct sl_engines *all)
{
	json_t *array = json_array();
	for (int i = 0; i < SL_ENGINES_COUNT; i++)
		if (all->engine[i].offered && !sl_server_engine_problem(&all->engine[i]))
			json_array_append_new(array, json_string(all->engine[i].name));
	return array;
}

int sl_engines_choose(struct sl_engines *all, const char *name, struct sl_server_engine **out, struct sl_error *err)
{
	struct sl_server_engine *e = sl_engines_find(all, name);
	char usable[80];
	if (!e)
		return sl_error_field(err, SL_BADPARAM, "/engine", "There is no engine \"%.40s\"; it must be "
				      SL_ENGINES_TEXT ".", name);
	const struct sl_error *problem = e->offered ? sl_server_engine_problem(e) : NULL;
	list_usable(all, usable, sizeof usable);
	*out = e;
	if (!e->offered)
		return sl_error_field(err, SL_CONFLICT, "/engine", "engine is %s, which this server does not offer (its option "
				      "%s). Usable here: %s.", name, !strcmp(name, SL_ENGINE_SLURM) ?
				      "slurm_max_workers" : "engines", usable);
	if (problem)
		return sl_error_field(err, SL_CONFLICT, "/engine", "engine is %s, which is not usable here: %.500s Usable: %s.",
				      name, problem->detail, usable);
	return 0;
}

/* Fails the waiting jobs of an engine without usable devices. */
static void turn_away(struct sl_server_engine *e, const struct sl_error *why)
{
	struct sl_engines *all = e->device->engines;
	if (e->awaited)
		return;
	for (int i = 0; i < e->devices; i++)
		if (e->device[i].stage != SL_DEVICE_IDLE && e->device[i].stage != SL_DEVICE_GONE)
			return;
	all->listener.gone(all->arg, e, why);
}

struct sl_server_device *sl_server_engine_first(struct sl_server_engine *e)
{
	for (int i = 0; i < e->devices; i++)
		if (e->device[i].stage == SL_DEVICE_OPEN)
			return &e->device[i];
	return e->device;
}

bool sl_server_device_has_room(const struct sl_server_device *d, int small)
{
	return d->stage == SL_DEVICE_OPEN && !d->state.down && !d->leaving &&
	       d->active[small] < (small ? SL_PLACES_SMALL : SL_PLACES_LARGE);
}

static int jobs_on(const struct sl_server_device *d)
{
	return d->active[0] + d->active[1];
}

struct sl_server_device *sl_server_engine_best(struct sl_server_engine *e, int small, const char *graph,
					       const struct sl_affinities_params *wanted)
{
	struct sl_server_device *best = NULL;
	bool best_has = false;
	for (int i = 0; i < e->devices; i++) {
		struct sl_server_device *d = &e->device[i];
		if (!sl_server_device_has_room(d, small))
			continue;
		bool has = wanted && e->devices > 1 &&
			   sl_affinity_resident(d->engines->affinities, d->number, graph, wanted);
		if (!best || jobs_on(d) < jobs_on(best) || (jobs_on(d) == jobs_on(best) && has && !best_has)) {
			best = d;
			best_has = has;
		}
	}
	return best;
}

struct sl_server_device *sl_server_engine_room(struct sl_server_engine *e, int small)
{
	struct sl_error err;
	if (!e->line[small].waiting.count)
		return NULL;
	for (int i = 0; i < e->devices; i++)
		if (openable(&e->device[i]) && device_start(&e->device[i], false, &err)) {
			device_failed(&e->device[i], &err);
			turn_away(e, &err);
		}
	return sl_server_engine_best(e, small, NULL, NULL);
}

/* ---- the state of devices --------------------------------------------------------------- */

/* Restarts the server. After some failures a process never gets its GPU back (CUDA's documentation: "the process must
 * be terminated and relaunched"). The state on the disk is complete. */
static void start_anew(struct sl_engines *all)
{
	const char *last = getenv(SL_RESTARTED);
	long long since = last ? (long long)time(NULL) - strtoll(last, NULL, 10) : RESTART_EVERY_S;
	if (all->d->stopping || !all->d->restart || (since >= 0 && since < RESTART_EVERY_S))
		return;
	sl_log_warning("device", "only a new process can open the device: the server restarts itself");
	all->d->restart(all->d);
}

static void told_state(struct sl_server_device *d, const struct sl_device_state *state)
{
	struct sl_engines *all = d->engines;
	bool was_down = d->state.down;
	d->state = *state;
	if (d->gpu < 0 && !d->remote)
		sl__gpu_watch(all->gpus, d);
	sl_events_changed(all->d->events, SL_EVENTS_DEVICE, d->id);
	if (d->stage == SL_DEVICE_OPENING) {
		device_opened(d);
		sl_log_info("device", "%s is open: %s", d->id, state->info.name);
		all->listener.room(all->arg);
		sl_engines_look(all);
		if (d->remote)
			sl__remote_opened(d);
	} else if (was_down && !state->down) {
		sl_log_info("device", "%s is back", d->id);
		all->listener.room(all->arg);
		sl_engines_look(all);
	} else if (state->restart) {
		start_anew(all);
	}
}

static void told_stopped(struct sl_server_device *d, const struct sl_error *err)
{
	struct sl_engines *all = d->engines;
	sl__device_answered(d);
	if (d->remote && !all->d->stopping) {
		if (err->code)
			d->problem = *err;
		sl__device_gone(d);
		return;
	}
	if (d->stage == SL_DEVICE_OPENING && !all->d->stopping) {
		device_failed(d, err);
		turn_away(d->engine, err);
		return;
	}
	d->stage = SL_DEVICE_STOPPED;
	all->listener.stopped(all->arg);
}

static void on_event(void *arg, struct sl_device_event *event)
{
	struct sl_server_device *d = arg;
	struct sl_engines *all = d->engines;
	SL_ON_LOOP(all->d);
	if (event->job) {
		all->listener.job_event(all->arg, d, event);
	} else if (event->kind == SL_EVENT_GRAPH_DROPPED) {
		sl_affinity_returned(all->affinities, d->number, event->graph, event->adds);
	} else if (event->kind == SL_EVENT_STATE) {
		if (event->state)
			told_state(d, event->state);
		if (event->asked)
			sl__device_answered(d);
	} else if (event->kind == SL_EVENT_STOPPED) {
		told_stopped(d, &event->err);
	}
	sl_device_event_destroy(event);
}

/* ---- devices of workers that dial in --------------------------------------------------------- */

struct sl_server_device *sl__device_add(struct sl_server_engine *e, struct sl_engines *all)
{
	int i = 0;
	while (i < e->devices && (e->device[i].stage != SL_DEVICE_GONE || e->device[i].placed))
		i++;
	if (i == SL_ENGINE_DEVICES_MAX)
		return NULL;
	struct sl_server_device *d = &block_of(all, e)[i];
	bool is_new = i == e->devices;
	struct sl_server_device before = *d;
	*d = (struct sl_server_device){.engines = all, .engine = e, .index = i, .gpu = -1, .worker = true,
				       .number = is_new ? all->numbers++ : before.number, .version = sl_version_next(),
				       .counted = before.counted, .stage = SL_DEVICE_OPENING};
	memcpy(d->metric, before.metric, sizeof d->metric);
	snprintf(d->id, sizeof d->id, "%s%d", e->name, i);
	e->device = block_of(all, e);
	e->devices += is_new;
	return d;
}

sl_device_event_fn sl__device_event_fn(void)
{
	return on_event;
}

void sl__engine_await(struct sl_server_engine *e, const struct sl_engine *functions)
{
	e->awaited = true;
	if (e->functions)
		return;
	e->functions = functions;
	e->reason.code = 0;
	for (int i = 0; i < e->devices; i++)  /* the record that told why it was not usable */
		e->device[i].stage = SL_DEVICE_GONE;
}

void sl__device_gone(struct sl_server_device *d)
{
	struct sl_engines *all = d->engines;
	sl_affinity_cache_set_device(all->affinities, d->number, NULL);
	if (d->port)
		sl_device_destroy(d->port, NULL, NULL);
	d->port = NULL;
	d->stage = SL_DEVICE_GONE;
	d->leaving = false;
	sl__remote_gone(d);
	sl_events_changed(all->d->events, SL_EVENTS_DEVICE, d->id);
	all->listener.room(all->arg);
}

/* ---- life -------------------------------------------------------------------------------- */

int sl_engines_create(struct sl_engines **out, struct sl_daemon *d, const struct sl_engines_listener *listener,
		      void *arg,
		      struct sl_error *err)
{
	struct sl_engines *all = calloc(1, sizeof *all);
	*out = NULL;
	if (!all)
		return sl_error_memory(err, "the start");
	all->d = d;
	all->listener = *listener;
	all->arg = arg;
	all->gpus = sl__gpus_create(d->metrics);
	int code = !all->gpus ? sl_error_memory(err, "the start") :
			       sl_affinity_cache_create(&all->affinities, d, (uint64_t)d->config.graph_memory_bytes, err);
	if (!code)
		code = open_engines(all, err);
	if (!code)
		code = sl__remotes_create(all, err);
	if (code) {
		sl_engines_destroy(all);
		return code;
	}
	sl_metrics_on_collect(d->metrics, sl__devices_collect, all);
	*out = all;
	sl__devices_be_followed(all);
	return 0;
}

void sl_engines_stop(struct sl_engines *all)
{
	SL_EACH_DEVICE(all, d) {
		if (d->port && !d->stop_sent)
			d->stop_sent = !sl_device_stop(d->port);  /* its last event is STOPPED */
		if (d->port && d->remote)
			sl__remote_stop(d);
	}
}

bool sl_engines_stopped(const struct sl_engines *all)
{
	SL_EACH_DEVICE(all, d)
		if (d->port && d->stage != SL_DEVICE_STOPPED)
			return false;
	return true;
}

int sl_engines_close(struct sl_engines *all, void (*closed)(void *arg), void *arg)
{
	int count = 0;
	SL_EACH_DEVICE(all, d) {
		sl_affinity_cache_set_device(all->affinities, d->number, NULL);
		if (!d->port)
			continue;
		sl_device_destroy(d->port, closed, arg);
		d->port = NULL;
		count++;
	}
	if (all->remotes) {
		sl__remotes_close(all, closed, arg);
		count++;
	}
	return count;
}

/* Also stops threads that still run because the server's start failed. */
void sl_engines_destroy(struct sl_engines *all)
{
	if (!all)
		return;
	sl_engines_stop(all);
	SL_EACH_DEVICE(all, d)
		if (d->port)
			sl_device_destroy(d->port, NULL, NULL);
	if (all->remotes)
		sl__remotes_close(all, NULL, NULL);
	sl_affinity_cache_destroy(all->affinities);
	sl__gpus_destroy(all->gpus);
	free(all->fallback);
	free(all);
}

/* ---- pinned and deleted graphs -------------------------------------------------------------- */

void sl_engines_graph_pinned(struct sl_engines *all, const char *graph, bool pinned)
{
	sl_affinity_cache_pin(all->affinities, graph, pinned);
}

void sl_engines_graph_forget(struct sl_engines *all, const char *graph)
{
	sl_affinity_cache_forget(all->affinities, graph);
}
