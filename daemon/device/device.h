/* device.h -- a device's compute thread, and the messages between it and the loop.
 *
 * The loop holds a port to each device. It is the end of a thread of this process, or of a worker: a process that has
 * such a thread (daemon/worker/worker.h). The functions below treat both alike; what they say of the thread holds for a
 * worker, too.
 *
 * The thread opens the engine's device, keeps graphs on it, and runs jobs in slices, in the order of
 * daemon/device/scheduler.h. It owns the device and everything on it. There is a mailbox in each direction: the loop
 * sends commands, which the thread executes between two slices, and the thread sends events. The receiver owns the
 * memory that a message points to, except affinities, which are immutable: the loop lends them with a job and gets
 * them back with SL_EVENT_GRAPH_DROPPED. If the device makes P itself (struct sl_engine, neighbours_graph and
 * graph_make), the loop lends the neighbours or the graph until the job has started or failed; the thread owns its
 * copies on the device.
 *
 * Events of a job: after sl_device_add() any number of SL_EVENT_PROGRESS, then exactly one of DONE, FAILED, CANCELLED,
 * LOST, and LEFT with a blob. After that the thread has forgotten the job. Commands for a job that has ended are
 * ignored, except that each request for a snapshot or checkpoint gets an answer, which is empty if there is none. */
#ifndef SL_DEVICE_H
#define SL_DEVICE_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "core/embedding/embedding.h"
#include "core/graph/affinities.h"
#include "core/method/method.h"
#include "core/params.h"
#include "daemon/device/layout.h"
#include "daemon/device/mailbox.h"
#include "daemon/util/ulid.h"

struct sl_graph;
struct sl_neighbours;
struct sl_device_port;

#define SL_PLANS_LISTED 64
#define SL_DEVICES_MAX 512  /* the most devices of a server, of all engines */

/* The state of a device, as its thread reports it. */
struct sl_device_state {
	struct sl_device_info info;
	int graphs_resident, graphs_pinned, neighbours_resident;
	bool down;                         /* it failed and is not open; `problem` says why */
	bool restart;                      /* it is down, and only a new process can open it */
	struct sl_error problem;           /* code 0: none */
	uint64_t evictions, losses;        /* since the start: graphs dropped to make room; failures of the device */
	int plan_count;                    /* length of `plan` */
	struct sl_plan_info plan[SL_PLANS_LISTED];
};

enum sl_event_kind {
	/* With each kind, the fields of struct sl_device_event that it sets. */
	SL_EVENT_STARTED,        /* the job is on the device; err: its checkpoint is not usable, so it starts again */
	SL_EVENT_PROGRESS,       /* status, new trace points */
	SL_EVENT_PAUSED,         /* status: the job is paused now */
	SL_EVENT_SNAPSHOT,       /* layout, NULL: there is none */
	SL_EVENT_CHECKPOINT,     /* blob, NULL: there is none; status; layout, if the job is paused */
	SL_EVENT_DONE,           /* status, layout, the whole trace */
	SL_EVENT_FAILED,         /* err */
	SL_EVENT_CANCELLED,      /* status, layout (NULL: there is none), the whole trace */
	SL_EVENT_LEFT,           /* blob, status, the whole trace: the job can move; blob NULL: it stays, err says why */
	SL_EVENT_LOST,           /* the device failed, and perhaps not because of the job: add the job again; suspect */
	SL_EVENT_GRAPH_DROPPED,  /* graph, adds: the affinities are given back, see sl_device_drop_graph() */
	SL_EVENT_STATE,          /* state: the present state of the device; also the answer to plans_clear */
	SL_EVENT_STOPPED,        /* the thread has ended; err: its device did not open */
};

