/* One entry has the turn, or none. The next is of the user whose flow is next, among the entries that fit in memory
 * beside those that have begun. */
#include "daemon/queue/fair_queue.h"

#include <math.h>

#define TURN_S 1.0

static void pick(struct sl_fair_queue *q);

static uint64_t bytes_begun(const struct sl_fair_queue *q)
{
	uint64_t sum = 0;
	SL_LIST_EACH(struct sl_fair_entry, e, &q->entries, link)
		sum += e->begun ? e->bytes : 0;
	return sum;
}

/* True if the entry may have its next turn within the budget of memory. A single entry always may. If entries that have
 * begun have become larger than estimated, only the oldest of them may. */
static bool fits(const struct sl_fair_queue *q, const struct sl_fair_entry *e)
{
	uint64_t begun = bytes_begun(q);
	if (!e->begun)
		return !begun || (begun <= q->budget && e->bytes <= q->budget - begun);
	const struct sl_fair_entry *oldest = SL_LIST_FIND(struct sl_fair_entry, o, &q->entries, link, o->begun);
	return e == oldest || begun <= q->budget;
}

/* The entry that gets the next turn; NULL: none can. Only the first entry of each user gets turns: a second one would
 * take memory, and would not end sooner. No later entry begins while an earlier one waits for memory. */
static struct sl_fair_entry *next(const struct sl_fair_queue *q)
{
	struct sl_fair_entry *best = NULL;
	bool short_of_memory = false;
	SL_LIST_EACH(struct sl_fair_entry, e, &q->entries, link) {
		const struct sl_fair_entry *first = SL_LIST_FIND(struct sl_fair_entry, o, &q->entries, link,
								 o->user == e->user);
		if (first != e || (e->begun && !e->ready) || (!e->begun && short_of_memory))
			continue;
		if (!fits(q, e))
			short_of_memory = short_of_memory || !e->begun;
		else if (!best || sl_fair_before(e->user, best->user))
			best = e;
	}
	return best;
}

static void leave(struct sl_fair_entry *e)
{
	struct sl_fair_queue *q = e->fair_queue;
	sl_list_unlink(&e->link);
	if (e->user == &e->alone) {
		sl_fair_leave(e->user);
		return;
	}
	sl_fair_set_ready(e->user, SL_LIST_FIND(struct sl_fair_entry, o, &q->entries, link, o->user == e->user), false);
	sl_fair_release(e->user);
	sl_fair_forget(&q->users);
}

static void ended(void *arg)
{
	struct sl_fair_entry *e = arg;
	struct sl_fair_queue *q = e->fair_queue;
	leave(e);
	e->done(e->arg);
	pick(q);
}

static void run_rest(void *arg)
{
	const struct sl_fair_entry *e = arg;
	e->rest(e->arg);
}

static bool always(void *arg)
{
	return true;
}

static void turn_ended(void *arg)
{
	struct sl_fair_entry *e = arg;
	struct sl_fair_queue *q = e->fair_queue;
	q->now = NULL;
	if (!e->more && e->rest) {
		e->ready = false;  /* it gets no further turn, but its memory still counts */
		sl_fair_set_ready(e->user, false, false);
		sl_pool_answer(e->loop, e->user->name ? e->user->name : "", always, run_rest, ended, e);
	} else if (!e->more) {
		ended(e);
		return;
	}
	pick(q);
}

static void run_turn(void *arg)
{
	struct sl_fair_entry *e = arg;
	e->more = e->turn(e->arg);
}

static void give_turn(struct sl_fair_queue *q, struct sl_fair_entry *e)
{
	q->now = e;
	sl_fair_charge(e->user, 1);
	sl_pool_run_in(&e->pool, e->loop, run_turn, turn_ended, e);
}

/* begin() may call sl_fair_queue_ready() or _leave(), which call pick() again; `picking` ends that recursion. */
static void pick(struct sl_fair_queue *q)
{
	struct sl_fair_entry *e;
	if (q->picking)
		return;
	q->picking = true;
	while (!q->now && (e = next(q))) {
		e->ready = e->ready || (!e->begun && !e->begin);
		bool begins = !e->begun && e->begin;
		e->begun = true;
		if (begins)
			e->begin(e->arg);
		else
			give_turn(q, e);
	}
	q->picking = false;
}

void sl_fair_queue_join(struct sl_fair_queue *q, struct sl_fair_entry *e, const char *user)
{
	e->fair_queue = q;
	e->begun = e->ready = false;
	e->user = user[0] ? sl_fair_named(&q->users, user, sizeof *e->user) : NULL;
	if (!e->user) {  /* or no memory */
		e->alone = (struct sl_fair){0};
		sl_fair_join(&q->users, e->user = &e->alone, 1);
	}
	sl_fair_set_ready(e->user, true, false);
	sl_list_append(&q->entries, &e->link);
	pick(q);
}

void sl_fair_queue_ready(struct sl_fair_entry *e)
{
	e->ready = true;
	pick(e->fair_queue);
}

void sl_fair_queue_leave(struct sl_fair_entry *e)
{
	if (!e->link.in)
		return;
	leave(e);
	pick(e->fair_queue);
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
