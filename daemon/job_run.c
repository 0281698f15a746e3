/* A job's way through the machine: a place, affinities and files (job_start.c), the device, the disk.
 * Each step ends in a callback on the loop, and each of those first asks whether the job
 * was cancelled, or the server is stopping, in the meantime. */
#include <stdlib.h>
#include <string.h>

#include "daemon/db.h"
#include "daemon/job_files.h"
#include "daemon/jobs_internal.h"
#include "daemon/log.h"
#include "daemon/problem.h"

#define PATIENCE_MS 5000  /* that the first of a line waits for memory before others are held back for it */

/* ---- places -------------------------------------------------------------------- */

static void leave_device(struct sl_job *job)
{
	struct sl_job **at = &job->jobs->on_device;
	while (*at && *at != job)
		at = &(*at)->next_on_device;
	if (*at)
		*at = job->next_on_device;
}

/* Gives the place up. */
void sl__job_unplace(struct sl_job *job)
{
	struct sl_jobs *j = job->jobs;
	leave_device(job);
	sl_affinity_release(j->affinities, job->affinity);
	job->affinity = NULL;
	j->placed--;
	job->device->placed--;
	j->used_bytes -= job->bytes;
	if (job->stage != SL_STAGE_DEVICE || job->state != SL_JOB_PAUSED)
		sl__job_activate(job, -1);
	job->device = NULL;
}

void sl__job_activate(struct sl_job *job, int by)
{
	job->jobs->active += by;
	job->device->active += by;
}

struct sl_job *sl__job_of_waiting(struct sl_waiting *w)
{
	return (struct sl_job *)((char *)w - offsetof(struct sl_job, waiting));
}

/* The first of a line comes in whatever it takes when nothing else runs; on a device of its own, when the host has the
 * memory that it needs. */
static bool first_may_pass(const struct sl_jobs_engine *e, const struct sl_jobs_device *d, uint64_t free_bytes)
{
	const struct sl_job *first = sl__job_of_waiting(e->backlog.first);
	return d->active == 0 && (d->jobs->active == 0 || first->bytes <= free_bytes);
}

/* Host memory is all engines': where the jobs of one take it again and again, those of another would wait for ever. So
 * after a while they wait, too, until the one that lacks it has come in. */
static bool held_back(struct sl_jobs *j, const struct sl_jobs_engine *e)
{
	uint64_t now = uv_now(j->d->loop);
	for (int i = 0; i < SL__ENGINES; i++) {
		const struct sl_jobs_engine *o = &j->engine[i];
		if (o != e && o->short_ms && now - o->short_ms >= PATIENCE_MS && (!e->short_ms || o->short_ms < e->short_ms))
			return true;
	}
	return false;
}

static void pump_engine(struct sl_jobs *j, struct sl_jobs_engine *e)
{
	struct sl_jobs_device *d;
	if (!e->backlog.first)
		e->short_ms = 0;
	while ((d = sl__engine_room(e)) && !held_back(j, e)) {
		uint64_t free_bytes = j->memory_bytes > j->used_bytes ? j->memory_bytes - j->used_bytes : 0;
		struct sl_waiting *w = sl_backlog_take(&e->backlog, free_bytes, first_may_pass(e, d, free_bytes));
		if (!w) {
			if (!e->short_ms && d->active == 0)
				e->short_ms = uv_now(j->d->loop);
			return;
		}
		e->short_ms = 0;
		struct sl_job *job = sl__job_of_waiting(w);
		sl__job_place(job, sl__engine_best(e, job));
	}
}

void sl__jobs_pump(struct sl_jobs *j)
{
	if (!j->stopping)
		sl__measurements_pump(j);
	for (int i = 0; i < SL__ENGINES && !j->stopping; i++)
		pump_engine(j, &j->engine[i]);
}

/* ---- the end of a job -------------------------------------------------------------- */

struct saving {
	uv_work_t work;
	struct sl_job *job;         /* a reference */
	struct sl_layout *layout;   /* a reference, or NULL */
	enum sl_job_state state;
	int code;
	struct sl_error err;
};

/* What is in the record is what is told. The last layout goes to those who watch. */
static void ended(struct sl_job *job, enum sl_job_state state)
{
	struct sl_jobs *j = job->jobs;
	struct sl_layout *layout = job->final ? job->layout : NULL;
	if (layout)
		sl_layout_ref(layout);
	sl__job_set_state(job, state);
	sl__frames_final(job, layout);
	sl_layout_unref(layout);
	free(job->trace);  /* from now on it is read from the file */
	job->trace = NULL;
	job->trace_count = job->trace_room = 0;
	if (job->has_checkpoint || job->has_initial || job->checkpointing)
		sl__job_remove_files(job, sl_job_file_transient);
	sl_log_info("jobs", "%s is %s after %d iterations, %.3f s", job->id, sl__job_state_name[state],
		    job->status.iteration, job->status.seconds);
	int64_t finished = j->count[SL_JOB_DONE] + j->count[SL_JOB_FAILED] + j->count[SL_JOB_CANCELLED];
	struct sl_job *oldest = j->oldest;
	while (j->d->config.max_finished_jobs > 0 && finished > j->d->config.max_finished_jobs && oldest) {
		struct sl_job *next = oldest->newer;
		if (sl__job_ended(oldest) && oldest != job) {
			sl__job_delete(oldest, NULL, NULL);
			finished--;
		}
		oldest = next;
	}
}

