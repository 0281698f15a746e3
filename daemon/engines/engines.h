/* engines.h -- the engines that the server offers, their devices, and the affinities on them.
 *
 * An engine (core/engine/load.h names them) has one device for each GPU, or one for the CPU, and each device that is
 * open has its thread (device.h). Those of the preferred engine are opened at the start, others when the first job asks
 * for them:
 *
 *   idle -> opening -> open (up or down, as its thread tells) -> stopped
 *     ^________|  it does not open: its jobs are told why; tried again when a later one asks
 *
 * Jobs wait in line for an engine, and the engine's device with the fewest jobs takes the next one (later,
 * jobs/queue/moves.c moves jobs between the devices of an engine). Engines report
 * events of jobs through the callbacks passed at creation. Loop thread. */
#ifndef SL_ENGINES_H
#define SL_ENGINES_H

#include <jansson.h>

#include "core/engine/engine.h"
#include "core/engine/load.h"
#include "daemon/device/device.h"
#include "daemon/device/scheduler.h"
#include "daemon/util/list.h"
#include "daemon/util/metrics.h"

#define SL_DEVICE_METRICS 18
#define SL_METHODS_MOST 16
/* Small jobs have places of their own, so that they start at once whatever large ones run. */
#define SL_SMALL_NODES 10000
#define SL_GPUS_MAX 16  /* of a machine, that are used: devices of an engine */
/* Places of a device. */
#define SL_PLACES_LARGE 32
#define SL_PLACES_SMALL 512

struct sl_affinity_cache;
struct sl_daemon;
struct sl_engines;
struct sl_gpus;
struct sl_request;
struct sl_server_engine;

enum sl_device_stage { SL_DEVICE_IDLE, SL_DEVICE_OPENING, SL_DEVICE_OPEN, SL_DEVICE_STOPPED };

/* One device, as the loop knows it. */
struct sl_server_device {
	struct sl_engines *engines;
	struct sl_server_engine *engine;
	int number;                       /* among all, for the cache of affinities */
	int index;                        /* which GPU; CPU: 0 */
	char id[24];                      /* "cuda0" */
	enum sl_device_stage stage;
	struct sl_device_thread *thread;  /* NULL: idle */
	bool stop_sent;
	struct sl_device_state state;     /* as told last */
	struct sl_error problem;          /* IDLE: why it did not open; code 0: nobody has tried */
	uint64_t tried_ms;                /* loop time of that */
	bool counted;                     /* the metrics are there */
	struct sl_metric *metric[SL_DEVICE_METRICS];
	int gpu;                          /* its number in sl_engines.gpus; -1: none */
	/* kept by jobs/ */
	int active[2];                    /* jobs that have a place and are not paused: large ones, small ones */
	int placed;                       /* jobs that have a place */
	double slices, slice_seconds, iterations;
};

struct sl_server_engine {
	const char *name;
	bool offered;                       /* by the configuration */
	const struct sl_engine *functions;  /* NULL: not usable */
	struct sl_error reason;             /* why not */
	struct sl_server_device *device;    /* [devices], of sl_engines.device */
	int devices;                        /* at least one where it is offered, for listing */
	double pace[4];                     /* by dims: seconds that iterations took, over those forecast; 0: none seen */
	double method_pace[SL_METHODS_MOST];  /* of methods that its devices help, by their place in sl_methods: the same */
	/* kept by jobs/ */
	struct sl_backlog line[2];          /* jobs that wait for a place: large ones, small ones */
	uint64_t short_ms;                  /* loop time since when the first lacks host memory, which others have; or 0 */
};

/* What the engines tell those who use them. None runs before sl_engines_create() has returned. */
struct sl_engines_listener {
	/* An event about the job that was sent to d with the key e->job. e is borrowed; what is taken out of it is NULL
	 * afterwards. */
	void (*job_event)(void *arg, struct sl_server_device *d, struct sl_device_event *e);
	/* A device is open, or works again. */
	void (*room)(void *arg);
	/* Not one device of the engine is there, or will be: jobs that wait for it must go elsewhere. */
	void (*gone)(void *arg, struct sl_server_engine *e, const struct sl_error *why);
	/* A device's thread has ended. */
	void (*stopped)(void *arg);
	/* Jobs that run on d; jobs that are queued for it or for its engine. */
	void (*count)(void *arg, const struct sl_server_device *d, int *running, int *queued);
};

