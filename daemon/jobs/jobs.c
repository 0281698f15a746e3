/* All jobs of a server: loaded at the start, checked once a second, released at the end. */
#include "daemon/jobs/jobs.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/host_memory.h"
#include "core/meant.h"
#include "daemon/graphs/graphs.h"
#include "daemon/jobs/jobs_internal.h"
#include "daemon/layouts/layouts.h"
#include "daemon/slurm/slurm.h"
#include "daemon/store/db.h"
#include "daemon/files/job_files.h"
#include "daemon/store/sweep.h"
#include "daemon/upkeep/maintenance.h"
#include "daemon/util/crashes.h"
#include "daemon/util/log.h"

#define SHUTDOWN_MS 20000       /* time limit for checkpoints when the server stops */
#define HEARTBEAT_S 15
#define NEIGHBOURS_S 5          /* interval between attempts to store neighbours */
/* After a crash, the sequence numbers of a job's frames continue above all numbers that readers may have seen. */
#define SEQUENCE_GAP 1000000u

static void shutdown_step(struct sl_jobs *j);

/* The measurement that is first in line books its memory before other jobs do. */
static void pump(struct sl_jobs *j)
{
	if (!j->stopping)
		sl__measurements_pump(j);
	if (!j->stopping && !sl_maintenance_drains(j->d->maintenance))
		sl_queue_admit(&j->queue);
	sl_slurm_look(j->d->slurm);
}

/* ---- once a second ------------------------------------------------------------------ */

static void checkpoint_some(struct sl_jobs *j)
{
	double interval_ms = j->d->config.checkpoint_interval_s * 1e3;
	uint64_t now = uv_now(j->d->loop);
	if (!(interval_ms > 0))
		return;
	SL_LIST_EACH(struct sl_job, job, &j->on_device, run.on_device)
		if (job->life.state == SL_JOB_RUNNING && (double)(now - job->run.checkpointed_ms) >= interval_ms)
			sl__job_checkpoint(job, SL_CHECKPOINT_ON_DUE);
}

/* When a drain is due, running jobs leave their devices with the state of their runs, and wait for its end. */
static void save_for_maintenance(struct sl_jobs *j)
{
	if (!sl_maintenance_is_due(j->d->maintenance))
		return;
	j->saved = true;
	SL_LIST_EACH(struct sl_job, job, &j->on_device, run.on_device)
		if (job->life.stage == SL_STAGE_RUNNING && job->life.wish == SL_WISH_RUN && j->mover != job &&
		    uv_now(j->d->loop) >= job->run.stays_ms)
			sl__job_step(job, SL_ON_LEAVE);
}

/* The drain is over, or is due later: they wait in line again, as soon as their checkpoints are on the disk. */
static void resume_saved(struct sl_jobs *j)
{
	if (!j->saved || j->stopping || sl_maintenance_is_due(j->d->maintenance))
		return;
	j->saved = false;
	SL_LIST_EACH(struct sl_job, job, &j->unfinished, listed.unfinished) {
		if (job->life.stage == SL_STAGE_LEAVING || (job->life.stage == SL_STAGE_PARKED &&
							    job->run.checkpointing != SL_CHECKPOINT_IDLE))
			j->saved = true;  /* the next time */
		else if (job->life.stage == SL_STAGE_PARKED)
			sl__job_step(job, SL_ON_TAKE_UP);
	}
}

void sl_jobs_drain_changed(struct sl_jobs *j)
{
	save_for_maintenance(j);
	resume_saved(j);
	SL_LIST_EACH(struct sl_job, job, &j->unfinished, listed.unfinished)
		sl__job_changed(job);  /* `waiting` of its record */
	pump(j);
}

