/* Start-time fair queueing, as fair.h says. Invariants: tags and virtual times never fall, except by sl_fair_age() and
 * sl_fair_set_share(), which move a tag towards or from the virtual time and not past it; a ready flow is not behind
 * the virtual time by more than its credit. A class has few flows, so each search is a walk over its list. */
#include "daemon/util/fair.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The virtual time is the tag of the flow in service. It is the least of the ready ones when a service begins, and
 * when a flow has nothing more to do: then it is that of the next one. */
static void advance(struct sl_fair *class)
{
	double least = INFINITY;
	SL_LIST_EACH(const struct sl_fair, one, &class->flows, link)
		least = one->ready ? fmin(least, one->start) : least;
	if (isfinite(least))
		class->now = fmax(class->now, least);
}

/* The least tag of a flow that becomes ready. */
static double floor_of(const struct sl_fair *f)
{
	return f->parent->now - f->parent->credit / f->share;
}

void sl_fair_join(struct sl_fair *parent, struct sl_fair *f, double share)
{
	f->parent = parent;
	f->share = share > 0 ? share : 1;
	f->start = parent->now;
	sl_list_append(&parent->flows, &f->link);
}

void sl_fair_leave(struct sl_fair *f)
{
	if (!f->parent)
		return;
	sl_fair_set_ready(f, false, false);
	sl_list_unlink(&f->link);
	f->parent = NULL;
}

/* Otherwise a flow that is ahead with a small share would wait for long after it got a larger one (the same in stride
 * scheduling: C. Waldspurger, W. Weihl, 1995). */
void sl_fair_set_share(struct sl_fair *f, double share)
{
	share = share > 0 ? share : 1;
	if (f->parent)
		f->start = f->parent->now + (f->start - f->parent->now) * f->share / share;
	f->share = share;
}

void sl_fair_set_ready(struct sl_fair *f, bool ready, bool urgent)
{
	int by = ready - f->ready, urgent_by = (ready && urgent) - f->urgent;
	for (; f; f = f->parent) {
		if (f->parent && !f->ready && by > 0)
			f->start = fmax(f->start, floor_of(f));
		f->ready += by;
		f->urgent += urgent_by;
		if (f->parent && !f->ready && by < 0)
			advance(f->parent);
	}
}

/* The tag by which flows of a class are compared. */
static double tag_of(const struct sl_fair *f)
{
	return f->urgent ? f->start - f->parent->borrow : f->start;
}

struct sl_fair *sl_fair_next(struct sl_fair *f)
{
	while (f && f->flows.count) {
		struct sl_fair *best = NULL;
		SL_LIST_EACH(struct sl_fair, one, &f->flows, link)
			if (one->ready && (!best || tag_of(one) < tag_of(best)))
				best = one;
		f = best;
	}
	return f && f->ready ? f : NULL;
}

bool sl_fair_before(const struct sl_fair *a, const struct sl_fair *b)
{
	while (a->parent != b->parent) {
		a = a->parent;
		b = b->parent;
	}
	return a != b && tag_of(a) < tag_of(b);
}

void sl_fair_charge(struct sl_fair *f, double amount)
{
	advance(f->parent);
	f->start += fmax(amount, 0) / f->share;
}

void sl_fair_charge_all(struct sl_fair *f, double amount)
{
	for (; f->parent; f = f->parent)
		sl_fair_charge(f, amount);
}

double sl_fair_part(const struct sl_fair *f)
{
	double part = f->ready ? 1 : 0;
	for (; f->parent; f = f->parent) {
		double all = 0;
		SL_LIST_EACH(const struct sl_fair, one, &f->parent->flows, link)
			all += one->ready ? one->share : 0;
		part *= all > 0 ? f->share / all : 0;
	}
	return part;
}

void sl_fair_age(struct sl_fair *top, double factor)
{
	SL_LIST_EACH(struct sl_fair, f, &top->flows, link) {
		f->start = top->now + (f->start - top->now) * factor;
		sl_fair_age(f, factor);
	}
}

/* ---- flows of names ----------------------------------------------------------------------- */

struct sl_fair *sl_fair_named(struct sl_fair *parent, const char *name, size_t bytes)
{
	struct sl_fair *f = SL_LIST_FIND(struct sl_fair, one, &parent->flows, link, one->name && !strcmp(one->name, name));
	if (!f) {
		size_t length = strlen(name) + 1;
		f = calloc(1, bytes + length);
		if (!f)
			return NULL;
		f->name = memcpy((char *)f + bytes, name, length);
		sl_fair_join(parent, f, 1);
	}
	f->held++;
	return f;
}

void sl_fair_release(struct sl_fair *f)
{
	f->held--;
}

static bool has_named(const struct sl_fair *class)
{
	return SL_LIST_FIND(const struct sl_fair, f, &class->flows, link, f->name != NULL);
}

void sl_fair_forget(struct sl_fair *top)
{
	SL_LIST_EACH(struct sl_fair, f, &top->flows, link) {
		sl_fair_forget(f);
		if (f->name && !f->held && !has_named(f) && f->start <= floor_of(f)) {
			sl_list_unlink(&f->link);
			free(f);
		}
	}
}

void sl_fair_finish(struct sl_fair *top)
{
	SL_LIST_EACH(struct sl_fair, f, &top->flows, link) {
		sl_fair_finish(f);
		sl_fair_leave(f);
		if (f->name)
			free(f);
	}
}
