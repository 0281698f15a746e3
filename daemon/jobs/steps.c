/* Executes the steps of machine.h: the only place where a job's stage, wish and state change. Each action is one call
 * of the file that owns the matter. Loop thread.
 *
 * The order matters. A message to the device comes first, since it may fail; then the step is not taken. Then the stage
 * changes, and the line and the place follow. What may lead to further steps of the job comes last. */
#include "daemon/files/job_files.h"
#include "daemon/jobs/jobs_internal.h"
#include "daemon/util/log.h"

static int send_message(const struct sl_job *job, unsigned actions)
{
	struct sl_device_thread *thread = job->device->thread;
	return actions & SL_DO_SEND_PAUSE ? sl_device_pause(thread, job->key) :
	       actions & SL_DO_SEND_RESUME ? sl_device_resume(thread, job->key, job->holds) :
	       actions & SL_DO_SEND_FINISH ? sl_device_finish(thread, job->key) :
	       actions & SL_DO_SEND_CANCEL ? sl_device_cancel(thread, job->key) : sl_device_leave(thread, job->key);
}

static void place_and_line(struct sl_job *job, unsigned actions)
{
	if (actions & SL_DO_LEAVE_LINE)
		sl__job_leave_line(job);
	if (actions & SL_DO_DEACTIVATE)
		sl__job_activate(job, -1);
	if (actions & SL_DO_GIVE_PLACE)
		sl__job_release_place(job);
	if (actions & SL_DO_TAKE_PLACE)
		sl__job_take_place(job);
	if (actions & SL_DO_ACTIVATE)
		sl__job_activate(job, 1);
	if (actions & SL_DO_JOIN_LINE)
		sl__job_join_line(job);
}

static void records(struct sl_job *job, unsigned actions)
{
	if (actions & SL_DO_LEAVE_TABLE)
		sl__job_leave_table(job);
	if (actions & SL_DO_JOIN_TABLE)
		sl__job_insert(sl__job_ref(job));
	if (actions & SL_DO_MET)
		sl__after_met(job);
	if (actions & SL_DO_SAVE)
		sl__job_record_change(job);
	if (actions & SL_DO_CHECKPOINT)
		sl__job_checkpoint(job, SL_CHECKPOINT_ON_NEWER);
	if (actions & SL_DO_WATCH)
		sl_watch_pump(&job->watch);
	if (actions & SL_DO_TRY_AGAIN)
		sl__job_try_again(job);
	if (actions & SL_DO_DROP_COPY)
		sl__job_remove_files(job, sl_job_file_transient);
	if (actions & SL_DO_BEGIN_END)
		sl__job_begin_end(job);
	if (actions & SL_DO_PUBLISH)
		sl__job_publish_end(job);
}

static void go_on(struct sl_job *job, unsigned actions)
{
	if (actions & SL_DO_CHECK)
		sl__job_check(job);
	if (actions & SL_DO_LOOK_HELD)
		sl__after_look_held(job);
	if (actions & SL_DO_COPY)
		sl__after_copy(job);
	if (actions & SL_DO_PREPARE)
		sl__job_prepare(job);
	if (actions & SL_DO_SAVE_RESULT)
		sl__job_save_result(job);
	if (actions & SL_DO_SAVE_END)
		sl__job_save_end(job);
	if (actions & SL_DO_PUMP)
		sl__jobs_pump(job->jobs);
}

bool sl__job_step(struct sl_job *job, enum sl_job_event event)
{
	struct sl_transition step = sl_machine_step(&job->life, event);
	enum sl_job_state before = job->life.state;
	if (step.refused) {
		sl_log_error("jobs", "%s: %s cannot happen in stage %s; please report this", job->id,
			     sl_job_event_name[event], sl_stage_name(job->life.stage));
		return true;
	}
	if (step.actions & SL_ACTIONS_SENT && send_message(job, step.actions))
		return false;
	sl__job_ref(job);
	job->life = step.to;
	place_and_line(job, step.actions);
	if (step.actions & SL_DO_SHOW)
		sl__job_show(job, before);
	records(job, step.actions);
	go_on(job, step.actions);
	sl__job_unref(job);
	return true;
}
