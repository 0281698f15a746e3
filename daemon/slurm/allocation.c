/* The table of allocations' stages and events. An allocation ends only by a listing, or by sbatch's clear refusal, and
 * never while its worker is connected. */
#include "daemon/slurm/allocation.h"

#include <string.h>

#define TO(stage) {SL_ALLOCATION_##stage, 0}
#define AND(stage, actions) {SL_ALLOCATION_##stage, actions}
#define CANCEL SL_ALLOCATION_DO_CANCEL
#define DISMISS SL_ALLOCATION_DO_DISMISS
#define FOLLOW SL_ALLOCATION_DO_FOLLOW
#define COUNT SL_ALLOCATION_DO_COUNT
#define LISTED(state) [SL_ALLOCATION_ON_LISTED + SL_SLURM_##state]

/* Columns: ASKING, UNSURE, QUEUED, STARTED, LIVE, AWAY, ENDING, ENDED. */
static const struct sl_allocation_step table[SL_ALLOCATION_EVENTS][SL_ALLOCATION_STAGES] = {
	[SL_ALLOCATION_ON_SUBMITTED] = {TO(QUEUED), TO(QUEUED), TO(QUEUED), TO(STARTED), TO(LIVE), TO(AWAY),
					AND(ENDING, CANCEL), AND(ENDING, CANCEL)},
	[SL_ALLOCATION_ON_REFUSED] = {AND(ENDED, COUNT), AND(ENDED, COUNT), TO(QUEUED), TO(STARTED), TO(LIVE), TO(AWAY),
				      TO(ENDED), TO(ENDED)},
	[SL_ALLOCATION_ON_NO_ANSWER] = {TO(UNSURE), TO(UNSURE), TO(QUEUED), TO(STARTED), TO(LIVE), TO(AWAY), TO(ENDING),
					TO(ENDED)},
	[SL_ALLOCATION_ON_CAME] = {TO(LIVE), TO(LIVE), TO(LIVE), TO(LIVE), TO(LIVE), TO(LIVE), AND(ENDING, DISMISS),
				   AND(ENDING, DISMISS | CANCEL)},
	[SL_ALLOCATION_ON_LOST] = {TO(ASKING), TO(UNSURE), TO(QUEUED), TO(STARTED), TO(AWAY), TO(AWAY), TO(ENDING),
				   TO(ENDED)},
	[SL_ALLOCATION_ON_UNWANTED] = {TO(ENDING), TO(ENDING), AND(ENDING, CANCEL), AND(ENDING, CANCEL),
				       AND(ENDING, DISMISS), AND(ENDING, CANCEL), TO(ENDING), TO(ENDED)},
	/* while sbatch runs, a listing says nothing about what it asks for */
	LISTED(WAITS) = {TO(ASKING), TO(QUEUED), TO(QUEUED), TO(QUEUED), TO(LIVE), TO(QUEUED), AND(ENDING, CANCEL),
			 AND(ENDING, CANCEL)},
	LISTED(RUNS) = {TO(ASKING), TO(STARTED), TO(STARTED), TO(STARTED), TO(LIVE), TO(AWAY), AND(ENDING, CANCEL),
			AND(ENDING, CANCEL)},
	LISTED(COMPLETED) = {TO(ASKING), AND(ENDED, COUNT), AND(ENDED, COUNT), AND(ENDED, COUNT), TO(LIVE), TO(ENDED),
			     TO(ENDED), TO(ENDED)},
	LISTED(FAILED) = {TO(ASKING), AND(ENDED, COUNT), AND(ENDED, COUNT), AND(ENDED, COUNT), TO(LIVE), TO(ENDED),
			  TO(ENDED), TO(ENDED)},
	LISTED(CANCELLED) = {TO(ASKING), AND(ENDED, FOLLOW), AND(ENDED, FOLLOW), AND(ENDED, FOLLOW), TO(LIVE),
			     AND(ENDED, FOLLOW), TO(ENDED), TO(ENDED)},
	LISTED(PREEMPTED) = {TO(ASKING), TO(ENDED), TO(ENDED), TO(ENDED), TO(LIVE), TO(ENDED), TO(ENDED), TO(ENDED)},
	LISTED(TIMEOUT) = {TO(ASKING), AND(ENDED, COUNT), AND(ENDED, COUNT), AND(ENDED, COUNT), TO(LIVE), TO(ENDED),
			   TO(ENDED), TO(ENDED)},
	LISTED(NODE_FAILED) = {TO(ASKING), TO(ENDED), TO(ENDED), TO(ENDED), TO(LIVE), TO(ENDED), TO(ENDED), TO(ENDED)},
	LISTED(NO_MEMORY) = {TO(ASKING), AND(ENDED, COUNT), AND(ENDED, COUNT), AND(ENDED, COUNT), TO(LIVE), TO(ENDED),
			     TO(ENDED), TO(ENDED)},
	LISTED(MISSING) = {TO(ASKING), TO(ENDED), TO(ENDED), TO(ENDED), TO(LIVE), TO(ENDED), TO(ENDED), TO(ENDED)},
};

