/* Fair shares of devices among projects, and among the users of each, by start-time fair queueing (util/fair.h). While
 * jobs run, the device's scheduler shares its time between them, slice by slice (scheduler.h). This file divides the
 * places: the next large job of a line is of the project, and in it of the user, that is next by the device time used;
 * but those come first who have fewer than two places, since the time of a device goes only to jobs with a place. What
 * users have used counts half after share_half_life_s. Priorities count among the jobs of one user in one project.
 * Jobs without a project count as one project with a share of 1. A user has at most three quarters of a device's
 * places for large jobs and of those for small ones, and so has a project, so that the next one finds a free place.
 * Small jobs start in the order of their line as long as the user of its first job may have another place. If the
 * server needs no tokens, all jobs are of one user, and this file changes nothing. If an engine has several devices,
 * each device gets the time that a user has used on the others, so shares hold over all of them. Loop thread. */
#include <math.h>
#include <string.h>

#include "daemon/queue/queue.h"
#include "daemon/users/accounting.h"
#include "daemon/users/projects.h"

#define PLACES_WANTED 2
#define AGE_MS 1000
#define REPORT_MS 100  /* least interval between reports of a user's time to the devices */

/* A project (in sl_queue.projects), a user in a project (a flow of that), or a user in all projects (in
 * sl_queue.users, where nothing is divided). Jobs without one have "". */
struct sl_share {
	struct sl_fair flow;
	int places[2];            /* number of places that its jobs have: large ones, small ones */
	int running;              /* number of places that all its jobs have */
	uint64_t device_bytes;    /* device memory of these jobs */
	/* a user in a project, if the engine has several devices: time used on each and not yet reported to the others */
	const struct sl_server_engine *engine;
	double unreported_ms[SL_ENGINE_DEVICES_MAX];
	uint64_t reported_ms;         /* loop time */
};

/* NULL: no memory. Shares are never forgotten: they are as many as users and projects. No flow is ever ready, so the
 * virtual time stays 0, and a tag is what was used / share: also of one who has been away, or comes for the first
 * time. */
static struct sl_share *share_of(struct sl_fair *class, const char *name)
{
	struct sl_fair *flow = sl_fair_named(class, name, sizeof(struct sl_share));
	if (flow)
		sl_fair_release(flow);
	return (struct sl_share *)flow;
}

static struct sl_share *project_of(struct sl_queue *q, const struct sl_place *p)
{
	struct sl_share *s = share_of(&q->projects, p->project);
	double share = sl_project_share(q->d->users, p->project);
	if (s && s->flow.share != share)
		sl_fair_set_share(&s->flow, share);
	return s;
}

static struct sl_share *member_of(struct sl_queue *q, const struct sl_place *p)
{
	struct sl_share *project = project_of(q, p);
	return project ? share_of(&project->flow, p->user) : NULL;
}

static void age(struct sl_queue *q)
{
	uint64_t now = uv_now(q->d->loop);
	if (now - q->aged_ms < AGE_MS)
		return;
	sl_fair_age(&q->projects, exp2(-(double)(now - q->aged_ms) * 1e-3 / q->d->config.share_half_life_s));
	q->aged_ms = now;
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
			sl_device_charge(d->port, p->project, p->user, all - s->unreported_ms[i]);
	}
	memset(s->unreported_ms, 0, sizeof s->unreported_ms);
}

void sl_share_charge(struct sl_queue *q, const struct sl_place *p, double seconds)
{
	struct sl_share *member = member_of(q, p);
	sl_users_charge(q->d->users, p->user, seconds);
	sl_users_charge(q->d->users, p->project, seconds);
	sl_accounting_time(q->d->users, p->user, p->project, seconds);
	if (!member)
		return;
	age(q);
	sl_fair_charge_all(&member->flow, seconds);
	tell_devices(q, member, p, seconds);
}

void sl_shares_finish(struct sl_queue *q)
{
	sl_fair_finish(&q->projects);
	sl_fair_finish(&q->users);
}

