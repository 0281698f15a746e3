/* What a job tells the watch of its layout, and does for it. */
#include "daemon/jobs/jobs_internal.h"
#include "daemon/files/job_files.h"

struct sl_watch *sl_job_watch(struct sl_job *job)
{
	return &job->watch;
}

static int end_of(enum sl_job_state state)
{
	switch (state) {
	case SL_JOB_DONE:
		return SL_FRAME_DONE;
	case SL_JOB_CANCELLED:
		return SL_FRAME_CANCELLED;
	case SL_JOB_FAILED:
		return SL_FRAME_FAILED;
	default:
		return SL_FRAME_NOT_ENDED;
	}
}

static void status(void *owner, struct sl_watch_status *out)
{
	const struct sl_job *job = owner;
	*out = (struct sl_watch_status){
		.state = SL_WATCH_IDLE,
		.end = end_of(job->state),
		.nodes = job->nodes,
		.dims = job->params.dims,
		.iteration = job->status.iteration,
		.kl = job->status.kl,
	};
	if (sl__job_ended(job))
		out->state = SL_WATCH_ENDED;
	else if (job->stage == SL_STAGE_DEVICE)
		out->state = job->state == SL_JOB_PAUSED ? SL_WATCH_PAUSED : SL_WATCH_RUNNING;
}

static bool snapshot(void *owner, bool quantised)
{
	struct sl_job *job = owner;
	return !sl_device_snapshot(job->device->thread, job->key, quantised);
}

static int load(void *owner, float **y, struct sl_error *err)
{
	struct sl_job *job = owner;
	return sl_job_file_read_layout(job->jobs->folder, job->id, "npy", job->nodes, job->params.dims, y, err);
}

static void ref(void *owner)
{
	sl__job_ref(owner);
}

static void unref(void *owner)
{
	sl__job_unref(owner);
}

const struct sl_watch_ops sl__job_watch_ops = {status, snapshot, load, ref, unref};

static struct sl_watch *find(void *arg, const char *id)
{
	char text[SL_ULID_BYTES];
	snprintf(text, sizeof text, "%.26s", id);
	struct sl_job *job = sl__job_find(arg, text);
	return job ? &job->watch : NULL;
}

static void work(void *arg, int by)
{
	struct sl_jobs *j = arg;
	if (by > 0)
		j->works++;
	else
		sl__works_done(j);
}

const struct sl_watches_ops sl__watches_ops = {find, work};
