/* One entry has the turn, or none. The next is of the user whose flow is next, among the entries that fit in memory
 * beside those that have begun. */
#include "daemon/queue/fair_queue.h"

#include <math.h>

#define TURN_S 1.0

static void pick(struct sl_fair_queue *r);

static uint64_t bytes_begun(const struct sl_fair_queue *r)
{
	uint64_t sum = 0;
	SL_LIST_EACH(struct sl_fair_entry, p, &r->places, link)
		sum += p->begun ? p->bytes : 0;
	return sum;
}

/* True if the entry may have its next turn within the budget of memory. A single entry always may. If entries that have
 * begun have become larger than estimated, only the oldest of them may. */
static bool fits(const struct sl_fair_queue *r, const struct sl_fair_entry *p)
{
	uint64_t begun = bytes_begun(r);
	if (!p->begun)
		return !begun || (begun <= r->budget && p->bytes <= r->budget - begun);
	const struct sl_fair_entry *oldest = SL_LIST_FIND(struct sl_fair_entry, o, &r->places, link, o->begun);
	return p == oldest || begun <= r->budget;
}

/* The entry that gets the next turn; NULL: none can. Only the first entry of each user gets turns: a second one would
 * take memory, and would not end sooner. No later entry begins while an earlier one waits for memory. */
static struct sl_fair_entry *next(const struct sl_fair_queue *r)
{
	struct sl_fair_entry *best = NULL;
	bool short_of_memory = false;
	SL_LIST_EACH(struct sl_fair_entry, p, &r->places, link) {
		const struct sl_fair_entry *first = SL_LIST_FIND(struct sl_fair_entry, o, &r->places, link, o->user == p->user);
		if (first != p || (p->begun && !p->ready) || (!p->begun && short_of_memory))
			continue;
		if (!fits(r, p))
			short_of_memory = short_of_memory || !p->begun;
		else if (!best || sl_fair_before(p->user, best->user))
			best = p;
	}
	return best;
}

static void leave(struct sl_fair_entry *p)
{
	struct sl_fair_queue *r = p->fair_queue;
	sl_list_unlink(&p->link);
	if (p->user == &p->alone) {
		sl_fair_leave(p->user);
		return;
	}
	sl_fair_set_ready(p->user, SL_LIST_FIND(struct sl_fair_entry, o, &r->places, link, o->user == p->user), false);
	sl_fair_release(p->user);
	sl_fair_forget(&r->users);
}

static void ended(void *arg)
{
	struct sl_fair_entry *p = arg;
	struct sl_fair_queue *r = p->fair_queue;
	leave(p);
	p->done(p->arg);
	pick(r);
}

static void run_rest(void *arg)
{
	const struct sl_fair_entry *p = arg;
	p->rest(p->arg);
}

static bool always(void *arg)
{
	return true;
}

static void turn_ended(void *arg)
{
	struct sl_fair_entry *p = arg;
	struct sl_fair_queue *r = p->fair_queue;
	r->now = NULL;
	if (!p->more && p->rest) {
		p->ready = false;  /* it gets no further turn, but its memory still counts */
		sl_fair_set_ready(p->user, false, false);
		sl_pool_answer(p->loop, p->user->name ? p->user->name : "", always, run_rest, ended, p);
	} else if (!p->more) {
		ended(p);
		return;
	}
	pick(r);
}

static void run_turn(void *arg)
{
	struct sl_fair_entry *p = arg;
	p->more = p->turn(p->arg);
}

static void give_turn(struct sl_fair_queue *r, struct sl_fair_entry *p)
{
	r->now = p;
	sl_fair_charge(p->user, 1);
	sl_pool_run_in(&p->pool, p->loop, run_turn, turn_ended, p);
}

/* begin() may call sl_fair_queue_ready() or _leave(), which call pick() again; `picking` ends that recursion. */
static void pick(struct sl_fair_queue *r)
{
	struct sl_fair_entry *p;
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

void sl_fair_queue_join(struct sl_fair_queue *r, struct sl_fair_entry *p, const char *user)
{
	p->fair_queue = r;
	p->begun = p->ready = false;
	p->user = user[0] ? sl_fair_named(&r->users, user, sizeof *p->user) : NULL;
	if (!p->user) {  /* or no memory */
		p->alone = (struct sl_fair){0};
		sl_fair_join(&r->users, p->user = &p->alone, 1);
	}
	sl_fair_set_ready(p->user, true, false);
	sl_list_append(&r->places, &p->link);
	pick(r);
}

void sl_fair_queue_ready(struct sl_fair_entry *p)
{
	p->ready = true;
	pick(p->fair_queue);
}

void sl_fair_queue_leave(struct sl_fair_entry *p)
{
	if (!p->link.in)
		return;
	leave(p);
	pick(p->fair_queue);
}

uint32_t sl_fair_pace_amount(struct sl_fair_pace *pace, uint32_t amount, double seconds)
{
	double each = seconds / amount, fixed = 0;
	if (pace->amount > 0 && pace->amount != amount) {
		double slope = (seconds - pace->seconds) / (amount - pace->amount);
		fixed = slope < each ? seconds - fmax(slope, 0.01 * each) * amount : 0;
		each = fmin(fmax(slope, 0.01 * each), each);
	}
	*pace = (struct sl_fair_pace){amount, seconds};
	double wanted = each > 0 ? fmax(TURN_S, fixed) / each : UINT32_MAX;
	return (uint32_t)fmax(1, fmin(fmin(wanted, 4.0 * amount), UINT32_MAX));
}
