/* Which engine computes a job, and what becomes of it when that engine is not there any more. Loop thread.
 *
 * A checkpoint is an engine's own: a job that goes to another one begins again, and says so in its notes. */
#include <string.h>

#include "daemon/jobs/jobs_internal.h"
#include "daemon/store/job_files.h"
#include "daemon/util/log.h"

const char *const sl__engine_words[] = {SL__AUTO, "cuda", "hybrid", "hybrid-double", "cpu", NULL};

const char *sl__engine_word(const char *text)
{
	for (const char *const *w = sl__engine_words; text && *w; w++)
		if (!strcmp(*w, text))
			return *w;
	return NULL;
}

void sl__job_set_engine(struct sl_job *job, const char *asked, struct sl_jobs_engine *engine)
{
	job->asked = asked;
	job->engine = engine;
	if (engine->devices)
		memcpy(job->device_id, engine->device[0].id, sizeof job->device_id);
}

void sl__job_from_the_beginning(struct sl_job *job, const char *why)
{
	static const char *const kinds[] = {"checkpoint", NULL};
	sl_log_warning("jobs", "%s starts again: %s", job->id, why);
	sl__job_note(job, "The job started again from the beginning, not from iteration %d where it had been saved: %s",
		     job->checkpoint_iteration, why);
	job->has_checkpoint = false;
	job->checkpoint_iteration = 0;
	job->checkpoint_seconds = 0;
	job->status.iteration = 0;
	job->status.seconds = 0;
	job->recorded_iteration = 0;
	sl__job_remove_files(job, kinds);
}

/* To the engine that jobs get when they do not say otherwise. */
static void move(struct sl_job *job, const struct sl_jobs_engine *from, const char *why)
{
	struct sl_jobs_engine *to = job->jobs->preferred;
	char text[400];
	sl__job_set_engine(job, job->asked, to);
	if (job->has_checkpoint) {
		snprintf(text, sizeof text, "it ran on engine %s, which is not usable now (%.250s); %s computes it.",
			 from->name, why, to->name);
		sl__job_from_the_beginning(job, text);
	} else if (strcmp(job->asked, SL__AUTO)) {
		sl__job_note(job, "Engine %s, which was asked for, is not usable (%.250s); %s computes the job.",
			     from->name, why, to->name);
	}
}

void sl__job_take_up_engine(struct sl_job *job)
{
	struct sl_jobs *j = job->jobs;
	struct sl_jobs_engine *e = sl__engine_find(j, job->asked);
	struct sl_jobs_engine *ran = job->has_checkpoint ? sl__engine_of_device(j, job->device_id) : NULL;
	if (ran && !strcmp(job->asked, SL__AUTO))
		e = ran;  /* where it can go on */
	const struct sl_error *problem = e->offered ? sl__engine_problem(e) : NULL;
	job->engine = e;
	if (!e->offered)
		move(job, e, "the server's configuration does not offer it");
	else if (problem)
		move(job, e, problem->detail);
	else if (!job->has_checkpoint)
		sl__job_set_engine(job, job->asked, e);
}

void sl__job_engine_gone(struct sl_job *job, const struct sl_error *why)
{
	struct sl_error err;
	struct sl_jobs_engine *from = job->engine;
	if (from != job->jobs->preferred && (job->started_ms || !strcmp(job->asked, SL__AUTO))) {
		move(job, from, why->detail);
		sl__job_enqueue(job);
		return;
	}
	sl_error_field(&err, SL_NODEVICE, "/engine", "Engine %s is not usable: %.600s", from->name, why->detail);
	sl__job_fail(job, &err);
}