static void recorded(void *arg, int status, const struct sl_error *err, enum sl_job_state state)
{
	struct sl_job *job = arg;
	struct sl_jobs *j = job->jobs;
	if (status)
		sl_log_error("jobs", "the end of %s could not be recorded: %s", job->id, err ? err->detail : "");
	ended(job, state);
	sl__job_unref(job);
	sl__works_done(j);
}

static void recorded_done(void *arg, int status, const struct sl_error *err)
{
	recorded(arg, status, err, SL_JOB_DONE);
}

static void recorded_failed(void *arg, int status, const struct sl_error *err)
{
	recorded(arg, status, err, SL_JOB_FAILED);
}

static void recorded_cancelled(void *arg, int status, const struct sl_error *err)
{
	recorded(arg, status, err, SL_JOB_CANCELLED);
}

static void record_end(struct sl_job *job, enum sl_job_state state)
{
	job->stage = SL_STAGE_SAVING;
	job->finished_ms = sl__wall_ms();
	if (sl__job_save(job, state, state == SL_JOB_DONE ? recorded_done :
			 state == SL_JOB_FAILED ? recorded_failed : recorded_cancelled)) {
		sl_log_error("jobs", "the end of %s could not be recorded: out of memory", job->id);
		ended(job, state);
	}
}

void sl__job_fail(struct sl_job *job, const struct sl_error *err)
{
	json_decref(job->problem);
	job->problem = sl_problem_json(err);
	sl_log_warning("jobs", "%s failed: %s", job->id, err->detail);
	record_end(job, SL_JOB_FAILED);
}

static void save_result(uv_work_t *work)
{
	struct saving *s = work->data;
	struct sl_job *job = s->job;  /* trace and id do not change while it is SAVING */
	s->code = sl_job_file_write_result(job->jobs->folder, job->id, s->layout->y, s->layout->n, s->layout->dims,
					   job->trace, job->trace_count, &s->err);
}

static void result_saved(uv_work_t *work, int status)
{
	struct saving *s = work->data;
	struct sl_job *job = s->job;
	struct sl_jobs *j = job->jobs;
	if (s->code)
		sl__job_fail(job, &s->err);
	else
		record_end(job, SL_JOB_DONE);
	sl_layout_unref(s->layout);
	free(s);
	sl__job_unref(job);
	sl__works_done(j);
}

/* layout: the last one, borrowed, or NULL. */
void sl__job_end(struct sl_job *job, enum sl_job_state state, struct sl_layout *layout)
{
	struct sl_jobs *j = job->jobs;
	job->stage = SL_STAGE_SAVING;
	if (layout) {
		sl_layout_unref(job->layout);
		job->layout = sl_layout_ref(layout);
		job->final = true;
		job->sequence++;
	}
	if (state != SL_JOB_DONE) {
		record_end(job, state);
		return;
	}
	struct saving *s = calloc(1, sizeof *s);
	struct sl_error err;
	if (!s) {
		sl_error_set(&err, SL_NOMEM, "Out of memory for saving the result.");
		sl__job_fail(job, &err);
		return;
	}
	s->work.data = s;
	s->job = sl__job_ref(job);
	s->layout = sl_layout_ref(layout);
	j->works++;
	if (uv_queue_work(j->d->loop, &s->work, save_result, result_saved)) {
		save_result(&s->work);
		result_saved(&s->work, 0);
	}
}

/* ---- files that are not needed any more ----------------------------------------------- */

struct removal {
	uv_work_t work;
	struct sl_jobs *jobs;
	char id[SL_ULID_BYTES];
	const char *const *kinds;
};

static void remove_files(uv_work_t *work)
{
	struct removal *r = work->data;
	sl_job_file_remove(r->jobs->folder, r->id, r->kinds);
}

static void files_removed(uv_work_t *work, int status)
{
	struct removal *r = work->data;
	struct sl_jobs *j = r->jobs;
	free(r);
	sl__works_done(j);
}