struct sl_allocation_step sl_allocation_step(enum sl_allocation_stage from, int event)
{
	return table[event][from];
}

const char *sl_allocation_stage_name(enum sl_allocation_stage stage)
{
	static const char *const names[] = {"asking", "unsure", "queued", "started", "live", "away", "ending", "ended"};
	return names[stage];
}

/* ---- Slurm's words ------------------------------------------------------------------------------ */

static const struct {
	const char *word;
	enum sl_slurm_state state;
} words[] = {
	{"PENDING", SL_SLURM_WAITS}, {"REQUEUED", SL_SLURM_WAITS}, {"REQUEUE_FED", SL_SLURM_WAITS},
	{"REQUEUE_HOLD", SL_SLURM_WAITS}, {"SPECIAL_EXIT", SL_SLURM_WAITS}, {"CONFIGURING", SL_SLURM_WAITS},
	{"RESV_DEL_HOLD", SL_SLURM_WAITS},
	{"COMPLETED", SL_SLURM_COMPLETED},
	{"FAILED", SL_SLURM_FAILED}, {"BOOT_FAIL", SL_SLURM_NODE_FAILED}, {"LAUNCH_FAILED", SL_SLURM_FAILED},
	{"RECONFIG_FAIL", SL_SLURM_FAILED},
	{"CANCELLED", SL_SLURM_CANCELLED}, {"REVOKED", SL_SLURM_CANCELLED},
	{"PREEMPTED", SL_SLURM_PREEMPTED},
	{"TIMEOUT", SL_SLURM_TIMEOUT}, {"DEADLINE", SL_SLURM_TIMEOUT},
	{"NODE_FAIL", SL_SLURM_NODE_FAILED},
	{"OUT_OF_MEMORY", SL_SLURM_NO_MEMORY},
};

enum sl_slurm_state sl_slurm_state(const char *word)
{
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (!strcmp(words[i].word, word))
			return words[i].state;
	return SL_SLURM_RUNS;  /* RUNNING, COMPLETING, SUSPENDED, STOPPED, SIGNALING, ..., and words of later versions */
}

const char *sl_slurm_state_reason(enum sl_slurm_state state)
{
	static const char *const reasons[SL_SLURM_STATES] = {
		[SL_SLURM_WAITS] = "it is in the queue again",
		[SL_SLURM_RUNS] = "its worker did not answer any more",
		[SL_SLURM_COMPLETED] = "its worker ended",
		[SL_SLURM_FAILED] = "its worker ended with an error, or could not be started",
		[SL_SLURM_CANCELLED] = "it was cancelled in Slurm",
		[SL_SLURM_PREEMPTED] = "it was preempted",
		[SL_SLURM_TIMEOUT] = "its time limit was reached",
		[SL_SLURM_NODE_FAILED] = "its node failed",
		[SL_SLURM_NO_MEMORY] = "it needed more memory than Slurm gave it",
		[SL_SLURM_MISSING] = "Slurm does not know it any more",
	};
	return reasons[state];
}
