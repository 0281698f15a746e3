/* Fair queueing in three levels, as scheduler.h says. Invariants: the virtual time of a job, client or group never
 * falls; one that becomes runnable gets at least the floor of its level, so that it claims little of the time when it
 * had no work; the next is the one with the least, and among equals the one that came first. */
#include "daemon/device/scheduler.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* While old jobs wait, each millisecond of a new job adds 1 / BOOST_RATIO ms to debt_ms. From DEBT_MS on, an old job
 * runs next. */
#define BOOST_RATIO 4
#define DEBT_MS 10.0

struct sl_scheduler_group {
	struct sl_link link;
	struct sl_list clients;  /* struct sl_scheduler_client */
	char *name;
	double share;
	double virtual_ms;    /* the group's virtual time; groups are compared by it */
	double now_ms;        /* current virtual time among its clients */
	double least_ms;      /* for one pick: the virtual time that new jobs of its clients are compared with */
	double elsewhere_ms;  /* most time that it may still be charged for use of other devices */
	int runnable;
};

struct sl_scheduler_client {
	struct sl_link link;
	struct sl_scheduler_group *group;
	char *name;
	double virtual_ms;    /* the client's virtual time; clients of a group are compared by it */
	double now_ms;        /* current virtual time among its jobs */
	double elsewhere_ms;  /* as in struct sl_scheduler_group */
	int tasks, runnable;
};

struct sl_scheduler {
	struct sl_list groups;   /* struct sl_scheduler_group */
	struct sl_list tasks;    /* struct sl_scheduled */
	double now_ms;        /* current virtual time among the groups */
	double debt_ms;       /* time owed to old jobs, those that are not new */
	uint64_t order;
};

int sl_scheduler_create(struct sl_scheduler **out, struct sl_error *err)
{
	*out = calloc(1, sizeof **out);
	if (!*out)
		return sl_error_memory(err, "the scheduler");
	return 0;
}

static void forget_client(struct sl_scheduler_client *c)
{
	sl_list_unlink(&c->link);
	free(c->name);
	free(c);
}

static void forget_group(struct sl_scheduler_group *g)
{
	SL_LIST_EACH(struct sl_scheduler_client, c, &g->clients, link)
		forget_client(c);
	sl_list_unlink(&g->link);
	free(g->name);
	free(g);
}

void sl_scheduler_destroy(struct sl_scheduler *s)
{
	if (!s)
		return;
	SL_LIST_EACH(struct sl_scheduler_group, g, &s->groups, link)
		forget_group(g);
	free(s);
}

/* The least virtual time of a client, or a group, that becomes runnable again. It limits the credit for unused time. */
static double client_floor(const struct sl_scheduler_group *g)
{
	return g->now_ms - SL_CREDIT_MS;
}

static double group_floor(const struct sl_scheduler *s, const struct sl_scheduler_group *g)
{
	return s->now_ms - SL_CREDIT_MS / g->share;
}

/* Removes clients and groups without jobs whose virtual time would be the same if they came back as new ones. */
static void forget_idle(struct sl_scheduler *s)
{
	SL_LIST_EACH(struct sl_scheduler_group, g, &s->groups, link) {
		SL_LIST_EACH(struct sl_scheduler_client, c, &g->clients, link)
			if (c->tasks == 0 && c->virtual_ms <= client_floor(g))
				forget_client(c);
		if (!g->clients.count && g->virtual_ms <= group_floor(s, g))
			forget_group(g);
	}
}

static struct sl_scheduler_group *find_group(const struct sl_scheduler *s, const char *name)
{
	return SL_LIST_FIND(struct sl_scheduler_group, g, &s->groups, link, !strcmp(g->name, name));
}

static struct sl_scheduler_client *find_client(const struct sl_scheduler_group *g, const char *name)
{
	return SL_LIST_FIND(struct sl_scheduler_client, c, &g->clients, link, !strcmp(c->name, name));
}