/* Counts the time of running jobs, and ends those that have reached their limit, with their present layouts. */
static void limit_times(struct sl_jobs *j)
{
	uint64_t now = uv_now(j->d->loop), since = j->ticked_ms ? now - j->ticked_ms : 0;
	j->ticked_ms = now;
	sl__allocated_account(j);
	SL_LIST_EACH(struct sl_job, job, &j->on_device, run.on_device) {
		const char *whose = "";
		if (job->life.state != SL_JOB_RUNNING)
			continue;
		sl__record_ran(&job->record, (double)since / 1e3);
		double limit_s = sl__job_time_limit(job, &whose);
		if (limit_s <= 0 || job->record.ran_s < limit_s || job->record.timed_out || !sl__job_step(job, SL_ON_FINISH))
			continue;
		sl__record_timed_out(&job->record);
		sl__record_note(&job->record, "It ended after running for %.10g s, the limit (%s); its present state is "
				"its result.", limit_s, whose);
		sl_log_info("jobs", "%s ends after running for %.10g s (%s)", job->record.id, limit_s, whose);
	}
}

static void on_tick(uv_timer_t *timer)
{
	struct sl_jobs *j = timer->data;
	if (j->stopping) {
		shutdown_step(j);
		return;
	}
	checkpoint_some(j);
	sl__jobs_save_again(j);
	sl_users_save_usage(j->d->users, false);
	limit_times(j);
	save_for_maintenance(j);
	resume_saved(j);
	pump(j);  /* a device may be due for another attempt, or memory may have become free */
	sl_engines_look(j->engines);
	sl__jobs_balance(j);
	if (j->ticks % NEIGHBOURS_S == 0)
		sl_graphs_store_again(j->d->graphs);
	if (++j->ticks % HEARTBEAT_S)
		return;
	sl__jobs_retain(j, NULL);
}

static void collect(void *arg)
{
	struct sl_jobs *j = arg;
	for (int i = 0; i < SL_JOB_STATES; i++)
		sl_metric_set(j->metric_state[i], j->count[i]);
}

static void register_metrics(struct sl_jobs *j)
{
	struct sl_metrics *m = j->d->metrics;
	for (int i = 0; i < SL_JOB_STATES; i++) {
		char labels[40];
		snprintf(labels, sizeof labels, "state=\"%s\"", sl_job_state_name[i]);
		j->metric_state[i] = sl_metrics_register(m, SL_GAUGE, "spaceland_jobs", labels, "Jobs by state.");
		if (i >= SL_JOB_DONE)
			j->metric_ended[i - SL_JOB_DONE] = sl_metrics_register(m, SL_COUNTER,
				"spaceland_jobs_ended_total", labels, "Jobs that ended since the start.");
	}
	j->metric_iterations = sl_metrics_register(m, SL_COUNTER, "spaceland_iterations_total", NULL,
						   "Iterations of all jobs.");
	j->metric_slices = sl_metrics_register(m, SL_COUNTER, "spaceland_slices_total", NULL,
					       "Slices that jobs have run.");
	j->metric_slice_seconds = sl_metrics_register(m, SL_COUNTER, "spaceland_slice_seconds_total", NULL,
						      "Total time of these slices.");
	j->metric_moves = sl_metrics_register(m, SL_COUNTER, "spaceland_job_moves_total", NULL,
					      "Moves of running jobs to another device of their engine.");
	j->metric_wait = sl_metrics_register(m, SL_HISTOGRAM, "spaceland_job_wait_seconds", NULL,
					     "From the submission of a job to its first start on a device.");
	j->metric_iterating = sl_metrics_register(m, SL_HISTOGRAM, SL_PHASE_SECONDS, "phase=\"iterations\"",
						  SL_PHASE_SECONDS_HELP);
	sl_metrics_on_collect(m, collect, j);
}

/* ---- life ---------------------------------------------------------------------------- */

/* Queues an unfinished job again; its progress is that of its checkpoint. */
static void take_up(struct sl_job *job)
{
	job->readers.watch.sequence += SEQUENCE_GAP;  /* the number of the last frame is not recorded while a job runs */
	if (!job->record.has_checkpoint) {
		sl__record_forget_run(&job->record);
	} else {
		sl__record_back_to(&job->record, job->record.checkpoint_iteration, job->record.checkpoint_seconds);
	}
	job->run.recorded_iteration = (uint64_t)job->record.status.iteration;
}

