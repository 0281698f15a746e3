/* Jobs of engine slurm, whose devices are workers in allocations of a cluster (slurm/slurm.h): which of them need
 * one, in which one they run, and what happens to them when it ends. Loop thread. */
#include <string.h>

#include "daemon/jobs/jobs_internal.h"
#include "daemon/slurm/slurm.h"
#include "daemon/users/accounting.h"
#include "daemon/util/log.h"

#define NOTES 10   /* losses of a job that are noted in its record */

static struct sl_server_engine *engine_of(const struct sl_jobs *j)
{
	return sl_engines_find(j->engines, SL_ENGINE_SLURM);
}

/* ---- which jobs need an allocation ---------------------------------------------------------- */

static void describe(const struct sl_job *job, struct sl_slurm_need *out)
{
	const struct sl_users *u = job->jobs->d->users;
	const char *user = sl_users_name(u, job->record.user), *project = sl_project_name(u, job->record.project);
	*out = (struct sl_slurm_need){.bytes = job->place.away_bytes};
	memcpy(out->job, job->record.id, sizeof out->job);
	snprintf(out->user, sizeof out->user, "%s", user ? user : "");
	snprintf(out->project, sizeof out->project, "%s", project ? project : "");
}

static int needs(void *arg, struct sl_slurm_need *out, int most, int *large, int *small)
{
	struct sl_jobs *j = arg;
	const struct sl_server_engine *e = engine_of(j);
	int count[2] = {0, 0}, filled = 0;
	for (int is_small = 0; is_small < 2; is_small++) {
		SL_LIST_EACH(struct sl_waiting, w, &e->line[is_small].waiting, link) {
			const struct sl_place *p = sl_place_of_waiting(w);
			struct sl_limit_hit hit;
			if (sl_queue_holds(&j->queue, p, &hit))
				continue;
			if (filled < most)
				describe(sl__job_of_waiting(w), &out[filled++]);
			count[is_small]++;
		}
		for (int i = 0; i < e->devices; i++)
			count[is_small] += e->device[i].active[is_small];
	}
	*large = count[0];
	*small = count[1];
	return filled;
}

/* ---- what happens to their allocations --------------------------------------------------------- */

/* Cancels the jobs that ran in it, or the one that waited for it. */
static void cancelled(void *arg, uint64_t slurm_job, const char *id, const char *why)
{
	struct sl_jobs *j = arg;
	SL_LIST_EACH(struct sl_job, job, &j->unfinished, listed.unfinished) {
		bool concerned = id[0] ? !strcmp(job->record.id, id) && job->life.stage == SL_STAGE_WAITING :
					 job->run.left_slurm == slurm_job ||
						 (job->record.slurm_job == slurm_job && !sl_stage_has_place(job->life.stage));
		if (!concerned || !slurm_job)
			continue;
		sl_log_info("jobs", "%s is cancelled with job %llu of Slurm: %s", job->record.id,
			    (unsigned long long)slurm_job, why);
		sl__record_note(&job->record, "It is cancelled, since its allocation, job %llu of Slurm, ended: %s.",
				(unsigned long long)slurm_job, why);
		sl__job_ref(job);
		sl__job_step(job, SL_ON_CANCEL);
		sl__job_unref(job);
	}
}

static const struct sl_slurm_listener listener = {.needs = needs, .cancelled = cancelled};

int sl__allocated_create(struct sl_jobs *j, struct sl_error *err)
{
	return engine_of(j)->functions ? sl_slurm_create(&j->d->slurm, j->d, &listener, j, err) : 0;
}

/* ---- the time of allocations ------------------------------------------------------------------- */

static struct sl_job *job_of(const struct sl_place *p)
{
	return SL_LIST_ITEM(struct sl_job, (struct sl_link *)&p->placed, place.placed);
}

static void charge(struct sl_job *job, int together)
{
	struct sl_jobs *j = job->jobs;
	const struct sl_job_record *r = &job->record;
	uint64_t now = uv_now(j->d->loop);
	double seconds = (double)(now - job->run.charged_ms) * 1e-3 / together;
	job->run.charged_ms = now;
	sl__record_allocated(&job->record, seconds);
	sl_accounting_allocation(j->d->users, r->user, r->project, seconds, r->slurm_gpus);
	sl_slurm_charged(j->d->slurm, job->place.device, seconds);
}

/* The time since the last call: jobs that have a place on the device share it evenly. So it is called before a job
 * comes or goes. */
static void charge_all(struct sl_jobs *j, const struct sl_server_device *d)
{
	int together = 0;
	if (!d || !d->remote || !j->d->slurm)
		return;
	SL_LIST_EACH(struct sl_place, p, &j->queue.places, placed)
		together += p->device == d && job_of(p)->run.charged_ms;
	SL_LIST_EACH(struct sl_place, p, &j->queue.places, placed)
		if (p->device == d && job_of(p)->run.charged_ms)
			charge(job_of(p), together);
}

void sl__allocated_placed(struct sl_job *job)
{
	struct sl_slurm_facts facts;
	charge_all(job->jobs, job->place.device);
	job->run.charged_ms = 0;
	if (!sl_slurm_facts(job->jobs->d->slurm, job->place.device, &facts))
		return;
	job->run.charged_ms = uv_now(job->jobs->d->loop);
	sl__record_allocation(&job->record, facts.job, facts.node, facts.gpus);
}

void sl__allocated_gives_place(struct sl_job *job)
{
	charge_all(job->jobs, job->place.device);
	job->run.charged_ms = 0;
}

void sl__allocated_account(struct sl_jobs *j)
{
	const struct sl_server_engine *e = engine_of(j);
	for (int i = 0; i < e->devices; i++)
		charge_all(j, &e->device[i]);
}

/* ---- jobs that lose it --------------------------------------------------------------------------- */

void sl__allocated_started(struct sl_job *job)
{
	job->run.left_slurm = 0;
	sl__allocated_placed(job);
}

void sl__allocated_left(struct sl_job *job)
{
	if (job->place.engine == engine_of(job->jobs))
		job->run.left_slurm = job->record.slurm_job;
}

bool sl__allocated_lost(struct sl_job *job, const struct sl_error *why)
{
	struct sl_error err;
	const struct sl_job_record *r = &job->record;
	int most = (int)job->jobs->d->config.slurm_max_losses;
	if (!job->place.device->remote || job->place.engine != engine_of(job->jobs))
		return false;
	sl__record_lost_worker(&job->record);
	if (r->losses <= NOTES)
		sl__record_note(&job->record, "At iteration %d the job lost its worker (job %llu of Slurm on %s): %.300s",
				r->status.iteration, (unsigned long long)r->slurm_job, r->slurm_node, why->detail);
	if (r->losses < most)
		return false;
	sl_error_set(&err, SL_DEVLOST, "The job lost its worker %d times without getting further (slurm_max_losses); its "
		     "notes have the reasons. The last one: %.300s", r->losses, why->detail);
	sl__job_fail(job, &err);
	return true;
}
