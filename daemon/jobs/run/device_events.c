/* Handles the devices' events of jobs: started, progress, snapshots, ends, losses. Loop thread. */
#include <stdlib.h>
#include <string.h>

#include "daemon/jobs/jobs_internal.h"
#include "daemon/util/log.h"

static void take_status(struct sl_job *job, const struct sl_device_event *e)
{
	struct sl_jobs *j = job->jobs;
	struct sl_server_device *d = job->place.device;
	job->status = e->status;
	if ((uint64_t)e->status.iteration > job->run.recorded_iteration) {
		double iterations = (double)((uint64_t)e->status.iteration - job->run.recorded_iteration);
		sl_metric_add(j->metric_iterations, iterations);
		d->iterations += iterations;
		job->run.recorded_iteration = (uint64_t)e->status.iteration;
	}
	sl_metric_add(j->metric_slices, (double)e->slices);
	sl_metric_add(j->metric_slice_seconds, e->slice_seconds);
	d->slices += (double)e->slices;
	d->slice_seconds += e->slice_seconds;
	sl_share_charge(&j->queue, &job->place, e->slice_seconds);
}

/* Appends the new points to the trace; `whole`: replaces it. */
static void take_trace(struct sl_job *job, struct sl_device_event *e, bool whole)
{
	if (whole) {
		free(job->trace);
		job->trace = e->trace;
		job->trace_count = job->trace_room = e->trace_count;
		e->trace = NULL;
		return;
	}
	int count = job->trace_count + e->trace_count;
	if (!e->trace_count)
		return;
	if (count > job->trace_room) {
		int room = count > 2 * job->trace_room ? count : 2 * job->trace_room;
		struct sl_trace_point *grown = realloc(job->trace, (size_t)room * sizeof *grown);
		if (!grown)
			return;  /* out of memory: these points are missing until the job's end, which brings the whole trace */
		job->trace = grown;
		job->trace_room = room;
	}
	memcpy(job->trace + job->trace_count, e->trace, (size_t)e->trace_count * sizeof *e->trace);
	job->trace_count = count;
}

/* If other jobs used the device's memory, waits until they have ended. */
static bool wait_for_memory(struct sl_job *job, const struct sl_device_event *e)
{
	struct sl_jobs *j = job->jobs;
	if (e->err.code != SL_DEVMEM || job->place.device->placed <= 1 || job->life.wish == SL_WISH_CANCEL || j->stopping)
		return false;
	sl_log_info("jobs", "%s waits for device memory", job->id);
	job->place.waiting.bytes = UINT64_MAX;  /* when nothing else runs there */
	sl__job_step(job, SL_ON_NO_MEMORY);
	return true;
}

/* The device failed: the job continues from its last checkpoint once a device is available. */
static void on_lost(struct sl_job *job, const struct sl_device_event *e)
{
	struct sl_jobs *j = job->jobs;
	sl__move_over(job);
	job->run.alone = job->run.alone || e->suspect;
	sl_watch_lost(&job->watch);
	job->status.iteration = job->run.carried ? job->run.carried_status.iteration : job->has_checkpoint ?
				job->checkpoint_iteration : 0;
	job->status.seconds = job->run.carried ? job->run.carried_status.seconds : job->has_checkpoint ?
			      job->checkpoint_seconds : 0;
	job->run.recorded_iteration = (uint64_t)job->status.iteration;
	sl_log_warning("jobs", "%s lost its device; it goes on from iteration %d", job->id, job->status.iteration);
	job->place.waiting.bytes = job->place.bytes;
	sl__job_step(job, SL_ON_LOST);
	j->worked(j);
}

static void on_ended(struct sl_job *job, struct sl_device_event *e, enum sl_job_event event)
{
	take_status(job, e);
	take_trace(job, e, true);
	job->run.result = e->result;
	if (job->run.result.note[0])
		sl__job_note(job, "%s", job->run.result.note);
	e->result = (struct sl_method_result){0};
	json_decref(job->table_of_result);
	job->table_of_result = sl__table_json(job->work.method, &job->run.result);
	sl_layout_unref(job->run.last);
	job->run.last = e->layout ? sl_layout_ref(e->layout) : NULL;
	sl__job_step(job, event);
}

static void on_job_event(struct sl_job *job, struct sl_device_event *e)
{
	switch (e->kind) {
	case SL_EVENT_STARTED:
		take_trace(job, e, true);
		if (e->err.code && (job->has_checkpoint || job->run.carried))
			sl__job_from_the_beginning(job, e->err.detail);
		if (e->unaided.code)
			sl__job_note(job, "The processor computes the job, because %s has no room for it: %s",
				     job->place.device->id, e->unaided.detail);
		if (job->run.came_from)
			sl__job_arrived(job);
		else
			job->preparation_s = (double)(uv_hrtime() - job->place.placed_ns) * 1e-9;
		sl__job_drop_carried(job);
		sl__job_changed(job);
		break;
	case SL_EVENT_PROGRESS:
		take_status(job, e);
		take_trace(job, e, false);
		sl__job_progressed(job);
		break;
	case SL_EVENT_PAUSED:
		take_status(job, e);
		take_trace(job, e, false);
		job->run.holds += e->status.held;
		sl__job_step(job, e->status.held ? SL_ON_HELD : SL_ON_PAUSED);
		break;
	case SL_EVENT_SNAPSHOT:
		sl_watch_snapshot(&job->watch, e->layout);
		break;
	case SL_EVENT_CHECKPOINT:
		sl__job_on_checkpoint(job, e);
		break;
	case SL_EVENT_DONE:
		on_ended(job, e, SL_ON_DONE);
		break;
	case SL_EVENT_CANCELLED:
		on_ended(job, e, SL_ON_CANCELLED);
		break;
	case SL_EVENT_LEFT:
		if (e->blob) {
			take_status(job, e);
			take_trace(job, e, true);
		}
		sl__job_on_left(job, e);
		break;
	case SL_EVENT_LOST:
		on_lost(job, e);
		break;
	case SL_EVENT_FAILED:
		if (!sl__job_go_back(job, &e->err) && !wait_for_memory(job, e))
			sl__job_fail(job, &e->err);
		break;
	default:
		break;
	}
}

static struct sl_job *by_key(struct sl_jobs *j, uint64_t key)
{
	return SL_LIST_FIND(struct sl_job, job, &j->on_device, run.on_device, job->run.key == key);
}

void sl__jobs_on_device_event(void *arg, struct sl_server_device *d, struct sl_device_event *e)
{
	struct sl_job *job = by_key(arg, e->job);
	if (!job)
		return;
	sl__job_ref(job);
	on_job_event(job, e);
	sl__job_unref(job);
}