void sl_share_take(struct sl_queue *q, const struct sl_place *p, int by)
{
	struct sl_share *all[] = {project_of(q, p), member_of(q, p), share_of(&q->users, p->user)};
	for (int i = 0; i < 3; i++) {
		if (!all[i])
			continue;
		all[i]->places[p->small] += by;
		all[i]->running += by;
		all[i]->device_bytes += (uint64_t)by * p->device_bytes;  /* by -1, it wraps around */
	}
}

void sl_share_running(const struct sl_queue *q, const char *account, int *jobs, uint64_t *device_bytes)
{
	const struct sl_fair *classes[] = {&q->users, &q->projects};
	*jobs = 0;
	*device_bytes = 0;
	for (int i = 0; i < 2; i++)
		SL_LIST_EACH(const struct sl_share, s, &classes[i]->flows, flow.link) {
			if (strcmp(s->flow.name, account))
				continue;
			*jobs = s->running;
			*device_bytes = s->device_bytes;
			return;
		}
}

static bool has_all_places(const struct sl_place *p, const struct sl_share *s)
{
	int all = (p->small ? SL_PLACES_SMALL : SL_PLACES_LARGE) * sl_server_engine_width(p->engine);
	return s && s->flow.name[0] && s->places[p->small] >= all * 3 / 4;
}

const char *sl_share_is_full(struct sl_queue *q, const struct sl_place *p)
{
	return has_all_places(p, share_of(&q->users, p->user)) ? "user" :
	       has_all_places(p, project_of(q, p)) ? "project" : NULL;
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

static bool any_named(const struct sl_fair *class)
{
	return SL_LIST_FIND(const struct sl_fair, f, &class->flows, link, f->name[0] != '\0');
}

/* Greater than 0 if share a lacks more places than b. A user without a place gets no device
 * time; a second place avoids a gap between two jobs. */
static int lacks_more(const struct sl_share *a, const struct sl_share *b, int small)
{
	int of_a = a->places[small], of_b = b->places[small];
	return (of_b < PLACES_WANTED ? of_b : PLACES_WANTED) - (of_a < PLACES_WANTED ? of_a : PLACES_WANTED);
}

static bool goes_before(struct sl_queue *q, const struct sl_place *a, const struct sl_place *b)
{
	const struct sl_share *project[] = {project_of(q, a), project_of(q, b)};
	const struct sl_share *member[] = {member_of(q, a), member_of(q, b)};
	const struct sl_share *user[] = {share_of(&q->users, a->user), share_of(&q->users, b->user)};
	if (!member[0] || !member[1] || !user[0] || !user[1])
		return false;
	bool other = project[0] != project[1];
	int more = other ? lacks_more(project[0], project[1], a->small) : lacks_more(user[0], user[1], a->small);
	return more ? more > 0 : other ? sl_fair_before(&project[0]->flow, &project[1]->flow) :
					 sl_fair_before(&member[0]->flow, &member[1]->flow);
}

/* The line is in the order of priorities, then of arrival; of users who are equal, the first in line is next. */
bool sl_share_next(struct sl_queue *q, struct sl_server_engine *e, int small, struct sl_waiting **next)
{
	const struct sl_backlog *line = &e->line[small];
	const struct sl_place *last = NULL;
	bool several = false;
	*next = NULL;
	age(q);
	SL_LIST_EACH(struct sl_waiting, w, &line->waiting, link) {
		const struct sl_place *p = sl_place_of_waiting(w);
		several = several || p->user[0] || p->project[0];
		if (w->held)
			continue;
		if (!several && w == sl_backlog_head(line) && !any_named(&q->users) && !any_named(&q->projects))
			return false;  /* users are not known: the order of the line decides */
		if (last && same_owner(last, p))
			continue;
		last = p;
		if ((!*next || goes_before(q, p, sl_place_of_waiting(*next))) && is_first_of_user(line, w) &&
		    !sl_share_is_full(q, p))
			*next = w;
	}
	return several;
}