static struct sl_scheduler_group *group_of(struct sl_scheduler *s, const char *name)
{
	struct sl_scheduler_group *g = find_group(s, name);
	if (g)
		return g;
	g = calloc(1, sizeof *g);
	if (!g || !(g->name = strdup(name))) {
		free(g);
		return NULL;
	}
	g->virtual_ms = s->now_ms;
	sl_list_prepend(&s->groups, &g->link);
	return g;
}

static struct sl_scheduler_client *client_of(struct sl_scheduler_group *g, const char *name)
{
	struct sl_scheduler_client *c = find_client(g, name);
	if (c)
		return c;
	c = calloc(1, sizeof *c);
	if (!c || !(c->name = strdup(name))) {
		free(c);
		return NULL;
	}
	c->group = g;
	c->virtual_ms = g->now_ms;
	sl_list_prepend(&g->clients, &c->link);
	return c;
}

static double weight_of(int priority)
{
	return ldexp(1, priority - SL_PRIORITY_DEFAULT);
}

/* Makes a job runnable. Its virtual time becomes at least the current one; its client and group may be behind theirs by
 * the credit of client_floor() and group_floor(). */
static void wake(struct sl_scheduler *s, struct sl_scheduled *t)
{
	struct sl_scheduler_client *c = t->client;
	struct sl_scheduler_group *g = c->group;
	if (g->runnable++ == 0)
		g->virtual_ms = fmax(g->virtual_ms, group_floor(s, g));
	if (c->runnable++ == 0)
		c->virtual_ms = fmax(c->virtual_ms, client_floor(g));
	if (t->virtual_ms < c->now_ms)
		t->virtual_ms = c->now_ms;
	t->runnable = true;
}

int sl_scheduler_add(struct sl_scheduler *s, struct sl_scheduled *t, const char *group, double share,
		     const char *client, int priority, double used_ms, struct sl_error *err)
{
	forget_idle(s);
	struct sl_scheduler_group *g = group_of(s, group);
	struct sl_scheduler_client *c = g ? client_of(g, client) : NULL;
	if (!c)
		return sl_error_memory(err, "a client of the scheduler");
	g->share = share > 0 ? share : 1;
	c->tasks++;
	*t = (struct sl_scheduled){
		.client = c, .used_ms = used_ms,
		.weight = weight_of(priority), .order = s->order++,
	};
	sl_list_prepend(&s->tasks, &t->link);
	wake(s, t);
	return 0;
}

void sl_scheduler_remove(struct sl_scheduler *s, struct sl_scheduled *t)
{
	sl_scheduler_set_runnable(s, t, false);
	sl_list_unlink(&t->link);
	t->client->tasks--;
	t->client = NULL;
}

void sl_scheduler_set_runnable(struct sl_scheduler *s, struct sl_scheduled *t, bool runnable)
{
	if (runnable == t->runnable)
		return;
	if (runnable) {
		wake(s, t);
	} else {
		t->runnable = false;
		t->client->runnable--;
		t->client->group->runnable--;
	}
}

/* Converts the virtual time by which the job is ahead of the others to the new weight, so that it stands for the same
 * device time. Otherwise one slice at the lowest priority would keep a job waiting for hours after its priority was
 * raised to the highest. */
void sl_scheduler_set_priority(struct sl_scheduler *s, struct sl_scheduled *t, int priority)
{
	double weight = weight_of(priority), now_ms = t->client->now_ms;
	t->virtual_ms = now_ms + (t->virtual_ms - now_ms) * t->weight / weight;
	t->weight = weight;
}

static bool is_new(const struct sl_scheduled *t)
{
	return t->used_ms < SL_BOOST_MS;
}

/* groups_now and clients_now: the smallest virtual time of a group, or of a client of a group, with a runnable job;
 * INFINITY: none. */
