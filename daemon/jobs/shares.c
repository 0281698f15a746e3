/* Fair shares among users. While jobs run, the device's scheduler shares its time between their users, slice by slice
 * (scheduler.h). Here is the memory of it, by which the next large job of a line is chosen: that of the user
 * who has had the least device time, of which half is forgotten after share_half_life_s. Priorities count among
 * the jobs of one user. A user has at most SHARE_MOST of a device's places for large jobs, so that the next one
 * finds one free. Where no tokens are asked for, all jobs are of one user, and this file changes nothing. Loop
 * thread. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/jobs/jobs_internal.h"

#define SHARE_MOST (SL_PLACES_LARGE * 3 / 4)

struct sl_share {
	struct sl_link link;      /* in sl_jobs.shares */
	char user[SL_ULID_BYTES];
	double used_s;            /* of device time, as of updated_ms */
	uint64_t updated_ms;      /* loop time */
	int places;               /* that large jobs of the user have now */
	int running;              /* places of all jobs */
	uint64_t device_bytes;    /* that these take */
};

static struct sl_share *share_of(struct sl_jobs *j, const char *user)
{
	SL_LIST_EACH(struct sl_share, s, &j->shares, link)
		if (!strcmp(s->user, user))
			return s;
	struct sl_share *s = calloc(1, sizeof *s);
	if (!s)
		return NULL;
	memcpy(s->user, user, sizeof s->user);
	s->updated_ms = uv_now(j->d->loop);
	sl_list_append(&j->shares, &s->link);
	return s;
}

static double used_now(struct sl_jobs *j, struct sl_share *s)
{
	uint64_t now = uv_now(j->d->loop);
	s->used_s *= exp2(-(double)(now - s->updated_ms) * 1e-3 / j->d->config.share_half_life_s);
	s->updated_ms = now;
	return s->used_s;
}

void sl__share_charge(struct sl_job *job, double seconds)
{
	struct sl_share *s = share_of(job->jobs, job->user);
	sl_users_charge(job->jobs->d->users, job->user, seconds);
	if (s)
		s->used_s = used_now(job->jobs, s) + seconds;
}

void sl__shares_destroy(struct sl_jobs *j)
{
	SL_LIST_EACH(struct sl_share, s, &j->shares, link) {
		sl_list_unlink(&s->link);
		free(s);
	}
}

void sl__share_place(struct sl_job *job, int by)
{
	struct sl_share *s = share_of(job->jobs, job->user);
	if (by > 0)
		job->device_bytes = sl_server_engine_bytes(job->engine, &job->params, job->nodes);
	if (!s)
		return;
	s->places += sl__job_small(job) ? 0 : by;
	s->running += by;
	s->device_bytes += (uint64_t)by * job->device_bytes;  /* by -1, it wraps around */
}

void sl__share_running(struct sl_jobs *j, const char *user, int *jobs, uint64_t *device_bytes)
{
	const struct sl_share *s = share_of(j, user);
	*jobs = s ? s->running : 0;
	*device_bytes = s ? s->device_bytes : 0;
}

bool sl__share_is_full(const struct sl_job *job)
{
	const struct sl_share *s = share_of(job->jobs, job->user);
	return s && s->places >= SHARE_MOST * job->engine->devices;
}

static bool is_first_of_user(const struct sl_backlog *line, struct sl_waiting *w)
{
	SL_LIST_EACH(struct sl_waiting, v, &line->waiting, link) {
		if (v == w)
			return true;
		if (!v->held && !strcmp(sl__job_of_waiting(v)->user, sl__job_of_waiting(w)->user))
			return false;
	}
	return true;
}

/* The line is in the order of priorities, then of arrival; of users who have had the same, the first in line is
 * next. */
bool sl__share_next(struct sl_jobs *j, struct sl_server_engine *e, struct sl_waiting **next)
{
	const struct sl_backlog *line = &e->line[0];
	double least = INFINITY;
	bool several = false;
	*next = NULL;
	SL_LIST_EACH(struct sl_waiting, w, &line->waiting, link) {
		struct sl_job *job = sl__job_of_waiting(w);
		several = several || job->user[0];
		if (w->held)
			continue;
		if (!job->user[0] && !several && w == sl_backlog_head(line) && j->shares.count < 2)
			return false;  /* one user, as far as is known: the line as it is */
		struct sl_share *s = share_of(j, job->user);
		double used = s ? used_now(j, s) : 0;
		if (used < least && is_first_of_user(line, w) && (!job->user[0] || !s || s->places < SHARE_MOST * e->devices)) {
			least = used;
			*next = w;
		}
	}
	return several;
}