/* The owner calls sl_device_event_destroy(). */
struct sl_device_event {
	struct sl_message message;
	enum sl_event_kind kind;
	uint64_t job;                      /* the key given with sl_device_add() */
	uint64_t graph;
	uint64_t adds;
	struct sl_status status;
	struct sl_trace_point *trace;      /* new points, or the whole trace */
	int trace_count;
	struct sl_layout *layout;
	struct sl_method_result result;    /* DONE, CANCELLED: of methods that give arrays, if there are any yet */
	void *blob;
	uint64_t bytes;
	struct sl_error err;
	struct sl_error unaided;           /* STARTED: why the processor computes the job; code 0: the device does */
	struct sl_device_state *state;
	bool asked;                        /* STATE: it answers a request */
	bool suspect;                      /* LOST: it was computed when the device failed: add it again as `alone` */
	uint64_t slices;                   /* number and duration of the slices since the previous event */
	double slice_seconds;
};
void sl_device_event_destroy(struct sl_device_event *e);  /* NULL is fine */

/* From which files a worker makes P, or the run: it shares no memory with the daemon. */
struct sl_device_source {
	enum sl_origin origin;
	bool graph;                        /* data is a graph; else points */
	bool on_device;                    /* the device makes P; else the worker's processor */
	char *data;                        /* the stored graph or points; malloc'd, or NULL: not needed */
	char *neighbours;                  /* the stored neighbours; malloc'd, or NULL: not needed */
	const struct sl_neighbours *unstored;  /* or, if they have no file yet: borrowed until sl_device_add() returns */
	uint32_t rows, columns;            /* of init, if its origin is a layout or edges */
	double *start;                     /* as in struct sl_method_input: malloc'd, or NULL */
	uint64_t start_bytes;
	enum sl_start start_kind;
};

/* A job for the device. The strings and params are copied; init, checkpoint and run are taken if sl_device_add()
 * returns 0. A job of t-SNE has a graph and parameters. A job of a method on points has a run, which was created and
 * has loaded its checkpoint already; all that the run borrows must stay until the job's last event, or STOPPED.
 * A worker makes all of these itself, from `source`. */
struct sl_device_job {
	uint64_t job;                      /* any number that is never used again */
	const struct sl_method *method;
	void *run;                         /* NULL: t-SNE, made from the fields below */
	bool restored;                     /* the run has loaded a checkpoint */
	bool attach;                       /* the device computes the run if its memory suffices; else the processor */
	bool moved;                        /* it comes from another device: without memory for it, it fails */
	uint32_t nodes;                    /* with run: nodes of the graph */
	int columns;                       /* with run: values of each node; 0: the method has none */
	uint64_t graph;                    /* key of the affinities */
	const struct sl_affinities *affinities;  /* lent until SL_EVENT_GRAPH_DROPPED; NULL: made by the device */
	const struct sl_neighbours *neighbours;  /* from these, lent until STARTED or FAILED; else NULL */
	const struct sl_graph *edges;            /* or from these, likewise */
	uint64_t neighbours_key;           /* key of the neighbours */
	struct sl_affinities_params affinities_params;
	struct sl_method_params params;
	float *init;                       /* [n_user * dims] malloc'd, or NULL */
	uint64_t init_bytes;               /* its bytes, for a worker */
	void *checkpoint;                  /* from sl_embedding_save(), malloc'd, or NULL */
	uint64_t checkpoint_bytes;
	int iteration;                     /* iterations and compute time of the checkpoint */
	double seconds;
	char group[64], client[64];        /* for the scheduler: project and user */
	double share;                      /* of the group */
	int priority;
	bool paused, finish, cancel;       /* what its owner has asked for meanwhile: as if the command followed */
	bool alone;                        /* suspected: it runs alone, and fails if the device does */
	bool pinned;                       /* its graph stays on the device */
	char id[SL_ULID_BYTES];            /* for the record of crashes */
	/* By the job's forecast, for what a worker sends that need not be ours: the most bytes of a checkpoint, and of the
	 * arrays of its result; the columns of its points. */
	uint64_t most_state, most_result;
	uint32_t input_columns;            /* of the points; 0: not known */
	struct sl_device_source source;    /* of a job for a worker; taken like init */
};

/* A job with slices that are too long fails, so that other jobs can run: if two slices in a row exceed all of three
 * limits. These are SL_SLOW_MS; SL_SLOW_SLICES times slice_ms; and SL_SLOW_ITERATIONS times the engine's forecast for
 * an iteration on one thread. The last limit protects jobs on very large graphs or with all pairs, on slow or busy
 * machines. */