struct sl_engines {
	struct sl_daemon *d;
	struct sl_engines_listener listener;
	void *arg;                                /* of the listener */
	struct sl_server_engine engine[SL_ENGINES_COUNT];
	struct sl_server_engine *preferred;       /* of jobs that do not say what they want */
	struct sl_server_device device[SL_DEVICES_MAX];
	int devices;
	char *fallback;                           /* why it is not the GPU's, when auto was configured; or NULL */
	struct sl_affinity_cache *affinities;
	struct sl_gpus *gpus;                     /* gpus.c */
	struct sl_list waiters;                   /* devices.c: requests that wait for the devices' state */
};

/* Opens the devices of the preferred engine. */
int sl_engines_create(struct sl_engines **out, struct sl_daemon *d, const struct sl_engines_listener *listener,
		      void *arg,
		      struct sl_error *err);
/* Tells each thread to end; listener.stopped runs when one has. May be called again. */
void sl_engines_stop(struct sl_engines *all);
/* Have all threads ended? */
bool sl_engines_stopped(const struct sl_engines *all);
/* All have stopped: closes their threads. Returns how many there are; closed runs when one is closed. */
int sl_engines_close(struct sl_engines *all, void (*closed)(void *arg), void *arg);
/* After the close, or when nothing of it has begun and the start fails. NULL is fine. */
void sl_engines_destroy(struct sl_engines *all);

/* The device that has worked for the longest without coming to the end of a slice, and for how long; NULL, 0: all
 * sleep. For the watchdog. */
const struct sl_server_device *sl_engines_silent(const struct sl_engines *all, double *seconds);

/* ---- choosing ---- */

/* NULL: none of that name. "auto": the one that jobs get when they do not say otherwise. */
struct sl_server_engine *sl_engines_find(struct sl_engines *all, const char *name);
/* Those with a device that is open or may open: NULL, or why not. */
const struct sl_error *sl_server_engine_problem(const struct sl_server_engine *e);
/* The engine of a request; err->pointer is "/engine". */
int sl_engines_choose(struct sl_engines *all, const char *name, struct sl_server_engine **out, struct sl_error *err);
/* The engine whose device has this id; NULL: none. */
struct sl_server_engine *sl_engines_of_device(struct sl_engines *all, const char *id);
/* The names of engines that jobs may ask for now (["cuda", "cpu"]); new reference. */
json_t *sl_engines_usable(const struct sl_engines *all);
/* The first device that is open; the first of all when none is. */
struct sl_server_device *sl_server_engine_first(struct sl_server_engine *e);
/* Is it open, and is there room for one more? */
bool sl_server_device_has_room(const struct sl_server_device *d, int small);
/* A device with room for the next job of the line (1: of small ones); NULL: none has room. Opens some if need be. */
struct sl_server_device *sl_server_engine_room(struct sl_server_engine *e, int small);
/* ... at best one that has what (graph, params) needs already. graph NULL: any. */
struct sl_server_device *sl_server_engine_best(struct sl_server_engine *e, int small, const char *graph,
					       const struct sl_params *params);

/* ---- forecast.c: what jobs take, by the engine's own measurements and by what this server has seen ---- */

/* Seconds that an iteration takes when the job has the device alone. */
double sl_server_engine_seconds(const struct sl_server_engine *e, const struct sl_params *params, uint32_t nodes,
				uint64_t entries);
/* So many iterations took that long: the next forecast is better. */
void sl_server_engine_learn(struct sl_server_engine *e, const struct sl_params *params, uint32_t nodes,
			    uint64_t entries,
			    int iterations, double seconds);
/* The same for other methods, whose forecasts are of a processor: what to multiply one with on this engine, and what a
 * job took of which that was the forecast. Until one has ended: 1. */
double sl_server_engine_pace(const struct sl_server_engine *e, const struct sl_method *method);
void sl_server_engine_learn_method(struct sl_server_engine *e, const struct sl_method *method, double forecast,
				   double seconds);
/* Bytes of a job's embedding on the device, without what all jobs of a device share. */
uint64_t sl_server_engine_bytes(const struct sl_server_engine *e, const struct sl_params *params, uint32_t nodes);

/* ---- graphs that stay, graphs that go ---- */

/* A graph was pinned or unpinned; it was unloaded or deleted: what there is of it on devices follows. */
void sl_engines_graph_pinned(struct sl_engines *all, const char *graph, bool pinned);
void sl_engines_graph_forget(struct sl_engines *all, const char *graph);

/* ---- devices.c: how the devices are. Each takes the request, and answers when all devices have told. ---- */

void sl_engines_reply_devices(struct sl_engines *all, struct sl_request *r);
void sl_engines_reply_plans(struct sl_engines *all, struct sl_request *r);
void sl_engines_clear_plans(struct sl_engines *all, struct sl_request *r);

#endif