void sl__job_remove_files(struct sl_job *job, const char *const *kinds)
{
	struct removal *r = malloc(sizeof *r);
	if (!r)
		return;
	*r = (struct removal){.jobs = job->jobs, .kinds = kinds};
	memcpy(r->id, job->id, sizeof r->id);
	r->work.data = r;
	job->jobs->works++;
	if (uv_queue_work(job->jobs->d->loop, &r->work, remove_files, files_removed)) {
		remove_files(&r->work);
		files_removed(&r->work, 0);
	}
}

/* ---- checkpoints -------------------------------------------------------------------------- */

struct checkpointing {
	uv_work_t work;
	struct sl_job *job;  /* a reference */
	void *blob;
	uint64_t bytes;
	struct sl_status status;
	int code;
	struct sl_error err;
};

void sl__job_checkpoint(struct sl_job *job)
{
	if (job->checkpointing || job->stage != SL_STAGE_DEVICE)
		return;
	job->checkpointing = !sl_device_checkpoint(job->device->thread, job->key);
	job->checkpointed_ms = uv_now(job->jobs->d->loop);
}

static void write_checkpoint(uv_work_t *work)
{
	struct checkpointing *c = work->data;
	c->code = sl_job_file_write_checkpoint(c->job->jobs->folder, c->job->id, c->blob, c->bytes, &c->err);
}

static void checkpoint_written(uv_work_t *work, int status)
{
	struct checkpointing *c = work->data;
	struct sl_job *job = c->job;
	struct sl_jobs *j = job->jobs;
	job->checkpointing = job->writing_checkpoint = false;
	if (c->code) {
		sl_log_error("jobs", "no checkpoint of %s: %s", job->id, c->err.detail);
	} else if (sl__job_ended(job) || job->stage == SL_STAGE_SAVING) {
		if (!j->stopping)
			sl__job_remove_files(job, sl_job_file_transient);
	} else {
		job->has_checkpoint = true;
		job->checkpoint_iteration = c->status.iteration;
		job->checkpoint_seconds = c->status.seconds;
		sl__job_save(job, job->state, NULL);
	}
	free(c->blob);
	free(c);
	sl__job_unref(job);
	sl__works_done(j);
}

static void on_checkpoint(struct sl_job *job, struct sl_device_event *e)
{
	struct checkpointing *c = e->blob && job->stage == SL_STAGE_DEVICE ? calloc(1, sizeof *c) : NULL;
	if (!c) {
		job->checkpointing = false;
		if (e->err.code)
			sl_log_error("jobs", "no checkpoint of %s: %s", job->id, e->err.detail);
		sl__jobs_shutdown_step(job->jobs);
		return;
	}
	c->work.data = c;
	c->job = sl__job_ref(job);
	c->blob = e->blob;
	c->bytes = e->bytes;
	c->status = e->status;
	e->blob = NULL;
	job->writing_checkpoint = true;
	job->jobs->works++;
	if (uv_queue_work(job->jobs->d->loop, &c->work, write_checkpoint, checkpoint_written)) {
		write_checkpoint(&c->work);
		checkpoint_written(&c->work, 0);
	}
}

/* ---- what the device tells ------------------------------------------------------------------ */

static void take_status(struct sl_job *job, const struct sl_device_event *e)
{
	struct sl_jobs *j = job->jobs;
	struct sl_jobs_device *d = job->device;
	job->status = e->status;
	if ((uint64_t)e->status.iteration > job->recorded_iteration) {
		double iterations = (double)((uint64_t)e->status.iteration - job->recorded_iteration);
		sl_metric_add(j->metric_iterations, iterations);
		d->iterations += iterations;
		job->recorded_iteration = (uint64_t)e->status.iteration;
	}
	sl_metric_add(j->metric_slices, (double)e->slices);
	sl_metric_add(j->metric_slice_seconds, e->slice_seconds);
	d->slices += (double)e->slices;
	d->slice_seconds += e->slice_seconds;
}

/* New points at the end; `whole`: in place of all. */
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
			return;  /* a hole until the end, when the whole trace comes */
		job->trace = grown;
		job->trace_room = room;
	}
	memcpy(job->trace + job->trace_count, e->trace, (size_t)e->trace_count * sizeof *e->trace);
	job->trace_count = count;
}

/* Device memory was short while others had it: wait until they are through. */
static bool wait_for_memory(struct sl_job *job, const struct sl_device_event *e)
{
	struct sl_jobs *j = job->jobs;
	if (e->err.code != SL_DEVMEM || job->device->placed <= 1 || job->cancel || j->stopping)
		return false;
	sl__job_unplace(job);
	sl_log_info("jobs", "%s waits for device memory", job->id);
	job->stage = SL_STAGE_WAITING;
	sl__job_set_state(job, SL_JOB_QUEUED);
	sl_backlog_add(&job->engine->backlog, &job->waiting, job->priority, UINT64_MAX);  /* when nothing else runs there */
	return true;
}

