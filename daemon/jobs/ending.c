/* The end of a job: its result is written, its end recorded, and then told. Loop thread. */
#include <stdlib.h>
#include <string.h>

#include "daemon/jobs/jobs_internal.h"
#include "daemon/store/db.h"
#include "daemon/store/job_files.h"
#include "daemon/util/log.h"
#include "daemon/util/pool.h"
#include "daemon/util/problem.h"

struct saving {
	struct sl_job *job;         /* a reference */
	struct sl_layout *layout;   /* a reference, or NULL */
	enum sl_job_state state;
	char *record;               /* for the seal of the result */
	int code;
	struct sl_error err;
};

/* What is in the record is what is told. The last layout goes to those who watch. */
static void ended(struct sl_job *job, enum sl_job_state state)
{
	struct sl_jobs *j = job->jobs;
	sl__job_set_state(job, state);
	sl_watch_pump(&job->watch);
	free(job->trace);  /* from now on it is read from the file */
	job->trace = NULL;
	job->trace_count = job->trace_room = 0;
	if (job->has_checkpoint || job->has_initial || job->checkpointing)
		sl__job_remove_files(job, sl_job_file_transient);
	const struct sl_graph_record *g = sl_graphs_find(j->d->graphs, job->graph);
	if (g)
		sl_server_engine_learn(job->engine, &job->params, job->nodes, sl__job_entries(&job->params, g),
				       job->status.iteration, job->status.seconds);
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
	if (state != SL_JOB_DONE)
		sl_watch_end(&job->watch, NULL);  /* before the record, which has the number of the last frame */
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

static void save_result(void *arg)
{
	struct saving *s = arg;
	struct sl_job *job = s->job;  /* trace and id do not change while it is SAVING */
	s->code = sl_job_file_write_result(job->jobs->folder, job->id, s->layout->y, s->layout->n, s->layout->dims,
					   job->trace, job->trace_count, s->record, &s->err);
}

static void result_saved(void *arg)
{
	struct saving *s = arg;
	struct sl_job *job = s->job;
	struct sl_jobs *j = job->jobs;
	if (s->code)
		sl__job_fail(job, &s->err);
	else
		record_end(job, SL_JOB_DONE);
	sl_layout_unref(s->layout);
	free(s->record);
	free(s);
	sl__job_unref(job);
	sl__works_done(j);
}

/* layout: the last one, borrowed, or NULL. */
void sl__job_end(struct sl_job *job, enum sl_job_state state, struct sl_layout *layout)
{
	struct sl_jobs *j = job->jobs;
	job->stage = SL_STAGE_SAVING;
	if (state == SL_JOB_DONE)
		sl_watch_end(&job->watch, layout);
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
	s->job = sl__job_ref(job);
	s->layout = sl_layout_ref(layout);
	job->finished_ms = sl__wall_ms();
	s->record = sl__job_record(job, SL_JOB_DONE, NULL);
	j->works++;
	sl_pool_run(j->d->loop, save_result, result_saved, s);
}

/* ---- files that are not needed any more ----------------------------------------------- */

struct removal {
	struct sl_jobs *jobs;
	char id[SL_ULID_BYTES];
	const char *const *kinds;
};

static void remove_files(void *arg)
{
	struct removal *r = arg;
	sl_job_file_remove(r->jobs->folder, r->id, r->kinds);
}

static void files_removed(void *arg)
{
	struct removal *r = arg;
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
	job->jobs->works++;
	sl_pool_run(job->jobs->d->loop, remove_files, files_removed, r);
}
