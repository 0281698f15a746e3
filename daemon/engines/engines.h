/* engines.h -- the engines that the server offers, their devices, and the affinities on them.
 *
 * An engine (core/engine/load.h lists them) has one device for each GPU, or one for the CPU. Each open device has a
 * thread (device.h). The devices of the preferred engine are opened at the start, others when the first job asks for
 * them:
 *
 *   idle -> opening -> open (up or down, as its thread reports) -> stopped
 *     ^________|  if it does not open, its jobs get the error; a later job makes the server try again
 *
 * A worker on another machine (remote.h) makes a device when it dials in, opening -> open -> gone; another one may take
 * its slot later.
 *
 * Jobs wait in line for an engine, and the engine's device with the fewest jobs takes the next one. (Later,
 * jobs/run/moves.c may move a job to another device of the engine.) Engines report events of jobs through the
 * callbacks passed at creation. Loop thread. */
#ifndef SL_ENGINES_H
#define SL_ENGINES_H

#include <jansson.h>

#include "core/engine/engine.h"
#include "core/engine/load.h"
#include "daemon/device/device.h"
#include "daemon/engines/backlog.h"
#include "daemon/util/list.h"
#include "daemon/util/metrics.h"

#define SL_DEVICE_METRICS 18
#define SL_METHODS_MOST 16
/* Jobs of at most so many nodes are small. Small jobs have separate places, so that large jobs do not delay them. */
#define SL_SMALL_NODES 10000
#define SL_GPUS_MAX 16  /* the most GPUs of this machine that are used */
#define SL_ENGINE_DEVICES_MAX 64  /* the most devices of an engine, those of workers that dial in included */
/* The number of places of a device: of jobs that it may have at a time. */
#define SL_PLACES_LARGE 32
#define SL_PLACES_SMALL 512

struct sl_affinity_cache;
struct sl_daemon;
struct sl_engines;
struct sl_gpus;
struct sl_graphs_computers;
struct sl_remote;
struct sl_remotes;
struct sl_request;
struct sl_server_engine;

enum sl_device_stage { SL_DEVICE_IDLE, SL_DEVICE_OPENING, SL_DEVICE_OPEN, SL_DEVICE_STOPPED, SL_DEVICE_GONE };

/* One device, as the loop knows it. */
struct sl_server_device {
	struct sl_engines *engines;
	struct sl_server_engine *engine;
	int number;                       /* among all, for the cache of affinities */
	int index;                        /* of engine->device */
	int first_gpu, gpus;              /* of devices of this machine: its GPUs; CPU: 0, 1 */
	char id[24];                      /* "cuda0" */
	int64_t version;                  /* of its record; rises with each change (util/ulid.h) */
	enum sl_device_stage stage;
	struct sl_device_port *port;    /* NULL: idle */
	bool worker;                      /* it is a process of its own */
	struct sl_remote *remote;         /* the worker that has dialled in; NULL: it is a device of this machine */
	bool leaving;                     /* it gets no further jobs, and its jobs leave it */
	bool stop_sent;
	struct sl_device_state state;     /* as last reported */
	struct sl_error problem;          /* IDLE: why it did not open; code 0: nobody has tried */
	uint64_t tried_ms;                /* loop time of the last attempt */
	bool counted;                     /* its metrics are registered */
	struct sl_metric *metric[SL_DEVICE_METRICS];
	int gpu;                          /* its number in sl_engines.gpus; -1: none */
	/* queue/ and jobs/ maintain these: */
	int active[2];                    /* jobs that have a place and are not paused: large ones, small ones */
	int placed;                       /* jobs that have a place */
	double slices, slice_seconds, iterations;
};

