/* device_internal.h -- what the files of a device's thread share: device.c (the loop's side: its port, events
 * received), thread.c (the thread, its commands), tasks.c (jobs and their slices), residents.c (graphs and
 * neighbours on the device), snapshots.c (layouts being copied), events.c (events for the loop). All of it but
 * device.c belongs to the device's thread.
 *
 * The thread never waits for memory. The loop allocates the events that it relies on together with the command that
 * causes them, and fails to send the command if it cannot. The thread keeps these events in the task, resident or
 * snapshot that will send them. All other events are dropped or delayed when memory is short. */
#ifndef SL_DEVICE_INTERNAL_H
#define SL_DEVICE_INTERNAL_H

#include "daemon/device/device.h"
#include "daemon/device/port.h"
#include "daemon/device/scheduler.h"
#include "daemon/util/list.h"

struct sl_expander;

/* A graph on the device. */
struct sl_resident {
	struct sl_link link;
	struct sl_device_event *dropped;         /* the event to send when the graph is given back */
	uint64_t key;
	const struct sl_affinities *affinities;  /* lent by the loop, or summary */
	struct sl_affinities *summary;           /* of a graph made on the device; owned, or NULL */
	struct sl_device_graph *graph;           /* NULL: not put yet */
	uint64_t adds;
	uint64_t used;                           /* clock of the last use, for eviction */
	int jobs;                                /* number of jobs and snapshots that need its affinities */
	bool drop;                               /* a request to drop it came while jobs used it */
	bool pinned;                             /* never dropped to make room */
};

/* Neighbours on the device, from which it makes P for any perplexity. */
struct sl_resident_neighbours {
	struct sl_link link;
	uint64_t key;
	struct sl_device_neighbours *neighbours;
	uint64_t used;
};

struct sl_task {
	struct sl_scheduled scheduled;  /* first: a pick is cast to its task */
	struct sl_link link;
	uint64_t key;
	char id[SL_ULID_BYTES];
	struct sl_device_event *ended;  /* the job's last event */
	const struct sl_method *method;
	uint32_t nodes; int columns;    /* of its values, if it has any */
	void *run;
	struct sl_resident *resident;   /* NULL: the run needs nothing on the device */
	struct sl_embedding *embedding; /* the run's; NULL: it is in host memory */
	struct sl_status status;
	bool restored;                  /* from a checkpoint */
	struct sl_error checkpoint_error;        /* why not, though there was one */
	struct sl_error unaided;        /* why the device does not compute it, though it could */
	int began;                      /* the iteration with which it was added */
	bool alone;                     /* suspected: never runs beside others, and fails if the device does */
	bool suspect;                   /* ran when the device was lost */
	struct sl_embedding_snapshot *snapshot;  /* in progress, or NULL */
	struct sl__expansion *expansion;         /* the layout made from it; NULL without a snapshot */
	unsigned holds;                 /* times that it paused by itself */
	int trace_sent;                 /* number of trace points that were sent */
	double told_ms;                 /* when progress was sent last */
	uint64_t slices;                /* number and duration of slices since then */
	double slice_seconds;
	double slow_ms;                 /* duration of the last slice if it was too long; else 0 */
};

struct sl_device_thread {
	struct sl_device_port port;  /* first */
	/* shared: the mailboxes lock themselves, the async may be sent by any thread */
	struct sl_mailbox commands, events;
	uv_async_t async;
	pthread_t thread;
	struct sl_device_config config;
	_Atomic double turned_ms;   /* sl__now_ms() of its last finished slice or command; 0: it sleeps or opens a device */
	/* belongs to the loop: */
	sl_device_event_fn on_event;
	void *arg;
	void (*closed)(void *arg);
	void *closed_arg;
	/* the opening: written by the thread before ready is posted */
	uv_sem_t ready;
	int open_code;
	struct sl_error open_err;
	/* belongs to the thread: */
	struct sl_device *device;
	struct sl_scheduler *scheduler;
	double ran_ms, computed_ms;     /* of the last slices: their time, and that of the processor in them */
	struct sl_list tasks;           /* struct sl_task */
	struct sl_list residents;       /* struct sl_resident */
	struct sl_list neighbours;      /* struct sl_resident_neighbours */
	uint64_t clock;
	double state_told_ms;
	bool state_owed;                /* no memory to send STATE; the thread tries again soon */
	struct sl_device_event *stopped;  /* the last event */
	bool stop;
	struct sl_device_info info;     /* as last read */
	struct sl_task *together[SL_EMBEDDINGS_TOGETHER];  /* scratch of run_together() */
	uint64_t evictions, losses;     /* since the start */
	struct sl_expander *expander;   /* snapshots.c */
	/* After a failure `device` is NULL until it can be opened again. */
	bool lost;                      /* the failure was noticed, but not handled yet */
	bool stuck;                     /* this process cannot open it again */
	bool progressed;                /* a job has, since the last failure */
	struct sl_error problem;        /* the failure, or why it does not open; code 0: none */
	double lost_ms;                 /* time of the last failure */
	double retry_ms, backoff_ms;    /* time of the next attempt; interval to the one after it */
};

/* ---- events.c ----------------------------------------------------------- */

