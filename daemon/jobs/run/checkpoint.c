/* Checkpoints of running jobs: requested from the device, written by the pool, then recorded. That of a paused job
 * comes with its layout, which readers of frames get while the job has no device. Loop thread. */
#include <stdlib.h>

#include "daemon/jobs/jobs_internal.h"
#include "daemon/files/job_files.h"
#include "daemon/util/crashes.h"
#include "daemon/util/log.h"
#include "daemon/util/pool.h"

struct checkpointing {
	struct sl_job *job;  /* a reference */
	void *blob;
	uint64_t bytes;
	struct sl_layout *layout;  /* a reference, or NULL */
	bool still;          /* layout is on the disk */
	struct sl_status status;
	char *record;        /* for the seal */
	int code;
	struct sl_error err;
};

static void keep(struct sl_job *job, void **blob, uint64_t bytes, struct sl_layout *layout,
		 const struct sl_status *status);

/* Returns false if the event means nothing. */
static bool step(struct sl_job *job, enum sl_checkpoint_event event)
{
	struct sl_checkpoint_transition step = sl_checkpoint_step(job->run.checkpointing, event);
	if (step.refused) {
		sl_log_error("jobs", "%s: event %d of checkpoints cannot happen in stage %d; please report this",
			     job->record.id, (int)event, (int)job->run.checkpointing);
		return false;
	}
	bool asks = step.action == SL_CHECKPOINT_ASK;
	bool failed = asks && (!sl_stage_is_on_device(job->life.stage) ||
			       sl_device_checkpoint(job->place.device->port, job->run.key));
	job->run.checkpointing = failed ? step.else_to : step.to;
	if (asks)
		job->run.checkpointed_ms = uv_now(job->jobs->d->loop);
	if (step.action == SL_CHECKPOINT_WRITE_CARRIED)
		keep(job, &job->run.carried, job->run.carried_bytes, NULL, &job->run.carried_status);
	return true;
}

void sl__job_checkpoint(struct sl_job *job, enum sl_checkpoint_event event)
{
	step(job, event);
}

void sl__job_checkpoint_paused(struct sl_job *job)
{
	step(job, SL_CHECKPOINT_ON_NEWER);
}

void sl__job_keep_carried(struct sl_job *job)
{
	step(job, SL_CHECKPOINT_ON_KEEP);
}

static void write_checkpoint(void *arg)
{
	struct checkpointing *c = arg;
	const struct sl_layout *l = c->layout;
	struct sl_error err;
	const char *folder = c->job->jobs->folder, *id = c->job->record.id;
	c->still = l && l->y && !sl_job_file_write_layout(folder, id, "still", l->y, l->n, l->dims, NULL, &err);
	if (l && !c->still)
		sl_log_warning("jobs", "the layout of %s, which is paused, is not on the disk: %s", id,
			       l->y ? err.detail : "it is not exact");
	c->code = sl_job_file_write_checkpoint(folder, id, c->blob, c->bytes, c->record, &c->err);
}

static void checkpoint_written(void *arg)
{
	struct checkpointing *c = arg;
	struct sl_job *job = c->job;
	struct sl_jobs *j = job->jobs;
	if (c->code) {
		sl_log_error("jobs", "no checkpoint of %s: %s", job->record.id, c->err.detail);
	} else if (sl__job_ended(job) || sl_stage_is_ending(job->life.stage)) {
		if (!j->stopping)
			sl__job_remove_files(job, sl_job_file_transient);
	} else {
		if (c->status.iteration > job->record.checkpoint_iteration) {
			sl_crashes_forget(job->record.id);
			job->run.alone = false;
		}
		sl__record_checkpoint(&job->record, &c->status, c->still);
		sl__job_save(job, NULL);
	}
	step(job, SL_CHECKPOINT_ON_WRITTEN);
	sl_layout_unref(c->layout);
	free(c->blob);
	free(c->record);
	free(c);
	sl__job_unref(job);
	sl__works_done(j);
}

/* Takes the blob. NULL: the job has dropped the state that it carried. */
static void keep(struct sl_job *job, void **blob, uint64_t bytes, struct sl_layout *layout,
		 const struct sl_status *status)
{
	struct checkpointing *c = *blob ? calloc(1, sizeof *c) : NULL;
	if (!c) {
		step(job, SL_CHECKPOINT_ON_WRITTEN);
		return;
	}
	c->job = sl__job_ref(job);
	c->blob = *blob;
	c->bytes = bytes;
	c->layout = layout ? sl_layout_ref(layout) : NULL;
	c->status = *status;
	c->record = sl__job_record(job, &c->status);
	*blob = NULL;
	job->jobs->works++;
	sl_pool_run(job->jobs->d->loop, write_checkpoint, checkpoint_written, c);
}

void sl__job_on_checkpoint(struct sl_job *job, struct sl_device_event *e)
{
	if (e->err.code)
		sl_log_error("jobs", "no checkpoint of %s: %s", job->record.id, e->err.detail);
	if (!e->blob)
		step(job, SL_CHECKPOINT_ON_NO_ANSWER);
	else if (step(job, SL_CHECKPOINT_ON_ANSWER))
		keep(job, &e->blob, e->bytes, e->layout, &e->status);
	if (!sl_checkpoint_is_writing(job->run.checkpointing))
		job->jobs->worked(job->jobs);
}