struct sl_server_engine {
	const char *name;
	bool offered;                       /* the configuration allows it */
	bool elsewhere;                     /* its devices are workers that are asked for when jobs wait (slurm/slurm.h) */
	const struct sl_engine *functions;  /* NULL: not usable */
	struct sl_error reason;             /* why it is not usable */
	bool awaited;                       /* its devices dial in: jobs wait for them, even if there are none now */
	struct sl_server_device *device;    /* [devices], within sl_engines.device; some may be gone */
	int devices;                        /* at least one if it is offered, for listing */
	double pace[4];                     /* by dims: measured seconds of iterations / forecast; 0: none measured */
	double method_pace[SL_METHODS_MOST];  /* the same for methods that its devices help, by their index in sl_methods */
	/* queue/ maintains these: */
	struct sl_backlog line[2];          /* jobs that wait for a place: large ones, small ones */
	uint64_t short_ms;                  /* loop time since when the first job waits for host memory; or 0 */
};

/* Callbacks for the user of the engines. None runs before sl_engines_create() has returned. */
struct sl_engines_listener {
	/* An event of the job that was sent to d with the key e->job. e is borrowed; the callback may take memory out of it
	 * by setting the pointer to NULL. */
	void (*job_event)(void *arg, struct sl_server_device *d, struct sl_device_event *e);
	/* A device has opened, or works again. */
	void (*room)(void *arg);
	/* No device of the engine is open or can open: jobs that wait for the engine need another one. */
	void (*gone)(void *arg, struct sl_server_engine *e, const struct sl_error *why);
	/* The device retires: its jobs shall leave it. Called once a second until they have. */
	void (*leave)(void *arg, struct sl_server_device *d);
	/* A device's thread has ended. */
	void (*stopped)(void *arg);
	/* Counts the jobs that run on d, and the jobs that are queued for it or for its engine. */
	void (*count)(void *arg, const struct sl_server_device *d, int *running, int *queued);
};

struct sl_engines {
	struct sl_daemon *d;
	struct sl_engines_listener listener;
	void *arg;                                /* of the listener */
	struct sl_server_engine engine[SL_ENGINES_COUNT];
	struct sl_server_engine *preferred;       /* for jobs that name no engine */
	struct sl_server_device device[SL_ENGINES_COUNT * SL_ENGINE_DEVICES_MAX];  /* so many for each engine */
	int numbers;                              /* of devices so far */
	char *fallback;                           /* with "auto": why the preferred engine uses no GPU; or NULL */
	struct sl_affinity_cache *affinities;
	struct sl_gpus *gpus;                     /* gpus.c */
	struct sl_remotes *remotes;               /* workers that dial in; remote.c */
	struct sl_list waiters;                   /* devices.c: requests that wait for the devices' state */
	struct sl_list searches;                  /* searches.c: struct sl_device_search */
};

/* Opens the devices of the preferred engine. */
int sl_engines_create(struct sl_engines **out, struct sl_daemon *d, const struct sl_engines_listener *listener,
		      void *arg,
		      struct sl_error *err);
/* Asks each thread to end; listener.stopped runs for each thread that has ended. May be called again. */
void sl_engines_stop(struct sl_engines *all);
/* True if all threads have ended. */
bool sl_engines_stopped(const struct sl_engines *all);
/* Joins the threads, which have ended. Returns their number; closed runs once for each. */
int sl_engines_close(struct sl_engines *all, void (*closed)(void *arg), void *arg);
/* After sl_engines_close(), or if the start of the server has failed. NULL is fine. */
void sl_engines_destroy(struct sl_engines *all);

/* The devices one after the other, except those that are gone; NULL: the first one, or there are no more. */
struct sl_server_device *sl_engines_next(const struct sl_engines *all, const struct sl_server_device *d);
#define SL_EACH_DEVICE(all, d) \
	for (struct sl_server_device *d = sl_engines_next(all, NULL); d; d = sl_engines_next(all, d))

/* For the watchdog: the device whose present slice is the longest, and for how long it runs; NULL, 0: all sleep.
 * Workers have limits of their own. */
