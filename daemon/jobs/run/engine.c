/* Chooses the engine of a job, also after a restart without the job's former engine. Loop thread.
 *
 * A checkpoint of t-SNE belongs to an engine: a job that moves to another engine starts again, and its notes say so.
 * The states of other methods do not depend on the engine (core/method/method.h): these jobs continue. */
#include <string.h>

#include "daemon/jobs/jobs_internal.h"
#include "daemon/util/log.h"

void sl__job_from_the_beginning(struct sl_job *job, const char *why)
{
	static const char *const kinds[] = {"checkpoint", NULL};
	int saved = job->run.carried ? job->run.carried_status.iteration : job->record.checkpoint_iteration;
	sl_log_warning("jobs", "%s starts again: %s", job->record.id, why);
	sl__record_note(&job->record, "The job started again from the beginning, not from iteration %d where it had been "
			"saved: %s", saved, why);
	sl__job_drop_carried(job);
	sl__record_no_checkpoint(&job->record);
	sl__record_back_to(&job->record, 0, 0);
	job->run.recorded_iteration = 0;
	sl__job_remove_files(job, kinds);
}

/* This engine, or that of the CPU if this one does not compute the job. */
static struct sl_server_engine *that_computes(const struct sl_job *job, struct sl_server_engine *e)
{
	const struct sl_work *w = &job->record.work;
	bool computes = !e->functions || w->origin == SL_OF_AFFINITIES || sl__work_helped(w, e);
	return computes ? e : sl_engines_find(job->jobs->engines, "cpu");
}

/* Moves the job to the default engine. */
static void move(struct sl_job *job, const struct sl_server_engine *from, const char *why)
{
	struct sl_server_engine *to = that_computes(job, job->jobs->engines->preferred);
	char text[400];
	sl__job_set_engine(job, job->record.requested, to);
	bool same = from->functions == to->functions;  /* engine slurm with the same one: its state is the engine's own */
	if (job->record.has_checkpoint && job->record.work.method->settings && !same) {
		snprintf(text, sizeof text, "it ran on engine %s, which is not usable now (%.250s); %s computes it.",
			 from->name, why, to->name);
		sl__job_from_the_beginning(job, text);
	} else if (strcmp(job->record.requested, SL_ENGINE_AUTO)) {
		sl__record_note(&job->record, "Engine %s, which was asked for, is not usable (%.250s); %s computes the job.",
			     from->name, why, to->name);
	}
}

void sl__job_take_up_engine(struct sl_job *job)
{
	struct sl_jobs *j = job->jobs;
	const struct sl_job_record *r = &job->record;
	struct sl_server_engine *asked = sl_engines_find(j->engines, r->requested), *e = that_computes(job, asked);
	struct sl_server_engine *ran = r->has_checkpoint ? sl_engines_of_device(j->engines, r->device_id) : NULL;
	if (ran && !strcmp(r->requested, SL_ENGINE_AUTO))
		e = that_computes(job, ran);  /* there it can continue */
	const struct sl_error *problem = e->offered ? sl_server_engine_problem(e) : NULL;
	job->place.engine = e;
	if (!e->offered)
		move(job, e, "the server's configuration does not offer it");
	else if (problem)
		move(job, e, problem->detail);
	else if (!r->has_checkpoint || e != ran)
		sl__job_set_engine(job, r->requested, e);
	if (e != asked && !strcmp(r->requested, asked->name))
		sl__record_note(&job->record, "Engine %s, which was asked for, does not compute this job any more; %s does.",
				asked->name, job->place.engine->name);
}

/* Gives the job another engine if it has been computed before; otherwise fails it. */
static void engine_gone(struct sl_job *job, const struct sl_error *why)
{
	struct sl_error err;
	struct sl_server_engine *from = job->place.engine;
	bool any = job->record.started_ms || !strcmp(job->record.requested, SL_ENGINE_AUTO);
	if (from != job->jobs->engines->preferred && any) {
		move(job, from, why->detail);
		sl__job_step(job, SL_ON_ENGINE_GONE);
		return;
	}
	sl_error_field(&err, SL_NODEVICE, "/engine", "Engine %s is not usable: %.600s", from->name, why->detail);
	sl__job_fail(job, &err);
}

void sl__jobs_on_engine_gone(void *arg, struct sl_server_engine *e, const struct sl_error *why)
{
	for (int small = 0; small < 2; small++)
		for (struct sl_waiting *w; (w = sl_backlog_head(&e->line[small]));) {
			struct sl_job *job = sl__job_of_waiting(w);
			sl__job_leave_line(job);
			engine_gone(job, why);
		}
}