static int load_row(void *arg, const char *id, json_t *document)
{
	struct sl_job *job;
	struct sl_error err;
	int code = sl__job_from_document(arg, id, document, &job, &err);
	if (code == SL_NOMEM)
		return code;
	if (code) {
		sl_log_warning("jobs", "the record of job %s is not one of this version, and is left alone: %s", id,
			       err.detail);
		return SL_DB_PASSED_OVER;
	}
	sl__job_take_owner(job);
	if (!sl__job_ended(job)) {
		sl__job_take_up_engine(job);
		take_up(job);
	}
	sl__job_insert(job);
	return 0;
}

static void graph_deleted(void *arg, const char *id)
{
	struct sl_jobs *j = arg;
	sl_engines_graph_forget(j->engines, id);
}

static void on_room(void *arg)
{
	pump(arg);
}

static void on_engine_stopped(void *arg)
{
	shutdown_step(arg);
}

static void on_count(void *arg, const struct sl_server_device *d, int *running, int *queued)
{
	struct sl_jobs *j = arg;
	*running = *queued = 0;
	SL_LIST_EACH(const struct sl_job, job, &j->unfinished, listed.unfinished)
		if (job->life.state == SL_JOB_QUEUED)
			*queued += job->place.device ? job->place.device == d : job->place.engine == d->engine;
		else if (job->life.state == SL_JOB_RUNNING)
			*running += sl_stage_is_on_device(job->life.stage) && job->place.device == d;
}

/* The device retires: running jobs leave it with the state of their runs. */
static void on_leave(void *arg, struct sl_server_device *d)
{
	struct sl_jobs *j = arg;
	SL_LIST_EACH(struct sl_job, job, &j->on_device, run.on_device)
		if (job->place.device == d && job->life.stage == SL_STAGE_RUNNING && job->life.wish == SL_WISH_RUN &&
		    j->mover != job)
			sl__job_step(job, SL_ON_LEAVE);
}

static const struct sl_engines_listener listener = {
	.job_event = sl__jobs_on_device_event, .room = on_room, .gone = sl__jobs_on_engine_gone,
	.leave = on_leave, .stopped = on_engine_stopped, .count = on_count,
};

/* Removes the checkpoint of an ended job, which a kill has left. An initial layout is written before the job's record:
 * without a record the job was never acknowledged, unless records were lost. */
static enum sl_fate fate(void *arg, const char *id, const char *kind)
{
	struct sl_jobs *j = arg;
	const struct sl_job *job = sl__job_find(j, id);
	if (job)
		return sl__job_ended(job) && sl_word_in(sl_job_file_transient, kind) ? SL_FATE_DELETED : SL_FATE_KEPT;
	if ((!strcmp(kind, "initial") || !strcmp(kind, "start")) && !sl_db_has_lost_records(j->d->db))
		return SL_FATE_DELETED;
	return sl_db_was_removed(j->d->db, id) ? SL_FATE_DELETED : SL_FATE_LOST;
}

static bool is_there(void *arg, const char *id)
{
	struct sl_jobs *j = arg;
	return sl__job_find(j, id) || sl_graphs_find(j->d->graphs, id) || sl_batches_have(j, id) ||
	       sl_layouts_find(j->d->layouts, id);
}

static int open_parts(struct sl_jobs *j, struct sl_error *err)
{
	const struct sl_config *c = &j->d->config;
	j->queue.memory_bytes = sl_host_memory() / 4 * 3;
	j->fair_queue.budget = sl_host_memory() / 2;
	if (asprintf(&j->folder, "%s/jobs", j->d->state_dir) < 0) {
		j->folder = NULL;
		return sl_error_memory(err, "the start");
	}
	if (mkdir(j->folder, 0750) && errno != EEXIST)
		return sl_error_set(err, SL_IO, "Cannot make the folder %s: %s.", j->folder, strerror(errno));
	sl__retention_start(j);
	int code = sl_watches_create(&j->watches, j->d->loop, c, j->d->users, j->d->metrics, &sl__watches_ops, j, err);
	if (!code)
		code = sl_engines_create(&j->engines, j->d, &listener, j, err);
	j->d->engines = j->queue.engines = j->engines;
	if (!code && c->device_memory_bytes > 0 && !strcmp(j->engines->preferred->name, "cpu"))
		j->queue.memory_bytes = (uint64_t)c->device_memory_bytes;
	if (!code)
		code = sl_db_load(j->d->db, SL_DB_JOBS, load_row, j, err);
	int batches = code < 0 ? code : sl_db_load(j->d->db, SL_DB_BATCHES, sl__batch_load, j, err);
	if (batches < 0)
		return batches;
	if (code == 0)
		sl__batches_sweep(j);
	if (code == 0 && batches == 0 && sl_graphs_complete(j->d->graphs))
		sl_users_sweep(j->d->users, is_there, j);
	if (code == 0)
		sl_sweep(j->d->state_dir, "jobs", sl_job_file_kinds(), fate, j);
	return code < 0 ? code : 0;
}

