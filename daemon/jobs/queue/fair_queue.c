#include "daemon/jobs/queue/rota.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define TURN_S 1.0

static void pick(struct sl_rota *r);

static bool same_user(const struct sl_rota_place *a, const struct sl_rota_place *b)
{
	return a == b || (a->user[0] && !strcmp(a->user, b->user));
}

static uint64_t bytes_begun(const struct sl_rota *r)
{
	uint64_t sum = 0;
	SL_LIST_EACH(struct sl_rota_place, p, &r->places, link)
		sum += p->begun ? p->bytes : 0;
	return sum;
}

/* One alone may always. So may the oldest of those that have begun, if they have turned out larger than they seemed. */
static bool fits(const struct sl_rota *r, const struct sl_rota_place *p)
{
	uint64_t begun = bytes_begun(r);
	if (!p->begun)
		return !begun || (begun <= r->budget && p->bytes <= r->budget - begun);
	const struct sl_rota_place *oldest = SL_LIST_FIND(struct sl_rota_place, o, &r->places, link, o->begun);
	return p == oldest || begun <= r->budget;
}

/* NULL: nobody can go on now. Of one user only the first has turns: the second would take memory, and end no sooner.
 * Who waits for memory is not overtaken by those who would begin after it. */
static struct sl_rota_place *next(const struct sl_rota *r)
{
	struct sl_rota_place *best = NULL;
	bool short_of_memory = false;
	SL_LIST_EACH(struct sl_rota_place, p, &r->places, link) {
		const struct sl_rota_place *first = SL_LIST_FIND(struct sl_rota_place, o, &r->places, link, same_user(o, p));
		if (first != p || (p->begun && !p->ready) || (!p->begun && short_of_memory))
			continue;
		if (!fits(r, p))
			short_of_memory = short_of_memory || !p->begun;
		else if (!best || p->had < best->had)
			best = p;
	}
	return best;
}

static void ended(void *arg)
{
	struct sl_rota_place *p = arg;
	struct sl_rota *r = p->rota;
	sl_list_unlink(&p->link);
	p->done(p->arg);
	pick(r);
}

static void run_rest(void *arg)
{
	const struct sl_rota_place *p = arg;
	p->rest(p->arg);
}

static bool always(void *arg)
{
	return true;
}

static void turn_ended(void *arg)
{
	struct sl_rota_place *p = arg;
	struct sl_rota *r = p->rota;
	r->now = NULL;
	if (!p->more && p->rest) {
		p->ready = false;  /* no further turn; its memory counts on */
		sl_pool_answer(p->loop, p->user, always, run_rest, ended, p);
	} else if (!p->more) {
		ended(p);
		return;
	}
	pick(r);
}

static void run_turn(void *arg)
{
	struct sl_rota_place *p = arg;
	p->more = p->turn(p->arg);
}

static void give_turn(struct sl_rota *r, struct sl_rota_place *p)
{
	r->now = p;
	r->turns++;
	SL_LIST_EACH(struct sl_rota_place, other, &r->places, link)
		if (same_user(other, p))
			other->had = r->turns;
	sl_pool_run_in(&p->pool, p->loop, run_turn, turn_ended, p);
}

/* begin() may end at once, and come here again. */
static void pick(struct sl_rota *r)
{
	struct sl_rota_place *p;
	if (r->picking)
		return;
	r->picking = true;
	while (!r->now && (p = next(r))) {
		p->ready = p->ready || (!p->begun && !p->begin);
		bool begins = !p->begun && p->begin;
		p->begun = true;
		if (begins)
			p->begin(p->arg);
		else
			give_turn(r, p);
	}
	r->picking = false;
}

void sl_rota_join(struct sl_rota *r, struct sl_rota_place *p, const char *user)
{
	uint64_t least = r->now ? r->turns - 1 : r->turns;
	p->rota = r;
	p->begun = p->ready = false;
	snprintf(p->user, sizeof p->user, "%s", user);
	SL_LIST_EACH(struct sl_rota_place, other, &r->places, link)
		least = other->had < least ? other->had : least;
	p->had = least;  /* a newcomer is not before those who wait already */
	SL_LIST_EACH(struct sl_rota_place, other, &r->places, link)
		if (same_user(other, p))
			p->had = other->had;
	sl_list_append(&r->places, &p->link);
	pick(r);
}

void sl_rota_ready(struct sl_rota_place *p)
{
	p->ready = true;
	pick(p->rota);
}

void sl_rota_leave(struct sl_rota_place *p)
{
	if (!p->link.in)
		return;
	sl_list_unlink(&p->link);
	pick(p->rota);
}

uint32_t sl_rota_amount(struct sl_rota_pace *pace, uint32_t amount, double seconds)
{
	double each = seconds / amount, fixed = 0;
	if (pace->amount > 0 && pace->amount != amount) {
		double slope = (seconds - pace->seconds) / (amount - pace->amount);
		fixed = slope < each ? seconds - fmax(slope, 0.01 * each) * amount : 0;
		each = fmin(fmax(slope, 0.01 * each), each);
	}
	*pace = (struct sl_rota_pace){amount, seconds};
	double wanted = each > 0 ? fmax(TURN_S, fixed) / each : UINT32_MAX;
	return (uint32_t)fmax(1, fmin(fmin(wanted, 4.0 * amount), UINT32_MAX));
}
