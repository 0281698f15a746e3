/* Fair shares among projects, and among the users of each. While jobs run, the device's scheduler shares its time
 * between them, slice by slice (scheduler.h). This file remembers the device time used. The next large job of a line
 * comes from the project that has used the least in relation to its share, and in it from the user who has used the
 * least; but those come first who have fewer than two places, since the time of a device goes only to jobs with a
 * place. Used time counts half after share_half_life_s. Priorities count among the jobs of one user in one project.
 * Jobs without a project count as one project with a share of 1. A user has at most three quarters of a device's
 * places for large jobs and of those for small ones, and so has a project, so that the next one finds a free place.
 * Small jobs start in the order of their line as long as the user of its first job may have another place. If the
 * server needs no tokens, all jobs are of one user, and this file changes nothing. If an engine has several devices,
 * each device gets the time that a user has used on the others, so shares hold over all of them. Loop thread. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/queue/queue.h"
#include "daemon/users/projects.h"
#include "daemon/users/users.h"
#include "daemon/util/ulid.h"

#define PLACES_WANTED 2
#define REPORT_MS 100  /* least interval between reports of a user's time to the devices */

/* The owner of an entry: a user in all projects; a project; a user in one project or in none. */
enum whose { OF_USER, OF_PROJECT, OF_BOTH };

struct sl_share {
	struct sl_link link;      /* in sl_queue.shares */
	enum whose whose;
	char user[SL_ULID_BYTES], project[SL_ULID_BYTES];
	double used_s;            /* of device time, as of updated_ms */
	uint64_t updated_ms;      /* loop time */
	int places[2];            /* number of places that its jobs have: large ones, small ones */
	int running;              /* number of places that all its jobs have */
	uint64_t device_bytes;    /* device memory of these jobs */
	/* entries OF_BOTH, if the engine has several devices: time used on each and not yet reported to the others */
	const struct sl_server_engine *engine;
	double unreported_ms[SL_GPUS_MAX];
	uint64_t reported_ms;         /* loop time */
	double weight;            /* set by sl_share_weights_add(): its jobs; for a project, its users */
};

static struct sl_share *share_of(struct sl_queue *q, enum whose whose, const char *user, const char *project)
{
	user = whose == OF_PROJECT ? "" : user;
	project = whose == OF_USER ? "" : project;
	SL_LIST_EACH(struct sl_share, s, &q->shares, link)
		if (s->whose == whose && !strcmp(s->user, user) && !strcmp(s->project, project))
			return s;
	struct sl_share *s = calloc(1, sizeof *s);
	if (!s)
		return NULL;
	s->whose = whose;
	memcpy(s->user, user, strlen(user) + 1);
	memcpy(s->project, project, strlen(project) + 1);
	s->updated_ms = uv_now(q->d->loop);
	sl_list_append(&q->shares, &s->link);
	return s;
}

static struct sl_share *share_of_place(struct sl_queue *q, const struct sl_place *p, enum whose whose)
{
	return share_of(q, whose, p->user, p->project);
}

static double used_now(struct sl_queue *q, struct sl_share *s)
{
	uint64_t now = uv_now(q->d->loop);
	s->used_s *= exp2(-(double)(now - s->updated_ms) * 1e-3 / q->d->config.share_half_life_s);
	s->updated_ms = now;
	return s->used_s;
}

static double used_of_place(struct sl_queue *q, const struct sl_place *p, enum whose whose)
{
	struct sl_share *s = share_of_place(q, p, whose);
	return s ? used_now(q, s) : 0;
}

static void tell_devices(struct sl_queue *q, struct sl_share *s, const struct sl_place *p, double seconds)
{
	const struct sl_server_engine *e = p->engine;
	uint64_t now = uv_now(q->d->loop);
	double all = 0;
	if (e->devices < 2)
		return;
	if (s->engine != e) {
		memset(s->unreported_ms, 0, sizeof s->unreported_ms);
		s->engine = e;
		s->reported_ms = now;
	}
	s->unreported_ms[p->device->index] += 1e3 * seconds;
	if (now - s->reported_ms < REPORT_MS)
		return;
	s->reported_ms = now;
	for (int i = 0; i < e->devices; i++)
		all += s->unreported_ms[i];
	for (int i = 0; i < e->devices; i++) {
		const struct sl_server_device *d = &e->device[i];
		if (d->stage == SL_DEVICE_OPEN && d->placed && all > s->unreported_ms[i])
			sl_device_charge(d->port, s->project, s->user, all - s->unreported_ms[i]);
	}
	memset(s->unreported_ms, 0, sizeof s->unreported_ms);
}

void sl_share_charge(struct sl_queue *q, const struct sl_place *p, double seconds)
{
	sl_users_charge(q->d->users, p->user, seconds);
	sl_users_charge(q->d->users, p->project, seconds);
	for (enum whose w = OF_PROJECT; w <= OF_BOTH; w++) {
		struct sl_share *s = share_of_place(q, p, w);
		if (!s)
			continue;
		s->used_s = used_now(q, s) + seconds;
		if (w == OF_BOTH)
			tell_devices(q, s, p, seconds);
	}
}

void sl_share_weights_begin(struct sl_queue *q)
{
	SL_LIST_EACH(struct sl_share, s, &q->shares, link)
		s->weight = 0;
}

