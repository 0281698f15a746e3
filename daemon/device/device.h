/* device.h -- a device's compute thread, and the messages between it and the loop.
 *
 * The thread opens the engine's device, keeps graphs on it, and runs jobs in slices, in the order of
 * daemon/device/scheduler.h. It owns the device and everything on it. There is a mailbox in each direction: the loop
 * sends commands, which the thread executes between two slices, and the thread sends events. The receiver owns the
 * memory that a message points to, except affinities, which are immutable: the loop lends them with a job and gets
 * them back with SL_EVENT_GRAPH_DROPPED. Where the device makes P itself (struct sl_engine, neighbours_graph), the
 * loop lends neighbours until the job has started or failed; what is on the device after that is the thread's own.
 *
 * Life of a job here: sl_device_add; any number of SL_EVENT_PROGRESS; then exactly one of
 * DONE, FAILED, CANCELLED, LOST, LEFT with a blob, after which the thread has forgotten the job. Commands
 * for a job that is over are ignored, except that each request for a snapshot or checkpoint
 * gets an answer, empty if there is none. */
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

struct sl_neighbours;
struct sl_device_thread;

#define SL_PLANS_LISTED 64
#define SL_DEVICES_MAX 64  /* that a server has at most, of all engines */

/* The state of a device, as its thread reports it. */
struct sl_device_state {
	struct sl_device_info info;
	int graphs_resident, graphs_pinned, neighbours_resident;
	bool down;                         /* it failed and has not been opened again yet: see problem */
	bool restart;                      /* ... and only a new process can open it */
	struct sl_error problem;           /* code 0: none */
	uint64_t evictions, losses;        /* since the start: graphs that made room; failures of the device */
	int plan_count;                    /* listed below */
	struct sl_plan_info plan[SL_PLANS_LISTED];
};

enum sl_event_kind {
	SL_EVENT_STARTED,        /* the job is on the device; err: from the beginning, as its checkpoint is of no use */
	SL_EVENT_PROGRESS,       /* status, new trace points */
	SL_EVENT_PAUSED,         /* status: it stands still now */
	SL_EVENT_SNAPSHOT,       /* layout, NULL: there is none */
	SL_EVENT_CHECKPOINT,     /* blob, NULL: there is none; status */
	SL_EVENT_DONE,           /* status, layout, the whole trace */
	SL_EVENT_FAILED,         /* err */
	SL_EVENT_CANCELLED,      /* status, layout (NULL: there is none), the whole trace */
	SL_EVENT_LEFT,           /* blob, status, the whole trace: it goes to another device; blob NULL: it stays, err */
	SL_EVENT_LOST,           /* the device failed, not (or not surely) because of the job: bring it again; suspect */
	SL_EVENT_GRAPH_DROPPED,  /* graph, adds: given back, see sl_device_drop_graph() */
	SL_EVENT_STATE,          /* state: the device as it is now; answers plans_clear, too */
	SL_EVENT_STOPPED,        /* the thread has ended; err: its device did not open */
};

/* Owned by whoever has it; sl_device_event_destroy() when done with it. */
struct sl_device_event {
	struct sl_message message;
	enum sl_event_kind kind;
	uint64_t job;                      /* the key given with sl_device_add() */
	uint64_t graph;
	uint64_t adds;
	struct sl_status status;
	struct sl_trace_point *trace;      /* new points; all of them with DONE */
	int trace_count;
	struct sl_layout *layout;
	struct sl_method_result result;    /* DONE, CANCELLED: of methods that give arrays, if there are any yet */
	void *blob;
	uint64_t bytes;
	struct sl_error err;
	struct sl_error unaided;           /* STARTED: why the processor computes it and not the device; code 0: it does */
	struct sl_device_state *state;
	bool asked;                        /* STATE: it answers a request */
	bool suspect;                      /* LOST: it ran when the device failed, beside others: bring it as `alone` */
	uint64_t slices;                   /* since the event before it, and what they took */
	double slice_seconds;
};
void sl_device_event_destroy(struct sl_device_event *e);  /* NULL is fine */

/* A job for the device. The strings and params are copied; init, checkpoint and run are taken when sl_device_add
 * returns 0. A job of t-SNE comes with its graph and its parameters; one of a method on points with its run, which has
 * been made and brought to its checkpoint already: what that borrows must stay until the job's last event, or
 * STOPPED. */