/* The device failed under it: from the last checkpoint on when there is a device again. */
static void on_lost(struct sl_job *job, const struct sl_device_event *e)
{
	struct sl_jobs *j = job->jobs;
	bool writing = job->checkpointing && job->writing_checkpoint;
	sl__job_unplace(job);
	job->alone = job->alone || e->suspect;
	job->snapshotting = false;
	job->checkpointing = writing;  /* one that was asked for will not come */
	job->status.iteration = job->has_checkpoint ? job->checkpoint_iteration : 0;
	job->status.seconds = job->has_checkpoint ? job->checkpoint_seconds : 0;
	job->recorded_iteration = (uint64_t)job->status.iteration;
	sl_log_warning("jobs", "%s lost its device; it goes on from iteration %d", job->id, job->status.iteration);
	if (job->cancel) {
		sl__job_end(job, SL_JOB_CANCELLED, NULL);
	} else if (job->pause || j->stopping) {
		job->stage = SL_STAGE_HELD;
		if (job->pause)
			sl__job_set_state(job, SL_JOB_PAUSED);
	} else {
		sl__job_set_state(job, SL_JOB_QUEUED);
		job->stage = SL_STAGE_WAITING;
		sl_backlog_add(&job->engine->backlog, &job->waiting, job->priority, job->bytes);
	}
	sl__jobs_pump(j);
	sl__jobs_shutdown_step(j);
}

static void on_paused(struct sl_job *job)
{
	if (!job->pause)
		return;  /* resumed since */
	if (job->state != SL_JOB_PAUSED)
		sl__job_activate(job, -1);
	sl__job_set_state(job, SL_JOB_PAUSED);
	sl__job_save(job, SL_JOB_PAUSED, NULL);
	sl__job_checkpoint(job);
	sl__frames_pump(job);
	sl__jobs_pump(job->jobs);
}

static void on_ended(struct sl_job *job, struct sl_device_event *e, enum sl_job_state state)
{
	struct sl_jobs *j = job->jobs;
	take_status(job, e);
	take_trace(job, e, state == SL_JOB_DONE);
	sl__job_unplace(job);
	sl__job_end(job, state, e->layout);
	sl__jobs_pump(j);
}

static void on_job_event(struct sl_job *job, struct sl_device_event *e)
{
	switch (e->kind) {
	case SL_EVENT_STARTED:
		take_trace(job, e, true);
		if (e->err.code && job->has_checkpoint)
			sl__job_from_the_beginning(job, e->err.detail);
		job->preparation_s = (double)(uv_hrtime() - job->placed_ns) * 1e-9;
		sl__followers_notify(job, true);
		break;
	case SL_EVENT_PROGRESS:
		take_status(job, e);
		take_trace(job, e, false);
		sl__followers_notify(job, false);
		break;
	case SL_EVENT_PAUSED:
		take_status(job, e);
		take_trace(job, e, false);
		on_paused(job);
		break;
	case SL_EVENT_SNAPSHOT:
		sl__frames_snapshot(job, e->layout);
		break;
	case SL_EVENT_CHECKPOINT:
		on_checkpoint(job, e);
		break;
	case SL_EVENT_DONE:
		on_ended(job, e, SL_JOB_DONE);
		break;
	case SL_EVENT_CANCELLED:
		on_ended(job, e, SL_JOB_CANCELLED);
		break;
	case SL_EVENT_LOST:
		on_lost(job, e);
		break;
	case SL_EVENT_FAILED:
		if (!wait_for_memory(job, e)) {
			sl__job_unplace(job);
			sl__job_fail(job, &e->err);
			sl__jobs_pump(job->jobs);
		}
		break;
	default:
		break;
	}
}

static struct sl_job *by_key(struct sl_jobs *j, uint64_t key)
{
	struct sl_job *job = j->on_device;
	while (job && job->key != key)
		job = job->next_on_device;
	return job;
}

void sl__job_on_event(void *arg, struct sl_device_event *e)
{
	struct sl_jobs_device *d = arg;
	struct sl_jobs *j = d->jobs;
	SL_ON_LOOP(j->d);
	struct sl_job *job = e->job ? by_key(j, e->job) : NULL;
	if (job) {
		sl__job_ref(job);
		on_job_event(job, e);
		sl__job_unref(job);
	} else if (e->kind == SL_EVENT_GRAPH_DROPPED) {
		sl_affinity_returned(j->affinities, d->number, e->graph, e->adds);
	} else if (e->kind == SL_EVENT_STATE) {
		if (e->state)
			sl__device_state(d, e->state);
		if (e->asked)
			sl__device_told(d);
	} else if (e->kind == SL_EVENT_STOPPED) {
		sl__device_stopped(d, &e->err);
	}
	sl_device_event_destroy(e);
}