/* Also true for graphs: a search of neighbours may crash, too. */
static bool is_unfinished(void *arg, const char *id)
{
	struct sl_jobs *j = arg;
	const struct sl_job *job = sl__job_find(j, id);
	return job ? !sl__job_ended(job) : sl_graphs_find(j->d->graphs, id) != NULL;
}

/* A job that was computed when the server crashed is resumed alone, so that a second crash shows whether it is the one
 * at fault. After SL_CRASHES_LIMIT crashes it fails instead: then returns true. */
static bool has_crashed_again(struct sl_job *job)
{
	int number, crashes = sl_crashes_of(job->record.id, &number);
	struct sl_error err;
	job->run.alone = crashes > 0;
	if (crashes >= SL_CRASHES_LIMIT) {
		sl_error_set(&err, SL_INTERNAL, "The server crashed twice while it computed this job (signal %d, %s). "
			     "Please report this; submit the job again to try again.", number, strsignal(number));
		sl__job_fail(job, &err);
		return true;
	}
	if (crashes)
		sl_log_warning("jobs", "the server crashed while it computed %s (signal %d); the job is resumed, but not "
			       "after a second crash", job->record.id, number);
	return false;
}

static void start_timers(struct sl_jobs *j)
{
	double period_ms = j->d->config.checkpoint_interval_s * 1e3;
	uint64_t tick_ms = period_ms > 0 && period_ms < 1000 ? (uint64_t)fmax(period_ms, 50) : 1000;
	uv_timer_init(j->d->loop, &j->tick);
	j->tick.data = j;
	uv_timer_start(&j->tick, on_tick, tick_ms, tick_ms);
}

int sl_jobs_create(struct sl_jobs **out, struct sl_daemon *d, struct sl_error *err)
{
	struct sl_jobs *j = calloc(1, sizeof *j);
	if (!j)
		return sl_error_memory(err, "the start");
	j->d = d;
	j->queue = (struct sl_queue){.d = d, .start = sl__place_start, .lasts = sl__place_lasts,
				     .may_move = sl__place_may_move, .move = sl__place_move};
	j->worked = shutdown_step;
	j->pump = pump;
	int code = open_parts(j, err);
	if (!code)
		code = sl__allocated_create(j, err);
	if (code) {
		sl_watches_close(j->watches, NULL, NULL);
		sl_jobs_destroy(j);
		return code;
	}
	register_metrics(j);
	sl__jobs_be_followed(j);
	sl_graphs_on_delete(d->graphs, graph_deleted, j);
	sl_graphs_on_disk_use(d->graphs, sl__limits_disk_bytes, j);
	sl_graphs_on_search(d->graphs, sl__jobs_on_search, j);
	struct sl_graphs_computers by;
	sl_engines_computers(j->engines, &by);
	sl_graphs_compute_by(d->graphs, &by);
	start_timers(j);
	*out = j;
	sl_jobs_look_at_retention(j);
	if (sl_db_is_read_only(d->db))
		return 0;
	sl_crashes_keep(is_unfinished, j);
	SL_LIST_EACH(struct sl_job, job, &j->unfinished, listed.unfinished) {
		if (!has_crashed_again(job))
			sl__job_step(job, SL_ON_TAKE_UP);
	}
	return 0;
}