#define SL_SLOW_MS 5000.0
#define SL_SLOW_SLICES 100.0
#define SL_SLOW_ITERATIONS 50.0

struct sl_device_config {
	const struct sl_engine *engine;
	struct sl_device_options options;
	double slice_ms;
	double slow_ms; /* 0: SL_SLOW_MS */
	bool patient;   /* if the device does not open at first, try again, as after a failure */
};

/* Opens the device on a new thread. The first event is STATE when it is open, STOPPED when it does not open. on_event
 * runs on the loop for each event, and owns it.
 *
 * If the device fails later (SL_DEVLOST), the thread closes it and tries to open it again, at growing intervals. Then
 * it puts the graphs that were resident back. Meanwhile the loop keeps the jobs. */
typedef void (*sl_device_event_fn)(void *arg, struct sl_device_event *event);
int sl_device_thread_start(struct sl_device_port **out, uv_loop_t *loop, const struct sl_device_config *config,
			   sl_device_event_fn on_event, void *arg, struct sl_error *err);
/* Waits until the device is open; only before the loop runs. After an error the caller destroys the port. */
int sl_device_opened(struct sl_device_port *p, struct sl_error *err);

/* The following functions send a command. They return 0, or SL_NOMEM if nothing was sent. */
int sl_device_add(struct sl_device_port *p, const struct sl_device_job *job);
/* Frees what a job owns that was not sent. */
void sl_device_job_finish(struct sl_device_job *job);
int sl_device_steer(struct sl_device_port *p, uint64_t job, const void *params, size_t bytes);
int sl_device_set_priority(struct sl_device_port *p, uint64_t job, int priority);
int sl_device_pause(struct sl_device_port *p, uint64_t job);
/* holds: number of SL_EVENT_PAUSED with status.held that the caller has had of this job, under this key. A request that
 * was sent before the caller knew of such a pause does not end it. */
int sl_device_resume(struct sl_device_port *p, uint64_t job, unsigned holds);
int sl_device_cancel(struct sl_device_port *p, uint64_t job);
int sl_device_finish(struct sl_device_port *p, uint64_t job);  /* ends it as DONE, with its present layout */
/* quantise: uint16 coordinates suffice, if they cost the engine less. */
int sl_device_snapshot(struct sl_device_port *p, uint64_t job, bool quantise);
int sl_device_checkpoint(struct sl_device_port *p, uint64_t job);
/* Saves the state of the job and ends it on this device: LEFT. Ignored if the job has ended. */
int sl_device_leave(struct sl_device_port *p, uint64_t job);
/* Tells the scheduler that the client has used other devices for ms; see sl_scheduler_charge_elsewhere(). */
int sl_device_charge(struct sl_device_port *p, const char *group, const char *client, double ms);
/* Gives the affinities back when no job needs them. `adds` of the event is the number of jobs that the thread has
 * received for this graph; if the loop has sent more jobs by then, it has lent the graph again. */
int sl_device_drop_graph(struct sl_device_port *p, uint64_t graph);
int sl_device_drop_neighbours(struct sl_device_port *p, uint64_t key);  /* at once; graphs made from them stay */
int sl_device_pin_graph(struct sl_device_port *p, uint64_t graph, bool pinned);
int sl_device_ask_state(struct sl_device_port *p);
int sl_device_plans_clear(struct sl_device_port *p);
/* Seconds since the thread last finished a slice or command; 0: it is idle. */
double sl_device_silent_s(const struct sl_device_port *p);

/* sl_device_stop(): the thread drops all jobs after the present slice, gives all graphs back and closes the device; its
 * last event is STOPPED. Then the loop calls sl_device_destroy(), which joins the thread; `closed` runs when the
 * loop's handle is closed and the memory is freed. */
int sl_device_stop(struct sl_device_port *p);
void sl_device_destroy(struct sl_device_port *p, void (*closed)(void *arg), void *arg);

#endif
