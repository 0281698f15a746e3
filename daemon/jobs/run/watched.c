/* Connects a job with the watch of its layout. While a job that was paused has no device, as after a restart of the
 * server, its picture is the layout that was written with its checkpoint. */
#include <stdlib.h>

#include "daemon/jobs/jobs_internal.h"
#include "daemon/files/job_files.h"
#include "daemon/util/log.h"
#include "daemon/util/pool.h"

struct still {
	struct sl_job *job;  /* a reference */
	float *y;
	int code;
	struct sl_error err;
};

struct sl_watch *sl_job_watch(struct sl_job *job)
{
	return &job->readers.watch;
}

void sl__job_pump_watch(struct sl_job *job)
{
	sl_watch_pump(&job->readers.watch);
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

bool sl_job_is_watched(const struct sl_job *job)
{
	return job->record.work.method->layout || job->record.work.method->values;
}

static int dims_of(const struct sl_job *job)
{
	const struct sl_method *method = job->record.work.method;
	return method->values ? method->value_columns(&job->record.work.params) : sl__work_dims(&job->record.work);
}

/* True if the layout on the disk is the job's present one, and the job has no device that would know it. */
static bool shows_still(const struct sl_job *job)
{
	enum sl_stage at = job->life.stage;
	return job->record.has_still && !sl_stage_is_on_device(at) && !sl_stage_is_ending(at) && !sl__job_ended(job) &&
	       job->record.status.iteration == job->record.checkpoint_iteration;
}

static void status(void *owner, struct sl_watch_status *out)
{
	const struct sl_job *job = owner;
	*out = (struct sl_watch_status){
		.state = SL_WATCH_IDLE,
		.end = end_of(job->life.state),
		.nodes = job->record.nodes,
		.dims = dims_of(job),
		.iteration = job->record.status.iteration,
		.measure = job->record.status.measure,
		.values = job->record.work.method->values != NULL,
		.model_time = job->record.status.model_time,
	};
	if (!sl_job_is_watched(job))
		return;  /* the method has no layout or values */
	if (sl__job_ended(job))
		out->state = SL_WATCH_ENDED;
	else if (sl_stage_is_on_device(job->life.stage))
		out->state = job->life.state == SL_JOB_PAUSED ? SL_WATCH_PAUSED : SL_WATCH_RUNNING;
	else if (shows_still(job))
		out->state = SL_WATCH_PAUSED;
}

static void read_still(void *arg)
{
	struct still *s = arg;
	s->code = sl_job_file_read_layout(s->job->jobs->folder, s->job->record.id, "still", s->job->record.nodes,
					  dims_of(s->job), &s->y, &s->err);
}

static void still_read(void *arg)
{
	struct still *s = arg;
	struct sl_job *job = s->job;
	struct sl_jobs *j = job->jobs;
	bool ended = sl__job_ended(job) || sl_stage_is_ending(job->life.stage);  /* its watch has the last layout */
	const struct sl_job_record *r = &job->record;
	struct sl_layout *l = NULL;
	if (s->code) {
		sl_log_warning("jobs", "no picture of %s, which is paused: %s", job->record.id, s->err.detail);
		sl__record_no_still(&job->record);
	} else if (!ended && !job->record.work.method->values) {
		l = sl_layout_create_take(s->y, r->nodes, dims_of(job), r->checkpoint_iteration, r->status.measure);
	} else if (!ended) {
		l = sl_layout_create_values(s->y, r->nodes, dims_of(job), r->checkpoint_iteration, r->status.measure,
					    r->status.model_time);
	} else {
		free(s->y);
	}
	if (l)
		sl_watch_snapshot(&job->readers.watch, l);
	else
		sl_watch_lost(&job->readers.watch);
	sl_layout_unref(l);
	free(s);
	sl__job_unref(job);
	sl__works_done(j);
}

static bool load_still(struct sl_job *job)
{
	struct still *s = calloc(1, sizeof *s);
	if (!s)
		return false;
	s->job = sl__job_ref(job);
	job->jobs->works++;
	sl_pool_run(job->jobs->d->loop, read_still, still_read, s);
	return true;
}

static bool snapshot(void *owner, bool quantised)
{
	struct sl_job *job = owner;
	if (shows_still(job))
		return load_still(job);
	return !sl_device_snapshot(job->place.device->port, job->run.key, quantised);
}

static int load(void *owner, float **y, struct sl_error *err)
{
	struct sl_job *job = owner;
	const char *kind = job->record.work.method->values ? job->record.work.method->results[0].name : "npy";
	return sl_job_file_read_layout(job->jobs->folder, job->record.id, kind, job->record.nodes, dims_of(job), y, err);
}

#define CSV_MOST 100000  /* so many values take the loop about 10 ms to write */

void sl_job_reply_values(struct sl_job *job, struct sl_request *r, enum sl_layout_form form)
{
	const struct sl_method *method = job->record.work.method;
	if (!method->values)
		sl_reply_problem(r, SL_CONFLICT, "Job %s is of method %s, which gives no values at the nodes.", job->record.id,
				 method->name);
	else if (sl__job_ended(job))
		sl_job_reply_array(job, r, method->results[0].name, form);
	else if (!sl_stage_is_on_device(job->life.stage) && !sl_stage_is_ending(job->life.stage))
		sl_reply_problem(r, SL_CONFLICT, "Job %s is %s; it has values when it runs.", job->record.id,
				 sl_job_state_name[job->life.state]);
	else if (form == SL_LAYOUT_CSV && (uint64_t)job->record.nodes * (uint64_t)dims_of(job) > CSV_MOST)
		sl_reply_problem(r, SL_TOOBIG, "While a job runs csv is for at most %d values, and these are %llu; npy is for "
				"any number.", CSV_MOST, (unsigned long long)job->record.nodes * (unsigned long long)dims_of(job));
	else
		sl_watch_values(&job->readers.watch, r, form == SL_LAYOUT_CSV);
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
	return job ? &job->readers.watch : NULL;
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
