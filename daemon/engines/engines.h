/* engines.h -- the engines that the server offers, their devices, and which of them computes a job.
 *
 * An engine (cuda, hybrid, hybrid-double, cpu) has one device for each GPU, or one for the CPU, and each device that is
 * open has its thread (device.h). Those of the engine that jobs get when they do not say otherwise are opened at the
 * start, others when the first job asks for them:
 *
 *   idle -> opening -> open (up or down, as its thread tells) -> stopped
 *     ^________|  it does not open: its jobs are told why; tried again when a later one asks
 *
 * Jobs wait in line for an engine, and the device of it that has fewest takes the next one. Loop thread. */
#ifndef SL_ENGINES_H
#define SL_ENGINES_H

#include "core/engine.h"
#include "daemon/device/device.h"
#include "daemon/device/scheduler.h"
#include "daemon/util/metrics.h"

struct sl_jobs;
struct sl_job;

#define SL__DEVICE_METRICS 18
#define SL__ENGINES 4
#define SL__AUTO "auto"

enum sl_device_stage { SL_DEVICE_IDLE, SL_DEVICE_OPENING, SL_DEVICE_OPEN, SL_DEVICE_STOPPED };

struct sl_jobs_engine;

/* One device, as the loop knows it. */
struct sl_jobs_device {
	struct sl_jobs *jobs;
	struct sl_jobs_engine *engine;
	int number;                       /* among all, for the cache of affinities */
	int index;                        /* which GPU; CPU: 0 */
	char id[24];                      /* "cuda0" */
	enum sl_device_stage stage;
	struct sl_device_thread *thread;  /* NULL: idle */
	bool stop_sent;
	struct sl_device_state state;     /* as told last */
	struct sl_error problem;          /* IDLE: why it did not open; code 0: nobody has tried */
	uint64_t tried_ms;                /* loop time of that */
	int active;                       /* jobs that have a place and are not paused */
	int placed;                       /* jobs that have a place */
	bool counted;                     /* the metrics are there */
	struct sl_metric *metric[SL__DEVICE_METRICS];
	double slices, slice_seconds, iterations;
};

struct sl_jobs_engine {
	const char *name;
	bool offered;                       /* by the configuration */
	const struct sl_engine *functions;  /* NULL: not usable */
	struct sl_error reason;             /* why not */
	struct sl_jobs_device *device;      /* [devices], of sl_jobs.device */
	int devices;                        /* at least one where it is offered, for listing */
	struct sl_backlog backlog;          /* jobs that wait for a place */
	uint64_t short_ms;                  /* loop time since when the first lacks host memory, which others have; or 0 */
};

/* At the start. */
int sl__engines_open(struct sl_jobs *j, struct sl_error *err);
/* NULL: none of that name. "auto": the one that jobs get when they do not say otherwise. */
struct sl_jobs_engine *sl__engine_find(struct sl_jobs *j, const char *name);
/* Those with a device that is open or may open: NULL, or why not. */
const struct sl_error *sl__engine_problem(const struct sl_jobs_engine *e);
/* The engine of a request; err->pointer is "/engine". */
int sl__engine_choose(struct sl_jobs *j, const char *name, struct sl_jobs_engine **out, struct sl_error *err);
/* The engine whose device has this id; NULL: none. */
struct sl_jobs_engine *sl__engine_of_device(struct sl_jobs *j, const char *id);
/* The first device that is open; the first of all when none is. */
struct sl_jobs_device *sl__engine_first(struct sl_jobs_engine *e);
/* The device for the next job of the line; NULL: none has room. Opens some if need be. */
struct sl_jobs_device *sl__engine_room(struct sl_jobs_engine *e);
/* ... which is at best the one that has what this job needs already. */
struct sl_jobs_device *sl__engine_best(struct sl_jobs_engine *e, const struct sl_job *job);
/* Its thread has told how it is, or has ended. */
void sl__device_state(struct sl_jobs_device *d, const struct sl_device_state *state);
void sl__device_stopped(struct sl_jobs_device *d, const struct sl_error *err);
void sl__engines_collect(struct sl_jobs *j);  /* metrics */
/* "up", "down", "idle" or "unusable", and the sentence that goes with it ("": none). */
const char *sl__device_condition(const struct sl_jobs_device *d, const char **problem);

#endif