static double groups_now(const struct sl_scheduler *s)
{
	double now = INFINITY;
	SL_LIST_EACH(const struct sl_scheduler_group, g, &s->groups, link)
		if (g->runnable && g->virtual_ms < now)
			now = g->virtual_ms;
	return now;
}

static double clients_now(const struct sl_scheduler_group *g)
{
	double now = INFINITY;
	SL_LIST_EACH(const struct sl_scheduler_client, c, &g->clients, link)
		if (c->runnable && c->virtual_ms < now)
			now = c->virtual_ms;
	return now;
}

/* Returns the new job that has used the least time, among groups and clients that are not ahead of the others. */
static struct sl_scheduled *pick_new(const struct sl_scheduler *s)
{
	double now = fmax(groups_now(s), s->now_ms);
	struct sl_scheduled *best = NULL;
	SL_LIST_EACH(struct sl_scheduler_group, g, &s->groups, link)
		g->least_ms = fmax(clients_now(g), g->now_ms);
	SL_LIST_EACH(struct sl_scheduled, t, &s->tasks, link) {
		const struct sl_scheduler_client *c = t->client;
		if (!t->runnable || !is_new(t) || c->group->virtual_ms > now + SL_BOOST_MS ||
		    c->virtual_ms > c->group->least_ms + SL_BOOST_MS)
			continue;
		if (!best || t->used_ms < best->used_ms || (t->used_ms == best->used_ms && t->order < best->order))
			best = t;
	}
	return best;
}

/* Returns by how much virtual time a is ahead of b: that of their groups if these differ, else of their clients, else
 * of the jobs. */
static double distance(const struct sl_scheduled *a, const struct sl_scheduled *b)
{
	if (a->client == b->client)
		return a->virtual_ms - b->virtual_ms;
	if (a->client->group == b->client->group)
		return a->client->virtual_ms - b->client->virtual_ms;
	return a->client->group->virtual_ms - b->client->group->virtual_ms;
}

/* Returns the job with the least virtual time of the client with the least in the group with the least. */
static struct sl_scheduled *pick_fair(const struct sl_scheduler *s, bool old_only)
{
	struct sl_scheduled *best = NULL;
	SL_LIST_EACH(struct sl_scheduled, t, &s->tasks, link) {
		if (!t->runnable || (old_only && is_new(t)))
			continue;
		double ahead = best ? distance(t, best) : 0;
		if (!best || ahead < 0 || (ahead == 0 && t->order < best->order))
			best = t;
	}
	return best;
}

struct sl_scheduled *sl_scheduler_pick(struct sl_scheduler *s)
{
	struct sl_scheduled *t;
	if (s->debt_ms >= DEBT_MS && (t = pick_fair(s, true)))
		return t;
	if ((t = pick_new(s)))
		return t;
	return pick_fair(s, false);
}

static bool old_ones_wait(const struct sl_scheduler *s)
{
	SL_LIST_EACH(const struct sl_scheduled, t, &s->tasks, link)
		if (t->runnable && !is_new(t))
			return true;
	return false;
}

void sl_scheduler_charge(struct sl_scheduler *s, struct sl_scheduled *t, double ms)
{
	sl_scheduler_charge_part(s, t, ms, ms);
}