double sl__now_ms(void);
/* Takes the owed event and sets its kind. */
struct sl_device_event *sl__event_owed(struct sl_device_event **owed, enum sl_event_kind kind, uint64_t job);
void sl__tell(struct sl_device_thread *t, struct sl_device_event *e);
void sl__tell_error(struct sl_device_thread *t, struct sl_device_event **owed, uint64_t job,
		    const struct sl_error *err);
void sl__tell_dropped(struct sl_device_thread *t, struct sl_device_event **owed, uint64_t graph, uint64_t adds);
/* Sends STATE without a request. Without memory it is sent later. */
void sl__tell_state(struct sl_device_thread *t);
void sl__answer_state(struct sl_device_thread *t, struct sl_device_event **owed);
/* Sends PROGRESS. Without memory the next event includes it. */
void sl__tell_progress(struct sl_device_thread *t, struct sl_task *k);
void sl__tell_held(struct sl_device_thread *t, struct sl_task *k);
void sl__answer_paused(struct sl_device_thread *t, struct sl_task *k, struct sl_device_event **owed);
/* Adds status and the trace points from `first` on. */
void sl__add_status(struct sl_task *k, struct sl_device_event *e, int first);

/* ---- tasks.c -------------------------------------------------------------- */

struct sl_task *sl__task_find(struct sl_device_thread *t, uint64_t key);
/* Takes the owed events. After an error owed->ended still belongs to the caller. */
int sl__task_add(struct sl_device_thread *t, struct sl_device_job *job, struct sl_owed *owed, struct sl_error *err);
/* Sends LEFT with the saved state of the run. If the state cannot be saved, the task stays. */
void sl__task_move_off(struct sl_device_thread *t, struct sl_task *k, struct sl_device_event **owed);
/* Ends the task with DONE or CANCELLED and its present layout. */
void sl__task_leave(struct sl_device_thread *t, struct sl_task *k, enum sl_event_kind kind);
/* Ends the task with the error. If that is the device's (SL_DEVLOST), the job was perhaps not its cause: for the first
 * time it is only marked, and goes back to the loop with the others; added again it is `alone`. */
void sl__task_fail(struct sl_device_thread *t, struct sl_task *k, const struct sl_error *err);
void sl__task_end(struct sl_device_thread *t, struct sl_task *k);
/* Runs one slice of the picked task, and of the tasks that may run beside it. */
void sl__run_slice(struct sl_device_thread *t, struct sl_task *picked);

/* ---- residents.c ------------------------------------------------------------ */

struct sl_resident *sl__resident_find(struct sl_device_thread *t, uint64_t key);
void sl__resident_drop(struct sl_device_thread *t, struct sl_resident *r);
/* Finds the job's graph or puts it on the device, dropping others if it needs room, and counts one more job. A new
 * resident takes *dropped. The caller calls sl__resident_unuse(*out) later, also after an error. */
int sl__resident_use(struct sl_device_thread *t, const struct sl_device_job *job, struct sl_device_event **dropped,
		     struct sl_resident **out, struct sl_error *err);
void sl__resident_unuse(struct sl_device_thread *t, struct sl_resident *r);  /* NULL is fine */
struct sl_resident_neighbours *sl__resident_neighbours_find(struct sl_device_thread *t, uint64_t key);
void sl__resident_neighbours_drop(struct sl_device_thread *t, struct sl_resident_neighbours *b);
/* Makes room on the device: drops an unused graph, or else neighbours, except those with the key `keep`. False: there
 * is nothing to drop. */
bool sl__drop_something(struct sl_device_thread *t, uint64_t keep);
/* Before the device is closed: drops all its graphs and neighbours from the device. Affinities remain lent. */
void sl__graphs_leave(struct sl_device_thread *t);
/* After the device was opened again: puts the graphs back, as many as fit. */
void sl__graphs_return(struct sl_device_thread *t);

/* ---- snapshots.c ----------------------------------------------------------- */

int sl__expander_create(struct sl_expander **out, struct sl_device_thread *t, struct sl_error *err);
/* Finishes all conversions that were begun. NULL is fine. */
void sl__expander_destroy(struct sl_expander *x);
/* Starts a snapshot of a task that has none in progress. The owed event is sent in any case. */
void sl__snapshot_start(struct sl_device_thread *t, struct sl_task *k, bool quantise, struct sl_device_event **owed);
/* Sends the values at the nodes of the task at once. */
void sl__snapshot_values(struct sl_device_thread *t, struct sl_task *k, struct sl_device_event **owed);
/* Passes finished copies on to be converted. Returns true if some are still in progress. */
bool sl__snapshots_poll(struct sl_device_thread *t);
/* Waits for the task's snapshot; call it before the task ends. */
void sl__snapshot_finish(struct sl_device_thread *t, struct sl_task *k);
/* The task's present layout, in the user's order; NULL with err. */
struct sl_layout *sl__layout_of(struct sl_task *k, struct sl_error *err);
/* Its layout or values in full precision; NULL: its method has none, or there is no memory. */
struct sl_layout *sl__picture_of(struct sl_task *k);

/* ---- thread.c --------------------------------------------------------------- */

void *sl__thread_main(void *thread);

/* Notices a lost device. All errors of the engine pass through this function. Returns the code. */
int sl__note(struct sl_device_thread *t, const struct sl_error *err, int code);

#endif
