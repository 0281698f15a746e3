/* machine.h -- the life of a job as a state machine: stage + event -> stage + actions.
 *
 * Pure logic: no loop, no files, no data base, no memory. sl_machine_step() looks up one table, which has an entry for
 * each pair of a stage and an event; steps.c executes the actions. Nothing else changes a stage, a wish or a state.
 *
 * A job has a stage (where it is), a wish (what its owner has asked for last), and a state (what clients see). The
 * stages are listed in docs/architecture.md, which a test compares with this file. Four stages are junctions that a job
 * leaves within the same turn of the loop: CHECKING, CARRIED, and those whose event follows at once.
 *
 *   STORING -> CHECKING -> WAITING -> PREPARING -> RUNNING -> SAVING -> RECORDING -> ENDED -> DELETING -> GONE
 *
 * A wish has an effect at once where that is possible. If not (the job is being stored, prepared or moved), it is
 * remembered, and has its effect at the next event. FINISH and CANCEL are never taken back. Any thread. */
#ifndef SL_MACHINE_H
#define SL_MACHINE_H

#include <stdbool.h>

/* What clients see (openapi.yaml, JobState). Those from DONE on are final. */
enum sl_job_state { SL_JOB_QUEUED, SL_JOB_RUNNING, SL_JOB_PAUSED, SL_JOB_DONE, SL_JOB_FAILED, SL_JOB_CANCELLED,
		    SL_JOB_STATES };

enum sl_wish { SL_WISH_RUN, SL_WISH_PAUSE, SL_WISH_FINISH, SL_WISH_CANCEL, SL_WISHES };

enum sl_stage {
	SL_STAGE_STORING,       /* new: it is being recorded for the first time */
	SL_STAGE_STORING_OLD,   /* the same, and it was changed since */
	SL_STAGE_CHECKING,      /* junction: what does it wait for? */
	SL_STAGE_AFTER,         /* waits for another job */
	SL_STAGE_COPYING,       /* the layout of that job is being copied */
	SL_STAGE_NO_ROOM,       /* waits for room on the disk for this copy */
	SL_STAGE_SEARCHING,     /* waits for the neighbour search of its points */
	SL_STAGE_WAITING,       /* waits in line for a place on a device */
	SL_STAGE_HELD,          /* paused before it had a place */
	SL_STAGE_HELD_COPYING,  /* the same, while the layout of another job is being copied */
	SL_STAGE_PREPARING,     /* has a place; a worker prepares its affinities and files */
	SL_STAGE_CARRIED,       /* junction: it has left a device with the state of its run, and has no place yet */
	SL_STAGE_MOVING,        /* has a place; a worker prepares the state that it carries from another device */
	SL_STAGE_RUNNING,       /* the device has it and computes it */
	SL_STAGE_PAUSED,        /* the device has it and does not compute it */
	SL_STAGE_LEAVING,       /* the device was asked to give it back with the state of its run */
	SL_STAGE_PARKED,        /* the server stops, or has just started: goes on at the next start */
	SL_STAGE_SAVING,        /* ended; its result is being written */
	SL_STAGE_RECORDING,     /* ended; its record is being written */
	SL_STAGE_OUTDATED,      /* the same, and it was changed since: the record is written once more */
	SL_STAGE_UNSAVED,       /* ended; the write failed, and is repeated */
	SL_STAGE_ENDED,
	SL_STAGE_DELETING,      /* out of the table; its record is being removed */
	SL_STAGE_GONE,
	SL_STAGES
};