void sl_scheduler_charge_part(struct sl_scheduler *s, struct sl_scheduled *t, double ms, double part_ms)
{
	struct sl_scheduler_client *c = t->client;
	struct sl_scheduler_group *g = c->group;
	ms = fmax(ms, 0);
	part_ms = fmax(part_ms, 0);
	if (!is_new(t))
		s->debt_ms = fmax(0, s->debt_ms - part_ms);
	else if (old_ones_wait(s))
		s->debt_ms += part_ms / BOOST_RATIO;
	else
		s->debt_ms = 0;
	/* The current virtual time is the least one before the slice; it never decreases. */
	double now = groups_now(s), clients = clients_now(g);
	if (isfinite(now) && now > s->now_ms)
		s->now_ms = now;
	if (isfinite(clients) && clients > g->now_ms)
		g->now_ms = clients;
	double behind = INFINITY;
	SL_LIST_EACH(const struct sl_scheduled, u, &s->tasks, link)
		if (u->client == c && u->runnable && u->virtual_ms < behind)
			behind = u->virtual_ms;
	if (isfinite(behind) && behind > c->now_ms)
		c->now_ms = behind;
	t->used_ms += ms;
	t->virtual_ms += ms / t->weight;
	c->virtual_ms += part_ms;
	g->virtual_ms += part_ms / g->share;
	c->elsewhere_ms = fmin(c->elsewhere_ms + SL_ELSEWHERE_RATIO * part_ms, SL_ELSEWHERE_MS);
	g->elsewhere_ms = fmin(g->elsewhere_ms + SL_ELSEWHERE_RATIO * part_ms, SL_ELSEWHERE_MS);
}

/* Returns the part of ms that may still be charged, and subtracts it from *left_ms. */
static double take(double *left_ms, double ms)
{
	double taken = fmin(fmax(ms, 0), *left_ms);
	*left_ms -= taken;
	return taken;
}

void sl_scheduler_charge_elsewhere(struct sl_scheduler *s, const char *group, const char *client, double ms)
{
	struct sl_scheduler_group *g = find_group(s, group);
	struct sl_scheduler_client *c = g ? find_client(g, client) : NULL;
	if (g && g->runnable)
		g->virtual_ms += take(&g->elsewhere_ms, ms) / g->share;
	if (c && c->runnable)
		c->virtual_ms += take(&c->elsewhere_ms, ms);
}

/* ---- waiting jobs ------------------------------------------------------- */

static void insert(struct sl_backlog *b, struct sl_waiting *w)
{
	struct sl_link *behind = NULL;  /* most come in at the end */
	SL_LIST_EACH_BACK(struct sl_waiting, at, &b->waiting, link) {
		if (at->priority > w->priority || (at->priority == w->priority && at->order < w->order))
			break;
		behind = &at->link;
	}
	sl_list_insert(&b->waiting, behind, &w->link);
	b->changes++;
}

void sl_backlog_add(struct sl_backlog *b, struct sl_waiting *w, int priority, uint64_t bytes)
{
	*w = (struct sl_waiting){.priority = priority, .order = b->order++, .bytes = bytes};
	insert(b, w);
}

void sl_backlog_remove(struct sl_backlog *b, struct sl_waiting *w)
{
	if (w->link.in != &b->waiting)
		return;
	sl_list_unlink(&w->link);
	b->changes++;
}

void sl_backlog_set_priority(struct sl_backlog *b, struct sl_waiting *w, int priority)
{
	sl_backlog_remove(b, w);
	w->priority = priority;
	insert(b, w);
}

void sl_backlog_first(struct sl_backlog *b, struct sl_waiting *w)
{
	sl_backlog_remove(b, w);
	sl_list_prepend(&b->waiting, &w->link);
}

struct sl_waiting *sl_backlog_next(const struct sl_backlog *b)
{
	struct sl_waiting *w = sl_backlog_head(b);
	while (w && w->held)
		w = SL_LIST_NEXT(struct sl_waiting, w, link);
	return w;
}

struct sl_waiting *sl_backlog_take(struct sl_backlog *b, uint64_t free_bytes, bool idle)
{
	struct sl_waiting *w = sl_backlog_next(b);
	for (; w && (w->held || (!idle && w->bytes > free_bytes)); w = SL_LIST_NEXT(struct sl_waiting, w, link))
		if (!w->held && w->bypassed >= SL_BYPASS_MAX)
			return NULL;
	if (!w)
		return NULL;
	for (struct sl_waiting *v = sl_backlog_head(b); v != w; v = SL_LIST_NEXT(struct sl_waiting, v, link))
		v->bypassed += !v->held;
	sl_backlog_remove(b, w);
	return w;
}
