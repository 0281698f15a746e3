/* Which running job moves to another device of its engine. Each job that will last has a part of the engine's time
 * that is due to it by the shares of projects, users and priorities (util/fair.h). The load of a device is the sum of
 * the parts of its jobs. A job moves from the device with the highest load to the one with the lowest if the higher
 * load of the two becomes less by that. With jobs of one user this is: from a device with several jobs to one with at
 * least two fewer. How a job moves is in jobs/run/moves.c. Loop thread. */
#include <math.h>

#include "daemon/queue/queue.h"
#include "daemon/users/projects.h"

#define GAIN 0.99  /* a move must reduce the higher load at least to this part */

/* Makes p->due of the engine's jobs the flows below `top`. sl_fair_finish(top) undoes it. */
static void divide(struct sl_queue *q, const struct sl_server_engine *e, struct sl_fair *top)
{
	SL_LIST_EACH(struct sl_place, p, &q->places, placed) {
		if (p->engine != e || !q->lasts(p))
			continue;
		struct sl_fair *project = sl_fair_named(top, p->project, sizeof *project);
		struct sl_fair *user = project ? sl_fair_named(project, p->user, sizeof *user) : NULL;
		if (!user)
			continue;  /* no memory: it does not count */
		sl_fair_set_share(project, sl_project_share(q->d->users, p->project));
		sl_fair_join(user, &p->due, ldexp(1, p->priority));
		sl_fair_set_ready(&p->due, true, false);
	}
}

/* The job whose move reduces the higher load most. */
static struct sl_place *best_of(struct sl_queue *q, const struct sl_server_device *from, double from_load,
				const struct sl_server_device *to, double to_load)
{
	struct sl_place *best = NULL;
	double least = GAIN * from_load;
	SL_LIST_EACH(struct sl_place, p, &q->places, placed) {
		double part = p->device == from ? sl_fair_part(&p->due) : 0;
		double higher = fmax(from_load - part, to_load + part);
		if (!(part > 0) || !(higher < least) || !q->may_move(p, to))
			continue;
		best = p;
		least = higher;
	}
	return best;
}

static bool is_up(const struct sl_server_device *d)
{
	return d->stage == SL_DEVICE_OPEN && !d->state.down && !d->leaving;
}

/* Returns true if a job moves. */
static bool balance(struct sl_queue *q, struct sl_server_engine *e)
{
	double load[SL_ENGINE_DEVICES_MAX] = {0};
	struct sl_fair top = {0};
	int high = -1, low = -1;
	divide(q, e, &top);
	SL_LIST_EACH(const struct sl_place, p, &q->places, placed)
		if (p->due.parent)
			load[p->device->index] += sl_fair_part(&p->due);
	for (int i = 0; i < e->devices; i++) {
		if (!is_up(&e->device[i]))
			continue;
		high = high < 0 || load[i] > load[high] ? i : high;
		low = low < 0 || load[i] < load[low] ? i : low;
	}
	struct sl_place *p = high == low ? NULL : best_of(q, &e->device[high], load[high], &e->device[low], load[low]);
	sl_fair_finish(&top);
	if (p)
		q->move(p, &e->device[low]);
	return p != NULL;
}

void sl_queue_balance(struct sl_queue *q)
{
	for (int i = 0; i < SL_ENGINES_COUNT; i++)
		if (q->engines->engine[i].devices > 1 && balance(q, &q->engines->engine[i]))
			return;
}
