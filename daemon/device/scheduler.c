/* The levels of scheduler.h as classes of util/fair.h: groups, clients, new and old jobs of a client, jobs. */
#include "daemon/device/scheduler.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NEW_SHARE 4  /* of a client's new jobs; its others have 1 */

struct sl_scheduler_group {
	struct sl_fair flow;   /* its flows are clients */
	double elsewhere_ms;   /* most time that it may still be charged for use of other devices */
};

struct sl_scheduler_client {
	struct sl_fair flow;   /* its flows are the next two */
	struct sl_fair new, old;
	double elsewhere_ms;
};

struct sl_scheduler {
	struct sl_fair groups;
	double slowness;
};

int sl_scheduler_create(struct sl_scheduler **out, struct sl_error *err)
{
	*out = calloc(1, sizeof **out);
	if (!*out)
		return sl_error_memory(err, "the scheduler");
	sl_scheduler_set_slowness(*out, 1);
	return 0;
}

static void set_times(const struct sl_scheduler *s, struct sl_fair *class)
{
	class->credit = SL_CREDIT_MS * s->slowness;
	class->borrow = SL_BOOST_MS * s->slowness;
}

void sl_scheduler_set_slowness(struct sl_scheduler *s, double factor)
{
	s->slowness = fmin(fmax(factor, 1), SL_SLOWNESS_MOST);
	set_times(s, &s->groups);
	SL_LIST_EACH(struct sl_scheduler_group, g, &s->groups.flows, flow.link)
		set_times(s, &g->flow);
}

void sl_scheduler_destroy(struct sl_scheduler *s)
{
	if (s)
		sl_fair_finish(&s->groups);
	free(s);
}

static struct sl_scheduler_group *group_of_client(const struct sl_scheduler_client *c)
{
	return (struct sl_scheduler_group *)c->flow.parent;
}

/* The client, with a reference; NULL: no memory. */
static struct sl_scheduler_client *client_of(struct sl_scheduler *s, const char *group, double share,
					     const char *client)
{
	struct sl_scheduler_group *g = (void *)sl_fair_named(&s->groups, group, sizeof *g);
	struct sl_scheduler_client *c = g ? (void *)sl_fair_named(&g->flow, client, sizeof *c) : NULL;
	if (!g)
		return NULL;
	sl_fair_release(&g->flow);  /* its clients hold it */
	sl_fair_set_share(&g->flow, share);
	set_times(s, &g->flow);
	if (c && !c->old.parent) {
		sl_fair_join(&c->flow, &c->new, NEW_SHARE);
		sl_fair_join(&c->flow, &c->old, 1);
	}
	return c;
}

static double weight_of(int priority)
{
	return ldexp(1, priority - SL_PRIORITY_DEFAULT);
}

static void join(struct sl_scheduled *t, double weight)
{
	sl_fair_join(t->is_new ? &t->client->new : &t->client->old, &t->flow, weight);
	sl_fair_set_ready(&t->flow, t->runnable, t->is_new);
}

int sl_scheduler_add(struct sl_scheduler *s, struct sl_scheduled *t, const char *group, double share,
		     const char *client, int priority, double used_ms, struct sl_error *err)
{
	sl_fair_forget(&s->groups);
	*t = (struct sl_scheduled){.client = client_of(s, group, share, client), .used_ms = used_ms, .runnable = true,
				  .is_new = used_ms < SL_BOOST_MS * s->slowness};
	if (!t->client)
		return sl_error_memory(err, "a client of the scheduler");
	join(t, weight_of(priority));
	return 0;
}

void sl_scheduler_remove(struct sl_scheduler *s, struct sl_scheduled *t)
{
	sl_fair_leave(&t->flow);
	sl_fair_release(&t->client->flow);
	t->client = NULL;
}

void sl_scheduler_set_runnable(struct sl_scheduler *s, struct sl_scheduled *t, bool runnable)
{
	t->runnable = runnable;
	sl_fair_set_ready(&t->flow, runnable, t->is_new);
}

void sl_scheduler_set_priority(struct sl_scheduler *s, struct sl_scheduled *t, int priority)
{
	sl_fair_set_share(&t->flow, weight_of(priority));
}

struct sl_scheduled *sl_scheduler_pick(struct sl_scheduler *s)
{
	return (struct sl_scheduled *)sl_fair_next(&s->groups);
}

bool sl_scheduler_before(const struct sl_scheduled *a, const struct sl_scheduled *b)
{
	return sl_fair_before(&a->flow, &b->flow);
}

static void charge_part(struct sl_fair *flow, double *elsewhere_ms, double ms)
{
	sl_fair_charge(flow, ms);
	*elsewhere_ms = fmin(*elsewhere_ms + SL_ELSEWHERE_RATIO * ms, SL_ELSEWHERE_MS);
}

void sl_scheduler_charge(struct sl_scheduler *s, struct sl_scheduled *t, double ms, double part_ms)
{
	struct sl_scheduler_client *c = t->client;
	struct sl_scheduler_group *g = group_of_client(c);
	ms = fmax(ms, 0);
	part_ms = fmax(part_ms, 0);
	sl_fair_charge(&t->flow, ms);
	sl_fair_charge(t->flow.parent, part_ms);
	charge_part(&c->flow, &c->elsewhere_ms, part_ms);
	charge_part(&g->flow, &g->elsewhere_ms, part_ms);
	t->used_ms += ms;
	if (t->is_new && t->used_ms >= SL_BOOST_MS * s->slowness) {
		t->is_new = false;
		sl_fair_leave(&t->flow);
		join(t, t->flow.share);
	}
}

/* Charges the part of ms that may still be charged. */
static void charge_elsewhere(struct sl_fair *flow, double *elsewhere_ms, double ms)
{
	double taken = fmin(fmax(ms, 0), *elsewhere_ms);
	if (!flow->ready)
		return;
	*elsewhere_ms -= taken;
	sl_fair_charge(flow, taken);
}

void sl_scheduler_charge_elsewhere(struct sl_scheduler *s, const char *group, const char *client, double ms)
{
	SL_LIST_EACH(struct sl_scheduler_group, g, &s->groups.flows, flow.link) {
		if (strcmp(g->flow.name, group))
			continue;
		charge_elsewhere(&g->flow, &g->elsewhere_ms, ms);
		SL_LIST_EACH(struct sl_scheduler_client, c, &g->flow.flows, flow.link)
			if (!strcmp(c->flow.name, client))
				charge_elsewhere(&c->flow, &c->elsewhere_ms, ms);
	}
}
