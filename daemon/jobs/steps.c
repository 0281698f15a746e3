/* Executes the steps of machine.h: the only place where a job's stage, wish and state change.
 *
 * The order matters. A message to the device comes first, since it may fail; then the step is not taken. Then the stage
 * changes, and the actions follow in the order of SL_ACTIONS: the line and the place, what clients see, what is stored;
 * last what may lead to further steps of the job. Loop thread. */
#include "daemon/jobs/jobs_internal.h"
#include "daemon/util/log.h"

static void pump(struct sl_job *job)
{
	job->jobs->pump(job->jobs);
}

/* What is done for each action. Those before LEAVE_LINE are messages. */
static void (*const work[SL_ACTION_COUNT])(struct sl_job *job) = {
	[SL__NUMBER_LEAVE_LINE] = sl__job_leave_line,
	[SL__NUMBER_DEACTIVATE] = sl__job_deactivate,
	[SL__NUMBER_GIVE_PLACE] = sl__job_give_place,
	[SL__NUMBER_TAKE_PLACE] = sl__job_take_place,
	[SL__NUMBER_ACTIVATE] = sl__job_activate,
	[SL__NUMBER_JOIN_LINE] = sl__job_join_line,
	[SL__NUMBER_SHOW] = sl__job_show,
	[SL__NUMBER_LEAVE_TABLE] = sl__job_leave_table,
	[SL__NUMBER_JOIN_TABLE] = sl__job_join_table,
	[SL__NUMBER_MET] = sl__after_met,
	[SL__NUMBER_SAVE] = sl__job_record_change,
	[SL__NUMBER_CHECKPOINT] = sl__job_checkpoint_paused,
	[SL__NUMBER_WATCH] = sl__job_pump_watch,
	[SL__NUMBER_TRY_AGAIN] = sl__job_try_again,
	[SL__NUMBER_DROP_COPY] = sl__after_drop_copy,
	[SL__NUMBER_BEGIN_END] = sl__job_begin_end,
	[SL__NUMBER_PUBLISH] = sl__job_publish_end,
	[SL__NUMBER_TELL_AFTER] = sl__after_ended,
	[SL__NUMBER_CHECK] = sl__job_check,
	[SL__NUMBER_LOOK_HELD] = sl__after_look_held,
	[SL__NUMBER_COPY] = sl__after_copy,
	[SL__NUMBER_PREPARE] = sl__job_prepare,
	[SL__NUMBER_SAVE_RESULT] = sl__job_save_result,
	[SL__NUMBER_SAVE_END] = sl__job_save_end,
	[SL__NUMBER_PUMP] = pump,
};

static int send_message(const struct sl_job *job, unsigned actions)
{
	struct sl_device_port *thread = job->place.device->port;
	uint64_t key = job->run.key;
	return actions & SL_DO_SEND_PAUSE ? sl_device_pause(thread, key) :
	       actions & SL_DO_SEND_RESUME ? sl_device_resume(thread, key, job->run.holds) :
	       actions & SL_DO_SEND_FINISH ? sl_device_finish(thread, key) :
	       actions & SL_DO_SEND_CANCEL ? sl_device_cancel(thread, key) : sl_device_leave(thread, key);
}

bool sl__job_step(struct sl_job *job, enum sl_job_event event)
{
	struct sl_transition step = sl_machine_step(&job->life, event);
	if (step.refused) {
		sl_log_error("jobs", "%s: %s cannot happen in stage %s; please report this", job->record.id,
			     sl_job_event_name[event], sl_stage_name(job->life.stage));
		return true;
	}
	if (step.actions & SL_ACTIONS_SENT && send_message(job, step.actions))
		return false;
	sl__job_ref(job);
	job->life = step.to;
	for (int i = SL__NUMBER_LEAVE_LINE; i < SL_ACTION_COUNT; i++)
		if (step.actions & 1u << i)
			work[i](job);
	sl__job_unref(job);
	return true;
}