void sl_share_weights_add(struct sl_queue *q, const struct sl_place *p)
{
	struct sl_share *project = share_of_place(q, p, OF_PROJECT), *both = share_of_place(q, p, OF_BOTH);
	if (!project || !both)
		return;
	project->weight += both->weight > 0 ? 0 : 1;
	both->weight += ldexp(1, p->priority);
}

double sl_share_weight_of(struct sl_queue *q, const struct sl_place *p)
{
	const struct sl_share *project = share_of_place(q, p, OF_PROJECT), *both = share_of_place(q, p, OF_BOTH);
	if (!project || !both || !(project->weight > 0) || !(both->weight > 0))
		return 0;
	double of_user = sl_project_share(q->d->users, p->project) / project->weight;
	return of_user * ldexp(1, p->priority) / both->weight;
}

void sl_shares_finish(struct sl_queue *q)
{
	SL_LIST_EACH(struct sl_share, s, &q->shares, link) {
		sl_list_unlink(&s->link);
		free(s);
	}
}

void sl_share_take(struct sl_queue *q, const struct sl_place *p, int by)
{
	for (enum whose w = OF_USER; w <= OF_PROJECT; w++) {
		struct sl_share *s = share_of_place(q, p, w);
		if (!s)
			continue;
		s->places[p->small] += by;
		s->running += by;
		s->device_bytes += (uint64_t)by * p->device_bytes;  /* by -1, it wraps around */
	}
}

void sl_share_running(const struct sl_queue *q, const char *account, int *jobs, uint64_t *device_bytes)
{
	*jobs = 0;
	*device_bytes = 0;
	SL_LIST_EACH(const struct sl_share, s, &q->shares, link) {
		if (s->whose == OF_BOTH || strcmp(s->whose == OF_USER ? s->user : s->project, account))
			continue;
		*jobs = s->running;
		*device_bytes = s->device_bytes;
		if (account[0])
			return;
	}
}

static bool all_places(struct sl_queue *q, const struct sl_place *p, enum whose whose)
{
	const struct sl_share *s = (whose == OF_USER ? p->user : p->project)[0] ? share_of_place(q, p, whose) : NULL;
	int small = p->small, all = (small ? SL_PLACES_SMALL : SL_PLACES_LARGE) * p->engine->devices;
	return s && s->places[small] >= all * 3 / 4;
}

const char *sl_share_is_full(struct sl_queue *q, const struct sl_place *p)
{
	return all_places(q, p, OF_USER) ? "user" : all_places(q, p, OF_PROJECT) ? "project" : NULL;
}

static bool same_owner(const struct sl_place *a, const struct sl_place *b)
{
	return !strcmp(a->user, b->user) && !strcmp(a->project, b->project);
}

static bool is_first_of_user(const struct sl_backlog *line, struct sl_waiting *w)
{
	SL_LIST_EACH(struct sl_waiting, v, &line->waiting, link) {
		if (v == w)
			return true;
		if (!v->held && same_owner(sl_place_of_waiting(v), sl_place_of_waiting(w)))
			return false;
	}
	return true;
}

static bool several_users(const struct sl_queue *q)
{
	SL_LIST_EACH(const struct sl_share, s, &q->shares, link)
		if (s->user[0] || s->project[0])
			return true;
	return false;
}

/* The criteria by which two jobs of the line are compared, the most important first; the job with less is next. */
struct rank {
	double by[4];
};

static bool goes_before(const struct rank *a, const struct rank *b)
{
	for (int i = 0; i < 4; i++)
		if (a->by[i] != b->by[i])
			return a->by[i] < b->by[i];
	return false;
}

/* The number of places, counted up to two. A user without a place gets no device time; a second place avoids a gap
 * between two jobs. */
static double places_of(struct sl_queue *q, const struct sl_place *p, enum whose whose)
{
	const struct sl_share *s = share_of_place(q, p, whose);
	return s ? fmin(s->places[p->small], PLACES_WANTED) : 0;
}

static struct rank rank_of(struct sl_queue *q, const struct sl_place *p)
{
	return (struct rank){{places_of(q, p, OF_PROJECT),
			      used_of_place(q, p, OF_PROJECT) / sl_project_share(q->d->users, p->project),
			      places_of(q, p, OF_USER), used_of_place(q, p, OF_BOTH)}};
}

/* The line is in the order of priorities, then of arrival; of users who have used the same time, the first in line is
 * next. */
bool sl_share_next(struct sl_queue *q, struct sl_server_engine *e, int small, struct sl_waiting **next)
{
	const struct sl_backlog *line = &e->line[small];
	const struct sl_place *last = NULL;
	struct rank least = {{INFINITY}};
	bool several = false;
	*next = NULL;
	SL_LIST_EACH(struct sl_waiting, w, &line->waiting, link) {
		const struct sl_place *p = sl_place_of_waiting(w);
		several = several || p->user[0] || p->project[0];
		if (w->held)
			continue;
		if (!several && w == sl_backlog_head(line) && !several_users(q))
			return false;  /* users are not known: the order of the line decides */
		if (last && same_owner(last, p))
			continue;
		last = p;
		struct rank rank = rank_of(q, p);
		if (goes_before(&rank, &least) && is_first_of_user(line, w) && !sl_share_is_full(q, p)) {
			least = rank;
			*next = w;
		}
	}
	return several;
}