const struct sl_server_device *sl_engines_silent(const struct sl_engines *all, double *seconds);

/* ---- choosing ---- */

/* The engine of this name; "auto": the preferred one; NULL: none. */
struct sl_server_engine *sl_engines_find(struct sl_engines *all, const char *name);
/* NULL if the engine has a device that is open or may open; otherwise the reason why not. */
const struct sl_error *sl_server_engine_problem(const struct sl_server_engine *e);
/* Finds a usable engine for the name in a request; err->pointer is "/engine". */
int sl_engines_choose(struct sl_engines *all, const char *name, struct sl_server_engine **out, struct sl_error *err);
/* The engine whose device has this id; NULL: none. */
struct sl_server_engine *sl_engines_of_device(struct sl_engines *all, const char *id);
/* The names of engines that jobs may request now (["cuda", "cpu"]); new reference. */
json_t *sl_engines_usable(const struct sl_engines *all);
/* The number of devices of the engine, those that are gone excluded; at least 1. */
int sl_server_engine_width(const struct sl_server_engine *e);
/* The first open device; if none is open, the first device. */
struct sl_server_device *sl_server_engine_first(struct sl_server_engine *e);
/* True if the device is open and has a free place. small: 1 for small jobs, here and below. */
bool sl_server_device_has_room(const struct sl_server_device *d, int small);
/* A device with a free place; NULL: none. Opens devices if necessary. */
struct sl_server_device *sl_server_engine_room(struct sl_server_engine *e, int small);
/* The same, preferably a device that already has these affinities of the graph. wanted NULL: any device. */
struct sl_server_device *sl_server_engine_best(struct sl_server_engine *e, int small, const char *graph,
					       const struct sl_affinities_params *wanted);

/* ---- forecast.c: forecasts from the engine's cost model and this server's measurements ---- */

/* Seconds of an iteration if the job has the device alone. */
double sl_server_engine_seconds(const struct sl_server_engine *e, const struct sl_settings *settings, uint32_t nodes,
				uint64_t entries);
/* Corrects later forecasts: so many iterations took so many seconds. */
void sl_server_engine_learn(struct sl_server_engine *e, const struct sl_settings *settings, uint32_t nodes,
			    uint64_t entries, int iterations, double seconds);
/* The same for methods whose own forecasts are for a processor. _pace: the factor for this engine; 1 until a job has
 * ended. _learn_method: a job with this forecast took so many seconds. */
double sl_server_engine_pace(const struct sl_server_engine *e, const struct sl_method *method);
void sl_server_engine_learn_method(struct sl_server_engine *e, const struct sl_method *method, double forecast,
				   double seconds);
/* Bytes of a job's embedding on the device, without the memory that all its jobs share. widest: the longest side of its
 * initial layout. */
uint64_t sl_server_engine_bytes(const struct sl_server_engine *e, const struct sl_settings *settings, uint32_t nodes,
				double widest);

/* ---- graphs on devices ---- */

/* A graph was pinned or unpinned; a graph was unloaded or deleted: the devices keep or drop it accordingly. */
void sl_engines_graph_pinned(struct sl_engines *all, const char *graph, bool pinned);
void sl_engines_graph_forget(struct sl_engines *all, const char *graph);

/* ---- searches.c: what the server has computed by devices beside jobs ---- */

/* For sl_graphs_compute_by(). */
void sl_engines_computers(struct sl_engines *all, struct sl_graphs_computers *out);
/* Sends searches that wait for a device; called once a second, and when a device is open again. */
void sl_engines_look(struct sl_engines *all);

/* ---- devices.c: the state of the devices. Each function takes the request, and replies when all devices have
 * answered. ---- */

void sl_engines_reply_devices(struct sl_engines *all, struct sl_request *r);
void sl_engines_reply_plans(struct sl_engines *all, struct sl_request *r);
void sl_engines_clear_plans(struct sl_engines *all, struct sl_request *r);

#endif