enum sl_job_event {
	/* requests of clients */
	SL_ON_PAUSE, SL_ON_RESUME, SL_ON_FINISH, SL_ON_CANCEL,
	SL_ON_CHANGE,           /* its name, priority, parameters or wish have changed */
	/* its first record */
	SL_ON_STORED, SL_ON_UNSTORED,
	SL_ON_TAKE_UP,          /* the server has started */
	/* before it has a place; the first four answer CHECK */
	SL_ON_MUST_WAIT,        /* another job has not ended yet */
	SL_ON_MUST_COPY,        /* that job's layout must be copied; also in reply to LOOK */
	SL_ON_MUST_SEARCH,      /* its neighbours are not known */
	SL_ON_READY,            /* it needs nothing but a place */
	SL_ON_LOOK,             /* the other job has ended, or it is time for another attempt to copy */
	SL_ON_COPIED, SL_ON_COPY_NO_ROOM, SL_ON_COPY_FAILED,
	SL_ON_SEARCHED,
	SL_ON_ENGINE_GONE,      /* it has another engine now */
	/* its place */
	SL_ON_PLACED, SL_ON_PLACED_CARRYING,
	SL_ON_BETWEEN,          /* between two steps of its preparation */
	SL_ON_UNPLACED,         /* its neighbours turn out to be damaged */
	SL_ON_SENT,             /* to the device */
	SL_ON_STOPS,            /* the server stops */
	/* the device */
	SL_ON_PAUSED, SL_ON_DONE, SL_ON_CANCELLED, SL_ON_LOST,
	SL_ON_HELD,             /* the device has paused it by itself, at its parameter pause_at */
	SL_ON_NO_MEMORY,        /* other jobs use the device's memory */
	SL_ON_LEAVE,            /* it shall move to another device */
	SL_ON_LEFT, SL_ON_STAYED,
	SL_ON_BACK,             /* the device to which it has moved has no memory for it */
	SL_ON_FAIL,             /* in any stage before the end; in SAVING: its result cannot be written */
	/* its end */
	SL_ON_RESULT_SAVED, SL_ON_RECORDED, SL_ON_NOT_SAVED, SL_ON_RETRY,
	SL_ON_DELETE, SL_ON_DELETED, SL_ON_NOT_DELETED,
	SL_JOB_EVENTS
};

/* What a step requires, in the order of execution. The first group may fail for lack of memory; then the step does not
 * take place. A step has at most one of them, and at most one of the last group, which may lead to further steps. */
#define SL_ACTIONS(X) \
	X(SEND_PAUSE) X(SEND_RESUME) X(SEND_FINISH) X(SEND_CANCEL) X(SEND_LEAVE) /* to its device */ \
	X(LEAVE_LINE) X(DEACTIVATE) X(GIVE_PLACE) X(TAKE_PLACE) X(ACTIVATE) X(JOIN_LINE) \
	X(SHOW)        /* its state has changed */ \
	X(LEAVE_TABLE) X(JOIN_TABLE) \
	X(MET)         /* the wait for another job is over */ \
	X(SAVE)        /* writes the record */ \
	X(CHECKPOINT)  /* asks the device for one */ \
	X(WATCH)       /* readers of frames may get one */ \
	X(TRY_AGAIN)   /* looks again in a second */ \
	X(DROP_COPY)   /* removes the copied layout, which nobody needs */ \
	X(BEGIN_END)   /* its results are complete */ \
	X(PUBLISH)     /* its end is recorded */ \
	X(TELL_AFTER)  /* the jobs that wait for it */ \
	X(CHECK) X(LOOK_HELD) X(COPY) X(PREPARE) X(SAVE_RESULT) X(SAVE_END) \
	X(PUMP)        /* gives free places to waiting jobs */

#define SL__ACTION_NUMBER(name) SL__NUMBER_##name,
#define SL__ACTION(name) SL_DO_##name = 1u << SL__NUMBER_##name,
enum { SL_ACTIONS(SL__ACTION_NUMBER) SL_ACTION_COUNT };
enum sl_action { SL_ACTIONS(SL__ACTION) };
#define SL_ACTIONS_SENT \
	(SL_DO_SEND_PAUSE | SL_DO_SEND_RESUME | SL_DO_SEND_FINISH | SL_DO_SEND_CANCEL | SL_DO_SEND_LEAVE)

struct sl_machine {
	enum sl_stage stage;
	enum sl_wish wish;
	enum sl_job_state state;
	enum sl_job_state end;  /* from SAVING on: the state in which it ends */
};

