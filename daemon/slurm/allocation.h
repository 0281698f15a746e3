/* allocation.h -- one allocation of Slurm for a worker: a table of stages, events and actions.
 *
 * Slurm's answers are late, and may fail to come. So nothing here follows from an answer that is missing, and no
 * answer says that a worker is dead: as long as a worker is connected, its heartbeat decides. The listings of the
 * queue decide about allocations without a worker only. Pure: no processes, no clock, no memory. */
#ifndef SL_SLURM_ALLOCATION_H
#define SL_SLURM_ALLOCATION_H

#include <stdbool.h>

/* What Slurm says of a job, from its state: PENDING, RUNNING, ... (sl_slurm_state()). */
enum sl_slurm_state {
	SL_SLURM_WAITS,       /* it is in the queue, also again */
	SL_SLURM_RUNS,
	SL_SLURM_COMPLETED,   /* the worker ended by itself */
	SL_SLURM_FAILED,      /* the worker ended with an error, or could not be started */
	SL_SLURM_CANCELLED,
	SL_SLURM_PREEMPTED,
	SL_SLURM_TIMEOUT,
	SL_SLURM_NODE_FAILED,
	SL_SLURM_NO_MEMORY,
	SL_SLURM_MISSING,     /* a complete listing does not have it */
	SL_SLURM_STATES
};

enum sl_allocation_stage {
	SL_ALLOCATION_ASKING,   /* sbatch runs */
	SL_ALLOCATION_UNSURE,   /* sbatch got no answer: the allocation may exist or not; a listing will tell */
	SL_ALLOCATION_QUEUED,   /* Slurm has it in its queue */
	SL_ALLOCATION_STARTED,  /* Slurm says that it runs; its worker has not come yet */
	SL_ALLOCATION_LIVE,     /* its worker is connected */
	SL_ALLOCATION_AWAY,     /* the connection of its worker has ended; it may come again, also after a requeue */
	SL_ALLOCATION_ENDING,   /* it is not wanted any more: cancelled until Slurm says that it has ended */
	SL_ALLOCATION_ENDED,
	SL_ALLOCATION_STAGES
};

enum sl_allocation_event {
	SL_ALLOCATION_ON_SUBMITTED,
	SL_ALLOCATION_ON_REFUSED,    /* sbatch has said no */
	SL_ALLOCATION_ON_NO_ANSWER,  /* sbatch did not end, or could not reach slurmctld */
	SL_ALLOCATION_ON_CAME,       /* the worker has connected */
	SL_ALLOCATION_ON_LOST,       /* its connection has ended, or it does not answer any more */
	SL_ALLOCATION_ON_UNWANTED,   /* the server does not need it any more */
	SL_ALLOCATION_ON_LISTED,     /* + enum sl_slurm_state: a listing that began after the last event of sbatch */
	SL_ALLOCATION_EVENTS = SL_ALLOCATION_ON_LISTED + SL_SLURM_STATES
};

/* Actions: bits. */
enum {
	SL_ALLOCATION_DO_CANCEL = 1,     /* scancel */
	SL_ALLOCATION_DO_DISMISS = 2,    /* the worker is told to end */
	SL_ALLOCATION_DO_FOLLOW = 4,     /* somebody has cancelled it in Slurm: its jobs are cancelled */
	SL_ALLOCATION_DO_COUNT = 8,      /* it ended without ever having been of use: the next request waits */
};

struct sl_allocation_step {
	enum sl_allocation_stage to;
	unsigned actions;
};

/* Each event may come in each stage. */
struct sl_allocation_step sl_allocation_step(enum sl_allocation_stage from, int event);
const char *sl_allocation_stage_name(enum sl_allocation_stage stage);

/* The state that Slurm calls so ("PENDING", "NODE_FAIL"); an unknown one counts as running: unknown is not dead. */
enum sl_slurm_state sl_slurm_state(const char *word);
/* Why an allocation ended, for people: "its time limit was reached". */
const char *sl_slurm_state_reason(enum sl_slurm_state state);

#endif