struct sl_device_job {
	uint64_t job;                      /* any number that is never used again */
	const struct sl_method *method;
	void *run;                         /* NULL: t-SNE, made of what follows */
	bool restored;                     /* the run goes on from a checkpoint */
	bool attach;                       /* the device computes it, if it has the memory; else the processor does */
	bool moved;                        /* it comes from another device: it fails where there is no memory */
	uint32_t nodes;                    /* with run: of the graph, and */
	int columns;                       /* values of each; 0: the method has none */
	uint64_t graph;                    /* names the affinities */
	const struct sl_affinities *affinities;  /* lent until SL_EVENT_GRAPH_DROPPED; NULL: made from neighbours */
	const struct sl_neighbours *neighbours;  /* lent until STARTED or FAILED; NULL with affinities */
	uint64_t neighbours_key;           /* names them */
	struct sl_affinities_params affinities_params;
	struct sl_params params;
	float *init;                       /* [n_user * dims] malloc'd, or NULL */
	void *checkpoint;                  /* of sl_embedding_save(), malloc'd, or NULL */
	uint64_t checkpoint_bytes;
	int iteration;                     /* of the checkpoint */
	double seconds;
	char group[64], client[64];        /* for the scheduler: project and user */
	double share;                      /* of the group */
	int priority;
	bool paused;
	bool alone;                        /* never runs beside others */
	bool pinned;                       /* its graph stays on the device */
};

/* A job fails, so that others get their turn, when two slices in a row take longer than each of three limits: this
 * time; this multiple of slice_ms; and this multiple of the engine's forecast for an iteration on one thread. The last
 * one protects jobs on very large graphs or with all pairs, on slow and busy machines, too. */
#define SL_SLOW_MS 5000.0
#define SL_SLOW_SLICES 100.0
#define SL_SLOW_ITERATIONS 50.0

struct sl_device_config {
	const struct sl_engine *engine;
	struct sl_device_options options;
	double slice_ms;
	double slow_ms; /* 0: SL_SLOW_MS */
	bool patient;   /* a device that does not open yet is one that has failed: it is tried again */
};

/* A device that fails later (SL_DEVLOST) is closed and opened again, with what was resident, in growing intervals
 * until it opens; meanwhile its jobs are the loop's.
 *
 * Opens the device on its thread and waits for that. on_event runs on the loop for each
 * event, which it owns. */
typedef void (*sl_device_event_fn)(void *arg, struct sl_device_event *event);
int sl_device_thread_create(struct sl_device_thread **out, uv_loop_t *loop, const struct sl_device_config *config,
			    sl_device_event_fn on_event, void *arg, struct sl_error *err);
/* The same without waiting: the first event is STATE when it is open, STOPPED when it does not open. */
int sl_device_thread_start(struct sl_device_thread **out, uv_loop_t *loop, const struct sl_device_config *config,
			   sl_device_event_fn on_event, void *arg, struct sl_error *err);
/* Waits for that, before the loop runs. After an error: destroy it. */
int sl_device_thread_opened(struct sl_device_thread *t, struct sl_error *err);

/* All of these return 0 or SL_NOMEM, in which case nothing was sent. */
int sl_device_add(struct sl_device_thread *t, const struct sl_device_job *job);
int sl_device_steer(struct sl_device_thread *t, uint64_t job, const void *params, size_t bytes);  /* of its method */
int sl_device_set_priority(struct sl_device_thread *t, uint64_t job, int priority);
int sl_device_pause(struct sl_device_thread *t, uint64_t job);
int sl_device_resume(struct sl_device_thread *t, uint64_t job);
int sl_device_cancel(struct sl_device_thread *t, uint64_t job);
int sl_device_finish(struct sl_device_thread *t, uint64_t job);  /* DONE now, with the layout as it stands */
/* quantise: uint16 coordinates suffice, if the engine can make them more cheaply. */
int sl_device_snapshot(struct sl_device_thread *t, uint64_t job, bool quantise);
int sl_device_checkpoint(struct sl_device_thread *t, uint64_t job);
/* A checkpoint, with which the job leaves this device: LEFT. Ignored if the job is over. */
int sl_device_leave(struct sl_device_thread *t, uint64_t job);
/* The client of this group has used other devices for ms; see sl_scheduler_charge_elsewhere(). */
int sl_device_charge(struct sl_device_thread *t, const char *group, const char *client, double ms);
/* Give the affinities back once no job needs them. The event's `adds` counts the jobs that
 * were added on this graph; if the loop has sent more by then, the graph is lent again. */
int sl_device_drop_graph(struct sl_device_thread *t, uint64_t graph);
int sl_device_drop_neighbours(struct sl_device_thread *t, uint64_t key);  /* at once; graphs made of them stay */
int sl_device_pin_graph(struct sl_device_thread *t, uint64_t graph, bool pinned);
int sl_device_ask_state(struct sl_device_thread *t);
int sl_device_plans_clear(struct sl_device_thread *t);
/* Time since the thread last finished a slice or command; 0: it is idle. */
double sl_device_silent_s(const struct sl_device_thread *t);

/* Forgets all jobs after the present slice, gives all graphs back, closes the device; the last event
 * is STOPPED. Then the loop calls destroy, which joins the thread; `closed` runs when the loop's
 * handle is closed and the memory is free. */
int sl_device_stop(struct sl_device_thread *t);
void sl_device_thread_destroy(struct sl_device_thread *t, void (*closed)(void *arg), void *arg);

#endif