struct sl_transition {
	struct sl_machine to;
	unsigned actions;       /* enum sl_action */
	bool refused;           /* the event means nothing in this stage: a fault of the program */
};

struct sl_machine sl_machine_new(void);
/* Of a job that the server finds in the data base when it starts. */
struct sl_machine sl_machine_loaded(enum sl_job_state state);
struct sl_transition sl_machine_step(const struct sl_machine *from, enum sl_job_event event);
/* The state that the record has. It may be ahead of what clients see: a request is recorded before it is shown. */
enum sl_job_state sl_machine_recorded(const struct sl_machine *m);

bool sl_stage_has_place(enum sl_stage stage);
bool sl_stage_is_active(enum sl_stage stage);     /* it has a place and uses computing time */
bool sl_stage_is_on_device(enum sl_stage stage);  /* a device's thread knows it */
bool sl_stage_is_storing(enum sl_stage stage);
bool sl_stage_is_ending(enum sl_stage stage);     /* its end is not recorded yet */
bool sl_stage_is_deleted(enum sl_stage stage);

/* ---- checkpoints -------------------------------------------------------------------------
 *
 * A machine of its own beside the life: a job has at most one checkpoint on its way, from the request to the device to
 * the file on the disk. Each request "newer" leads to a checkpoint that was made after it, unless the device gives the
 * job back before. */
enum sl_checkpoint_stage {
	SL_CHECKPOINT_IDLE,
	SL_CHECKPOINT_ASKED,         /* the device was asked for one */
	SL_CHECKPOINT_WRITING,       /* a worker writes it */
	SL_CHECKPOINT_ASKED_MORE,    /* the same two, and a newer one is needed after it */
	SL_CHECKPOINT_WRITING_MORE,
	SL_CHECKPOINT_WRITING_KEEP,  /* a worker writes one; after that, the state that the job carries */
	SL_CHECKPOINT_STAGES
};

enum sl_checkpoint_event {
	SL_CHECKPOINT_ON_DUE,        /* one is wanted, unless one is on its way */
	SL_CHECKPOINT_ON_NEWER,      /* one is needed that is made from now on */
	SL_CHECKPOINT_ON_ANSWER, SL_CHECKPOINT_ON_NO_ANSWER,  /* of the device */
	SL_CHECKPOINT_ON_WRITTEN,    /* or not, after an error */
	SL_CHECKPOINT_ON_GONE,       /* the device has given the job back */
	SL_CHECKPOINT_ON_KEEP,       /* the state that the job carries shall be its checkpoint */
	SL_CHECKPOINT_EVENTS
};

/* ASK may fail; then the step does not take place, except that an answer or a write is over. */
enum sl_checkpoint_action { SL_CHECKPOINT_NOTHING, SL_CHECKPOINT_ASK, SL_CHECKPOINT_WRITE,
			    SL_CHECKPOINT_WRITE_CARRIED };

struct sl_checkpoint_transition {
	enum sl_checkpoint_stage to;
	enum sl_checkpoint_stage else_to;  /* if ASK fails */
	enum sl_checkpoint_action action;
	bool refused;                      /* the event cannot happen in this stage */
};
struct sl_checkpoint_transition sl_checkpoint_step(enum sl_checkpoint_stage from, enum sl_checkpoint_event event);
bool sl_checkpoint_is_writing(enum sl_checkpoint_stage stage);

/* For messages, tests and documents. */
extern const char *const sl_job_state_name[SL_JOB_STATES];
extern const char *const sl_job_event_name[SL_JOB_EVENTS];
extern const char *const sl_action_name[SL_ACTION_COUNT];
const char *sl_stage_name(enum sl_stage stage);
const char *sl_stage_meaning(enum sl_stage stage);  /* a sentence: what the job waits for */
/* True if the event may come in this stage (it may still change nothing). */
bool sl_stage_takes(enum sl_stage stage, enum sl_job_event event);

#endif
