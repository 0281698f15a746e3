/* Lines and places: a line is in the order of priorities, then of arrival; large jobs are chosen by shares. A place
 * books host memory, of which a part is for small jobs. A job that lacks memory for long holds others back, so each one
 * gets its turn. Loop thread. */
#include "daemon/queue/queue.h"
#include "daemon/stream/events.h"
#include "daemon/users/users.h"

#define PATIENCE_MS 5000  /* other jobs are held back if the first job of a line has waited this long for memory */
#define SMALL_PART 16     /* 1 / SMALL_PART of host memory is reserved for small jobs */

static struct sl_backlog *line_of(const struct sl_place *p)
{
	return &p->engine->line[p->small];
}

void sl_queue_join(struct sl_place *p)
{
	sl_backlog_add(line_of(p), &p->waiting, p->priority, p->waiting.bytes);
}

void sl_queue_leave(struct sl_place *p)
{
	sl_backlog_remove(line_of(p), &p->waiting);
}

void sl_queue_set_priority(struct sl_place *p, int priority)
{
	p->priority = priority;
	sl_backlog_set_priority(line_of(p), &p->waiting, priority);
}

static void count(struct sl_queue *q, struct sl_place *p, int by)
{
	p->device->placed += by;
	sl_share_take(q, p, by);
	q->used_bytes += (uint64_t)by * p->bytes;  /* by -1, it wraps around */
	if (p->small)
		q->small_bytes += (uint64_t)by * p->bytes;
}

void sl_queue_take(struct sl_queue *q, struct sl_place *p)
{
	p->placed_ns = uv_hrtime();
	sl_list_prepend(&q->places, &p->placed);
	count(q, p, 1);
}

void sl_queue_give(struct sl_queue *q, struct sl_place *p)
{
	sl_list_unlink(&p->placed);
	count(q, p, -1);
	p->device = NULL;
}

void sl_queue_activate(struct sl_queue *q, struct sl_place *p, int by)
{
	q->active += by;
	p->device->active[p->small] += by;
	sl_events_changed(q->d->events, SL_EVENTS_DEVICE, p->device->id);
}

/* ---- who is next ----------------------------------------------------------------------- */

/* True if the engine's first large job has lacked memory for so long that others must leave memory for it. */
static bool short_for_long(const struct sl_queue *q, const struct sl_server_engine *e)
{
	return e->short_ms && uv_now(q->d->loop) - e->short_ms >= PATIENCE_MS;
}

static bool any_short_for_long(const struct sl_queue *q)
{
	for (int i = 0; i < SL_ENGINES_COUNT; i++)
		if (short_for_long(q, &q->engines->engine[i]))
			return true;
	return false;
}

/* The host memory that is free for the next job. A part is reserved for small jobs; they get only that part if a large
 * job has waited for long. */
uint64_t sl_queue_free_bytes(const struct sl_queue *q, int small)
{
	uint64_t part = q->memory_bytes / SMALL_PART, used = q->used_bytes + (small ? 0 : part);
	uint64_t left = q->memory_bytes > used ? q->memory_bytes - used : 0;
	uint64_t own = part > q->small_bytes ? part - q->small_bytes : 0;
	return small && any_short_for_long(q) && own < left ? own : left;
}

/* True if the first job of a line may start whatever memory it needs: if no other job runs, or if its device is idle
 * and the host has enough memory. */
static bool first_may_pass(const struct sl_queue *q, const struct sl_server_engine *e, const struct sl_server_device *d,
			   int small)
{
	const struct sl_waiting *first = sl_backlog_next(&e->line[small]);
	if (!first || d->active[0] + d->active[1] || (small && any_short_for_long(q)))
		return false;
	return q->active == 0 || q->used_bytes + first->bytes <= q->memory_bytes;
}

/* All engines share host memory. To prevent starvation, no engine admits large jobs while the first in the line
 * of another one has lacked memory for longer than PATIENCE_MS. */
static bool held_back(struct sl_queue *q, const struct sl_server_engine *e)
{
	for (int i = 0; i < SL_ENGINES_COUNT; i++) {
		const struct sl_server_engine *o = &q->engines->engine[i];
		if (o != e && short_for_long(q, o) && (!e->short_ms || o->short_ms < e->short_ms))
			return true;
	}
	return false;
}

static bool account_holds(struct sl_queue *q, const struct sl_place *p, const char *account, struct sl_limit_hit *hit)
{
	const struct sl_users *u = q->d->users;
	int running;
	uint64_t bytes;
	if (!account[0])
		return false;
	sl_share_running(q, account, &running, &bytes);
	return sl_users_device_time_is_over(u, account, hit) ||
	       sl_users_exceeds(u, account, SL_LIMIT_RUNNING_JOBS, running, 1, hit) ||
	       sl_users_exceeds(u, account, SL_LIMIT_DEVICE_BYTES, (double)bytes, (double)p->device_bytes, hit);
}

bool sl_queue_holds(struct sl_queue *q, const struct sl_place *p, struct sl_limit_hit *hit)
{
	return sl_users_owner_is_gone(q->d->users, p->user, hit) ||
	       account_holds(q, p, p->user, hit) || account_holds(q, p, p->project, hit);
}

static void hold(struct sl_queue *q, struct sl_backlog *line)
{
	struct sl_limit_hit hit;
	bool any = sl_users_any_limit(q->d->users);
	SL_LIST_EACH(struct sl_waiting, w, &line->waiting, link)
		w->held = any && sl_queue_holds(q, sl_place_of_waiting(w), &hit);
}

static void pump_line(struct sl_queue *q, struct sl_server_engine *e, int small)
{
	struct sl_server_device *d;
	if (!small && !e->line[0].waiting.count)
		e->short_ms = 0;
	while ((d = sl_server_engine_room(e, small)) && (small || !held_back(q, e))) {
		struct sl_waiting *chosen = NULL, *w;
		hold(q, &e->line[small]);
		if (!(w = sl_backlog_next(&e->line[small])))
			return;
		if ((!small || sl_share_is_full(q, sl_place_of_waiting(w))) && sl_share_next(q, e, small, &chosen)) {
			if (!chosen)
				return;  /* the users or projects of all waiting jobs have reached their limits of places */
			sl_backlog_first(&e->line[small], chosen);
		}
		w = sl_backlog_take(&e->line[small], sl_queue_free_bytes(q, small), first_may_pass(q, e, d, small));
		if (!w && !small && !e->short_ms && d->active[0] == 0)
			e->short_ms = uv_now(q->d->loop);
		if (!w)
			return;
		if (!small)
			e->short_ms = 0;
		q->start(sl_place_of_waiting(w));
	}
}

void sl_queue_admit(struct sl_queue *q)
{
	for (int i = 0; i < SL_ENGINES_COUNT; i++)
		for (int small = 1; small >= 0; small--)
			pump_line(q, &q->engines->engine[i], small);
}