/* Ends the callbacks of graphs. Searches continue until the graphs are closed, which is later. */
static void leave_graphs(struct sl_graphs *s)
{
	sl_graphs_on_delete(s, NULL, NULL);
	sl_graphs_on_disk_use(s, NULL, NULL);
	sl_graphs_on_search(s, NULL, NULL);
	sl_graphs_compute_by(s, NULL);
}

void sl_jobs_destroy(struct sl_jobs *j)
{
	if (!j)
		return;
	if (j->d->graphs)
		leave_graphs(j->d->graphs);
	SL_LIST_EACH_BACK(struct sl_job, job, &j->all, listed.all) {
		sl_list_unlink(&job->listed.all);
		if (!sl__job_ended(job))
			sl_graphs_unuse(j->d->graphs, job->record.graph);
		sl__job_unref(job);
	}
	sl_shares_finish(&j->queue);
	sl_fair_finish(&j->fair_queue.users);
	sl__batches_destroy(j);
	sl_engines_destroy(j->engines);
	j->d->engines = NULL;
	sl_slurm_destroy(j->d->slurm);
	j->d->slurm = NULL;
	sl_watches_destroy(j->watches);
	free(j->folder);
	free(j);
}

/* ---- the end ------------------------------------------------------------------------- */

static void part_closed(struct sl_jobs *j)
{
	if (--j->closing == 0)
		j->done(j->done_arg);
}

static void part_closed_arg(void *arg)
{
	part_closed(arg);
}

static void timer_closed(uv_handle_t *handle)
{
	part_closed(handle->data);
}

static void close_all(struct sl_jobs *j)
{
	sl_users_save_usage(j->d->users, true);
	j->closes = true;
	j->closing = 2 + (j->d->slurm != NULL);
	if (j->d->slurm)
		sl_slurm_stop(j->d->slurm, part_closed_arg, j);
	uv_close((uv_handle_t *)&j->tick, timer_closed);
	j->closing += sl_engines_close(j->engines, part_closed_arg, j);
	sl_watches_close(j->watches, part_closed_arg, j);
}

bool sl_jobs_idle(const struct sl_jobs *j)
{
	return !j->works && !sl_affinity_cache_busy(j->engines->affinities);
}

static void shutdown_step(struct sl_jobs *j)
{
	if (!j->stopping || j->closes)
		return;
	if (sl_engines_stopped(j->engines)) {
		SL_LIST_EACH(struct sl_job, job, &j->on_device, run.on_device)
			sl__job_release_input(job);
		if (sl_jobs_idle(j))
			close_all(j);
		return;
	}
	bool late = uv_now(j->d->loop) >= j->stop_deadline_ms;
	SL_LIST_EACH(struct sl_job, job, &j->on_device, run.on_device)
		if (job->run.checkpointing != SL_CHECKPOINT_IDLE && !late)
			return;
	sl_engines_stop(j->engines);
}

void sl_jobs_shutdown(struct sl_jobs *j, void (*done)(void *arg), void *arg)
{
	j->stopping = true;
	j->done = done;
	j->done_arg = arg;
	sl_watches_quiesce(j->watches);
	j->stop_deadline_ms = uv_now(j->d->loop) + SHUTDOWN_MS;
	sl__rows_cancel(j);
	sl__measurements_cancel(j, NULL);
	sl__jobs_forget_unsaved(j);
	sl_users_save_usage(j->d->users, true);
	SL_LIST_EACH(struct sl_job, job, &j->on_device, run.on_device)
		sl__job_checkpoint(job, SL_CHECKPOINT_ON_NEWER);
	shutdown_step(j);
}

const char *sl_jobs_stream_endpoint(const struct sl_jobs *j)
{
	return sl_watches_endpoint(j->watches);
}

json_t *sl_jobs_stream_key(struct sl_jobs *j, const struct sl_principal *who)
{
	return sl_watches_key(j->watches, who);
}

json_t *sl_jobs_counts(const struct sl_jobs *j)
{
	json_t *object = json_object();
	for (int i = 0; i < SL_JOB_STATES; i++)
		json_object_set_new(object, sl_job_state_name[i], json_integer(j->count[i]));
	return object;
}
