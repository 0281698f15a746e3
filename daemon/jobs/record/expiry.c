/* How long a job may be running; when one that has ended is deleted because of its age, and what spares it. Loop
 * thread. */
#include "daemon/jobs/jobs_internal.h"
#include "daemon/users/links.h"

double sl__job_time_limit(const struct sl_job *job, const char **whose)
{
	const double limits[] = {job->record.time_limit, sl_project_job_seconds(job->jobs->d->users, job->record.project),
				 job->jobs->d->config.max_job_seconds};
	static const char *const names[] = {"time_limit of the job", "job_seconds of its project",
					    "max_job_seconds of the server"};
	double least = 0;
	for (int i = 0; i < 3; i++)
		if (limits[i] > 0 && (least <= 0 || limits[i] < least)) {
			least = limits[i];
			if (whose)
				*whose = names[i];
		}
	return least;
}

bool sl__job_is_kept(const struct sl_job *job)
{
	return job->record.keep || sl_project_keeps(job->jobs->d->users, job->record.project);
}

bool sl__job_is_protected(const struct sl_job *job)
{
	return sl__job_is_kept(job) || sl_users_linked_until(job->jobs->d->users, job->record.id) > 0;
}

double sl__job_expires_by(const struct sl_job *job, const struct sl__retention_rule *rule)
{
	double end_ms = (double)job->record.finished_ms + rule->seconds * 1e3;
	double linked_ms = (double)sl_users_linked_until(job->jobs->d->users, job->record.id);
	return end_ms > linked_ms ? end_ms : linked_ms;
}

uint64_t sl__job_expires_ms(const struct sl_job *job)
{
	const struct sl__retention_rule *rule = &job->jobs->retention.rule;
	return !sl__job_ended(job) || rule->seconds <= 0 || sl__job_is_kept(job) ? 0 :
	       (uint64_t)sl__job_expires_by(job, rule);
}
