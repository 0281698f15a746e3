/* Handles the devices' events of jobs: started, progress, snapshots, ends, losses. Loop thread. */
#include "daemon/jobs/jobs_internal.h"
#include "daemon/util/log.h"

static void take_status(struct sl_job *job, const struct sl_device_event *e)
{
	struct sl_jobs *j = job->jobs;
	struct sl_server_device *d = job->place.device;
	sl__record_status(&job->record, &e->status);
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
	if (!whole) {
		sl__record_trace_add(&job->record, e->trace, e->trace_count);
		return;
	}
	sl__record_trace_take(&job->record, e->trace, e->trace_count);
	e->trace = NULL;
}

/* If other jobs used the device's memory, waits until they have ended. */
static bool wait_for_memory(struct sl_job *job, const struct sl_device_event *e)
{
	struct sl_jobs *j = job->jobs;
	if (e->err.code != SL_DEVMEM || job->place.device->placed <= 1 || job->life.wish == SL_WISH_CANCEL || j->stopping)
		return false;
	sl_log_info("jobs", "%s waits for device memory", job->record.id);
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
	sl_watch_lost(&job->readers.watch);
	if (job->run.carried)
		sl__record_back_to(&job->record, job->run.carried_status.iteration, job->run.carried_status.seconds);
	else  /* without a checkpoint: from 0 */
		sl__record_back_to(&job->record, job->record.checkpoint_iteration, job->record.checkpoint_seconds);
	job->run.recorded_iteration = (uint64_t)job->record.status.iteration;
	sl_log_warning("jobs", "%s lost its device; it goes on from iteration %d", job->record.id,
		       job->record.status.iteration);
	job->place.waiting.bytes = job->place.bytes;
	sl__allocated_left(job);
	if (!sl__allocated_lost(job, &e->err))
		sl__job_step(job, SL_ON_LOST);
	j->worked(j);
}

/* A worker has found that the stored file from which it computes is damaged. Damaged neighbours are searched again, and
 * the job waits for them: then returns true. */
static bool wait_for_search(struct sl_job *job, struct sl_device_event *e)
{
	struct sl_graphs *graphs = job->jobs->d->graphs;
	const struct sl_graph_record *g = sl_graphs_find(graphs, job->record.graph);
	if (!g || !job->place.device->worker || job->place.device->remote || e->err.code != SL_BADDATA || !e->err.file[0])
		return false;
	bool neighbours = job->record.work.origin == SL_OF_AFFINITIES && g->kind == SL_KIND_POINTS;
	sl_graphs_damaged(graphs, job->record.graph, neighbours ? SL_PART_NEIGHBOURS : SL_PART_DATA, &e->err);
	e->err.code = SL_IO;  /* a fault of the server, not of the request */
	if (!neighbours || g->search != SL_SEARCH_RUNNING)
		return false;
	sl__move_over(job);
	job->place.waiting.bytes = job->place.bytes;
	sl__job_step(job, SL_ON_LOST);
	return true;
}

static void on_ended(struct sl_job *job, struct sl_device_event *e, enum sl_job_event event)
{
	take_status(job, e);
	take_trace(job, e, true);
	job->run.result = e->result;
	if (job->run.result.note[0])
		sl__record_note(&job->record, "%s", job->run.result.note);
	e->result = (struct sl_method_result){0};
	sl__record_table_take(&job->record, sl__table_json(job->record.work.method, &job->run.result));
	sl_layout_unref(job->run.last);
	job->run.last = e->layout ? sl_layout_ref(e->layout) : NULL;
	sl__job_step(job, event);
}

static void on_job_event(struct sl_job *job, struct sl_device_event *e)
{
	switch (e->kind) {
	case SL_EVENT_STARTED:
		take_trace(job, e, true);
		if (e->err.code && (job->record.has_checkpoint || job->run.carried))
			sl__job_from_the_beginning(job, e->err.detail);
		if (e->unaided.code)
			sl__record_note(&job->record, "The processor computes the job, because %s has no room for it: %s",
				     job->place.device->id, e->unaided.detail);
		if (job->run.came_from)
			sl__job_arrived(job);
		else
			sl__record_prepared(&job->record, (double)(uv_hrtime() - job->place.placed_ns) * 1e-9);
		sl__job_drop_carried(job);
		sl__allocated_started(job);
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
		sl_watch_snapshot(&job->readers.watch, e->layout);
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
			sl__allocated_left(job);
			take_status(job, e);
			take_trace(job, e, true);
		}
		sl__job_on_left(job, e);
		break;
	case SL_EVENT_LOST:
		on_lost(job, e);
		break;
	case SL_EVENT_FAILED:
		if (!wait_for_search(job, e) && !sl__job_go_back(job, &e->err) && !wait_for_memory(job, e))
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
