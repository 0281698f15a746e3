/* The owners of jobs and batches. The record of the rights (users/access.c) decides; the job's own follows it, also at
 * the next start, if the server is killed in between. Loop thread. */
#include <string.h>

#include "daemon/jobs/jobs_internal.h"

const char *sl__owner_of(const struct sl_jobs *j, const char *id, const char *now)
{
	const struct sl_users *u = j->d->users;
	return !sl_users_owners(u, id) || sl_users_owns(u, now, id) ? now : sl_users_owner(u, id, 0);
}

/* The place of a job counts for its user. */
static bool set_user(struct sl_job *job, const char *user)
{
	struct sl_queue *q = &job->jobs->queue;
	if (!strcmp(job->record.user, user))
		return false;
	if (job->place.device)
		sl_share_take(q, &job->place, -1);
	sl__record_user(&job->record, user);
	if (job->place.device)
		sl_share_take(q, &job->place, 1);
	return true;
}

void sl__job_take_owner(struct sl_job *job)
{
	set_user(job, sl__owner_of(job->jobs, job->record.id, job->record.user));
	sl_users_expect(job->jobs->d->users, job->record.user);
}

void sl_jobs_owner_changed(struct sl_jobs *j, const char *id)
{
	struct sl_job *job = sl__job_find(j, id);
	if (job && set_user(job, sl__owner_of(j, id, job->record.user))) {
		sl__job_ref(job);
		sl__job_step(job, SL_ON_CHANGE);
		sl__job_changed(job);
		sl__job_unref(job);
	}
	sl__batch_owner_changed(j, id);
}

bool sl_job_cancel(struct sl_jobs *j, const char *id)
{
	struct sl_job *job = sl__job_find(j, id);
	bool goes_on = job && !sl__job_ended(job);
	if (!goes_on)
		return false;
	sl__job_ref(job);
	sl__job_step(job, SL_ON_CANCEL);
	sl__job_unref(job);
	return true;
}
